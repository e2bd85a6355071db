package core

import (
	"fmt"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

// Ask is one question to the user: on the wire a "question". It is stored with its workflow and stays there when it has closed, so that what
// was asked is counted over restarts. From the commit that opens it on, its step is moved by nothing but the answer, the end of its time, a
// cancel or a revision. It is asked on the robot and by up/question, and takes one answer from whoever is first. Source: docs/experience.md.
type Ask struct {
	ID         AskID        `json:"id"`
	Kind       AskKind      `json:"kind"`
	Step       StepID       `json:"step"`
	Consent    string       `json:"consent,omitempty"`    // the key that is asked for
	Escalation EscalationID `json:"escalation,omitempty"` // whose decision it is
	Reason     Reason       `json:"reason,omitempty"`     // of a fallback: why nobody else decides
	Text       string       `json:"text"`
	Options    []AskOption  `json:"options"`
	Opened     Instant      `json:"opened"`
	Due        Instant      `json:"due"` // an answer has to come before
	State      AskState     `json:"state"`
	Option     string       `json:"option,omitempty"` // that was chosen
	By         string       `json:"by,omitempty"`     // who chose it
	Turn       string       `json:"turn_id,omitempty"`
	Closed     Instant      `json:"closed,omitempty"`
}

// AskOption is one answer that may be given. Action is what it brings about; consents have none: theirs is yes or no.
type AskOption struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Action Action `json:"action,omitempty"`
}

// AskKind says why the user is asked.
type AskKind string

// The kinds. All but consents are counted by user_questions.
const (
	AskDecision AskKind = "decision" // the cloud decided to ask
	AskFallback AskKind = "fallback" // nobody decides, and the goal would be lost: ask_or_stop
	AskConsent  AskKind = "consent"
	AskLate     AskKind = "late" // a step is late: does the user want to hear first what waits for it?
)

// AskState says how far a question to the user is.
type AskState string

// The states. All but the first are final.
const (
	AskOpen      AskState = "open"
	AskAnswered  AskState = "answered"
	AskExpired   AskState = "expired"   // silence is no answer
	AskWithdrawn AskState = "withdrawn" // a cancel, a revision or the end of its workflow went over it
)

// askMS is how long the device's own questions stay open. Source: ours; who is in the room answers within seconds, who is not will not.
const askMS = 60_000

// AnswerReceived is the user's answer, heard by the planner or given at the robot's own doors. It chooses one of the options.
type AnswerReceived struct {
	Head
	Question AskID  `json:"question"`
	Option   string `json:"option"`
	Turn     string `json:"turn_id,omitempty"`
	By       string `json:"by,omitempty"`
}

// KindAnswer names the event in the journal.
const KindAnswer EventKind = "answer_received"

func (AnswerReceived) eventKind() EventKind { return KindAnswer }

// Asking is the message of a question to the user: it was opened, was answered on the device, or is withdrawn.
type Asking struct {
	Ask        Ask
	Experience string
	LeftMS     int64 // of an open one
}

// owner names the question to the mouth.
func (a *Ask) owner() Owner { return Owner{Kind: ForQuestion, ID: string(a.ID)} }

// askAloud says the question and shows it with its answers.
func (w *work) askAloud(a *Ask) {
	w.say(Utterance{Owner: a.owner(), Text: a.Text})
	w.show(Utterance{Owner: a.owner(), Text: a.onScreen()})
}

// onScreen is the question with the words of its answers.
func (a *Ask) onScreen() string {
	text := a.Text
	for _, o := range a.Options {
		text += "\n- " + o.Text
	}
	return text
}

// questionsLeft is how often the user may still be asked. A question is spent when it is committed; asking for a consent spends none.
func (wf *Workflow) questionsLeft() int64 {
	if !wf.Plan.bounded() {
		return 0
	}
	used := int64(0)
	for i := range wf.Asks {
		if wf.Asks[i].Kind != AskConsent {
			used++
		}
	}
	return max(0, wf.Plan.Goal.Budget.Questions-used)
}

// mayAsk says whether the user may and can be asked what is to become of the plan.
func (w *work) mayAsk(wf *Workflow) bool {
	return wf.questionsLeft() > 0 && wf.Cancel == ReasonNone && (w.canSpeak() || w.canShow())
}

// toUser says whether a question to the user about the step is open.
func (st *Step) toUser() bool { return st.Fate != nil && st.Fate.Ask != "" }

// ask finds the question by its id.
func (wf *Workflow) ask(id AskID) *Ask {
	i := slices.IndexFunc(wf.Asks, func(a Ask) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	return &wf.Asks[i]
}

// askUser opens a question about a step, which is blocked by now. forMS bounds it; it never outlives the plan.
func (w *work) askUser(wf *Workflow, i int, end StepState, a Ask, forMS int64) {
	w.openAsk(wf, i, &a, forMS)
	w.awaitUser(wf, i, end, &a)
	w.putAsk(wf, &a, wf.Steps[i].Reason)
}

func (w *work) openAsk(wf *Workflow, i int, a *Ask, forMS int64) {
	a.ID, a.Step, a.State = AskID("q"+string(w.newTask())[1:]), wf.Steps[i].ID, AskOpen
	a.Opened, a.Due = w.now.Boot, w.now.Boot+Instant(forMS)
	if wf.Deadline != 0 {
		a.Due = min(a.Due, wf.Deadline)
	}
	wf.Asks = append(slices.Clone(wf.Asks), *a)
	wf.dirty, w.touched, w.ch.Must = true, true, true
}

// putAsk puts a question to the user: on the robot, and by the planner.
func (w *work) putAsk(wf *Workflow, a *Ask, why Reason) {
	w.askAloud(a)
	w.tellAsk(wf, a)
	w.trace(wf, TraceEntry{Stage: StageAct, What: "ask", Step: a.Step, Reason: why, Basis: string(a.ID)})
}

// awaitUser lets a blocked step wait for a question.
func (w *work) awaitUser(wf *Workflow, i int, end StepState, a *Ask) {
	st := &wf.Steps[i]
	st.Fate, st.Due, st.recheck, st.dirty = &Fate{End: end, Ask: a.ID}, a.Due, 0, true
	wf.dirty, w.touched, w.ch.Must = true, true, true
}

func (w *work) tellAsk(wf *Workflow, a *Ask) {
	q := &Asking{Ask: *a, Experience: wf.Plan.Goal.Experience}
	if a.State == AskOpen {
		q.LeftMS = int64(a.Due - w.now.Boot)
	}
	w.send(Message{Type: MsgQuestion, Workflow: wf.Plan.Workflow, Step: a.Step, Question: q})
}

// closeAsk closes a question for all steps that wait for it, and hushes the robot. The cloud is told what it cannot know by itself: an answer
// that was given on the device, and that nobody is asked any more.
func (w *work) closeAsk(wf *Workflow, id AskID, how AskState, local bool) {
	wf.Asks = slices.Clone(wf.Asks)
	a := wf.ask(id)
	a.State, a.Closed = how, w.now.Boot
	for i := range wf.Steps {
		if st := &wf.Steps[i]; st.toUser() && st.Fate.Ask == id {
			st.Fate, st.Due, st.dirty = &Fate{End: st.Fate.End}, 0, true
			if a.Kind == AskConsent {
				st.Fate = nil // it has not failed: it is looked at anew
			}
			if st.State == Blocked {
				st.Due = w.now.Boot + Instant(wf.Plan.Steps[i].HoldMS)
			}
		}
	}
	wf.dirty, w.touched, w.freed, w.ch.Must = true, true, true, true
	w.unsay(a.owner())
	switch {
	case how == AskWithdrawn && w.retractAsk(wf, id): // it was opened in this very change
	case how == AskWithdrawn, how == AskAnswered && local:
		w.tellAsk(wf, a)
	}
}

// retractAsk takes the message of a question out of this change. False: it has left with an earlier one.
func (w *work) retractAsk(wf *Workflow, id AskID) bool {
	n := len(w.ch.Outbox)
	w.ch.Outbox = slices.DeleteFunc(w.ch.Outbox, func(m Message) bool { return m.Question != nil && m.Question.Ask.ID == id })
	if len(w.ch.Outbox) == n {
		return false
	}
	wf.Uplink--
	return true
}

// leaveAsk: a step goes on over an open question, or is taken out. The question is withdrawn, unless another step waits for it too.
func (w *work) leaveAsk(wf *Workflow, i int) {
	st := &wf.Steps[i]
	if a := wf.lateAsk(); a != nil && a.Step == st.ID {
		w.closeAsk(wf, a.ID, AskWithdrawn, false) // it is late no more
	}
	if !st.toUser() {
		return
	}
	id := st.Fate.Ask
	if slices.ContainsFunc(wf.Steps, func(o Step) bool { return o.ID != st.ID && o.toUser() && o.Fate.Ask == id }) {
		st.Fate, st.dirty = nil, true
		return
	}
	if a := wf.ask(id); a.Kind == AskConsent {
		w.setConsent(Consent{Key: a.Consent, Scope: wf.Plan.Goal.Experience, State: ConsentExpired, By: "withdrawn", Question: id})
	}
	w.closeAsk(wf, id, AskWithdrawn, false)
}

// answerReceived takes an answer, or refuses it. The first one counts, whoever gave it; a refused one changes nothing.
func (w *work) answerReceived(ev AnswerReceived) {
	key := "answer:" + string(ev.Question)
	w.recall(&ev.Head, key)
	ans := Answer{Ref: ev.Msg}
	wf := w.askedUser(ev.Question)
	if wf != nil {
		ans.Workflow, ans.Plan = wf.Plan.Workflow, wf.Plan.ID
	}
	switch {
	case ev.Before != nil && ev.Before.Ref == ev.Msg && ev.HashThen == ev.Hash:
		w.reply(ev.Head, *ev.Before, "") // it is that very message again
		return
	case ev.Before != nil:
		ans.Reason = ReasonDecisionStale
	case w.otherStore(ev.Head):
		ans.Reason = ReasonWrongEpoch
	case wf == nil:
		ans.Reason = ReasonUnknownTarget
	case w.age(ev.Head) != ReasonNone:
		ans.Reason = w.age(ev.Head)
	case w.tooLate(ev.Head) != ReasonNone:
		ans.Reason = w.tooLate(ev.Head)
	default:
		ans.Reason = w.answerAsk(wf, ev.Question, ev.Option, ev.By, ev.Turn, ev.Local)
	}
	if ans.Accepted = ans.Reason == ReasonNone; !ans.Accepted {
		key = ""
	}
	w.reply(ev.Head, ans, key)
}

// askedUser finds the workflow of a question to the user.
func (w *work) askedUser(id AskID) *Workflow {
	for _, wfID := range w.ids { // one that was opened in this very batch
		if w.wfs[wfID].ask(id) != nil {
			return w.wfs[wfID]
		}
	}
	for wfID, wf := range w.cur.Workflows {
		if wf.ask(id) != nil {
			return w.wf(wfID)
		}
	}
	return nil
}

// answerAsk takes the answer to a question: what it says is carried out. Otherwise it says why not, and nothing has changed.
func (w *work) answerAsk(wf *Workflow, id AskID, option, by, turn string, local bool) Reason {
	a := wf.ask(id)
	if a.State != AskOpen {
		return ReasonDecisionStale
	}
	o := slices.IndexFunc(a.Options, func(o AskOption) bool { return o.ID == option })
	if o < 0 || a.Kind == AskDecision && a.Options[o].Action.replans() && wf.Left().Replans == 0 {
		return ReasonNotAllowed
	}
	i := slices.IndexFunc(wf.Steps, func(st Step) bool { return st.toUser() && st.Fate.Ask == id })
	wf.Asks = slices.Clone(wf.Asks)
	a = wf.ask(id)
	a.Option, a.By, a.Turn = option, by, turn
	asked := *a
	w.trace(wf, TraceEntry{Stage: StageObserve, What: "answered", Step: asked.Step, Seen: option, Basis: string(id)})
	w.closeAsk(wf, id, AskAnswered, local)
	switch asked.Kind {
	case AskConsent:
		w.consentSaid(wf, &asked, option == consentYes)
	case AskLate:
		if option == consentYes {
			w.beginEarly(wf, asked.Step)
		}
	case AskFallback:
		w.fallBackTo(wf, i, asked.Options[o].Action, asked.Reason)
	default:
		w.act(wf, i, asked.Options[o].Action)
	}
	return ReasonNone
}

// fallBackTo carries out what the user has chosen in place of a decision: what is not tried again is ended safely.
func (w *work) fallBackTo(wf *Workflow, i int, chosen Action, why Reason) {
	if chosen == ActRetry {
		w.retryAsked(wf, i)
		return
	}
	w.endRest(wf, i, why)
	w.takeFate(wf, i, "the user has chosen "+string(chosen))
	if chosen == ActReturn {
		w.runStanding(catalog.StandingReturn, "chosen by the user when "+string(wf.Plan.Workflow)+" had failed")
	}
}

// silent: nobody has answered in time. What was asked instead of it is taken: the default of the decision, the safe end, no consent.
func (w *work) silent(wf *Workflow, i int) {
	a := *wf.ask(wf.Steps[i].Fate.Ask)
	w.trace(wf, TraceEntry{Stage: StageObserve, What: "silent", Step: a.Step, Basis: string(a.ID)})
	waiting := w.waitFor(wf, a.ID)
	if a.Kind == AskConsent {
		w.setConsent(Consent{Key: a.Consent, Scope: wf.Plan.Goal.Experience, State: ConsentExpired, By: "nobody", Question: a.ID})
	}
	w.closeAsk(wf, a.ID, AskExpired, false)
	switch a.Kind {
	case AskConsent:
		for _, i := range waiting {
			if !wf.Steps[i].State.Terminal() {
				w.fail(wf, i, Failed, ReasonConsentRequired)
			}
		}
	case AskFallback:
		w.endRest(wf, i, a.Reason)
		w.takeFate(wf, i, "the user did not answer")
	default:
		w.fallBack(wf, i, wf.Steps[i].Fate.End, ReasonNoDecision)
		w.takeFate(wf, i, "the user did not answer")
	}
}

// waitFor lists the steps that wait for a question.
func (w *work) waitFor(wf *Workflow, id AskID) (out []int) {
	for i := range wf.Steps {
		if st := &wf.Steps[i]; st.toUser() && st.Fate.Ask == id {
			out = append(out, i)
		}
	}
	return out
}

// userAnswered takes what a person said or touched at the robot: the id or the words of an option. Without the id of the question it counts
// only where one open question alone has that answer: nobody agrees to what he was not asked.
func (w *work) userAnswered(ev Observed) {
	said, _ := ev.Data["answer"].(string)
	id, _ := ev.Data["question_id"].(string)
	if said == "" || ev.Class == catalog.Echo {
		return
	}
	var found *Workflow
	var to AskID
	var option string
	for _, wfID := range w.everyone() {
		wf := w.peek(wfID)
		for k := range wf.Asks {
			a := &wf.Asks[k]
			o := a.meant(said)
			if a.State != AskOpen || o == "" || id != "" && id != string(a.ID) {
				continue
			}
			if found != nil {
				return
			}
			found, to, option = wf, a.ID, o
		}
	}
	switch {
	case found != nil:
		w.answerAsk(w.wf(found.Plan.Workflow), to, option, "user", "", true)
	case id == "": // it answers no question; a reminder that is being told waits for just that
		w.userResponse(Observed{Data: Values{"text": said}})
	}
}

// meant is the option that somebody's words name; "": none.
func (a *Ask) meant(said string) string {
	said = strings.ToLower(strings.TrimSpace(said))
	for _, o := range a.Options {
		if said == strings.ToLower(o.ID) || said == strings.ToLower(o.Text) {
			return o.ID
		}
	}
	return ""
}

// buttonAsks: who presses cancel while the robot asks wants none of it.
func (w *work) buttonAsks() {
	for _, id := range w.everyone() {
		if wf := w.peek(id); !wf.State.Terminal() && slices.ContainsFunc(wf.Asks, func(a Ask) bool { return a.State == AskOpen }) {
			w.cancelWorkflow(id, ReasonPUICancelled)
		}
	}
}

// askAgain: the robot has started anew and has forgotten what it was asking. The clock of the question has gone on.
func (w *work) askAgain(wf *Workflow) {
	for k := range wf.Asks {
		a := &wf.Asks[k]
		if a.State == AskOpen && !slices.ContainsFunc(w.mouth().Queue, func(u Utterance) bool { return u.Owner == a.owner() }) {
			w.askAloud(a)
		}
	}
}

// askFallback asks the user where nobody else decides and the goal would be lost. False: there is no fallback, no question left, or nobody
// to hear it; then the step takes its end.
func (w *work) askFallback(wf *Workflow, i int, to StepState, reason, why Reason) bool {
	if why == ReasonTierBlocked || reason == ReasonConsentRequired || reason == ReasonConsentDenied || !w.mayAsk(wf) || !wf.lostWith(i, to) {
		return false
	}
	if sup := w.supervise(&gateQuery{wf: wf, i: i, on: ObsMissed, reason: why}); sup.Decision != DecideAsk {
		return false
	}
	st := &wf.Steps[i]
	detail := st.Detail
	if st.State != Blocked {
		w.move(wf, i, Blocked, reason)
	}
	w.note(wf, i, reason, detail)
	var options []AskOption
	if w.mayRedo(wf, i, reason) {
		options = append(options, w.option(wf, ActRetry))
	}
	if w.mayReturn(wf, i, reason) {
		options = append(options, w.option(wf, ActReturn))
	}
	a := Ask{Kind: AskFallback, Reason: why, Text: w.sentence(wf, i, reason), Options: append(options, w.option(wf, ActCancel))}
	w.askUser(wf, i, to, a, askMS)
	return true
}

// lostWith says whether the goal could not be reached any more if the step ended so.
func (wf *Workflow) lostWith(i int, end StepState) bool {
	c := wf.clone()
	c.Steps[i].State = end
	return !wf.Goal.Terminal() && c.goalLost()
}

func (w *work) option(wf *Workflow, act Action) AskOption {
	return AskOption{ID: string(act), Text: w.words(wf, "option_"+string(act), string(act)), Action: act}
}

// words are the catalog's words for a name, in the language of the plan.
func (w *work) words(wf *Workflow, name, otherwise string) string {
	if s, ok := w.cat.Questions[name]; ok {
		return s.In(wf.Plan.Locale)
	}
	return otherwise
}

// sentence says what has become of a step and asks what now.
func (w *work) sentence(wf *Workflow, i int, reason Reason) string {
	text := w.words(wf, "failed", "{step}: it could not be done.") + " {choice}" // an executor may say why in words of its own
	if s, ok := w.cat.Reasons[string(reason)]; ok {
		text = s.In(wf.Plan.Locale)
	}
	return w.fill(wf, i, text)
}

// fill puts the step and the choice into a sentence; what the planner alone can tell is left out.
func (w *work) fill(wf *Workflow, i int, text string) string {
	text = strings.NewReplacer("{step}", w.stepWords(wf, i), "{choice}", w.words(wf, "choice", "What now?"), "{done}", "", "{left}", "").Replace(text)
	return strings.Join(strings.Fields(text), " ")
}

// stepWords names a step as people do: by the first word that the catalog has for its operation.
func (w *work) stepWords(wf *Workflow, i int) string {
	spec := &wf.Plan.Steps[i]
	names := w.cat.Operations[spec.Method].Aliases.In(wf.Plan.Locale)
	if len(names) == 0 {
		return string(spec.Method) + spec.Skill
	}
	return names[0]
}

// whyAsked says what the user is asked.
func whyAsked(wf *Workflow, st *Step) Fact {
	a := wf.ask(st.Fate.Ask)
	var options []string
	for _, o := range a.Options {
		options = append(options, o.ID)
	}
	return Fact{Kind: "question", Ref: string(a.ID), Text: fmt.Sprintf("the user is asked %q, and may answer %v", a.Text, options)}
}
