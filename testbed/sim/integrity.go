package sim

import (
	"maps"
	"slices"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// integrity reads from the disk what the goals were completed by: each required effect of a completed goal has evidence there of a kind
// that the catalog accepts, younger than the dispatch of its step. It is asked once the journal has been replayed to the same records, so
// it holds of the journal, too. Source: Terminal Evidence Integrity, docs/tests.md.
func (d *disk) integrity(m *home) {
	if d.recorder == nil {
		return
	}
	rows := map[string][]taskmanager.Record{}
	for k, r := range d.records {
		rows[k.workflow] = append(rows[k.workflow], r)
	}
	for _, id := range slices.Sorted(maps.Keys(m.judge.aims)) {
		a := m.judge.aims[id]
		if a.told != core.GoalCompleted {
			continue
		}
		m.tally.Judged++
		for _, wf := range taskmanager.DecodeRecords(rows[string(id)]).Workflows {
			for _, e := range a.proof {
				if !evident(m.cat, wf, e) {
					m.failf("false goal: that of %s is completed, and the disk has no evidence of %s of %s: %+v", id, e.Effect, e.Step, wf.Steps[wf.Plan.Lookup(e.Step)].Effects)
				}
			}
			m.tally.Integer++
		}
	}
}

// evident says whether the record of a step holds what its effect is proven by.
func evident(cat *catalog.Catalog, wf *core.Workflow, e core.GoalEffect) bool {
	i := wf.Plan.Lookup(e.Step)
	if i < 0 {
		return false
	}
	st, policy := &wf.Steps[i], cat.Effects[catalog.EffectID(e.Effect)]
	k := slices.IndexFunc(st.Effects, func(x core.Effect) bool { return string(x.ID) == e.Effect })
	if k < 0 {
		return false
	}
	p := proofs{policy: policy, args: wf.Plan.Steps[i].Args, all: st.Effects[k].Evidence}
	again := slices.ContainsFunc(p.all, func(x core.Evidence) bool { return x.Recovered })
	for _, a := range wf.Attempts {
		if a.Step == i && (p.after == 0 || a.Seq < p.after) {
			p.after = a.Seq
		}
		if a.Step == i && a.Args != nil {
			p.args = a.Args
		}
	}
	if st.State == core.Satisfied || again && !p.hold(policy.Terminal) { // its event is lost for good, or was never to come
		return policy.Holds != nil && p.hold(*policy.Holds)
	}
	return p.hold(policy.Terminal)
}

// proofs are what was accepted of one effect.
type proofs struct {
	policy catalog.Effect
	args   core.Values
	all    []core.Evidence
	after  int64 // the sequence of its first dispatch
}

func (p *proofs) hold(x catalog.Expr) bool {
	switch {
	case x.Leaf != nil:
		return slices.ContainsFunc(p.all, func(ev core.Evidence) bool { return p.shows(ev, *x.Leaf) })
	case len(x.All) > 0:
		return !slices.ContainsFunc(x.All, func(sub catalog.Expr) bool { return !p.hold(sub) })
	}
	return slices.ContainsFunc(x.Any, p.hold)
}

func (p *proofs) shows(ev core.Evidence, l catalog.Leaf) bool {
	if ev.Against || ev.Event != l.Event || ev.Key != l.Context || ev.Seq <= p.after || !slices.Contains(p.policy.Confidence.Accept, ev.Class) {
		return false
	}
	if ev.By != "task_id" && !p.policy.Confidence.WindowCorrelation {
		return false
	}
	if l.Event != "" {
		data, _ := ev.Value.(map[string]any)
		for k, v := range l.Match {
			if want, ok := catalog.Ref(v, p.args); !ok || !condition.Equal(want, data[k]) {
				return false
			}
		}
		return true
	}
	want, ok := catalog.Ref(l.Value, p.args)
	return ok && condition.Compare(l.Op, ev.Value, want) == condition.True
}
