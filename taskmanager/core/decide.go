package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// DecisionReceived is an answer to an escalation. What it says is never proof of anything: it chooses among the offered actions.
type DecisionReceived struct {
	Head
	Escalation   EscalationID `json:"escalation"`
	Action       Action       `json:"action"`
	Plan         *Plan        `json:"plan,omitempty"`        // of an action that changes the plan: its next revision, checked by the bridge
	Faults       []Fault      `json:"faults,omitempty"`      // that the bridge found in that plan
	GoalFaults   []Fault      `json:"goal_faults,omitempty"` // and in its goal
	PlanRevision int64        `json:"plan_revision"`         // that the answer is about
	Reason       string       `json:"reason,omitempty"`
	Usage        *Usage       `json:"usage,omitempty"`
	Question     *UserAsk     `json:"question,omitempty"` // of ask_user
}

// UserAsk is what the user is to be asked.
type UserAsk struct {
	Text      string      `json:"text"`
	TimeoutMS int64       `json:"timeout_ms"`
	Options   []AskOption `json:"options"`
}

// Usage is what a decision cost where it was made. It is kept in the journal and decides nothing.
type Usage struct {
	Model        string `json:"model,omitempty"`
	InputTokens  int64  `json:"input_tokens,omitempty"`
	OutputTokens int64  `json:"output_tokens,omitempty"`
	LatencyMS    int64  `json:"latency_ms,omitempty"`
}

// decisionReceived takes an answer, or refuses it. A refused answer spends nothing and leaves the question open, so it is not
// remembered: the same key may still bring one that is accepted.
func (w *work) decisionReceived(ev DecisionReceived) {
	if w.answeredBefore(&ev.Head, "decision:"+string(ev.Escalation)) {
		return
	}
	ans := Answer{Ref: ev.Msg}
	wf, i := w.asked(ev.Escalation)
	if wf != nil {
		ans.Workflow, ans.Plan = wf.Plan.Workflow, wf.Plan.ID
	}
	if ans.Reason = w.decidable(ev, wf, i); ans.Reason == ReasonNone {
		w.decide(ev, wf, i, &ans)
	}
	key := ""
	if ans.Accepted = ans.Reason == ReasonNone; ans.Accepted {
		key = "decision:" + string(ev.Escalation)
	}
	w.reply(ev.Head, ans, key)
}

// asked finds the workflow of a question, and the step where the question is still open; -1: it is not.
func (w *work) asked(id EscalationID) (*Workflow, int) {
	var found WorkflowID
	for wfID, wf := range w.cur.Workflows {
		if wf.escalation(id) != nil {
			found = wfID
		}
	}
	for _, wfID := range w.ids { // one that was opened in this very batch
		if w.wfs[wfID].escalation(id) != nil {
			found = wfID
		}
	}
	if found == "" {
		return nil, -1
	}
	wf := w.wf(found)
	return wf, slices.IndexFunc(wf.Steps, func(st Step) bool { return st.asked() && st.Fate.Asked == id })
}

// decidable says why an answer cannot be taken.
func (w *work) decidable(ev DecisionReceived, wf *Workflow, i int) Reason {
	switch {
	case w.otherStore(ev.Head):
		return ReasonWrongEpoch
	case wf == nil:
		return ReasonUnknownTarget
	case i < 0:
		return w.whyClosed(wf, wf.escalation(ev.Escalation))
	case w.age(ev.Head) != ReasonNone:
		return w.age(ev.Head)
	case ev.PlanRevision != wf.Plan.Revision:
		return ReasonDecisionStale
	case w.tooLate(ev.Head) != ReasonNone:
		return w.tooLate(ev.Head)
	case !slices.Contains(wf.escalation(ev.Escalation).Allowed, ev.Action):
		return ReasonNotAllowed
	case ev.Action == ActAsk && !w.askable(ev, wf):
		return ReasonNotAllowed
	case ev.Action == ActRetry && !wf.retriesLeft(): // another question of the plan has taken the last one since
		return ReasonNotAllowed
	}
	return ReasonNone
}

// askable: the user may still be asked, and each answer is an action that was offered and that the device carries out by itself.
func (w *work) askable(ev DecisionReceived, wf *Workflow) bool {
	offered := wf.escalation(ev.Escalation).Allowed
	return ev.Question != nil && len(ev.Question.Options) > 0 && w.mayAsk(wf) && !slices.ContainsFunc(ev.Question.Options, func(o AskOption) bool {
		return o.Action == ActAsk || o.Action == ActReplan || o.Action == ActSubstitute || !slices.Contains(offered, o.Action)
	})
}

// whyClosed: nothing follows a cancel, a revision has gone over it, or it was answered, or its time was over.
func (w *work) whyClosed(wf *Workflow, e *Escalation) Reason {
	switch {
	case w.tombOf(wf.Plan.Workflow) != ReasonNone:
		return ReasonAfterCancel
	case e.State == EscSuperseded:
		return ReasonSuperseded
	}
	return ReasonDecisionStale
}

// decide carries out what was chosen.
func (w *work) decide(ev DecisionReceived, wf *Workflow, i int, ans *Answer) {
	if ev.Action == ActReplan || ev.Action == ActSubstitute {
		w.replan(ev, wf, ans)
		return
	}
	w.closeEscalation(wf, i, EscDecided, ReasonNone, ev.Action)
	w.trace(wf, ev.traced(wf.Steps[i].ID))
	if ev.Action == ActAsk {
		st := &wf.Steps[i]
		w.askUser(wf, i, st.Fate.End, Ask{Kind: AskDecision, Escalation: ev.Escalation, Text: ev.Question.Text, Options: ev.Question.Options}, ev.Question.TimeoutMS)
		return
	}
	w.act(wf, i, ev.Action)
}

// act carries out what the device can by itself, decided by the cloud or chosen by the user.
func (w *work) act(wf *Workflow, i int, chosen Action) {
	switch chosen {
	case ActRetry:
		w.retryAsked(wf, i)
	case ActReturn:
		w.takeFate(wf, i, "")
		w.abortRest(wf)
		if w.runStanding(catalog.StandingReturn, "decided when "+string(wf.Plan.Workflow)+" had failed") {
			w.trace(wf, TraceEntry{Stage: StageAct, What: string(ActReturn)})
		}
	default:
		w.takeFate(wf, i, "")
	}
}

// traced is the entry of an answer that is taken.
func (ev *DecisionReceived) traced(step StepID) TraceEntry {
	return TraceEntry{Stage: StageDecide, What: string(ev.Action), Step: step, Basis: string(ev.Escalation), Usage: ev.Usage}
}

// replan hands the new revision to its door, which closes the questions of the workflow. Its faults refuse the decision and leave the
// question open: nothing is changed then, and nothing spent.
func (w *work) replan(ev DecisionReceived, wf *Workflow, ans *Answer) {
	if len(ev.Faults) > 0 || ev.Plan == nil {
		ans.Faults = ev.Faults
		if ans.Reason = ReasonUnsupported; len(ev.Faults) > 0 {
			ans.Reason = ev.Faults[0].Reason
		}
		return
	}
	plan, faults := w.goalOf(ev.Plan, ev.GoalFaults)
	if len(faults) > 0 {
		ans.Reason, ans.Faults = faults[0].Reason, faults
		return
	}
	next := *plan
	next.Local = wf.Plan.Local
	reason, faults := w.revise(wf, &next, ev.Hash, func() {
		wf.Escalations = slices.Clone(wf.Escalations)
		e := wf.escalation(ev.Escalation)
		e.State, e.Why, e.Action = EscDecided, ReasonNone, ev.Action
		w.trace(wf, ev.traced(e.Step))
	})
	for _, f := range faults {
		f.Path = "plan." + f.Path
		ans.Faults = append(ans.Faults, f)
	}
	if ans.Reason = reason; reason != ReasonNone {
		return
	}
	ans.State, ans.Stopping = string(wf.State), held(wf)
}

// retryAsked gives an exhausted step one more attempt. What the old one had dispatched has to have ended first: until then the step
// stays blocked, for at most its hold_ms.
func (w *work) retryAsked(wf *Workflow, i int) {
	st := &wf.Steps[i]
	st.Fate, st.Checked, st.TriedSince, st.dirty = nil, false, 0, true
	w.freed, w.ch.Must = true, true
	if a := wf.attempt(st.Task); a != nil && a.holds() {
		st.Due, st.Detail = w.now.Boot+Instant(wf.Plan.Steps[i].HoldMS), string(a.Task)
		w.readRest(wf, a)
		return
	}
	st.Accepted, st.Released = 0, 0 // what the old one released waits for the new one
	w.move(wf, i, Queued, ReasonNone)
}
