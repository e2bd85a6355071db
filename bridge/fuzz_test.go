package bridge_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// FuzzPlan: the check never panics and says the same twice; what it accepts is whole: indices that exist, no circle, bounds on every
// step, and a proof for each effect.
func FuzzPlan(f *testing.F) {
	cat := defaultCatalog(f)
	files, err := filepath.Glob("testdata/plans/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, tc := range refusedPlans {
		f.Add(message("plan", planBody(tc.head, tc.requests)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := wire.Decode(data, wire.Options{AllowJSON: true})
		if err != nil || e.Plan == nil {
			return
		}
		plan, faults := bridge.CheckPlan(cat, e.Plan)
		again, more := bridge.CheckPlan(cat, e.Plan)
		if !reflect.DeepEqual(plan, again) || !reflect.DeepEqual(faults, more) {
			t.Fatalf("two checks differ:\n%+v\n%+v", faults, more)
		}
		if len(faults) == 0 {
			whole(t, cat, e.Plan, plan)
		}
	})
}

func whole(t *testing.T, cat *catalog.Catalog, w *wire.Plan, p *core.Plan) {
	t.Helper()
	if len(p.Steps) == 0 || len(p.Steps) != len(w.Requests) {
		t.Fatalf("%d steps of %d requests", len(p.Steps), len(w.Requests))
	}
	done := make([]bool, len(p.Steps))
	for left := len(p.Steps); left > 0; {
		before := left
		for i := range p.Steps {
			if !done[i] && ready(p.Steps[i].Deps, done) {
				done[i], left = true, left-1
			}
		}
		if before == left {
			t.Fatalf("%d steps wait for each other", left)
		}
	}
	for i := range p.Steps {
		wholeStep(t, cat, &p.Steps[i], len(p.Steps))
	}
}

func ready(deps []core.Dep, done []bool) bool {
	for _, d := range deps {
		if !done[d.Step] {
			return false
		}
	}
	return true
}

func wholeStep(t *testing.T, cat *catalog.Catalog, s *core.StepSpec, n int) {
	t.Helper()
	if s.Anchor < 0 || s.Anchor > n || s.DelayMS < 0 || s.DelayMS > 30*24*3_600_000 || s.EvidenceMS <= 0 || s.HoldMS <= 0 {
		t.Fatalf("step %s is not bounded: %+v", s.ID, s)
	}
	op, known := cat.Operations[s.Method]
	if s.TimeoutMS <= 0 && !op.HumanPaced {
		t.Fatalf("step %s has no time-out", s.ID)
	}
	if s.Target == core.OnCloud {
		if _, ok := cat.Skills[catalog.SkillID(s.Skill)]; !ok || s.Wait == core.WaitForEvent {
			t.Fatalf("cloud step %+v", s)
		}
		return
	}
	if !known || op.Visibility == "internal" || op.Visibility == "lab" {
		t.Fatalf("step %s calls %q", s.ID, s.Method)
	}
	if s.Wait == core.WaitForEvent && s.WaitEvent == nil {
		t.Fatalf("step %s waits for no event", s.ID)
	}
	if s.MovesBody && len(s.Effects) == 0 {
		t.Fatalf("step %s moves the body and nothing proves it", s.ID)
	}
	for _, id := range s.Effects {
		e, ok := cat.Effects[id]
		proof := &e.Terminal
		if id == "" {
			proof, ok = s.Op.DoneEvidence, s.Op.DoneEvidence != nil
		}
		if !ok || len(proof.Leaves()) == 0 {
			t.Fatalf("nothing proves effect %q of step %s", id, s.ID)
		}
	}
	for name := range s.InputFrom {
		if _, stays := s.Call[name]; stays {
			t.Fatalf("the stand-in for %s of step %s is still there", name, s.ID)
		}
	}
}

// BenchmarkPlan reads and checks the three-step plan of the contract.
func BenchmarkPlan(b *testing.B) {
	text, err := os.ReadFile("testdata/plans/contract_three_steps.json")
	if err != nil {
		b.Fatal(err)
	}
	e, err := wire.Decode(text, wire.Options{AllowJSON: true})
	if err != nil {
		b.Fatal(err)
	}
	inCBOR, err := wire.Encode(e, wire.CBOR)
	if err != nil {
		b.Fatal(err)
	}
	codec := codecOf(b, "")
	for name, data := range map[string][]byte{"json": text, "cbor": inCBOR} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := codec.Decode(data, false).(core.PlanSubmitted); !ok {
					b.Fatal("refused")
				}
			}
		})
	}
	b.Run("check alone", func(b *testing.B) {
		cat := fixed(b)
		b.ReportAllocs()
		for b.Loop() {
			if _, faults := bridge.CheckPlan(cat, e.Plan); len(faults) > 0 {
				b.Fatal(faults)
			}
		}
	})
}
