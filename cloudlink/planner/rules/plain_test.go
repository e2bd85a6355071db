package rules

import (
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// TestFamiliesOfPlainSentences: what people say at home, a line each, written before anybody had looked what becomes of it.
func TestFamiliesOfPlainSentences(t *testing.T) {
	p := planner(t)
	for _, tc := range []struct {
		family turn.Family
		said   []string
	}{
		{turn.DEF, []string{
			"요즘 잠이 잘 안 와",
			"오늘 발표 잘했어",
			"나 살 좀 빼야 할 것 같아",
			"비가 오니까 괜히 우울하네",
			"엄마 보고 싶다",
			"주말에 뭐 하면 좋을까",
			"친구랑 싸웠는데 어떻게 하지",
			"너랑 얘기하니까 좋다",
			"오늘 점심에 김치찌개 먹었어",
			"면접이 내일인데 너무 떨려",
			"사는 게 뭘까",
			"그냥 심심해서 불러 봤어",
			"강아지가 밥을 안 먹어서 걱정이야",
			"좋은 아침이야",
			"나 칭찬 좀 해 줘",
		}},
		{turn.FRG, []string{
			"지금 서울 미세먼지 어때",
			"이번 주말 날씨 알려 줘",
			"근처에 문 연 약국 있어?",
			"어제 야구 누가 이겼어",
			"요즘 인기 있는 드라마 뭐야",
			"달러 환율 좀 알려 줘",
			"부산 가는 기차 몇 시에 있어?",
			"김치찌개 맛집 추천해 줘",
			"오늘 주요 뉴스 들려줘",
			"지금 강남역 막혀?",
			"내일 우산 필요할까?",
			"세종대왕은 언제 태어났어?",
			"아이폰 새로 나온 거 얼마야?",
			"로또 당첨 번호 알려 줘",
		}},
		{turn.SCH, []string{
			"내일 아침 여섯 시에 깨워 줘",
			"매주 월요일 저녁에 청정 예약해 줘",
			"삼십 분 뒤에 약 먹으라고 알려 줘",
			"내 일정 좀 보여 줘",
			"알람 다 지워",
			"아까 맞춘 알람 한 시간 뒤로 미뤄 줘",
			"다음 주 화요일 세 시에 병원 예약 있다고 알려 줘",
			"매일 밤 열 시에 조용히 하라고 말해 줘",
			"알림 하나 만들어 줘 오후 두 시",
			"오늘 할 일이 뭐가 있지",
		}},
		{turn.UNS, []string{
			"티비 소리 줄여 줘",
			"냉장고에서 물 좀 가져다줘",
			"사진 찍어 줘",
			"치킨 시켜 줘",
			"아빠한테 전화 걸어",
			"불 좀 켜 줄래",
			"세탁기 돌려",
			"음악 좀 틀어 봐",
			"문 잠가 줘",
			"카톡 보내 줘 늦는다고",
			"커피 한 잔 타 줘",
			"설거지 좀 해 줘",
			"택시 불러 줘",
		}},
		{turn.ODL, []string{
			"공기청정 시작",
			"거실로 와",
			"배터리 얼마나 남았어",
			"소리 좀 키워",
			"화면 너무 밝다",
			"충전하러 가",
			"청정 그만해",
			"조용히 좀 해 줘",
			"안방 공기 좀 깨끗하게 해 줘",
		}},
		{turn.STTNull, []string{
			"그러니까 저기",
			"파란 하늘 아래",
			"음 어",
			"아까 그",
			"김 대리님 그거",
			"마지막 잎새",
			"두 번째 문장",
			"그 사람의 뒷모습",
		}},
		{turn.STM, []string{
			"재미있는 이야기 하나 해 줘",
			"수수께끼 내 볼래",
			"동화책 읽어 줘",
			"끝말잇기 하자",
		}},
	} {
		for _, said := range tc.said {
			if d := plan(t, p, said); d.OwnerSelection != tc.family || tc.family != turn.ODL && tc.family != turn.SCH && onDevice(d) {
				t.Errorf("%q: %s with %d steps, want %s", said, d.OwnerSelection, len(d.Steps), tc.family)
			}
		}
	}
}

// onDevice says whether the robot would do something.
func onDevice(d turn.Decision) bool {
	for _, s := range d.Steps {
		if s.ExecutionTarget != "cloud" {
			return true
		}
	}
	return d.Control != nil
}
