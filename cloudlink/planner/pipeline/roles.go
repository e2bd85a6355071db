package pipeline

import (
	"context"

	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/turn"
)

// roles is a main planner that can be asked small questions before the main one: stages 3, 6 and 8 by a model. Each is asked at most once a
// turn, and has its own setting.
type roles interface {
	Open(ctx context.Context, in turn.Input) bool
	Within(ctx context.Context) (context.Context, context.CancelFunc)
	SelectFlow(ctx context.Context, in turn.Input, t *turn.Trace) (string, []turn.ModelCall)
	TypeObject(ctx context.Context, in turn.Input, t *turn.Trace) (turn.ObjectMeta, bool, []turn.ModelCall)
	JudgeReply(ctx context.Context, in turn.Input, t *turn.Trace) (turn.ReplyMeta, bool, []turn.ModelCall)
}

// ask has the small questions answered that are open, in the order of the stages, and fills the trace in.
func (p *Planner) ask(ctx context.Context, r roles, in turn.Input, t *turn.Trace) (calls []turn.ModelCall) {
	took := func(role string, ok bool, more []turn.ModelCall) {
		calls = append(calls, more...)
		if ok {
			t.Roles = append(t.Roles, role)
		}
	}
	if !p.lacks(RankedFlow) {
		id, more := r.SelectFlow(ctx, in, t)
		took("flow_selector", id != "", more)
		t.Ranked = First(t.Ranked, id, p.agents)
	}
	object, ok, more := r.TypeObject(ctx, in, t)
	took("object_typer", ok, more)
	t.Object = object
	reply, ok, more := r.JudgeReply(ctx, in, t)
	took("replyability_judge", ok, more)
	t.Reply = reply
	return calls
}

// First puts a flow that a model has chosen before the others; one of a family that the hints do not allow is none.
func First(r turn.RankedFlows, id string, agents *registry.Registry) turn.RankedFlows {
	f, ok := agents.Flow(id)
	if !ok {
		return r
	}
	chosen := turn.RankedFlow{FlowID: id, Confidence: "medium", Rationale: "chosen by the flow selector"}
	rest := []turn.RankedFlow{}
	allowed := false
	for _, family := range r.AllowedFamilies {
		allowed = allowed || family == f.Family
	}
	for _, top := range r.TopFlows {
		if familyOf(top.FlowID) == f.Family {
			chosen.Score = top.Score
		}
		if top.FlowID != id {
			rest = append(rest, top)
		}
	}
	if !allowed {
		return r
	}
	r.By, r.TopFlows = "model", append([]turn.RankedFlow{chosen}, rest...)
	return primary(r)
}

// charge adds what the small questions took to the decision.
func charge(d turn.Decision, calls []turn.ModelCall) turn.Decision {
	if len(calls) == 0 {
		return d
	}
	m := turn.ModelTrace{Verdict: "fallback", DraftFamily: d.OwnerSelection}
	if d.Model != nil {
		m = *d.Model
	}
	m.Calls = append(calls, m.Calls...)
	for _, c := range calls {
		d.ModelCalls += c.Requests
	}
	d.Model = &m
	return d
}
