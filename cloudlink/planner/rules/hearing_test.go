package rules

import (
	"slices"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

func TestMisheard(t *testing.T) {
	p := planner(t)
	for _, tc := range []struct{ said, want, heard, meant string }{
		{"거실르 가", "setMoveTo(position=거실)", "르", "로"},
		{"거실로 가", "setMoveTo(position=거실)", "", ""},
		{"청점해줘", "startBasicAirClear()", "청점", "청정"},
		{"청전 켜 줘", "startBasicAirClear()", "청전", "청정"},
		{"줘방으로 가", "setMoveTo(position=주방)", "줘방", "주방"},
		{"안반으로 가 줘", "setMoveTo(position=안방)", "안반", "안방"},
		{"서제로 이동해", "setMoveTo(position=서재)", "서제", "서재"},
		{"베터리 얼마나 남았어?", "getBatteryStatus()", "베터리", "배터리"},
		{"디스플래이 꺼줘", "setScreen(on=false)", "디스플래이", "디스플레이"},
		{"거실로 가서 청종하고 안방으로 가", tour, "청종", "청정"},
		{"볼룸 30으로 맞춰 줘", "setVolume(level=30)", "볼룸", "볼륨"},
		{"안방으로 가서 바이탈싸인 측정해 줘", "setMoveTo(position=안방); startVitalSign()", "바이탈싸인", "바이탈사인"},
		{"충전데로 돌아가", "returnToStation()", "충전데", "충전대"},
	} {
		d := plan(t, p, tc.said)
		if got := short(d); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.said, got, tc.want)
		}
		at := slices.IndexFunc(d.Evidence, func(e turn.Evidence) bool { return e.Kind == "heard" })
		switch {
		case tc.heard == "" && at >= 0:
			t.Errorf("%s: was read as something else: %+v", tc.said, d.Evidence[at])
		case tc.heard != "" && (at < 0 || d.Evidence[at].Span != tc.heard || d.Evidence[at].ID != tc.meant):
			t.Errorf("%s: evidence %+v, want heard %q meant %q", tc.said, d.Evidence, tc.heard, tc.meant)
		}
		checkDecision(t, p.cat, tc.said, d)
	}
}

// TestNotMisheard: other words, two letters, or two words of ours that would do.
func TestNotMisheard(t *testing.T) {
	p := planner(t)
	for _, said := range []string{"교실로 가", "공지 확인해 줘", "정답 알려 줘", "회사로 가", "거슬러 가", "천장 봐 줘", "화분 켜 줘", "소라 꺼 줘", "요리 꺼 줘", "이름 정해 줘", "거실로 왜 안 갔어", "정전 됐어?"} {
		if d := plan(t, p, said); len(d.Steps) > 0 || d.Control != nil {
			t.Errorf("%s: acts: %s", said, short(d))
		}
	}
}

// TestEvidence: what a plan rests on is cited letter by letter, in the order of the words.
func TestEvidence(t *testing.T) {
	p := planner(t)
	const said = "청정이 끝나면 주방으로 가서 30초 뒤에 오늘 뉴스 들려주고 배터리 50 넘으면 화면 꺼 줘"
	var got []string
	for _, e := range plan(t, p, said).Evidence {
		got = append(got, e.Kind+" "+e.ID+" "+e.Span)
	}
	want := []string{"ending cond 끝나면", "event cleaning.completed 청정이 끝나면", "ending chain 가서", "time delay_ms=30000 30초 뒤에", "skill fresh_information_brief 30초 뒤에 오늘 뉴스 들려주고",
		"time today 오늘", "ending seq 들려주고", "ending cond 넘으면", "condition ctx.battery.level gt 배터리 50 넘으면", "ending request 꺼 줘", "rule each clause by itself "}
	if !slices.Equal(got, want) {
		t.Errorf("evidence\n got %q\nwant %q", got, want)
	}
}
