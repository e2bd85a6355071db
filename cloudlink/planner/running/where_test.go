package running

import (
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// TestWhereTheRobotIsComesFromItsOwnWord: the way that it is on, a fresh context, else the last way whose end was proven, told as that; a way that
// was cancelled has ended nobody knows where.
func TestWhereTheRobotIsComesFromItsOwnWord(t *testing.T) {
	r := newRig(t)
	ago := func(text, state string, ms int64) turn.Workflow {
		w := r.under(text, state)
		w.Steps[0].AgeMS, w.AgeMS, w.Result = ms, ms, state
		return w
	}
	ended := func(w ...turn.Workflow) turn.Around { return turn.Around{Ended: w} }
	at := ended(ago("주방으로 가", "completed", 60_000))
	fresh, stale := at, at
	fresh.Device = &turn.Device{Keys: map[string]turn.Key{locationKey: {V: "안방", AgeMS: 500}}}
	stale.Device = &turn.Device{Keys: map[string]turn.Key{locationKey: {V: "안방", AgeMS: 60_000}}}
	const unknown = "제가 어디에 있는지는 아직 보고를 받지 못했어요."
	for _, tc := range []struct {
		said string
		a    turn.Around
		want string
	}{
		{"너 지금 어디야?", open(r.under("안방으로 가", "running")), "지금 안방으로 이동 중이에요."},
		{"지금 어디 있어?", at, "제가 마지막으로 도착했다고 알린 곳은 주방이에요."},
		{"어디에 있니", stale, "제가 마지막으로 도착했다고 알린 곳은 주방이에요."},
		{"where are you?", at, "The last place that I reported to have reached: kitchen."},
		{"지금 어디 있어?", fresh, "지금 안방에 있어요."},
		{"지금 어디 있어?", ended(ago("안방으로 가", "cancelled", 1000), ago("주방으로 가", "completed", 60_000)), unknown},
		{"지금 어디 있어?", ended(ago("충전대로 돌아가", "completed", 1000), ago("주방으로 가", "completed", 60_000)), "충전대로 복귀는 끝났어요."},
		{"너 어디 있어?", turn.Around{}, unknown},
		{"아까 뭐 했어?", at, "주방으로 이동은 끝났어요."},
		{"방금 뭐 했니", ended(ago("안방으로 가", "cancelled", 1000)), "안방으로 이동은 취소되어 끝까지 하지 않았어요."},
	} {
		d, _ := r.say(tc.said, tc.a)
		if d.TTSResponse != tc.want {
			t.Errorf("%q: %q, want %q", tc.said, d.TTSResponse, tc.want)
		}
		if fault := Fault(d); fault != "" {
			t.Errorf("%q: %s", tc.said, fault)
		}
		unchanged(t, d)
	}
}
