package people_test

import (
	"context"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/people"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
)

func at(hour, minute int) time.Time { // Monday, 30 November 2026
	return time.Date(2026, 11, 30, hour, minute, 0, 0, time.FixedZone("KST", 9*3600))
}

// An offer is made inside approved hours only; a refusal goes over every approval, and there is an hour between two.
func TestMayOffer(t *testing.T) {
	const clean = "startBasicAirClear"
	evening := turn.Memo{Kind: turn.MemoOffer, Key: clean, Hours: &turn.Hours{From: "19:00", To: "21:00"}}
	night := turn.Memo{Kind: turn.MemoOffer, Key: clean, Hours: &turn.Hours{From: "22:00", To: "02:00", Days: []string{"sun"}}}
	for _, tc := range []struct {
		name  string
		memos []turn.Memo
		last  time.Time
		now   time.Time
		want  string
	}{
		{"nobody has said yes", nil, time.Time{}, at(19, 30), people.NotApproved},
		{"yes to something else", []turn.Memo{{Kind: turn.MemoOffer, Key: "setMoveTo", Hours: evening.Hours}}, time.Time{}, at(19, 30), people.NotApproved},
		{"a preference is no approval", []turn.Memo{{Kind: turn.MemoPreference, Key: clean, Hours: evening.Hours}}, time.Time{}, at(19, 30), people.NotApproved},
		{"a minute before", []turn.Memo{evening}, time.Time{}, at(18, 59), people.OutsideHours},
		{"its first minute", []turn.Memo{evening}, time.Time{}, at(19, 0), ""},
		{"its last minute", []turn.Memo{evening}, time.Time{}, at(20, 59), ""},
		{"over", []turn.Memo{evening}, time.Time{}, at(21, 0), people.OutsideHours},
		{"no hours", []turn.Memo{{Kind: turn.MemoOffer, Key: clean}}, time.Time{}, at(19, 30), people.OutsideHours},
		{"after midnight, begun on Sunday", []turn.Memo{night}, time.Time{}, at(1, 30), ""},
		{"the night that begins on Monday", []turn.Memo{night}, time.Time{}, at(23, 0), people.OutsideHours},
		{"offered 59 minutes ago", []turn.Memo{evening}, at(19, 0), at(19, 59), people.TooSoon},
		{"offered an hour ago", []turn.Memo{evening}, at(19, 0), at(20, 0), ""},
		{"refused for good", []turn.Memo{{Kind: turn.MemoRefusal, Key: clean}, evening}, time.Time{}, at(19, 30), people.Refused},
		{"everything refused", []turn.Memo{evening, {Kind: turn.MemoRefusal}}, time.Time{}, at(19, 30), people.Refused},
		{"something else refused", []turn.Memo{{Kind: turn.MemoRefusal, Key: "setMoveTo"}, evening}, time.Time{}, at(19, 30), ""},
	} {
		if got, ok := people.MayOffer(tc.memos, clean, tc.last, tc.now); got != tc.want || ok != (tc.want == "") {
			t.Errorf("%s: %q %v, want %q", tc.name, got, ok, tc.want)
		}
	}
}

var joined *pipeline.Planner

func hear(t *testing.T, text string, a turn.Around) turn.Decision {
	t.Helper()
	if joined == nil {
		cat, words, err := catalogfile.Load(defaults.Files)
		if err != nil {
			t.Fatal(err)
		}
		joined = pipeline.New(rules.New(cat, words), cat, words)
	}
	d, err := joined.Plan(context.Background(), turn.Input{TurnID: "t", Text: text, Now: at(10, 0), Around: a})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func brief(d turn.Decision) string {
	switch {
	case d.Asks != nil && d.Asks.Hours != nil:
		return "asks " + d.Asks.Kind + " " + d.Asks.Key + " " + strings.Join(append([]string{d.Asks.Hours.From + "-" + d.Asks.Hours.To}, d.Asks.Hours.Days...), " ")
	case d.Asks != nil:
		return "asks " + d.Asks.Kind + " " + d.Asks.Text
	case d.Memo != nil && d.Memo.Memo != nil:
		return strings.TrimSpace("keeps " + d.Memo.Memo.Kind + " " + d.Memo.Memo.Key)
	case d.Memo != nil && d.Memo.Verb != "leave":
		return strings.TrimSpace(d.Memo.Verb + " " + strings.Join(d.Memo.IDs, " "))
	case len(d.Steps) > 0:
		return "acts"
	}
	return "nothing"
}

func TestWhatPeopleSay(t *testing.T) {
	pref := &turn.Asked{Kind: "preference", Text: "나는 재즈를 좋아해"}
	hours := &turn.Asked{Kind: "hours", Key: "startBasicAirClear", Text: "청정", Hours: &turn.Hours{From: "19:00", To: "21:00"}}
	offer := &turn.Asked{Kind: "offer", Key: "startBasicAirClear", Text: "청정", Request: "청정해줘"}
	memos := []turn.Memo{{ID: "m1", Kind: turn.MemoPreference, Text: "나는 재즈 좋아해"}, {ID: "m2", Kind: turn.MemoPreference, Text: "나는 매운 음식 싫어해"}}
	for _, tc := range []struct {
		said  string
		asked *turn.Asked
		memos []turn.Memo
		want  string
	}{
		{"나는 재즈를 좋아해", nil, nil, "asks preference 나는 재즈를 좋아해"},
		{"내가 매운 음식 싫어한다고 기억해 줘", nil, nil, "asks preference 내가 매운 음식 싫어한다"},
		{"please remember I like jazz", nil, nil, "asks preference i like jazz"},
		{"나는 재즈를 좋아해?", nil, nil, "nothing"},
		{"재즈 좋아해", nil, nil, "nothing"}, // of whom?
		{"응", pref, nil, "keeps preference"},
		{"네 좋아요", pref, nil, "keeps preference"},
		{"아니", pref, nil, "nothing"},
		{"아니 괜찮아", pref, nil, "nothing"},
		{"다시는 묻지 마", pref, nil, "nothing"},
		{"응", nil, nil, "nothing"},
		{"청정해줘", pref, nil, "acts"}, // an order of its own is no yes
		{"안방으로 가", pref, nil, "acts"},
		{"저녁 7시부터 9시까지 청정할지 물어봐 줘", nil, nil, "asks hours startBasicAirClear 19:00-21:00"},
		{"평일 저녁 7시부터 9시까지 청정 제안해도 돼", nil, nil, "asks hours startBasicAirClear 19:00-21:00 mon tue wed thu fri"},
		{"아침에 청정 제안해도 돼", nil, nil, "asks hours startBasicAirClear 06:00-10:00"},
		{"청정 제안해도 돼", nil, nil, "nothing"}, // when?
		{"응", hours, nil, "keeps offer startBasicAirClear"},
		{"싫어", hours, nil, "nothing"},
		{"응", offer, nil, "acts"},
		{"응 해줘", offer, nil, "acts"},
		{"나중에", offer, nil, "nothing"},
		{"아니, 다시는 묻지 마", offer, nil, "keeps refusal startBasicAirClear"},
		{"앞으로 청정 제안하지 마", nil, nil, "keeps refusal startBasicAirClear"},
		{"앞으로는 제안하지 마", nil, nil, "keeps refusal"},
		{"뭘 기억하고 있어?", nil, memos, "list"},
		{"기억한 거 다 지워 줘", nil, memos, "erase m1 m2"},
		{"재즈 좋아한다고 한 기억 지워 줘", nil, memos, "erase m1"},
		{"기억한 거 지워 줘", nil, memos, "nothing"}, // which?
	} {
		if got := brief(hear(t, tc.said, turn.Around{Asked: tc.asked, Memos: tc.memos})); got != tc.want {
			t.Errorf("%s\n\tgives %q, want %q", tc.said, got, tc.want)
		}
	}
}

// Whatever is said, with whatever open: nothing is kept but by a whole yes, or as a refusal.
func TestNothingIsKeptWithoutAYes(t *testing.T) {
	said := []string{"응?", "네가 해", "그래서 뭐", "좋아하는 색이 뭐야", "예약해줘", "아니", "음", "어디야", "네 말이 맞아 근데 싫어", "안녕", "청정해줘", "나는 커피를 좋아해", "괜찮아", "글쎄", "몰라", "그만", "다 그만", "뭐라고?"}
	for _, kind := range []string{"preference", "hours", "offer"} {
		for _, text := range said {
			d := hear(t, text, turn.Around{Asked: &turn.Asked{Kind: kind, Key: "startBasicAirClear", Text: "x", Request: "안방으로 가", Hours: &turn.Hours{From: "19:00", To: "21:00"}}})
			if d.Memo != nil && d.Memo.Verb == "keep" {
				t.Errorf("%q kept %+v while %s was asked", text, d.Memo.Memo, kind)
			}
			if len(d.Steps) > 0 && d.Steps[0].TaskMethod == "setMoveTo" {
				t.Errorf("%q was taken for a yes", text)
			}
		}
	}
}
