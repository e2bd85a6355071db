package agent

import (
	"context"
	"time"

	"deviceagent/taskmanager/store"
)

// pruneEvery is how often the agent looks whether the store holds what is older than it keeps; pruneAfter is when it first does after a
// start, when the work of the start is done. A look reads one row, and writes nothing where nothing is due.
const (
	pruneEvery = time.Hour
	pruneAfter = 10 * time.Minute
)

// pruning removes what the store keeps no longer, in small transactions between which commits pass. Without it a store of a busy robot
// would be full in months, and a full store takes no plan.
func (a *Agent) pruning(ctx context.Context) error {
	t := time.NewTimer(pruneAfter)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			t.Reset(pruneEvery)
			if a.prune(ctx) {
				t.Reset(time.Second)
			}
			a.forgetWords(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// prune removes a bounded part of what is too old, and says whether more is. A clock that is not trusted judges no age.
func (a *Agent) prune(ctx context.Context) (more bool) {
	wall, trusted := a.o.Clock.Wall()
	if !trusted {
		wall = 0
	}
	o := store.PruneOptions{NowMS: wall}
	due, err := a.store.PruneDue(ctx, o)
	if err != nil || !due {
		return false
	}
	done, err := a.store.Prune(ctx, o)
	if err != nil {
		a.o.Log.Warn().Err(err).Msg("store not pruned")
		return false
	}
	a.o.Log.Info().Int64("workflows", done.Workflows).Int64("journal_rows", done.Journal).Int64("answers", done.Memory).Msg("store pruned")
	return done.More
}
