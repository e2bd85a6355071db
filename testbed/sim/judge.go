package sim

import (
	"maps"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// judge holds what happened against the promises. Of the core it uses what goes in and comes out; what is true it takes from the
// robot.
type judge struct {
	m         *sim
	owner     map[core.TaskID]stepRef
	sentAt    map[core.TaskID]int64
	cancelled map[core.WorkflowID]bool
	states    map[stepRef]core.StepState
	endedAt   map[stepRef]int64
	open      map[core.MessageID]int // messages that wait for their ack
	results   map[core.WorkflowID]int
	repeats   map[core.WorkflowID]int
}

type stepRef struct {
	wf   core.WorkflowID
	step core.StepID
}

func newJudge(m *sim) *judge {
	return &judge{m: m, owner: map[core.TaskID]stepRef{}, sentAt: map[core.TaskID]int64{}, cancelled: map[core.WorkflowID]bool{}, states: map[stepRef]core.StepState{},
		endedAt: map[stepRef]int64{}, open: map[core.MessageID]int{}, results: map[core.WorkflowID]int{}, repeats: map[core.WorkflowID]int{}}
}

func (j *judge) offered(ev core.PlanSubmitted) { j.asked(ev.Msg) }
func (j *judge) asked(id core.MessageID)       { j.open[id]++ }

// change sees a decision before anything of it leaves.
func (j *judge) change(c core.Change) {
	for _, wf := range c.Workflows {
		for _, a := range wf.Attempts {
			j.owner[a.Task] = stepRef{wf.Plan.Workflow, wf.Steps[a.Step].ID}
		}
	}
}

// adopted sees it once it is durable.
func (j *judge) adopted(c core.Change) {
	m := j.m
	for _, id := range c.Tombs {
		j.cancelled[id] = true
	}
	for _, msg := range c.Outbox {
		switch msg.Type {
		case core.MsgAck:
			if j.open[msg.Ack.Ref]--; j.open[msg.Ack.Ref] < 0 {
				m.failf("a second ack of %s", msg.Ack.Ref)
			}
			if msg.Ack.Accepted && msg.Ack.Plan != "" && j.results[msg.Workflow] > 0 {
				j.repeats[msg.Workflow]++
			}
		case core.MsgResult:
			if j.results[msg.Workflow]++; j.results[msg.Workflow] > 1+j.repeats[msg.Workflow] {
				m.failf("%d results of %s", j.results[msg.Workflow], msg.Workflow)
			}
		}
	}
	for _, mv := range c.Moves {
		if mv.Step != "" && mv.Effect == "" {
			j.moved(mv)
		}
	}
}

func (j *judge) moved(mv core.Move) {
	at := stepRef{mv.Workflow, mv.Step}
	if j.states[at].Terminal() {
		j.m.failf("%v went from %s to %s", at, j.states[at], mv.To)
	}
	to := core.StepState(mv.To)
	j.states[at] = to
	if to.Terminal() {
		j.endedAt[at] = j.m.T
	}
	wf := j.m.s.Workflows[mv.Workflow]
	if wf == nil {
		return
	}
	i := wf.Plan.Lookup(mv.Step)
	spec := &wf.Plan.Steps[i]
	switch {
	case to == core.Completed && spec.Target == core.OnDevice:
		j.proven(at, &wf.Steps[i], spec)
	case to == core.Satisfied:
		j.holds(at, spec)
	}
}

// proven: no step is completed unless the robot did it, for this very task, after its dispatch.
func (j *judge) proven(at stepRef, st *core.Step, spec *core.StepSpec) {
	m := j.m
	d := m.robot.deeds[st.Task]
	switch spec.Method {
	case "setMoveTo", "returnToStation":
		there := spec.Method == "returnToStation" && m.robot.values["station.docked"] == true
		if e := st.Effects[0].Evidence; spec.Method == "setMoveTo" && len(e) > 0 && e[len(e)-1].Recovered {
			there = m.robot.values["movement.location"] == spec.Call["position"] // its event is lost: that it is there stands in
		}
		if (d == nil || d.effect == 0) && !there {
			m.failf("%v is completed, the robot never got there for %s", at, st.Task)
		}
	case "startBasicAirClear":
		if d == nil || d.effect == 0 || slices.Contains(spec.Effects, "air_cleaning_completed") && (d.ended == 0 || d.stops) {
			m.failf("%v is completed, the robot did not clean for %s", at, st.Task)
		}
	case "startVitalSign":
		if d == nil || d.ended == 0 {
			m.failf("%v is completed, nobody measured for %s", at, st.Task)
		}
	case "setScreen", "setVolume", "setMannerMode":
		if (d == nil || d.effect == 0) && !j.setting(spec) {
			m.failf("%v is completed, %v was never set by %s, and it is %v", at, spec.Call, st.Task, m.robot.values)
		}
	case "stopMovement", "stopCleaning":
		res := spec.Stops[0]
		if o := m.robot.motion[res]; o != nil && (d == nil || d.effect == 0) && o.began != 0 && o.began < j.sentAt[st.Task] {
			m.failf("%v is completed, and %s still runs on %s", at, o.task, res)
		}
	}
	if j.sentAt[st.Task] == 0 {
		m.failf("%v is completed and was never sent", at)
	}
}

// setting says whether a setting is true now.
func (j *judge) setting(spec *core.StepSpec) bool {
	v := j.m.robot.values
	num := func(k catalog.ContextKey) float64 { f, _ := v[k].(float64); return f }
	quiet := v["sound.muted"] == true || num("sound.volume") <= 20 || v["mode.manner"] == true
	switch spec.Method {
	case "setScreen":
		if b, ok := spec.Call["brightness"].(float64); ok && b > 30 {
			return num("display.brightness") == b
		}
		if spec.Call["on"] == true {
			return num("display.brightness") > 0
		}
		return num("display.brightness") <= 30
	case "setVolume":
		if l, _ := spec.Call["level"].(float64); l > 20 {
			return num("sound.volume") == l
		}
		return quiet
	}
	if spec.Call["on"] == true {
		return quiet
	}
	return v["mode.manner"] == false
}

// holds: what counts as satisfied has to be true.
func (j *judge) holds(at stepRef, spec *core.StepSpec) {
	m := j.m
	v := m.robot.values
	ok := true
	switch spec.Method {
	case "setMoveTo":
		ok = v["movement.location"] == spec.Call["position"] || m.T-m.robot.changed["movement.location"] < 10_000 || m.robot.motion["base"] != nil && m.robot.motion["base"].task == ""
	case "returnToStation":
		ok = v["station.docked"] == true || m.T-m.robot.changed["station.docked"] < 10_000
	case "startBasicAirClear":
		ok = v["cleaning.is_running"] == true
	case "setScreen", "setVolume", "setMannerMode":
		ok = j.setting(spec)
	}
	if !ok {
		m.failf("%v counts as satisfied: %s %v, and the home is %v", at, spec.Method, spec.Call, v)
	}
}

// output sees what leaves.
func (j *judge) output(out core.Output) {
	d, ok := out.(core.Dispatch)
	if !ok {
		return
	}
	if j.sentAt[d.Task] != 0 {
		j.m.failf("%s was dispatched twice", d.Task)
	}
	j.sentAt[d.Task] = j.m.T
	at := j.owner[d.Task]
	if j.cancelled[at.wf] && d.Method != "stopMovement" && d.Method != "stopCleaning" {
		j.m.failf("%s of %v was dispatched after the cancel", d.Method, at)
	}
	if wf := j.m.s.Workflows[at.wf]; wf != nil {
		spec := &wf.Plan.Steps[wf.Plan.Lookup(at.step)]
		if spec.DelayMS > 0 && spec.Anchor > 0 {
			anchor := &wf.Plan.Steps[spec.Anchor-1]
			if ended := j.endedAt[stepRef{at.wf, anchor.ID}]; anchor.Wait == core.WaitCompleted && j.m.T-ended < spec.DelayMS {
				j.m.failf("%v was dispatched %d ms after its anchor, its delay is %d ms", at, j.m.T-ended, spec.DelayMS)
			}
		}
	}
}

// began: what moves the body begins once for a step, unless the end of the earlier task is sure.
func (j *judge) began(d *deed) {
	at := j.owner[d.task]
	for task, other := range j.m.robot.deeds {
		if task == d.task || j.owner[task] != at || other.began == 0 {
			continue
		}
		op := j.m.cat.Operations[d.d.Method]
		switch {
		case op.Redo == catalog.RedoNever || op.Redo == "":
			j.m.failf("%s of %v began again as %s", d.d.Method, at, d.task)
		case op.Redo == catalog.RedoAfterStop && (other.ended == 0 || other.ended > j.sentAt[d.task]):
			j.m.failf("%s of %v was sent again as %s before %s had ended", d.d.Method, at, d.task, task)
		}
	}
}

// allEnded: hours after the last fault every plan has ended and holds nothing.
func (j *judge) allEnded() {
	m := j.m
	for _, id := range slices.Sorted(maps.Keys(m.s.Workflows)) {
		wf := m.s.Workflows[id]
		if !wf.State.Terminal() {
			for i := range wf.Steps {
				m.note("%s/%s is %s %s %s due %d: %+v", id, wf.Steps[i].ID, wf.Steps[i].State, wf.Steps[i].Reason, wf.Steps[i].Detail, wf.Steps[i].Due, core.Why(m.s, m.now(), wf, i))
			}
			m.failf("%s is %s for ever", id, wf.State)
		}
		if j.results[id] == 0 {
			m.failf("%s has ended and has no result", id)
		}
		for _, a := range wf.Attempts {
			if a.State != core.Ended && wf.Steps[a.Step].State != core.Completed { // of a completed step it is asked when somebody needs what it holds
				m.failf("%s of %s holds %v for ever: %s", a.Task, id, a.Resources, a.State)
			}
		}
	}
}
