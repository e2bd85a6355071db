package core

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// HolderKind says who holds work back. Each holder is independent of the others.
type HolderKind string

// The holders. Source: docs/taskmanager.md, holds.
const (
	HeldByPUI      HolderKind = "pui"      // a button on the robot
	HeldByVoice    HolderKind = "voice"    // a spoken wish
	HeldByApp      HolderKind = "app"      // a person in an app
	HeldByOperator HolderKind = "operator" // a person or program at the robot's own socket
	HeldBySafety   HolderKind = "safety"   // a stop button, lifted, stuck, a fault
	HeldByBattery  HolderKind = "battery"
	HeldByPolicy   HolderKind = "policy" // a rule of the device or of an experience
	HeldByCloud    HolderKind = "cloud"  // the planner
)

// person says whether a wish of this kind is somebody's: they release only their own, and may let go on what waits to be asked.
func (k HolderKind) person() bool {
	switch k {
	case HeldByPUI, HeldByVoice, HeldByApp, HeldByOperator, HeldByCloud:
		return true
	}
	return false
}

// HoldScope says how far a hold reaches.
type HoldScope string

// The scopes. An experience reaches the plans that carry it; a session reaches no plan.
const (
	HoldAll        HoldScope = "all"
	HoldWorkflow   HoldScope = "workflow"
	HoldStep       HoldScope = "step" // Target is "workflow/step"
	HoldExperience HoldScope = "experience"
	HoldSession    HoldScope = "session"
)

// ResumePolicy says what ends a hold beside an operator, who may end any.
type ResumePolicy string

// The policies.
const (
	ResumeAuto  ResumePolicy = "auto"       // who set it releases it when its cause has passed
	ResumeAfter ResumePolicy = "auto_after" // the same, and time: Hold.AfterMS after it was last asked for
	ResumeAsk   ResumePolicy = "ask"        // a person or the cloud, who is asked
	ResumeNever ResumePolicy = "never"      // only the same kind of holder
)

// Hold is one holder of some work. It is durable: a restart and a power cut change nothing of it. Kind, Scope, Target and Cause
// tell it from others; whoever asks for the same again changes only how it ends.
type Hold struct {
	Kind    HolderKind   `json:"kind"`
	Scope   HoldScope    `json:"scope"`
	Target  string       `json:"target,omitempty"` // the workflow, workflow/step, experience or session; "" for all
	Cause   string       `json:"cause,omitempty"`  // one word, where a kind has several that stand and go apart: takeover, lifted, fault
	Resume  ResumePolicy `json:"resume"`
	AfterMS int64        `json:"after_ms,omitempty"` // for auto_after
	By      string       `json:"by,omitempty"`       // who asked, for people
	Why     string       `json:"why,omitempty"`      // what they gave as the reason, for people
	Since   Instant      `json:"since"`
	Until   Instant      `json:"until,omitempty"`  // of auto_after: then it is released; 0: nothing but a release ends it
	Stands  bool         `json:"stands,omitempty"` // of safety: its cause has not passed, and only an operator may go over that
}

// ID names a hold in one word: pui:all:takeover, app:workflow:wf_1.
func (h Hold) ID() string {
	parts := []string{string(h.Kind), string(h.Scope)}
	for _, p := range []string{h.Target, h.Cause} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ":")
}

// same says whether two are one hold.
func (h Hold) same(o Hold) bool {
	return h.Kind == o.Kind && h.Scope == o.Scope && h.Target == o.Target && h.Cause == o.Cause
}

// reaches says whether a hold is about a step, or about the workflow as a whole where i < 0. A guard of the device is about what moves.
func (h Hold) reaches(wf *Workflow, i int) bool {
	if wf.Plan.Standing != "" && (h.Kind == HeldByBattery || h.Kind == HeldByPolicy && !h.isRestart()) || h.guards() && !h.covers(wf, i) {
		return false
	}
	switch h.Scope {
	case HoldAll:
		return true
	case HoldWorkflow:
		return h.Target == string(wf.Plan.Workflow)
	case HoldStep:
		return i >= 0 && h.Target == string(wf.Plan.Workflow)+"/"+string(wf.Steps[i].ID)
	case HoldExperience:
		return wf.Plan.Goal != nil && wf.Plan.Goal.Experience == h.Target
	}
	return false
}

// held lists the holds of a workflow: its own and those of the device, the oldest first.
func (s *State) held(dev *Device, wf *Workflow, i int) (out []Hold) {
	for _, list := range [][]Hold{dev.Holds, wf.Holds} {
		for _, h := range list {
			if h.reaches(wf, i) {
				out = append(out, h)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Hold) int { return cmp.Compare(a.Since, b.Since) })
	return out
}

// Holders lists all holds that stand: of the device, then of open workflows by rank.
func (s *State) Holders() []Hold {
	out := slices.Clone(s.Device.Holds)
	for _, id := range s.withHolds() {
		out = append(out, s.Workflows[id].Holds...)
	}
	return out
}

// HeldBy lists the holds that reach a workflow, those of single steps included.
func (s *State) HeldBy(wf *Workflow) []Hold {
	out := s.held(&s.Device, wf, -1)
	for _, h := range wf.Holds {
		if h.Scope == HoldStep {
			out = append(out, h)
		}
	}
	return out
}

// heldBy lists the holds that reach a workflow as a whole.
func (w *work) heldBy(wf *Workflow) []Hold { return w.cur.held(&w.dev, wf, -1) }

// holdsOn lists the holds that keep a step from being dispatched or from going on. What stops something and what only reads is
// never held back.
func (w *work) holdsOn(wf *Workflow, i int) []Hold {
	if len(w.dev.Holds) == 0 && len(wf.Holds) == 0 {
		return nil
	}
	if spec := &wf.Plan.Steps[i]; len(spec.Stops) > 0 || spec.Op.ReadOnly {
		return nil
	}
	return w.cur.held(&w.dev, wf, i)
}

// maxHolds bounds the device's own holds. Of scope all there is one a kind and cause; the rest are experiences and sessions.
const maxHolds = 64

// hold sets a hold, or sets anew how it ends where it stands already. What it reaches and may be moving is paused or stopped at
// once. False: it is about a workflow or step that is not open, or there are too many.
func (w *work) hold(h Hold) bool {
	h.Since, h.Until = w.now.Boot, 0
	if h.Resume == ResumeAfter {
		h.Until = w.now.Boot + max(1, Instant(h.AfterMS))
	}
	list, wf := w.holdList(h)
	if list == nil || wf != nil && wf.State.Terminal() && !wf.trails(-1) {
		return false
	}
	i := slices.IndexFunc(*list, h.same)
	switch {
	case i >= 0:
		h.Since = (*list)[i].Since
		w.touched = true
		if (*list)[i] == h {
			return true
		}
		*list = slices.Clone(*list)
		(*list)[i] = h
	case len(*list) >= maxHolds && h.Scope != HoldAll:
		return false
	default:
		*list = append(slices.Clone(*list), h)
	}
	w.holdsChanged(h, wf)
	return true
}

// release ends the holds of a kind on exactly that scope and target, as far as who asks may end them: those of one cause, or of any
// where it is "". It says how many it ended. What no other holder reaches goes on, after its conditions are looked at again.
func (w *work) release(kind HolderKind, scope HoldScope, target, cause string, by HolderKind) (n int) {
	which := Hold{Kind: kind, Scope: scope, Target: target, Cause: cause}
	return w.releaseIf(which, func(h Hold) bool {
		return h.Kind == kind && (cause == "" || h.Cause == cause) && mayRelease(h, by)
	})
}

// mayRelease says whether a holder of kind by may end a hold.
func mayRelease(h Hold, by HolderKind) bool {
	if h.Kind == HeldBySafety {
		return by == HeldByOperator || by == HeldByPUI && !h.Stands // a person who is there, and nobody from afar
	}
	return by == h.Kind || by == HeldByOperator || h.Resume == ResumeAsk && by.person()
}

// releaseIf ends the holds with the scope and target of which that fit.
func (w *work) releaseIf(which Hold, fits func(Hold) bool) (n int) {
	list, wf := w.holdList(which)
	if list == nil {
		return 0
	}
	left := make([]Hold, 0, len(*list))
	for _, h := range *list {
		if h.Scope == which.Scope && h.Target == which.Target && fits(h) {
			n++
			continue
		}
		left = append(left, h)
	}
	if n > 0 {
		*list = left
		w.holdsChanged(which, wf)
	}
	return n
}

// holdList is where a hold is kept: with its workflow, which is then given for writing, or with the device; nil where the workflow
// or step is not known here.
func (w *work) holdList(h Hold) (*[]Hold, *Workflow) {
	switch h.Scope {
	case HoldAll, HoldExperience, HoldSession:
		return &w.dev.Holds, nil
	}
	id, step, _ := strings.Cut(h.Target, "/")
	wf := w.wf(WorkflowID(id))
	if wf == nil || h.Scope == HoldStep && wf.Plan.Lookup(StepID(step)) < 0 {
		return nil, nil
	}
	return &wf.Holds, wf
}

// holdsChanged looks at everything that a hold reached or reaches: its state, and its tasks.
func (w *work) holdsChanged(h Hold, wf *Workflow) {
	w.touched, w.freed, w.ch.Must = true, true, true
	w.noteMode(h)
	defer w.steerSessions()
	if wf != nil {
		wf.dirty = true
		w.underHolds(wf)
		return
	}
	for _, id := range w.everyone() {
		if wf := w.peek(id); !wf.State.Terminal() && h.reachesAny(wf) || wf.trails(-1) {
			w.underHolds(w.wf(id))
		}
	}
}

// reachesAny says whether a hold may change something of a workflow.
func (h Hold) reachesAny(wf *Workflow) bool { return h.Scope != HoldAll || h.reaches(wf, -1) }

// underHolds brings what runs in a workflow in line with its holders, and derives its state anew.
func (w *work) underHolds(wf *Workflow) {
	for i := range wf.Steps {
		w.steer(wf, i)
	}
	w.steerTrailing(wf)
}

// holdsDue releases the holds whose time is over.
func (w *work) holdsDue() {
	over := func(h Hold) bool { return h.Until != 0 && h.Until <= w.now.Boot }
	for _, h := range w.dev.Holds {
		if over(h) {
			w.releaseIf(h, func(o Hold) bool { return o.same(h) && over(o) })
		}
	}
	for _, id := range w.cur.withHolds() {
		for _, h := range w.peek(id).Holds {
			if over(h) {
				w.releaseIf(h, func(o Hold) bool { return o.same(h) && over(o) })
			}
		}
	}
}

// nextRelease is when time releases the first of these holds; 0: none.
func nextRelease(holds []Hold) (at Instant) {
	for _, h := range holds {
		if h.Until != 0 {
			at = earlier(at, h.Until)
		}
	}
	return at
}

// rebasedHolds moves the instants of holds into the present boot.
func rebasedHolds(holds []Hold, by Instant) []Hold {
	out := slices.Clone(holds)
	for i := range out {
		rebased(by, &out[i].Since, &out[i].Until)
	}
	return out
}

// keepBack leaves a step that could be dispatched where it is as long as somebody holds it. It gives up its place in the queue, and
// what bounded its waiting counts anew afterwards: the time of a hold is nobody's fault.
func (w *work) keepBack(wf *Workflow, i int) bool {
	holds := w.holdsOn(wf, i)
	if len(holds) == 0 {
		return false
	}
	st := &wf.Steps[i]
	if st.State != Queued {
		w.move(wf, i, Queued, ReasonHeld)
	}
	if st.Due != 0 || st.Checked || st.TriedSince != 0 {
		st.Due, st.Checked, st.TriedSince, st.dirty = 0, false, 0, true
	}
	st.recheck = 0
	w.note(wf, i, ReasonHeld, holds[0].ID())
	return true
}

// letGo clears what a hold has noted at a step that may go on.
func (w *work) letGo(wf *Workflow, i int) {
	if wf.Steps[i].Reason == ReasonHeld && !wf.Steps[i].State.Terminal() {
		w.note(wf, i, ReasonNone, "")
	}
}

// isHeld says whether a workflow counts as held: somebody holds it, and one that was never begun only if the hold is its own, for
// else it is one of many in the queue.
func (w *work) isHeld(wf *Workflow) bool {
	holds := w.heldBy(wf)
	return slices.ContainsFunc(holds, func(h Hold) bool { return h.Scope != HoldAll || started(wf) })
}

// resting says that no task of the workflow is under way, but for those that are paused.
func resting(wf *Workflow) bool {
	return !anyIn(wf, Dispatching, Running, Verifying, OutcomeUnknown, Cancelling) && quiet(wf)
}

// holderOf says who speaks through a control: the robot's own socket is an operator's, all else comes from the cloud, which may speak
// for a person.
func holderOf(ev ControlReceived) HolderKind {
	if ev.Local {
		return HeldByOperator
	}
	kind, _, _ := strings.Cut(ev.By, ":")
	switch k := HolderKind(kind); k {
	case HeldByApp, HeldByVoice:
		return k
	}
	return HeldByCloud
}

// holdButtons takes what the buttons on the robot say of holding. They hold everything, and only they let it go.
func (w *work) holdButtons(ev Observed) {
	h := Hold{Kind: HeldByPUI, Scope: HoldAll, Resume: ResumeNever, By: ev.Source, Why: string(ev.Event)}
	switch ev.Event {
	case "pui.paused":
		w.hold(h)
	case "pui.takeover":
		h.Cause = causeTakeover
		w.hold(h)
	case "pui.resumed":
		w.letGoAll(HeldByPUI, HoldAll, "", Hold.isMode)
		w.letGoAsked(HeldByPUI)
	case "pui.released":
		w.release(HeldByPUI, HoldAll, "", causeTakeover, HeldByPUI)
	}
}

// causeTakeover is the cause of the hold of a person who drives the robot.
const causeTakeover = "takeover"

// letGoAll releases what a person's "go on" may release: the holds of their own kind, and those that wait to be asked.
func (w *work) letGoAll(by HolderKind, scope HoldScope, target string, but func(Hold) bool) (n int) {
	return w.releaseIf(Hold{Scope: scope, Target: target}, func(h Hold) bool {
		return (h.Kind == by || h.Resume == ResumeAsk) && mayRelease(h, by) && (but == nil || !but(h))
	})
}

// letGoAsked releases the holds of single plans that wait to be asked: who lets everything go on lets these too.
func (w *work) letGoAsked(by HolderKind) {
	for _, id := range w.everyone() {
		w.releaseIf(Hold{Scope: HoldWorkflow, Target: string(id)}, func(h Hold) bool { return h.Resume == ResumeAsk && mayRelease(h, by) })
	}
}

// pauseOrResume takes pause and resume. Accepted says that the wish is durable; the state says how far it is.
func (w *work) pauseOrResume(ev ControlReceived, ans *Answer) {
	scope, by := HoldScope(ev.Scope), holderOf(ev)
	h := Hold{Kind: by, Scope: scope, Target: ev.Target, Resume: ResumeNever, By: ev.By, Why: ev.Why}
	wf, i := w.targetOf(ev, ans)
	if ans.Reason != ReasonNone {
		return
	}
	if ev.Verb == "pause" {
		if ans.Accepted = w.hold(h); !ans.Accepted {
			ans.Reason = ReasonLimit
			return
		}
	} else if ev.Holder == "" {
		w.letGoAll(by, scope, ev.Target, Hold.isMode)
		if scope == HoldAll {
			w.letGoAsked(by)
		}
		ans.Accepted = true
	} else if ans.Accepted = w.release(ev.Holder, scope, ev.Target, "", by) > 0 || !w.stands(ev.Holder, scope, ev.Target); !ans.Accepted {
		ans.Reason = ReasonNotYours
	}
	w.touched, w.ch.Must = true, true
	w.answerState(wf, i, ans)
}

// stands says whether a holder of a kind holds exactly that.
func (w *work) stands(kind HolderKind, scope HoldScope, target string) bool {
	list, _ := w.holdList(Hold{Scope: scope, Target: target})
	return list != nil && slices.ContainsFunc(*list, func(h Hold) bool { return h.Kind == kind && h.Scope == scope && h.Target == target })
}

// targetOf finds what a control is about: the workflow, and the step where it names one (else -1). Of scope all there is neither.
func (w *work) targetOf(ev ControlReceived, ans *Answer) (*Workflow, int) {
	switch ev.Scope {
	case string(HoldAll):
		return nil, -1
	case string(HoldExperience):
		if open := w.ofExperience(ev.Target, ans); len(open) > 0 {
			return w.wf(open[0].Plan.Workflow), -1
		}
		return nil, -1
	}
	id, step, one := strings.Cut(ev.Target, "/")
	ans.Workflow = WorkflowID(id)
	wf, i := w.wf(WorkflowID(id)), -1
	if wf != nil && one {
		i = wf.Plan.Lookup(StepID(step))
	}
	switch {
	case wf == nil && ev.Past != nil:
		ans.Reason, ans.State = ReasonAlreadyTerminal, string(ev.Past.State)
	case wf == nil || one && i < 0:
		ans.Reason = ReasonUnknownTarget
	case wf.trails(i): // its cleaner may run on for long
	case wf.State.Terminal():
		ans.Reason, ans.State = ReasonAlreadyTerminal, string(wf.State)
	case i >= 0 && wf.Steps[i].State.Terminal():
		ans.Reason, ans.State = ReasonAlreadyTerminal, string(wf.Steps[i].State)
	}
	return wf, i
}

// answerState tells how the target of a pause or resume stands now: its state, what is being stopped, and who else holds it.
func (w *work) answerState(wf *Workflow, i int, ans *Answer) {
	var holds []Hold
	switch {
	case wf == nil:
		holds = w.dev.Holds
		for _, id := range w.everyone() {
			ans.Stopping = append(ans.Stopping, held(w.peek(id))...)
			ans.Steps = append(ans.Steps, w.effectsOfHold(w.peek(id))...)
		}
	case i >= 0:
		ans.State, holds, ans.Stopping = string(wf.Steps[i].State), w.cur.held(&w.dev, wf, i), held(wf)
	default:
		ans.State, holds, ans.Stopping = string(wf.State), w.heldBy(wf), held(wf)
	}
	if wf != nil {
		ans.Steps = w.effectsOfHold(wf)
	}
	for _, h := range holds {
		ans.Holders = append(ans.Holders, h.ID())
	}
}

// whyHolders names each holder: who, since when, why, and what would release it.
func (w *work) whyHolders(wf *Workflow, i int) (facts []Fact) {
	for _, h := range w.holdsOn(wf, i) {
		f := Fact{Kind: "hold", Ref: h.ID(), Text: h.sentence()}
		if h.Until != 0 {
			f.LeftMS = max(0, int64(h.Until-w.now.Boot))
		}
		facts = append(facts, f)
	}
	return facts
}

// sentence tells a hold to people.
func (h Hold) sentence() string {
	text := string(h.Kind) + " holds " + h.what()
	if h.Cause != "" {
		text += " (" + h.Cause + ")"
	}
	if h.By != "" {
		text += ", asked by " + h.By
	}
	if h.Why != "" {
		text += ", because " + strconv.Quote(h.Why)
	}
	return text + "; " + h.Ends()
}

func (h Hold) what() string {
	if h.Scope == HoldAll {
		return "everything"
	}
	return string(h.Scope) + " " + h.Target
}

// Ends says in a sentence what releases the hold.
func (h Hold) Ends() string {
	switch {
	case h.Kind == HeldBySafety && h.Stands:
		return "its cause has not passed"
	case h.Kind == HeldBySafety:
		return "a person at the robot has to let it go on: by its button, or an operator"
	}
	switch h.Resume {
	case ResumeAuto:
		return fmt.Sprintf("%s releases it when its cause has passed", h.Kind)
	case ResumeAfter:
		return "it ends by itself"
	case ResumeAsk:
		return "a person or the cloud has to let it go on"
	}
	return fmt.Sprintf("only %s or an operator releases it", h.Kind)
}
