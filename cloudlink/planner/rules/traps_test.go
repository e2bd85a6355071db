package rules

import "testing"

// nothing are sentences that name things and verbs of ours, and ask for none of it: whatever is answered, no device may act.
var nothing = map[string][]string{
	"leaving": {"거실에서 나가", "거실에서 나와", "안방에서 나와서 거실로 가", "충전대에서 나와", "come from the kitchen", "move from the kitchen",
		"go from the dock", "leave the kitchen", "get out of the kitchen", "go out of the kitchen", "get me a coffee from the kitchen",
		"get me to the kitchen", "get the kitchen"},
	"what is not wanted": {"거실로 가 있지 마", "거실에 가 서 있지 마", "거실로 가서 청정하지 마", "거실로 가면서 화면 끄지 마", "청정하고 복귀하지 마", "화면 켜고 가지 마",
		"거실로 가서 청정하지 말고 공기만 확인해", "주방으로 가면 안 돼", "주방에 가지 못하게 해 줘", "청정을 켜지 않게 해 줘", "청정을 끄지 말고 계속해",
		"주방 말고는 가지 마", "청정하든지 말든지", "화면 끄거나 켜거나 해", "조용히 하지 마",
		"don't clean and go to the kitchen", "don't go to the kitchen and clean", "never go to the kitchen and turn off the screen",
		"don't go clean the kitchen", "don't go turn off the screen", "do not go to the kitchen or clean", "go anywhere but the kitchen",
		"can you please not go to the kitchen", "you don't have to go to the kitchen", "no need to go to the kitchen", "don't be quiet",
		"go to the kitchen. no wait, stop", "turn on the screen, not the sound"},
	"stopping is no start": {"심박수 측정 그만해", "공기 깨끗하게 그만해", "공기 측정 그만", "청정 시작 그만", "화면 켜는 거 그만해", "작동 중지", "측정 중지해", "충전 그만"},
	"said by or to somebody else": {"엄마가 거실로 가래", "엄마가 청정 꺼 달래", "아빠가 화면 끄라고 했어", "동생이 \"주방으로 가\"라고 했어", "거실로 가라는 말이 아니야",
		"거실로 가라고 하지 마", "나 주방으로 가", "누가 청정 켜", "내가 거실로 가라고 했어?", "거실로 간다고 해", "모두 조용히 해",
		"he told me to go to the kitchen", "mom says turn off the screen", "tell mom to go to the kitchen", "he said \"go to the kitchen\"",
		"say go to the kitchen", "I want to go to the kitchen", "let's go to the kitchen", "I didn't say go to the kitchen"},
	"asking": {"왜 주방으로 가", "청정해도 돼?", "화면 꺼도 될까", "청정 켜야 돼?", "청정 켜면 전기세 많이 나와?", "청정 켜 말아?", "갈까 말까", "화면 안 꺼?", "복귀 안 해?",
		"거실로 가는 게 어때", "청정 몇 분 남았어", "복귀하는 데 얼마나 걸려", "조용히 안 해?", "전부 취소하면 어떻게 돼", "취소할까",
		"should I turn off the screen?", "why did you go to the kitchen?", "what happens if I turn off the screen", "are you able to go to the kitchen?",
		"how do you turn off the screen?", "what does go to the kitchen mean", "would it be good to clean"},
	"other moments": {"거실로 가는 동안 화면 꺼", "청정하는 동안 화면 꺼 줘", "내가 자는 동안 화면 꺼", "거실로 가기 전에 화면 꺼", "청정 끝나기 전에 복귀해", "거실로 갈 때 화면 꺼",
		"거실로 가는데 화면 꺼", "화면 켜져 있으면 꺼줘", "주방으로 갔으면 화면 꺼", "공기 깨끗해질 때까지 청정해", "야간에 켜", "20분 안에 청정해", "잠깐 거실로 가", "잠깐 청정 꺼",
		"go to the kitchen, before that clean the air", "before going to the kitchen turn off the screen", "go to the kitchen when I say so",
		"clean until the air is good", "unless the air is good, clean", "while cleaning go to the kitchen"},
	"other things": {"컴퓨터 화면 꺼줘", "티비 볼륨 20으로", "냉장고 소리 줄여줘", "윗집 소리 꺼줘", "핸드폰 충전해", "노트북 충전해줘", "알람 소리 꺼", "화면 소리 꺼", "옆집 화면 꺼",
		"조용히 꺼", "조용히 멈춰", "화면에 켜", "청정기 필터 켜", "clean the window", "clean my phone screen", "clean me", "clean yourself", "charge my phone",
		"turn off the sound of the tv", "clean the kitchen floor", "stop the music"},
	"beside what is refused": {"티비 켜고 볼륨 30으로 해 줘", "티비 켜고 화면 어둡게 해 줘", "스피커 켜고 음소거해 줘", "에어컨 켜고 10분 뒤에 꺼줘", "안방으로 가서 티비 켜", "거실로 가고 티비 켜져 있어?",
		"티비 켜고 거실로 가지 마", "엄마가 티비 켜고 거실로 가래", "불 끄면 거실로 가", "공기 나쁘면 창문 열고 거실로 가", "티비 끄지 말고 거실로 가", "거실로 가면서 음악 틀어", "청소기 돌리고 다 그만",
		"여섯 시에 티비 켜고 거실로 가", "티비 켜고 거실로 갈까?", "거실로 가고 티비 켤까?", "거실로 가고 음악 틀어도 돼?"},
	"half of a condition": {"공기 나쁘고 배터리 50 넘으면 청정해", "배터리 50 이상 80 이하면 청정해", "배터리 50 이상이거나 공기 나쁘면 청정해", "공기 나쁘지도 좋지도 않으면 청정해",
		"미세먼지 80 이상이 아니면 청정 꺼", "배터리 30보다 높지 않으면 복귀해", "공기 나쁘다고 청정하지 마", "거실로 가고 있으면 멈춰", "화면 꺼 주면 화낼 거야",
		"clean if you like", "if possible go to the kitchen", "if the air is bad and the battery is above 50 clean"},
	"other places": {"go by the kitchen", "go past the kitchen", "clean like the kitchen", "stop by the kitchen", "거실 아니면 주방으로 가", "거실 또는 주방 청정해",
		"거실 두 번 가", "안방 화장실로 가", "주방 식탁으로 가", "회사로 가"},
	"values": {"볼륨 -10으로", "볼륨 +10", "볼륨 30-40", "set volume to -10", "turn the volume down by 10", "set the volume from 10 to 20"},
}

func TestNothingIsDone(t *testing.T) {
	p := planner(t)
	for _, why := range sortedKeys(nothing) {
		for _, said := range nothing[why] {
			if d := plan(t, p, said); len(d.Steps) > 0 || d.Control != nil {
				t.Errorf("%s: %s: acts: %s", why, said, short(d))
			}
		}
	}
}
