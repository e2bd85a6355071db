package rules

import (
	"slices"
	"strings"
)

// productWords are how somebody asks about the product itself: what a thing of it is, what it is like, what happens if, what one has to
// do, what it can do. What it is doing now, and how its values stand, is asked of the robot, and is no such question.
type productWords struct {
	Robot      []string `json:"robot"`      // words for the robot
	Before     []string `json:"before"`     // that may stand before the subject
	This       []string `json:"this"`       // the robot, beside a trait
	Nouns      []string `json:"nouns"`      // parts and matters of a product that no operation has
	Traits     []string `json:"traits"`     // what it is like
	Definition []string `json:"definition"` // the last word
	Obliges    []string `json:"obliges"`    // "…야 해": the end, without spaces
	Permits    []string `json:"permits"`    // "…도 돼"
	Able       []string `json:"able"`       // "…수 있어"
	Explains   []string `json:"explains"`   // "…는 거야"
	Generic    []string `json:"generic"`    // verbs of what is always so
	Now        []string `json:"now"`
	Me         []string `json:"me"`
	Helps      []string `json:"helps"`
}

// subject is what a question about the product is about.
type subject int

const (
	noSubject subject = iota
	thisRobot
	ourThing // an operation has it
	product  // a part or matter that no operation has
)

// asksProduct says whether the sentence asks about the product.
func (e *evidence) asksProduct() bool {
	w := &e.f.product
	if e.bare || len(e.tokens) == 0 || e.weather && !e.namesRobot() || slices.ContainsFunc(e.tokens, func(k token) bool { return slices.Contains(w.Now, k.text) }) {
		return false
	}
	about, end := e.subjectOf(w), ""
	for _, k := range e.tokens {
		end += k.text
	}
	if longest(w.Helps, end) != "" {
		return about == product && !slices.ContainsFunc(e.hits, func(h hit) bool { return h.topic == topicOurs && h.at == 0 }) // "충전대로 돌아가게 도와줘" is an order
	}
	if about == noSubject || e.asksToDo() || !e.question && !e.curious && !e.wh && !e.why && !(e.give && e.inform) {
		return false
	}
	trait := slices.ContainsFunc(e.tokens, func(k token) bool {
		return e.f.begins(k, w.Traits) || e.f.begins(token{text: k.stem, stem: k.stem}, w.Traits)
	})
	last := e.tokens[len(e.tokens)-1].text
	me := slices.ContainsFunc(e.tokens, func(k token) bool { return slices.Contains(w.Me, k.text) })
	switch {
	case about == thisRobot && me && !trait:
		return false // "너는 내가 울면 어떡할 거야" is talk
	case trait, about != thisRobot && slices.Contains(w.Definition, last):
		return true
	case longest(w.Obliges, end) != "", longest(w.Permits, end) != "":
		return true
	case longest(w.Able, end) != "":
		return about != ourThing && !slices.ContainsFunc(e.out.items, func(it item) bool { return it.kind == kindRoom })
	case e.conditional():
		return true
	case longest(w.Explains, end) != "":
		return about == product || e.wh || e.why
	case about == product:
		return e.wh || e.why
	}
	return e.whyAlways() && about == ourThing || (e.wh || e.why) && about == ourThing && e.f.begins(e.tokens[len(e.tokens)-1], w.Generic)
}

// subjectOf finds what the sentence begins with: nothing stands before it but words that only point.
func (e *evidence) subjectOf(w *productWords) subject {
	at := 0
	for at < len(e.tokens) && (slices.Contains(w.Before, e.tokens[at].text) || e.isRobot(at)) {
		at++
	}
	rest := &topicIndex{words: map[string][]string{}}
	rest.add("product", w.Nouns)
	switch {
	case slices.ContainsFunc(e.hits, func(h hit) bool { return h.topic == topicPart && h.at == at }):
		return product
	case at < len(e.tokens) && slices.ContainsFunc(rest.at(e.tokens, at), func(h hit) bool { return h.head || strings.HasPrefix(e.tokens[at].text, h.word) }):
		return product
	case slices.ContainsFunc(e.hits, func(h hit) bool { return h.topic == topicOurs && h.at == at }):
		return ourThing
	case e.namesRobot(), at > 0 && slices.Contains(w.This, e.tokens[0].text):
		return thisRobot
	}
	return noSubject
}

// namesRobot says whether the robot itself is named anywhere.
func (e *evidence) namesRobot() bool {
	for i := range e.tokens {
		if e.isRobot(i) {
			return true
		}
	}
	return false
}

// isRobot says whether a word is the robot itself: in "로봇 청소기" it is not.
func (e *evidence) isRobot(i int) bool {
	return slices.Contains(e.f.product.Robot, e.tokens[i].text) && !slices.ContainsFunc(e.hits, func(h hit) bool {
		return h.at == i && len(h.word) > len(e.tokens[i].stem) && (strings.HasPrefix(h.topic, "own/") || strings.HasPrefix(h.topic, "uns/"))
	})
}

// conditional says whether it asks what happens if: a condition before the end, and nothing that is asked for.
func (e *evidence) conditional() bool {
	for i, k := range e.tokens[:len(e.tokens)-1] {
		if !e.give && (e.f.isCondition(k.text, e.tokens[i+1].text) || strings.HasSuffix(k.text, "면") && strings.HasPrefix(e.tokens[i+1].text, "어떡")) {
			return true
		}
	}
	return false
}

// whyAlways says whether it asks why a thing is always so; why it did or does not do something is asked of the robot.
func (e *evidence) whyAlways() bool {
	why := slices.ContainsFunc(e.tokens, func(k token) bool { return k.text == "왜" })
	past := slices.ContainsFunc(e.tokens, func(k token) bool {
		_, s, ok := splitLast(strings.TrimRight(k.text, "어지요니냐나까"))
		return k.text == "안" || k.text == "못" || ok && s.tail == tSS
	})
	return why && !past
}
