package rules

import (
	"slices"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// ourTools are a registry of our own.
var ourTools = []turn.Tool{
	{Name: "book_restaurant_table", Description: "식당의 자리를 예약한다.", Required: []string{"restaurant_location", "reservation_date", "number_of_people"}},
	{Name: "get_bus_arrival", Description: "정류장에 버스가 도착할 시각을 조회한다.", Required: []string{"station"}},
	{Name: "convert_usd_to_krw", Description: "미국 달러(USD)를 원화(KRW)로 환전한 값을 반환한다.", Required: []string{"amount_usd"}},
	{Name: "sendMessage", Description: "받는 사람에게 메시지를 보낸다.", Required: []string{"receiver", "message"}},
	{Name: "deleteMemo", Description: "저장된 메모를 삭제한다.", Required: []string{"memo_id"}},
	{Name: "recommendPlaylist", Description: "기분에 맞는 플레이리스트를 추천한다.", Required: nil},
}

func TestChooseTool(t *testing.T) {
	p := planner(t)
	user := func(text string) turn.Message { return turn.Message{Role: "user", Content: text} }
	bot := func(text string) turn.Message { return turn.Message{Role: "assistant", Content: text} }
	called := turn.Message{Role: "assistant", Called: true}
	for _, tc := range []struct {
		name    string
		dialog  []turn.Message
		outcome string
		tool    string
		missing []string
	}{
		{"all is said", []turn.Message{user("모레 양재역 식당 네 명 예약해 줘")}, turn.Call, "book_restaurant_table", nil},
		{"two are missing", []turn.Message{user("내일 식당 예약해 줘")}, turn.Ask, "book_restaurant_table", []string{"restaurant_location", "number_of_people"}},
		{"an answer", []turn.Message{user("버스 언제 오는지 알려 줘"), bot("어느 정류장인가요?"), user("시민회관")}, turn.Call, "get_bus_arrival", nil},
		{"a tool that changes is not for looking", []turn.Message{user("메모 좀 찾아 줘")}, turn.None, "", nil},
		{"a tool that looks is not for changing", []turn.Message{user("버스 도착 알림 지워 줘")}, turn.None, "", nil},
		{"the other way round", []turn.Message{user("5만 원을 원화에서 달러로 환전하면 얼마야?")}, turn.None, "", nil},
		{"right way round", []turn.Message{user("30달러는 원화로 얼마야?")}, turn.Call, "convert_usd_to_krw", nil},
		{"another case", []turn.Message{user("30달러는 원화로 얼마야?"), called, {Role: "tool", Content: "{}"}, bot("41,000원이에요."), user("50달러는?")}, turn.Call, "convert_usd_to_krw", nil},
		{"thanks", []turn.Message{user("30달러는 원화로 얼마야?"), called, {Role: "tool", Content: "{}"}, bot("41,000원이에요."), user("아 그렇구나 고마워")}, turn.None, "", nil},
		{"nothing written", []turn.Message{user("지수한테 메시지 보내 줘")}, turn.Ask, "sendMessage", []string{"message"}},
		{"a quotation chooses no tool", []turn.Message{user("'메모 삭제했어'라고 지수한테 메시지 보내 줘")}, turn.Call, "sendMessage", nil},
		{"what no tool does", []turn.Message{user("이번 주말 날씨 알려 줘")}, turn.None, "", nil},
		{"nothing needed", []turn.Message{user("우울한데 플레이리스트 하나 추천해 줘")}, turn.Call, "recommendPlaylist", nil},
		{"nobody said anything", nil, turn.None, "", nil},
	} {
		c := p.ChooseTool(ourTools, tc.dialog)
		if c.Outcome != tc.outcome || c.Tool != tc.tool || !slices.Equal(c.Missing, tc.missing) {
			t.Errorf("%s: %s %s, %v missing %v", tc.name, c.Outcome, c.Tool, c.Slots, c.Missing)
		}
	}
}

func FuzzChooseTool(f *testing.F) {
	p := planner(f)
	for _, said := range []string{"", "에", "'", "https://", "1-2", "a_b", "라고", ":"} {
		f.Add(said, "user_id")
	}
	f.Fuzz(func(t *testing.T, said, param string) {
		c := p.ChooseTool([]turn.Tool{{Name: "get_" + param, Description: said, Required: []string{param}}}, []turn.Message{{Role: "user", Content: said}})
		if (c.Outcome == turn.Call) != (c.Tool != "" && len(c.Missing) == 0) || (c.Outcome == turn.None) != (c.Tool == "") {
			t.Errorf("%q: %+v", said, c)
		}
	})
}
