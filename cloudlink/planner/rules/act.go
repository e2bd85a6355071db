package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// acts are the endings and words by which a Korean sentence shows what it does. They are a closed class: they hold for verbs that no
// list knows, which is what the family of a sentence needs.
type acts struct {
	Give          []string `json:"give"`       // asks for something to be done: 줘, 주실래요, 부탁해
	Imperative    []string `json:"imperative"` // tells to do something, or only names it: 켜, 추가해, 설정
	Nominal       []string `json:"nominal"`    // nouns that alone tell to do something, at the end
	Trailing      []string `json:"trailing"`   // words behind the verb that say nothing
	Desire        []string `json:"desire"`
	Curious       []string `json:"curious"`
	Question      []string `json:"question"`
	Inform        []string `json:"inform"`     // verbs that ask to be told something
	Comfort       []string `json:"comfort"`    // verbs of what people ask of one another
	Wh            []string `json:"wh"`         // asks for a fact
	WhEnds        []string `json:"wh_ends"`    // endings that ask beside a word of Wh
	Why           []string `json:"why"`        // asks for a reason or an opinion
	Going         []string `json:"going"`      // verbs that end like the particle 가
	MayBe         []string `json:"may_be"`     // before -까: may be so
	Indefinite    []string `json:"indefinite"` // begin like Wh and ask nothing: 언제나
	Self          []string `json:"self"`       // talks about oneself and one's own people
	Interjections []string `json:"interjections"`
	Particles     []string `json:"particles"`
	WithRequest   []string `json:"topic_only_with_request"` // nouns that mean something else in most sentences

	Reminder   reminderWords `json:"reminder"`
	WhatIs     []string      `json:"what_is"`
	Complaints []string      `json:"complaints"` // how a thing of ours may be too much
	Shows      []string      `json:"shows"`      // verbs that play what they show
	You        []string      `json:"you"`        // the robot is spoken to
}

// token is what stands between two spaces, and what is left of it without its particles.
type token struct {
	text, stem string
	stems      []string // with one particle off, with two
}

// reading is what a sentence does, by its endings, and what it is about, by its nouns.
type reading struct {
	tokens     []token
	sentences  [][]token
	give       bool // "줘" somewhere: what is said behind it only adds to it
	imperative bool
	desire     bool
	curious    bool
	question   bool
	wh, why    bool
	inform     bool
	comfort    bool
	personal   bool
	fragment   bool
	statement  bool // it ends as a sentence that says something
	hits       []hit
}

// asks says whether something is wanted at all.
func (r reading) asks() bool { return r.give || r.imperative || r.asksAbout() }

// asksAbout says whether it asks to be told something.
func (r reading) asksAbout() bool {
	return r.question || r.curious || r.wh || (r.give || r.imperative) && r.inform
}

// asksToDo says whether it asks for something to be done.
func (r reading) asksToDo() bool { return (r.give || r.imperative) && !r.inform }

// read finds the acts of an utterance.
func (f *families) read(t text) reading {
	r := reading{}
	for _, sentence := range sentencesOf(t) {
		tokens := f.tokensOf(sentence)
		if len(tokens) == 0 {
			continue
		}
		r.sentences = append(r.sentences, tokens)
		r.tokens = append(r.tokens, tokens...)
		f.readSentence(&r, tokens, strings.HasSuffix(strings.TrimSpace(sentence), "?"))
	}
	r.why = slices.ContainsFunc(r.tokens, func(k token) bool { return f.begins(k, f.acts.Why) })
	r.wh = slices.ContainsFunc(r.tokens, func(k token) bool { return f.begins(k, f.acts.Wh) && !startsWith(k.text, f.acts.Indefinite) }) &&
		(len(r.tokens) == 0 || !strings.HasSuffix(r.tokens[len(r.tokens)-1].text, "다")) // "얼마 후 …내립니다" tells
	if (r.wh || r.why) && !r.give && len(r.tokens) > 1 && f.endsOpenly(r.tokens[len(r.tokens)-1].text) {
		r.question = true // "약국 어디 있어"
	}
	r.personal = slices.ContainsFunc(r.tokens, func(k token) bool {
		return slices.ContainsFunc(k.stems[:min(2, len(k.stems))], func(s string) bool { return slices.Contains(f.acts.Self, s) }) // "나이가" is no "나"
	})
	r.fragment = f.isFragment(r)
	r.statement = len(r.tokens) > 0 && !r.asks() && f.endsSentence(r.tokens[len(r.tokens)-1], len(r.tokens) > 1)
	r.hits = f.topics.find(r.tokens)
	return r
}

func (f *families) begins(k token, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return k.text == w || k.stem == w || len([]rune(w)) > 1 && strings.HasPrefix(k.text, w) || (w == "뭐" || w == "왜" || w == "뭘" || w == "뭔" || w == "몇") && strings.HasPrefix(k.text, w)
	})
}

// sentencesOf cuts at full stops, with a question mark kept.
func sentencesOf(t text) []string {
	var out []string
	start := 0
	for i, r := range t.original {
		if (r == '.' || r == '!' || r == '?' || r == '~' || r == ';') && t.runes[i] == ' ' {
			end := ""
			if r == '?' {
				end = "?"
			}
			out = append(out, string(t.runes[start:i])+end)
			start = i + 1
		}
	}
	return append(out, string(t.runes[start:]))
}

func (f *families) tokensOf(sentence string) []token {
	var out []token
	for _, field := range strings.FieldsFunc(sentence, func(r rune) bool { return unicode.IsSpace(r) || r == '?' }) {
		stems := f.stemsOf(field)
		out = append(out, token{field, stems[len(stems)-1], stems})
	}
	return out
}

// stemsOf takes particles off, at most two ("메일들을"), never the whole word. The word itself is the first.
func (f *families) stemsOf(word string) []string {
	out := []string{word}
	for range 2 {
		best := longest(f.acts.Particles, word)
		if best == "" || best == word || f.nouns[word] {
			break
		}
		word = strings.TrimSuffix(word, best)
		out = append(out, word)
	}
	return out
}

func (f *families) readSentence(r *reading, tokens []token, marked bool) {
	tokens = f.untrailed(tokens) // "확인 좀"
	joined := ""
	for i, k := range tokens {
		joined += k.text
		last := i == len(tokens)-1
		if ending := longest(f.acts.Give, joined); ending != "" {
			r.give = true
			verb := strings.ReplaceAll(strings.TrimSuffix(joined, ending), "좀", "") // "칭찬 좀 해 줘"
			r.inform = r.inform || endsWithVerb(verb, f.acts.Inform)
			r.comfort = r.comfort || endsWithVerb(verb, f.acts.Comfort)
		}
		r.desire = r.desire || longest(f.acts.Desire, joined) != ""
		r.curious = r.curious || longest(f.acts.Curious, joined) != ""
		if !last {
			continue
		}
		if slices.Contains(f.acts.Nominal, k.text) && i > 0 && !marked {
			r.imperative = true // "알람 하나 추가"
			r.inform = r.inform || endsWithVerb(k.text, f.acts.Inform)
			continue
		}
		if f.nouns[k.text] && len(longest(f.acts.Question, joined)) <= len(k.text) {
			continue // 시야 is a noun, 몇 시야 a question
		}
		if toValue.MatchString(joined) {
			r.imperative = true // "밝기 30으로"
			continue
		}
		question := longest(f.acts.Question, joined) != "" || interrogative(joined)
		if (longest(f.acts.Imperative, joined) != "" || tries(k.text)) && !marked && !question {
			r.imperative = true
			r.inform = r.inform || endsWithVerb(joined, f.acts.Inform)
		}
		r.question = r.question || question && !r.give
	}
	r.question = r.question || marked && !r.give
}

// tries says whether a word is a verb with -어 봐, which tells to do it: 불러봐.
func tries(word string) bool {
	head, ok := strings.CutSuffix(word, "봐")
	_, s, hangul := splitLast(head)
	return ok && hangul && len([]rune(head)) > 1 && s.tail == tNone && slices.Contains([]int{vA, vAE, vEO, vYEO, vWA, vWO, vWAE}, s.vowel)
}

// toValue finds a value at the end that something is to be set to.
var toValue = regexp.MustCompile(`[0-9십백](%|도|퍼센트|프로|단계|단|분|시)?(으로|로)$`)

// endsWithVerb says whether the last verb before an ending is one of the list: "알려"+"줘", "추천"+"부탁해", "찾아봐"+"줘".
func endsWithVerb(text string, verbs []string) bool {
	for _, light := range []string{"", "해", "좀", "을", "를", "해서", "하여", "한번", "봐", "다"} {
		if head, ok := strings.CutSuffix(text, light); ok && longest(verbs, head) != "" {
			return true
		}
	}
	return false
}

// longest is the longest of the endings that the text ends with. Spaces in an ending do not count.
func longest(endings []string, text string) string {
	best := ""
	for _, e := range endings {
		if len(e) > len(best) && strings.HasSuffix(text, e) {
			best = e
		}
	}
	return best
}

// interrogative says whether a word ends in -ㄴ가, -ㄴ지, -ㅂ니까, which change the syllable before.
func interrogative(word string) bool {
	head, ok := strings.CutSuffix(word, "가")
	if !ok {
		head, ok = strings.CutSuffix(word, "지")
	}
	if !ok {
		return false
	}
	_, s, hangul := splitLast(head)
	return hangul && s.tail == tN && len([]rune(head)) > 1
}

// endsOpenly says whether a word ends in a form that tells as well as asks: -어, -지, -야, and any infinitive ("열려").
func (f *families) endsOpenly(word string) bool {
	if f.nouns[word] || strings.HasSuffix(word, "다") || slices.Contains(f.acts.Why, word) {
		return false
	}
	_, s, ok := splitLast(word)
	return longest(f.acts.WhEnds, word) != "" || ok && s.tail == tNone && slices.Contains([]int{vA, vAE, vEO, vYEO, vWA, vWO, vWAE}, s.vowel)
}

// muses says whether a word ends in -ㄹ까 of what somebody may do: 마실까. What may be so, or was, is asked of others: 있을까, 갔을까.
func (f *families) muses(word string) bool {
	head, ok := strings.CutSuffix(strings.TrimSuffix(word, "요"), "까")
	if !ok || longest(f.acts.MayBe, head) != "" {
		return false
	}
	_, s, hangul := splitLast(head)
	before, _, _ := splitLast(head)
	_, past, _ := splitLast(before)
	return hangul && s.tail == tL && past.tail != tSS
}

// isFragment says whether the words end like no sentence, and are few.
func (f *families) isFragment(r reading) bool {
	if len(r.tokens) == 0 {
		return true
	}
	if !slices.ContainsFunc(r.tokens, func(k token) bool { return !slices.Contains(f.acts.Interjections, k.text) }) {
		return true
	}
	if len(r.sentences) > 1 || len(r.tokens) > maxFragment || r.question || r.give || r.curious || r.desire {
		return false
	}
	tokens := f.untrailed(r.tokens)
	return !f.endsSentence(tokens[len(tokens)-1], len(tokens) > 1)
}

// untrailed takes off what stands behind the verb and says nothing: "힘들었어 오늘 좀".
func (f *families) untrailed(tokens []token) []token {
	for len(tokens) > 1 && slices.Contains(f.acts.Trailing, tokens[len(tokens)-1].text) {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}

// maxFragment is how many words of a broken sentence are taken for a fragment; longer ones are somebody talking.
const maxFragment = 3

// endsSentence says whether a word is a verb in a final form: it ends like one, and is no noun and has no particle of a noun.
func (f *families) endsSentence(k token, behind bool) bool {
	if f.nouns[k.text] {
		return false
	}
	for _, p := range []string{"를요", "을요", "은요", "는요", "만요", "한테요", "에서요", "까지요", "부터요"} {
		if strings.HasSuffix(k.text, p) {
			return false
		}
	}
	if strings.HasSuffix(k.text, "가") && len([]rune(k.text)) > 1 && !interrogative(k.text) && longest(f.acts.Going, k.text) == "" {
		return false // "엄마가" is no verb
	}
	for _, suffix := range f.cues.FinalSuffixes {
		if strings.HasSuffix(k.text, suffix) && (behind || len([]rune(k.text)) > len([]rune(suffix))) {
			return true
		}
	}
	return false
}
