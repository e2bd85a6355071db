package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

// Escalation is one question to the cloud: a step has failed, local recovery is over, and somebody has to say what becomes of it. It
// is stored with its workflow, one for each time that a step was exhausted, and at most as many as the plan has decisions. From the
// commit that opens it on, the step is blocked and is moved by nothing but the decision, the deadline, a cancel or a revision.
type Escalation struct {
	ID       EscalationID    `json:"id"`
	Step     StepID          `json:"step"`
	About    StepID          `json:"about,omitempty"` // the step that ended without its event, where that is what is asked about
	Reason   Reason          `json:"reason"`
	End      StepState       `json:"end"` // what the step becomes by default: failed, timed_out, skipped
	Opened   Instant         `json:"opened"`
	Due      Instant         `json:"due"` // the decision deadline: then the default is taken
	Allowed  []Action        `json:"allowed"`
	Default  Action          `json:"default"`
	Revision int64           `json:"revision"` // of the plan that it is about: an answer to another one is stale
	Before   Budget          `json:"before"`   // what was left when it was opened; opening it has spent one decision
	OutSeq   int64           `json:"out_seq"`  // of its message
	State    EscalationState `json:"state"`
	Why      Reason          `json:"why,omitempty"`    // why it was superseded
	Action   Action          `json:"action,omitempty"` // that closed it
	Closed   Instant         `json:"closed,omitempty"`
}

// EscalationState says how far a question is.
type EscalationState string

// The states of an escalation. All but the first are final.
const (
	EscOpen       EscalationState = "open"
	EscDecided    EscalationState = "decided"    // by an accepted decision
	EscDefaulted  EscalationState = "defaulted"  // nobody answered by its deadline
	EscSuperseded EscalationState = "superseded" // a cancel or a revision went over it
)

// Action is what a decision may say. A model cannot complete a goal, nor skip what is to be proven: there is no word for it here.
type Action string

// The actions of this form.
const (
	ActRetry      Action = "retry_local"       // one more attempt
	ActReplan     Action = "replan_cloud"      // a new revision of the plan
	ActSubstitute Action = "substitute"        // a new revision in which another operation provides the effect
	ActReturn     Action = "return_to_station" // the plan is given up, and the catalog's standing plan takes the robot to its station
	ActAsk        Action = "ask_user"          // the user is asked on the robot, and chooses among actions that the device carries out itself
	ActCancel     Action = "cancel"            // the step takes its terminal state, what depends on it is skipped
)

// replans says whether an action changes the plan, and so is counted as a replan.
func (a Action) replans() bool { return a == ActReplan || a == ActSubstitute || a == ActReturn }

// Budget is what the cloud may still be asked for. Source: docs/taskmanager.md, escalation.
type Budget struct {
	Decisions int64 `json:"decisions"`
	Replans   int64 `json:"replans"`
	Questions int64 `json:"questions,omitempty"` // to the user; a plan without an experience has none
}

// The budget of a plan without an experience, and how long its questions stay open. Source: docs/taskmanager.md, escalation.
const (
	maxDecisions = 3
	maxReplans   = 1
	decisionMS   = 120_000
)

// Fate is what is to become of an exhausted step.
type Fate struct {
	End   StepState    `json:"end"`             // what it becomes if no decision says otherwise: failed, timed_out, skipped
	Asked EscalationID `json:"asked,omitempty"` // the open question about it: nothing else moves it
	Ask   AskID        `json:"ask,omitempty"`   // or that to the user
	Reads bool         `json:"reads,omitempty"` // what it reads is read anew before it is asked about

	Refused Conjunct `json:"refused,omitempty"` // of a step of a goal that has taken its end: what kept the gate closed
}

// asked says whether a question about the step is open.
func (st *Step) asked() bool { return st.Fate != nil && st.Fate.Asked != "" }

// Left is what a workflow may still ask for. A decision is spent when its question is committed, a replan when it is accepted.
func (wf *Workflow) Left() Budget {
	most := wf.budget()
	return Budget{Decisions: max(0, most.Decisions-wf.decisions()), Replans: max(0, most.Replans-wf.replans()), Questions: wf.questionsLeft()}
}

func (wf *Workflow) decisions() int64 { return int64(len(wf.Escalations)) }

func (wf *Workflow) replans() (n int64) {
	for _, e := range wf.Escalations {
		if e.State == EscDecided && e.Action.replans() {
			n++
		}
	}
	for i := range wf.Asks { // a decision to ask the user, who chose that
		if a := &wf.Asks[i]; a.Kind == AskDecision && a.State == AskAnswered && slices.ContainsFunc(a.Options, func(o AskOption) bool { return o.ID == a.Option && o.Action.replans() }) {
			n++
		}
	}
	return n
}

// escalate opens the question about a step. The step is blocked until that is closed; to is what it becomes if nobody says otherwise.
func (w *work) escalate(wf *Workflow, i int, to StepState, reason Reason, about StepID) {
	st := &wf.Steps[i]
	detail := st.Detail
	if st.State != Blocked {
		w.move(wf, i, Blocked, reason)
	}
	w.note(wf, i, reason, detail)
	due := w.now.Boot + decisionMS
	if wf.Deadline != 0 {
		due = min(due, wf.Deadline) // nobody may answer for longer than the plan lives
	}
	e := Escalation{
		ID: w.newEscalation(), Step: st.ID, About: about, Reason: reason, End: to, Opened: w.now.Boot, Due: due,
		Allowed: w.allowed(wf, i, reason, about), Default: ActCancel, Revision: wf.Plan.Revision, Before: wf.Left(), State: EscOpen,
	}
	st.Fate, st.Due, st.recheck, st.dirty = &Fate{End: to, Asked: e.ID}, e.Due, 0, true
	e.OutSeq = w.dev.OutSeq + 1
	wf.Escalations = append(slices.Clone(wf.Escalations), e)
	w.send(Message{Type: MsgEscalation, Workflow: wf.Plan.Workflow, Step: st.ID, Task: st.Task, Escalation: w.question(wf, i, &e)})
	wf.dirty, w.touched, w.ch.Must = true, true, true
	w.trace(wf, TraceEntry{Stage: StageAct, What: "escalate", Step: st.ID, Reason: reason, Basis: string(e.ID)})
}

// newEscalation makes an id from the counter of the tasks: it is never used again either.
func (w *work) newEscalation() EscalationID {
	return EscalationID("e" + string(w.newTask())[1:])
}

// allowed lists what may be decided, by the catalog and the budget. Source: docs/taskmanager.md, escalation.
func (w *work) allowed(wf *Workflow, i int, reason Reason, about StepID) []Action {
	var out []Action
	if about == "" && w.mayRedo(wf, i, reason) && w.mayRepeat(wf, i) {
		out = append(out, ActRetry)
	}
	if wf.Left().Replans > 0 {
		if wf.Plan.Template == "" { // the id of an occurrence is the device's: no plan that comes can carry it
			if about == "" && len(w.substitutes(wf, i)) > 0 {
				out = append(out, ActSubstitute)
			}
			out = append(out, ActReplan)
		}
		if w.mayReturn(wf, i, reason) {
			out = append(out, ActReturn)
		}
	}
	if w.mayAsk(wf) {
		out = append(out, ActAsk)
	}
	return append(out, ActCancel)
}

// mayReturn says whether the way to the station is an answer: the plan moves the robot, nobody has stopped it, and it is not that very
// way that has failed.
func (w *work) mayReturn(wf *Workflow, i int, reason Reason) bool {
	way := w.cat.Standing[catalog.StandingReturn]
	failed := wf.Plan.Steps[i].Method
	return InfoOf(reason).Class != User && slices.ContainsFunc(wf.Plan.Steps, func(s StepSpec) bool { return s.MovesBody }) &&
		slices.ContainsFunc(way, func(s catalog.StandingStep) bool { return w.cat.Operations[s.Method].MovesBody && s.Method != failed })
}

// mayRedo says whether one more attempt could be made: nothing of safety and nobody's wish is against it, the outcome can be another,
// and either nothing ran or the catalog lets it be sent again. An attempt that is still being stopped is waited for.
func (w *work) mayRedo(wf *Workflow, i int, reason Reason) bool {
	info := InfoOf(reason)
	if info.Class == Safety || info.Class == User || reason == ReasonInputInvalid || outputMissing(reason, wf.Steps[i].Detail) {
		return false
	}
	a := wf.attempt(wf.Steps[i].Task)
	return a == nil || a.Cloud || a.NotRun || wf.facts(i).Redo != catalog.RedoNever
}

// mayRepeat says whether the goal allows one more attempt: a retry is left to it, and what the step reads is known as it is now. Nothing
// is repeated on stale context.
func (w *work) mayRepeat(wf *Workflow, i int) bool {
	return !wf.supervised() || wf.retriesLeft() && len(w.staleKeys(wf, i)) == 0
}

// outputMissing: what an ended step has not given it will never give; only values of the context may still come.
func outputMissing(reason Reason, ref string) bool {
	return reason == ReasonContextMissing && ref != "" && !strings.HasPrefix(ref, "ctx.")
}

// substitutes names other operations that can bring about an effect that the step still owes.
func (w *work) substitutes(wf *Workflow, i int) (out []catalog.Method) {
	for _, e := range wf.Steps[i].Effects {
		if e.ID == "" || e.State == EffectObserved {
			continue
		}
		for _, m := range w.providers(e.ID) {
			if m != wf.Plan.Steps[i].Method && !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// providers lists what a plan of the cloud may name to bring an effect about.
func (w *work) providers(id catalog.EffectID) []catalog.Method {
	return slices.DeleteFunc(w.cat.Providers(id), func(m catalog.Method) bool {
		v := w.cat.Operations[m].Visibility
		return v != "" && v != "public"
	})
}

// escalation finds the question by its id.
func (wf *Workflow) escalation(id EscalationID) *Escalation {
	i := slices.IndexFunc(wf.Escalations, func(e Escalation) bool { return e.ID == id })
	if i < 0 {
		return nil
	}
	return &wf.Escalations[i]
}

// lastAbout is what the last question about a step was about, beside the step.
func (wf *Workflow) lastAbout(id StepID) StepID {
	for _, e := range slices.Backward(wf.Escalations) {
		if e.Step == id {
			return e.About
		}
	}
	return ""
}

// closeEscalations closes whatever is open: a cancel or a revision goes over it. The message of a question that nobody may answer any
// more is taken out of the outbox in the same commit. A step that stays blocked is asked about anew, if a decision is left.
func (w *work) closeEscalations(wf *Workflow, why Reason) {
	for i := range wf.Steps {
		w.closeEscalation(wf, i, EscSuperseded, why, "")
		w.leaveAsk(wf, i)
	}
}

// closeEscalation closes the question about a step, if one is open.
func (w *work) closeEscalation(wf *Workflow, i int, how EscalationState, why Reason, action Action) {
	st := &wf.Steps[i]
	if !st.asked() {
		return
	}
	wf.Escalations = slices.Clone(wf.Escalations)
	e := wf.escalation(st.Fate.Asked)
	e.State, e.Why, e.Action, e.Closed = how, why, action, w.now.Boot
	st.Fate, st.Due, st.dirty = &Fate{End: st.Fate.End}, 0, true
	wf.dirty, w.touched, w.ch.Must = true, true, true
	if how == EscSuperseded {
		w.unsend(wf, e.OutSeq)
	}
}

// unsend takes a message back: out of this change, or out of the outbox.
func (w *work) unsend(wf *Workflow, seq int64) {
	n := len(w.ch.Outbox)
	w.ch.Outbox = slices.DeleteFunc(w.ch.Outbox, func(m Message) bool { return m.Seq == seq })
	if len(w.ch.Outbox) < n {
		wf.Uplink--
		return
	}
	w.ch.Withdrawn = append(w.ch.Withdrawn, seq)
}

// unanswered: nobody has decided by the deadline. The default is taken.
func (w *work) unanswered(wf *Workflow, i int) {
	asked := wf.Steps[i].Fate.Asked
	w.closeEscalation(wf, i, EscDefaulted, ReasonNone, ActCancel)
	if w.askFallback(wf, i, wf.Steps[i].Fate.End, wf.Steps[i].Reason, ReasonNoDecision) {
		return
	}
	w.trace(wf, TraceEntry{Stage: StageObserve, What: string(ObsMissed), Step: wf.Steps[i].ID, Reason: ReasonNoDecision, Basis: string(asked)})
	w.trace(wf, TraceEntry{Stage: StageDecide, What: string(ActCancel), Step: wf.Steps[i].ID, Reason: ReasonNoDecision, Basis: string(asked)})
	w.fallBack(wf, i, wf.Steps[i].Fate.End, ReasonNoDecision)
	w.takeFate(wf, i, fmt.Sprintf("no decision came within %d s", decisionMS/1000))
}

// takeFate ends an exhausted step as it would have ended without a question.
func (w *work) takeFate(wf *Workflow, i int, detail string) {
	st := &wf.Steps[i]
	w.move(wf, i, st.Fate.End, st.Reason)
	st.Detail = detail
	w.ch.Must = true
}

// awaits says that a blocked step is moved by nothing that others do: it is asked about, or what it had dispatched has not ended yet.
// Where a revision went over the question and left the step as it was, it is asked about anew, or ends.
func (w *work) awaits(wf *Workflow, i int) bool {
	st := &wf.Steps[i]
	switch {
	case st.State != Blocked:
		return false
	case st.asked() || st.toUser():
		return true
	case st.Fate == nil:
		if a := wf.attempt(st.Task); a != nil && a.holds() {
			return true
		}
		st.Accepted, st.Released = 0, 0 // what an earlier try released waits for the next one
		return false
	}
	w.askAnew(wf, i)
	return true
}

// askAnew asks about an exhausted step that nobody is asked about: what it reads was read anew, or a revision went over its question.
func (w *work) askAnew(wf *Workflow, i int) {
	st, about := &wf.Steps[i], wf.lastAbout(wf.Steps[i].ID)
	sup := w.supervise(&gateQuery{wf: wf, i: i, on: ObservedBy(st.Reason), reason: st.Reason, policy: wf.Plan.Steps[i].OnFailure,
		read: about != "" || st.Fate.Reads && st.Due == 0})
	switch {
	case sup.Decision == DecideReplan:
		w.escalate(wf, i, st.Fate.End, st.Reason, about)
	case sup.Refused != RefusedStale && sup.Refused.falls() && w.askFallback(wf, i, st.Fate.End, st.Reason, sup.fallReason()):
	case sup.Refused != RefusedStale:
		w.notAsked(wf, i, st.Fate.End, st.Reason, sup)
		wf.Steps[i].Detail = "no decision is left"
	case st.Fate.Reads:
		w.readStale(wf, i)
	default:
		w.readFirst(wf, i, st.Fate.End, st.Reason)
	}
}

// notAsked: the gate stayed closed, and the step takes its end.
func (w *work) notAsked(wf *Workflow, i int, end StepState, reason Reason, sup Supervision) {
	if sup.Goal != "" && sup.Refused.falls() && reason != ReasonConsentDenied { // there a person has said what is to become of it
		w.fallBack(wf, i, end, sup.fallReason())
	}
	w.move(wf, i, end, reason)
	w.ch.Must = true
	if st := &wf.Steps[i]; sup.Goal != "" && sup.Refused != GateOpen {
		st.Fate, st.dirty = &Fate{End: st.State, Refused: sup.Refused}, true
	}
}

// mayGoOnWith says whether a step that used one of the resources has failed and waits for its next try, or for the decision to make one:
// who stops the robot while it stands still in between does not want it to set out again.
func (wf *Workflow) mayGoOnWith(resources []catalog.ResourceID) bool {
	for i := range wf.Steps {
		st := &wf.Steps[i]
		again := st.State == RetryWait || st.State == Blocked && st.Attempts > 0
		if again && slices.ContainsFunc(wf.Plan.Steps[i].Resources, func(x catalog.ResourceID) bool { return slices.Contains(resources, x) }) {
			return true
		}
	}
	return false
}

// missed: a step has ended without the event that others wait for. The first of them is blocked and asks; the others wait for what is
// said about it, and are skipped when it is.
func (w *work) missed(wf *Workflow, i int) {
	anchor := w.withoutEvent(wf, i)
	about, policy := wf.Steps[anchor].ID, wf.Plan.Steps[anchor].OnFailure
	asked := slices.IndexFunc(wf.Escalations, func(e Escalation) bool { return e.About == about && e.State != EscSuperseded })
	switch {
	case asked >= 0 && wf.Escalations[asked].State == EscOpen:
	case asked < 0:
		sup := w.supervise(&gateQuery{wf: wf, i: i, on: ObsFailed, reason: ReasonWaitEventMissing, policy: policy, read: true})
		if sup.Decision == DecideReplan {
			w.escalate(wf, i, Skipped, ReasonWaitEventMissing, about)
			return
		}
		w.notAsked(wf, i, Skipped, ReasonWaitEventMissing, sup)
	default:
		w.move(wf, i, Skipped, ReasonWaitEventMissing)
	}
}

// withoutEvent is the step that step i waits for and that has ended without its event.
func (w *work) withoutEvent(wf *Workflow, i int) int {
	for _, d := range wf.Plan.Steps[i].Deps {
		if _, never := dependency(&wf.Plan.Steps[d.Step], &wf.Steps[d.Step], d.On); never == ReasonWaitEventMissing {
			return d.Step
		}
	}
	panic("internal error: no step of " + string(wf.Plan.Workflow) + " has ended without its event (asked for " + strconv.Itoa(i) + ")")
}

// whyExhausted says which decision is awaited, or what has to end before the attempt that was decided, or that what released the step
// has failed and is tried again. None: it is held by something else.
func (w *work) whyExhausted(wf *Workflow, i int) []Fact {
	st := &wf.Steps[i]
	a := wf.attempt(st.Task)
	switch {
	case st.toUser():
		return []Fact{whyAsked(wf, st)}
	case st.asked():
		e := wf.escalation(st.Fate.Asked)
		return []Fact{{Kind: "decision", Ref: string(e.ID), Text: fmt.Sprintf("%s (%s): the cloud is asked what to do; it may answer %v", st.Reason, InfoOf(st.Reason).Text, e.Allowed)}}
	case st.State == Blocked && st.Fate != nil && st.Fate.Reads:
		return []Fact{{Kind: "context", Text: fmt.Sprintf("%s (%s): what it reads is read anew before the cloud is asked: %v", st.Reason, InfoOf(st.Reason).Text, w.staleKeys(wf, i))}}
	case st.State == Blocked && a != nil && a.holds():
		return []Fact{{Kind: "stop", Ref: string(a.Task), Text: "it is to be tried again when its old task has ended; that is being stopped"}}
	case st.State == Queued:
		return w.whyPending(wf, i)
	}
	return nil
}
