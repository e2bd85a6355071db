package sim

import (
	"fmt"
	"slices"
	"strings"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// readings are what the agent was told of the home since it started.
type readings map[catalog.ContextKey]reading

type reading struct {
	value any
	there bool
	at    int64
}

func (r readings) learn(at int64, ev core.ContextRead) {
	for _, v := range ev.Values {
		r[v.Key] = reading{v.Value, v.Available, at}
	}
}

// look gives a value as the agent may use it now.
func (j *judge) look(ref string, maxAgeMS int64) (condition.Value, condition.Availability) {
	key, ok := strings.CutPrefix(ref, "ctx.")
	if !ok {
		return nil, condition.Missing
	}
	r, ok := j.readings[catalog.ContextKey(key)]
	if maxAgeMS == 0 {
		maxAgeMS = j.m.cat.Context[catalog.ContextKey(key)].MaxAgeMS
	}
	switch {
	case !ok:
		return nil, condition.Missing
	case !r.there:
		return nil, condition.Unavailable
	case j.m.T-r.at > maxAgeMS:
		return r.value, condition.Stale
	}
	return r.value, condition.Fresh
}

// causes are the kinds of reason that can be true of a step by what the judge itself knows: the plan, what was told, what was sent and
// answered, and the home. Source of the kinds: core.Fact.
func (j *judge) causes(at stepRef, spec *core.StepSpec) (kinds []string) {
	switch j.told[at] {
	case core.Pending:
		for _, d := range spec.Deps {
			dep := &j.plans[at.wf].Steps[d.Step]
			if !j.told[stepRef{at.wf, dep.ID}].Terminal() {
				kinds = []string{"dependency"}
			}
		}
	case core.Waiting:
		if spec.DelayMS > 0 || spec.NotBeforeMS > 0 {
			kinds = []string{"delay"}
		}
	case core.RetryWait:
		if spec.Retry.Attempts > 1 {
			kinds = []string{"delay"}
		}
	case core.Queued, core.Blocked:
		kinds = j.heldBy(at, spec)
		if j.asked[at] != "" {
			kinds = []string{"decision"}
		}
		if a := j.aims[at.wf]; a != nil && a.Tier != core.TierShadow && j.told[at] == core.Blocked {
			// of a goal nobody decides by what is too old: it is read anew first; and its user may be asked
			kinds = append(kinds, "context", "question")
		}
		if who := j.holder(at); who != "" || j.pausedOnce[at.wf] || len(j.alarms) > 0 || j.low || j.guards {
			kinds = append(kinds, "hold")
		}
	case core.Dispatching:
		if n := len(j.tries[at]); n > 0 {
			kinds = []string{"answer"}
		}
	case core.Running, core.OutcomeUnknown:
		kinds = []string{"answer", "evidence"}
		if n := len(j.tries[at]); j.guards || j.holder(at) != "" || j.pausedOnce[at.wf] || n > 0 && j.pauseAsked[j.tries[at][n-1]] {
			kinds = append(kinds, "hold", "stop", "context")
		}
		if n := len(j.tries[at]); n > 0 && j.stopAsked[j.tries[at][n-1]] { // the device needs what it uses, or holds it
			kinds = append(kinds, "stop")
		}
	case core.Paused:
		kinds = []string{"hold", "answer", "evidence", "stop", "context"}
	case core.Verifying:
		if len(spec.Effects) > 0 {
			kinds = []string{"answer", "evidence"}
		}
	case core.Cancelling:
		kinds = []string{"stop"}
	}
	return kinds
}

// heldBy: what keeps back a step that waits for nothing of its plan.
func (j *judge) heldBy(at stepRef, spec *core.StepSpec) (kinds []string) {
	m := j.m
	if slices.ContainsFunc(spec.Deps, func(d core.Dep) bool { return !j.told[stepRef{at.wf, j.plans[at.wf].Steps[d.Step].ID}].Terminal() }) {
		kinds = append(kinds, "dependency") // of one that is tried again
	}
	for _, c := range []*condition.Condition{spec.When, spec.Op.Prerequisites} {
		if c != nil && condition.Eval(*c, j.look).Truth != condition.True {
			kinds = append(kinds, "context")
		}
	}
	if spec.Target == core.OnDevice && (!j.service || len(j.tries[at]) > 0) {
		kinds = append(kinds, "service")
	}
	if n := len(j.tries[at]); j.told[at] == core.Blocked && n > 0 {
		kinds = append(kinds, "delay") // before it is called again
		if log := m.robot.log[j.tries[at][n-1]]; !j.saysEnd[j.tries[at][n-1]] || log == nil || log.ended == 0 {
			kinds = append(kinds, "stop", "resource") // before that has ended
		}
	}
	for task, o := range j.owner {
		if o == at {
			continue
		}
		other := j.spec(o)
		if other == nil || !common(other.Resources, spec.Resources) {
			continue
		}
		if log := m.robot.log[task]; !j.saysEnd[task] || log == nil || log.ended == 0 || !j.told[o].Terminal() {
			kinds = append(kinds, "resource")
			break
		}
	}
	if j.foreign && slices.Contains(spec.Resources, "base") {
		kinds = append(kinds, "resource")
	}
	for id, p := range j.plans {
		for k := range p.Steps {
			o := stepRef{id, p.Steps[k].ID}
			if state := j.told[o]; o != at && (state == core.Queued || state == "") && common(p.Steps[k].Resources, spec.Resources) && !slices.Contains(kinds, "resource") {
				kinds = append(kinds, "resource") // its place is kept; of some nobody was told anything since the start
			}
		}
	}
	if len(spec.Effects) > 0 && len(spec.Stops) == 0 && !slices.Contains(kinds, "context") {
		kinds = append(kinds, "context") // whether its effect holds already may be being read
	}
	return kinds
}

// why holds the agent's answer to "why" against the judge's own causes: it may name none that is not there, and has to name one.
func (j *judge) why() {
	m := j.m
	for _, id := range m.s.Open() {
		wf := m.s.Workflows[id]
		for i := range wf.Steps {
			at := stepRef{id, wf.Steps[i].ID}
			state := j.told[at]
			if state == "" || state.Terminal() {
				continue // nobody was told anything of it since the start
			}
			facts := core.Why(m.s, m.now(), wf, i)
			m.tally.Whys++
			want := j.causes(at, &wf.Plan.Steps[i])
			named := false
			for _, f := range facts {
				if f.Text == "" {
					m.failf("why: no text why %s is %s: %+v", at, state, facts)
				}
				if f.Kind == "time" {
					continue
				}
				if named = true; !slices.Contains(want, f.Kind) {
					m.failf("why: %s is %s, the agent says %+v, and the judge knows %v", at, state, facts, want)
				}
			}
			if !named && len(want) > 0 && wf.Plan.Steps[i].NotBeforeMS == 0 { // a moment of the wall clock is of kind time
				m.failf("why: %s is %s, the agent says only %+v, and the judge knows %v", at, state, facts, want)
			}
		}
	}
}

// movers looks for steps that nothing can move, neither time, nor another step, nor a resource, nor a service that comes back.
func (j *judge) movers() {
	m := j.m
	before := j.bare
	j.bare = map[stepRef]int64{}
	for _, id := range m.s.Open() {
		wf := m.s.Workflows[id]
		for i := range wf.Steps {
			at := stepRef{id, wf.Steps[i].ID}
			if wf.Steps[i].State.Terminal() || j.mover(wf, i) != "" {
				continue
			}
			since, known := before[at]
			if j.bare[at] = since; !known {
				j.bare[at] = m.T
				m.note("    nothing can move %s, %s %s", at, wf.Steps[i].State, wf.Steps[i].Reason)
			}
		}
	}
}

func (j *judge) mover(wf *core.Workflow, i int) string {
	spec := &wf.Plan.Steps[i]
	switch {
	case wf.StepWake(i) != 0:
		return "timer"
	case wf.Steps[i].State == core.Waiting && spec.NotBeforeMS > 0:
		return "moment" // or a clock that can be trusted
	case len(j.m.s.HeldBy(wf)) > 0:
		return "holder"
	}
	for _, d := range spec.Deps { // a step that was ready may wait again, for one that is tried again
		if !wf.Steps[d.Step].State.Terminal() {
			return "dependency"
		}
	}
	for _, o := range wf.Steps {
		if wf.Steps[i].State == core.Pending && j.asked[stepRef{wf.Plan.Workflow, o.ID}] != "" {
			return "decision" // about the event that it waits for too
		}
	}
	switch wf.Steps[i].State {
	case core.Queued, core.Blocked:
		if spec.Target == core.OnDevice && !j.service {
			return "service"
		}
		for _, o := range j.m.s.Workflows {
			for k := range o.Attempts {
				a := &o.Attempts[k]
				st := &o.Steps[a.Step]
				if (a.State != core.Ended || st.Task == a.Task && st.State == core.Verifying) && common(a.Resources, spec.Resources) {
					return "resource"
				}
			}
			for k := range o.Steps {
				if o.Steps[k].State == core.Queued && (o != wf || k != i) && common(o.Plan.Steps[k].Resources, spec.Resources) {
					return "resource"
				}
			}
		}
	}
	return ""
}

func common(a, b []catalog.ResourceID) bool {
	return slices.ContainsFunc(a, func(r catalog.ResourceID) bool { return slices.Contains(b, r) })
}

// stuckMS is how long nothing may be able to move a step. Source: the audit of the agent looks once a minute.
const stuckMS = 60_000

// pass sees time go by.
func (j *judge) pass() {
	if !j.m.up {
		return
	}
	for at, since := range j.bare {
		gone := j.m.T - since
		j.m.tally.Bare = max(j.m.tally.Bare, gone)
		if gone > stuckMS {
			j.m.failf("stuck step: for %d ms nothing could move %s, which is %s", gone, at, fmt.Sprint(j.told[at]))
		}
	}
}
