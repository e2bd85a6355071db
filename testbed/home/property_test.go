package home_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"deviceagent/testbed/home"
)

var (
	someRooms   = []string{"living_room", "kitchen", "study", "space_1", "balcony", "dock"}
	someFaults  = []string{"", "", "", "setMoveTo:stuck", "setMoveTo:ignore_cancel", "setMoveTo:fail_after=4s", "setMoveTo:hang", "setMoveTo:mute", "startBasicAirClear:fail_after=30s", "startBasicAirClear:stuck", "setMoveTo:lie_done", "duplicate_events", "delay_events=2s", "reorder", "no_reading", "deaf"}
	someActions = map[string]func(*rapid.T, *propertyRig){
		"invoke": func(t *rapid.T, p *propertyRig) {
			method := rapid.SampledFrom(home.Methods()).Draw(t, "method")
			p.h.Invoke(p.now, p.id(t), method, params{
				"position": rapid.SampledFrom(someRooms).Draw(t, "room"), "on": rapid.Bool().Draw(t, "on"), "text": "안녕",
				"mode": rapid.SampledFrom([]string{"fixed", "all", "zone"}).Draw(t, "mode"), "duration_min": float64(rapid.IntRange(1, 3).Draw(t, "minutes")),
			})
		},
		"move": func(t *rapid.T, p *propertyRig) {
			p.h.Invoke(p.now, p.id(t), "setMoveTo", params{"position": rapid.SampledFrom(someRooms).Draw(t, "room")})
		},
		"cancel": func(t *rapid.T, p *propertyRig) { p.h.Cancel(p.now, p.id(t)) },
		"pause":  func(t *rapid.T, p *propertyRig) { p.h.Pause(p.now, p.id(t)) },
		"resume": func(t *rapid.T, p *propertyRig) { p.h.Resume(p.now, p.id(t)) },
		"query":  func(t *rapid.T, p *propertyRig) { p.h.Query(p.now, p.id(t)) },
		"press": func(t *rapid.T, p *propertyRig) {
			p.h.Press(p.now, rapid.SampledFrom(home.Buttons()).Draw(t, "button"))
		},
		"push":  func(t *rapid.T, p *propertyRig) { p.h.MoveByHand(p.now, rapid.SampledFrom(someRooms).Draw(t, "room")) },
		"lift":  func(_ *rapid.T, p *propertyRig) { p.h.Lift(p.now) },
		"place": func(t *rapid.T, p *propertyRig) { p.h.Place(p.now, rapid.SampledFrom(someRooms).Draw(t, "room")) },
		"vital": func(_ *rapid.T, p *propertyRig) { p.h.CompleteVital(p.now) },
		"fault": func(t *rapid.T, p *propertyRig) {
			p.h.Fault(p.now, "x", rapid.SampledFrom([]string{"minor", "critical"}).Draw(t, "severity"))
		},
		"clear": func(_ *rapid.T, p *propertyRig) { p.h.ClearFault(p.now) },
		"say":   func(_ *rapid.T, p *propertyRig) { p.h.Say(p.now, "멈춰") },
		"battery": func(t *rapid.T, p *propertyRig) {
			p.h.SetBattery(p.now, float64(rapid.IntRange(0, 100).Draw(t, "percent")))
		},
		"restart": func(_ *rapid.T, p *propertyRig) { p.h.Restart(p.now, false) },
		"faults": func(t *rapid.T, p *propertyRig) {
			var f home.Faults
			if text := rapid.SampledFrom(someFaults).Draw(t, "faults"); text != "" {
				if err := f.Add(text); err != nil {
					t.Fatal(err)
				}
			}
			p.h.SetFaults(p.now, f)
		},
	}
)

type propertyRig struct {
	h       *home.Home
	log     []home.Entry
	now     time.Duration
	context map[string]any
}

func (p *propertyRig) id(t *rapid.T) string {
	return fmt.Sprintf("t%d", rapid.IntRange(0, 9).Draw(t, "task"))
}

// wait lets time pass and follows the pushed context. A push must never differ from a read of the same moment.
func (p *propertyRig) wait(t *rapid.T, ms int) {
	end := p.now + time.Duration(ms)*time.Millisecond
	for {
		at, ok := p.h.NextChange()
		if ok && at < p.now {
			t.Fatalf("next change at %v, now %v", at, p.now)
		}
		if !ok || at > end {
			at = end
		}
		p.now = at
		for _, e := range p.h.Advance(at) {
			for _, v := range e.Context {
				p.context[v.Key] = v.Value
			}
		}
		if at == end {
			break
		}
	}
	for _, v := range p.h.Snapshot() {
		if p.context[v.Key] != v.Value {
			t.Fatalf("t=%v: %s reads %v and was pushed as %v", p.now, v.Key, v.Value, p.context[v.Key])
		}
	}
}

// Whatever people, faults and callers do: no two motions at once, no task moves twice, starts and ends pair, the pushed context
// is the true one, and the next change never lies in the past.
func TestNothingMovesTwiceWhateverHappens(t *testing.T) {
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range someActions {
			if !yield(n) {
				return
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := &propertyRig{context: map[string]any{}}
		p.h = home.New(home.Flat(), home.Options{Log: func(e home.Entry) { p.log = append(p.log, e) }})
		for _, v := range p.h.Snapshot() {
			p.context[v.Key] = v.Value
		}
		for range rapid.IntRange(1, 40).Draw(t, "actions") {
			name := rapid.SampledFrom(names).Draw(t, "action")
			someActions[name](t, p)
			if rapid.Bool().Draw(t, "waits") {
				p.wait(t, rapid.SampledFrom([]int{0, 1, 100, 400, 5000, 70000}).Draw(t, "ms"))
			}
		}
		p.h.Press(p.now, "stop")
		p.wait(t, 400000)
		if faults := home.CheckLog(p.log); len(faults) > 0 {
			t.Fatalf("%q", faults)
		}
		for _, m := range home.Movements(p.log) {
			if !m.Ended || m.EndMS < m.StartMS {
				t.Fatalf("a motion outlived the red button: %+v", m)
			}
		}
		for i := 1; i < len(p.log); i++ {
			if p.log[i].TMS < p.log[i-1].TMS {
				t.Fatalf("the log goes back at %d", i)
			}
		}
	})
}

// The same calls give the same log: a scenario can be told again.
func TestSameCallsSameLog(t *testing.T) {
	tell := func() string {
		var log []home.Entry
		h := home.New(home.Flat(), home.Options{Log: func(e home.Entry) { log = append(log, e) }})
		h.Invoke(0, "a", "setMoveTo", params{"position": "study"})
		h.Invoke(0, "b", "startBasicAirClear", params{"duration_min": 3.0})
		h.Advance(20 * time.Second)
		h.MoveByHand(20*time.Second, "kitchen")
		out := h.Advance(10 * time.Minute)
		return fmt.Sprintf("%+v %d", log, len(out))
	}
	if a, b := tell(), tell(); a != b {
		t.Fatalf("%s\n%s", a, b)
	}
}
