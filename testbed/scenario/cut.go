package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/bus"
	"deviceagent/testbed/home"
)

// Cut is one place at which the power goes: right before or right after a commit, with the rows of the journal that it holds.
type Cut struct {
	Commit   int // the n-th since the house was quiet
	After    bool
	From, To int64  // sequences of its first and last row
	Kinds    string // of its events

	refused bool // by the disk
}

func (c Cut) String() string {
	side := "before"
	if c.After {
		side = "after"
	}
	rows := fmt.Sprintf("row %d", c.From)
	if c.To != c.From {
		rows = fmt.Sprintf("rows %d-%d", c.From, c.To)
	}
	return fmt.Sprintf("%-6s commit %2d, %s (%s)", side, c.Commit, rows, c.Kinds)
}

// CutResult is what became of a scenario whose device lost its power once.
type CutResult struct {
	Cut
	Outcome string   // how work ended; "as without the cut" where it is the same
	Same    bool     // it is
	Again   []string // operations that were sent once more, as the catalog allows
	Faults  []string // what must not be: something carried out twice, work that has no end, two results, a journal that replays otherwise
}

// offTime is how long the device is off.
const offTime = 2 * time.Second

// Cuts plays a scenario without a cut, and lists all places at which the power can go.
func (r *Runner) Cuts(t *testing.T, s *Scenario) (base *Observation, cuts []Cut, err error) {
	c := &cutter{}
	base, _, err = r.playCut(t, s, c)
	for _, n := range c.seen {
		cuts = append(cuts, n)
		if n.After = true; !n.refused {
			cuts = append(cuts, n)
		}
	}
	return base, cuts, err
}

// RunCut plays a scenario, cuts the power of the device's computer at one place, starts it again, and judges by the robot's own log,
// by what an outside subscriber saw, and by a run without a cut.
func (r *Runner) RunCut(t *testing.T, s *Scenario, base *Observation, at Cut) CutResult {
	res := CutResult{Cut: at}
	c := &cutter{at: at.Commit, after: at.After}
	seen, dir, err := r.playCut(t, s, c)
	switch {
	case err != nil:
		res.Faults = append(res.Faults, err.Error())
		return res
	case !c.cut:
		res.Faults = append(res.Faults, "the commit did not come")
		return res
	case dir != nil:
		res.Faults = append(res.Faults, dir.Error())
	}
	for _, f := range seen.Facts {
		if f.Kind == "wrong" || f.Kind == "workflow" && strings.Contains(f.Text, "open:") {
			res.Faults = append(res.Faults, f.String())
		}
	}
	again, twice := r.repeated(base.log, seen.log)
	res.Again, res.Faults = again, append(res.Faults, twice...)
	want, got := outcome(base), outcome(seen)
	if res.Same = want == got; res.Same {
		res.Outcome = "as without the cut"
	} else {
		res.Outcome = got
	}
	if got == "" && want != "" {
		res.Faults = append(res.Faults, "no work has ended")
	}
	return res
}

// playCut plays a scenario in a bubble of its own; replay is what the journal of all lives says of it.
func (r *Runner) playCut(t *testing.T, s *Scenario, c *cutter) (seen *Observation, replay, err error) {
	dir, remove, err := tempDir()
	if err != nil {
		return nil, nil, err
	}
	defer remove()
	err = r.inBubble(t, func(f *bus.Ferry) (err error) {
		seen, err = r.play(s, dir, f, c)
		return err
	})
	if err == nil {
		replay = replayed(dir, r.cat)
	}
	return seen, replay, err
}

// outcome is how all work ended, step by step.
func outcome(o *Observation) string {
	var out []string
	for _, f := range o.Facts {
		if f.Kind == "workflow" || f.Kind == "step" {
			text, _, _ := strings.Cut(f.Text, ",") // how many attempts it took is not how it ended
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}

// repeated compares what the robot was asked for with and without a cut. What was carried out more often is a fault, unless the catalog
// lets it be sent again at any time, or after a stop and the robot was told to stop.
func (r *Runner) repeated(base, log []home.Entry) (again, faults []string) {
	was, is := asked(base), asked(log)
	for _, text := range slices.Sorted(maps.Keys(is)) {
		more := len(is[text].tasks) - len(was[text].tasks)
		if more <= 0 {
			continue
		}
		note := fmt.Sprintf("%s %d times more", text, more)
		switch redo := r.cat.Operations[catalog.Method(is[text].method)].Redo; {
		case redo == catalog.RedoAnytime, redo == catalog.RedoAfterStop && is[text].stopped >= more:
			again = append(again, note)
		default:
			faults = append(faults, fmt.Sprintf("%s, and it may be sent again: %s", note, redo))
		}
	}
	return again, faults
}

// calls are the tasks of one operation with the same arguments that the robot began.
type calls struct {
	method  string
	tasks   []string
	stopped int // of them, or failed as they say themselves: nothing of it goes on, and it was not done
}

func asked(log []home.Entry) map[string]calls {
	refused, stopped := map[string]bool{}, map[string]bool{}
	for _, e := range log {
		refused[e.TaskID] = refused[e.TaskID] || e.Kind == home.KindRefused
		stopped[e.TaskID] = stopped[e.TaskID] || e.Kind == home.KindCancel || e.Kind == home.KindResult && !strings.HasPrefix(e.Reason, "done")
	}
	out := map[string]calls{}
	for _, e := range log {
		if e.Kind != home.KindInvoke || refused[e.TaskID] {
			continue
		}
		c := out[call(e)]
		c.method, c.tasks = e.Method, append(c.tasks, e.TaskID)
		if stopped[e.TaskID] {
			c.stopped++
		}
		out[call(e)] = c
	}
	return out
}

// cutter stands between task manager and disk. It counts commits once the house is quiet, and cuts the power at one of them.
type cutter struct {
	at    int // 0: it only counts
	after bool

	wrapped bool // the store of the first life

	mu    sync.Mutex
	dev   *device
	armed bool
	n     int
	cut   bool
	seen  []Cut
	back  chan error // the restart after the cut
}

// arm begins to count, in the first life of the device.
func (c *cutter) arm(d *device) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dev, c.armed = d, true
}

// wrap puts it before a store.
func (c *cutter) wrap(s taskmanager.Store) taskmanager.Store {
	if c == nil || c.wrapped {
		return s // the lives after the first are left alone: they begin with commits that nobody could restart from
	}
	c.wrapped = true
	return cutStore{s, c}
}

// disarm ends the counting.
func (c *cutter) disarm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
}

// awaitBack waits until the device runs again after a cut.
func (c *cutter) awaitBack() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	back := c.back
	c.mu.Unlock()
	if back == nil {
		return nil
	}
	err := <-back
	back <- err
	return err
}

type cutStore struct {
	taskmanager.Store
	c *cutter
}

// Commit implements [taskmanager.Store].
func (s cutStore) Commit(ctx context.Context, b taskmanager.Batch) error {
	due := s.c.due(b)
	if due && !s.c.after {
		s.c.power()
		return fmt.Errorf("power cut: %w", taskmanager.ErrStoreBroken)
	}
	err := s.Store.Commit(ctx, b)
	switch {
	case err != nil:
		s.c.refused()
	case due:
		s.c.power()
	}
	return err
}

// refused notes that the last commit did not take place: there is no moment after it.
func (c *cutter) refused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) > 0 {
		c.seen[len(c.seen)-1].refused = true
	}
}

// due counts a commit, and says whether the power goes at it.
func (c *cutter) due(b taskmanager.Batch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed || c.cut {
		return false
	}
	c.n++
	note := Cut{Commit: c.n}
	var kinds []string
	for i, row := range b.Journal {
		if note.To = row.Seq; i == 0 {
			note.From = row.Seq
		}
		if !slices.Contains(kinds, row.Kind) {
			kinds = append(kinds, row.Kind)
		}
	}
	note.Kinds = strings.Join(kinds, " ")
	c.seen = append(c.seen, note)
	return c.n == c.at
}

// power cuts it, and gives it back after a while. What the agent does until it is gone reaches nobody.
func (c *cutter) power() {
	c.mu.Lock()
	c.cut, c.back = true, make(chan error, 1)
	back := c.back
	c.mu.Unlock()
	if err := c.dev.powerCut(true); err != nil {
		back <- err
		return
	}
	go func() {
		time.Sleep(offTime)
		back <- c.dev.start(context.Background())
	}()
}
