package schedule_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
)

// home is the planner as it serves, and a clock: Monday, 30 November 2026, 10:00 in Seoul.
type home struct {
	t     *testing.T
	plan  *pipeline.Planner
	now   time.Time
	kept  []turn.Kept
	slots *turn.Slots
	spoke []string
	n     int
}

func newHome(t *testing.T) *home {
	t.Helper()
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		t.Fatal(err)
	}
	return &home{t: t, plan: pipeline.New(rules.New(cat, words), cat, words), now: time.Date(2026, 11, 30, 10, 0, 0, 0, seoul)}
}

// fresh is the same home with nothing kept or said.
func (h *home) fresh() *home {
	return &home{t: h.t, plan: h.plan, now: h.now}
}

// hear is one turn; what it leaves open and what it wants of schedules is kept as the endpoint does.
func (h *home) hear(text string) turn.Decision {
	h.t.Helper()
	h.n++
	id := fmt.Sprintf("w%d", h.n)
	d, err := h.plan.Plan(context.Background(), turn.Input{TurnID: id, Text: text, Now: h.now, Around: turn.Around{Slots: h.slots, Schedules: h.kept, Spoken: h.spoke}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.slots, h.spoke = d.Slots, nil
	if d.Schedule == nil {
		return d
	}
	switch w := d.Schedule; w.Verb {
	case "create":
		h.kept = append(h.kept, turn.Kept{WorkflowID: id, State: "accepted", Utterance: text, Function: w.Function, What: w.What, Schedule: *w.Schedule})
		h.spoke = []string{id}
	case "change":
		for i := range h.kept {
			if h.kept[i].WorkflowID == w.Targets[0] {
				h.kept[i].Schedule = *w.Schedule
			}
		}
		h.spoke = w.Targets
	case "cancel":
		h.kept = slices.DeleteFunc(h.kept, func(k turn.Kept) bool { return slices.Contains(w.Targets, k.WorkflowID) })
	}
	return d
}

// brief is a decision in one line: what is scheduled and when, or what is asked.
func brief(d turn.Decision) string {
	if d.AskFollowUp {
		return "asks " + strings.Join(d.MissingSlots, " ")
	}
	w := d.Schedule
	if w == nil {
		if len(d.Steps) > 0 || d.Control != nil {
			return "acts now"
		}
		return "nothing"
	}
	if w.Verb != "create" && w.Verb != "change" {
		return strings.TrimSpace(w.Verb + " " + strings.Join(w.Targets, " "))
	}
	return w.Verb + " " + w.Function + " " + when(*w.Schedule)
}

func when(s wire.Schedule) string {
	day := s.On
	if len(s.Days) > 0 {
		day = strings.Join(s.Days, ",")
	}
	if day == "mon,tue,wed,thu,fri,sat,sun" {
		day = "daily"
	}
	at := s.At
	if s.EndAt != "" {
		at += "-" + s.EndAt
	}
	if s.Until != nil {
		at += " until " + *s.Until
	}
	return day + " " + at
}

// One sentence, with nothing open: what is scheduled, and when. It is Monday, 10:00.
func TestSentences(t *testing.T) {
	const clean, move = "startBasicAirClear", "setMoveTo"
	for _, tc := range []struct{ said, want string }{
		{"매일 저녁 7시에 거실 청정 예약해줘", "create " + clean + " daily 19:00"},
		{"평일 아침 8시부터 9시까지 청정해줘", "create " + clean + " mon,tue,wed,thu,fri 08:00-09:00"},
		{"내일 오후 3시에 안방으로 가", "create " + move + " 2026-12-01 15:00"},
		{"다음 주 화요일 오전 10시에 청정해줘", "create " + clean + " 2026-12-08 10:00"},
		{"30분 뒤에 청정 예약해줘", "create " + clean + " 2026-11-30 10:30"},
		{"한 시간 반 뒤에 거실 청정 예약해 줘", "create " + clean + " 2026-11-30 11:30"},
		{"저녁 여섯시에 청정 켜줘", "create " + clean + " 2026-11-30 18:00"},
		{"새벽 다섯시 반에 청정 켜줘", "create " + clean + " 2026-12-01 05:30"},
		{"월수금 오후 4시에 청정하도록 예약해줘", "create " + clean + " mon,wed,fri 16:00"},
		{"화목 밤 9시에 야간모드 켜도록 예약해 줘", "create setNightMode tue,thu 21:00"},
		{"매주 토요일 오전 11시에 서재 청정 예약 부탁해", "create " + clean + " sat 11:00"},
		{"주말마다 아침 아홉 시에 청정 예약 걸어줘", "create " + clean + " sat,sun 09:00"},
		{"월요일부터 금요일까지 저녁 6시에 청정 예약해 줘", "create " + clean + " mon,tue,wed,thu,fri 18:00"},
		{"12월 24일 오후 5시에 거실로 가도록 예약해줘", "create " + move + " 2026-12-24 17:00"},
		{"모레 정오에 청정해줘", "create " + clean + " 2026-12-02 12:00"},
		{"오늘 자정에 화면 꺼줘", "asks start_time"}, // it is over, and "오늘 밤 12시" would be tomorrow
		{"매일 밤 10시부터 아침 6시까지 청정 예약", "create " + clean + " daily 22:00-06:00"},
		{"매일 22시에 충전하러 가도록 예약해줘", "create returnToStation daily 22:00"},
		{"매일 18:00부터 19:30까지 거실 청정해줘", "create " + clean + " daily 18:00-19:30"},
		{"매일 07:30에 청정 예약해줘", "create " + clean + " daily 07:30"},
		{"평일 오후 네시부터 여섯시까지 청정 예약 잡아줘", "create " + clean + " mon,tue,wed,thu,fri 16:00-18:00"},
		{"매일 오전 11시부터 오후 1시까지 청정해줘", "create " + clean + " daily 11:00-13:00"},
		{"매일 8시부터 오후 6시까지 청정 예약해줘", "create " + clean + " daily 08:00-18:00"},
		{"밤 9시 되면 야간모드 켜줘", "create setNightMode 2026-11-30 21:00"},
		{"아침마다 8시에 공기질 알려줘", "create getAirQuality daily 08:00"},
		{"매일저녁7시에거실청정예약해줘", "create " + clean + " daily 19:00"},
		{"6시에 청정해줘", "create " + clean + " 2026-11-30 18:00"},    // the next time that a clock shows it
		{"11시에 청정해줘", "create " + clean + " 2026-11-30 11:00"},   // likewise
		{"오늘 9시에 청정해줘", "create " + clean + " 2026-11-30 21:00"}, // the other is over
		{"오늘 11시에 청정해줘", "asks start_time"},                      // both lie ahead
		{"매일 6시에 청정 예약해줘", "asks start_time"},                    // morning or evening
		{"내일 3시에 안방으로 가", "asks start_time"},
		{"매일 청정 예약해줘", "asks start_time"},
		{"내일 청정해줘", "asks start_time"},
		{"내일 아침에 청정해줘", "asks start_time"},
		{"7시까지 청정 예약해줘", "asks start_time"},
		{"고정청정 예약해줘", "asks start_time"},
		{"예약해줘", "asks schedule_function"},
		{"내일 오후 2시에 예약해줘", "asks schedule_function"},
		{"어제 3시에 청정 예약해줘", "asks start_time"},
		{"오늘 오전 8시에 청정 예약해줘", "asks start_time"},
		{"격주 월요일 오후 3시에 청정 예약해줘", "asks start_time"}, // a device keeps days of the week, or one date
		{"매달 1일 오전 9시에 청정 예약해줘", "asks start_time"},
		{"화요일 오후 3시에 청정해줘", "create " + clean + " 2026-12-01 15:00"},
		{"월요일 오전 9시에 청정해줘", "create " + clean + " 2026-12-07 09:00"}, // today's is over
		{"매일 아침 8시에 바이탈사인 측정 예약해줘", "nothing"},                       // the catalog does not let it stand in a schedule
		{"식당 예약해줘", "asks start_time"},                               // not ours: it can be reminded of
		{"내일 저녁 7시에 식당 예약해줘", "nothing"},
		{"청정 예약하지 마", "nothing"},
		{"매일 6시에 청정 예약하지 말아줘", "nothing"},
		// reminders
		{"내일 아침 7시에 깨워줘", "create reminder 2026-12-01 07:00"},
		{"매일 아침 7시에 알람 맞춰줘", "create reminder daily 07:00"},
		{"오후 6시에 약 먹으라고 알려줘", "create reminder 2026-11-30 18:00"},
		{"30분 뒤에 약 먹으라고 알려줘", "create reminder 2026-11-30 10:30"},
		{"내일 오전 9시에 회의 있다고 알려줘", "create reminder 2026-12-01 09:00"},
		{"평일 오전 8시 반에 출근 알림 설정해줘", "create reminder mon,tue,wed,thu,fri 08:30"},
		{"내일 오후 2시 치과 일정 추가해줘", "create reminder 2026-12-01 14:00"},
		{"알람 맞춰줘", "asks start_time"},
		{"7시에 깨워줘", "create reminder 2026-11-30 19:00"},
		{"내일 오후 5시 미용실 예약 일정을 캘린더에 꼭 추가해 줘", "create reminder 2026-12-01 17:00"},
		{"모레 오전 10시에 택배 받기 할 일 목록에 넣어 주라", "create reminder 2026-12-02 10:00"},
		{"일정 등록: 이사(12월 5일 오전 9시부터 11시)", "create reminder 2026-12-05 09:00"}, // said when it begins
		{"매일 저녁 8시에 화초 물 주는 알람 설정해 줄 수 있니", "create reminder daily 20:00"},
		{"10분 타이머 맞춰줘", "create reminder 2026-11-30 10:10"},
		{"타이머 3분 설정해줘", "create reminder 2026-11-30 10:03"},
		// what is told then
		{"매일 밤 9시에 이야기 들려줘", "create content_session daily 21:00"},
		{"저녁 7시에 퀴즈 내줘", "create content_session 2026-11-30 19:00"},
		{"매일 아침 8시에 뉴스 알려줘", "create fresh_information_brief daily 08:00"},
		{"내일 아침 7시에 뉴스 요약해줘", "create fresh_information_brief 2026-12-01 07:00"},
		{"내일 날씨 알려줘", "nothing"}, // of tomorrow, and told now
		// now and later in one sentence
		{"거실 청정하고 저녁 7시에 안방으로 가", "asks "},
		{"거실로 가서 저녁 7시에 청정해줘", "asks "},
		{"거실에서 저녁 7시에 청정해줘", "create " + clean + " 2026-11-30 19:00"},
		{"이따 6시에 거실 청정 부탁해", "create " + clean + " 2026-11-30 18:00"},
		{"밤 11시에는 매너모드로 바꿔줘", "create setMannerMode 2026-11-30 23:00"}, // of a mode, not of a schedule
		{"5시 반에 복귀해", "create returnToStation 2026-11-30 17:30"},
		{"매일 오후 6시부터 30분 동안 청정해줘", "create " + clean + " daily 18:00-18:30"},
		{"금요일까지 매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00 until 2026-12-04"},
		{"고정청정으로 매일 오전 10시 예약", "create " + clean + " daily 10:00"},
		// questions, cancels and changes never create
		{"예약 뭐 있어?", "list"},
		{"청정 예약 있어", "list"},
		{"내일 예약 알려줘", "list"},
		{"알람 몇 시야", "list"},
		{"이번 주 일정 뭐야", "list"},
		{"내일 오후에 일정이 비어 있니", "list"},
		{"모레 약속이 몇 시인지 알려 줘", "list"},
		{"이번 주 일정 좀 찾아 줘", "list"},
		{"캘린더에서 치과 일정 검색해 줘", "list"},
		{"내일 아침 알람 취소해 줄 수 있니", "nothing"},
		{"매일 6시에 청정 예약했어?", "list"},
		{"저녁 7시에 청정 예약할 수 있어?", "nothing"},
		{"매일 오후 6시 청정 예약 취소해줘", "nothing"},
		{"6시 예약을 7시로 바꿔줘", "nothing"},
		{"알람 꺼줘", "nothing"},
		// fragments with nothing open
		{"6시", "nothing"},
		{"매일 오후 6시부터 7시까지", "nothing"},
		{"내일", "nothing"},
		{"오후", "nothing"},
		// orders of now stay orders of now
		{"청정해줘", "acts now"},
		{"30초 뒤에 청정해줘", "acts now"},
		// English
		{"Clean the living room every day at 7 pm", "create " + clean + " daily 19:00"},
		{"schedule cleaning on weekdays from 8 am to 9 am", "create " + clean + " mon,tue,wed,thu,fri 08:00-09:00"},
		{"Remind me to take my pills at 8 am", "create reminder 2026-12-01 08:00"},
		{"wake me up tomorrow at 7 am", "create reminder 2026-12-01 07:00"},
		{"schedule cleaning every day at 6", "asks start_time"},
		{"what schedules are there?", "list"},
	} {
		if got := brief(newHomeOf(t).hear(tc.said)); got != tc.want {
			t.Errorf("%s\n\tgives %q, want %q", tc.said, got, tc.want)
		}
	}
}

var shared *home

func newHomeOf(t *testing.T) *home {
	if shared == nil {
		shared = newHome(t)
	}
	h := shared.fresh()
	h.t = t
	return h
}
