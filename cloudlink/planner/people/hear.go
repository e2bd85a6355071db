package people

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"deviceagent/cloudlink/planner/schedule"
	"deviceagent/cloudlink/planner/turn"
)

//go:embed data/words.json
var dataFiles embed.FS

type lists struct {
	Yes      []string `json:"yes"`
	No       []string `json:"no"`
	Lead     []string `json:"lead"` // before a yes or no that is said in full
	Never    []string `json:"never"`
	Offer    []string `json:"offer"`
	OfferYes []string `json:"offer_yes"`
	OfferNo  []string `json:"offer_no"`
	Remember []string `json:"remember"`
	Like     []string `json:"like"`
	Self     []string `json:"self"`
	Recall   []string `json:"recall"`
	Erase    []string `json:"erase"`
	Kept     []string `json:"kept"`
	All      []string `json:"all"`
}

var words = func() (w lists) {
	data, err := dataFiles.ReadFile("data/words.json")
	if err == nil {
		err = json.Unmarshal(data, &w)
	}
	if err != nil {
		panic(fmt.Sprintf("internal error: cannot read words.json: %v", err))
	}
	return w
}()

// plain is a sentence in lower case, without marks, spaces in a row once.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if strings.ContainsRune(",.!?~…\"'“”‘’", r) {
			return ' '
		}
		return unicode.ToLower(r)
	}, text)), " ")
}

// answer is what a sentence says to an open question.
type answer int

const (
	noAnswer answer = iota
	saidYes
	saidNo
	saidNever
)

// answerOf reads a whole sentence as an answer: nothing else may be in it.
func answerOf(text string) answer {
	if schedule.Has(text, words.Never) && schedule.Has(text, words.OfferNo) {
		return saidNever
	}
	for range 3 {
		switch {
		case slices.ContainsFunc(words.Yes, func(w string) bool { return schedule.Squeeze(w) == schedule.Squeeze(text) }):
			return saidYes
		case slices.ContainsFunc(words.No, func(w string) bool { return schedule.Squeeze(w) == schedule.Squeeze(text) }):
			return saidNo
		}
		lead, rest, more := strings.Cut(text, " ")
		if !more || !slices.Contains(words.Lead, lead) {
			return noAnswer
		}
		text = rest
	}
	return noAnswer
}

// Hours reads the hours that a sentence names; nil: it names none. Source of times: the planner's reading of schedules.
type Hours func(in turn.Input) (h *turn.Hours, rest string)

// Listener hears what people say of themselves and of offers. It is built once and may be used by several goroutines at once.
type Listener struct {
	read  func(turn.Input) turn.Decision // words as an order of now
	hours Hours
}

// New builds a listener.
func New(read func(turn.Input) turn.Decision, hours Hours) *Listener { return &Listener{read, hours} }

const (
	byAnswer = "answer_to_yes_or_no"
	byWords  = "words_of_people"
)

// Shortcut takes the answer to a question of yes or no. false: none is open, or the words say neither.
func (l *Listener) Shortcut(in turn.Input) (turn.Decision, bool) {
	q := in.Around.Asked
	if q == nil {
		return turn.Decision{}, false
	}
	en, text := english(in), plain(in.Text)
	a := answerOf(text)
	if a == noAnswer || strings.Contains(in.Text, "?") { // "응?" has not understood
		return turn.Decision{}, false
	}
	d := talk(byAnswer, text)
	switch {
	case a == saidNever && q.Kind == "preference":
		d.Memo, d.TTSResponse = &turn.MemoWish{Verb: "leave"}, say(en, "not_kept")
	case a == saidNever:
		d.Memo = &turn.MemoWish{Verb: "keep", Memo: &turn.Memo{Kind: turn.MemoRefusal, Key: q.Key, Text: q.Text}}
		d.TTSResponse = say(en, "never", q.Text)
	case a == saidNo:
		d.Memo = &turn.MemoWish{Verb: "leave"}
		d.TTSResponse = say(en, map[string]string{"offer": "not_now", "hours": "no_hours", "preference": "not_kept"}[q.Kind])
	case q.Kind == "offer":
		return l.accepted(in, q), true
	case q.Kind == "hours":
		d.Memo = &turn.MemoWish{Verb: "keep", Memo: &turn.Memo{Kind: turn.MemoOffer, Key: q.Key, Text: q.Text, Hours: q.Hours}}
		d.TTSResponse = say(en, "hours_kept", hoursText(q.Hours, en), q.Text)
	default:
		d.Memo = &turn.MemoWish{Verb: "keep", Memo: &turn.Memo{Kind: turn.MemoPreference, Text: q.Text}}
		d.TTSResponse = say(en, "kept", q.Text)
	}
	return d, true
}

// accepted is the order that was offered, as if it had been said.
func (l *Listener) accepted(in turn.Input, q *turn.Asked) turn.Decision {
	now := in
	now.Text, now.Around = q.Request, turn.Around{}
	d := l.read(now)
	d.Evidence = append(d.Evidence, turn.Evidence{Kind: "rule", ID: byAnswer, Span: in.Text})
	return d
}

// Refine adds to a turn what it says of preferences and offers. The owner stays, and a turn that acts is left alone.
func (l *Listener) Refine(in turn.Input, d turn.Decision) turn.Decision {
	if len(d.Steps) > 0 || d.Control != nil || d.Schedule != nil || d.Slots != nil || d.Memo != nil || d.Asks != nil {
		return d
	}
	if slices.ContainsFunc(d.Evidence, func(e turn.Evidence) bool { return e.ID == byAnswer }) {
		return d
	}
	en, text := english(in), plain(in.Text)
	switch {
	case schedule.Has(text, words.Recall):
		return l.told(in, d, en)
	case schedule.Has(text, words.Erase) && schedule.Has(text, words.Kept):
		return l.erased(in, d, en, text)
	case schedule.Has(text, words.Offer) && schedule.Has(text, words.OfferNo) && schedule.Has(text, append(slices.Clone(words.Never), "하지마", "그만", "묻지마", "보지마", "offer", "suggest")):
		return l.refused(in, d, en, text)
	case schedule.Has(text, []string{"제안", "물어", "offer", "suggest", "ask me"}) && schedule.Has(text, words.OfferYes):
		return l.approval(in, d, en)
	}
	return l.preference(d, en, text, in)
}

// preference: what somebody tells of himself is kept only when he says yes to that.
func (l *Listener) preference(d turn.Decision, en bool, text string, in turn.Input) turn.Decision {
	what := ""
	for _, w := range words.Remember {
		if cut, ok := strings.CutSuffix(text, w); ok && !en {
			what = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(cut), "고"))
		} else if cut, ok := strings.CutPrefix(text, w+" "); ok && en {
			what = cut
		}
	}
	first, _, _ := strings.Cut(text, " ")
	if what == "" && !strings.Contains(in.Text, "?") && slices.Contains(words.Self, first) && slices.ContainsFunc(words.Like, func(w string) bool { return strings.HasSuffix(text, w) }) {
		what = text
	}
	if what == "" || len([]rune(what)) > 200 {
		return d
	}
	d.AskFollowUp, d.AmbiguityReason = true, "consent_needed"
	d.Asks = &turn.Asked{Kind: "preference", Text: what, AskedAtMS: in.Now.UnixMilli()}
	d.TTSResponse = say(en, "keep?", what)
	return note(d, text)
}

// approval: hours in which something may be offered. What, and when, have to be said; then it is asked back.
func (l *Listener) approval(in turn.Input, d turn.Decision, en bool) turn.Decision {
	h, rest := l.hours(in)
	key, what := l.offered(in, rest)
	switch {
	case key == "":
		return d
	case h == nil:
		d.AskFollowUp, d.MissingSlots, d.AmbiguityReason = true, []string{"hours"}, "slot_missing"
		d.TTSResponse = say(en, "hours?")
		return note(d, in.Text)
	}
	d.AskFollowUp, d.AmbiguityReason = true, "consent_needed"
	d.Asks = &turn.Asked{Kind: "hours", Key: key, Text: what, Hours: h, AskedAtMS: in.Now.UnixMilli()}
	d.TTSResponse = say(en, "offer?", hoursText(h, en), what)
	return note(d, in.Text)
}

// offered is the operation that a sentence about offers names.
func (l *Listener) offered(in turn.Input, text string) (key, what string) {
	cut := text
	for _, w := range []string{"할지", "할까", "하라고", "하자고", "제안", "물어", "권"} {
		if before, _, ok := strings.Cut(cut, w); ok {
			cut = before
		}
	}
	for _, w := range []string{"offer", "suggest", "ask me"} {
		if _, after, ok := strings.Cut(cut, w); ok {
			cut = after
		}
	}
	for _, p := range words.Never {
		cut = strings.ReplaceAll(" "+cut+" ", " "+p+" ", " ")
	}
	cut = strings.TrimSpace(cut)
	for _, p := range []string{"을", "를", "은", "는"} {
		cut = strings.TrimSuffix(cut, p)
	}
	if cut == "" {
		return "", ""
	}
	for _, form := range []string{cut, cut + " 해 줘", cut + " 켜 줘", "start " + cut} {
		now := in
		now.Text, now.Around = form, turn.Around{}
		if key, what = OrderOf(l.read(now)); key != "" {
			return key, what
		}
	}
	return "", ""
}

// OrderOf is the operation of a decision that acts now, and what it is called; empty: it is no plain order.
func OrderOf(d turn.Decision) (key, what string) {
	if d.OwnerSelection != turn.ODL || d.AskFollowUp || len(d.Steps) == 0 || len(d.Refused) > 0 || d.Control != nil {
		return "", ""
	}
	last := d.Steps[len(d.Steps)-1]
	return last.TaskMethod, last.Purpose
}

// refused: of one thing, or of everything where none is named.
func (l *Listener) refused(in turn.Input, d turn.Decision, en bool, text string) turn.Decision {
	key, what := l.offered(in, text)
	if what == "" {
		what = say(en, "anything")
	}
	d.Memo = &turn.MemoWish{Verb: "keep", Memo: &turn.Memo{Kind: turn.MemoRefusal, Key: key, Text: what}}
	d.AskFollowUp, d.MissingSlots, d.TTSResponse = false, nil, say(en, "never", what)
	return note(d, text)
}

// told lists what is kept.
func (l *Listener) told(in turn.Input, d turn.Decision, en bool) turn.Decision {
	d.Memo = &turn.MemoWish{Verb: "list"}
	var list []string
	for _, m := range in.Around.Memos {
		list = append(list, named(m, en))
	}
	d.AskFollowUp, d.MissingSlots = false, nil
	if d.TTSResponse = say(en, "nothing_kept"); len(list) > 0 {
		d.TTSResponse = say(en, "kept_list", strings.Join(list, ", "))
	}
	return note(d, in.Text)
}

// erased forgets all, or what the words name.
func (l *Listener) erased(in turn.Input, d turn.Decision, en bool, text string) turn.Decision {
	var ids []string
	for _, m := range in.Around.Memos {
		if schedule.HasWord(text, words.All) || slices.ContainsFunc(strings.Fields(m.Text), func(w string) bool {
			return len([]rune(w)) > 1 && strings.Contains(text, w) && !slices.Contains(words.Like, w)
		}) {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) == 0 && len(in.Around.Memos) == 1 {
		ids = []string{in.Around.Memos[0].ID}
	}
	d.AskFollowUp, d.MissingSlots = false, nil
	switch {
	case len(in.Around.Memos) == 0:
		d.TTSResponse = say(en, "nothing_kept")
	case len(ids) == 0:
		d.TTSResponse = say(en, "erase_which")
	default:
		d.Memo = &turn.MemoWish{Verb: "erase", IDs: ids}
		d.TTSResponse = say(en, "erased", len(ids))
	}
	return note(d, text)
}

func note(d turn.Decision, span string) turn.Decision {
	d.Evidence = append(slices.Clone(d.Evidence), turn.Evidence{Kind: "rule", ID: byWords, Span: span})
	return d
}

func english(in turn.Input) bool {
	hangul := strings.ContainsFunc(in.Text, func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
	return !hangul && (in.Locale == "en-US" || strings.ContainsFunc(in.Text, unicode.IsLetter))
}

// talk is a decision of conversation.
func talk(by, span string) turn.Decision {
	return turn.Decision{TurnMode: "singleton", SelectedRoutes: []turn.Family{turn.DEF}, OwnerSelection: turn.DEF, SelectedAgent: "DEF", SelectedSkill: "default_conversation",
		SelectedFlowID: "DEF.DEF.default_conversation", FamilyConfidence: "high", Evidence: []turn.Evidence{{Kind: "rule", ID: by, Span: span}}}
}
