package cloudlink

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// eyes is an onlooker that always has something new.
type eyes struct {
	mu    sync.Mutex
	ready chan struct{}
	took  int
	n     int
	given []string
}

func newEyes() *eyes { return &eyes{ready: make(chan struct{}, 1)} }

func (e *eyes) Take(payload []byte) (Loose, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.took++
	return Loose{ID: uuid7(8, e.took), Type: "ack", Body: append([]byte("ack of "), payload...)}, nil
}

func (e *eyes) Ready() <-chan struct{} { return e.ready }

func (e *eyes) Next() (Loose, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.n == 0 {
		return Loose{}, false
	}
	return Loose{ID: uuid7(9, e.n), Type: "telemetry", Body: fmt.Appendf(nil, "t%d", e.n)}, true
}

func (e *eyes) Sent(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.given = append(e.given, id)
	if id == uuid7(9, e.n) {
		e.n = 0
	}
}

// show makes picture n the latest.
func (e *eyes) show(n int) {
	e.mu.Lock()
	e.n = n
	e.mu.Unlock()
	select {
	case e.ready <- struct{}{}:
	default:
	}
}

// said is what the witness has heard beside rows and hellos.
func (l *lab) said() string {
	var out []string
	for _, m := range l.witness.Messages() {
		if text := string(m.Payload); m.Topic == prefix+"up/ack" || m.Topic == prefix+"up/telemetry" {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

func TestALeaseIsAnsweredBesideTheOutbox(t *testing.T) {
	watchedBy(t, newEyes, func(l *lab) {
		l.online()
		l.down("monitor", []byte("L1"))
		l.down("monitor", []byte("L2"))
		synctest.Wait()
		if got := l.said(); got != "ack of L1, ack of L2" {
			t.Fatalf("said %q", got)
		}
		if l.device.open() != 0 || len(l.device.taken()) != 0 {
			t.Fatal("a lease went through the store")
		}
		l.eyes.show(1)
		synctest.Wait()
		time.Sleep(time.Hour) // nothing of it is sent again
		if got := l.said(); got != "ack of L1, ack of L2, t1" {
			t.Fatalf("said %q", got)
		}
	})
}

// The line acknowledges nothing: one message is on it, and the next is the latest, not the one after.
func TestTelemetryIsNeverTwoInFlight(t *testing.T) {
	watchedBy(t, newEyes, func(l *lab) {
		l.online()
		l.broker.StallDown(deviceID, true)
		for n := 1; n <= 5; n++ {
			l.eyes.show(n)
			synctest.Wait()
		}
		if got := l.said(); got != "t1" {
			t.Fatalf("on a line without acknowledgements went %q", got)
		}
		l.device.add("a")
		synctest.Wait()
		l.wantRows("a") // it does not wait behind telemetry
		l.broker.StallDown(deviceID, false)
		synctest.Wait()
		if got := l.said(); got != "t1, t5" {
			t.Fatalf("then went %q", got)
		}
	})
}

func TestTelemetryWaitsUntilSomebodyListens(t *testing.T) {
	watchedBy(t, newEyes, func(l *lab) {
		l.eyes.show(1)
		synctest.Wait()
		if got := l.said(); got != "" {
			t.Fatalf("before the hello was answered went %q", got)
		}
		l.online()
		if got := l.said(); got != "t1" {
			t.Fatalf("went %q", got)
		}
	})
}
