package sim

import (
	"fmt"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// comparedEvery is how many homes there are to one that is played twice, of those in which no experience may change a dispatch.
const comparedEvery = 4

// pure homes evaluate no experience, or write goals down only. Nothing that the robot is asked for may hang on one there.
func (m *home) pure() bool { return m.exp.Off || m.exp.Tier == core.TierShadow }

// commits are the faults that wait for the next commit. That a goal has moved on may wait for company on its way to the disk, so commits
// come at other moments, and what is armed would strike elsewhere.
var commits = []Fault{CutBeforeCommit, CutAfterCommit, CutAmongOutputs, DiskErrorWritten, DiskSlow, DiskFull}

// rollback plays a pure home once with experiences and once without any: the robot has to be asked for the same at the same moments.
// Source: invariant 6, docs/experience.md.
func rollback(cat *catalog.Catalog, seed uint64) (sent int, broken error) {
	left := map[string]bool{}
	for _, f := range commits {
		for n := range 9 {
			left[fmt.Sprintf("%s#%d", f, n)] = true
		}
	}
	play := func(plain bool) (*home, error) {
		m := newHome(cat, seed, left)
		m.plain, m.compared = plain, true
		return m, m.play()
	}
	with, broken := play(false)
	if broken != nil {
		return 0, fmt.Errorf("%w (played without %v)", broken, commits)
	}
	without, broken := play(true)
	if broken != nil {
		return 0, failure("rollback: without its experiences: " + broken.Error())
	}
	a, b := with.judge.sent, without.judge.sent
	if slices.Equal(a, b) {
		return len(a), nil
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	at := func(s []string) string {
		if i < len(s) {
			return s[i]
		}
		return "nothing"
	}
	return 0, failure(fmt.Sprintf("rollback: dispatch %d of home %d is %q, and without experiences %q", i, seed, at(a), at(b)))
}
