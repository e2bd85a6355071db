package machine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

// Replay cuts the power at places of a write log, drawn by Seed, and judges what each leaves.
type Replay struct {
	Base        string // the disk as it was before the first operation
	Log         string // the write log
	Seen        []Seen // what came out of the machine
	Cuts        int
	Seed        uint64
	IgnoreFlush bool             // for the check's own test: after the first acknowledgement, take no flush for done
	Catalog     *catalog.Catalog // that the agent ran with
	Aftermath   *Aftermath       // lets the agent go on from some of the cuts; nil: from none
	Restarts    int              // from how many
	Tell        func(format string, args ...any)
}

// Verdict is what a replay found.
type Verdict struct {
	Operations, Flushes int
	Cuts                int
	Due                 int // things that had been acknowledged, over all cuts
	Restarts            int
	Faults              []string // each names its cut
}

// Run judges all cuts, in the order of the log. An error means that it could not; a loss is a fault of the verdict.
func (r *Replay) Run(ctx context.Context) (v Verdict, err error) {
	log, file, err := openLog(r.Log)
	if err != nil {
		return v, err
	}
	defer file.Close()
	v.Operations = len(log.Operations)
	for _, op := range log.Operations {
		if op.Flush {
			v.Flushes++
		}
	}
	if v.Operations == 0 {
		return v, fmt.Errorf("the write log %s is empty", r.Log)
	}
	dir, err := os.MkdirTemp("", "cuts-")
	if err != nil {
		return v, err
	}
	defer os.RemoveAll(dir)
	m := &medium{log: log, dir: dir, safe: filepath.Join(dir, "safe.img"), cut: filepath.Join(dir, "cut.img"), first: r.first(log)}
	if err := run(ctx, "cp", "--sparse=always", r.Base, m.safe); err != nil {
		return v, err
	}
	places := r.places(log)
	for i, place := range places {
		if err := ctx.Err(); err != nil {
			return v, err
		}
		due := dueAt(r.Seen, log.Operations[place-1].End)
		v.Cuts, v.Due = v.Cuts+1, v.Due+due.count()
		faults, err := r.judge(ctx, m, place, due)
		if err != nil {
			return v, fmt.Errorf("cut %d at operation %d: %w", i+1, place, err)
		}
		// The restarts are spread over the cuts, and the last cut is always one of them: there is most to go on from.
		if r.Aftermath != nil && len(faults) == 0 && (i+1)*r.Restarts/len(places) > i*r.Restarts/len(places) {
			v.Restarts++
			after, err := r.Aftermath.Run(ctx, m.state(), due)
			if err != nil {
				return v, fmt.Errorf("cut %d at operation %d: %w", i+1, place, err)
			}
			r.Tell("  cut %d of %d, operation %d of %d: %s", i+1, len(places), place, len(log.Operations), after.text)
			faults = append(faults, after.faults...)
		}
		for _, f := range faults {
			v.Faults = append(v.Faults, fmt.Sprintf("cut %d at operation %d of %d: %s", i+1, place, len(log.Operations), f))
		}
	}
	return v, nil
}

// places draws where the power goes: after how many operations. One in ten anywhere, the others after the first acknowledgement, where
// there is something to lose.
func (r *Replay) places(log *WriteLog) []int {
	src := rand.New(rand.NewPCG(r.Seed, 1))
	n, first := len(log.Operations), r.first(log)
	var out []int
	for i := range r.Cuts {
		from := first
		if i%10 == 0 {
			from = 0
		}
		out = append(out, from+1+src.IntN(n-from))
	}
	slices.Sort(out)
	return out
}

// first is how many operations there were before the first acknowledgement.
func (r *Replay) first(log *WriteLog) int {
	if len(r.Seen) == 0 {
		return 0
	}
	i := slices.IndexFunc(log.Operations, func(op Operation) bool { return op.End >= r.Seen[0].Log })
	return min(max(i, 0), len(log.Operations)-1)
}

func (r *Replay) judge(ctx context.Context, m *medium, place int, due due) ([]string, error) {
	src := rand.New(rand.NewPCG(r.Seed, uint64(place)))
	if err := m.make(ctx, place, src, r.IgnoreFlush); err != nil {
		return nil, err
	}
	if damage, err := m.takeOut(ctx); err != nil || damage != "" {
		return []string{damage}, err
	}
	return lost(ctx, m.state(), due, r.Catalog)
}

// medium makes the disk of a cut. What is safe for one place is safe for each later one, so that disk grows along.
type medium struct {
	log       *WriteLog
	dir       string
	safe, cut string // images
	upTo      int    // operations that are on safe
	first     int    // operations before the first acknowledgement
}

// state is the folder with what the cut left of the agent's state.
func (m *medium) state() string { return filepath.Join(m.dir, "state") }

func (m *medium) make(ctx context.Context, place int, src *rand.Rand, ignoreFlush bool) error {
	safe := m.log.durable(place)
	if ignoreFlush {
		safe = m.log.durable(min(place, m.first))
	}
	if safe > m.upTo {
		if err := m.onto(m.safe, m.upTo, safe, everything); err != nil {
			return err
		}
		m.upTo = safe
	}
	if err := run(ctx, "cp", "--sparse=always", m.safe, m.cut); err != nil {
		return err
	}
	return m.onto(m.cut, safe, place, chance(src))
}

func (m *medium) onto(image string, from, to int, keep func(Operation) bool) error {
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(m.log.apply(f, from, to, keep), f.Close())
}

// takeOut does what a boot does first: the file system's own check, which replays its journal. What it could not mend is damage. Then it
// copies the state out, without mounting anything.
func (m *medium) takeOut(ctx context.Context) (damage string, err error) {
	out, err := exec.CommandContext(ctx, "e2fsck", "-fy", m.cut).CombinedOutput()
	if exit, bad := errors.AsType[*exec.ExitError](err); bad && exit.ExitCode() >= 4 {
		return fmt.Sprintf("e2fsck cannot mend the file system (%d): %s", exit.ExitCode(), strings.TrimSpace(string(out))), nil
	} else if err != nil && !bad {
		return "", fmt.Errorf("cannot check the disk: %w", err)
	}
	if err := os.RemoveAll(m.state()); err != nil {
		return "", err
	}
	if err := os.Mkdir(m.state(), 0o700); err != nil {
		return "", err
	}
	return "", run(ctx, "debugfs", "-R", "rdump / "+m.state(), m.cut)
}

func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot run %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
