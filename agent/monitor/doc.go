// Package monitor lets the cloud look on for a while: monitor leases come in, telemetry goes out. It is a room at the edge. A lease
// is no part of any plan, is never stored and costs no commit; it is gone after a restart, ends by itself, and nobody looks on without
// one. The room reads the task manager's state as any onlooker does and changes nothing. Contract: docs/contract.md, section 1.
package monitor

import (
	"context"
	"sync"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// Bounds of a lease. Source: docs/contract.md, section 1.
const (
	FloorMS       = 1000     // between two messages, whatever the lease asks for
	MessageBytes  = 32 << 10 // of one message
	maxWorkflows  = 200
	maxSteps      = 1024 // of all workflows of one message
	maxHolders    = 64
	rememberedIDs = 16 // leases whose answer is given again to a repeat
)

// Agent is what the room looks at; taskmanager.Manager is one.
type Agent interface {
	Inspect(ctx context.Context, f func(*core.State, core.Now)) error
	Watch() (*taskmanager.Watch, func())
	Waiting() int
	Epoch() string
}

// Options are the room's parts. All must be set.
type Options struct {
	Agent    Agent
	Clock    taskmanager.Clock
	DeviceID string
	Encoding wire.Encoding
	Decode   func(payload []byte) (wire.Envelope, *wire.Ack) // the refusal of what is no lease for this device
	NewID    func() string
	Log      zerolog.Logger
}

// Room takes leases and makes telemetry. Create it with New, run it with Run.
type Room struct {
	o     Options
	asked chan struct{} // to Run: the lease has changed
	ready chan struct{} // to the link: there is something to send

	mu    sync.Mutex
	lease *lease   // nil: nobody looks on
	seq   int64    // highest of a lease that was applied
	said  []answer // to the latest leases
	next  *Message // the latest telemetry that was not sent
}

// lease is one permission to send.
type lease struct {
	id       string
	ends     int64 // boot ms
	interval int64 // ms
	made     int64 // messages so far
}

// answer is what a lease was told.
type answer struct {
	message string
	ack     wire.Ack
}

// Message is one message up that no store has.
type Message struct {
	ID   string
	Type wire.Type
	Body []byte
}

// New makes a room without a lease.
func New(o Options) *Room {
	return &Room{o: o, asked: make(chan struct{}, 1), ready: make(chan struct{}, 1)}
}

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
