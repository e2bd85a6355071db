package core

import (
	"fmt"
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Fact is one reason why a step is where it is. The words of Kind are fixed; Text is one sentence for people.
type Fact struct {
	Kind   string  `json:"kind"` // dependency delay hold resource context service evidence answer decision question stop time end gate
	Text   string  `json:"text"`
	Ref    string  `json:"ref,omitempty"`     // the step, task, key, effect or service that it is about
	LeftMS int64   `json:"left_ms,omitempty"` // until time moves it
	AgeMS  *int64  `json:"age_ms,omitempty"`  // of a context value
	Value  any     `json:"value,omitempty"`
	Due    Instant `json:"-"`
}

// Why says why a step is not further. It is a total function: every step of every state has an answer.
func Why(s *State, now Now, wf *Workflow, i int) []Fact {
	w := newWork(s, now)
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	var facts []Fact
	switch st.State {
	case Pending:
		facts = w.whyPending(wf, i)
	case Waiting:
		facts = w.whyWaiting(wf, i)
	case RetryWait:
		facts = whyRetry(st, spec)
	case Queued, Blocked:
		if facts = w.whyExhausted(wf, i); facts == nil {
			facts = w.whyHeld(wf, i)
		}
	case Dispatching:
		facts = []Fact{{Kind: "answer", Ref: string(st.Task), Text: "the call is out, the executor has not answered"}}
	case Paused:
		facts = append(w.whyPaused(wf, i), w.whyEvidence(wf, i)...)
	case Running:
		facts = append(w.whyPaused(wf, i), Fact{Kind: "answer", Ref: string(st.Task), Text: "the executor has accepted it and has not ended it"})
		facts = append(facts, w.whyEvidence(wf, i)...)
	case Verifying:
		facts = append([]Fact{{Kind: "answer", Ref: string(st.Task), Text: "the executor says done; that is a claim, not proof"}}, w.whyEvidence(wf, i)...)
	case OutcomeUnknown:
		facts = append([]Fact{{Kind: "answer", Ref: string(st.Task), Text: "it was dispatched, and neither done nor not done is known: " + string(st.Reason)}}, w.whyEvidence(wf, i)...)
	case Cancelling:
		facts = []Fact{{Kind: "stop", Ref: string(st.Task), Text: w.stopText(wf, st.Task)}}
	default:
		return append(append([]Fact{{Kind: "end", Text: endText(st)}}, whyNotAsked(st)...), w.whyKept(wf, i)...)
	}
	if len(facts) == 0 {
		facts = []Fact{{Kind: "time", Text: "it is about to be looked at"}}
	}
	if st.Due != 0 {
		due := Fact{Kind: "time", LeftMS: max(0, int64(st.Due-now.Boot)), Text: dueText(st.State)}
		if st.asked() {
			due.Ref, due.Text = string(st.Fate.End), "then the default is taken: it ends "+string(st.Fate.End)
		} else if st.Fate != nil && st.Fate.Reads {
			due.Text = "then the cloud is asked all the same, and told how old they are"
		}
		if st.toUser() {
			due.Ref, due.Text = string(st.Fate.End), "then nobody has answered: it ends "+string(st.Fate.End)
		}
		facts = append(facts, due)
	}
	return facts
}

func endText(st *Step) string {
	if st.Reason == ReasonNone {
		return "it ended " + string(st.State)
	}
	return fmt.Sprintf("it ended %s (%s): %s", st.State, st.Reason, InfoOf(st.Reason).Text)
}

// whyNotAsked names what kept the gate to the cloud closed when the step of a goal had failed.
func whyNotAsked(st *Step) []Fact {
	if st.Fate == nil || st.Fate.Refused == GateOpen {
		return nil
	}
	return []Fact{{Kind: "gate", Ref: string(st.Fate.Refused), Text: fmt.Sprintf("the cloud was not asked (%s): it is only asked where %s", st.Fate.Refused, st.Fate.Refused.Text())}}
}

func dueText(s StepState) string {
	switch s {
	case Waiting, RetryWait:
		return "then it is queued"
	case Queued:
		return "then it is dispatched although it is not known whether its effect holds already"
	case Dispatching:
		return "then its outcome counts as unknown and the executor is asked"
	case Verifying:
		return "then it ends timed_out (evidence_timeout)"
	case Running:
		return "then it ends timed_out (step_timeout)"
	}
	return "then it ends failed with this reason"
}

func (w *work) whyPending(wf *Workflow, i int) (facts []Fact) {
	for _, d := range wf.Plan.Steps[i].Deps {
		dep := &wf.Steps[d.Step]
		if met, _ := dependency(&wf.Plan.Steps[d.Step], dep, d.On); !met {
			facts = append(facts, Fact{Kind: "dependency", Ref: string(dep.ID),
				Text: fmt.Sprintf("it waits for %s of %s (wait_policy %s), which is %s", d.On, dep.ID, wf.Plan.Steps[d.Step].Wait, dep.State)})
		}
	}
	return facts
}

func (w *work) whyHeld(wf *Workflow, i int) (facts []Fact) {
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	if w.cur.Hold {
		return []Fact{{Kind: "hold", Text: "the agent was started to look on: it dispatches nothing"}}
	}
	if facts = w.whyHolders(wf, i); len(facts) > 0 {
		return facts
	}
	if met, _ := w.dependencies(wf, i); !met { // it was released by a try that failed, and waits for the next one
		return w.whyPending(wf, i)
	}
	facts = append(w.whyConditions(wf, i), w.whyHushed(wf, i)...)
	if st.Reason == ReasonExecutorUnavail || st.Reason == ReasonExecutorBusy {
		facts = append(facts, Fact{Kind: "service", Ref: st.Detail, Text: "service " + st.Detail + ": " + InfoOf(st.Reason).Text})
	}
	if res, taken := firstBusy(spec.Resources, w.busy()); taken {
		facts = append(facts, Fact{Kind: "resource", Ref: string(res), Text: fmt.Sprintf("%s is used by %s", res, w.ownerText(res))})
	} else if res, by := w.ahead(wf, i); by != "" {
		facts = append(facts, Fact{Kind: "resource", Ref: string(res), Text: fmt.Sprintf("%s is kept for %s, which is queued before it", res, by)})
	}
	if a := wf.attempt(st.Task); st.State == Blocked && a != nil && a.holds() {
		facts = append(facts, Fact{Kind: "stop", Ref: string(a.Task), Text: fmt.Sprintf("its earlier task %s is %s: it is not called again before that has ended", a.Task, a.State)})
	}
	if len(facts) == 0 && st.State == Blocked && st.TriedSince != 0 {
		facts = append(facts, Fact{Kind: "delay", Ref: string(st.Task), LeftMS: max(0, int64(st.recheck-w.now.Boot)),
			Text: fmt.Sprintf("call %d of it came to nothing (%s: %s); it is called again in a moment", st.Attempts, st.Reason, InfoOf(st.Reason).Text)})
	}
	if len(facts) == 0 && st.State == Queued && w.mayHold(spec, st) {
		facts = append(facts, Fact{Kind: "context", Text: "it is being read whether its effect holds already"})
	}
	return facts
}

// ahead names a step that is queued earlier and needs one of the same resources: its place is kept.
func (w *work) ahead(wf *Workflow, i int) (catalog.ResourceID, string) {
	for _, id := range w.cur.order {
		o := w.peek(id)
		for k := range o.Steps {
			if o.Plan.Workflow == wf.Plan.Workflow && k == i {
				return "", ""
			}
			if o.Steps[k].State != Queued {
				continue
			}
			for _, res := range o.Plan.Steps[k].Resources {
				if slices.Contains(wf.Plan.Steps[i].Resources, res) {
					return res, fmt.Sprintf("%s/%s", id, o.Steps[k].ID)
				}
			}
		}
	}
	return "", ""
}

// whyConditions names what its condition and its prerequisites lack.
func (w *work) whyConditions(wf *Workflow, i int) (facts []Fact) {
	spec := &wf.Plan.Steps[i]
	for _, c := range []*condition.Condition{spec.When, spec.Op.Prerequisites} {
		if ans := w.check(wf, c); ans.Truth != condition.True {
			for _, u := range ans.Unknown {
				facts = append(facts, Fact{Kind: "context", Ref: u.Ref, Text: fmt.Sprintf("%s is %s, and unknown never counts as no", u.Ref, u.Availability)})
			}
			if ans.Truth == condition.False {
				facts = append(facts, Fact{Kind: "context", Ref: c.Ref, Text: "a prerequisite does not hold"})
			}
		}
	}
	return facts
}

func (w *work) ownerText(res catalog.ResourceID) string {
	for _, r := range w.listening() {
		wf := w.peek(r.wf)
		a := &wf.Attempts[r.at]
		for _, have := range a.Resources {
			if have == res && wf.occupies(a) {
				return fmt.Sprintf("%s/%s (task %s, %s)", r.wf, wf.Steps[a.Step].ID, a.Task, a.State)
			}
		}
	}
	if w.inUse([]catalog.ResourceID{res}) {
		return fmt.Sprintf("something else than a task of ours, for %d ms; it is waited for until it rests", w.now.Boot-w.foreignSince(res).At)
	}
	return "nobody"
}

// whyEvidence names for each effect what is still missing.
func (w *work) whyEvidence(wf *Workflow, i int) (facts []Fact) {
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	a := wf.attempt(st.Task)
	for _, e := range st.Effects {
		if e.State == EffectObserved {
			continue
		}
		name := string(e.ID)
		if name == "" {
			name = "done_evidence of " + string(spec.Method)
		}
		facts = append(facts, Fact{Kind: "evidence", Ref: name, Text: fmt.Sprintf("effect %s is %s", name, e.State)})
		p, ok := w.proofOf(wf, i, e.ID)
		if !ok || a == nil {
			continue
		}
		n := 0
		leaves(p.expr, &n, func(leaf int, l catalog.Leaf) { facts = append(facts, w.whyLeaf(e, leaf, l)) })
	}
	return facts
}

func (w *work) whyLeaf(e Effect, leaf int, l catalog.Leaf) Fact {
	if l.Event != "" {
		if hasLeaf(e.Evidence, leaf) {
			return Fact{Kind: "evidence", Ref: string(l.Event), Text: string(l.Event) + " was received"}
		}
		return Fact{Kind: "evidence", Ref: string(l.Event), Text: string(l.Event) + " was not received since the dispatch"}
	}
	v, av := w.availability(l.Context, l.MaxAgeMS)
	f := Fact{Kind: "evidence", Ref: string(l.Context), Value: v, Text: fmt.Sprintf("%s %s %v is wanted; the value is %s", l.Context, l.Op, l.Value, av)}
	if k, ok := w.known(l.Context); ok && len(k.Samples) > 0 {
		age := int64(w.now.Boot - k.Samples[len(k.Samples)-1].At)
		f.AgeMS = &age
	}
	return f
}
