package gonogo

import (
	"fmt"
	"regexp"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/home"
	"deviceagent/testbed/metrics"
)

// Store is what one device has stored.
type Store struct {
	Name      string
	Workflows []*core.Workflow
}

// Play is one run of a scenario, with what its robot has logged.
type Play struct {
	ID     string
	Passed bool
	Log    []home.Entry
}

// looked is what the stores and logs show of a provider.
type looked struct {
	cat   *catalog.Catalog
	of    string
	tally metrics.Tally
	goals metrics.Report

	plans, dispatches, steps, callbacks, spoken int

	proofs, unproven []string
	cancels, after   []string // workflows that a person has cancelled; of these what was dispatched after it
	budgeted, over   []string
	stray, idle      []string
	repeated, lies   []string
}

func look(e Evidence) *looked {
	j := &looked{cat: e.Catalog, of: e.Provider, tally: metrics.Tally{Catalog: e.Catalog}}
	for _, s := range e.Stores {
		var mine []*core.Workflow
		for _, wf := range s.Workflows {
			if j.concerns(wf) {
				mine = append(mine, wf)
			}
		}
		j.tally.Store(s.Name, mine, nil)
		for _, wf := range mine {
			j.workflow(s.Name+" "+string(wf.Plan.Workflow), wf)
		}
	}
	j.goals = j.tally.Report()
	for _, p := range e.Plays {
		j.heard(p)
	}
	return j
}

// concerns says whether the provider has a step in a plan.
func (j *looked) concerns(wf *core.Workflow) bool {
	return slices.ContainsFunc(wf.Plan.Steps, j.mine)
}

func (j *looked) mine(s core.StepSpec) bool {
	if j.of == All {
		return true
	}
	if s.Target == core.OnCloud {
		return string(s.Skill) == j.of
	}
	return j.cat.Operations[s.Method].Capability == j.of
}

func (j *looked) workflow(id string, wf *core.Workflow) {
	j.plans++
	j.attempts(id, wf)
	j.evidence(id, wf)
	j.cancelled(id, wf)
	if wf.Plan.Goal != nil {
		j.budget(id, wf)
	}
}

// attempts: each dispatch is of a step of the plan, and no step is dispatched more often than was declared or decided.
func (j *looked) attempts(id string, wf *core.Workflow) {
	tries := map[int]int64{}
	for _, a := range wf.Attempts {
		j.dispatches++
		if a.Step < 0 || a.Step >= len(wf.Plan.Steps) {
			j.stray = append(j.stray, fmt.Sprintf("%s task %s", id, a.Task))
			continue
		}
		if !a.NotRun {
			tries[a.Step]++
		}
	}
	for i := range wf.Steps {
		st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
		if !j.mine(*spec) {
			continue
		}
		j.steps++
		allowed := 1 + st.Tries + decided(wf, st.ID) + pausedAndGoneOn(wf, i)
		if tries[i] > allowed {
			j.repeated = append(j.repeated, fmt.Sprintf("%s.%s: %d dispatches, %d were declared or decided", id, st.ID, tries[i], allowed))
		}
	}
}

// decided counts the decisions that let a step be tried once more.
func decided(wf *core.Workflow, step core.StepID) (n int64) {
	for _, e := range wf.Escalations {
		if e.Step == step && e.State != core.EscOpen && e.Action == core.ActRetry {
			n++
		}
	}
	for _, a := range wf.Asks {
		if a.Step == step {
			n++ // a person who is asked may say: again
		}
	}
	return n
}

// pausedAndGoneOn counts dispatches that were ended by a pause, or taken away by something that comes first: what is done again after it
// is the same work.
func pausedAndGoneOn(wf *core.Workflow, step int) (n int64) {
	for _, a := range wf.Attempts {
		if a.Step == step && a.State == core.Ended && a.StopCalls > 0 {
			n++
		}
	}
	return n
}

// evidence: what the device calls observed has rows that make it.
func (j *looked) evidence(id string, wf *core.Workflow) {
	for i := range wf.Steps {
		if !j.mine(wf.Plan.Steps[i]) {
			continue
		}
		for _, e := range wf.Steps[i].Effects {
			j.callbacks += len(e.Evidence)
			if e.State != core.EffectObserved || e.ID == "" {
				continue
			}
			name := fmt.Sprintf("%s.%s.%s", id, wf.Steps[i].ID, e.ID)
			j.proofs = append(j.proofs, name)
			if j.tally.Unproven(wf, i, string(e.ID)) != "" {
				j.unproven = append(j.unproven, name)
			}
		}
	}
	for _, t := range wf.Trace {
		if t.Usage != nil && t.Stage != core.StageDecide {
			j.idle = append(j.idle, fmt.Sprintf("%s seq %d", id, t.Seq))
		}
	}
	for _, e := range wf.Escalations {
		if e.Reason == core.ReasonNone {
			j.idle = append(j.idle, fmt.Sprintf("%s question %s", id, e.ID))
		}
	}
}

// cancelled: after a person has cancelled, nothing of the plan is dispatched. The moment is that at which the first waiting step ended,
// or the first running one was told to stop.
func (j *looked) cancelled(id string, wf *core.Workflow) {
	at, by := core.Instant(0), false
	earliest := func(t core.Instant) {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	if wf.Cancel == core.ReasonNone || core.InfoOf(wf.Cancel).Class != core.User {
		return // one step alone that was cancelled leaves the rest alone
	}
	for i := range wf.Steps {
		st := &wf.Steps[i]
		if st.State != core.Cancelled {
			continue
		}
		by = true
		if st.Attempts == 0 {
			earliest(st.Ended)
		}
		for _, a := range wf.Attempts {
			if a.Step == i && a.Task == st.Task {
				earliest(a.StopAt)
			}
		}
	}
	if !by {
		return
	}
	j.cancels = append(j.cancels, id)
	for _, a := range wf.Attempts {
		if at != 0 && a.At > at {
			j.after = append(j.after, id)
			return
		}
	}
}

// budget: what was spent is within what the goal has.
func (j *looked) budget(id string, wf *core.Workflow) {
	b := wf.Plan.Goal.Budget
	if b == nil {
		return
	}
	var replans, tries int64
	for _, e := range wf.Escalations {
		if e.State == core.EscDecided && slices.Contains([]core.Action{core.ActReplan, core.ActSubstitute, core.ActReturn}, e.Action) {
			replans++
		}
	}
	for i := range wf.Steps {
		tries += wf.Steps[i].Tries
	}
	j.budgeted = append(j.budgeted, id)
	if int64(len(wf.Escalations)) > b.Decisions || replans > b.Replans || tries > b.Retries {
		j.over = append(j.over, fmt.Sprintf("%s: %d decisions of %d, %d replans of %d, %d retries of %d", id, len(wf.Escalations), b.Decisions, replans, b.Replans, tries, b.Retries))
	}
}

// done are words that claim an end. "못 했어요" and the like claim none.
var (
	done    = regexp.MustCompile(`(끝났|완료됐|완료했|마쳤|다 했|다 됐|도착했)(어요|습니다|네요)`)
	notDone = regexp.MustCompile(`(못|안|지 않|실패|중단|끝나면)`)
)

// heard: words that claim an end come after one that the robot itself has told.
func (j *looked) heard(p Play) {
	ended := false
	for _, e := range p.Log {
		switch {
		case e.Kind == home.KindEvent && slices.Contains(j.endings(), catalog.EventName(e.Event)):
			ended = true
		case e.Kind == home.KindSpoken && e.Text != "":
			j.spoken++
			if !ended && done.MatchString(e.Text) && !notDone.MatchString(e.Text) {
				j.lies = append(j.lies, fmt.Sprintf("%s: %s", p.ID, e.Text))
			}
		}
	}
}

// endings are the events that prove an effect.
func (j *looked) endings() (out []catalog.EventName) {
	for _, e := range j.cat.Effects {
		for _, l := range e.Terminal.Leaves() {
			if l.Event != "" && l.Event != "speech.finished" && l.Event != "content.started" {
				out = append(out, l.Event)
			}
		}
	}
	return out
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

func appendNew(list []string, s string) []string {
	if contains(list, s) {
		return list
	}
	return append(list, s)
}
