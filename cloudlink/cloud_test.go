package cloudlink

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/broker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	deviceID = "rb-0001"
	prefix   = "deviceagent/v1/rb-0001/"
	epoch    = "ep-1"
)

// device is an outbox and a receiver in memory.
type device struct {
	mu       sync.Mutex
	rows     []Row
	changed  chan struct{}
	took     []string
	receipts []wire.Receipt
	fail     error         // what Receive returns
	gate     chan struct{} // if set, Receive waits for it
	asked    int           // the most rows that Pending was asked for
	mode     string
}

func newDevice(rows ...string) *device {
	d := &device{changed: make(chan struct{}, 1)}
	d.add(rows...)
	return d
}

func (d *device) add(ids ...string) {
	d.mu.Lock()
	for _, id := range ids {
		n := int64(len(d.rows) + 1)
		d.rows = append(d.rows, Row{Seq: n, ID: id, Type: "result", Body: []byte(id)})
	}
	d.mu.Unlock()
	d.signal()
}

func (d *device) signal() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

func (d *device) Changed() <-chan struct{} { return d.changed }

func (d *device) Pending(n int) []Row {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = max(d.asked, n)
	return slices.Clone(d.rows[:min(n, len(d.rows))])
}

func (d *device) Receive(ctx context.Context, payload []byte) error {
	d.mu.Lock()
	gate, err := d.gate, d.fail
	d.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.took = append(d.took, string(payload))
	return nil
}

func (d *device) Receipted(_ context.Context, r wire.Receipt) error {
	d.mu.Lock()
	d.receipts = append(d.receipts, r)
	d.rows = slices.DeleteFunc(d.rows, func(row Row) bool { return slices.Contains(r.Refs, row.ID) })
	d.mu.Unlock()
	d.signal()
	return nil
}

func (d *device) Status() wire.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return wire.Status{AgentVersion: "test", Contract: wire.Version, Mode: d.mode}
}

func (d *device) taken() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.took)
}

func (d *device) open() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.rows)
}

// lab is a broker, a witness of everything that goes up, and a link under test with a planner that can be told what to answer.
type lab struct {
	t       *testing.T
	broker  *broker.Broker
	witness *broker.Recorder
	device  *device
	link    *Link
	stop    context.CancelFunc
	done    chan error
	nextID  int
	news    chan struct{} // the status has changed
	eyes    *eyes         // nil: leases are the receiver's
}

// bubble runs a test in virtual time with a broker and a device.
func bubble(t *testing.T, run func(*lab), rows ...string) {
	t.Helper()
	watchedBy(t, nil, run, rows...)
}

// watchedBy is a bubble with an onlooker.
func watchedBy(t *testing.T, onlooker func() *eyes, run func(*lab), rows ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &lab{t: t, broker: broker.New(), device: newDevice(rows...), done: make(chan error, 1), news: make(chan struct{}, 1)}
		defer l.broker.Close()
		l.witness = l.broker.Subscribe(prefix + "up/+")
		if onlooker != nil {
			l.eyes = onlooker()
		}
		l.start(7)
		defer l.end()
		run(l)
	})
}

func (l *lab) options() Options {
	rnd := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	n := 0
	var on Onlooker
	if l.eyes != nil {
		on = l.eyes
	}
	return Options{
		Onlooker: on,
		DeviceID: deviceID, Dial: l.broker.Dial, Outbox: l.device, Receiver: l.device, StoreEpoch: epoch,
		Log: zerolog.Nop(), Rand: rnd.Float64, StatusChanged: l.news,
		NewID: func() string { mu.Lock(); defer mu.Unlock(); n++; return uuid7(0, n) },
	}
}

// uuid7 makes a message id that the contract accepts.
func uuid7(space, n int) string { return fmt.Sprintf("0197c000-0000-7000-8000-%04x%08x", space, n) }

func (l *lab) start(startNo int64) {
	opt := l.options()
	opt.StartNo = startNo
	l.link = New(opt)
	l.run()
}

func (l *lab) run() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { l.done <- l.link.Run(ctx) }()
	synctest.Wait()
}

func (l *lab) end() {
	l.stop()
	if err := <-l.done; !errors.Is(err, context.Canceled) {
		l.t.Errorf("Run ended with %v, want the context's cause", err)
	}
	if s := l.link.State(); s.Phase != Offline || s.Reason != ReasonStopped {
		l.t.Errorf("state after the end is %s/%s", s.Phase, s.Reason)
	}
}

// hellos returns the status messages so far.
func (l *lab) hellos() (out []wire.Status) {
	for _, m := range l.witness.Messages() {
		if m.Topic == prefix+"up/status" {
			out = append(out, l.status(m.Payload))
		}
	}
	return out
}

func (l *lab) status(payload []byte) wire.Status {
	l.t.Helper()
	e, err := wire.Decode(payload, wire.Options{Direction: wire.Up})
	if err != nil {
		l.t.Fatalf("unreadable status: %v", err)
	}
	return *e.Status
}

// rowsSeen returns the ids of the outbox rows that the witness got, in order.
func (l *lab) rowsSeen() (out []string) {
	for _, m := range l.witness.Messages() {
		if strings.HasSuffix(m.Topic, "up/result") {
			out = append(out, string(m.Payload))
		}
	}
	return out
}

// down publishes a message to the device as it is.
func (l *lab) down(kind string, payload []byte) {
	l.t.Helper()
	if err := l.broker.Publish(prefix+"down/"+kind, payload, false); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) receipt(r wire.Receipt) {
	l.t.Helper()
	l.nextID++
	e := wire.Envelope{V: wire.Version, Type: wire.TypeReceipt, ID: uuid7(1, l.nextID), DeviceID: deviceID,
		SentAt: time.Now().UTC().Format(time.RFC3339), StoreEpoch: epoch, Receipt: &r}
	body, err := wire.Encode(e, wire.CBOR)
	if err != nil {
		l.t.Fatal(err)
	}
	l.down("receipt", body)
}

// answer receipts the newest hello and waits until the link is idle.
func (l *lab) answer(refs ...string) {
	l.t.Helper()
	synctest.Wait()
	h := l.hellos()
	if len(h) == 0 {
		l.t.Fatal("no hello to answer")
	}
	l.receipt(wire.Receipt{Nonce: h[len(h)-1].Nonce, Refs: refs, PlannerTime: "2026-11-30T09:00:00Z"})
	synctest.Wait()
}

// online brings the link up.
func (l *lab) online() {
	l.t.Helper()
	l.answer()
	l.want(Online, "")
}

func (l *lab) want(p Phase, r Reason) {
	l.t.Helper()
	if s := l.link.State(); s.Phase != p || s.Reason != r {
		l.t.Fatalf("state is %s/%s (%s), want %s/%s", s.Phase, s.Reason, s.Detail, p, r)
	}
}

func (l *lab) wantRows(want ...string) {
	l.t.Helper()
	synctest.Wait()
	if got := l.rowsSeen(); !slices.Equal(got, want) {
		l.t.Fatalf("the witness saw %v, want %v", got, want)
	}
}
