package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// What is said is about what will be: a schedule exists when the device has taken it, and nobody here knows that yet.

var sentences = Sentences{
	"what":          {"무엇을 예약할까요? '매일 오후 6시에 청정'처럼 말씀해 주세요.", "What should I schedule? Say, for example, 'cleaning every day at 6 pm'."},
	"when":          {"언제 할까요? '매일 오후 6시부터 7시까지'나 '내일 오전 9시'처럼 말씀해 주세요.", "When? Say, for example, 'every day from 6 pm to 7 pm' or 'tomorrow at 9 am'."},
	"hour":          {"몇 시에 할까요?", "At what time?"},
	"half":          {"오전 %s인가요, 오후 %s인가요?", "Is that %s in the morning or in the afternoon?"},
	"past":          {"그 시간은 이미 지났어요. 언제로 할까요?", "That time is over. When should it be?"},
	"period":        {"매일, 요일마다, 또는 하루만 예약할 수 있어요. 언제로 할까요?", "I can keep a schedule for days of the week or for one date. When should it be?"},
	"end_only":      {"언제 시작할까요?", "When should it begin?"},
	"dropped":       {"네, 예약하지 않을게요.", "OK, I will not schedule it."},
	"no_clock":      {"지금 시각을 알 수 없어서 예약할 수 없어요.", "I do not know the time now, so I cannot schedule anything."},
	"none":          {"예약이 없어요.", "There is nothing scheduled."},
	"none_fits":     {"그런 예약은 없어요.", "There is no such schedule."},
	"none_fits_of":  {"말씀하신 예약은 찾지 못했어요. 있는 예약은 이래요. %s.", "I did not find that one. What is scheduled: %s."},
	"no_condition":  {"조건이 있는 알림은 예약할 수 없어요. 조건 없이 하려면 시간과 알릴 것만 다시 말씀해 주시겠어요?", "I cannot keep a reminder under a condition. Without it: what should I say, and when?"},
	"which":         {"어느 예약을 말씀하시는 건가요? %s", "Which one do you mean? %s"},
	"refused":       {"'%s' 예약은 로봇이 받아들이지 않았어요.", "The robot has not taken this one: %s."},
	"list_one":      {"예약이 하나 있어요. %s.", "There is one: %s."},
	"list":          {"예약이 %d개 있어요. %s.", "There are %d: %s."},
	"cancel":        {"네, '%s' 예약을 취소할게요.", "OK, I will cancel: %s."},
	"cancel_all":    {"네, 예약 %d개를 모두 취소할게요.", "OK, I will cancel all %d."},
	"change":        {"네, '%s' 예약을 %s 바꿀게요.", "OK, I will move '%s' to %s."},
	"change_when":   {"언제로 바꿀까요?", "When should it be then?"},
	"create":        {"네, %s %s 로봇에 예약을 전할게요.", "%s: %s I will give it to the robot."},
	"can":           {"네, '매일 오후 6시에 청정'처럼 말씀해 주시면 로봇에 예약을 전할게요.", "Yes. Say, for example, 'cleaning every day at 6 pm', and I will give it to the robot."},
	"create_later":  {"네, %s %s 로봇과 연결되면 예약을 전할게요.", "%s: %s I will give it to the robot as soon as it can be reached."},
	"one_by_one":    {"한 번에 한 가지 시간만 예약할 수 있어요. 언제부터 말씀해 주시겠어요?", "One time after the other, please. Which one first?"},
	"from_now":      {"시작하는 날은 따로 정할 수 없어요. 오늘부터 쳐서 %s 할까요?", "I cannot set the first day. Shall it be %s, from now on?"},
	"now_and_later": {"지금 할 일과 나중에 할 일은 나누어 말씀해 주시겠어요?", "Could you say separately what to do now and what later?"},
	"when_told":     {"언제 알려 드릴까요?", "When should I remind you?"},
	"cannot":        {"%s 예약할 수 없는 일이에요.", "%s cannot be scheduled."},
	"not_ours":      {"%s 제가 할 수 있는 일이 아니에요. 그 시간에 알려 드릴 수는 있어요. 언제 알려 드릴까요?", "I cannot do %s, but I can remind you. When should I?"},
	"not_ours_now":  {"%s 제가 할 수 있는 일이 아니에요. 이동, 공기 청정 같은 일과 알림은 예약할 수 있어요.", "I cannot do %s. I can schedule moving, air cleaning and reminders."},
}

func say(en bool, key string, args ...any) string { return sentences.Say(en, key, args...) }

// Sentences are said in Korean and in English, by a key.
type Sentences map[string][2]string

// Say fills a sentence; without arguments it stands as it is.
func (s Sentences) Say(en bool, key string, args ...any) string {
	text := s[key][0]
	if en {
		text = s[key][1]
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// topic quotes words as what is spoken of, with the particle that fits: '식당'은, '회의'는.
func topic(what string, en bool) string {
	quoted := "'" + what + "'"
	if en {
		return quoted
	}
	r := []rune(what)
	if len(r) > 0 && r[len(r)-1] >= '가' && r[len(r)-1] <= '힣' && (r[len(r)-1]-'가')%28 != 0 {
		return quoted + "은"
	}
	return quoted + "는"
}

// toward is a time to which something is moved, with the particle that its last sound takes: 7시로, 30분으로.
func toward(text string, en bool) string {
	r := []rune(text)
	if en || len(r) == 0 {
		return text
	}
	if final := (r[len(r)-1] - '가') % 28; r[len(r)-1] < '가' || r[len(r)-1] > '힣' || final == 0 || final == 8 { // 8: ㄹ
		return text + "로"
	}
	return text + "으로"
}

// begins is when something is done, as an adverb: "매일 오후 6시에", "매일 오후 6시부터 7시까지".
func begins(s wire.Schedule, now time.Time, en bool) string {
	text := spoken(s, now, en)
	switch {
	case en:
		return strings.ToUpper(text[:1]) + text[1:]
	case s.EndAt == "":
		return text + "에"
	}
	return text
}

// spoken is a schedule's time for people: "매일 오후 6시부터 7시까지".
func spoken(s wire.Schedule, now time.Time, en bool) string {
	if en {
		return spokenEnglish(s, now)
	}
	text := dayText(s, now) + " " + HourText(s.At)
	if s.EndAt == "" {
		return text
	}
	end := HourText(s.EndAt)
	if half, rest, ok := strings.Cut(end, " "); ok && strings.HasPrefix(HourText(s.At), half+" ") {
		end = rest
	}
	if minutesIn(s.EndAt) <= minutesIn(s.At) {
		end = "다음 날 " + HourText(s.EndAt)
	}
	return text + "부터 " + end + "까지"
}

// KoDays are the Korean names of the days of the contract.
var KoDays = map[string]string{"mon": "월", "tue": "화", "wed": "수", "thu": "목", "fri": "금", "sat": "토", "sun": "일"}

func dayText(s wire.Schedule, now time.Time) string {
	if s.On != "" {
		return dateText(s.On, now)
	}
	days := sortedDays(s.Days)
	switch strings.Join(days, " ") {
	case "mon tue wed thu fri sat sun":
		return "매일"
	case "mon tue wed thu fri":
		return "평일"
	case "sat sun":
		return "주말"
	}
	var names []string
	for _, d := range days {
		names = append(names, KoDays[d])
	}
	if len(names) == 1 {
		return "매주 " + names[0] + "요일"
	}
	return "매주 " + strings.Join(names, "·") + "요일"
}

func dateText(on string, now time.Time) string {
	for n, name := range []string{"오늘", "내일", "모레"} {
		if now.AddDate(0, 0, n).Format(time.DateOnly) == on {
			return name
		}
	}
	day, err := time.Parse(time.DateOnly, on)
	if err != nil {
		return on
	}
	return fmt.Sprintf("%d월 %d일 %s요일", day.Month(), day.Day(), KoDays[DayNames[day.Weekday()]])
}

// HourText is a time of day for people: 오후 6시 30분, 정오, 자정.
func HourText(at string) string {
	minutes := minutesIn(at)
	switch minutes {
	case 0:
		return "자정"
	case halfDay:
		return "정오"
	}
	half, h := "오전", minutes/60
	if h >= 12 {
		half = "오후"
	}
	if h = h % 12; h == 0 {
		h = 12
	}
	text := fmt.Sprintf("%s %d시", half, h)
	if m := minutes % 60; m > 0 {
		text += fmt.Sprintf(" %d분", m)
	}
	return text
}

func spokenEnglish(s wire.Schedule, now time.Time) string {
	var day string
	switch days := strings.Join(sortedDays(s.Days), " "); {
	case s.On != "" && s.On == now.Format(time.DateOnly):
		day = "today"
	case s.On != "" && s.On == now.AddDate(0, 0, 1).Format(time.DateOnly):
		day = "tomorrow"
	case s.On != "":
		if d, err := time.Parse(time.DateOnly, s.On); err == nil {
			day = d.Format("Monday, January 2")
		}
	case days == "mon tue wed thu fri sat sun":
		day = "every day"
	case days == "mon tue wed thu fri":
		day = "on weekdays"
	case days == "sat sun":
		day = "at weekends"
	default:
		var names []string
		for _, d := range sortedDays(s.Days) {
			names = append(names, time.Weekday(slices.Index(DayNames, d)).String())
		}
		day = "every " + strings.Join(names, " and ")
	}
	if s.EndAt != "" {
		return day + " from " + kitchen(s.At) + " to " + kitchen(s.EndAt)
	}
	return day + " at " + kitchen(s.At)
}

func kitchen(at string) string {
	t, err := time.Parse("15:04", at)
	if err != nil {
		return at
	}
	return strings.ToLower(t.Format("3:04 PM"))
}

// named is a kept schedule in one phrase.
func named(k turn.Kept, now time.Time, en bool) string {
	what := k.What
	if what == "" {
		what = k.Utterance
	}
	if what == "" {
		what = k.Function
	}
	return spoken(k.Schedule, now, en) + " " + what
}
