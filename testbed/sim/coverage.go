package sim

import (
	"fmt"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// coverage counts what of the life cycle a run has seen: which stimulus met a step in which state, and which move was made.
type coverage struct {
	Cells map[core.StepState]map[core.Stimulus]int64
	Moves map[core.StepState]map[core.StepState]int64
	Kinds map[core.EventKind]int64
}

func newCoverage() *coverage {
	return &coverage{Cells: map[core.StepState]map[core.Stimulus]int64{}, Moves: map[core.StepState]map[core.StepState]int64{}, Kinds: map[core.EventKind]int64{}}
}

func (c *coverage) hit(s core.StepState, on core.Stimulus) {
	if c.Cells[s] == nil {
		c.Cells[s] = map[core.Stimulus]int64{}
	}
	c.Cells[s][on]++
}

func (c *coverage) add(o *coverage) {
	for s, row := range o.Cells {
		for on, n := range row {
			if c.Cells[s] == nil {
				c.Cells[s] = map[core.Stimulus]int64{}
			}
			c.Cells[s][on] += n
		}
	}
	for s, row := range o.Moves {
		for to, n := range row {
			if c.Moves[s] == nil {
				c.Moves[s] = map[core.StepState]int64{}
			}
			c.Moves[s][to] += n
		}
	}
	for k, n := range o.Kinds {
		c.Kinds[k] += n
	}
}

func (c *coverage) moves(ch core.Change) {
	for _, mv := range ch.Moves {
		if mv.Step == "" || mv.Effect != "" {
			continue
		}
		from := core.StepState(mv.From)
		if c.Moves[from] == nil {
			c.Moves[from] = map[core.StepState]int64{}
		}
		c.Moves[from][core.StepState(mv.To)]++
	}
}

// events counts what the events of a batch meet. Of a batch only the first is sure to meet the steps as they stand.
func (c *coverage) events(m *home, now core.Now, evs []core.Event) {
	for _, ev := range evs {
		c.Kinds[core.KindOf(ev)]++
	}
	for _, id := range m.s.Open() {
		wf := m.s.Workflows[id]
		for i := range wf.Steps {
			if st := &wf.Steps[i]; !st.State.Terminal() && st.Due != 0 && st.Due <= now.Boot {
				c.hit(st.State, "its time is over")
				return // what comes with it meets another state
			}
		}
	}
	switch ev := evs[0].(type) {
	case core.ExecutorDown:
		c.every(m, "service gone")
	case core.Observed:
		switch task, on := stimulus(m, ev); {
		case ev.Event == "pui.paused" || ev.Event == "pui.takeover":
			c.every(m, "hold")
		case ev.Event == "pui.resumed" || ev.Event == "pui.released":
			c.every(m, "let go")
		case on != "":
			c.about(m, task, on)
		}
	case core.Started:
		c.every(m, "restart")
	case core.ControlReceived:
		c.cancelled(m, ev)
	default:
		if task, on := stimulus(m, evs[0]); on != "" {
			c.about(m, task, on)
		}
	}
}

func (c *coverage) every(m *home, on core.Stimulus) {
	for _, wf := range m.s.Workflows {
		for i := range wf.Steps {
			c.hit(wf.Steps[i].State, on)
		}
	}
}

func (c *coverage) cancelled(m *home, ev core.ControlReceived) {
	on := map[string]core.Stimulus{"cancel": "cancel", "kill": "cancel", "pause": "hold", "resume": "let go"}[ev.Verb]
	for id, wf := range m.s.Workflows {
		for i := range wf.Steps {
			switch {
			case ev.Scope == "all", ev.Scope == "workflow" && string(id) == ev.Target, ev.Scope == "step" && ev.Target == string(id)+"/"+string(wf.Steps[i].ID):
				c.hit(wf.Steps[i].State, on)
			}
		}
	}
}

// about counts a stimulus of the step whose latest task it names.
func (c *coverage) about(m *home, task core.TaskID, on core.Stimulus) {
	at, ok := m.judge.owner[task]
	if !ok {
		return
	}
	wf := m.s.Workflows[at.wf]
	if wf == nil {
		return
	}
	if i := wf.Plan.Lookup(at.step); i >= 0 && wf.Steps[i].Task == task {
		c.hit(wf.Steps[i].State, on)
	}
}

func stimulus(m *home, ev core.Event) (core.TaskID, core.Stimulus) {
	ended := func(how core.Outcome) core.Stimulus {
		switch how {
		case core.OutcomeDone:
			return "says done"
		case core.OutcomeCancelled:
			return "says cancelled"
		}
		return "says failed"
	}
	switch ev := ev.(type) {
	case core.TaskAnswered:
		switch {
		case ev.Accepted:
			return ev.Task, "accepted"
		case ev.NotSent:
			return ev.Task, "not sent"
		case ev.Unknown:
			return ev.Task, "call lost"
		}
		return ev.Task, "refused"
	case core.TaskProgress:
		return ev.Task, "progress"
	case core.TaskEnded:
		if ev.Source == "" {
			return ev.Task, ended(ev.Outcome)
		}
	case core.TaskStatus:
		switch {
		case ev.Known == core.KnownRunning && ev.Paused:
			return ev.Task, "says paused"
		case ev.Known == core.KnownRunning && ev.Resumed:
			return ev.Task, "says goes on"
		case ev.Known == core.KnownRunning:
			return ev.Task, "query: runs"
		case ev.Known == core.KnownNot:
			return ev.Task, "query: never ran"
		case ev.Known == core.KnownNoAnswer:
			return ev.Task, "query: no answer"
		case ev.Ended != nil:
			return ev.Task, ended(ev.Ended.Outcome)
		}
	case core.StopAnswered:
		if ev.To != "" {
			return "", ""
		}
		if ev.Refused {
			return ev.Task, "stop refused"
		}
		if ev.Accepted {
			return ev.Task, "stop accepted"
		}
	case core.Observed:
		return ev.Task, worth(m, ev)
	}
	return "", ""
}

// worth says what an event means for the task that it names.
func worth(m *home, ev core.Observed) core.Stimulus {
	spec := m.judge.spec(m.judge.owner[ev.Task])
	if spec == nil {
		return ""
	}
	proof := map[catalog.Method][]catalog.EventName{"setMoveTo": {"movement.arrived"}, "returnToStation": {"station.docked"},
		"startBasicAirClear": {"cleaning.started", "cleaning.completed"}, "startVitalSign": {"vital.completed", "vital.cancelled"}, "setScreen": {"display.changed"},
		"setVolume": {"sound.changed"}, "setMannerMode": {"mode.changed"}}
	against := []catalog.EventName{"movement.failed", "cleaning.stopped", "cleaning.failed"}
	switch {
	case ev.Event == "movement.arrived" && ev.Data["room_id"] != spec.Call["position"]:
		return "opposite"
	case slices.Contains(proof[spec.Method], ev.Event):
		return "proof"
	case slices.Contains(against, ev.Event):
		return "opposite"
	}
	return ""
}

// aboutTasks are the stimuli that name a task.
var aboutTasks = []core.Stimulus{"accepted", "refused", "call lost", "not sent", "progress", "says done", "says failed", "says cancelled", "proof", "opposite",
	"query: runs", "query: never ran", "query: no answer", "stop accepted", "stop refused", "says paused", "says goes on"}

// unreachable says which stimuli cannot meet a step in a state, and why. All other pairs are reachable, and a full run has to hit them.
var unreachable = map[core.StepState]struct {
	on  []core.Stimulus
	why string
}{
	core.Pending:    {append([]core.Stimulus{"its time is over"}, aboutTasks...), "nothing of it was ever dispatched, and nothing bounds it but its plan"},
	core.Waiting:    {aboutTasks, "nothing of it was ever dispatched"},
	core.Cancelling: {[]core.Stimulus{"its time is over"}, "its bound is that of the stop, which is the task's"},
	core.Paused:     {[]core.Stimulus{"its time is over"}, "no clock of a step runs while it is paused"},
	core.Completed:  {[]core.Stimulus{"its time is over"}, "no time runs for what has ended"},
	core.Satisfied:  {[]core.Stimulus{"its time is over"}, "no time runs for what has ended"},
	core.Failed:     {[]core.Stimulus{"its time is over"}, "no time runs for what has ended"},
	core.TimedOut:   {[]core.Stimulus{"its time is over"}, "no time runs for what has ended"},
	core.Cancelled:  {[]core.Stimulus{"its time is over"}, "no time runs for what has ended"},
	core.Skipped:    {[]core.Stimulus{"its time is over"}, "no time runs for what has ended"},
}

// unmade are moves of the table that nothing makes in this form, and why they stand there.
var unmade = map[[2]core.StepState]string{
	{core.Dispatching, core.TimedOut}:    "an unanswered call becomes unknown first",
	{core.Dispatching, core.Cancelled}:   "its task holds something, so it is cancelling first",
	{core.Paused, core.TimedOut}:         "no clock of a step runs while it is paused",
	{core.Verifying, core.Cancelling}:    "its task has ended, so it is cancelled at once",
	{core.OutcomeUnknown, core.TimedOut}: "what was never known fails with that reason",
}

// Reached counts the cells that were hit, of those that are reachable, and names the others.
func (c *coverage) Reached() (hit, all int, missing []string) {
	for _, s := range core.StepStates {
		for _, on := range core.Stimuli {
			if slices.Contains(unreachable[s].on, on) {
				continue
			}
			if all++; c.Cells[s][on] > 0 {
				hit++
			} else {
				missing = append(missing, fmt.Sprintf("%s / %s", s, on))
			}
		}
	}
	return hit, all, missing
}

// Made counts the moves of the table that were made, and names the others.
func (c *coverage) Made() (hit, all int, missing []string) {
	for _, s := range core.StepStates {
		for _, to := range core.Moves(s) {
			if unmade[[2]core.StepState{s, to}] != "" {
				continue
			}
			if all++; c.Moves[s][to] > 0 {
				hit++
			} else {
				missing = append(missing, fmt.Sprintf("%s → %s", s, to))
			}
		}
	}
	return hit, all, missing
}

// Surprises names what was seen although the lists say that it cannot be.
func (c *coverage) Surprises() (out []string) {
	for _, s := range core.StepStates {
		for _, on := range unreachable[s].on {
			if c.Cells[s][on] > 0 {
				out = append(out, fmt.Sprintf("%s / %s", s, on))
			}
		}
		for _, to := range core.Moves(s) {
			if unmade[[2]core.StepState{s, to}] != "" && c.Moves[s][to] > 0 {
				out = append(out, fmt.Sprintf("%s → %s", s, to))
			}
		}
	}
	return out
}
