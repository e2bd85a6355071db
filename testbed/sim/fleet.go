package sim

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
)

// Options say which homes are played.
type Options struct {
	From, Seeds int       // the first seed, and how many
	Events      int64     // go on until so many events were played; 0: Seeds says where it ends
	Jobs        int       // homes at a time; 0: one a processor
	Story       bool      // tell all that happened, also where nothing broke
	Out         io.Writer // the story of what broke
}

// Summary is what was played and what came of it.
type Summary struct {
	Homes, Events int64
	Broken        int
}

// Run plays homes until all seeds or events are done, or a promise is broken.
func Run(ctx context.Context, o Options) (Summary, error) {
	cat, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		return Summary{}, fmt.Errorf("cannot load the default catalog: %w", err)
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	var (
		sum  Summary
		mu   sync.Mutex
		next = atomic.Int64{}
		wg   sync.WaitGroup
	)
	more := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		n := int(next.Add(1)) - 1
		return o.From + n, ctx.Err() == nil && sum.Broken == 0 && (o.Events > 0 && sum.Events < o.Events || n < o.Seeds)
	}
	for range o.Jobs {
		wg.Go(func() {
			for seed, ok := more(); ok; seed, ok = more() {
				m := newSim(cat, seed)
				broken := m.play()
				mu.Lock()
				sum.Homes++
				sum.Events += int64(m.steps)
				if broken != nil {
					sum.Broken++
				}
				tell(o, m, broken)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return sum, nil
}

// lastLines is how much of the story of a failure is told unasked.
const lastLines = 40

func tell(o Options, m *sim, broken error) {
	switch {
	case o.Story:
		fmt.Fprintln(o.Out, strings.Join(m.story, "\n"))
	case broken != nil:
		fmt.Fprintln(o.Out, strings.Join(m.story[max(0, len(m.story)-lastLines):], "\n"))
	}
	if broken != nil {
		fmt.Fprintf(o.Out, "seed %d, event %d: %v\nrepeat: bin/testbed sim --seed %d\n", m.seed, m.steps, broken, m.seed)
	}
}
