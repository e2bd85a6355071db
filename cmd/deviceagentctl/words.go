package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"deviceagent/agent/diag"
)

// duration writes milliseconds as people read them.
func duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case ms < 0:
		return "-" + duration(-ms)
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d m", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// maybe writes a duration that may not be known.
func maybe(ms *int64, unknown string) string {
	if ms == nil {
		return unknown
	}
	return duration(*ms)
}

func amount(n *int64, unknown string) string {
	if n == nil {
		return unknown
	}
	return fmt.Sprint(*n)
}

// size writes bytes as MiB.
func size(n *int64, unknown string) string {
	if n == nil {
		return unknown
	}
	return fmt.Sprintf("%.1f MiB", float64(*n)/(1<<20))
}

// value writes a JSON value on one line; text without its quotes.
func value(v any) string {
	if s, ok := v.(string); ok {
		return clean(s)
	}
	if v == nil {
		return "-"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return clean(string(b))
}

func params(m map[string]any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(m) != nil {
		return "{…}"
	}
	return clean(strings.TrimSpace(b.String()))
}

// clockTime writes a moment as time of day in the page's zone.
func (p page) clockTime(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return at
	}
	return t.In(p.zone).Format("15:04:05.000")
}

// dayTime writes a moment with its day.
func (p page) dayTime(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return at
	}
	return t.In(p.zone).Format("2006-01-02 15:04:05")
}

// asOf says of which moment a page is, with the offset of its times.
func (p page) asOf(a diag.AsOf) string {
	text := a.DeviceTime
	if t, err := time.Parse(time.RFC3339, a.DeviceTime); err == nil {
		text = t.In(p.zone).Format("15:04:05 -07:00")
	}
	if !a.ClockTrusted {
		text += " (clock not trusted)"
	}
	return fmt.Sprintf("seq %d, %s", a.Seq, text)
}
