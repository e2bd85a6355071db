package rules

import (
	"fmt"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

// sentences are fixed answers, Korean and English.
var sentences = map[string][2]string{
	"cancelling":                {"네, 하던 일을 모두 취소할게요.", "OK, I will cancel everything."},
	"will_not":                  {"알겠어요. 그건 하지 않을게요. 지금 움직이는 중이라면 '멈춰'라고 말씀해 주세요.", "All right, I will not do that. If I am moving now, say stop."},
	"no_schedules":              {"예약이나 알람은 아직 말로 등록할 수 없어요. 지금 바로 할 일은 말씀해 주시면 도와드릴게요.", "I cannot take schedules or alarms by voice yet. I can help with what should be done now."},
	string(turn.DEF):            {"네, 듣고 있어요. 더 말씀해 주세요.", "I am listening. Tell me more."},
	string(turn.FRG):            {"바깥 정보는 지금 찾아볼 수 없어요. 집 안 공기 상태는 알려드릴 수 있어요.", "I cannot look up outside information here. I can tell you the air quality at home."},
	string(turn.DQR):            {"제품 안내는 설명서에서 확인하실 수 있어요. 저는 이동, 공기 청정, 공기와 배터리 확인, 화면과 소리 설정을 할 수 있어요.", "Please see the manual for that. I can move, clean the air, report air and battery, and set screen and sound."},
	string(turn.UNS):            {"그 일은 제가 할 수 없어요. 이동, 공기 청정, 공기와 배터리 확인은 할 수 있어요.", "I cannot do that. I can move, clean the air, and report air and battery."},
	string(turn.STM):            {"이야기나 퀴즈는 아직 시작할 수 없어요.", "I cannot start stories or quizzes yet."},
	string(turn.STTNull):        {"잘 못 들었어요. 다시 한 번 말씀해 주시겠어요?", "I did not catch that. Could you say it again?"},
	doubtUnknownWord:            {"말씀하신 내용을 다 이해하지 못했어요. 어떤 일을 할지 다시 말씀해 주시겠어요?", "I did not understand all of it. What should I do?"},
	doubtNoOperation:            {"무엇을 할까요?", "What should I do?"},
	doubtTwoThings:              {"한 번에 하나씩 말씀해 주시겠어요?", "Could you say one thing at a time?"},
	doubtElsewhere:              {"저는 지금 있는 곳의 상태만 잴 수 있어요. %s에 가서 확인할까요?", "I can only measure where I am. Should I go to the %s and check?"},
	doubtLevel:                  {"몇으로 맞출까요? 0에서 100 사이로 말씀해 주세요.", "To which level, from 0 to 100?"},
	doubtRange:                  {"그 값으로는 할 수 없어요. 다른 값을 말씀해 주시겠어요?", "I cannot use that value. Which value should it be?"},
	doubtQuestion:               {"그 상태는 말로 알려드릴 수 없어요. 실행하려면 '해 줘'라고 말씀해 주세요.", "I cannot answer that. To have it done, tell me to do it."},
	doubtCondition:              {"그 조건은 제가 확인할 수 없어요. 조건 없이 할까요?", "I cannot check that condition. Should I do it without?"},
	doubtEvent:                  {"이미 하고 있는 일이 끝나기를 기다리는 예약은 아직 할 수 없어요. 끝난 뒤에 다시 말씀해 주세요.", "I cannot wait for earlier work yet. Please tell me again when it has ended."},
	doubtAct:                    {"그 동작은 할 수 없어요. 어떤 일을 할까요?", "I cannot do that. What should I do?"},
	doubtCannotAtRoom:           {"그건 방에 따라 정할 수 없어요. 제 것을 바꿀까요?", "That does not depend on a room. Should I change my own?"},
	"time_of_day_not_supported": {"시각을 정한 일은 아직 말로 등록할 수 없어요. 지금 할까요?", "I cannot take a time of day yet. Should I do it now?"},
}

func say(lang language, key string) string {
	pair := sentences[key]
	if lang == english {
		return pair[1]
	}
	return pair[0]
}

// Reply is what is said for a family of which nothing more is known; of ODL a question.
func Reply(f turn.Family, inEnglish bool) string {
	lang, key := korean, string(f)
	if inEnglish {
		lang = english
	}
	switch f {
	case turn.ODL:
		key = doubtNoOperation
	case turn.SCH:
		key = "no_schedules"
	}
	return say(lang, key)
}

// question puts a doubt into words, with the choices where there are some.
func question(lang language, d doubt) string {
	options := strings.Join(d.options, ", ")
	switch d.reason {
	case doubtRoom, doubtUnreachable, doubtAmbiguous:
		if lang == english {
			return roomQuestionEnglish(d, options)
		}
		return roomQuestion(d, options)
	case doubtElsewhere:
		return fmt.Sprintf(say(lang, d.reason), d.room)
	}
	return say(lang, d.reason)
}

func roomQuestion(d doubt, options string) string {
	switch {
	case d.reason == doubtUnreachable:
		return fmt.Sprintf("%s에는 제가 갈 수 없어요. %s 중에 어디로 갈까요?", d.room, options)
	case d.reason == doubtAmbiguous:
		return fmt.Sprintf("%s 중에 어디인가요?", options)
	case d.room != "":
		return fmt.Sprintf("'%s'은(는) 제가 모르는 곳이에요. %s 중에 어디로 갈까요?", d.room, options)
	}
	return fmt.Sprintf("어디로 갈까요? %s 중에서 말씀해 주세요.", options)
}

func roomQuestionEnglish(d doubt, options string) string {
	switch {
	case d.reason == doubtUnreachable:
		return fmt.Sprintf("I cannot get to %s. Where should I go: %s?", d.room, options)
	case d.reason == doubtAmbiguous:
		return fmt.Sprintf("Which one do you mean: %s?", options)
	case d.room != "":
		return fmt.Sprintf("I do not know %q. Where should I go: %s?", d.room, options)
	}
	return fmt.Sprintf("Where should I go: %s?", options)
}
