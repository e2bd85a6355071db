package gonogo

import (
	"fmt"

	"deviceagent/cloudlink/planner/eval"
	"deviceagent/taskmanager/core/catalog"
)

// Limits of the lines. Source: docs/gonogo.md.
const (
	leastPrecision = 0.98
	leastRecall    = 0.90
	leastUnchanged = 0.99
	mostFalseTalk  = 0.02 // of conversation that was admitted
	leastRuns      = 2    // that make "again and again"
	fromEvaluation = "evaluation"
	fromStores     = "stores"
	fromRobots     = "robots' own logs"
	fromPlans      = "plans with experiences on and off"
)

// Evidence is all that is judged.
type Evidence struct {
	Provider  string // a capability, a skill, or All
	Catalog   *catalog.Catalog
	Admission eval.AdmissionReport
	Talk      []string // ids of conversation among the rows
	Families  []eval.Interference
	Plans     Rollback
	Stores    []Store
	Plays     []Play
	Runs      int
	Aside     []string
}

// All stands for every provider at once.
const All = "all"

// Rollback is how plans compare with experiences on and off. Compared are plans, Different those whose bytes differ beside the goal or
// that have a goal where they must not.
type Rollback struct {
	Compared  int
	Different []string
	Dispatch  []string // requests that claim to dispatch anything
	Loose     []string // effects of a goal behind which no step stands
	Effects   int      // of all goals
}

// Judge judges. It reads nothing else, and the same evidence gives the same report.
func Judge(e Evidence) Report {
	j := look(e)
	r := Report{Provider: e.Provider, Go: true, Lines: []Line{}, Scenarios: []string{}, Runs: e.Runs, Failed: []string{}, Stores: len(e.Stores), Plans: j.plans, Goals: j.goals.Goals,
		Aside: append([]string{}, e.Aside...)}
	for _, p := range e.Plays {
		r.Scenarios = appendNew(r.Scenarios, p.ID)
		if !p.Passed {
			r.Failed = appendNew(r.Failed, p.ID)
		}
	}
	for _, l := range []Line{
		{ID: "go_admission", Kind: "go", Text: "what asks for a goal is admitted, what only sounds like it is not", Numbers: admission(e)},
		{ID: "go_families", Kind: "go", Text: "the families are decided as before", Numbers: families(e)},
		{ID: "go_no_false_completion", Kind: "go", Text: "no goal is completed without valid evidence", Numbers: []Number{share("terminal_evidence_integrity", j.goals.Figure("terminal_evidence_integrity").IDs, j.goals.Figure("terminal_evidence_integrity").Not, fromStores)}},
		{ID: "go_correlation_and_cancel", Kind: "go", Text: "what proves an effect is of its own task, and a cancel reaches what hangs on it",
			Numbers: []Number{share("effects_proven", j.proofs, j.unproven, fromStores), share("cancels_that_held", j.cancels, j.after, fromStores), share("scenarios_that_held", r.Scenarios, r.Failed, "scenarios")}},
		{ID: "go_budget", Kind: "go", Text: "no budget is exceeded, again and again", Numbers: []Number{share("goals_within_budget", j.budgeted, j.over, fromStores), runs(e)}},
		{ID: "go_rollback", Kind: "go", Text: "without experiences plans are what they were", Numbers: []Number{none("plans_that_differ", e.Plans.Different, e.Plans.Compared, fromPlans)}},
		{ID: "no_go_effect_acts", Kind: "no_go", Text: "an action comes from an effect alone",
			Numbers: []Number{none("dispatches_without_a_step", j.stray, j.dispatches, fromStores), none("requests_that_dispatch", e.Plans.Dispatch, e.Plans.Compared, fromPlans), none("effects_without_a_step", e.Plans.Loose, e.Plans.Effects, fromPlans)}},
		{ID: "no_go_false_admission", Kind: "no_go", Text: "conversation is admitted again and again", Numbers: talk(e)},
		{ID: "no_go_model_per_callback", Kind: "no_go", Text: "a normal callback makes a model call", Numbers: []Number{none("model_calls_without_trouble", j.idle, j.callbacks, fromStores)}},
		{ID: "no_go_stale_repeat", Kind: "no_go", Text: "an action is repeated on what was true once", Numbers: []Number{none("dispatches_beyond_what_was_decided", j.repeated, j.steps, fromStores)}},
		{ID: "no_go_after_cancel", Kind: "no_go", Text: "work goes on after a person has cancelled it", Numbers: []Number{none("dispatches_after_a_cancel", j.after, len(j.cancels), fromStores)}},
		{ID: "no_go_done_without_evidence", Kind: "no_go", Text: "something is said to be done without evidence", Numbers: []Number{none("done_before_its_evidence", j.lies, j.spoken, fromRobots)}},
	} {
		r.close(l)
	}
	return r
}

func admission(e Evidence) []Number {
	p, r := e.Admission.Precision, e.Admission.Recall
	return []Number{atLeast("admission_precision", p.Ratio(), p.Not, leastPrecision, fromEvaluation), atLeast("admission_recall", r.Ratio(), r.Not, leastRecall, fromEvaluation)}
}

func families(e Evidence) (out []Number) {
	var rate eval.Formula
	var owners []string
	rows := 0
	for _, f := range e.Families {
		rate.IDs, rate.Not = append(rate.IDs, f.Rate.IDs...), append(rate.Not, f.Rate.Not...)
		owners = append(owners, f.OwnerChanges...)
		rows += f.Rows
	}
	return []Number{atLeast("non_interference", rate.Ratio(), rate.Not, leastUnchanged, fromEvaluation), none("owner_changes", owners, rows, fromEvaluation)}
}

func talk(e Evidence) []Number {
	var wrong []string
	for _, id := range e.Admission.Precision.Not {
		if contains(e.Talk, id) {
			wrong = append(wrong, id)
		}
	}
	n := none("conversation_admitted", wrong, len(e.Talk), fromEvaluation)
	n.Limit = fmt.Sprintf("at most %g", mostFalseTalk)
	n.holds = len(e.Talk) == 0 || float64(len(wrong))/float64(len(e.Talk)) <= mostFalseTalk
	return []Number{n}
}

func runs(e Evidence) Number {
	n := Number{Name: "runs_of_each_scenario", Numerator: int64(e.Runs), Limit: fmt.Sprintf("at least %d", leastRuns), From: "scenarios", holds: e.Runs >= leastRuns}
	if len(e.Plays) > 0 {
		n.Denominator = 1
	}
	return n
}

// atLeast is a share with a limit.
func atLeast(name string, r eval.Ratio, not []string, least float64, from string) Number {
	return Number{Name: name, Numerator: int64(r.Right), Denominator: int64(r.Of), Limit: fmt.Sprintf("at least %g", least), From: from, IDs: not, holds: r.Value() >= least}
}

// share is a share that has to be whole.
func share(name string, all, not []string, from string) Number {
	return Number{Name: name, Numerator: int64(len(all) - len(not)), Denominator: int64(len(all)), Limit: "all", From: from, IDs: not, holds: len(not) == 0}
}

// none counts what must not be there, among so many.
func none(name string, found []string, among int, from string) Number {
	return Number{Name: name, Numerator: int64(len(found)), Denominator: int64(among), Limit: "none", From: from, IDs: found, holds: len(found) == 0}
}
