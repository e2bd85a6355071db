package agents

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	documents "deviceagent/packaging/documents"
)

func answer(t *testing.T, a *Agents, said string, d turn.Decision) (string, []Did, bool) {
	t.Helper()
	return a.Answer(context.Background(), in(said), d)
}

// 오늘 비 오는지 확인하고, 오면 우산 챙기라고 알려줘
func umbrella() turn.Decision {
	return turn.Decision{OwnerSelection: turn.FRG, Steps: []turn.Step{
		{ID: "s1", Route: turn.FRG, ExecutionTarget: "cloud", Skill: SkillBrief, Params: wire.Object{"topic": {V: "weather"}, "when": {V: "today"}}, OutputKey: "weather"},
		{ID: "s2", Route: turn.SCH, ExecutionTarget: "cloud", Skill: SkillRest, Params: wire.Object{"kind": {V: "notice"}, "text": {V: "우산 챙기세요."}}, DependsOn: after("s1"),
			InputFrom: &wire.InputFrom{Visible: []string{"weather"}}, When: &wire.Condition{Ref: "weather.rain", Op: "eq", Value: wire.Value{V: true}}},
	}}
}

func TestUmbrella(t *testing.T) {
	dry := strings.NewReplacer("[61,0]", "[0,0]", "[80,0]", "[10,0]", "[4.2,0]", "[0,0]").Replace(forecastJSON)
	unknown := `{"daily":{"time":["2026-11-30"],"temperature_2m_max":[9],"temperature_2m_min":[1]}}`
	for _, tc := range []struct {
		name, forecast     string
		want, not          string
		state, reason      string
		lookedUp, withFeed bool
	}{
		{"rain", forecastJSON, "우산 챙기세요.", "", completed, "", true, true},
		{"dry", dry, "비 올 확률은 10퍼센트", "우산", skipped, conditionFalse, true, true},
		{"nobody knows", unknown, "판단할 수 없었어요", "우산 챙기세요", failed, "context_missing", true, true},
		{"no weather", "oops", "읽을 수 없어서", "우산", skipped, "dependency_failed", false, true},
		{"no source", "", "설정되어 있지 않아서", "우산", skipped, "dependency_failed", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := Sources{}
			if tc.withFeed {
				src.WeatherURL = serve(t, text(tc.forecast))
			}
			said, did, ok := answer(t, build(t, src), "오늘 비 오는지 확인하고, 오면 우산 챙기라고 알려줘", umbrella())
			if !ok || !strings.Contains(said, tc.want) || tc.not != "" && strings.Contains(said, tc.not) {
				t.Errorf("said %q", said)
			}
			if len(did) != 2 || did[1].State != tc.state || did[1].ReasonCode != tc.reason || (did[0].RetrievedAt != "") != tc.lookedUp {
				t.Errorf("did %+v", did)
			}
		})
	}
}

// 보통 교통이 안 좋은 곳을 알아보고 오늘 그곳 정보를 알려줘: each step once, in order, what was found goes on.
func TestCloudOnlyDAG(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		text(`<rss><channel><item><title>올림픽대로 잠실 방향 정체</title></item><item><title>내부순환로 홍제 정체</title></item></channel></rss>`)(w, r)
	})
	a := build(t, Sources{Feeds: []Feed{{"교통", url}}})
	d := turn.Decision{OwnerSelection: turn.FRG, Steps: []turn.Step{
		{ID: "s3", ExecutionTarget: "cloud", Skill: SkillRest, Params: wire.Object{"kind": {V: "compose"}}, DependsOn: after("s2"), InputFrom: &wire.InputFrom{Params: map[string]string{"text": "info.text"}}},
		{ID: "s1", ExecutionTarget: "cloud", Skill: SkillBrief, Params: wire.Object{"topic": {V: "traffic"}}, OutputKey: "places"},
		{ID: "s2", ExecutionTarget: "cloud", Skill: SkillBrief, Params: wire.Object{"topic": {V: "traffic"}}, OutputKey: "info", DependsOn: after("s1"), InputFrom: &wire.InputFrom{Params: map[string]string{"query": "places.text"}}},
	}}
	said, did, ok := answer(t, a, "보통 교통이 안 좋은 곳을 알아보고 오늘 그곳 정보를 알려줘", d)
	if !ok || len(did) != 3 || did[0].StepID != "s1" || did[2].StepID != "s3" || did[2].State != completed || asked.Load() != 2 {
		t.Fatalf("did %+v after %d requests", did, asked.Load())
	}
	if strings.Count(said, "올림픽대로") != 1 || !strings.HasPrefix(said, "교통 소식이에요.") {
		t.Errorf("said %q", said)
	}
	d.Steps[2].InputFrom.Params["query"] = "places.nothing"
	if _, did, _ = answer(t, a, "…", d); did[1].ReasonCode != "input_invalid" || did[2].ReasonCode != "dependency_failed" {
		t.Errorf("an input that is not there: %+v", did)
	}
}

func TestSingleTurns(t *testing.T) {
	a := build(t, Sources{WeatherURL: serve(t, text(forecastJSON)), Places: []Place{{"서울", 37.57, 126.98}}, Feeds: []Feed{{"뉴스", serve(t, text(feedXML))}}, Documents: documents.Files})
	for _, tc := range []struct {
		said   string
		family turn.Family
		want   string
	}{
		{"오늘 날씨 어때", turn.FRG, "비가 오겠어요"},
		{"내일 비 와?", turn.FRG, "내일 서울 날씨는 맑아요"},
		{"주요 뉴스 알려줘", turn.FRG, "한강 다리"},
		{"부산 내일 날씨 알려줘", turn.FRG, "부산의 위치를 몰라서"},
		{"제주도는 지금 비 와?", turn.FRG, "제주도의 위치를 몰라서"},
		{"서울은 비 와?", turn.FRG, "서울에 비가"},
		{"주말에 비 와?", turn.FRG, "그날의 날씨는 알 수 없어요"},
		{"다음 주 날씨 어때", turn.FRG, "그날의 날씨는 알 수 없어요"},
		{"12월 24일 날씨", turn.FRG, "그날의 날씨는 알 수 없어요"},
		{"어제 날씨 어땠어", turn.FRG, "그날의 날씨는 알 수 없어요"},
		{"12월 1일 날씨", turn.FRG, "내일 서울 날씨는 맑아요"},
		{"미세먼지 예보 알려줘", turn.FRG, "없었어요"},
		{"what is the weather like today?", turn.FRG, "Today 서울: rain."},
		{"요즘 볼만한 영화 추천해줘", turn.FRG, "없었어요"},
		{"필터는 언제 갈아야 해", turn.DQR, "여섯 달에 한 번"},
		{"청정은 어떻게 켜는지 방법 알려줘", turn.DQR, "청정 시작해 줘"},
		{"너 이름이 뭐야", turn.DQR, "정해진 이름은 없어요"},
		{"배터리는 어디서 충전해", turn.DQR, "충전대"},
		{"로켓 엔진 분사구 온도가 궁금해", turn.DQR, "찾지 못했어요"},
		{"오늘 좀 힘들었어", turn.DEF, ""},
		{"고마워", turn.DEF, ""},
	} {
		said, did, ok := answer(t, a, tc.said, turn.Decision{OwnerSelection: tc.family})
		if !ok || said == "" || !strings.Contains(said, tc.want) {
			t.Errorf("%s: %q %+v", tc.said, said, did)
		}
		if again, _, _ := answer(t, a, tc.said, turn.Decision{OwnerSelection: tc.family}); again != said {
			t.Errorf("%s: %q, and then %q", tc.said, said, again)
		}
	}
	for subtype, want := range map[string]string{"STT_NULL_HARD": "네?", "STT_NULL_GENERIC": "처음부터 다시", "STT_NULL_SOFT": "문장 전체를", "": "처음부터 다시"} {
		if said, _, ok := answer(t, a, "높은 장게", turn.Decision{OwnerSelection: turn.STTNull, STTNullSubtype: subtype}); !ok || !strings.Contains(said, want) {
			t.Errorf("%s: %q", subtype, said)
		}
	}
	for name, d := range map[string]turn.Decision{
		"a refusal":                  {OwnerSelection: turn.UNS},
		"an order":                   {OwnerSelection: turn.ODL},
		"a question back":            {OwnerSelection: turn.FRG, AskFollowUp: true},
		"a slot that is open":        {OwnerSelection: turn.FRG, MissingSlots: []string{"place"}},
		"a control":                  {OwnerSelection: turn.DEF, Control: &wire.Control{}},
		"a model's own words":        {OwnerSelection: turn.DEF, TTSResponse: "저도 그 노래 알아요."},
		"an answer to what was said": {OwnerSelection: turn.DEF, TTSResponse: "알겠어요. 다시 여쭤보지 않을게요."},
		"an answer to the robot":     {OwnerSelection: turn.DEF, Answers: &turn.Answers{}},
		"a schedule half said":       {OwnerSelection: turn.FRG, Slots: &turn.Slots{}},
		"a wish about schedules":     {OwnerSelection: turn.SCH, Schedule: &turn.ScheduleWish{}},
		"a plan that is revised":     {OwnerSelection: turn.FRG, Revises: &turn.Revises{}},
		"entertainment of no story":  {OwnerSelection: turn.ETR},
	} {
		if said, _, ok := answer(t, a, "무엇", d); ok {
			t.Errorf("%s was answered with %q", name, said)
		}
	}
}

func TestDocumentsInEnglish(t *testing.T) {
	a := build(t, Sources{Documents: documents.Files})
	said, _, _ := a.Answer(context.Background(), turn.Input{Text: "how do I change the filter?", Locale: "en-US", Now: now}, turn.Decision{OwnerSelection: turn.DQR})
	if !strings.Contains(said, "open the cover") || !strings.Contains(said, "(source: Robot manual, Filter change and care)") {
		t.Errorf("%q", said)
	}
	if out := do(t, build(t, Sources{}), SkillRest, map[string]any{"kind": "product_answer", "query": "필터"}); out.Reason != ReasonNoDocuments {
		t.Errorf("%+v", out)
	}
}

// A document is text like any other that came from outside: bounded, and told as words.
func TestDocumentsOfStrangers(t *testing.T) {
	files := fstest.MapFS{
		"a.md":     {Data: []byte("# <b>문서</b>\n\n세탁 <script>x()</script> 방법은 \u202e차가운 물이에요.\n\n" + strings.Repeat("긴 글 ", 500))},
		"b.txt":    {Data: []byte("")},
		"huge.txt": {Data: make([]byte, documentBytes+1)},
	}
	l := newLibrary(files)
	if len(l.passages) != 2 || len([]rune(l.passages[1].text)) > passageRunes {
		t.Fatalf("%d passages", len(l.passages))
	}
	if out := l.answer("세탁 방법", "ko-KR"); out.Text != "세탁 방법은 차가운 물이에요. (출처: 문서)" {
		t.Errorf("%+v", out)
	}
}

func TestOpenContent(t *testing.T) {
	for said, want := range map[string]string{"퀴즈 내줘": "quiz", "동화 들려줘": "story", "옛날이야기 해 줘": "story", "수수께끼 내 봐": "quiz", "끝말잇기 하자": ""} {
		d := OpenContent(in(said), turn.Decision{OwnerSelection: turn.STM})
		switch {
		case want == "" && (len(d.Steps) > 0 || !strings.Contains(d.TTSResponse, "아직 못 해요")):
			t.Errorf("%s: %+v", said, d)
		case want != "" && (len(d.Steps) != 1 || d.Steps[0].Skill != SkillContent || d.Steps[0].Params["kind"].V != want):
			t.Errorf("%s: %+v", said, d.Steps)
		}
	}
	planned := turn.Decision{OwnerSelection: turn.STM, Steps: []turn.Step{{ID: "a"}}, TTSResponse: "…"}
	for name, d := range map[string]turn.Decision{"planned": planned, "of another": {OwnerSelection: turn.DEF}, "asked": {OwnerSelection: turn.STM, AskFollowUp: true}} {
		if got := OpenContent(in("퀴즈 내줘"), d); len(got.Steps) != len(d.Steps) || got.TTSResponse != d.TTSResponse {
			t.Errorf("%s was changed: %+v", name, got)
		}
	}
}
