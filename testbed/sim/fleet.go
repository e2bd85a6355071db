package sim

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

// Options say which homes are played.
type Options struct {
	From, Seeds int       // the first seed, and how many
	Events      int64     // go on until so many events under a fault were played; 0: Seeds says where it ends
	Jobs        int       // homes at a time; 0: one a processor
	Story       bool      // tell all that happened, also where nothing broke
	Out         io.Writer // progress, and the story of what broke
	Progress    time.Duration
	Full        bool // the run has to show all that [Summary.Lacks] asks for, and goes on until it does or Most is over
	Most        time.Duration
}

// LoadCatalog reads the default catalog, in which all homes live.
func LoadCatalog() (*catalog.Catalog, error) {
	cat, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		return nil, fmt.Errorf("cannot load the default catalog: %w", err)
	}
	return cat, nil
}

// Run plays homes until all seeds or events are done, a promise is broken, or ctx ends.
func Run(ctx context.Context, o Options) (*Summary, error) {
	cat, err := LoadCatalog()
	if err != nil {
		return nil, err
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	began, worked := time.Now(), processorTime()
	sum := &Summary{Tally: newTally(), Cover: newCoverage(), Jobs: o.Jobs}
	var (
		mu   sync.Mutex
		next int
		said = began
		wg   sync.WaitGroup
	)
	more := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		ok := ctx.Err() == nil && len(sum.Broken) == 0 && o.more(sum, next, time.Since(began))
		next++
		return uint64(o.From + next - 1), ok
	}
	for range o.Jobs {
		wg.Go(func() {
			for seed, ok := more(); ok; seed, ok = more() {
				m := newHome(cat, seed, nil)
				m.keep = o.Story
				broken := m.play()
				if broken == nil && m.pure() && m.whim(comparedEvery, 21) == 0 {
					var sent int
					sent, broken = rollback(cat, seed)
					m.tally.Rollbacks += int64(sent)
				}
				mu.Lock()
				m.tally.Homes = 1
				sum.add(&m.tally)
				sum.Cover.add(m.cover)
				if broken != nil {
					sum.breaks(Failure{seed, m.tally.Events, broken})
				}
				if o.Story {
					fmt.Fprintln(o.Out, strings.Join(m.story, "\n"))
				}
				if o.Progress > 0 && time.Since(said) > o.Progress {
					said = time.Now()
					fmt.Fprintf(o.Out, "%6s  %d homes, %d events, %d of them with a fault in force, %d plans reported\n", time.Since(began).Round(time.Second), sum.Homes, sum.Events, sum.Faulty, sum.Ended())
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	sum.Took, sum.Worked = time.Since(began), processorTime()-worked
	for _, f := range sum.Broken {
		fmt.Fprintln(o.Out, f)
	}
	return sum, nil
}

// processorTime is what the processors have worked for this program: on a machine that others use too it says more than the time taken.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// more says whether another home is played.
func (o *Options) more(s *Summary, played int, took time.Duration) bool {
	switch {
	case o.Most > 0 && took >= o.Most:
		return false
	case o.Events == 0:
		return played < o.Seeds
	case s.Faulty < o.Events:
		return true
	}
	return o.Full && len(s.Lacks()) > 0
}

// breaks counts a broken promise by its kind.
func (s *Summary) breaks(f Failure) {
	s.Broken = append(s.Broken, f)
	switch kindOf(f.What) {
	case "false completion":
		s.False++
	case "lost record":
		s.Lost++
	case "stuck step":
		s.Stuck++
	case "double operation", "overlap":
		s.Double++
	case "dispatch after cancel":
		s.AfterCancel++
	case "false goal":
		s.FalseGoals++
	case "wrong end", "safe end":
		s.WrongEnds++
	case "budget":
		s.Overruns++
	case "late decision":
		s.LateDecisions++
	case "endless goal":
		s.Endless++
	default:
		s.Other++
	}
}
