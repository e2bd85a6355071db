package cloudlink

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/broker"
)

// poison is a row on which the broker closes.
func (d *device) poison(id string) {
	d.mu.Lock()
	d.rows = append(d.rows, Row{Seq: int64(len(d.rows) + 1), ID: id, Type: "poison", Body: []byte(id)})
	d.mu.Unlock()
	d.signal()
}

// allergic makes the broker close on each poison row without an acknowledgement, and count.
func (l *lab) allergic(closes *int) {
	l.broker.Swallow(func(client, topic string) bool {
		if topic != prefix+"up/poison" {
			return false
		}
		*closes++
		go l.broker.Cut(client)
		return true
	})
}

// answered keeps the link online for a while, whatever happens to its connections.
func (l *lab) answered(d time.Duration) {
	for range d / time.Second {
		time.Sleep(time.Second)
		synctest.Wait()
		if h := l.hellos(); l.link.State().Reason == ReasonHello && h[len(h)-1].Nonce != "" {
			l.receipt(wire.Receipt{Nonce: h[len(h)-1].Nonce})
			synctest.Wait()
		}
	}
}

// A row on which the broker closes again and again is set aside, and those before and behind it go, each once and in their order.
func TestARowOnWhichTheBrokerClosesHoldsUpNobody(t *testing.T) {
	bubble(t, func(l *lab) {
		closes := 0
		l.allergic(&closes)
		l.online()
		l.device.add("a", "b")
		l.device.poison("p")
		l.device.add("c", "d")
		l.answered(30 * time.Minute)
		seen := l.rowsSeen()
		for _, id := range []string{"a", "b", "c", "d"} {
			if !slices.Contains(seen, id) {
				t.Errorf("%s did not come through: %q", id, seen)
			}
		}
		if closes < asideFrom || closes > asideFrom+alonesFrom {
			t.Errorf("the broker had to close %d times", closes)
		}
		l.want(Online, "")
		if n := l.link.State().SetAside; n != 1 {
			t.Errorf("%d set aside", n)
		}
		if l.device.open() != 5 {
			t.Error("the row has left the outbox")
		}
		before := closes
		l.device.add("e")
		l.answered(time.Minute)
		if !slices.Contains(l.rowsSeen(), "e") || closes != before {
			t.Errorf("what came later did not go, or the bad row is tried again at once (%d more)", closes-before)
		}
		l.broker.Swallow(nil)
		l.answered(2 * time.Hour)
		l.device.add("f")
		l.answered(time.Minute)
		if !slices.ContainsFunc(l.witness.Messages(), func(m broker.Message) bool { return m.Topic == prefix+"up/poison" }) {
			t.Error("it is never tried again")
		}
	})
}

// A line that breaks under many rows is no reason to suspect one of them for long.
func TestRowsThatWereOnABrokenLineAreNotSetAside(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		for range 3 * asideFrom {
			l.broker.Cut(deviceID)
			l.answered(2 * time.Minute)
		}
		l.want(Online, "")
		if n := l.link.State().SetAside; n != 0 {
			t.Errorf("%d set aside", n)
		}
	}, "a", "b", "c")
}

func TestNotMoreRowsAreSetAsideThanCanBeBad(t *testing.T) {
	s := newSuspects()
	now := time.Unix(0, 0)
	for n := range 2 * asideMax {
		for range asideFrom {
			s.closed([]string{uuid7(7, n)}, now, asideFor)
		}
	}
	if len(s.aside) != asideMax {
		t.Errorf("%d set aside, at most %d may be", len(s.aside), asideMax)
	}
}
