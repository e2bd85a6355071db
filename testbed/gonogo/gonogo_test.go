package gonogo_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/eval"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/gonogo"
	"deviceagent/testbed/home"
	"deviceagent/testbed/replay"
	"deviceagent/testbed/scenario"
)

// run is what a scenario has left behind.
type run struct {
	play  gonogo.Play
	store string
}

// played plays each scenario once for all tests: the stores are read anew by each.
func played(t *testing.T) (runs []run, cat *catalog.Catalog) {
	t.Helper()
	r, err := scenario.NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	store := ""
	r.Keep = func(_ *scenario.Scenario, from string) error {
		store = filepath.Join(t.TempDir(), "agent.db")
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(from + suffix)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err := errors.Join(err, os.WriteFile(store+suffix, b, 0o600)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, id := range []string{"goal", "S18", "S06-goal-complete", "S07-yes"} {
		s, err := scenario.Load("../scenarios/" + id + ".scn")
		if err != nil {
			t.Fatal(err)
		}
		res := r.Run(t, s)
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		runs = append(runs, run{gonogo.Play{ID: s.ID, Passed: res.Passed(), Log: res.Seen.RobotLog()}, store})
	}
	return runs, r.Catalog()
}

// shown is evidence that lets a provider through: stores of real runs, and an evaluation as it should be.
func shown(t *testing.T, runs []run, cat *catalog.Catalog) gonogo.Evidence {
	t.Helper()
	e := gonogo.Evidence{Provider: "movement", Catalog: cat, Runs: 2, Talk: []string{"talk-1", "talk-2"},
		Families:  []eval.Interference{{Rows: 100, Rate: eval.Formula{IDs: []string{"row-1", "row-2"}}}},
		Admission: eval.AdmissionReport{Precision: eval.Formula{IDs: []string{"p-1", "p-2"}}, Recall: eval.Formula{IDs: []string{"p-1", "p-2"}}},
		Plans:     gonogo.Rollback{Compared: 10, Effects: 10}}
	for _, r := range runs {
		all, _, err := replay.Workflows(t.Context(), r.store)
		if err != nil {
			t.Fatal(err)
		}
		e.Plays = append(e.Plays, r.play)
		e.Stores = append(e.Stores, gonogo.Store{Name: r.play.ID, Workflows: all})
	}
	return e
}

func workflow(t *testing.T, e gonogo.Evidence, store string) *core.Workflow {
	t.Helper()
	for _, s := range e.Stores {
		if s.Name == store {
			return s.Workflows[len(s.Workflows)-1]
		}
	}
	t.Fatalf("no store %s", store)
	return nil
}

func verdicts(r gonogo.Report) map[string]gonogo.Verdict {
	out := map[string]gonogo.Verdict{}
	for _, l := range r.Lines {
		out[l.ID] = l.Verdict
	}
	return out
}

// TestEachLineIsNoticed: what lets a provider through does so by all twelve lines, and each line notices what it is about, alone.
func TestEachLineIsNoticed(t *testing.T) {
	runs, cat := played(t)
	rep := gonogo.Judge(shown(t, runs, cat))
	if len(rep.Lines) != 12 || !rep.Go || rep.NoGo {
		var text bytes.Buffer
		rep.Print(&text)
		t.Fatalf("%d lines, no Go:\n%s", len(rep.Lines), text.String())
	}
	for _, tc := range []struct {
		name, line string
		verdict    gonogo.Verdict
		also       string // a line that is about the same thing
		do         func(e *gonogo.Evidence)
	}{
		{"too much is admitted", "go_admission", gonogo.Missed, "", func(e *gonogo.Evidence) { e.Admission.Precision.Not = []string{"p-1"} }},
		{"too little is admitted", "go_admission", gonogo.Missed, "", func(e *gonogo.Evidence) { e.Admission.Recall.Not = []string{"p-1"} }},
		{"nothing was admitted", "go_admission", gonogo.NotShown, "", func(e *gonogo.Evidence) { e.Admission.Precision = eval.Formula{} }},
		{"an owner changed", "go_families", gonogo.Missed, "", func(e *gonogo.Evidence) { e.Families[0].OwnerChanges = []string{"row-1"} }},
		{"decisions changed", "go_families", gonogo.Missed, "", func(e *gonogo.Evidence) { e.Families[0].Rate.Not = []string{"row-1"} }},
		{"a goal without evidence", "go_no_false_completion", gonogo.Missed, "go_correlation_and_cancel", func(e *gonogo.Evidence) {
			wf := workflow(t, *e, "goal")
			for i := range wf.Steps {
				for k := range wf.Steps[i].Effects {
					wf.Steps[i].Effects[k].Evidence = nil
				}
			}
		}},
		{"no goal at all", "go_no_false_completion", gonogo.NotShown, "go_budget", func(e *gonogo.Evidence) {
			for _, s := range e.Stores {
				for _, wf := range s.Workflows {
					wf.Plan.Goal = nil
				}
			}
		}},
		{"nobody cancelled anything", "go_correlation_and_cancel", gonogo.NotShown, "no_go_after_cancel", func(e *gonogo.Evidence) { workflow(t, *e, "S18").Cancel = core.ReasonNone }},
		{"a scenario does not hold", "go_correlation_and_cancel", gonogo.Missed, "", func(e *gonogo.Evidence) { e.Plays[0].Passed = false }},
		{"more questions than there were", "go_budget", gonogo.Missed, "", func(e *gonogo.Evidence) {
			wf := workflow(t, *e, "goal")
			wf.Escalations = make([]core.Escalation, 9)
			for i := range wf.Escalations {
				wf.Escalations[i].Reason = "executor_busy"
			}
		}},
		{"played once", "go_budget", gonogo.Missed, "", func(e *gonogo.Evidence) { e.Runs = 1 }},
		{"plans differ", "go_rollback", gonogo.Missed, "", func(e *gonogo.Evidence) { e.Plans.Different = []string{"row-1"} }},
		{"a dispatch of no step", "no_go_effect_acts", gonogo.Found, "", func(e *gonogo.Evidence) {
			wf := workflow(t, *e, "goal")
			wf.Attempts = append(wf.Attempts, core.Attempt{Task: "t-9", Step: 77, State: core.Ended})
		}},
		{"a request that dispatches", "no_go_effect_acts", gonogo.Found, "", func(e *gonogo.Evidence) { e.Plans.Dispatch = []string{"row-1"} }},
		{"an effect of no step", "no_go_effect_acts", gonogo.Found, "", func(e *gonogo.Evidence) { e.Plans.Loose = []string{"row-1"} }},
		{"talk is admitted", "no_go_false_admission", gonogo.Found, "go_admission", func(e *gonogo.Evidence) {
			e.Admission.Precision.IDs = append(e.Admission.Precision.IDs, "talk-1")
			e.Admission.Precision.Not = []string{"talk-1"}
		}},
		{"a model call on a callback", "no_go_model_per_callback", gonogo.Found, "", func(e *gonogo.Evidence) {
			wf := workflow(t, *e, "goal")
			wf.Trace = append(wf.Trace, core.TraceEntry{Stage: core.StageEvidence, Usage: &core.Usage{}})
		}},
		{"done again without a word", "no_go_stale_repeat", gonogo.Found, "", func(e *gonogo.Evidence) {
			wf := workflow(t, *e, "goal")
			again := wf.Attempts[0]
			again.Task = "t-9"
			wf.Attempts = append(wf.Attempts, again)
		}},
		{"it goes on after the cancel", "no_go_after_cancel", gonogo.Found, "go_correlation_and_cancel", func(e *gonogo.Evidence) {
			wf := workflow(t, *e, "S18")
			wf.Attempts = append(wf.Attempts, core.Attempt{Task: "t-9", Step: 1, State: core.Ended, At: wf.Ended + 1})
		}},
		{"done, it says, and nothing has ended", "no_go_done_without_evidence", gonogo.Found, "", func(e *gonogo.Evidence) {
			e.Plays[0].Log = append([]home.Entry{{Kind: home.KindSpoken, Text: "거실에 도착했어요."}}, e.Plays[0].Log...)
		}},
		{"nothing was said", "no_go_done_without_evidence", gonogo.NotShown, "", func(e *gonogo.Evidence) {
			for i := range e.Plays {
				e.Plays[i].Log = nil
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := shown(t, runs, cat)
			tc.do(&e)
			rep := gonogo.Judge(e)
			for id, v := range verdicts(rep) {
				fine := v == gonogo.Met || v == gonogo.Clear
				switch {
				case id == tc.line && v != tc.verdict:
					t.Errorf("%s is %s, want %s", id, v, tc.verdict)
				case id != tc.line && id != tc.also && !fine:
					t.Errorf("%s is %s, too", id, v)
				}
			}
			if rep.Go || rep.NoGo != (tc.verdict == gonogo.Found || strings.HasPrefix(tc.also, "no_go") && verdicts(rep)[tc.also] == gonogo.Found) {
				t.Errorf("go %v, no go %v", rep.Go, rep.NoGo)
			}
		})
	}
}

// TestOnlyItsOwnPlansCount: a provider that stands in no plan has shown nothing.
func TestOnlyItsOwnPlansCount(t *testing.T) {
	runs, cat := played(t)
	e := shown(t, runs, cat)
	e.Provider = "battery"
	rep := gonogo.Judge(e)
	if rep.Plans != 0 || rep.Go || rep.NoGo || verdicts(rep)["go_no_false_completion"] != gonogo.NotShown {
		t.Errorf("%d plans, go %v, no go %v, %v", rep.Plans, rep.Go, rep.NoGo, verdicts(rep))
	}
	e.Provider = gonogo.All
	if rep := gonogo.Judge(e); !rep.Go {
		t.Errorf("of all providers together: %v", verdicts(rep))
	}
}
