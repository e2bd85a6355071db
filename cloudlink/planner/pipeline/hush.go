package pipeline

import (
	"fmt"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/admission"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// RestConsent is the stage that asks before it ends work of the robot for somebody's rest. It is there only where goals are: the question
// is the goal's, and without one the work would be ended unasked.
const RestConsent = "rest_consent"

// restSkill is what is told to somebody who rests; with a kind it tells something else.
const restSkill = "rest_guidance"

// hush puts the end of noisy work that is known to go on before the steps of a rest: a step that needs a person's consent, and on whose
// refusal the rest goes on. Where the goal would not go to the device, nobody would be asked, and the work goes on.
type hush struct {
	cat   *catalog.Catalog
	judge *admission.Judge
}

func (h hush) refine(in turn.Input, d turn.Decision) turn.Decision {
	asked := h.first(in, d)
	if len(asked.Steps) == len(d.Steps) || h.judge.Judge(in, asked).Admission != turn.Activated {
		return d
	}
	return asked
}

func (h hush) first(in turn.Input, d turn.Decision) turn.Decision {
	rest := slices.ContainsFunc(d.Steps, func(s turn.Step) bool { _, kind := s.Params["kind"]; return s.Skill == restSkill && !kind })
	if !rest || d.Revises != nil || d.Schedule != nil {
		return d
	}
	for _, m := range h.stops() {
		if !h.runs(in.Around, h.cat.Operations[m]) || slices.ContainsFunc(d.Steps, func(s turn.Step) bool { return s.TaskMethod == string(m) }) {
			continue
		}
		first := turn.Step{ID: h.free(d.Steps), Route: turn.ODL, Purpose: string(m), ExecutionTarget: "device", TaskMethod: string(m), WaitPolicy: "completed", OnFailure: "continue", Span: in.Text}
		steps := []turn.Step{first}
		for _, s := range d.Steps {
			if len(s.DependsOn) == 0 {
				s.DependsOn = []wire.Dependency{{Step: first.ID, On: "done"}}
			}
			steps = append(steps, s)
		}
		d.Steps, d.TurnMode = steps, turn.Mode(steps)
	}
	return d
}

// stops are the operations that end other work and need a consent for it.
func (h hush) stops() (out []catalog.Method) {
	for m, op := range h.cat.Operations {
		if len(op.Stops) > 0 && op.Consent != "" {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return out
}

func (h hush) free(steps []turn.Step) string {
	for n := 0; ; n++ {
		id := fmt.Sprintf("step_%d", n)
		if !slices.ContainsFunc(steps, func(s turn.Step) bool { return s.ID == id }) {
			return id
		}
	}
}

// runs says whether work that a stop would end is known to go on: from what the device has said of its steps. What nobody knows does not
// go on: a person is not asked about nothing.
func (h hush) runs(a turn.Around, stop catalog.Operation) bool {
	since, stopped := int64(-1), int64(-1) // ages of what began last, and of what ended it
	younger := func(age *int64, ms int64) {
		if *age < 0 || ms < *age {
			*age = ms
		}
	}
	for _, w := range slices.Concat(a.Workflows, a.Ended) {
		for _, now := range w.Steps {
			i := slices.IndexFunc(w.Plan.Requests, func(r wire.Request) bool { return r.CloudStepID == now.ID })
			if i < 0 {
				continue
			}
			r := &w.Plan.Requests[i]
			resolved, faults := h.cat.Resolve(catalog.Method(r.TaskMethod), r.Params.Map())
			op := resolved.Operation
			switch {
			case len(faults) > 0:
			case op.Method == stop.Method && now.State == "completed":
				younger(&stopped, now.AgeMS)
			case h.holds(op, stop) && (now.State == "running" || now.State == "completed" && len(r.RequiredEffects) == 0 && now.AgeMS < op.ExpectedMS.For(resolved.Args)):
				younger(&since, now.AgeMS) // its start alone was proven: it goes on for as long as it was told to
			}
		}
	}
	return since >= 0 && (stopped < 0 || since < stopped)
}

func (h hush) holds(op, stop catalog.Operation) bool {
	return len(op.Stops) == 0 && slices.ContainsFunc(op.Resources, func(r catalog.ResourceID) bool { return slices.Contains(stop.Stops, r) })
}
