package agent

import (
	"context"
	"fmt"
	"time"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager"
)

// forgetWords removes what people said from work that ended longer ago than it is kept. A clock that is not trusted judges no age.
func (a *Agent) forgetWords(ctx context.Context) {
	wall, trusted := a.o.Clock.Wall()
	if !trusted {
		return
	}
	gone, err := a.store.EraseWords(ctx, wall, time.Duration(a.o.Config.Privacy.Utterances))
	if err != nil {
		a.o.Log.Warn().Err(err).Msg("utterances not removed")
		return
	}
	if a.manager.Forget(gone); len(gone) > 0 {
		a.o.Log.Info().Int("workflows", len(gone)).Msg("utterances removed, their time is over")
	}
}

// ErasePersonData removes at once what is kept of people in work that has ended. What is open keeps what it needs.
func (a *Agent) ErasePersonData(ctx context.Context) (diag.Erasure, error) {
	done, err := a.store.EraseEnded(ctx, taskmanager.Stone)
	if err != nil {
		return diag.Erasure{}, err
	}
	if err := a.manager.ForgetEnded(ctx, done.Names); err != nil {
		return diag.Erasure{}, fmt.Errorf("cannot forget what was erased: %w", err)
	}
	if err := a.refused.forget(); err != nil {
		return diag.Erasure{}, fmt.Errorf("cannot remove the copies of refused messages: %w", err)
	}
	a.o.Log.Warn().Int64("workflows", done.Workflows).Int64("journal_rows", done.Journal).Int("copies", len(done.Copies)).Msg("person data erased")
	return diag.Erasure{Workflows: done.Workflows, JournalRows: done.Journal, Copies: append([]string{}, done.Copies...)}, nil
}

// ErasePersonData is for the diagnostic API.
func (e eyes) ErasePersonData(ctx context.Context) (diag.Erasure, error) {
	return e.a.ErasePersonData(ctx)
}
