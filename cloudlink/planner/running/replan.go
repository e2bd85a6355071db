package running

import (
	"encoding/json"
	"fmt"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Stuck is a step that has failed and asks, with all that the planner knows of its plan.
type Stuck struct {
	Workflow   turn.Workflow // with its plan as it was sent last, of the revision that the question is about
	StepID     string
	ReasonCode string
	Owed       []wire.RemainingEffect // what the plan still has to bring about, as the device says
	Rooms      []wire.Room            // as the device reports them now
	Locale     string
}

// Replan is a plan that goes on without what has failed.
type Replan struct {
	Action string // replan_cloud, substitute
	Plan   wire.Plan
	How    string // smallest_change, rebuilt
	What   string // other_name, rest, other_provider, utterance: what was changed
}

// Why says it in one line, as the decision carries it.
func (p Replan) Why() string { return p.How + ", " + p.What }

// placeReasons are those that say that the robot does not get to a place, and nothing of the rest. Source: docs/planner.md, escalations.
var placeReasons = []string{"path_blocked", "room_unreachable", "unknown_location", "step_timeout"}

// Replan finds the smallest change of the unstarted steps with which the plan can go on, and only where none is valid a plan made anew from
// the words that asked for it, which adopts what is done. No effect that the goal of the plan requires is given up. valid is the check that
// every plan goes through. False: nothing of use is left.
func (r *Runner) Replan(s Stuck, valid func(wire.Plan) bool) (Replan, bool) {
	tries := []struct {
		how, what, action string
		make              func(Stuck) (wire.Plan, bool)
	}{
		{SmallestChange, "other_name", "replan_cloud", r.otherName},
		{SmallestChange, "rest", "replan_cloud", r.rest},
		{SmallestChange, "other_provider", "substitute", r.otherProvider},
		{Rebuilt, "utterance", "replan_cloud", r.rebuild},
	}
	for _, t := range tries {
		if plan, ok := t.make(s); ok && valid(plan) {
			return Replan{Action: t.action, Plan: plan, How: t.how, What: t.what}, true
		}
	}
	return Replan{}, false
}

// stuck is the step that asks; false: the plan does not have it, or it is no step of the device.
func (s Stuck) step() (wire.Request, bool) {
	for _, q := range s.Workflow.Plan.Requests {
		if q.CloudStepID == s.StepID {
			return q, q.TaskMethod != ""
		}
	}
	return wire.Request{}, false
}

// begin makes the next revision. What waits for the step that asks has surely not begun.
func (s Stuck) begin(home *catalog.Catalog) *edit {
	e := begin(home, s.Workflow)
	behind := []string{s.StepID}
	for i := 0; i < len(behind); i++ {
		for _, q := range e.plan.Requests {
			waits := slices.ContainsFunc(q.DependsOn, func(d wire.Dependency) bool { return d.Step == behind[i] })
			if waits && !e.ahead[q.CloudStepID] {
				e.ahead[q.CloudStepID] = true
				behind = append(behind, q.CloudStepID)
			}
		}
	}
	return e
}

func (s Stuck) input() turn.Input { return turn.Input{Rooms: s.Rooms, Locale: s.Locale} }

// otherName leads to the same room by a name that the device knows now: its map has been made anew since the plan was.
func (r *Runner) otherName(s Stuck) (wire.Plan, bool) {
	q, ok := s.step()
	name := roomParam(r.cat, q.TaskMethod)
	said, _ := q.Params[name].V.(string)
	if !ok || s.ReasonCode != "unknown_location" || name == "" {
		return wire.Plan{}, false
	}
	room, known, _ := r.cat.FindRoom(said)
	if !known {
		return wire.Plan{}, false
	}
	home := r.home(s.input())
	if _, still, _ := home.FindRoom(said); still {
		return wire.Plan{}, false // that is its name there: it is not the name that fails
	}
	for _, other := range append([]string{string(room.ID), room.Name}, room.Aliases...) {
		if now, ok, _ := home.FindRoom(other); ok && now.Reachable {
			e := s.begin(home)
			e.redirect(q, now)
			return e.end()
		}
	}
	return wire.Plan{}, false
}

// rest gives up a way that cannot be gone and what was to be done at its end, and goes on with the next way: of "거실 청정하고 안방 청정해줘" with a
// blocked living room the bedroom is still of use. What follows without a way of its own ("청정하고 뉴스 들려줘") hangs on what has failed.
func (r *Runner) rest(s Stuck) (wire.Plan, bool) {
	q, ok := s.step()
	if !ok || !slices.Contains(placeReasons, s.ReasonCode) || roomParam(r.cat, q.TaskMethod) == "" {
		return wire.Plan{}, false
	}
	e := s.begin(r.home(s.input()))
	gone, goesOn := []string{q.CloudStepID}, false
	for i := 0; i < len(gone); i++ {
		for _, next := range e.plan.Requests {
			switch {
			case slices.Contains(gone, next.CloudStepID) || !slices.ContainsFunc(next.DependsOn, func(d wire.Dependency) bool { return d.Step == gone[i] }):
			case r.cat.Operations[catalog.Method(next.TaskMethod)].MovesBody:
				goesOn = true
			default:
				gone = append(gone, next.CloudStepID)
			}
		}
	}
	if !goesOn || requires(e.plan.Experience, gone) {
		return wire.Plan{}, false
	}
	for _, id := range slices.Backward(gone) { // the last first: what waits for it is led past all of them
		e.swap(id)
	}
	return e.end()
}

// requires says whether a goal needs one of the steps.
func requires(g *wire.Experience, steps []string) bool {
	return g != nil && slices.ContainsFunc(g.Effects, func(x wire.GoalEffect) bool { return x.Required && slices.Contains(steps, x.StepID) })
}

// otherProvider brings the effect that is missing about by another operation of the catalog. One that moves the body, or that a person has to
// agree to, is another wish.
func (r *Runner) otherProvider(s Stuck) (wire.Plan, bool) {
	q, ok := s.step()
	if !ok {
		return wire.Plan{}, false
	}
	for _, owed := range s.Owed {
		for _, method := range owed.Providers {
			op, known := r.cat.Operations[catalog.Method(method)]
			if owed.CloudStepID != q.CloudStepID || !known || method == q.TaskMethod || op.MovesBody || op.Consent != "" || op.Visibility != "" && op.Visibility != "public" {
				continue
			}
			params := wire.Object{}
			for name, v := range q.Params {
				if _, takes := op.Params[name]; takes {
					params[name] = v
				}
			}
			e := s.begin(r.home(s.input()))
			e.swap(q.CloudStepID, wire.Request{CloudStepID: e.fresh(q.CloudStepID), ExecutionTarget: "device", TaskMethod: method, Params: params,
				ExecutionMode: "queued_wait", WaitPolicy: q.WaitPolicy, RequiredEffects: []wire.RequiredEffect{{EffectID: owed.EffectID}}})
			return e.end()
		}
	}
	return wire.Plan{}, false
}

// rebuild reads the words anew for the home as it is now, and adopts what is done. It is of use only where it plans something else than
// what has failed; a goal keeps its steps, so that a plan with one is not made anew.
func (r *Runner) rebuild(s Stuck) (wire.Plan, bool) {
	q, ok := s.step()
	o := s.Workflow.Plan.Workflow.Origin
	if !ok || s.ReasonCode != "unknown_location" || o == nil || s.Workflow.Plan.Experience != nil {
		return wire.Plan{}, false
	}
	in := s.input()
	in.TurnID, in.Text = o.TurnID, s.Workflow.Utterance
	d := r.words.Read(in)
	if d.OwnerSelection != turn.ODL || d.AskFollowUp || len(d.MissingSlots) > 0 || len(d.Steps) == 0 || d.Schedule != nil {
		return wire.Plan{}, false
	}
	made, err := compile.Plan(r.cat, in, d, compile.IDs{WorkflowID: s.Workflow.WorkflowID, PlanID: s.Workflow.PlanID})
	if err != nil {
		return wire.Plan{}, false
	}
	e := begin(r.home(in), s.Workflow)
	next, ids := made.Requests, map[string]string{}
	var kept []string
	for i := range next {
		if sameAs(q, next[i]) {
			return wire.Plan{}, false
		}
		ids[next[i].CloudStepID] = e.fresh(fmt.Sprintf("step_%d", i+1))
		for _, old := range e.plan.Requests {
			if e.isDone(old, s.Owed) && sameAs(old, next[i]) && !slices.Contains(kept, old.CloudStepID) {
				ids[next[i].CloudStepID] = old.CloudStepID
				kept = append(kept, old.CloudStepID)
				break
			}
		}
	}
	for i := range next {
		id := ids[next[i].CloudStepID]
		if at := e.index(id); at >= 0 {
			next[i] = e.plan.Requests[at] // word for word: it is adopted
			continue
		}
		next[i].CloudStepID, next[i].TemporalAnchorID = id, ids[next[i].TemporalAnchorID]
		for k := range next[i].DependsOn {
			next[i].DependsOn[k].Step = ids[next[i].DependsOn[k].Step]
		}
	}
	for _, old := range e.plan.Requests {
		if !slices.Contains(kept, old.CloudStepID) {
			e.cancel = append(e.cancel, old.CloudStepID)
		}
	}
	e.plan.Requests = next
	return e.end()
}

// sameAs says whether two steps do the same with the same arguments.
func sameAs(a, b wire.Request) bool {
	x, errA := json.Marshal(a.Params)
	y, errB := json.Marshal(b.Params)
	return a.TaskMethod == b.TaskMethod && a.Skill == b.Skill && errA == nil && errB == nil && (string(x) == string(y) || len(a.Params)+len(b.Params) == 0)
}

// isDone says whether what a step is for holds: the device has said so, or it owes none of its effects any more.
func (e *edit) isDone(q wire.Request, owed []wire.RemainingEffect) bool {
	if slices.Contains(done, e.state[q.CloudStepID]) {
		return true
	}
	op := e.cat.Operations[catalog.Method(q.TaskMethod)]
	owes := slices.ContainsFunc(owed, func(o wire.RemainingEffect) bool { return o.CloudStepID == q.CloudStepID })
	return len(op.Effects) > 0 && !owes && e.state[q.CloudStepID] == ""
}
