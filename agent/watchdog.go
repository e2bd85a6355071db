package agent

import (
	"context"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/taskmanager/core"
)

// maxProbeAge is how old the last answer of the disk may be for the agent to count as alive. Source: docs/operations.md, watchdog.
const maxProbeAge = 30 * time.Second

// watchdog tells systemd that the agent is alive, but only while the owner of the state answers and the disk was read lately: a
// pulse from a timer alone would keep a dead agent in service.
func (a *Agent) watchdog(ctx context.Context) error {
	every := watchdogInterval()
	if every == 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	lastRead := time.Now()
	for {
		if a.alive(ctx, every, &lastRead) {
			a.o.Notify("WATCHDOG=1")
		}
		select {
		case <-tick.C:
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

// watchdogInterval is a third of what systemd asks for; 0: it does not ask.
func watchdogInterval() time.Duration {
	us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || us <= 0 {
		return 0
	}
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(us) * time.Microsecond / 3
}

// Notifier reads systemd's socket once and takes it out of the environment, so that no child can speak for us. nil: there is none.
func Notifier(log zerolog.Logger) func(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	os.Unsetenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	return func(state string) {
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			log.Warn().Err(err).Str("state", state).Msg("systemd not told")
			return
		}
		defer conn.Close()
		conn.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := conn.Write([]byte(state)); err != nil {
			log.Warn().Err(err).Str("state", state).Msg("systemd not told")
		}
	}
}

func (a *Agent) component(name string) zerolog.Logger {
	return a.o.Log.With().Str("component", name).Logger()
}
