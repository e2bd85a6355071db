package linkfault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"deviceagent/testbed/netfault"
)

// Options say how large a campaign is.
type Options struct {
	Messages int64         // at least so many pass the proxies
	Plans    int64         // at least so many are submitted
	Each     int           // each fault strikes at least so often
	Slow     int           // half-open lines and missing CONNACKs at the time-outs that we ship
	Cells    int           // brokers, each with its planner
	Robots   int           // of each cell
	Pace     int           // how many times shorter the time-outs of links and planners are
	Most     time.Duration // the campaign is given up after that; 0: an hour
	Seed     uint64        // of what is drawn; 0: by chance
	Dir      string        // where everything is kept; "": a folder that is removed
	Out      io.Writer     // progress
}

// patience is how long a robot that nobody keeps offline may be offline. The machine may be busy with other things: who is stuck is so for ever.
const patience = 3 * time.Minute

// campaign is one run.
type campaign struct {
	opt      Options
	out      io.Writer
	cells    []*cell
	book     book
	quota    quota
	times    measures
	patience time.Duration // how long a robot may be offline before that is a finding
	stopped  chan struct{}
	began    time.Time
	halting  sync.Once

	mu     sync.Mutex
	counts map[netfault.Fault]int // of what no proxy counts
	faults []string               // what must never be
}

// Run plays a campaign and judges it. The error says that it could not be played; what it found is in the report.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if opt.Most == 0 {
		opt.Most = time.Hour
	}
	if opt.Seed == 0 {
		opt.Seed = rand.Uint64()
	}
	if opt.Out == nil {
		opt.Out = io.Discard
	}
	dir := opt.Dir
	if dir == "" {
		made, err := os.MkdirTemp("", "linkfault")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(made)
		dir = made
	}
	c := &campaign{opt: opt, out: opt.Out, patience: patience, began: time.Now(), stopped: make(chan struct{}), counts: map[netfault.Fault]int{}}
	c.quota.need = map[netfault.Fault]int{brokerKilled: opt.Each, brokerForgets: opt.Each, plannerKilled: opt.Each, agentKilled: opt.Each}
	for _, f := range netfault.Faults {
		c.quota.need[f] = opt.Each
	}
	defer c.halt()
	for i := range opt.Cells {
		if err := c.build(filepath.Join(dir, fmt.Sprintf("cell%d", i)), i); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	fmt.Fprintf(c.out, "seed %d: %d robots at %d brokers\n", opt.Seed, opt.Cells*opt.Robots, opt.Cells)
	var slow, mute []time.Duration
	var slowErr error
	var aside sync.WaitGroup
	aside.Go(func() { slow, mute, slowErr = c.asShipped(filepath.Join(dir, "shipped")) })
	err := c.play(ctx)
	aside.Wait()
	err = errors.Join(err, slowErr)
	rep := c.report()
	rep.Slow, rep.NoConnack = slow, mute
	rep.Took = time.Since(c.began)
	return rep, errors.Join(err, c.close(), c.judge(rep))
}

func (c *campaign) build(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cl, err := newCell(dir, c.opt.Pace)
	if err != nil {
		return err
	}
	c.cells = append(c.cells, cl)
	for i := range c.opt.Robots {
		if _, err := cl.newRobot(fmt.Sprintf("r%d-%d", n, i), time.Second, i%4 == 3); err != nil {
			return err
		}
	}
	for _, r := range cl.robots {
		if _, up := r.await(c.patience, online); !up {
			return fmt.Errorf("%s is not online before anything was done to it: %+v", r.id, r.link())
		}
	}
	return nil
}

// play lets plans run and faults strike until all is shown, then takes every fault back and waits for the rest.
func (c *campaign) play(ctx context.Context) error {
	var strikers, workers sync.WaitGroup
	stop, give := make(chan struct{}), make(chan struct{})
	errs := make(chan error, 1000)
	rnd := func(n int) *rand.Rand { return rand.New(rand.NewPCG(c.opt.Seed, uint64(n))) }
	for i, cl := range c.cells {
		strikers.Go(func() { c.strikeCell(cl, rnd(1000+i)) })
		for j, r := range cl.robots {
			at := i*1000 + j*2
			workers.Go(func() { errs <- c.book.work(r, rnd(10_000+at), stop, give) })
			strikers.Go(func() { c.strikeRobot(r, rnd(100_000+at)) })
		}
	}
	limit := time.NewTimer(c.opt.Most)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	struck := make(chan struct{})
	go func() { strikers.Wait(); close(struck) }()
	for shown := false; !shown; {
		select {
		case <-ctx.Done():
			c.halt()
			shown = true
		case <-limit.C:
			c.fault("not all was shown within %v", c.opt.Most)
			c.halt()
			shown = true
		case <-tick.C:
			c.progress()
		case <-time.After(100 * time.Millisecond):
		}
		select {
		case <-struck:
			shown = shown || c.messages() >= c.opt.Messages && c.book.n.Load() >= c.opt.Plans
		default:
		}
		if c.failed() {
			c.halt()
			shown = true
		}
	}
	c.halt()
	<-struck
	for _, cl := range c.cells {
		cl.line.Heal()
		for _, r := range cl.robots {
			r.line.Heal()
		}
	}
	close(stop)
	fmt.Fprintln(c.out, "all faults are taken back; waiting for what is open")
	quiet := make(chan struct{})
	go func() { workers.Wait(); close(quiet) }()
	c.settle(quiet, tick.C)
	close(give)
	<-quiet
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}

// settle waits until every plan has ended and every outbox is empty, for at most three minutes.
func (c *campaign) settle(quiet <-chan struct{}, tick <-chan time.Time) {
	limit := time.NewTimer(3 * time.Minute)
	defer limit.Stop()
	for done := false; !done; {
		select {
		case <-quiet:
			done = true
		case <-tick:
			c.progress()
		case <-limit.C:
			c.fault("not all plans have ended three minutes after the last fault")
			done = true
		}
	}
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		left := 0
		for _, cl := range c.cells {
			for _, r := range cl.robots {
				left += r.unreceipted()
			}
		}
		if left == 0 {
			return
		}
	}
}

// messages counts what the brokers passed on, as the subscribers beside saw it.
func (c *campaign) messages() (n int64) {
	for _, cl := range c.cells {
		n += cl.witness.seen.Load()
	}
	return n
}

func (c *campaign) progress() {
	fmt.Fprintf(c.out, "%5.0f s: %7d messages, %6d plans, %6d of them ended, %6d strikes to come\n", time.Since(c.began).Seconds(), c.messages(), c.book.n.Load(), c.book.ended.Load(), c.quota.left())
}

// struck counts every fault that has struck at a robot, broker, planner or agent.
func (c *campaign) struck() map[netfault.Fault]int {
	c.mu.Lock()
	all := maps.Clone(c.counts)
	c.mu.Unlock()
	for _, cl := range c.cells {
		for _, r := range cl.robots {
			for f, n := range r.line.Counts() {
				all[f] += n
			}
		}
		for f, n := range cl.line.Counts() {
			all[f] += n
		}
	}
	return all
}

func (c *campaign) count(f netfault.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[f]++
}

func (c *campaign) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text := fmt.Sprintf(format, args...); len(c.faults) < 100 && !slices.Contains(c.faults, text) {
		c.faults = append(c.faults, text)
		fmt.Fprintln(c.out, "never:", text)
	}
}

func (c *campaign) fail(err error) { c.fault("cannot go on: %v", err) }

func (c *campaign) failed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.faults) > 0
}

// stuck: a robot that nobody keeps offline is not online.
func (c *campaign) stuck(r *robotOf) {
	if !c.over() {
		c.fault("%s is offline for more than %v: %+v", r.id, c.patience, r.link())
	}
}

func (c *campaign) halt() { c.halting.Do(func() { close(c.stopped) }) }

func (c *campaign) over() bool {
	select {
	case <-c.stopped:
		return true
	default:
		return false
	}
}

func (c *campaign) close() error {
	var errs []error
	for _, cl := range c.cells {
		errs = append(errs, cl.close())
	}
	return errors.Join(errs...)
}
