package bridge

import (
	"fmt"
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

func (k *checker) dependencies(s *core.StepSpec, r *wire.Request) {
	seen := map[int]core.On{}
	for i, d := range r.DependsOn {
		path := fmt.Sprintf("depends_on[%d]", i)
		at, ok := k.index[d.Step]
		on := core.On(or(d.On, string(core.OnSuccess)))
		switch {
		case !ok && slices.Contains(k.w.Workflow.CancelSteps, d.Step):
			k.here(path, ReasonUnknownStep, "this revision stops %q, so nothing can wait for it", d.Step)
		case !ok:
			k.here(path, ReasonUnknownStep, "the plan has no step %q", d.Step)
		case d.Step == r.CloudStepID:
			k.here(path, ReasonBadDependency, "a step cannot wait for itself")
		case seen[at] != "" && seen[at] != on:
			k.here(path, ReasonBadDependency, "it waits for %s and for %s of the same step", seen[at], on)
		case seen[at] == "":
			seen[at] = on
			s.Deps = append(s.Deps, core.Dep{Step: at, On: on})
		}
	}
}

// temporal: after_planned_step is a dependency on the anchor, added where it is missing, plus a delay counted on the device. Without
// an anchor the one dependency is it; a step that waits for nothing counts from the acceptance of the plan.
func (k *checker) temporal(s *core.StepSpec, r *wire.Request) {
	switch r.TemporalRelation {
	case "":
		if r.DelayMS != 0 || r.TemporalAnchorID != "" || r.NotBefore != "" {
			k.here("temporal_relation", wire.ReasonMissingField, "delay_ms, temporal_anchor_id and not_before go with a temporal_relation")
		}
		return
	case "after_planned_step", "at_time", "after_existing_event":
		k.wallTime(s, r)
	default:
		k.here("temporal_relation", core.ReasonUnsupported, "this agent knows after_planned_step, after_existing_event and at_time")
		return
	}
	switch r.TemporalRelation {
	case "at_time":
		return
	case "after_existing_event":
		k.existingEvent(s, r)
		return
	}
	if r.DelayMS < 0 || r.DelayMS > maxDelayMS {
		k.here("delay_ms", wire.ReasonBadValue, "must be 0 to %d ms (30 days)", int64(maxDelayMS))
	}
	if r.TemporalAnchorID == "" {
		k.unanchored(s, r)
		return
	}
	at, ok := k.index[r.TemporalAnchorID]
	if !ok || r.TemporalAnchorID == r.CloudStepID {
		k.here("temporal_anchor_id", ReasonUnknownStep, "the plan has no other step %q", r.TemporalAnchorID)
		return
	}
	s.Anchor = at + 1
	if !slices.ContainsFunc(s.Deps, func(d core.Dep) bool { return d.Step == at }) {
		s.Deps = append(s.Deps, core.Dep{Step: at, On: core.OnSuccess})
	}
}

func (k *checker) unanchored(s *core.StepSpec, r *wire.Request) {
	switch {
	case r.DelayMS == 0:
		k.here("temporal_anchor_id", wire.ReasonMissingField, "is needed for after_planned_step without a delay")
	case len(r.DependsOn) > 1:
		k.here("temporal_anchor_id", wire.ReasonMissingField, "the step waits for several: say from which one the delay counts")
	case len(s.Deps) == 1:
		s.Anchor = s.Deps[0].Step + 1
	}
}

// acyclic orders the steps; steps that can never begin because they wait for each other are all named.
func (k *checker) acyclic() bool {
	steps := k.plan.Steps
	left, next := make([]int, len(steps)), make([][]int, len(steps))
	for i := range steps {
		left[i] = len(steps[i].Deps)
		for _, d := range steps[i].Deps {
			next[d.Step] = append(next[d.Step], i)
		}
		if left[i] == 0 {
			k.order = append(k.order, i)
		}
	}
	for at := 0; at < len(k.order); at++ {
		for _, i := range next[k.order[at]] {
			if left[i]--; left[i] == 0 {
				k.order = append(k.order, i)
			}
		}
	}
	var ring []string
	for i := range steps {
		if left[i] > 0 {
			ring = append(ring, string(steps[i].ID))
		}
	}
	all := clip(strings.Join(ring, ", "), maxMessage)
	for i := range steps {
		if left[i] > 0 {
			k.enter(i)
			k.here("depends_on", ReasonCycle, "these steps wait for each other: %s", all)
		}
	}
	return len(ring) == 0
}

// deadline refuses a plan that could not end in time even if all went well.
func (k *checker) deadline() {
	most := k.plan.EffectiveDeadlineMS()
	if most == 0 || len(k.faults)+len(k.goalFaults) > 0 {
		return
	}
	steps := k.plan.Steps
	begin, end := make([]int64, len(steps)), make([]int64, len(steps))
	// released is the earliest moment at which a step lets go those that wait for it: its beginning, unless they wait for its end.
	released := func(i int, on core.On) int64 {
		if on == core.OnDone || on == core.OnSuccess && steps[i].Wait == core.WaitCompleted {
			return end[i]
		}
		return begin[i]
	}
	var longest int64
	for _, i := range k.order {
		s := &steps[i]
		begin[i] = s.DelayMS
		for _, d := range s.Deps {
			from := released(d.Step, d.On)
			if s.Anchor == d.Step+1 {
				from += s.DelayMS
			}
			begin[i] = max(begin[i], from)
		}
		end[i] = begin[i] + k.declared(s)
		longest = max(longest, end[i])
	}
	if most < longest {
		k.goal = k.plan.DeadlineMS == 0 || k.plan.DeadlineMS >= longest // the plan's own would do
		defer func() { k.goal = false }()
		k.fault("workflow.deadline_ms", core.ReasonDeadlineTooShort, "delays and declared durations on the longest path take %d ms", longest)
	}
}

// declared is how long a step takes by its own words: a duration argument, where the plan asks for the effect of its end. What comes
// from an output is not known yet.
func (k *checker) declared(s *core.StepSpec) int64 {
	op := k.cat.Operations[s.Method]
	if !s.Named || slices.Equal(s.Effects, op.Effects) {
		return 0
	}
	d := op.ExpectedMS
	d.PlusMS = 0
	return d.For(s.Args)
}
