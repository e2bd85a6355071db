package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/store"
	"deviceagent/testbed/metrics"
	"deviceagent/testbed/replay"
	"deviceagent/testbed/scenario"
)

// played runs scenarios and gives a copy of the store that each left behind.
func played(t *testing.T, list ...*scenario.Scenario) (stores []string, cat *catalog.Catalog) {
	t.Helper()
	r, err := scenario.NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	r.Keep = func(_ *scenario.Scenario, from string) error {
		to := filepath.Join(t.TempDir(), "agent.db")
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(from + suffix)
			if err != nil {
				continue
			}
			if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
				return err
			}
		}
		stores = append(stores, to)
		return nil
	}
	for _, s := range list {
		if res := r.Run(t, s); res.Err != nil {
			t.Fatal(res.Err)
		}
	}
	return stores, r.Catalog()
}

func load(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load("../scenarios/" + name + ".scn")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func measured(t *testing.T, cat *catalog.Catalog, stores ...string) metrics.Report {
	t.Helper()
	tally := metrics.Tally{Catalog: cat}
	for _, path := range stores {
		if err := tally.Read(t.Context(), filepath.Base(filepath.Dir(path)), path); err != nil {
			t.Fatal(err)
		}
	}
	return tally.Report()
}

func want(t *testing.T, rep metrics.Report, name string, numerator, denominator int64) {
	t.Helper()
	f := rep.Figure(name)
	if f.Numerator != numerator || f.Denominator != denominator || (f.Value == nil) != (denominator == 0) || int64(len(f.IDs)) != denominator {
		t.Errorf("%s is %d/%d %v of %v, want %d/%d", name, f.Numerator, f.Denominator, f.Value, f.IDs, numerator, denominator)
	}
}

// Two goals that end as they should, and one that is ended safely; nothing at all is n/a, and not 1.
func TestTheFiguresOfScenarios(t *testing.T) {
	stores, cat := played(t, load(t, "goal"), load(t, "goal-shadow"), load(t, "goal-ends"))
	rep := measured(t, cat, stores...)
	var text bytes.Buffer
	rep.Print(&text)
	t.Log("\n" + text.String())
	want(t, rep, "terminal_evidence_integrity", 2, 2)
	want(t, rep, "goal_completion_rate", 2, 3)
	want(t, rep, "replan_utility", 0, 0)
	if f := rep.Figure("decisions_per_goal"); f.Numerator != 1 || f.Denominator != 3 {
		t.Errorf("decisions %+v", f)
	}
	if !strings.Contains(text.String(), "replan_utility                 n/a  (0/0)") || !strings.Contains(text.String(), "terminal_evidence_integrity   1.00  (2/2)") {
		t.Error("the text does not say so")
	}
	if b, err := json.Marshal(rep); err != nil || !strings.Contains(string(b), `"name":"replan_utility","numerator":0,"denominator":0,"value":null`) {
		t.Errorf("%s %v", b, err)
	}
}

// A goal that a store calls completed counts only if the rows of its evidence say so: the judge asks the catalog, not the core.
func TestASpoiltStoreIsNotBelieved(t *testing.T) {
	stores, cat := played(t, load(t, "goal"))
	all, _, err := replay.Workflows(t.Context(), stores[0])
	if err != nil || len(all) != 1 {
		t.Fatalf("%d workflows, %v", len(all), err)
	}
	for name, spoil := range map[string]func(*core.Workflow){
		"no evidence at all":      func(wf *core.Workflow) { evidence(wf, func([]core.Evidence) []core.Evidence { return nil }) },
		"an echo of the command":  func(wf *core.Workflow) { each(wf, func(e *core.Evidence) { e.Class = catalog.Echo }) },
		"older than the dispatch": func(wf *core.Workflow) { each(wf, func(e *core.Evidence) { e.Seq = 1 }) },
		"the opposite":            func(wf *core.Workflow) { each(wf, func(e *core.Evidence) { e.Against = true }) },
		"another event":           func(wf *core.Workflow) { each(wf, func(e *core.Evidence) { e.Event = "movement.failed" }) },
		"another room": func(wf *core.Workflow) {
			each(wf, func(e *core.Evidence) { e.Value = map[string]any{"room_id": "study"} })
		},
		"lost again": func(wf *core.Workflow) {
			evidence(wf, func(l []core.Evidence) []core.Evidence { return l })
			wf.Steps[len(wf.Steps)-1].Effects[0].State = core.EffectContradicted
		},
		"a part of what is asked for": func(wf *core.Workflow) { evidence(wf, func(l []core.Evidence) []core.Evidence { return l[:1] }) },
	} {
		t.Run(name, func(t *testing.T) {
			spoilt := filepath.Join(t.TempDir(), "agent.db")
			copied(t, stores[0], spoilt)
			wf := *all[0]
			wf.Steps = append([]core.Step{}, wf.Steps...)
			spoil(&wf)
			rewrite(t, spoilt, &wf)
			rep := measured(t, cat, spoilt)
			want(t, rep, "terminal_evidence_integrity", 0, 1)
			want(t, rep, "goal_completion_rate", 0, 1)
			if len(rep.Invalid) != 1 || !strings.Contains(rep.Invalid[0], "step_3.target_location_reached") {
				t.Errorf("invalid %v", rep.Invalid)
			}
			want(t, measured(t, cat, stores[0], spoilt), "terminal_evidence_integrity", 1, 2)
		})
	}
}

// evidence changes the proof of the last step, which is an arrival and a reading of the room.
func evidence(wf *core.Workflow, change func([]core.Evidence) []core.Evidence) {
	st := &wf.Steps[len(wf.Steps)-1]
	st.Effects = append([]core.Effect{}, st.Effects...)
	st.Effects[0].Evidence = change(append([]core.Evidence{}, st.Effects[0].Evidence...))
}

func each(wf *core.Workflow, change func(*core.Evidence)) {
	evidence(wf, func(list []core.Evidence) []core.Evidence {
		for i := range list {
			change(&list[i])
		}
		return list
	})
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		if b, err := os.ReadFile(from + suffix); err == nil {
			if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// rewrite puts the rows of a finished workflow over those of a store.
func rewrite(t *testing.T, path string, wf *core.Workflow) {
	t.Helper()
	s, err := store.Open(context.Background(), path, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Commit(t.Context(), taskmanager.Batch{Records: taskmanager.AllRows(wf)}); err != nil {
		t.Fatal(err)
	}
}
