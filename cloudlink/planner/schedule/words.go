package schedule

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:embed data
var dataFiles embed.FS

// lists are the words of a language, as data.
type lists struct {
	Nouns          []string          `json:"nouns"`     // for what is kept for set times
	Reminders      []string          `json:"reminders"` // those of them that are told and not done
	Wake           []string          `json:"wake"`
	Told           []string          `json:"told"`
	Cancel         []string          `json:"cancel"`
	CancelWithNoun []string          `json:"cancel_with_noun"` // cancel beside one of the nouns only
	Change         []string          `json:"change"`
	Ask            []string          `json:"ask"`
	Show           []string          `json:"show"`
	Look           []string          `json:"look"`               // asks to be shown, wherever it stands behind a noun
	NounEnds       []string          `json:"noun_question_ends"` // a question, where a noun is there
	Wonder         []string          `json:"wonder"`             // an embedded question: "언제인지 알려 줘"
	SetWords       []string          `json:"set_words"`          // what the words begin with that may stand behind the noun of a reminder
	QuestionEnds   []string          `json:"question_ends"`
	State          []string          `json:"state"`
	Request        []string          `json:"request"`
	Never          []string          `json:"never"` // takes back what was asked for
	All            []string          `json:"all"`
	That           []string          `json:"that"` // points at what was spoken of
	Yes            []string          `json:"yes"`
	SetVerbs       []string          `json:"set_verbs"` // behind a noun: "예약 잡아 줘"
	Frame          []string          `json:"frame"`     // around the name of a schedule that is kept: "… 예약 취소해 줘"
	Vague          []string          `json:"vague"`     // say nothing that a time does not say better
	Behind         []string          `json:"behind"`    // a time, and say no more: "9시 되면"
	Fill           []string          `json:"fill"`      // say nothing in the answer to a question
	Numbers        map[string]int    `json:"numbers"`
	Parts          map[string]string `json:"parts"`
}

func readLists(name string) (l lists) {
	data, err := dataFiles.ReadFile("data/" + name)
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		panic(fmt.Sprintf("internal error: cannot read %s: %v", name, err))
	}
	return l
}

var korean, english = readLists("words.json"), readLists("english.json")

// Squeeze takes the spaces out.
func Squeeze(text string) string { return strings.ReplaceAll(text, " ", "") }

// Has says whether a text has one of the words; spaces do not count in Korean words.
func Has(text string, list []string) bool {
	folded := Squeeze(text)
	return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(folded, Squeeze(w)) })
}

// HasWord says whether one of the words of a text is one of the list.
func HasWord(text string, list []string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return slices.Contains(list, w) })
}

// cutEnd takes the longest of the words off the end of a text.
func cutEnd(text string, list []string) (rest, word string, ok bool) {
	for _, w := range list {
		if r, found := strings.CutSuffix(text, w); found && len(w) > len(word) {
			rest, word, ok = strings.TrimRight(r, " "), w, true
		}
	}
	if !ok {
		return text, "", false
	}
	return rest, word, true
}
