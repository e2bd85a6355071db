package planner

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// Planner turns an utterance into a decision. It may be slow (a model); it is called outside the owner's goroutine.
type Planner interface {
	Plan(ctx context.Context, in turn.Input) (turn.Decision, error)
}

// IDs are the ids that a compiled plan must carry.
type IDs struct {
	WorkflowID string
	PlanID     string
}

// Store keeps the planner's records. *store.Store is one; see there for what Update promises.
type Store interface {
	Update(ctx context.Context, do func(*store.Tx) error) error
	View(ctx context.Context, do func(*store.Tx) error) error
}

// Options are what a Server is made of. Planner, Compile, Dial, Store and HTTP are required.
type Options struct {
	Planner Planner
	// Compile turns the device steps of a decision into a plan, by the catalog only.
	Compile func(turn.Input, turn.Decision, IDs) (*wire.Plan, error)
	// Check names all faults of a plan against the catalog, with the rooms that the device reported (none: the catalog's). Nil:
	// only the shape is checked here, the rest by the device.
	Check func(wire.Plan, []wire.Room) []wire.Fault

	// Decide answers a question of a device; false: not at all, so that the device takes its default. It is called while the question
	// is being kept, and must be quick. Nil: by the policy table.
	Decide func(Asked) (wire.Decision, bool)
	// Consult answers what Decide did not, with one of the question's Choices; false: not at all. It may be slow (a model): it is called
	// when the question is on disk, outside the owner's goroutine, until the question's deadline. Nil: such questions go unanswered.
	Consult func(context.Context, Asked) (wire.Decision, bool)

	// Agents carry out cloud steps, and answer turns that need nothing of the robot. Nil: such steps stay pending, and the planner's own
	// words are said.
	Agents Agents

	// Dial opens the byte stream to the broker; called once per connection.
	Dial     func(context.Context) (net.Conn, error)
	ClientID string // default "plannerd-" and a new id; two clients with one id kick each other out
	Username string
	Password Secret

	Store     Store
	HTTP      net.Listener
	Token     Secret // bearer token; beyond loopback HTTP needs it, or TLS that asks clients for certificates, or both
	TLS       TLSFiles
	AllowJSON bool // read JSON from devices as well; what is sent stays in Encoding
	Encoding  wire.Encoding
	Signing   ed25519.PrivateKey // signs what is sent to devices; needs CBOR. Nil: nothing is signed
	Log       zerolog.Logger

	Home  *time.Location // where the devices are: times of day that people say are of this zone, unless a turn names another; default Asia/Seoul
	Now   func() time.Time
	NewID func() string    // UUIDv7
	Ticks <-chan time.Time // drives re-sends and expiry; default: each second
	Pace  int              // for labs: re-sends, and every time-out of the link to the broker, are so many times shorter; 0: 1
}

// paced is a wait towards the broker or a device.
func (o *Options) paced(d time.Duration) time.Duration { return d / time.Duration(max(o.Pace, 1)) }

// Secret is text that must not be printed.
type Secret string

// String hides the text.
func (Secret) String() string { return "(secret)" }

// GoString hides the text.
func (Secret) GoString() string { return "(secret)" }

// DefaultHome is the zone of a home of which nobody says where it is.
const DefaultHome = "Asia/Seoul"

// Bounds of the endpoint. Source: docs/contract.md and docs/planner-api.md.
const (
	unackedPlans   = 20               // plans a device may have unanswered: a broker's queue drops silently beyond its limit
	openPerDevice  = 256              // unanswered messages kept for a device; more are refused with queue_full
	resendAfter    = 60 * time.Second // an unanswered down message is sent again
	defaultTTL     = 300 * time.Second
	expiryGrace    = 60 * time.Second // a published plan's answer may be on its way when the plan expires
	receiptDelay   = 20 * time.Millisecond
	receiptRefs    = 200 // ids in one receipt
	intakeBatch    = 64  // up messages in one commit
	inboxSize      = 1024
	quarantineADay = 20      // unreadable messages kept of a device in 24 h; later ones are counted
	quarantineCopy = 4 << 10 // bytes kept of an unreadable message
	closeAtHello   = 64
	maxHeld        = 1024 // workflows under an earlier epoch that a hello looks through
	planTimeout    = 20 * time.Second
	messageDays    = 30  // as long as a device keeps its results
	recordDays     = 120 // workflows, turns and what was sent: longer than a device remembers ids (90), so that a repeat is known here
	pruneEvery     = time.Hour
	pruneBatch     = 1000
)

// deviceLimits are the limits of plans that pass through here; the device has its own, at most these.
var deviceLimits = wire.Limits{Steps: 1024}

func (o *Options) complete() error {
	missing := []struct {
		name string
		gone bool
	}{
		{"Planner", o.Planner == nil}, {"Compile", o.Compile == nil}, {"Dial", o.Dial == nil},
		{"Store", o.Store == nil}, {"HTTP", o.HTTP == nil},
	}
	var errs []error
	for _, m := range missing {
		if m.gone {
			errs = append(errs, fmt.Errorf("%s is missing", m.name))
		}
	}
	if o.Encoding == "" {
		o.Encoding = wire.CBOR
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Home == nil {
		home, err := time.LoadLocation(DefaultHome)
		if err != nil {
			errs = append(errs, fmt.Errorf("home is missing, and %s is not known here: %w", DefaultHome, err))
		}
		o.Home = home
	}
	if o.NewID == nil {
		o.NewID = newUUID
	}
	if o.ClientID == "" {
		o.ClientID = "plannerd-" + o.NewID()
	}
	if o.Signing != nil && o.Encoding != wire.CBOR {
		errs = append(errs, fmt.Errorf("signing needs messages in CBOR, and they are to be %s", o.Encoding))
	}
	if err := o.TLS.validate(); err != nil {
		errs = append(errs, err)
	}
	if o.HTTP != nil && o.Token == "" && !o.TLS.mutual() && !loopback(o.HTTP.Addr()) {
		errs = append(errs, fmt.Errorf("listening on %s is open to others and needs a token or certificates of clients", o.HTTP.Addr()))
	}
	return errors.Join(errs...)
}

// loopback says whether only this machine can reach an address. What it does not know is not loopback.
func loopback(addr net.Addr) bool {
	switch a := addr.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

func newUUID() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic("internal error: no randomness: " + err.Error()) // the Go runtime itself stops before this
	}
	return id.String()
}

// ms is how moments are stored.
func ms(t time.Time) int64 { return t.UnixMilli() }

// stamp is how moments are sent and shown: RFC 3339 with milliseconds, UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// stampMS shows a stored moment; empty for never.
func stampMS(at int64) string {
	if at == 0 {
		return ""
	}
	return stamp(time.UnixMilli(at))
}
