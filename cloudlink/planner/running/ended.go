package running

import (
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// allEnded answers "다 했어?": open work is told as it stands; else the last result, as the device has sent it.
func (r *Runner) allEnded(in turn.Input) turn.Decision {
	if len(in.Around.Workflows) > 0 {
		d := r.whatNow(in)
		if known(in.Around.Workflows) {
			d.TTSResponse = say1(in, "not_yet") + " " + d.TTSResponse
		}
		return d
	}
	d := decided(in, "ended", say1(in, "nothing"), "progress")
	if len(in.Around.Ended) == 0 {
		return d
	}
	w := in.Around.Ended[0]
	d.Evidence = append(d.Evidence, turn.Evidence{Kind: "result", ID: w.WorkflowID, Span: w.Result})
	d.Evidence = append(d.Evidence, proofs(w)...)
	goesOn := slices.ContainsFunc(w.Plan.Requests, func(q wire.Request) bool { return r.goesOn(in, w, q) || r.toldNow(in, w, q) != "" })
	if w.Result == "completed" && len(w.GivenUp) == 0 && !goesOn {
		d.SpeechAct, d.TTSResponse = "done", say1(in, "yes_all_done", r.asked(in, w))
		return d
	}
	parts := r.givenUp(in, w)
	if d.SpeechAct = "failed"; w.Result == "completed" && len(w.GivenUp) == 0 {
		d.SpeechAct = "progress"
	}
	for _, q := range w.Plan.Requests {
		now := stepNow(w, q.CloudStepID)
		text, _ := r.outcome(in, w, q, now)
		if slices.Contains(done, now.State) && !r.goesOn(in, w, q) {
			text = say1(in, "finished", r.called(in, q))
		}
		if told := r.toldNow(in, w, q); told != "" {
			text = told
		}
		parts = append(parts, text)
	}
	d.TTSResponse = strings.Join(parts, " ")
	return d
}

// givenUp says what a replan has left undone: the plan may complete without it, and what was asked for is not done all the same.
func (r *Runner) givenUp(in turn.Input, w turn.Workflow) (parts []string) {
	var names []string
	for _, q := range w.TakenOut {
		if slices.Contains(w.GivenUp, q.CloudStepID) {
			names = append(names, r.called(in, q))
		}
	}
	if len(names) > 0 {
		parts = append(parts, say1(in, "failed", strings.Join(names, ", ")))
	}
	return parts
}

// longMS is from when on it is said how long ago something has ended.
const longMS = 600_000

// known says whether the device has said anything of the steps of open work.
func known(all []turn.Workflow) bool {
	return slices.ContainsFunc(all, func(w turn.Workflow) bool { return len(w.Steps) > 0 })
}

// about answers "청정 끝났어?" by the latest step that is meant: of the open plans first, then of those that have ended lately.
func (r *Runner) about(in turn.Input, noun string, s subject, ask question) turn.Decision {
	for _, w := range append(inOrder(in.Around), in.Around.Ended...) {
		e := begin(r.home(in), turn.Workflow{Plan: w.Plan, Revision: w.Revision}) // all its steps, whatever their state
		meant := e.meant(s)
		gone := begin(r.home(in), turn.Workflow{Plan: wire.Plan{Requests: w.TakenOut}}).meant(s)
		if s.kind != "" {
			meant = content(w.Plan, s.kind)
		}
		if told := r.telling(in, s.kind); told != "" {
			return decided(in, "ended", told, "progress")
		}
		if ask == arrived {
			elsewhere := func(q wire.Request) bool { return goesTo(e.cat, q) != s.room.ID }
			meant, gone = slices.DeleteFunc(meant, elsewhere), slices.DeleteFunc(gone, elsewhere)
		}
		if len(meant)+len(gone) == 0 {
			continue
		}
		if len(meant) == 0 {
			return r.takenOut(in, w, gone[len(gone)-1])
		}
		q := pick(w, meant)
		d := decided(in, "ended", "", "progress")
		now := stepNow(w, q.CloudStepID)
		if d.TTSResponse, d.SpeechAct = r.outcome(in, w, q, now); ask == during {
			d.TTSResponse, d.SpeechAct = r.beingDone(in, w, q, now)
		}
		if now.State != "" {
			d.Evidence = append(d.Evidence, proofs(turn.Workflow{WorkflowID: w.WorkflowID, Steps: []turn.StepNow{now}})...)
		}
		if in.Around.Link == "link_lost" && d.SpeechAct == "progress" {
			d.TTSResponse = say1(in, "link_lost") + " " + d.TTSResponse
		}
		return d
	}
	return decided(in, "ended", say1(in, "not_asked", noun), "progress")
}

// takenOut says of a step that the plan has no more what the device has said of it, and else that it is wanted no more.
func (r *Runner) takenOut(in turn.Input, w turn.Workflow, q wire.Request) turn.Decision {
	now := stepNow(w, q.CloudStepID)
	d := decided(in, "ended", say1(in, "taken_out", r.called(in, q)), "progress")
	if slices.Contains(w.GivenUp, q.CloudStepID) {
		d.TTSResponse, d.SpeechAct = say1(in, "failed", r.called(in, q)), "failed"
		return d
	}
	if slices.Contains(over, now.State) {
		d.TTSResponse, d.SpeechAct = r.outcome(in, w, q, now)
		d.Evidence = append(d.Evidence, proofs(turn.Workflow{WorkflowID: w.WorkflowID, Steps: []turn.StepNow{now}})...)
	}
	return d
}

// pick is the one of several steps that a question is about: that which has not ended yet, else the last.
func pick(w turn.Workflow, meant []wire.Request) wire.Request {
	for _, q := range meant {
		if !slices.Contains(over, stepNow(w, q.CloudStepID).State) {
			return q
		}
	}
	return meant[len(meant)-1]
}

// telling says that content of a kind is being told; empty: none is.
func (r *Runner) telling(in turn.Input, kind string) string {
	for _, s := range in.Around.Sessions {
		if name, ok := sentences["kind_"+kind]; ok && (s.Kind == kind || s.Kind == "") {
			return say1(in, "session", name.in(in))
		}
	}
	return ""
}

// toldNow says that the session of a step is being told; empty: none is.
func (r *Runner) toldNow(in turn.Input, w turn.Workflow, q wire.Request) string {
	for _, s := range in.Around.Sessions {
		if s.WorkflowID == w.WorkflowID && s.StepID == q.CloudStepID {
			return say1(in, "session", r.called(in, q))
		}
	}
	return ""
}

// content are the steps of a plan that tell something of a kind.
func content(plan wire.Plan, kind string) (out []wire.Request) {
	for _, q := range plan.Requests {
		if of, _ := q.Params["kind"].V.(string); q.Skill != "" && of == kind {
			out = append(out, q)
		}
	}
	return out
}

// outcome says how a step stands or has ended, and with which act that is said. Only what the device has proved is done.
func (r *Runner) outcome(in turn.Input, w turn.Workflow, q wire.Request, now turn.StepNow) (text, act string) {
	name := r.called(in, q)
	switch {
	case now.State == "":
		return say1(in, "no_result", name), "progress"
	case r.goesOn(in, w, q):
		return say1(in, "begun", name), "progress"
	case slices.Contains(done, now.State) && r.onlyBegins(q):
		return say1(in, "stopped_since", name), "done"
	case slices.Contains(done, now.State):
		if now.AgeMS >= longMS {
			return say1(in, "yes_done_ago", name, ageText(in, now.AgeMS)), "done"
		}
		return say1(in, "yes_done", name), "done"
	case now.State == "cancelled":
		return say1(in, "was_cancelled", name), "failed"
	case now.State == "skipped" && now.ReasonCode == "":
		return say1(in, "was_skipped", name), "failed"
	case slices.Contains(over, now.State) || now.State == "blocked":
		return r.reason(in, q, now.ReasonCode), "failed"
	case now.AgeMS >= staleMS && slices.Contains(acting, now.State):
		return say1(in, "then", name, ageText(in, now.AgeMS)), "progress"
	case now.AgeMS >= staleMS && now.State != "outcome_unknown":
		return say1(in, "not_then", name, ageText(in, now.AgeMS)), "progress"
	case slices.Contains(acting, now.State):
		return say1(in, "not_yet") + " " + say1(in, "now", name), "progress"
	}
	group := groupOf(now.State)
	if group == "failed" { // outcome_unknown: nobody knows
		return r.reason(in, q, now.ReasonCode), "failed"
	}
	return say1(in, "not_yet") + " " + say1(in, group, name), "progress"
}

// beingDone says whether a step is being done now.
func (r *Runner) beingDone(in turn.Input, w turn.Workflow, q wire.Request, now turn.StepNow) (text, act string) {
	name := r.called(in, q)
	switch {
	case now.AgeMS >= staleMS && !slices.Contains(over, now.State):
		return r.outcome(in, w, q, now)
	case slices.Contains(acting, now.State):
		return say1(in, "yes_now", name), "progress"
	case slices.Contains(done, now.State) && !r.onlyBegins(q):
		return say1(in, "no_done", name), "done"
	case slices.Contains(ahead, now.State) || slices.Contains(waiting, now.State) && now.State != "blocked":
		return say1(in, "not_begun", name), "progress"
	}
	return r.outcome(in, w, q, now)
}

// onlyBegins says whether a step is done when its work has begun: of cleaning that nobody waits for the start alone is proved. That it has
// ended no message says then.
func (r *Runner) onlyBegins(q wire.Request) bool {
	op := r.cat.Operations[catalog.Method(q.TaskMethod)]
	return len(op.MoreEffects) > 0 && !slices.ContainsFunc(q.RequiredEffects, func(e wire.RequiredEffect) bool {
		return slices.Contains(op.MoreEffects, catalog.EffectID(e.EffectID))
	})
}

// goesOn says whether a step is done and its work may still go on, for all that the planner knows: nothing has been stopped since.
func (r *Runner) goesOn(in turn.Input, w turn.Workflow, q wire.Request) bool {
	if !r.onlyBegins(q) || !slices.Contains(done, stepNow(w, q.CloudStepID).State) {
		return false
	}
	if all := in.Around.AllCancelledMS; all != nil && *all <= w.AgeMS {
		return false
	}
	uses := r.cat.Operations[catalog.Method(q.TaskMethod)].Resources
	for _, later := range append(slices.Clone(in.Around.Workflows), in.Around.Ended...) { // the latest first
		same := later.WorkflowID == w.WorkflowID
		after := !same
		for _, s := range later.Plan.Requests {
			stops := slices.ContainsFunc(r.cat.Operations[catalog.Method(s.TaskMethod)].Stops, func(id catalog.ResourceID) bool { return slices.Contains(uses, id) })
			if after && stops && slices.Contains(done, stepNow(later, s.CloudStepID).State) {
				return false
			}
			after = after || s.CloudStepID == q.CloudStepID
		}
		if same {
			break
		}
	}
	return true
}
