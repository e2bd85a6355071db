package model

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// What is said where a model decided. Its own words are spoken in conversation and as questions only, and only if they are plain
// and claim nothing: what was done is known from the records, never from a sentence.

// sentences are fixed answers, Korean and English.
var sentences = map[string][2]string{
	"steps":              {"네, 말씀하신 대로 해 볼게요.", "All right, I will do that."},
	"ask":                {"무엇을 해 드릴지 다시 한 번 말씀해 주시겠어요?", "Could you say once more what I should do?"},
	"ask_room":           {"어느 방에서 할까요?", "In which room?"},
	"ask_act":            {"'%s' 말씀이신가요? 맞다면 그렇게 말씀해 주세요.", "Do you mean %q? If so, please say so."},
	string(turn.ODL):     {"무엇을 할까요?", "What should I do?"},
	string(turn.SCH):     {"예약으로 들었어요. 무엇을 언제 할지 말씀해 주시겠어요?", "That sounds like a schedule. What should be done, and when?"},
	string(turn.FRG):     {"바깥 정보는 지금 찾아볼 수 없어요.", "I cannot look up outside information here."},
	string(turn.DEF):     {"네, 듣고 있어요. 더 말씀해 주세요.", "I am listening. Tell me more."},
	string(turn.DQR):     {"제품 안내는 설명서에서 확인하실 수 있어요.", "Please see the manual for that."},
	string(turn.UNS):     {"그건 제가 할 수 없는 일이에요.", "That is something I cannot do."},
	string(turn.STM):     {"이야기나 퀴즈는 아직 시작할 수 없어요.", "I cannot start stories or quizzes yet."},
	string(turn.ETR):     {"재미있네요. 더 말씀해 주세요.", "That is fun. Tell me more."},
	string(turn.STTNull): {"잘 못 들었어요. 다시 한 번 말씀해 주시겠어요?", "I did not catch that. Could you say it again?"},
}

// speaker chooses the language of a turn.
type speaker struct{ english bool }

func speakerOf(in turn.Input) speaker {
	hangul := strings.ContainsFunc(in.Text, func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
	latin := strings.ContainsFunc(in.Text, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
	return speaker{!hangul && (latin || strings.HasPrefix(in.Locale, "en"))}
}

func (s speaker) say(key string) string {
	if s.english {
		return sentences[key][1]
	}
	return sentences[key][0]
}

// askAct asks whether an operation is meant, by its own first word in the catalog.
func (s speaker) askAct(op catalog.Operation) string {
	words := op.Aliases.Ko
	if s.english {
		words = op.Aliases.En
	}
	if len(words) == 0 {
		return s.say("ask")
	}
	return fmt.Sprintf(s.say("ask_act"), words[0])
}

const (
	mostSpoken  = 240 // runes of a spoken text
	mostPurpose = 80
)

var markup = regexp.MustCompile("(?i)[{}<>|`\\[\\]\\\\_#*~^]|https?:|www\\.|\\bnull\\b")

// plain says whether a text can be spoken as it is: short, of letters, without markup, addresses or control characters.
func plain(text string, most int) bool {
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= most && !markup.MatchString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.Cf, r)
		})
}

// claim finds words by which something is said to be done, under way or promised. It would rather lose a harmless sentence than
// speak one that nothing proves.
var claim = regexp.MustCompile(`(?i)했|됐|되었|갔|왔어|켰|껐|켜졌|꺼졌|켜져|꺼져|마쳤|끝났|끝냈|완료|도착|멈췄|바꿨|맞췄|중이에요|중입니다|하고 있|가고 있|` +
	`할게|갈게|켤게|끌게|올게|드릴게|둘게|하겠습|가겠습|드리겠습|` +
	`\b(done|finished|completed?|started|stopped|arrived|turned|moved|cleaned|set|cleaning|moving|going|I have|I've|I will|I'll|I am going|I'm going|let me)\b`)

// reply is a model's sentence of conversation, if it may be spoken.
func reply(text string) (string, bool) {
	text = strings.TrimSpace(text)
	return text, plain(text, mostSpoken) && !claim.MatchString(text)
}

// asking is a model's question, if it is one and may be spoken.
func asking(text string) (string, bool) {
	text, ok := reply(text)
	return text, ok && strings.HasSuffix(text, "?")
}

// purpose is a model's name of a step, if it can be shown; else the operation's.
func purpose(text, method string) string {
	if text = strings.TrimSpace(text); plain(text, mostPurpose) {
		return text
	}
	return method
}

var negations = regexp.MustCompile(`(?i)지\s*(마|말)|안\s*(돼|되|해도)|않|말고|\b(don'?t|do not|never|not|without)\b`)

// negates says whether a sentence has a word that turns something down. Which, only the rules can tell.
func negates(text string) bool { return negations.MatchString(folded(text)) }

var questionEnds = []string{"까", "니", "나요", "가요", "냐", "는지", "은지", "지요", "죠"}

// isQuestion says whether an utterance may be a question. Requests in the form of one are for the rules.
func (r *known) isQuestion(text string) bool {
	text = folded(text)
	if strings.ContainsAny(text, "?？") || hasWord(text, both(r.words.Hints["question_cue"])) {
		return true
	}
	bare := strings.TrimRightFunc(text, unicode.IsPunct)
	for _, end := range questionEnds {
		if strings.HasSuffix(bare, end) {
			return true
		}
	}
	return false
}
