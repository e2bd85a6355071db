package store

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/agent/clock"
	"deviceagent/taskmanager/core"
)

var (
	cutsWanted = flag.Int("powercut.cuts", 300, "`number` of power cuts to replay")
	cutSeed    = flag.Uint64("powercut.seed", 0, "`seed` of the first workload; 0: a new one")
)

// cutting replays tapes.
type cutting struct {
	storeOnly bool // the Manager is not started
	countBad  bool // losses are what is looked for

	mu     sync.Mutex
	cuts   map[string]int // by operation, and by what became of what was not synced
	work   map[string]int // what was in force at the cuts
	total  int
	bad    []string
	nbad   int
	began  time.Time
	report int
}

func newCutting() *cutting {
	return &cutting{cuts: map[string]int{}, work: map[string]int{}, began: time.Now()}
}

// tally takes the outcome of one cut, and says whether to go on.
func (c *cutting) tally(op string, one cutCase, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total++
	c.cuts[op]++
	c.cuts[string(one.fate)]++
	for what, is := range inForce {
		if is(one.f) {
			c.work[what]++
		}
	}
	if err != nil {
		c.nbad++
		if len(c.bad) < 3 {
			c.bad = append(c.bad, err.Error())
		}
	}
	if c.total >= c.report+2000 {
		c.report = c.total
		fmt.Printf("%6d cuts, %d bad, %.0f s\n", c.total, c.nbad, time.Since(c.began).Seconds())
	}
	return c.countBad || c.nbad < 3
}

func (c *cutting) summary() string {
	list := func(m map[string]int) string {
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%d cuts, %d bad, %.0f s\n  at and after: %s\n  with: %s", c.total, c.nbad, time.Since(c.began).Seconds(), list(c.cuts), list(c.work))
}

// cutCase is one cut of one tape.
type cutCase struct {
	img     image
	f       *facts
	allowed []string // contents of the store
	steps   []migration
	rng     *rand.Rand
	seed    uint64
	at      int
	fate    fate
	blind   bool

	clk      shiftedClock // of the next process
	mem      memory       // of the robot that it finds
	instance string
}

// replay cuts a tape at every operation, or at one of share by chance, and takes every one of workers that is mine.
func (c *cutting) replay(t *testing.T, tp *tape, seed uint64, mine, workers, share int) {
	p, f := newPlatter(tp), newFacts()
	next := contentsAhead(tp.ops)
	n := 0
	for i, op := range tp.ops {
		cut := func(fates []fate, last *diskOp) bool {
			for _, fate := range fates {
				n++
				rng := rand.New(rand.NewPCG(seed, uint64(n)))
				if n%workers != mine || rng.IntN(share) != 0 {
					continue
				}
				one := cutCase{blind: true, img: p.cut(rng, fate, last), f: f, allowed: f.allowed(next[i]), steps: nextSchema, rng: rng, seed: seed, at: i, fate: fate}
				if f.start.bootID != "boot-3" {
					one.steps = migrations
				}
				if !c.tally(op.what, one, c.try(t, one)) {
					return false
				}
			}
			return true
		}
		if op.what == "mark" {
			f.nowMS = op.at
			f.see(op.mark)
			if _, quiet := op.mark.(memory); quiet {
				continue
			}
		}
		if op.what == "write" && len(op.data) > sector && !cut(torn, &op) {
			return
		}
		p.play(op)
		if !cut(whole, nil) {
			return
		}
	}
}

// contentsAhead is, at each operation, what the next acknowledged transaction leaves.
func contentsAhead(ops []diskOp) []string {
	out := make([]string, len(ops))
	next := ""
	for i := len(ops) - 1; i >= 0; i-- {
		if m, ok := ops[i].mark.(confirmed); ok {
			next = m.content
		}
		out[i] = next
	}
	return out
}

// try starts on what a cut left. Of a fault the disk is kept.
func (c *cutting) try(t *testing.T, one cutCase) error {
	dir, err := os.MkdirTemp("", "cut")
	if err != nil {
		t.Fatal(err)
	}
	if err := one.img.write(dir); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { err = one.check(dir, c.storeOnly) })
	if err != nil && !c.countBad {
		kept, mkErr := os.MkdirTemp(onDisk, "powercut-")
		if mkErr == nil {
			mkErr = one.img.write(kept)
		}
		err = fmt.Errorf("-powercut.seed %d, operation %d, %s: %w (the disk: %s, %v)", one.seed, one.at, one.fate, err, kept, mkErr)
	}
	_ = os.RemoveAll(dir)
	return err
}

func (img image) write(dir string) error {
	for name, data := range img {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// check starts the agent on the disk and lets it run until nothing is open.
func (one *cutCase) check(dir string, storeOnly bool) (err error) {
	f := one.f.clone()
	var mu sync.Mutex
	start := time.Now()
	l, err := one.begin(dir, 9, func(m any) {
		mu.Lock()
		defer mu.Unlock()
		f.nowMS = one.f.nowMS + time.Since(start).Milliseconds()
		f.see(m)
	})
	if err != nil {
		return err
	}
	defer func() {
		if e := l.end(true); err == nil && e != nil {
			err = e
		}
	}()
	if storeOnly {
		return nil
	}
	if err := one.run(l); err != nil {
		return err
	}
	if err := one.drive(l, &mu, f); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	return f.judge(one.f)
}

// begin opens what the cut left, and compares it with what was acknowledged.
func (one *cutCase) begin(dir string, no int, note func(any)) (*life, error) {
	one.clk, one.mem, one.instance = shiftedClock{Virtual: clock.Package(fmt.Sprint("boot-x", no))}, one.f.mem, string(one.f.robotRun)
	switch one.rng.IntN(3) {
	case 0: // the process alone
		one.clk = shiftedClock{clock.Package(one.f.start.bootID), one.f.boot()}
	case 1: // the robot's programs too
		one.mem, one.instance = one.mem.restarted(), fmt.Sprint("run-x", no)
	}
	one.clk.ShiftWall(time.Duration(one.f.nowMS-time.Now().UnixMilli())*time.Millisecond + 20*time.Second)
	var content confirmed
	l, err := begin(dir, no, one.clk, one.steps, func(m any) {
		if c, ok := m.(confirmed); ok {
			content = c
		}
		note(m)
	}, false, nil)
	if err != nil {
		return nil, err
	}
	l.note = note
	switch {
	case l.setAside != "":
		err = fmt.Errorf("the store was set aside to %s", l.setAside)
	case !slices.Contains(one.allowed, content.content) && !(l.fresh && one.f.content == ""):
		err = fmt.Errorf("the store holds %s, acknowledged was %s, allowed are %q", content.content, one.f.content, one.allowed)
	default:
		return l, nil
	}
	return nil, errors.Join(err, l.end(true))
}

func (one *cutCase) run(l *life) error {
	l.blind = one.blind
	return l.run(one.mem, one.instance)
}

// drive sends again what was sent, as a planner does that may or may not have stored the answers, and waits until nothing is open.
func (one *cutCase) drive(l *life, mu *sync.Mutex, f *facts) error {
	all := one.rng.IntN(2) == 0 // or what was not answered only
	for _, payload := range one.f.asked {
		if _, ok := one.f.answers[payload]; ok && !all {
			continue
		}
		if _, err := l.hand(one.f.messages[payload]); err != nil {
			return err
		}
	}
	for _, wf := range slices.Sorted(maps.Keys(one.f.cancelled)) {
		if strings.HasPrefix(string(wf), "wf-never") {
			ans, err := l.m.Receive(context.Background(), []byte(planOf(string(wf), requests[2]).payload), "cloud")
			if err != nil || ans.Accepted {
				return fmt.Errorf("a plan of %s, which was cancelled before, is answered %+v, %w", wf, ans, err)
			}
		}
	}
	if err := one.goOn(l, mu, f); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Hour); ; {
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if p := l.err.Load(); p != nil {
			return *p
		}
		var left []string
		if err := l.m.Inspect(context.Background(), func(s *core.State, now core.Now) {
			for id, wf := range s.Workflows {
				if !wf.State.Terminal() {
					left = append(left, fmt.Sprintf("%s %s", id, wf.State))
				}
			}
		}); err != nil {
			return err
		}
		if len(left) == 0 && l.m.Waiting() == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after an hour %v are open, %d messages wait", left, l.m.Waiting())
		}
	}
}

// goOn lets everything go on that somebody holds; before that nothing of it may be dispatched.
func (one *cutCase) goOn(l *life, mu *sync.Mutex, f *facts) error {
	time.Sleep(10 * time.Second)
	synctest.Wait()
	mu.Lock()
	for _, task := range f.dispatch[len(one.f.dispatch):] {
		// unless what had been sent without an answer let it go
		if wf, ok := f.owners[task]; ok && moving[f.methods[task]] && (one.f.held[wf] && f.held[wf] || one.f.held[everything] && f.held[everything]) {
			f.faults = append(f.faults, fmt.Sprintf("task %s of %s was dispatched, which is held", task, wf))
		}
	}
	held := maps.Clone(f.held)
	mu.Unlock()
	for _, wf := range slices.Sorted(maps.Keys(held)) {
		if ans, err := l.hand(controlOf("go-on-"+string(wf), "resume", string(wf))); err != nil || !ans.Accepted && ans.Reason != core.ReasonAlreadyTerminal {
			return fmt.Errorf("the end of the pause of %s is answered %+v, %w", wf, ans, err)
		}
	}
	return nil
}

// TestPowerCutReplay: between two operations on the disk and in the middle of each write, whatever a disk may have kept by then: what
// was acknowledged is there, nothing is there by half, and the agent goes on from it as it promised. A commit under way is there whole
// or not at all; a checkpoint (F11) and a migration change nothing.
func TestPowerCutReplay(t *testing.T) {
	c := newCutting()
	c.run(t, *cutsWanted)
	fmt.Println(c.summary())
	for _, bad := range c.bad {
		t.Error(bad)
	}
	for what := range inForce {
		if c.work[what] == 0 && c.total > 100 && len(c.bad) == 0 {
			t.Errorf("no cut with %s: the workload does not do what it should", what)
		}
	}
}

// inForce is what has to be so at some of the cuts.
var inForce = map[string]func(*facts) bool{
	"work open":                    (*facts).workOpen,
	"a task running":               func(f *facts) bool { return f.mem.busy() },
	"a cancel acknowledged":        func(f *facts) bool { return len(f.cancelled) > 0 },
	"a cancel before its plan":     func(f *facts) bool { return f.told("cancel", false, core.ReasonUnknownTarget) },
	"a plan refused":               func(f *facts) bool { return f.told("bad", false, "") },
	"a revision accepted":          func(f *facts) bool { return f.told("revision", true, "") },
	"a hold in force":              func(f *facts) bool { return len(f.held) > 0 },
	"a question answered":          func(f *facts) bool { return f.told("decision", true, "") },
	"a result sent":                func(f *facts) bool { return len(f.results) > 0 },
	"a transaction under way":      func(f *facts) bool { return f.open },
	"a message without its answer": func(f *facts) bool { return len(f.asked) > len(f.answers) },
}

// TestPowerCutNeedsFull: with less than synchronous=FULL acknowledged rows are lost, and this replay sees it.
func TestPowerCutNeedsFull(t *testing.T) {
	c := newCutting()
	c.storeOnly, c.countBad = true, true
	c.run(t, *cutsWanted/4)
	fmt.Println("synchronous=NORMAL:", c.summary())
	if c.nbad == 0 {
		t.Error("nothing was lost: the replay sees nothing")
	}
}

// TestPowerCutAtTheBirth: every cut until the first message, while the store is made and opened.
func TestPowerCutAtTheBirth(t *testing.T) {
	seed := aSeed()
	tp := workload(t, seed, false)
	tp.ops = tp.ops[:birth(tp.ops)]
	c := newCutting()
	c.storeOnly = true
	c.replay(t, tp, seed, 0, 1, 1)
	for _, bad := range c.bad {
		t.Error(bad)
	}
	if c.total < 100 {
		t.Errorf("%d cuts", c.total)
	}
}

// birth is how far a new store has come when the first message is in hand: up to the end of the transaction that is under way then,
// or follows, since without its end nobody can say what it leaves.
func birth(ops []diskOp) int {
	first := slices.IndexFunc(ops, func(op diskOp) bool { _, ok := op.mark.(asked); return ok })
	return first + 1 + slices.IndexFunc(ops[first:], func(op diskOp) bool { _, ok := op.mark.(confirmed); return ok })
}

// TestBirthEndsWithATransaction: a message may come in the middle of one.
func TestBirthEndsWithATransaction(t *testing.T) {
	during := []diskOp{{mark: confirmed{}}, {}, {mark: asked{}}, {}, {mark: confirmed{}}, {}}
	if n := birth(during); n != 5 {
		t.Errorf("%d of %d operations, want 5", n, len(during))
	}
}

// aSeed is a new one, or the one that was asked for.
func aSeed() uint64 {
	if *cutSeed != 0 {
		return *cutSeed
	}
	return rand.Uint64()
}

// TestF12_FiftyCutsDuringTheStart: the power is cut again and again while the agent starts on what the cut before left.
func TestF12_FiftyCutsDuringTheStart(t *testing.T) {
	seed := aSeed()
	tp := workload(t, seed, false)
	rng := rand.New(rand.NewPCG(seed, 3))
	one := cutCase{f: newFacts(), steps: nextSchema, rng: rng, seed: seed}
	one.cutAt(tp, len(tp.ops)/2+rng.IntN(len(tp.ops)/2))
	if one.f.start.bootID != "boot-3" {
		one.steps = migrations
	}
	for n := range 50 {
		dir := t.TempDir()
		if err := one.img.write(dir); err != nil {
			t.Fatal(err)
		}
		tp := record(dir, one.img)
		synctest.Test(t, func(t *testing.T) {
			l, err := one.begin(dir, 10+n, tp.mark)
			if err == nil {
				err = one.run(l)
			}
			if err != nil {
				t.Fatalf("-powercut.seed %d, cut %d: %v", seed, n, err)
			}
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
			if err := l.end(false); err != nil {
				t.Fatal(err)
			}
		})
		tp.end()
		one.cutAt(tp, rng.IntN(len(tp.ops)))
	}
	if err := newCutting().try(t, one); err != nil {
		t.Error(err)
	}
}

// cutAt goes along a tape and cuts.
func (one *cutCase) cutAt(tp *tape, at int) {
	p, before := newPlatter(tp), one.f.nowMS
	first := int64(0)
	for _, op := range tp.ops[:at+1] {
		if op.what == "mark" {
			if first == 0 {
				if first = op.at; before == 0 {
					before = first
				}
			}
			one.f.nowMS = before + op.at - first
			one.f.see(op.mark)
		}
		p.play(op)
	}
	one.allowed = one.f.allowed(contentsAhead(tp.ops)[at])
	one.at, one.fate = at, whole[one.rng.IntN(len(whole))]
	one.img = p.cut(one.rng, one.fate, nil)
}

// run replays workloads, two cuts at a time, until there were enough cuts.
func (c *cutting) run(t *testing.T, wanted int) {
	seed := aSeed()
	for ; c.total < wanted && len(c.bad) < 3; seed++ {
		tp := workload(t, seed, c.countBad)
		const workers = 2
		cuts := 0
		for _, op := range tp.ops {
			cuts += len(whole)
			if op.what == "write" && len(op.data) > sector {
				cuts += len(torn)
			}
		}
		share := max(1, cuts/max(1, wanted-c.total))
		t.Run("cuts", func(t *testing.T) {
			for mine := range workers {
				t.Run("", func(t *testing.T) {
					t.Parallel()
					c.replay(t, tp, seed, mine, workers, share)
				})
			}
		})
	}
}

// TestPowerCutWhileADamagedStoreIsSetAside: what is damaged may stand in the log only, and the file without its log is sound, and old.
// At whichever moment the power is cut, the next start reports a new store: it never goes on from the old one in silence.
func TestPowerCutWhileADamagedStoreIsSetAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tasks.db")
	s := mustOpen(t, path, lifeOptions)
	mustCommit(t, s, step(1))
	s.copyBack(s.w.passive)
	mustCommit(t, s, step(2))
	if err := s.w.exec(`UPDATE record SET body=CAST(replace(CAST(body AS TEXT), '2', '3') AS BLOB)`); err != nil {
		t.Fatal(err)
	}
	epoch := s.epoch
	_ = s.fail(errors.New("killed")) // the log is not copied back
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tp := record(dir, takeImage(t, path, "", "-wal", "-shm", ballastSuffix).under("tasks.db"))
	mustCommit(t, mustOpen(t, path, lifeOptions), step(1))
	tp.end()
	p, cuts := newPlatter(tp), 0
	rng := rand.New(rand.NewPCG(1, 4))
	for i, op := range tp.ops {
		p.play(op)
		for _, fate := range whole {
			again := t.TempDir()
			if err := p.cut(rng, fate, nil).write(again); err != nil {
				t.Fatal(err)
			}
			s, err := Open(context.Background(), filepath.Join(again, "tasks.db"), lifeOptions)
			if err != nil {
				t.Fatalf("operation %d (%s %s %s), %s: %v", i, op.what, op.name, op.to, fate, err)
			}
			if s.epoch == epoch {
				t.Errorf("operation %d (%s %s %s), %s: the old store goes on as if nothing had been lost", i, op.what, op.name, op.to, fate)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			cuts++
		}
	}
	if cuts < 100 {
		t.Errorf("%d cuts", cuts)
	}
}

// TestF10_PowerCutInAMigration: at whichever operation the power is cut while a start brings the store to another schema, the next start
// finds every row, and does what is left to do.
func TestF10_PowerCutInAMigration(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tasks.db")
	s := mustOpen(t, path, lifeOptions)
	mustCommit(t, s, golden)
	before := mustLoad(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tp := record(dir, takeImage(t, path, "", "-wal", ballastSuffix).under("tasks.db"))
	s, err := open(context.Background(), path, lifeOptions, nextSchema)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tp.end()
	p, cuts := newPlatter(tp), 0
	rng := rand.New(rand.NewPCG(rand.Uint64(), 5))
	for i, op := range tp.ops {
		p.play(op)
		for _, fate := range whole {
			again := t.TempDir()
			if err := p.cut(rng, fate, nil).write(again); err != nil {
				t.Fatal(err)
			}
			s, err := open(context.Background(), filepath.Join(again, "tasks.db"), lifeOptions, nextSchema)
			if err != nil {
				t.Fatalf("operation %d (%s %s), %s: %v", i, op.what, op.name, fate, err)
			}
			if img := mustLoad(t, s); img.SetAside != "" || img.Epoch != before.Epoch || len(img.Records) != len(before.Records) {
				t.Fatalf("operation %d (%s %s), %s: set aside %q, epoch %s, %d records", i, op.what, op.name, fate, img.SetAside, img.Epoch, len(img.Records))
			}
			if n, err := s.w.number("SELECT count(*) FROM more"); n != 1 || err != nil {
				t.Fatalf("operation %d (%s %s), %s: the new table has %d rows (%v)", i, op.what, op.name, fate, n, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			cuts++
		}
	}
	if cuts < 30 {
		t.Errorf("%d cuts", cuts)
	}
}

// under gives the files of an image their names.
func (img image) under(name string) image {
	out := image{}
	for end, data := range img {
		out[name+end] = data
	}
	return out
}
