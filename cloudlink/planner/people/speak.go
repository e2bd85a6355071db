package people

import (
	"deviceagent/cloudlink/planner/schedule"
	"deviceagent/cloudlink/planner/turn"
)

var sentences = schedule.Sentences{
	"keep?":        {"'%s', 이렇게 기억해 둘까요?", "Shall I remember: '%s'?"},
	"kept":         {"네, '%s', 기억해 둘게요. 언제든 지워 달라고 하실 수 있어요.", "OK, I will remember: '%s'. You can have it erased at any time."},
	"not_kept":     {"네, 기억하지 않을게요.", "OK, I will not remember it."},
	"nothing_kept": {"기억하고 있는 것이 없어요.", "I remember nothing about you."},
	"kept_list":    {"이렇게 기억하고 있어요: %s.", "I remember: %s."},
	"erased":       {"네, %d개를 지울게요.", "OK, I will erase %d."},
	"erase_which":  {"무엇을 지울까요? 모두 지우려면 '다 지워 줘'라고 말씀해 주세요.", "What should I erase? For everything say 'erase everything'."},
	"hours?":       {"몇 시부터 몇 시까지 제안해도 될까요?", "From when to when may I offer it?"},
	"offer?":       {"%s %s, 제안해도 될까요?", "May I offer, %s, to %s?"},
	"hours_kept":   {"네, %s만 %s 제안을 드릴게요.", "OK, only %s I may offer to %s."},
	"no_hours":     {"네, 먼저 제안하지 않을게요.", "OK, I will not offer it."},
	"not_now":      {"네, 지금은 하지 않을게요.", "OK, not now."},
	"never":        {"네, 앞으로 %s 제안은 하지 않을게요.", "OK, I will never offer that again: %s."},
	"anything":     {"먼저 드리는", "anything"},
	"offer":        {"%s, 지금 할까요?", "Shall I %s now?"},
	"may_offer":    {"%s %s 제안", "to offer, %s, to %s"},
	"may_not":      {"%s 제안 안 함", "never to offer: %s"},
}

func say(en bool, key string, args ...any) string { return sentences.Say(en, key, args...) }

// Offer is how something is offered.
func Offer(what string, en bool) string { return say(en, "offer", what) }

func hoursText(h *turn.Hours, en bool) string {
	if h == nil {
		return ""
	}
	days := "매일"
	switch len(h.Days) {
	case 0, 7:
		if en {
			days = "daily"
		}
	default:
		days = ""
		for _, d := range h.Days {
			if en {
				days += d + " "
				continue
			}
			days += schedule.KoDays[d]
		}
	}
	if en {
		return days + " " + h.From + " to " + h.To
	}
	return days + " " + schedule.HourText(h.From) + "부터 " + schedule.HourText(h.To) + "까지"
}

// named is a memo in one phrase.
func named(m turn.Memo, en bool) string {
	switch m.Kind {
	case turn.MemoOffer:
		return say(en, "may_offer", hoursText(m.Hours, en), m.Text)
	case turn.MemoRefusal:
		return say(en, "may_not", m.Text)
	}
	return "'" + m.Text + "'"
}
