package core

import (
	"cmp"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Question is the message of an escalation: all that somebody far away needs to decide, and no more. What the device knows of its
// home travels with its age, so that nobody decides on what was true once.
type Question struct {
	ID          EscalationID
	Reason      Reason
	Recoverable bool
	Revision    int64
	Allowed     []Action
	Default     Action
	DeadlineMS  int64 // from the opening of the question
	Left        Budget
	Owed        []Owed
	Context     []Seen
	Events      []Happened // of this step, oldest first
}

// Owed is an effect that the plan still has to bring about, and who could.
type Owed struct {
	Effect    catalog.EffectID
	Step      StepID
	State     EffectState
	Providers []catalog.Method
}

// Seen is one value that the step reads. Availability says what it is worth; AgeMS is of the last reading.
type Seen struct {
	Key          catalog.ContextKey
	Value        condition.Value
	AgeMS        int64
	Source       string
	Availability condition.Availability
}

// Happened is one thing that happened to the step.
type Happened struct {
	Event  string // dispatched, an outcome of a task, or the name of an event of the catalog
	Task   TaskID
	Reason Reason
	AgeMS  int64
	Value  condition.Value
	seq    int64
}

// Bounds of a question: it is asked over a link that may be thin. Source: docs/contract.md, escalation.
const (
	maxOwed   = 32
	maxSeen   = 32
	maxEvents = 8
)

// question makes the message. It is called when the budget of the question itself is spent.
func (w *work) question(wf *Workflow, i int, e *Escalation) *Question {
	return &Question{ID: e.ID, Reason: e.Reason, Recoverable: InfoOf(e.Reason).Recoverable, Revision: e.Revision, Allowed: e.Allowed, Default: e.Default,
		DeadlineMS: int64(e.Due - e.Opened), Left: wf.Left(), Owed: w.owed(wf), Context: w.seen(wf, i), Events: w.happened(wf, i)}
}

// owed lists the effects that steps of the plan which have not ended still have to bring about.
func (w *work) owed(wf *Workflow) (out []Owed) {
	for i := range wf.Steps {
		st := &wf.Steps[i]
		for _, e := range st.Effects {
			if e.ID != "" && e.State != EffectObserved && !st.State.Terminal() && len(out) < maxOwed {
				out = append(out, Owed{Effect: e.ID, Step: st.ID, State: e.State, Providers: w.providers(e.ID)})
			}
		}
	}
	return out
}

// seen gives the values that the step's condition, its prerequisites and its evidence read, each once.
func (w *work) seen(wf *Workflow, i int) (out []Seen) {
	for _, key := range w.keysOf(wf, i) {
		if len(out) == maxSeen {
			break
		}
		s := Seen{Key: key}
		s.Value, s.Availability = w.availability(key, 0)
		if k, ok := w.known(key); ok {
			s.Source = k.Source
			if n := len(k.Samples); n > 0 {
				s.AgeMS = int64(w.now.Boot - k.Samples[n-1].At)
			}
		}
		if !sendable(s.Value, 4) {
			s.Value = nil
		}
		out = append(out, s)
	}
	return out
}

func (w *work) keysOf(wf *Workflow, i int) (keys []catalog.ContextKey) {
	add := func(k catalog.ContextKey) {
		if k != "" && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, c := range []*condition.Condition{wf.Plan.Steps[i].When, wf.facts(i).Prerequisites} {
		if c == nil {
			continue
		}
		for _, l := range c.Leaves() {
			if k, ok := strings.CutPrefix(l.Ref, "ctx."); ok {
				add(catalog.ContextKey(k))
			}
		}
	}
	for _, e := range wf.Steps[i].Effects {
		if p, ok := w.proofOf(wf, i, e.ID); ok {
			for _, l := range p.expr.Leaves() {
				add(l.Context)
			}
		}
	}
	if wf.minds(i) {
		add(KeyQuiet)
	}
	slices.Sort(keys)
	return keys
}

// happened gives the latest of what happened to the step, as far as its attempts and its evidence tell.
func (w *work) happened(wf *Workflow, i int) (out []Happened) {
	st := &wf.Steps[i]
	for k := range wf.Attempts {
		a := &wf.Attempts[k]
		if a.Step != i {
			continue
		}
		out = append(out, Happened{Event: "dispatched", Task: a.Task, AgeMS: int64(w.now.Boot - a.At), seq: a.Seq})
		if a.State == Ended {
			out = append(out, Happened{Event: string(a.Outcome), Task: a.Task, Reason: a.EndReason, seq: a.Seq})
		}
	}
	for _, e := range st.Effects {
		for _, p := range e.Evidence {
			h := Happened{Event: cmp.Or(string(p.Event), string(p.Key)), Task: st.Task, AgeMS: int64(w.now.Boot - p.At), Value: p.Value, seq: p.Seq}
			if !sendable(h.Value, 4) {
				h.Value = nil
			}
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b Happened) int { return cmp.Compare(a.seq, b.seq) })
	return out[max(0, len(out)-maxEvents):]
}
