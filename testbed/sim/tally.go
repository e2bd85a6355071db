package sim

import (
	"fmt"
	"io"
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

	False, Lost, Double, AfterCancel, Stuck, Other int64 // broken promises
}

func newTally() Tally { return Tally{Faults: map[Fault]int64{}, Ends: map[core.WorkflowState]int64{}} }

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
	t.Bare = max(t.Bare, o.Bare)
	for f, n := range o.Faults {
		t.Faults[f] += n
	}
	for s, n := range o.Ends {
		t.Ends[s] += n
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

// What a full run has to show. Source: the purpose of the simulation, docs/tests.md.
const (
	leastPlans     = 20_000
	leastComplete  = 30 // of a hundred
	leastOfAFault  = 1_000
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
	row("schedules accepted", s.Schedules)
	row("occurrences", s.Occurrences)
	row("steps that ended", s.Steps)
	row("dispatches", s.Dispatches)
	row("questions to the cloud", s.Questions)
	row("decisions taken", s.Decisions)
	row("answers to why held against the judge's cause", s.Whys)
	row("acknowledged records looked for after a cut", s.Acknowledged)
	row("false completions", s.False)
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
