package schedule_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// Turns after one another: what was left open is filled, left, or passed over; a schedule is found again by its words.
func TestTurns(t *testing.T) {
	const clean = "startBasicAirClear"
	for _, tc := range []struct {
		name  string
		turns []string // said, what follows
	}{
		{"slots over two turns, and taken back", []string{"고정청정 예약해줘", "asks start_time", "매일 오후 6시부터 7시까지", "create " + clean + " daily 18:00-19:00", "취소해줘", "cancel w2", "예약 뭐 있어?", "list"}},
		{"day, hour, half of the day", []string{"거실 청정 예약해줘", "asks start_time", "내일", "asks start_time", "6시", "asks start_time", "오후요", "create " + clean + " 2026-12-01 18:00"}},
		{"what first, then when", []string{"예약해줘", "asks schedule_function", "청정", "asks start_time", "주말마다 아침 9시", "create " + clean + " sat,sun 09:00"}},
		{"when first, then what", []string{"매일 저녁 8시에 예약해줘", "asks schedule_function", "서재 청정", "create " + clean + " daily 20:00"}},
		{"said again as a whole", []string{"청정 예약해줘", "asks start_time", "매일 저녁 6시에 청정해줘", "create " + clean + " daily 18:00"}},
		{"the room with the answer", []string{"청정 예약해줘", "asks start_time", "매일 저녁 6시에 거실에서", "create " + clean + " daily 18:00"}},
		{"the part of the day stays", []string{"매일 아침에 청정 예약해줘", "asks start_time", "7시", "create " + clean + " daily 07:00"}},
		{"left", []string{"청정 예약해줘", "asks start_time", "아니야 됐어", "nothing", "매일 오후 6시", "nothing"}},
		{"cancelled before it was made", []string{"청정 예약해줘", "asks start_time", "취소해줘", "nothing", "매일 오후 6시", "nothing"}},
		{"a question in between", []string{"청정 예약해줘", "asks start_time", "지금 공기 어때?", "acts now", "매일 오후 6시", "create " + clean + " daily 18:00"}},
		{"an order of its own in between", []string{"청정 예약해줘", "asks start_time", "내일 오후 3시에 안방으로 가줘", "create setMoveTo 2026-12-01 15:00"}},
		{"everything stopped ends it too", []string{"청정 예약해줘", "asks start_time", "다 그만", "acts now", "매일 오후 6시", "nothing"}},
		{"a time that is over is asked again", []string{"오늘 오전 8시에 청정 예약해줘", "asks start_time", "내일 오전 8시", "create " + clean + " 2026-12-01 08:00"}},
		{"what is not kept is asked again", []string{"격주 월요일 오후 3시에 청정 예약해줘", "asks start_time", "매주 월요일 오후 3시", "create " + clean + " mon 15:00"}},
		{"a reminder in place of what is not ours", []string{"식당 예약해줘", "asks start_time", "내일 오후 5시", "create reminder 2026-12-01 17:00"}},
		{"moved right after", []string{"매일 오후 6시부터 7시까지 거실 청정 예약해줘", "create " + clean + " daily 18:00-19:00", "7시로 바꿔줘", "change " + clean + " daily 19:00-20:00"}},
		{"moved by its time", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "내일 오후 3시에 안방으로 가", "create setMoveTo 2026-12-01 15:00",
			"6시 예약을 7시로 바꿔줘", "change " + clean + " daily 19:00"}},
		{"moved to another day", []string{"내일 오후 3시에 안방으로 가", "create setMoveTo 2026-12-01 15:00", "내일 예약을 모레로 미뤄줘", "change setMoveTo 2026-12-02 15:00"}},
		{"moved, the time asked", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "청정 예약 바꿔줘", "asks start_time", "8시", "change " + clean + " daily 20:00"}},
		{"one of several by its number", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "평일 아침 8시에 청정 예약해줘", "create " + clean + " mon,tue,wed,thu,fri 08:00",
			"청정 예약 취소해줘", "asks target", "두 번째", "cancel w2"}},
		{"one of several by its time", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "평일 아침 8시에 청정 예약해줘", "create " + clean + " mon,tue,wed,thu,fri 08:00",
			"청정 예약 취소해줘", "asks target", "6시 거", "cancel w1"}},
		{"everything stopped while it is asked which", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "평일 아침 8시에 청정 예약해줘", "create " + clean + " mon,tue,wed,thu,fri 08:00",
			"청정 예약 취소해줘", "asks target", "다 그만", "acts now", "청정 예약 취소해줘", "asks target", "전부 멈춰", "acts now", "청정 예약 취소해줘", "asks target", "전부 취소해줘", "cancel w1 w2"}},
		{"all of several", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "평일 아침 8시에 청정 예약해줘", "create " + clean + " mon,tue,wed,thu,fri 08:00",
			"예약 전부 취소해줘", "cancel w1 w2"}},
		{"an alarm is no cleaning", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "내일 아침 7시에 깨워줘", "create reminder 2026-12-01 07:00", "알람 꺼줘", "cancel w2"}},
		{"none fits", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "9시 예약 취소해줘", "nothing"}},
		{"the only one, when nothing runs", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "고마워", "nothing", "취소해줘", "cancel w1"}},
		{"from a later day on", []string{"청정 예약해줘", "asks start_time", "내일부터 매일 오후 6시", "asks confirm", "응", "create " + clean + " daily 18:00"}},
		{"two times at once", []string{"청정 예약해줘", "asks start_time", "평일엔 오후 6시, 주말엔 오전 8시", "asks start_time", "평일 오후 6시", "create " + clean + " mon,tue,wed,thu,fri 18:00"}},
		{"how long", []string{"청정 예약해줘", "asks start_time", "매일 오후 6시부터 한 시간 동안", "create " + clean + " daily 18:00-19:00"}},
		{"put off", []string{"매일 오후 6시부터 7시까지 청정 예약해줘", "create " + clean + " daily 18:00-19:00", "청정 예약 한 시간 미뤄줘", "change " + clean + " daily 19:00-20:00", "예약 30분 당겨줘", "change " + clean + " daily 18:30-19:30"}},
		{"corrected", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "아니 7시로", "change " + clean + " daily 19:00"}},
		{"other days", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "예약을 주말에만 하도록 바꿔줘", "change " + clean + " sat,sun 18:00"}},
		{"ways to take it back", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "방금 한 거 취소", "cancel w1", "매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00",
			"예약 없던 걸로 해줘", "cancel w3", "매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "6시 예약 취소할래", "cancel w5"}},
		{"ways to ask", []string{"매일 오후 6시에 청정 예약해줘", "create " + clean + " daily 18:00", "예약 좀 보여줘", "list", "예약 목록 알려줘", "list", "나 예약한 거 있나", "list", "예약된 게 뭐야", "list"}},
		{"pointed at", []string{"금요일 오후 두 시에 서재로 가", "create setMoveTo 2026-12-04 14:00", "아 그거 세시로", "change setMoveTo 2026-12-04 15:00", "고마워", "nothing", "그거 네 시로 바꿔", "change setMoveTo 2026-12-04 16:00"}},
		{"an order is no answer to which", []string{"매일 밤 9시에 청정 예약해줘", "create " + clean + " daily 21:00", "주말 아침 8시에 서재 청정 예약해줘", "create " + clean + " sat,sun 08:00", "청정 예약 취소해줘", "asks target",
			"한 시간 있다가 청정 꺼줘", "acts now", "청정 켜줘", "acts now", "밤 9시 거", "cancel w1"}},
		{"a condition is not dropped", []string{"내일 눈 오면 6시에 깨워줘", "asks ", "내일 오전 6시에 깨워줘", "create reminder 2026-12-01 06:00", "내일 오후 5시에 라면 사라고 알려줘", "create reminder 2026-12-01 17:00"}},
		{"to be told, said first or as 하다", []string{"20분 뒤에 알려줘 국 불 끄라고", "create reminder 2026-11-30 10:20", "매일 아침 9시에 물 마시라고 해줘", "create reminder daily 09:00"}},
		{"English", []string{"schedule cleaning", "asks start_time", "every day from 6 pm to 7 pm", "create " + clean + " daily 18:00-19:00", "cancel the cleaning schedule", "cancel w2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHomeOf(t)
			for i := 0; i < len(tc.turns); i += 2 {
				if got := brief(h.hear(tc.turns[i])); got != tc.turns[i+1] {
					t.Fatalf("%s gives %q, want %q", tc.turns[i], got, tc.turns[i+1])
				}
			}
		})
	}
}

// While a schedule with an end is at work, a bare cancel means the work, and the schedule stays.
func TestACancelDuringTheWorkMeansTheWork(t *testing.T) {
	h := newHomeOf(t)
	h.hear("매일 오후 6시부터 7시까지 청정 예약해줘")
	h.spoke, h.now = nil, h.now.AddDate(0, 0, 1).Add(8*60*60*1e9) // 18:00 on the day after
	if d := h.hear("취소해줘"); d.Control == nil || d.Schedule != nil {
		t.Errorf("%s %+v", brief(d), d.Schedule)
	}
}

// What is said of a schedule is about what will be, names day and half of the day, and never that it is done.
func TestWhatIsSaid(t *testing.T) {
	for _, tc := range []struct{ said, want string }{
		{"매일 오후 6시부터 7시까지 청정 예약해줘", "네, 매일 오후 6시부터 7시까지 청정할게요. 로봇에 예약을 전할게요."},
		{"저녁 여섯시에 청정 켜줘", "네, 오늘 오후 6시에 청정할게요. 로봇에 예약을 전할게요."},
		{"내일 아침 7시에 깨워줘", "네, 내일 오전 7시에 '일어날 시간이에요.' 하고 알려 드릴게요. 로봇에 예약을 전할게요."},
		{"매일 6시에 청정 예약해줘", "오전 6시인가요, 오후 6시인가요?"},
		{"다음 주 화요일 낮 12시에 청정해줘", "네, 12월 8일 화요일 정오에 청정할게요. 로봇에 예약을 전할게요."},
		{"식당 예약해줘", "'식당'은 제가 할 수 있는 일이 아니에요. 그 시간에 알려 드릴 수는 있어요. 언제 알려 드릴까요?"},
		{"예약 뭐 있어?", "예약이 없어요."},
	} {
		if got := newHomeOf(t).hear(tc.said).TTSResponse; got != tc.want {
			t.Errorf("%s\n\tsays %s\n\twant %s", tc.said, got, tc.want)
		}
	}
	d, err := newHomeOf(t).plan.Plan(t.Context(), turn.Input{Text: "매일 오후 6시에 청정 예약해줘", Now: newHomeOf(t).now, Around: turn.Around{Link: "link_lost"}})
	if want := "네, 매일 오후 6시에 청정할게요. 로봇과 연결되면 예약을 전할게요."; err != nil || d.TTSResponse != want {
		t.Errorf("without a link says %s (%v), want %s", d.TTSResponse, err, want)
	}
	h := newHomeOf(t)
	h.hear("매일 오후 6시에 거실 청정 예약해줘")
	for _, tc := range []struct{ said, want string }{
		{"예약 뭐뭐 있지?", "예약이 하나 있어요. 매일 오후 6시 거실로 이동, 청정."},
		{"꽃밭 예약 있어?", "말씀하신 예약은 찾지 못했어요. 있는 예약은 이래요. 매일 오후 6시 거실로 이동, 청정."},
		{"6시 예약을 7시 30분으로 바꿔줘", "네, '매일 오후 6시 거실로 이동, 청정' 예약을 매일 오후 7시 30분으로 바꿀게요."},
		{"예약을 6시로 바꿔줘", "네, '매일 오후 7시 30분 거실로 이동, 청정' 예약을 매일 오후 6시로 바꿀게요."},
	} {
		if got := h.hear(tc.said).TTSResponse; got != tc.want {
			t.Errorf("%s\n\tsays %s\n\twant %s", tc.said, got, tc.want)
		}
	}
	h.kept[0].State = "sent"
	if got, want := h.hear("예약 있어?").TTSResponse, "예약이 하나 있어요. 매일 오후 6시 거실로 이동, 청정 (로봇의 답을 기다리는 중)."; got != want {
		t.Errorf("says %s, want %s", got, want)
	}
}

// What runs until an end is told to run a little longer, and no longer than it may: the end is the schedule's stop, with its evidence.
func TestTheEndIsTheSchedulesStop(t *testing.T) {
	for _, tc := range []struct {
		said string
		want any
	}{{"매일 오후 6시부터 7시까지 청정 예약해줘", 70.0}, {"매일 오후 1시부터 6시까지 청정 예약해줘", 180.0}, {"매일 오후 6시에 청정 예약해줘", nil},
		{"매일 오후 6시부터 7시까지 20분 동안 청정 예약해줘", 20.0}} {
		d := newHomeOf(t).hear(tc.said)
		if len(d.Steps) != 1 || d.Steps[0].Params["duration_min"].V != tc.want {
			t.Errorf("%s: steps %+v, want duration_min %v", tc.said, d.Steps, tc.want)
		}
	}
}

// Whatever is said in whatever order: a question, a cancel and a change never create; a fragment without open slots neither.
func TestNothingIsScheduledThatNobodyAskedFor(t *testing.T) {
	whats := []string{"청정", "거실 청정", "안방으로 가기", "야간모드", "약", "회의", ""}
	whens := []string{"매일 오후 6시", "내일 아침 8시", "평일 9시부터 10시까지", "6시", "오후", "주말", "30분 뒤", ""}
	kinds := map[string][]string{
		"question": {"%s %s 예약 있어?", "%s %s 예약했어?", "%s %s 예약 언제야", "%s %s 예약 뭐 있어", "%s %s 알람 몇 시야?", "%s %s 예약 됐니?"},
		"cancel":   {"%s %s 예약 취소해줘", "%s %s 예약 지워줘", "%s %s 알람 삭제해 줘", "%s %s 예약 없애줘", "%s %s 예약 취소"},
		"change":   {"%s %s 예약 바꿔줘", "%s %s 예약을 7시로 변경해줘", "%s %s 알람 시간 수정해줘"},
		"fragment": {"%s"},
	}
	rnd := rand.New(rand.NewPCG(7, 11))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	for _, kind := range []string{"question", "cancel", "change", "fragment"} {
		for range 400 {
			said := strings.Replace(pick(kinds[kind]), "%s", pick(whens), 1)
			said = strings.Join(strings.Fields(strings.Replace(said, "%s", pick(whats), 1)), " ")
			if said == "" {
				continue
			}
			h := newHomeOf(t)
			if rnd.IntN(2) == 0 { // also beside schedules that are kept
				h.hear("매일 오후 6시에 청정 예약해줘")
				h.hear("내일 아침 8시에 깨워줘")
			}
			if rnd.IntN(2) == 0 && kind != "fragment" { // and with something open
				h.hear("고정청정 예약해줘")
			}
			before := len(h.kept)
			d := h.hear(said)
			if made := d.Schedule != nil && d.Schedule.Verb == "create"; made || len(h.kept) > before {
				t.Fatalf("the %s %q made %s", kind, said, brief(d))
			}
			if kind == "question" && len(h.kept) != before {
				t.Fatalf("the question %q took one away", said)
			}
		}
	}
}

// The same turn gives the same decision, and leaves what it was given alone.
func TestTheSameTurnGivesTheSame(t *testing.T) {
	for _, said := range []string{"매일 오후 6시", "취소해줘", "예약 뭐 있어?", "6시 예약을 7시로 바꿔줘"} {
		h := newHomeOf(t)
		h.hear("매일 오전 6시에 청정 예약해줘")
		h.hear("거실 청정 예약해줘")
		open := *h.slots
		a := h.fresh()
		a.kept, a.slots = slices.Clone(h.kept), h.slots
		b := h.fresh()
		b.kept, b.slots = slices.Clone(h.kept), h.slots
		x, y := a.hear(said), b.hear(said)
		if brief(x) != brief(y) || x.TTSResponse != y.TTSResponse {
			t.Errorf("%s gives %s and %s", said, brief(x), brief(y))
		}
		if !slices.Equal(open.Missing, h.slots.Missing) || open.Start != h.slots.Start || open.Request != h.slots.Request {
			t.Errorf("%s changed what it was given: %+v", said, h.slots)
		}
	}
}

// Without a clock nothing is planned, and that is said.
func TestWithoutAClock(t *testing.T) {
	h := newHomeOf(t)
	d, err := h.plan.Plan(t.Context(), turn.Input{Text: "매일 오후 6시에 청정 예약해줘"})
	if err != nil || d.Schedule != nil || len(d.Steps) > 0 || d.OwnerSelection != turn.SCH || !strings.Contains(d.TTSResponse, "지금 시각") {
		t.Errorf("%v %+v", err, d)
	}
}
