package diag

import (
	"strings"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// why answers for one step, or for all of them where step is "".
func (v view) why(wf *core.Workflow, step string) (WhyDocument, bool) {
	row := v.row(wf)
	doc := WhyDocument{Workflow: row.ID, State: row.State, Reason: row.Reason, Steps: []WhyStep{}}
	for i := range wf.Steps {
		st := &wf.Steps[i]
		if step != "" && step != string(st.ID) {
			continue
		}
		doc.Steps = append(doc.Steps, WhyStep{Step: string(st.ID), State: string(st.State), Reason: string(st.Reason), Since: v.moment(st.Since), Facts: v.facts(wf, i)})
	}
	return doc, step == "" || len(doc.Steps) == 1
}

// facts gives the core's answer, each fact with what is known of the thing that it names.
func (v view) facts(wf *core.Workflow, i int) []Fact {
	in := core.Why(v.s, v.now, wf, i)
	out := make([]Fact, 0, len(in))
	w := wanted{view: v, wf: wf, i: i}
	for n, f := range in {
		fact := Fact{Kind: f.Kind, Text: f.Text, Ref: f.Ref, Value: f.Value, AgeMS: f.AgeMS}
		if f.Kind == "time" && (wf.Steps[i].Due != 0 || wf.Steps[i].Keeping()) && n == len(in)-1 {
			fact.LeftMS = new(f.LeftMS)
		}
		w.describe(&fact)
		out = append(out, fact)
	}
	if wf.Steps[i].State.Terminal() {
		out = append(out, v.proof(&wf.Steps[i])...)
	}
	return out
}

// proof tells what an ended step was judged by.
func (v view) proof(st *core.Step) (out []Fact) {
	for _, e := range st.Effects {
		effect := v.effect(e)
		out = append(out, Fact{Kind: "evidence", Ref: effect.ID, RefKind: "effect", RefState: effect.State, Text: "effect " + effect.ID + " is " + effect.State})
		for _, ev := range effect.Evidence {
			f := Fact{Kind: "evidence", Ref: ev.Event, RefKind: "event", RefState: "received", Source: ev.Source, Value: ev.Value, AgeMS: new(ev.At.AgeMS)}
			if ev.Key != "" {
				f.Ref, f.RefKind, f.RefState = ev.Key, "key", "accepted"
			}
			f.Text = f.Ref + " was accepted as proof"
			if ev.Against {
				f.RefState, f.Text = "against", f.Ref+" speaks against it"
			}
			out = append(out, f)
		}
	}
	return out
}

// wanted walks the facts of one step; effect is the one whose evidence is being told.
type wanted struct {
	view
	wf     *core.Workflow
	i      int
	effect *core.Effect
}

func (w *wanted) describe(f *Fact) {
	if f.Ref == "" {
		return
	}
	switch f.Kind {
	case "dependency":
		f.RefKind = "step"
		if i := w.wf.Plan.Lookup(core.StepID(f.Ref)); i >= 0 {
			f.RefState = string(w.wf.Steps[i].State)
		}
	case "hold":
		f.RefKind, f.RefState = "holder", "holds it"
		if a := attempt(w.wf, core.TaskID(f.Ref)); a != nil {
			f.RefKind, f.RefState = "task", string(a.State)
		}
	case "answer", "stop":
		f.RefKind = "task"
		if a := attempt(w.wf, core.TaskID(f.Ref)); a != nil {
			f.RefState = string(a.State)
		}
	case "service":
		f.RefKind, f.RefState = "service", "absent"
		if _, ok := w.s.Services[core.ServiceID(f.Ref)]; ok {
			f.RefState = "ready"
		}
	case "resource":
		f.RefKind, f.RefState = "resource", w.owner(catalog.ResourceID(f.Ref))
	case "context":
		w.key(f, strings.TrimPrefix(f.Ref, "ctx."))
	case "evidence":
		w.evidence(f)
	}
}

// evidence: an effect first, then the events and keys that would prove it.
func (w *wanted) evidence(f *Fact) {
	st := &w.wf.Steps[w.i]
	for n := range st.Effects {
		e := &st.Effects[n]
		if string(e.ID) == f.Ref || e.ID == "" && strings.HasPrefix(f.Ref, doneEvidence) {
			w.effect, f.RefKind, f.RefState = e, "effect", string(e.State)
			return
		}
	}
	if _, ok := w.s.Catalog().Events[catalog.EventName(f.Ref)]; ok {
		f.RefKind, f.RefState = "event", "not received"
		for n := 0; w.effect != nil && n < len(w.effect.Evidence); n++ {
			if ev := w.effect.Evidence[n]; !ev.Against && string(ev.Event) == f.Ref {
				f.RefState, f.Source, f.AgeMS = "received", ev.Source, new(int64(w.now.Boot-ev.At))
			}
		}
		return
	}
	w.key(f, f.Ref)
}

// key fills in a key of the context; what the catalog does not declare is an output of another step.
func (w *wanted) key(f *Fact, name string) {
	decl, ok := w.s.Catalog().Context[catalog.ContextKey(name)]
	if !ok {
		f.RefKind = "output"
		return
	}
	bound := decl.MaxAgeMS
	if l := w.leaf(catalog.ContextKey(name)); l != nil {
		want := l.Value
		if v, ok := catalog.Ref(l.Value, w.wf.Plan.Steps[w.i].Args); ok {
			want = v
		}
		f.Want = &Want{Op: string(l.Op), Value: want}
		if l.MaxAgeMS > 0 {
			bound = l.MaxAgeMS
		}
	}
	f.Ref, f.RefKind, f.BoundMS = name, "key", new(bound)
	f.Value, f.Source, f.AgeMS, f.RefState = w.known(catalog.ContextKey(name), bound)
}

// leaf finds the comparison of a key in the proof that is being told.
func (w *wanted) leaf(key catalog.ContextKey) *catalog.Leaf {
	if w.effect == nil {
		return nil
	}
	x := w.wf.Plan.Steps[w.i].Op.DoneEvidence
	if w.effect.ID != "" {
		e, ok := w.s.Catalog().Effects[w.effect.ID]
		if !ok {
			return nil
		}
		x = &e.Terminal
	}
	if x == nil {
		return nil
	}
	for _, l := range x.Leaves() {
		if l.Context == key {
			return &l
		}
	}
	return nil
}

// owner names the step whose task holds a resource.
func (w *wanted) owner(res catalog.ResourceID) string {
	for _, wf := range w.s.Workflows {
		for i := range wf.Attempts {
			a := &wf.Attempts[i]
			if a.State == core.Ended {
				continue
			}
			for _, have := range a.Resources {
				if have == res {
					return string(wf.Plan.Workflow) + "/" + string(wf.Steps[a.Step].ID)
				}
			}
		}
	}
	return "nobody"
}
