package diag

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core"
)

// TraceDocument answers /v1/trace/{id}: how the goal of a workflow was kept.
type TraceDocument struct {
	Workflow   string       `json:"workflow_id"`
	Experience string       `json:"experience_id,omitempty"` // "": the plan has no goal, and so no trace
	Goal       string       `json:"goal_id,omitempty"`
	Status     string       `json:"status,omitempty"`
	PlanID     string       `json:"plan_id"`
	TurnID     string       `json:"turn_id,omitempty"`
	Step       string       `json:"step_id,omitempty"` // only what is about this step was asked for
	Entries    []TraceEntry `json:"entries"`           // oldest first
	Earlier    int          `json:"earlier"`           // entries that are there, and left out since fewer were asked for
	Model      ModelUse     `json:"model"`
}

// TraceEntry is one record. One that has Missing stands for so many that are not kept.
type TraceEntry struct {
	core.TraceEntry
	Time string `json:"time"` // RFC 3339 with milliseconds, or "not known"
}

// ModelUse is what models have used for the decisions of a trace. nil: none of them has reported it.
type ModelUse struct {
	Calls     int    `json:"calls"`
	Input     *int64 `json:"input_tokens"`
	Output    *int64 `json:"output_tokens"`
	LatencyMS *int64 `json:"latency_ms"`
}

// ExperienceDocument answers /v1/experiences/{id}.
type ExperienceDocument struct {
	Experience core.ExperienceState `json:"experience"`
	Workflow   core.WorkflowContext `json:"workflow_context"`
}

func (s *server) trace(r *http.Request) (reply, *Problem) {
	tail := 0
	if text := r.URL.Query().Get("tail"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return reply{}, NewProblem(CodeBadValue, "tail is a number from 1 on", "")
		}
		tail = n
	}
	return s.correlated(r, func(v view, wf *core.Workflow, step core.StepID) (any, *Problem) { return v.trace(wf, step, tail), nil })
}

func (s *server) experience(r *http.Request) (reply, *Problem) {
	return s.correlated(r, func(v view, wf *core.Workflow, _ core.StepID) (any, *Problem) {
		state, ok := v.s.Running(wf)
		if !ok {
			return nil, NewProblem(CodeUnknownTarget, string(wf.Plan.Workflow)+" is a plan without an experience", "deviceagentctl show "+string(wf.Plan.Workflow))
		}
		return ExperienceDocument{state, wf.Context()}, nil
	})
}

// correlated answers from the workflow that a correlation id belongs to, and names the step where the id is of one: that of a
// workflow, an experience, a plan, a turn, a step, a task or a question. Where several have it, it is the one that was accepted last.
func (s *server) correlated(r *http.Request, f func(view, *core.Workflow, core.StepID) (any, *Problem)) (reply, *Problem) {
	id := r.PathValue("id")
	found := false
	rep, p := s.looked(r, func(v view) (any, *Problem) {
		wf, step := v.correlate(id)
		if found = wf != nil; found {
			return f(v, wf, step)
		}
		return nil, nil
	})
	if found || p != nil {
		return rep, p
	}
	name, step, _ := strings.Cut(id, "/")
	r.SetPathValue("id", name)
	return s.one(r, func(v view, wf *core.Workflow) (any, *Problem) { return f(v, wf, core.StepID(step)) })
}

// correlate looks an exact id up; nil: nothing in memory has it.
func (v view) correlate(id string) (best *core.Workflow, step core.StepID) {
	for _, wf := range v.s.Workflows {
		if best != nil && best.Rank > wf.Rank {
			continue
		}
		if of, ok := carries(wf, id); ok {
			best, step = wf, of
		}
	}
	return best, step
}

// carries says whether a workflow has an id, and of which of its steps; "": of none.
func carries(wf *core.Workflow, id string) (core.StepID, bool) {
	p := wf.Plan
	switch {
	case id == string(p.Workflow) || id == string(p.ID) || id == p.TurnID && id != "" || p.Goal != nil && (id == p.Goal.Experience || id == p.Goal.ID):
		return "", true
	case p.Lookup(core.StepID(id)) >= 0:
		return core.StepID(id), true
	}
	if step, ok := strings.CutPrefix(id, string(p.Workflow)+"/"); ok && p.Lookup(core.StepID(step)) >= 0 {
		return core.StepID(step), true
	}
	for _, a := range wf.Attempts {
		if id == string(a.Task) {
			return wf.Steps[a.Step].ID, true
		}
	}
	for _, e := range wf.Escalations {
		if id == string(e.ID) {
			return e.Step, true
		}
	}
	return "", false
}

func (v view) trace(wf *core.Workflow, step core.StepID, tail int) TraceDocument {
	doc := TraceDocument{Workflow: string(wf.Plan.Workflow), PlanID: string(wf.Plan.ID), TurnID: wf.Plan.TurnID, Step: string(step), Entries: []TraceEntry{}}
	if g := wf.Plan.Goal; g != nil {
		doc.Experience, doc.Goal, doc.Status = g.Experience, g.ID, string(wf.GoalStatus())
	}
	for _, e := range wf.Trace {
		if step != "" && e.Step != step && e.Missing == 0 {
			continue
		}
		doc.Entries = append(doc.Entries, TraceEntry{e, v.traced(wf, e)})
		doc.Model.add(e.Usage)
	}
	if tail > 0 && len(doc.Entries) > tail {
		doc.Earlier = len(doc.Entries) - tail
		doc.Entries = slices.Clone(doc.Entries[doc.Earlier:])
	}
	return doc
}

// traced is the wall time of an entry. Of one that stands for what is missing none is known.
func (v view) traced(wf *core.Workflow, e core.TraceEntry) string {
	switch {
	case e.Missing > 0:
		return NotKnown
	case wf.AcceptMS != 0:
		return v.wall(wf.AcceptMS + e.AtMS)
	}
	return v.moment(wf.Accepted + core.Instant(e.AtMS)).At
}

func (m *ModelUse) add(u *core.Usage) {
	if u == nil {
		return
	}
	m.Calls++
	sum := func(to **int64, n int64) {
		if n == 0 {
			return // not reported
		}
		if *to == nil {
			*to = new(int64)
		}
		**to += n
	}
	sum(&m.Input, u.InputTokens)
	sum(&m.Output, u.OutputTokens)
	sum(&m.LatencyMS, u.LatencyMS)
}
