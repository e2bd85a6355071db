package metrics

import (
	"fmt"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// lacks says which required effect of a goal has no valid evidence; "": none. What a person has cancelled is not required any more, but
// a goal of which nothing is left is not reached.
func (t *Tally) lacks(wf *core.Workflow) string {
	proven := 0
	for _, e := range wf.Plan.Goal.Effects {
		i := wf.Plan.Lookup(e.Step)
		switch {
		case !e.Required || i >= 0 && givenUp(wf, i):
		case i < 0:
			return e.Effect + ": no step is behind it"
		default:
			if why := t.unproven(wf, i, e.Effect); why != "" {
				return string(e.Step) + "." + e.Effect + ": " + why
			}
			proven++
		}
	}
	if proven == 0 {
		return "nothing that was required is left"
	}
	return ""
}

func givenUp(wf *core.Workflow, i int) bool {
	st := &wf.Steps[i]
	return st.State == core.Cancelled && core.InfoOf(st.Reason).Class == core.User && wf.Cancel == core.ReasonNone
}

// unproven says what is wrong with the evidence of an effect: the rows as they are stored, against what the catalog asks for.
func (t *Tally) unproven(wf *core.Workflow, i int, name string) string {
	st := &wf.Steps[i]
	at := slices.IndexFunc(st.Effects, func(e core.Effect) bool { return string(e.ID) == name })
	effect, known := t.Catalog.Effects[catalog.EffectID(name)]
	switch {
	case at < 0:
		return "its step has no such effect"
	case !known:
		return "the catalog has no such effect"
	case st.Effects[at].State != core.EffectObserved: // it was brought about and lost again, or came when nobody wanted it any more
		return "the device itself says that it is " + string(st.Effects[at].State)
	}
	j := judge{cat: t.Catalog, accept: effect.Confidence.Accept, args: wf.Plan.Steps[i].Args, rows: st.Effects[at].Evidence}
	if a := slices.IndexFunc(wf.Attempts, func(a core.Attempt) bool { return a.Task == st.Task && st.Task != "" }); a >= 0 {
		j.after = wf.Attempts[a].Seq
		if wf.Attempts[a].Args != nil {
			j.args = wf.Attempts[a].Args
		}
	}
	standIn := st.State == core.Satisfied || len(j.rows) > 0 && !slices.ContainsFunc(j.rows, func(e core.Evidence) bool { return !e.Recovered && !e.Against })
	if j.holds(effect.Terminal) || standIn && effect.Holds != nil && j.holds(*effect.Holds) {
		return ""
	}
	return fmt.Sprintf("%d rows of evidence do not make what the catalog asks for%s", len(j.rows), j.why)
}

// judge holds rows of evidence against an expression.
type judge struct {
	cat    *catalog.Catalog
	accept []catalog.Class
	args   core.Values
	rows   []core.Evidence
	after  int64 // sequence of the dispatch: what is older proves nothing
	why    string
}

func (j *judge) holds(x catalog.Expr) bool {
	n := 0
	return j.eval(x, &n)
}

func (j *judge) eval(x catalog.Expr, n *int) bool {
	if x.Leaf != nil {
		*n++
		return j.leaf(*n-1, *x.Leaf)
	}
	all, some := true, false
	for _, sub := range x.All {
		ok := j.eval(sub, n)
		all = all && ok
	}
	for _, sub := range x.Any {
		ok := j.eval(sub, n)
		some = some || ok
	}
	return all && (some || len(x.Any) == 0)
}

// leaf says whether a row proves a leaf of an expression: it is of that leaf, of an accepted class, younger than the dispatch, and says
// what was asked for.
func (j *judge) leaf(n int, l catalog.Leaf) bool {
	for _, e := range j.rows {
		if e.Against || e.Leaf != n {
			continue
		}
		if why := j.row(e, l); why != "" {
			j.why = ": " + why
			continue
		}
		return true
	}
	return false
}

// strength orders the classes, the strongest first.
var strength = []catalog.Class{catalog.Independent, catalog.SamePath, catalog.Echo}

func (j *judge) row(e core.Evidence, l catalog.Leaf) string {
	declared := j.cat.Events[e.Event].Class
	if e.Key != "" {
		declared = j.cat.Context[e.Key].Class
	}
	switch {
	case e.Event != l.Event || e.Key != l.Context:
		return "a row is about something else"
	case !slices.Contains(j.accept, e.Class):
		return "its class " + string(e.Class) + " is not accepted"
	case slices.Index(strength, e.Class) < slices.Index(strength, declared):
		return "it claims to be " + string(e.Class) + ", the catalog says " + string(declared)
	case e.Seq <= j.after && !e.Recovered:
		return "it is older than the dispatch"
	case l.Event != "" && !j.matches(l.Match, e.Value):
		return "it does not say what was asked for"
	case l.Context != "" && !j.compares(l, e.Value):
		return "its value is another one"
	}
	return ""
}

func (j *judge) matches(want map[string]condition.Value, said condition.Value) bool {
	data, _ := said.(map[string]any)
	for k, v := range want {
		x, ok := catalog.Ref(v, j.args)
		if !ok || !condition.Equal(x, data[k]) {
			return false
		}
	}
	return true
}

func (j *judge) compares(l catalog.Leaf, have condition.Value) bool {
	want, ok := catalog.Ref(l.Value, j.args)
	return ok && condition.Compare(l.Op, have, want) == condition.True
}

// Unproven says what is wrong with the evidence of an observed effect of a step, as the figures judge it; "": nothing.
func (t *Tally) Unproven(wf *core.Workflow, step int, effect string) string {
	return t.unproven(wf, step, effect)
}
