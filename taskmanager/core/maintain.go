package core

import (
	"fmt"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Keep says that an effect of a step has to hold on after the step has completed: until a step of the plan has ended, or an event has
// come. Where a revision took that step out, neither is set: then what it was kept for has gone.
type Keep struct {
	Effect catalog.EffectID  `json:"effect"`
	Step   int               `json:"step,omitempty"` // 1 + index of the step; 0: none
	Event  catalog.EventName `json:"event,omitempty"`
}

// Kept is how an effect stands that has to be kept. It lives beside the effect's state, which goes from observed on only to
// contradicted, expired or waived. A step that keeps an effect has ended and stays as it ended; its workflow has not.
type Kept struct {
	Since    Instant `json:"since,omitempty"`     // it was brought about; 0: not yet
	Seq      int64   `json:"seq,omitempty"`       // of that moment: what speaks for or against it now is younger
	Until    Instant `json:"until,omitempty"`     // that until which it is kept has come; 0: not yet
	UntilSeq int64   `json:"until_seq,omitempty"` // of that moment: the last look is younger
	Due      Instant `json:"due,omitempty"`       // the end of the last look, then of the patience with what cannot be read
	Stale    bool    `json:"stale,omitempty"`     // it could not be read in evidence_timeout_ms; it waits for hold_ms more
	Doubt    Instant `json:"doubt,omitempty"`     // something speaks against it since then; 0: nothing
	DoubtSeq int64   `json:"doubt_seq,omitempty"`
	Firm     bool    `json:"firm,omitempty"`   // an event speaks against it: no later reading takes that back
	User     Instant `json:"user,omitempty"`   // a person last changed something there
	Over     bool    `json:"over,omitempty"`   // it is decided: the effect's state says how
	Reason   Reason  `json:"reason,omitempty"` // why it was lost or waived
}

const (
	// keptGraceMS is how long something may speak against a kept effect before that counts: a person's own change and the end that the
	// plan named are often told a moment after what they bring about. Source: signals of one act are some 10 ms apart; a hundredfold.
	keptGraceMS = 1000
	// keptUserMS is how long after a person's own change what happens there is taken for its consequence. Source: the longest stop time of
	// the default catalog is 4 s, twice that and the grace.
	keptUserMS = 9000
)

// open says whether the effect is being kept.
func (e *Effect) open() bool { return e.Kept != nil && e.Kept.Since != 0 && !e.Kept.Over }

// lost says whether it was to be kept and was not.
func (e *Effect) lost() bool {
	return e.Kept != nil && e.Kept.Over && (e.State == EffectContradicted || e.State == EffectExpired)
}

// Keeping says whether an effect of the step is still to be kept.
func (st *Step) Keeping() bool {
	return slices.ContainsFunc(st.Effects, func(e Effect) bool { return e.open() })
}

// lost is why an effect was not kept, or none. A step that has lost one counts as failed, though it had completed.
func (st *Step) lost() Reason {
	if i := slices.IndexFunc(st.Effects, func(e Effect) bool { return e.lost() }); i >= 0 {
		return st.Effects[i].Kept.Reason
	}
	return ReasonNone
}

// hasKeeps says whether events and readings may concern an effect that the workflow keeps or is about to.
func (wf *Workflow) hasKeeps() bool {
	for i := range wf.Steps {
		if len(wf.Plan.Steps[i].Keeps) > 0 && (wf.Steps[i].Keeping() || wf.Steps[i].State.active()) {
			return true
		}
	}
	return false
}

// keepers lists the workflows that keep something, by rank.
func (w *work) keepers() (ids []WorkflowID) {
	for _, id := range w.cur.order {
		if w.wfs[id] == nil && w.cur.Workflows[id].keeps {
			ids = append(ids, id)
		}
	}
	for _, id := range w.ids {
		if w.wfs[id].hasKeeps() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b WorkflowID) int { return byRank(w.peek(a), w.peek(b)) })
	return ids
}

// eachKept visits the kept effects of a workflow with what the plan says of them.
func (wf *Workflow) eachKept(visit func(i, e int, k Keep)) {
	for i := range wf.Steps {
		for _, k := range wf.Plan.Steps[i].Keeps {
			if e := slices.IndexFunc(wf.Steps[i].Effects, func(x Effect) bool { return x.ID == k.Effect }); e >= 0 {
				visit(i, e, k)
			}
		}
	}
}

// kept gives the record of a kept effect for writing.
func (w *work) kept(wf *Workflow, i, e int) *Kept {
	st := &wf.Steps[i]
	st.Effects = slices.Clone(st.Effects)
	k := Kept{}
	if old := st.Effects[e].Kept; old != nil {
		k = *old
	}
	st.Effects[e].Kept = &k
	st.dirty, w.touched = true, true
	return &k
}

// keepFrom begins to keep what a step has brought about.
func (w *work) keepFrom(wf *Workflow, i int) {
	wf.eachKept(func(j, e int, k Keep) {
		if j != i {
			return
		}
		kept := w.kept(wf, i, e)
		kept.Since, kept.Seq = w.now.Boot, w.seq
		gone := k.Step == 0 && k.Event == "" || k.Step > 0 && wf.Steps[k.Step-1].State.Terminal()
		if gone || kept.Until != 0 {
			w.lastLook(wf, i, e)
		}
		w.lookSoon(wf, i)
	})
}

// keptUntil: a step has ended. What was kept until then is looked at for the last time.
func (w *work) keptUntil(wf *Workflow, j int) {
	wf.eachKept(func(i, e int, k Keep) {
		if eff := &wf.Steps[i].Effects[e]; k.Step == j+1 && eff.open() && eff.Kept.Until == 0 {
			w.lastLook(wf, i, e)
		}
	})
}

// keptForGone: a revision took out the step until which something is kept. It is looked at for the last time now.
func (w *work) keptForGone(wf *Workflow) {
	wf.eachKept(func(i, e int, k Keep) {
		if eff := &wf.Steps[i].Effects[e]; k.Step == 0 && k.Event == "" && eff.open() && eff.Kept.Until == 0 {
			w.lastLook(wf, i, e)
		}
	})
}

// lastLook: that until which the effect is kept has come. It is read anew, for at most evidence_timeout_ms.
func (w *work) lastLook(wf *Workflow, i, e int) {
	k := w.kept(wf, i, e)
	if k.Until == 0 {
		k.Until, k.UntilSeq = w.now.Boot, w.seq
	}
	k.Due = w.now.Boot + Instant(wf.Plan.Steps[i].EvidenceMS)
	w.ch.Must = true
	wf.Steps[i].recheck = w.now.Boot
	w.lookSoon(wf, i)
}

// lookSoon asks for what shows whether the kept effects of a step hold: at once, and then at the pace of the looks. While nothing
// hangs on the answer that is slow.
func (w *work) lookSoon(wf *Workflow, i int) {
	st := &wf.Steps[i]
	if st.recheck > w.now.Boot {
		return
	}
	st.recheck = w.now.Boot + idleMS
	wf.eachKept(func(j, e int, k Keep) {
		eff := &wf.Steps[j].Effects[e]
		if j != i || !eff.open() {
			return
		}
		if eff.Kept.Until != 0 || eff.Kept.Doubt != 0 {
			st.recheck = w.now.Boot + rereadMS
		}
		for _, l := range w.cat.Effects[k.Effect].Holds.Leaves() {
			w.read(l.Context)
		}
	})
}

// observedKept holds an event against what is kept: the end that the plan named, the opposite, or a person's hand.
func (w *work) observedKept(ev Observed) {
	person := strings.HasPrefix(string(ev.Event), "pui.")
	outside := ev.Event == "external_start" || ev.Event == "external_stop"
	for _, id := range w.keepers() {
		w.peek(id).eachKept(func(i, e int, k Keep) {
			wf := w.peek(id)
			st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
			eff := &st.Effects[e]
			ours := ev.Task == "" || wf.attempt(ev.Task) != nil
			switch {
			case k.Event == ev.Event && k.Event != "" && ours && classRank(ev.Class) < 2:
				w.untilEvent(id, i, e, ev)
			case !eff.open():
			case person, outside && (ev.Resource == "" || slices.Contains(spec.Resources, ev.Resource)):
				w.kept(w.wf(id), i, e).User = w.now.Boot
			case eff.Kept.Until == 0 && eff.Kept.Doubt == 0 && w.speaksAgainst(wf, i, k, ev):
				w.doubt(id, i, e, Evidence{Against: true, Event: ev.Event, Value: saidBy(ev), Source: ev.Source, Class: ev.Class, By: byWindow}, true)
			}
		})
	}
}

// untilEvent: the event until which an effect is kept has come. It counts from the dispatch of the step on. One of the very thing that
// is kept is its natural end: there is nothing left to look at.
func (w *work) untilEvent(id WorkflowID, i, e int, ev Observed) {
	wf := w.peek(id)
	st := &wf.Steps[i]
	eff := &st.Effects[e]
	a := wf.attempt(st.Task)
	switch {
	case eff.open() && eff.Kept.Until == 0 && ev.Resource != "" && slices.Contains(wf.Plan.Steps[i].Resources, ev.Resource) && !eff.Kept.Firm:
		wf = w.wf(id)
		by := byWindow
		if ev.Task != "" {
			by = byTask
		}
		w.keepAt(wf, i, e, Evidence{Leaf: -1, Event: ev.Event, Value: saidBy(ev), Source: ev.Source, Class: ev.Class, Seq: w.seq, At: w.now.Boot, By: by})
		w.kept(wf, i, e).Until = w.now.Boot
		w.holdOn(wf, i, e)
	case eff.open() && eff.Kept.Until == 0:
		w.lastLook(w.wf(id), i, e)
	case st.State.active() && a != nil && w.seq > a.Seq && eff.Kept == nil:
		k := w.kept(w.wf(id), i, e)
		k.Until, k.UntilSeq = w.now.Boot, w.seq
	}
}

// speaksAgainst says whether an event is the opposite of a kept effect: one that names the step's task, or one that names none while
// nothing else used the resource. Once we asked the task to stop, nothing speaks against it.
func (w *work) speaksAgainst(wf *Workflow, i int, k Keep, ev Observed) bool {
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	a := wf.attempt(st.Task)
	_, against := opposes(proof{against: w.cat.Effects[k.Effect].Contradicted}, ev, wf.args(i, a))
	if !against || a != nil && a.StopCalls > 0 {
		return false
	}
	if ev.Task != "" {
		return ev.Task == st.Task
	}
	about := len(spec.Resources) == 0 && ev.Resource == "" || slices.Contains(spec.Resources, ev.Resource)
	return about && !w.othersUse(wf, i, 0)
}

// othersUse says whether another attempt uses, or stops, what the step uses, and was dispatched after a moment.
func (w *work) othersUse(wf *Workflow, i int, after int64) bool {
	mine, task := wf.Plan.Steps[i].Resources, wf.Steps[i].Task
	return slices.ContainsFunc(w.listening(), func(r ref) bool {
		o := w.peek(r.wf)
		a := &o.Attempts[r.at]
		return a.Task != task && a.Seq >= after && overlap(mine, a.Resources, o.Plan.Steps[a.Step].Stops)
	})
}

func overlap(a []catalog.ResourceID, lists ...[]catalog.ResourceID) bool {
	return slices.ContainsFunc(a, func(x catalog.ResourceID) bool {
		return slices.ContainsFunc(lists, func(l []catalog.ResourceID) bool { return slices.Contains(l, x) })
	})
}

// userTouches notes that a person's plan uses or stops what others keep an effect on: what becomes of that is their own change.
func (w *work) userTouches(by *Workflow, i int) {
	if by.Plan.Priority != PriorityUser {
		return
	}
	spec := &by.Plan.Steps[i]
	for _, id := range w.keepers() {
		if id == by.Plan.Workflow {
			continue
		}
		w.peek(id).eachKept(func(j, e int, _ Keep) {
			if wf := w.peek(id); wf.Steps[j].Effects[e].open() && overlap(wf.Plan.Steps[j].Resources, spec.Resources, spec.Stops) {
				w.kept(w.wf(id), j, e).User = w.now.Boot
			}
		})
	}
}

// readKept looks at the kept effects by what is known now. Unknown is never false.
func (w *work) readKept() {
	for _, id := range w.keepers() {
		w.peek(id).eachKept(func(i, e int, k Keep) {
			wf := w.peek(id)
			eff := &wf.Steps[i].Effects[e]
			if !eff.open() || eff.Kept.Doubt != 0 {
				return
			}
			truth, v := w.holdsNow(wf, i, k, max(eff.Kept.Seq, eff.Kept.UntilSeq))
			switch {
			case truth == condition.True && eff.Kept.Until != 0:
				wf = w.wf(id)
				for _, ev := range v.proof {
					w.keepAt(wf, i, e, ev)
				}
				w.holdOn(wf, i, e)
			case truth == condition.False && eff.Kept.Until != 0 && w.endedSince(wf, i, eff.Kept.UntilSeq):
				w.holdOn(w.wf(id), i, e)
			case truth == condition.False:
				w.doubt(id, i, e, w.reading(k), false)
			}
		})
	}
}

func (w *work) holdsNow(wf *Workflow, i int, k Keep, after int64) (condition.Truth, view) {
	effect := w.cat.Effects[k.Effect]
	if effect.Holds == nil {
		return condition.Unknown, view{}
	}
	v := view{w: w, args: wf.args(i, wf.attempt(wf.Steps[i].Task)), after: after, accept: effect.Confidence.Accept}
	return v.eval(*effect.Holds), v
}

// endedSince: after that until which it was kept, the plan itself or somebody else may end it. That says nothing of the time before.
func (w *work) endedSince(wf *Workflow, i int, seq int64) bool {
	return w.lastUse(wf.Plan.Steps[i].Resources).Seq >= seq || w.othersUse(wf, i, seq)
}

// reading is the first value that an effect's holds is read from, as what spoke against it.
func (w *work) reading(k Keep) Evidence {
	for n, l := range w.cat.Effects[k.Effect].Holds.Leaves() {
		if x, ok := w.known(l.Context); ok && len(x.Samples) > 0 {
			last := x.Samples[len(x.Samples)-1]
			return Evidence{Leaf: n, Against: true, Key: l.Context, Value: x.Value, Source: x.Source, Class: x.Class, Seq: last.Seq, At: last.At, AgeMS: int64(w.now.Boot - last.At), By: byWindow}
		}
	}
	return Evidence{Against: true}
}

// doubt: something speaks against a kept effect. It counts when the grace is over.
func (w *work) doubt(id WorkflowID, i, e int, ev Evidence, firm bool) {
	wf := w.wf(id)
	k := w.kept(wf, i, e)
	k.Doubt, k.DoubtSeq, k.Firm = w.now.Boot, w.seq, firm
	if firm {
		ev.Seq, ev.At = w.seq, w.now.Boot
		w.keepAt(wf, i, e, ev)
	}
	w.ch.Must = true
	wf.Steps[i].recheck = w.now.Boot
	w.lookSoon(wf, i)
}

// keptDue lets pass what time alone moves for the kept effects of a step.
func (w *work) keptDue(wf *Workflow, i int) {
	now := w.now.Boot
	wf.eachKept(func(j, e int, k Keep) {
		eff := &wf.Steps[j].Effects[e]
		switch {
		case j != i || !eff.open():
		case eff.Kept.Doubt != 0 && eff.Kept.Doubt+keptGraceMS <= now:
			w.judge(wf, i, e, k)
		case eff.Kept.Doubt == 0 && eff.Kept.Due != 0 && eff.Kept.Due <= now && !eff.Kept.Stale:
			kept := w.kept(wf, i, e)
			kept.Stale, kept.Due = true, now+Instant(wf.Plan.Steps[i].HoldMS)
		case eff.Kept.Doubt == 0 && eff.Kept.Due != 0 && eff.Kept.Due <= now:
			w.forfeit(wf, i, e, EffectExpired, ReasonContextStale)
		}
	})
	if st := &wf.Steps[i]; st.Keeping() {
		w.touched = true
		w.lookSoon(wf, i)
	}
}

// judge decides on what spoke against a kept effect: a person's own change waives it; a reading has to be there still.
func (w *work) judge(wf *Workflow, i, e int, k Keep) {
	kept := wf.Steps[i].Effects[e].Kept
	truth, _ := w.holdsNow(wf, i, k, kept.DoubtSeq)
	if truth == condition.Unknown { // nobody has said it again: the value that raised the doubt, if it is still fresh
		truth, _ = w.holdsNow(wf, i, k, kept.DoubtSeq-1)
	}
	switch {
	case kept.Firm || truth == condition.False:
		if kept.User != 0 && kept.User+keptUserMS >= kept.Doubt || w.heldByPerson(wf, i) {
			w.waive(wf, i, e, ReasonExternalStop)
			return
		}
		if !kept.Firm {
			w.keepAt(wf, i, e, w.reading(k))
		}
		w.forfeit(wf, i, e, EffectContradicted, ReasonContradicts)
	default:
		next := w.kept(wf, i, e)
		next.Doubt, next.DoubtSeq = 0, 0
	}
}

func (w *work) heldByPerson(wf *Workflow, i int) bool {
	return slices.ContainsFunc(w.cur.held(&w.dev, wf, i), func(h Hold) bool { return h.Kind.person() })
}

// holdOn closes a kept effect that was kept.
func (w *work) holdOn(wf *Workflow, i, e int) {
	w.closeKept(wf, i, e, ReasonNone)
	w.progress(wf)
}

// forfeit closes a kept effect that was not kept, or of which nobody can say so. What has not begun for its sake does not begin.
func (w *work) forfeit(wf *Workflow, i, e int, to EffectState, reason Reason) {
	w.setEffect(wf, i, e, to)
	w.closeKept(wf, i, e, reason)
	if wf.Plan.Steps[i].OnFailure == FailAbort && wf.Cancel == ReasonNone {
		w.abortRest(wf)
	}
	w.progress(wf)
}

// waive closes a kept effect that a person, or the plan, has given up.
func (w *work) waive(wf *Workflow, i, e int, reason Reason) {
	w.setEffect(wf, i, e, EffectWaived)
	w.closeKept(wf, i, e, reason)
	w.progress(wf)
}

func (w *work) closeKept(wf *Workflow, i, e int, reason Reason) {
	k := w.kept(wf, i, e)
	k.Over, k.Reason, k.Due, k.Doubt = true, reason, 0, 0
	w.ch.Must, w.freed = true, true
}

// endKeeps closes what a workflow keeps, or one step of it where i >= 0: a person, a revision or an abort gives it up, a deadline leaves it
// unproven.
func (w *work) endKeeps(wf *Workflow, i int, reason Reason) {
	to := EffectWaived
	if InfoOf(reason).Class != User && reason != ReasonSuperseded && reason != ReasonAborted {
		to = EffectExpired
	}
	wf.eachKept(func(j, e int, _ Keep) {
		if (i < 0 || i == j) && wf.Steps[j].Effects[e].open() {
			w.setEffect(wf, j, e, to)
			w.closeKept(wf, j, e, reason)
		}
	})
}

// whyKept says what the kept effects of a step that has ended still wait for.
func (w *work) whyKept(wf *Workflow, i int) (facts []Fact) {
	wf.eachKept(func(j, e int, k Keep) {
		eff := &wf.Steps[j].Effects[e]
		if j != i || !eff.open() {
			return
		}
		until := "it is looked at for the last time"
		switch {
		case k.Step > 0:
			until = fmt.Sprintf("%s has ended (it is %s)", wf.Steps[k.Step-1].ID, wf.Steps[k.Step-1].State)
		case k.Event != "":
			until = fmt.Sprintf("%s is received", k.Event)
		}
		kept, due, then := eff.Kept, eff.Kept.Due, "then it waits for a value that can be read ("+string(ReasonContextStale)+")"
		f := Fact{Kind: "evidence", Ref: string(k.Effect), Text: fmt.Sprintf("effect %s is to be kept until %s", k.Effect, until)}
		switch {
		case kept.Doubt != 0:
			due, then = kept.Doubt+keptGraceMS, "then that counts"
			f.Text += "; something speaks against it"
		case kept.Stale:
			then = "then it is given up"
			f.Text = fmt.Sprintf("effect %s was kept as long as it had to be, and whether it still holds cannot be read (%s)", k.Effect, ReasonContextStale)
		case kept.Until != 0:
			f.Text = fmt.Sprintf("effect %s was kept as long as it had to be; it is read for the last time", k.Effect)
		}
		facts = append(facts, f)
		for _, l := range w.cat.Effects[k.Effect].Holds.Leaves() {
			facts = append(facts, w.whyLeaf(*eff, -1, l))
		}
		if due != 0 {
			facts = append(facts, Fact{Kind: "time", LeftMS: max(0, int64(due-w.now.Boot)), Text: then})
		}
	})
	return facts
}

// rebaseKept moves the instants of kept effects into the present boot.
func (st *Step) rebaseKept(by Instant) {
	if !slices.ContainsFunc(st.Effects, func(e Effect) bool { return e.Kept != nil }) {
		return
	}
	st.Effects = slices.Clone(st.Effects)
	for e := range st.Effects {
		if old := st.Effects[e].Kept; old != nil {
			k := *old
			rebased(by, &k.Since, &k.Until, &k.Due, &k.Doubt, &k.User)
			st.Effects[e].Kept = &k
		}
	}
}

// nextKept is when time moves a kept effect of the step; 0: never.
func (st *Step) nextKept() (at Instant) {
	for e := range st.Effects {
		if k := st.Effects[e].Kept; st.Effects[e].open() {
			if k.Doubt != 0 {
				at = earlier(at, k.Doubt+keptGraceMS)
			} else if k.Due != 0 {
				at = earlier(at, k.Due)
			}
		}
	}
	if st.recheck != 0 && st.Keeping() {
		at = earlier(at, st.recheck)
	}
	return at
}
