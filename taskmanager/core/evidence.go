package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// proof is what must be seen for one effect: the catalog's policy, or the operation's done_evidence.
type proof struct {
	expr       catalog.Expr
	against    []catalog.Leaf
	confidence catalog.Confidence
}

func (w *work) proofOf(wf *Workflow, i int, id catalog.EffectID) (proof, bool) {
	if id == "" {
		op := wf.facts(i)
		if op.DoneEvidence == nil {
			return proof{}, false
		}
		return proof{*op.DoneEvidence, nil, op.DoneConfidence}, true
	}
	e, ok := w.cat.Effects[id]
	return proof{e.Terminal, e.Contradicted, e.Confidence}, ok
}

// facts are the operation's facts for a step: those of its inputs' variant, where it has one.
func (wf *Workflow) facts(i int) *Facts {
	if op := wf.Steps[i].Op; op != nil {
		return op
	}
	return &wf.Plan.Steps[i].Op
}

func (wf *Workflow) args(i int, a *Attempt) Values {
	if a != nil && a.Args != nil {
		return a.Args
	}
	return wf.Plan.Steps[i].Args
}

// classRank orders source classes; an unknown word is the weakest.
func classRank(c catalog.Class) int {
	switch c {
	case catalog.Independent:
		return 0
	case catalog.SamePath:
		return 1
	}
	return 2
}

// weaker is the class that counts: the catalog's, unless the source itself claims less.
func weaker(declared, claimed catalog.Class) catalog.Class {
	if claimed != "" && classRank(claimed) > classRank(declared) {
		return claimed
	}
	return declared
}

// observed takes an event of the catalog.
func (w *work) observed(ev Observed) {
	decl, ok := w.cat.Events[ev.Event]
	if !ok {
		return
	}
	ev.Class = weaker(decl.Class, ev.Class)
	if ev.Resource == "" {
		ev.Resource = decl.Resource
	}
	switch ev.Event {
	case "external_start", "external_stop":
		w.disturb(ev.Resource)
		w.foreign(ev.Resource, ev.Event == "external_start")
	case "user.answered":
		w.userAnswered(ev)
	default:
		w.wish(ev)
	}
	for _, r := range w.listening() {
		w.weigh(r, ev, false)
	}
	w.observedKept(ev)
	w.overheard(ev)
	w.speechObserved(ev)
}

// weigh holds one event against one attempt: proof, opposite, or release of its dependants.
func (w *work) weigh(r ref, ev Observed, recovered bool) {
	wf := w.peek(r.wf)
	a := &wf.Attempts[r.at]
	i := a.Step
	by := w.correlates(wf, a, ev)
	if by == "" || (!recovered && w.seq <= a.Seq) {
		return
	}
	w.touched = true // it is about something under way, whether it proves anything or not
	w.give(r, ev)
	wf, a = w.peek(r.wf), &w.peek(r.wf).Attempts[r.at]
	st := &wf.Steps[i]
	if st.Task != a.Task || !st.State.active() {
		return
	}
	spec := &wf.Plan.Steps[i]
	args := wf.args(i, a)
	for e := range st.Effects {
		eff := &st.Effects[e]
		if eff.State == EffectObserved || eff.State == EffectContradicted {
			continue
		}
		p, ok := w.proofOf(wf, i, eff.ID)
		if !ok || (by == byWindow && !p.confidence.WindowCorrelation) {
			continue
		}
		if at, ok := opposes(p, ev, args); ok && a.StopCalls == 0 && a.Pausing == PauseNone && len(spec.Stops) == 0 {
			w.keep(r, e, Evidence{Leaf: at, Against: true, Event: ev.Event, Value: saidBy(ev), Source: ev.Source, Class: ev.Class, By: by, Recovered: recovered})
			w.contradict(r, e)
			continue
		}
		if at, ok := proves(p, ev, args); ok && !hasLeaf(eff.Evidence, at) {
			w.keep(r, e, Evidence{Leaf: at, Event: ev.Event, Value: saidBy(ev), Source: ev.Source, Class: ev.Class, By: by, Recovered: recovered})
		}
	}
	if we := spec.WaitEvent; we != nil && we.Event == ev.Event && w.peek(r.wf).Steps[i].Released == 0 && classRank(ev.Class) < 2 && matches(we.Match, ev.Data, args) {
		st := &w.wf(r.wf).Steps[i]
		st.Released, st.dirty, w.touched = w.now.Boot, true, true
	}
	if w.wfs[r.wf] != nil {
		w.settle(w.wfs[r.wf], i)
	}
}

const (
	byTask   = "task_id"
	byWindow = "window"
)

// correlates says how an event belongs to an attempt, "" where it does not. An event that names a task belongs to that task;
// one without belongs to the window of the resource, if nothing else used it meanwhile. A stop is about the tasks that it stops.
func (w *work) correlates(wf *Workflow, a *Attempt, ev Observed) string {
	switch {
	case ev.Task == a.Task:
		return byTask
	case len(wf.Plan.Steps[a.Step].Stops) > 0 && slices.Contains(wf.Plan.Steps[a.Step].Stops, ev.Resource):
		if ev.Task != "" && !w.stoppedSince(ev.Task, a) {
			return "" // it speaks of a task that was over before this stop: what moves now may move on
		}
		return byWindow
	case ev.Task != "" || a.Disturbed:
		return ""
	case ev.Resource != "" && slices.Contains(a.Resources, ev.Resource):
		if last := w.lastUse(a.Resources); last.Seq > 0 && w.now.Boot-last.At < afterglowMS {
			return "" // it may be the last word of the task before
		}
		return byWindow
	case ev.Resource == "" && len(a.Resources) == 0 && w.alone(wf, a):
		return byWindow
	}
	return ""
}

// stoppedSince says whether a task may have come to its end by a stop operation: it still holds something, or it was asked to stop
// since that operation was dispatched.
func (w *work) stoppedSince(task TaskID, stop *Attempt) bool {
	for id := range w.cur.Workflows {
		if a := w.peek(id).attempt(task); a != nil {
			return a.holds() || a.StopCalls > 0 && a.StopSeq >= stop.Seq
		}
	}
	for _, id := range w.ids {
		if a := w.wfs[id].attempt(task); a != nil {
			return a.holds() || a.StopCalls > 0 && a.StopSeq >= stop.Seq
		}
	}
	return false
}

// alone says that no other attempt of the same operation is under way, so that an event without a name can only mean this one.
func (w *work) alone(wf *Workflow, a *Attempt) bool {
	method := wf.Plan.Steps[a.Step].Method
	for _, r := range w.listening() {
		o := w.peek(r.wf)
		if b := &o.Attempts[r.at]; b.Task != a.Task && o.Plan.Steps[b.Step].Method == method {
			return false
		}
	}
	return true
}

func hasLeaf(list []Evidence, leaf int) bool {
	return slices.ContainsFunc(list, func(e Evidence) bool { return e.Leaf == leaf && !e.Against })
}

// leaves walks an expression in reading order.
func leaves(x catalog.Expr, n *int, visit func(int, catalog.Leaf)) {
	if x.Leaf != nil {
		visit(*n, *x.Leaf)
		*n++
		return
	}
	for _, sub := range x.All {
		leaves(sub, n, visit)
	}
	for _, sub := range x.Any {
		leaves(sub, n, visit)
	}
}

func proves(p proof, ev Observed, args Values) (leaf int, ok bool) {
	n := 0
	leaves(p.expr, &n, func(i int, l catalog.Leaf) {
		if !ok && l.Event == ev.Event && slices.Contains(p.confidence.Accept, ev.Class) && matches(l.Match, ev.Data, args) {
			leaf, ok = i, true
		}
	})
	return leaf, ok
}

func opposes(p proof, ev Observed, args Values) (int, bool) {
	for i, l := range p.against {
		if l.Event == ev.Event && ev.Class != catalog.Echo && matches(l.Match, ev.Data, args) && differs(l.MatchNot, ev.Data, args) {
			return i, true
		}
	}
	return 0, false
}

func matches(want, data, args Values) bool {
	for k, v := range want {
		x, ok := catalog.Ref(v, args)
		if !ok || !condition.Equal(x, data[k]) {
			return false
		}
	}
	return true
}

func differs(not, data, args Values) bool {
	if len(not) == 0 {
		return true
	}
	for k, v := range not {
		x, ok := catalog.Ref(v, args)
		if have, there := data[k]; ok && there && !condition.Equal(x, have) {
			return true
		}
	}
	return false
}

// saidBy is the value of an event as evidence: none where it carries no data, as it will be when it comes back from the disk.
func saidBy(ev Observed) condition.Value {
	if ev.Data == nil {
		return nil
	}
	return ev.Data
}

// keep stores what was accepted with the step.
func (w *work) keep(r ref, e int, ev Evidence) {
	wf := w.wf(r.wf)
	st := &wf.Steps[wf.Attempts[r.at].Step]
	if ev.Seq == 0 {
		ev.Seq, ev.At = w.seq, w.now.Boot
	}
	st.Effects = slices.Clone(st.Effects)
	st.Effects[e].Evidence = append(slices.Clone(st.Effects[e].Evidence), ev)
	st.dirty, w.touched, w.ch.Must = true, true, true
}

// contradict closes an effect with its opposite. A step that claims to be done fails at once; one that still runs is given the
// time of its evidence to be told so by its executor.
func (w *work) contradict(r ref, e int) {
	wf := w.wf(r.wf)
	a := &wf.Attempts[r.at]
	w.setEffect(wf, a.Step, e, EffectContradicted)
	st := &wf.Steps[a.Step]
	if st.State == Running {
		st.Due = earlier(st.Due, w.now.Boot+Instant(wf.Plan.Steps[a.Step].EvidenceMS))
	}
}

func earlier(a, b Instant) Instant {
	if a == 0 || b < a {
		return b
	}
	return a
}

// settle closes what is proven by now: effects, and with the last of them the step.
func (w *work) settle(wf *Workflow, i int) {
	st := &wf.Steps[i]
	if !st.State.active() || st.State == Cancelling {
		return
	}
	a := wf.attempt(st.Task)
	if contradicted(st) {
		if st.State == Verifying || a.Outcome == OutcomeDone {
			w.fail(wf, i, Failed, ReasonContradicts)
		}
		return
	}
	if len(st.Effects) == 0 {
		return
	}
	all := true
	for e := range st.Effects {
		if wf.Steps[i].Effects[e].State != EffectObserved && !w.tryEffect(wf, i, e, a) {
			all = false
		}
	}
	if all && answered(wf, i, a) {
		w.complete(wf, i)
	}
}

// answered says whether a step has the output that others in the plan wait for. A proof may come before the executor's answer:
// a value of the context that is read on the way. An executor that says done without an output has none to give.
func answered(wf *Workflow, i int, a *Attempt) bool {
	st := &wf.Steps[i]
	if a.Cloud {
		return wf.Plan.Steps[i].Output == "" || a.Outcome == OutcomeDone // what the robot said is no output
	}
	return wf.Plan.Steps[i].Output == "" || st.Output != nil || a.Outcome == OutcomeDone || outputOf(st) != nil
}

func contradicted(st *Step) bool {
	return slices.ContainsFunc(st.Effects, func(e Effect) bool { return e.State == EffectContradicted })
}

// tryEffect looks whether one effect is proven: its event leaves by what was kept, its context leaves by values read since.
func (w *work) tryEffect(wf *Workflow, i, e int, a *Attempt) bool {
	p, ok := w.proofOf(wf, i, wf.Steps[i].Effects[e].ID)
	if !ok {
		return false
	}
	v := view{w: w, args: wf.args(i, a), after: a.Seq, accept: p.confidence.Accept, kept: wf.Steps[i].Effects[e].Evidence}
	v.foreign = a.Disturbed && !slices.ContainsFunc(v.kept, func(ev Evidence) bool { return ev.By == byTask && !ev.Against })
	truth := v.eval(p.expr)
	if truth != condition.True {
		truth = w.standsIn(wf, i, e, a, &v)
	}
	if truth == condition.True {
		for _, ev := range v.proof {
			w.keepAt(wf, i, e, ev)
		}
		w.setEffect(wf, i, e, EffectObserved)
		w.ch.Must = true
		return true
	}
	if wf.Steps[i].State == Verifying || v.half {
		w.watch(wf, i, v)
	}
	return false
}

// standsIn: the event of a task whose end only a Query told is lost for good. What the effect makes true may stand in for it, read
// now, where nothing else can have made it so.
func (w *work) standsIn(wf *Workflow, i, e int, a *Attempt, v *view) condition.Truth {
	effect := w.cat.Effects[wf.Steps[i].Effects[e].ID]
	if !a.Recovered || a.Disturbed || effect.Holds == nil {
		return condition.Unknown
	}
	h := view{w: w, args: v.args, after: a.Seq, accept: v.accept}
	truth := h.eval(*effect.Holds)
	v.need = append(v.need, h.need...)
	if truth == condition.True {
		v.proof = h.proof
		for k := range v.proof {
			v.proof[k].Recovered = true
		}
	}
	return truth
}

func (w *work) keepAt(wf *Workflow, i, e int, ev Evidence) {
	st := &wf.Steps[i]
	st.Effects = slices.Clone(st.Effects)
	st.Effects[e].Evidence = append(slices.Clone(st.Effects[e].Evidence), ev)
	st.dirty, w.ch.Must = true, true
}

// rereadMS is how often a value is read again while an answer hangs on it. Source: the shortest max_age_ms of the default catalog
// is 2 s, so a value never grows stale between two looks.
const rereadMS = 500

// watch asks for the values that are still missing and says when to look again. At most one look is under way.
func (w *work) watch(wf *Workflow, i int, v view) {
	if len(v.need) == 0 {
		return
	}
	st := &wf.Steps[i]
	if st.recheck > w.now.Boot {
		return
	}
	w.read(v.need...)
	st.recheck = w.now.Boot + rereadMS
	w.touched = true
}
