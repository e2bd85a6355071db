package agent

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/taskmanager/core"
)

// maxProbeAge is how old the last answer of the disk may be for the agent to count as alive. Source: docs/operations.md, watchdog.
const maxProbeAge = 30 * time.Second

// watchdog tells systemd that the agent is alive, but only while the owner of the state answers and the disk was read lately: a
// pulse from a timer alone would keep a dead agent in service.
func (a *Agent) watchdog(ctx context.Context) error {
	every := a.o.Watchdog / 3
	if every == 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	woken := a.o.Clock.NewNotice() // after a suspend, when the next tick may be far away
	defer woken.Stop()
	lastRead := time.Now()
	for {
		if a.alive(ctx, every, &lastRead) {
			a.o.Notify("WATCHDOG=1")
		}
		select {
		case <-tick.C:
		case <-woken.C():
		case <-ctx.Done():
			return nil
		}
	}
}

func (a *Agent) alive(ctx context.Context, within time.Duration, lastRead *time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, within/2)
	defer cancel()
	if err := a.manager.Inspect(ctx, func(*core.State, core.Now) {}); err != nil {
		a.o.Log.Error().Err(err).Msg("owner does not answer, no watchdog pulse")
		return false
	}
	if err := a.store.Probe(ctx); err == nil {
		*lastRead = time.Now()
	} else {
		a.o.Log.Warn().Err(err).Msg("store does not answer")
	}
	return time.Since(*lastRead) < maxProbeAge
}

// A start may take long on a store that was cut off in the middle: while it goes on, each extendEvery asks for extendBy more. It ends at
// maxRecovery, so that a start that hangs is seen as one.
const (
	extendEvery = 10 * time.Second
	extendBy    = 30 * time.Second
	maxRecovery = 10 * time.Minute
)

// extend asks systemd for more time until stop is called.
func extend(tell func(string)) (stop func()) {
	ctx, cancel := context.WithTimeout(context.Background(), maxRecovery)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(extendEvery)
		defer tick.Stop()
		for {
			tell("EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(extendBy.Microseconds(), 10))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

func (a *Agent) component(name string) zerolog.Logger {
	return a.o.Log.With().Str("component", name).Logger()
}
