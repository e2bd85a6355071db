package schedule

import (
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

const (
	deadlineGrace = 10 * 60 * 1000 // ms
	maxDeadline   = 25 * 60 * 60 * 1000
	minutesOfADay = 24 * 60
	msOfAMinute   = 60 * 1000
)

// Template makes a compiled plan one that the device keeps for set times. It never expires by itself, and an occurrence has time until
// the schedule's end.
func Template(p *wire.Plan, wish *turn.ScheduleWish) {
	if wish.Schedule == nil {
		return
	}
	s := *wish.Schedule
	w := &p.Workflow
	w.Schedule, w.TTLMS, w.ExpiresAt = &s, 0, ""
	if lasts := window(s); lasts > 0 {
		w.DeadlineMS = min(maxDeadline, max(w.DeadlineMS, int64(lasts)*msOfAMinute+deadlineGrace))
	}
	for _, r := range p.Requests { // without a link the robot says it by itself
		if kind, _ := r.Params["kind"].V.(string); r.Skill != Skill || kind != Reminder {
			continue
		}
		if text, ok := r.Params["text"].V.(string); ok && len(p.Prefetch) == 0 {
			p.Prefetch = []wire.Part{{Part: Reminder, Position: 1, Text: text}}
		}
	}
}

// window is how many minutes a schedule lasts; 0: it has no end.
func window(s wire.Schedule) int {
	at, err := time.Parse("15:04", s.At)
	end, badEnd := time.Parse("15:04", s.EndAt)
	if err != nil || badEnd != nil {
		return 0
	}
	minutes := int(end.Sub(at).Minutes())
	if minutes <= 0 {
		minutes += minutesOfADay
	}
	return minutes
}
