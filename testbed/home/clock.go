package home

import (
	"slices"
	"time"
)

// timer fires once when the model reaches its moment.
type timer struct {
	at    int64
	order int64
	fire  func()
}

func (h *Home) after(d time.Duration, fire func()) *timer { return h.afterMS(d.Milliseconds(), fire) }

func (h *Home) afterMS(ms int64, fire func()) *timer {
	h.order++
	t := &timer{at: h.at + max(ms, 0), order: h.order, fire: fire}
	h.timers = append(h.timers, t)
	return t
}

// drop takes a timer out; nil and timers that fired are fine.
func (h *Home) drop(t *timer) {
	h.timers = slices.DeleteFunc(h.timers, func(other *timer) bool { return other == t })
}

func (h *Home) firstTimer() *timer {
	var first *timer
	for _, t := range h.timers {
		if first == nil || t.at < first.at || t.at == first.at && t.order < first.order {
			first = t
		}
	}
	return first
}

// next is the earliest moment at which something changes by itself: a timer, or a measured value that crosses a whole number.
func (h *Home) next() (int64, bool) {
	at, ok := int64(0), false
	earlier := func(candidate int64) {
		if !ok || candidate < at {
			at, ok = candidate, true
		}
	}
	if t := h.firstTimer(); t != nil {
		earlier(t.at)
	}
	if d, moves := h.battery.crossing(h.batteryRate()); moves {
		earlier(h.at + d)
	}
	if l, here := h.dust[h.room]; here && !h.unknown {
		if d, moves := l.crossing(h.dustRate(h.room)); moves {
			earlier(h.at + d)
		}
	}
	return at, ok
}

// to brings the model to now, change by change, so that every rate is constant between two of them.
func (h *Home) to(now time.Duration) {
	target := now.Milliseconds()
	for {
		at, ok := h.next()
		if !ok || at > target {
			break
		}
		h.drift(at)
		if t := h.firstTimer(); t != nil && t.at <= at {
			h.drop(t)
			t.fire()
			h.senseBattery()
		}
		h.flush()
	}
	h.drift(target)
}

// drift lets battery and dust run to a moment at which no timer lies before.
func (h *Home) drift(at int64) {
	if at <= h.at {
		return
	}
	dt := at - h.at
	battery := h.batteryRate()
	for id, l := range h.dust {
		l.run(h.dustRate(id), dt, h.dustLimit(id))
	}
	h.battery.run(battery, dt, 100)
	h.at = at
	h.senseBattery()
}

// level is a measured quantity that changes linearly. It counts in 1/3,600,000 of its unit, so that a rate in units an hour
// times milliseconds is exact.
type level struct {
	n int64
}

const perUnit = 3_600_000

// set takes the middle of a whole number, so that a level does not leave it in the next millisecond.
func (l *level) set(v float64)     { l.n = int64(v*perUnit) + perUnit/2 }
func (l *level) whole() int64      { return l.n / perUnit }
func (l *level) value() float64    { return float64(l.n) / perUnit }
func (l *level) reported() float64 { return float64(l.whole()) }

// run changes the level at rate units an hour for ms; a rising one stops at limit, a falling one at 0.
func (l *level) run(rate, ms int64, limit float64) {
	was := l.n
	l.n = max(l.n+rate*ms, 0)
	if top := int64(limit * perUnit); rate > 0 && l.n > top {
		l.n = max(top, was)
	}
}

// crossing says after how many ms the whole number changes at this rate.
func (l *level) crossing(rate int64) (int64, bool) {
	switch {
	case rate > 0:
		return ((l.whole()+1)*perUnit - l.n + rate - 1) / rate, true
	case rate < 0 && l.whole() > 0:
		return (l.n-l.whole()*perUnit)/-rate + 1, true
	}
	return 0, false
}
