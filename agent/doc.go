// Package agent joins the device's parts: store, task manager, executors, cloud link, diagnostics. It starts them in order, stops
// them in reverse, each stop bounded, and tells systemd when it is ready and that it is alive. It decides nothing about plans; the
// small adapters here let parts meet that must not know each other. Contract: docs/architecture.md.
package agent

import (
	"context"
	"net"
	"path/filepath"
	"time"
	_ "time/tzdata" // schedules are kept on robots without zone files; about 450 kB

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"deviceagent/agent/config"
	"deviceagent/cloudlink"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core/catalog"
)

// Version of this program, set when it is built.
var Version = "dev"

// Clock is what the agent needs of a clock: package agent/clock has the real one and one for tests.
type Clock interface {
	Boot() int64
	BootID() string
	Wall() (ms int64, trusted bool)
	NewTimer() interface {
		C() <-chan struct{}
		Reset(bootMS int64)
		Stop()
	}
	NewNotice() interface {
		C() <-chan struct{}
		Stop()
	}
}

// Options are the parts that differ between a robot and a test. Listeners and Dial left out are opened from the settings.
type Options struct {
	Config   config.Config
	Origins  config.Origins // where each setting came from, to be shown
	Catalog  *catalog.Catalog
	Clock    Clock
	Log      zerolog.Logger
	Executor net.Listener                            // programs that act register here
	Read     net.Listener                            // diagnostic API for reading
	Control  net.Listener                            // diagnostic API for operating
	Dial     func(context.Context) (net.Conn, error) // to the broker
	Bus      func(context.Context) (net.Conn, error) // to the D-Bus of the executors; nil: the one of the settings
	NewID    func() string
	Notify   func(state string) // systemd; nil: nobody listens
	Watchdog time.Duration      // within this time systemd wants a sign of life; 0: it wants none
	Note     string             // a warning to be shown with the status, see [Catalog]; "": none
	Machine  string             // a mark of the hardware, see [Machine]; "": not known

	LinkPace  int                                       // for labs: see cloudlink.Options.Pace
	WrapStore func(taskmanager.Store) taskmanager.Store // a test that stands between task manager and disk; nil: nobody does
}

func (o *Options) defaults() {
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.WrapStore == nil {
		o.WrapStore = func(s taskmanager.Store) taskmanager.Store { return s }
	}
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
}

// storePath is the database of the agent.
func storePath(c config.Config) string { return filepath.Join(c.StateDir, "agent.db") }

// clockOf lets the Manager see its own Timer type.
type clockOf struct{ Clock }

func (c clockOf) NewTimer() taskmanager.Timer { return c.Clock.NewTimer() }

// tlsOf reads the certificates of the settings for each new connection, so that a rotation needs no restart.
func tlsOf(b config.Broker, log zerolog.Logger) cloudlink.TLSFunc {
	return (&tlsFiles{ca: b.CAFile, cert: b.CertFile, key: b.KeyFile, now: tlsTime(), log: log}).config
}

// stopTime bounds the stop of one part. All of them fit into TimeoutStopSec of the unit, which a test counts.
const stopTime = 3 * time.Second
