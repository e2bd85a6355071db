package core

import (
	"fmt"
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Bound ties a step to one run of other work: the step waits for an event of that run. It is made when the plan is taken in, and never
// changes over to another run.
type Bound struct {
	State    BoundState         `json:"state"`
	Workflow WorkflowID         `json:"workflow,omitempty"` // whose run it is; "": nobody's, it was begun by others than us
	Step     StepID             `json:"step,omitempty"`
	Resource catalog.ResourceID `json:"resource,omitempty"` // that a run of nobody's uses
	At       Instant            `json:"at,omitempty"`       // when the event was seen
	Seq      int64              `json:"seq,omitempty"`      // its place in the journal
	Lost     Instant            `json:"lost,omitempty"`     // the run is over, and this is how long its event may still be on its way
}

// BoundState says how far an anchor is.
type BoundState string

// The states of an anchor.
const (
	BoundOpen    BoundState = "open"    // the run goes on, or has not begun
	BoundLooking BoundState = "looking" // it is being read whether something else runs
	BoundGiven   BoundState = "given"   // the event was seen
	BoundNone    BoundState = "none"    // nothing of that kind ran when the plan was taken in
	BoundFailed  BoundState = "failed"  // the run ended another way
	BoundUnknown BoundState = "unknown" // how the run ended cannot be told
)

// Given is an event that a task gave and that others may wait for, also after its step has ended.
type Given struct {
	Event catalog.EventName `json:"event"`
	At    Instant           `json:"at"`
	Seq   int64             `json:"seq"`
}

// maxGiven bounds the events kept with an attempt: the first of each name counts, and no operation has more of them.
const maxGiven = 8

// lateMS is how long the event of a run that is over may still be on its way. Source: evidence_timeout_ms of the default catalog.
const lateMS = 15_000

// lookMS is how long a reading may take that tells whether something else runs. Source: ack_ms of the default catalog.
const lookMS = 3000

// anchorMS bounds the wait for an event where the plan does not: a run of ours ends by its own time-outs, one of others may not.
const anchorMS = 24 * 3600 * 1000

// gives says whether a run of an operation can give an event: by the proof of an effect, or to release others.
func (w *work) gives(m catalog.Method, event catalog.EventName) bool {
	return w.cat.Gives(m, event)
}

// bindAll ties the steps of a plan that was just taken in to the runs that they wait for.
func (w *work) bindAll(wf *Workflow) {
	for i := range wf.Steps {
		if st := &wf.Steps[i]; wf.Plan.Steps[i].AnchorEvent != "" && st.Bound == nil && !st.State.Terminal() {
			st.Bound, st.dirty = w.bind(wf, &wf.Plan.Steps[i]), true
		}
	}
}

// bind finds the run: of what is under way the one that was dispatched last, else of what is still to begin the first, else what
// others run, else one that has ended since the words were said.
func (w *work) bind(wf *Workflow, spec *StepSpec) *Bound {
	var live, next *Bound
	var seq int64
	for _, id := range w.everyone() {
		o := w.peek(id)
		if id == wf.Plan.Workflow {
			continue
		}
		for i := range o.Steps {
			st := &o.Steps[i]
			a := o.attempt(st.Task)
			switch {
			case !w.gives(o.Plan.Steps[i].Method, spec.AnchorEvent) || a != nil && given(a, spec.AnchorEvent) != nil:
			case a != nil && a.holds() && a.Seq >= seq:
				live, seq = &Bound{State: BoundOpen, Workflow: id, Step: st.ID}, a.Seq
			case !st.State.Terminal() && next == nil:
				next = &Bound{State: BoundOpen, Workflow: id, Step: st.ID}
			}
		}
	}
	if live != nil {
		return live
	}
	if next != nil {
		return next
	}
	if b := w.ended(wf, spec); b != nil {
		return b
	}
	return w.bindForeign(spec)
}

// ended finds the event of a run that has ended since the words were said. With a clock that nobody trusts, nothing is known of that.
func (w *work) ended(wf *Workflow, spec *StepSpec) (found *Bound) {
	seen := spec.AnchorSeenMS
	if seen == 0 {
		seen = wf.Plan.SentMS
	}
	if seen == 0 || !w.now.Trusted {
		return nil
	}
	since := w.now.Boot - Instant(w.now.WallMS-seen)
	take := func(id WorkflowID, step StepID, g *Given) {
		if g != nil && g.At >= since && (found == nil || g.Seq > found.Seq) {
			found = &Bound{State: BoundGiven, Workflow: id, Step: step, At: g.At, Seq: g.Seq}
		}
	}
	for id := range w.cur.Workflows {
		if id != wf.Plan.Workflow {
			o := w.peek(id)
			for k := range o.Attempts {
				take(id, o.Steps[o.Attempts[k].Step].ID, given(&o.Attempts[k], spec.AnchorEvent))
			}
		}
	}
	if s, ok := w.foreignGave(spec.AnchorEvent); ok {
		take("", "", &Given{spec.AnchorEvent, s.At, s.Seq})
	}
	return found
}

// bindForeign binds to what others run: where that is not known, it is read.
func (w *work) bindForeign(spec *StepSpec) *Bound {
	b := &Bound{State: BoundNone, Resource: w.cat.Events[spec.AnchorEvent].Resource}
	if w.cat.Resources[b.Resource].AtRest == nil || w.ours(b.Resource) { // what runs there is ours, and will not give it
		return b
	}
	b.State = BoundLooking
	if w.inUse([]catalog.ResourceID{b.Resource}) {
		b.State = BoundOpen
		return b
	}
	if seen := w.foreignRuns(b.Resource); seen != "" {
		b.State = seen
	}
	return b
}

// foreignRuns says whether a resource that no task of ours has is in use, by a reading that counts; "" where there is none.
func (w *work) foreignRuns(res catalog.ResourceID) BoundState {
	v := view{w: w, hasty: true, accept: []catalog.Class{catalog.Independent}}
	switch v.eval(*w.cat.Resources[res].AtRest) {
	case condition.True:
		return BoundNone
	case condition.False:
		return BoundOpen
	}
	w.read(v.need...)
	return ""
}

func given(a *Attempt, event catalog.EventName) *Given {
	i := slices.IndexFunc(a.Given, func(g Given) bool { return g.Event == event })
	if i < 0 {
		return nil
	}
	return &a.Given[i]
}

// give keeps with an attempt that it gave an event for which others may wait.
func (w *work) give(r ref, ev Observed) {
	wf := w.peek(r.wf)
	a := &wf.Attempts[r.at]
	if classRank(ev.Class) == 2 || !w.gives(wf.Plan.Steps[a.Step].Method, ev.Event) || given(a, ev.Event) != nil || len(a.Given) >= maxGiven {
		return
	}
	a = &w.wf(r.wf).Attempts[r.at]
	a.Given = append(slices.Clone(a.Given), Given{ev.Event, w.now.Boot, w.seq})
	a.dirty, w.touched = true, true
}

// overheard takes an event for those who wait for a run of others, or for a run of ours that is over and whose event comes late.
func (w *work) overheard(ev Observed) {
	if classRank(ev.Class) == 2 {
		return
	}
	if ev.Task == "" && !w.ours(ev.Resource) {
		w.noteForeign(ev)
	}
	for _, id := range w.anchored() {
		for i := range w.peek(id).Steps {
			b, spec := w.peek(id).Steps[i].Bound, &w.peek(id).Plan.Steps[i]
			if b == nil || b.State != BoundOpen && b.State != BoundLooking || w.peek(id).Steps[i].State.Terminal() {
				continue
			}
			switch {
			case b.Workflow != "" && ev.Event == spec.AnchorEvent && (ev.Task != "" && w.runOf(b) == ev.Task || ev.Task == "" && b.Lost != 0 && !w.ours(ev.Resource)):
				w.rebind(id, i, BoundGiven, w.now.Boot, w.seq)
			case b.Workflow != "" || ev.Resource != b.Resource || ev.Task != "":
			case ev.Event == spec.AnchorEvent:
				w.rebind(id, i, BoundGiven, w.now.Boot, w.seq)
			case ev.Event == "external_stop":
				w.lostRun(id, i)
			case w.opposesAnchor(spec.AnchorEvent, ev.Event):
				w.rebind(id, i, BoundFailed, 0, 0)
			}
		}
	}
}

// ours says whether a task of ours has a resource.
func (w *work) ours(res catalog.ResourceID) bool {
	return slices.ContainsFunc(w.listening(), func(r ref) bool {
		a := &w.peek(r.wf).Attempts[r.at]
		return a.holds() && slices.Contains(a.Resources, res)
	})
}

// runOf is the latest task of the step that an anchor is bound to; "": it has none, or is not in memory any more.
func (w *work) runOf(b *Bound) TaskID {
	if o := w.peek(b.Workflow); o != nil {
		if i := o.Plan.Lookup(b.Step); i >= 0 {
			return o.Steps[i].Task
		}
	}
	return ""
}

// opposesAnchor says whether an event is the opposite of that which is waited for, by the effect that the latter proves.
func (w *work) opposesAnchor(anchor, event catalog.EventName) bool {
	for _, e := range w.cat.Effects {
		n, proves := 0, false
		leaves(e.Terminal, &n, func(_ int, l catalog.Leaf) { proves = proves || l.Event == anchor })
		if proves && slices.ContainsFunc(e.Contradicted, func(l catalog.Leaf) bool { return l.Event == event }) {
			return true
		}
	}
	return false
}

// rebind notes how the run of an anchor stands now, and moves its step on where that waits for nothing else.
func (w *work) rebind(id WorkflowID, i int, to BoundState, at Instant, seq int64) {
	wf := w.wf(id)
	st := &wf.Steps[i]
	b := *st.Bound
	b.State, b.At, b.Seq = to, at, seq
	st.Bound, st.dirty, w.touched, w.ch.Must = &b, true, true, true
	switch {
	case st.State != Waiting:
	case to == BoundOpen:
		w.boundAnchor(wf, i)
	default:
		w.pastAnchor(wf, i)
	}
}

// lostRun: the run is over, and its event may still be on its way.
func (w *work) lostRun(id WorkflowID, i int) {
	if w.peek(id).Steps[i].Bound.Lost != 0 {
		return
	}
	wf := w.wf(id)
	st := &wf.Steps[i]
	b := *st.Bound
	b.Lost = w.now.Boot + lateMS
	st.Bound, st.dirty, w.touched = &b, true, true
	if st.State == Waiting {
		w.boundAnchor(wf, i)
	}
}

// anchored lists the open workflows with a step that is bound to a run and not yet past it.
func (w *work) anchored() (ids []WorkflowID) {
	for _, id := range w.ids {
		if w.wfs[id].waitsForAnchor() {
			ids = append(ids, id)
		}
	}
	if w.cur.anchors == 0 {
		return ids
	}
	for _, id := range w.cur.order {
		if w.wfs[id] == nil && w.cur.Workflows[id].anchors {
			ids = append(ids, id)
		}
	}
	return ids
}

func (wf *Workflow) waitsForAnchor() bool {
	return !wf.State.Terminal() && slices.ContainsFunc(wf.Steps, func(st Step) bool {
		return st.Bound != nil && (st.State == Pending || st.State == Waiting)
	})
}

// anchors looks how the runs stand that steps are bound to.
func (w *work) anchors() {
	for _, id := range w.anchored() {
		for i := range w.peek(id).Steps {
			st := &w.peek(id).Steps[i]
			if st.Bound == nil || st.State != Pending && st.State != Waiting {
				continue
			}
			if to, g := w.standing(w.peek(id), i, st.Bound); to != st.Bound.State {
				w.rebind(id, i, to, g.At, g.Seq)
			}
		}
	}
}

// standing is how the run of an anchor stands now.
func (w *work) standing(wf *Workflow, i int, b *Bound) (BoundState, Given) {
	switch {
	case w.ch.forget && (b.State == BoundLooking || b.State == BoundOpen && b.Workflow == ""):
		return BoundUnknown, Given{} // what others ran is not known over a restart
	case b.State == BoundLooking:
		if seen := w.foreignRuns(b.Resource); seen != "" {
			return seen, Given{}
		}
		return b.State, Given{}
	case b.State != BoundOpen || b.Workflow == "":
		return b.State, Given{}
	}
	return w.ownRun(wf, i, b)
}

// ownRun is how a run of ours stands.
func (w *work) ownRun(wf *Workflow, i int, b *Bound) (BoundState, Given) {
	o, at := w.peek(b.Workflow), -1
	if o != nil {
		at = o.Plan.Lookup(b.Step)
	}
	if at < 0 {
		return BoundUnknown, Given{}
	}
	st := &o.Steps[at]
	a := o.attempt(st.Task)
	if a != nil {
		if g := given(a, wf.Plan.Steps[i].AnchorEvent); g != nil {
			return BoundGiven, *g
		}
	}
	switch {
	case a != nil && a.holds(), !st.State.Terminal() && (a == nil || a.Outcome != OutcomeDone):
		return BoundOpen, Given{}
	case a != nil && a.Outcome == OutcomeDone:
		w.lostRun(wf.Plan.Workflow, i)
		return BoundOpen, Given{}
	case st.State == Satisfied, a != nil && a.StopCalls == 0 && (a.EndReason == atRestReason || a.EndReason == ReasonOutcomeUnknown):
		return BoundUnknown, Given{}
	}
	return BoundFailed, Given{}
}

// atRestReason is the end of an attempt whose resource was seen at rest.
const atRestReason Reason = "at_rest"

// waitAnchor begins the wait for the event of a run.
func (w *work) waitAnchor(wf *Workflow, i int) {
	w.move(wf, i, Waiting, ReasonNone)
	w.ch.Must = true
	switch b := wf.Steps[i].Bound; {
	case b == nil: // the plan of an earlier form: nothing was bound when it was taken in
		w.anchorGone(wf, i, ReasonAnchorUnknown)
	case b.State == BoundOpen, b.State == BoundLooking:
		w.boundAnchor(wf, i)
	default:
		w.pastAnchor(wf, i)
	}
}

// boundAnchor bounds the wait for the event.
func (w *work) boundAnchor(wf *Workflow, i int) {
	st := &wf.Steps[i]
	ms := wf.Plan.Steps[i].AnchorTimeoutMS
	if ms == 0 {
		ms = anchorMS
	}
	st.Due, st.dirty = max(wf.Accepted, st.Added)+Instant(ms), true
	switch b := st.Bound; {
	case b.State == BoundLooking:
		st.Due = w.now.Boot + lookMS
	case b.Lost != 0:
		st.Due = min(st.Due, b.Lost)
	}
}

// pastAnchor goes on with a step whose event was seen, or ends it where the event will not come.
func (w *work) pastAnchor(wf *Workflow, i int) {
	st := &wf.Steps[i]
	st.Due, st.dirty = 0, true
	switch st.Bound.State {
	case BoundGiven:
		due := st.Bound.At + Instant(wf.Plan.Steps[i].DelayMS)
		if due > w.now.Boot {
			st.Due = due
			return
		}
		w.waited(wf, i, due)
	case BoundNone:
		w.anchorGone(wf, i, ReasonAnchorNotRunning)
	case BoundFailed:
		w.anchorGone(wf, i, ReasonAnchorFailed)
	default:
		w.anchorGone(wf, i, ReasonAnchorUnknown)
	}
}

func (w *work) anchorGone(wf *Workflow, i int, reason Reason) {
	wf.Steps[i].Detail = string(wf.Plan.Steps[i].AnchorEvent)
	w.fail(wf, i, Failed, reason)
	wf.Steps[i].Detail = string(wf.Plan.Steps[i].AnchorEvent)
}

// anchorDue: the event was not seen in its time.
func (w *work) anchorDue(wf *Workflow, i int) {
	switch b := wf.Steps[i].Bound; {
	case b.State == BoundLooking, b.Lost != 0 && b.Workflow != "":
		w.anchorGone(wf, i, ReasonAnchorUnknown)
	case b.Lost != 0:
		w.anchorGone(wf, i, ReasonAnchorFailed)
	default:
		w.anchorGone(wf, i, ReasonAnchorTimeout)
	}
}

// atAnchor says whether a step still waits for its event, and not for the delay behind it.
func (st *Step) atAnchor() bool { return st.Bound != nil && st.Bound.State != BoundGiven }

// noteForeign remembers an event that no task of ours gave.
func (w *work) noteForeign(ev Observed) {
	if w.ch.gave == nil {
		w.ch.gave = map[catalog.EventName]Sample{}
	}
	w.ch.gave[ev.Event] = Sample{At: w.now.Boot, Seq: w.seq}
}

func (w *work) foreignGave(event catalog.EventName) (Sample, bool) {
	if s, ok := w.ch.gave[event]; ok {
		return s, true
	}
	s, ok := w.cur.gave[event]
	return s, ok
}

// whyAnchor says which run a step waits for.
func (w *work) whyAnchor(wf *Workflow, i int) Fact {
	b, event := wf.Steps[i].Bound, wf.Plan.Steps[i].AnchorEvent
	f := Fact{Kind: "dependency", Ref: string(event)}
	switch {
	case b.State == BoundLooking:
		f.Text = fmt.Sprintf("it waits for %s, and it is being read whether something is under way that will give it", event)
	case b.Workflow == "":
		f.Text = fmt.Sprintf("it waits for %s of what others have begun on %s", event, b.Resource)
	default:
		f.Text = fmt.Sprintf("it waits for %s of %s/%s", event, b.Workflow, b.Step)
		if o := w.peek(b.Workflow); o != nil {
			if at := o.Plan.Lookup(b.Step); at >= 0 {
				f.Text += ", which is " + string(o.Steps[at].State)
			}
		}
	}
	return f
}
