package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"deviceagent/taskmanager/core"
)

// Tally counts what was played.
type Tally struct {
	Homes        int64
	Events       int64           // handed to the agent, timers among them
	Faulty       int64           // of them, with at least one fault in force in their home
	Faults       map[Fault]int64 // by kind
	Plans        int64           // handed in
	Ends         map[core.WorkflowState]int64
	Schedules    int64 // that were accepted, and their revisions
	Occurrences  int64 // that began
	Steps        int64 // that ended
	Dispatches   int64
	Questions    int64 // to the cloud
	Decisions    int64 // that were taken
	Whys         int64 // answers to "why" that were held against the judge's own cause
	Acknowledged int64 // records that were looked for after a cut
	Bare         int64 // the longest time in ms in which nothing could move a step

	Goals     int64 // of plans and occurrences that were accepted
	GoalEnds  map[core.GoalStatus]int64
	GoalTiers map[core.Tier]int64
	Fallbacks map[core.Reason]int64 // why a goal was ended safely
	Refusals  map[core.Reason]int64 // of experiences that were bad
	Rollbacks int64                 // dispatches that were compared with those of the same home without experiences
	Judged    int64                 // goals that were completed, of which the journals were read
	Integer   int64                 // of them those whose evidence was all there

	False, Lost, Double, AfterCancel, Stuck, Other          int64 // broken promises
	FalseGoals, WrongEnds, Overruns, LateDecisions, Endless int64
}

func newTally() Tally {
	return Tally{Faults: map[Fault]int64{}, Ends: map[core.WorkflowState]int64{}, GoalEnds: map[core.GoalStatus]int64{}, GoalTiers: map[core.Tier]int64{}, Fallbacks: map[core.Reason]int64{}, Refusals: map[core.Reason]int64{}}
}

func (t *Tally) count(m *home, n int) {
	t.Events += int64(n)
	if m.troubled() {
		t.Faulty += int64(n)
	}
}

func (t *Tally) add(o *Tally) {
	for _, p := range []struct{ to, from *int64 }{{&t.Homes, &o.Homes}, {&t.Events, &o.Events}, {&t.Faulty, &o.Faulty}, {&t.Plans, &o.Plans}, {&t.Schedules, &o.Schedules}, {&t.Occurrences, &o.Occurrences}, {&t.Steps, &o.Steps},
		{&t.Dispatches, &o.Dispatches}, {&t.Questions, &o.Questions}, {&t.Decisions, &o.Decisions}, {&t.Whys, &o.Whys}, {&t.Acknowledged, &o.Acknowledged}, {&t.False, &o.False}, {&t.Lost, &o.Lost}, {&t.Double, &o.Double},
		{&t.AfterCancel, &o.AfterCancel}, {&t.Stuck, &o.Stuck}, {&t.Other, &o.Other}} {
		*p.to += *p.from
	}
	for _, p := range []struct{ to, from *int64 }{{&t.Goals, &o.Goals}, {&t.Rollbacks, &o.Rollbacks}, {&t.Judged, &o.Judged}, {&t.Integer, &o.Integer}, {&t.FalseGoals, &o.FalseGoals},
		{&t.WrongEnds, &o.WrongEnds}, {&t.Overruns, &o.Overruns}, {&t.LateDecisions, &o.LateDecisions}, {&t.Endless, &o.Endless}} {
		*p.to += *p.from
	}
	addTo(t.GoalEnds, o.GoalEnds)
	addTo(t.GoalTiers, o.GoalTiers)
	addTo(t.Fallbacks, o.Fallbacks)
	addTo(t.Refusals, o.Refusals)
	t.Bare = max(t.Bare, o.Bare)
	addTo(t.Faults, o.Faults)
	addTo(t.Ends, o.Ends)
}

func addTo[K comparable](to, from map[K]int64) {
	for k, n := range from {
		to[k] += n
	}
}

// Ended counts the plans that were reported.
func (t *Tally) Ended() (n int64) {
	for _, k := range t.Ends {
		n += k
	}
	return n
}

// Summary is what was played and what came of it.
type Summary struct {
	Tally
	Broken []Failure
	Took   time.Duration
	Worked time.Duration // of all processors
	Jobs   int
	Cover  *coverage
}

// Failure is a promise that is broken.
type Failure struct {
	Seed  uint64
	Event int64
	What  error
}

func (f Failure) String() string {
	return fmt.Sprintf("seed %d, event %d: %v\nrepeat: bin/testbed sim --seed %d\nmake it smaller: bin/testbed sim --seed %d --shrink", f.Seed, f.Event, f.What, f.Seed, f.Seed)
}

// goalEnds and fallbacks are the ways in which a goal ends, and why one is ended safely.
var (
	goalEnds  = []core.GoalStatus{core.GoalCompleted, core.GoalFailed, core.GoalCancelled, core.GoalSafeEnd}
	fallbacks = []core.Reason{core.ReasonDeadlineExceeded, core.ReasonNoDecision, core.ReasonBudgetExhausted}
)

var tierList = []core.Tier{core.TierShadow, core.TierContent, core.TierRestricted, core.TierFull}

func sum[K comparable](of map[K]int64) (n int64) {
	for _, v := range of {
		n += v
	}
	return n
}

// What a full run has to show. Source: the purpose of the simulation, docs/tests.md.
const (
	leastPlans     = 20_000
	leastComplete  = 30 // of a hundred
	leastOfAFault  = 1_000
	leastOfAGoal   = 200    // of each end, each fallback and each tier but content_only
	longestUnmoved = 60_000 // ms
)

// Lacks names what a full run has not shown yet.
func (s *Summary) Lacks() (out []string) {
	lacks := func(f string, args ...any) { out = append(out, fmt.Sprintf(f, args...)) }
	if s.Plans < leastPlans {
		lacks("%d plans, at least %d are wanted", s.Plans, leastPlans)
	}
	if s.Ends[core.WfCompleted]*100 < s.Plans*leastComplete {
		lacks("%d of %d plans completed, at least %d %% are wanted", s.Ends[core.WfCompleted], s.Plans, leastComplete)
	}
	for _, f := range Faults {
		if s.Faults[f] < leastOfAFault {
			lacks("%s happened %d times, at least %d are wanted", f, s.Faults[f], leastOfAFault)
		}
	}
	for _, x := range slices.Concat(keysOf(goalEnds, s.GoalEnds), keysOf(fallbacks, s.Fallbacks), keysOf([]core.Tier{core.TierShadow, core.TierRestricted, core.TierFull}, s.GoalTiers)) {
		if x.n < leastOfAGoal {
			lacks("%d goals: %s, at least %d are wanted", x.n, x.what, leastOfAGoal)
		}
	}
	if s.Integer != s.Judged || s.Judged < leastOfAGoal {
		lacks("of %d completed goals %d had all their evidence; all, and at least %d, are wanted", s.Judged, s.Integer, leastOfAGoal)
	}
	if s.Rollbacks < leastOfAGoal {
		lacks("%d dispatches were compared with those of a home without experiences, at least %d are wanted", s.Rollbacks, leastOfAGoal)
	}
	if s.Bare > longestUnmoved {
		lacks("for %d ms nothing could move a step, at most %d are allowed", s.Bare, longestUnmoved)
	}
	_, _, cells := s.Cover.Reached()
	_, _, moves := s.Cover.Made()
	for _, c := range append(cells, moves...) {
		lacks("never: %s", c)
	}
	for _, c := range s.Cover.Surprises() {
		lacks("%s was seen, and the lists of coverage.go say that it cannot be", c)
	}
	return out
}

type counted struct {
	what string
	n    int64
}

func keysOf[K ~string](keys []K, in map[K]int64) (out []counted) {
	for _, k := range keys {
		out = append(out, counted{string(k), in[k]})
	}
	return out
}

// Print writes the table of a run.
func (s *Summary) Print(out io.Writer) {
	row := func(name string, n any) { fmt.Fprintf(out, "%-46s %12v\n", name, n) }
	row("homes", s.Homes)
	row("events", s.Events)
	row("events with a fault in force", s.Faulty)
	fmt.Fprintln(out, "faults by kind")
	for _, f := range Faults {
		fmt.Fprintf(out, "  %-44s %12d\n", f, s.Faults[f])
	}
	row("plans", s.Plans)
	for _, st := range []core.WorkflowState{core.WfCompleted, core.WfPartial, core.WfFailed, core.WfCancelled, core.WfExpired} {
		fmt.Fprintf(out, "  %-44s %12d\n", st, s.Ends[st])
	}
	row("goals", s.Goals)
	for _, st := range goalEnds {
		fmt.Fprintf(out, "  %-44s %12d\n", st, s.GoalEnds[st])
	}
	for _, why := range fallbacks {
		fmt.Fprintf(out, "  %-44s %12d\n", "ended safely: "+why, s.Fallbacks[why])
	}
	for _, tier := range tierList {
		fmt.Fprintf(out, "  %-44s %12d\n", "tier "+tier, s.GoalTiers[tier])
	}
	row("bad experiences refused", sum(s.Refusals))
	for _, why := range slices.Sorted(maps.Keys(s.Refusals)) {
		fmt.Fprintf(out, "  %-44s %12d\n", why, s.Refusals[why])
	}
	row("dispatches compared with none's experience", s.Rollbacks)
	row("schedules accepted", s.Schedules)
	row("occurrences", s.Occurrences)
	row("steps that ended", s.Steps)
	row("dispatches", s.Dispatches)
	row("questions to the cloud", s.Questions)
	row("decisions taken", s.Decisions)
	row("answers to why held against the judge's cause", s.Whys)
	row("acknowledged records looked for after a cut", s.Acknowledged)
	row("false completions", s.False)
	row("false goal completions", s.FalseGoals)
	row("goals with a wrong end", s.WrongEnds)
	row("budget overruns", s.Overruns)
	row("decisions accepted after close", s.LateDecisions)
	row("goals without end", s.Endless)
	row("terminal evidence integrity", fmt.Sprintf("%d / %d", s.Integer, s.Judged))
	row("lost acknowledged records", s.Lost)
	row("double physical operations", s.Double)
	row("dispatches after cancel", s.AfterCancel)
	row("stuck steps", s.Stuck)
	row("other broken promises", s.Other)
	row("longest virtual time without a mover (ms)", s.Bare)
	hit, all, _ := s.Cover.Reached()
	row("cells hit / reachable", fmt.Sprintf("%d / %d", hit, all))
	moves, allMoves, _ := s.Cover.Made()
	row("moves made / in the table", fmt.Sprintf("%d / %d", moves, allMoves))
	row("events a second of processor time", fmt.Sprintf("%.0f", float64(s.Events)/max(0.001, s.Worked.Seconds())))
	row("took", fmt.Sprintf("%s on %d", s.Took.Round(time.Second), s.Jobs))
}
