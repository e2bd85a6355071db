package cloudlink

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/bridge/wire"
)

// A week without a broker leaves four thousand rows. They leave in order, each once, at a pace that bounds what a fleet does to its
// broker; and what comes afterwards leaves at once.
func TestF37_AWeekOfRowsLeavesInOrderAndNotAtOnce(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.broker.SetDown(true)
		var want []string
		for i := range 4_000 {
			want = append(want, fmt.Sprintf("row-%05d", i))
		}
		time.Sleep(7 * 24 * time.Hour)
		l.device.add(want...)
		l.broker.SetDown(false)
		for hellos := len(l.hellos()); len(l.hellos()) == hellos; {
			time.Sleep(time.Second)
		}
		l.online()
		begun := time.Now()
		for took := 0; l.device.open() > 0; { // a planner that receipts four times a second
			time.Sleep(250 * time.Millisecond)
			synctest.Wait()
			if n := len(l.arrived()); n > took {
				var refs []string
				for _, m := range l.arrived()[took:] {
					refs = append(refs, m.id)
				}
				took = n
				l.receipt(wire.Receipt{Refs: refs})
				synctest.Wait()
			}
			if time.Since(begun) > 10*time.Minute {
				t.Fatalf("%d rows are left after ten minutes", l.device.open())
			}
		}
		up := l.arrived()
		var got []string
		for i, m := range up {
			got = append(got, m.id)
			if most := drainBurst + 50; i >= most && m.at.Sub(up[i-most].at) < time.Second {
				t.Fatalf("more than %d rows left within a second", most)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d rows came, not the %d in their order", len(got), len(want))
		}
		time.Sleep(10 * time.Second)
		l.device.add("fresh-1", "fresh-2")
		synctest.Wait()
		if n := len(l.arrived()); n != len(want)+2 {
			t.Errorf("%d of 2 fresh rows left at once", n-len(want))
		}
	})
}

type arrival struct {
	id string
	at time.Time
}

// arrived lists the rows at the witness.
func (l *lab) arrived() (out []arrival) {
	for _, m := range l.witness.Messages() {
		if m.Topic == prefix+"up/result" {
			out = append(out, arrival{string(m.Payload), m.At})
		}
	}
	return out
}

// A link that flaps has one burst, not one with each connection.
func TestF42_ALinkThatFlapsDoesNotBeginEachTimeWithABurst(t *testing.T) {
	p := pace{every: drainEvery}
	now := time.Unix(1_000_000, 0)
	sent := 0
	for range 10 { // connections, half a second each
		w := newWindow(time.Minute, &p, new(suspects))
		var rows []Row
		for i := range windowRows {
			rows = append(rows, Row{Seq: int64(i + 1), ID: fmt.Sprint(i)})
		}
		w.refresh(rows)
		for end := now.Add(500 * time.Millisecond); now.Before(end); {
			r, ok := w.pick(now)
			if ok {
				sent++
				w.published(r.ID, now)
				delete(w.flying, r.ID)
				continue
			}
			at := w.due(false)
			if !at.After(now) {
				t.Fatalf("nothing leaves, and the next look is at once: %v", at.Sub(now))
			}
			now = at
		}
	}
	if most := drainBurst + 5*50 + 10; sent > most || sent < most-30 {
		t.Errorf("%d rows in five seconds, want some %d", sent, most)
	}
}
