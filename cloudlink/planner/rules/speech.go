package rules

import (
	"regexp"
	"strings"
)

// What is said acknowledges and never completes: "갈게요", not "갔어요".

var slot = regexp.MustCompile(`\{(\w+):?([^}]*)\}`)

// purpose names a step for people who read plans.
func purpose(lang language, in intent) string {
	s := sayOf(in)
	if lang == english {
		return fillSlots(s.En, in)
	}
	return fillSlots(s.Ko[0], in)
}

func sayOf(in intent) speech {
	if in.frame.SayStop != nil && in.method != in.frame.Method {
		return *in.frame.SayStop
	}
	for _, param := range sortedKeys(in.frame.SayParams) {
		if _, ok := in.params[param]; ok {
			return in.frame.SayParams[param]
		}
	}
	return in.frame.Say
}

// fillSlots puts arguments into a phrase: {room:로} takes the fitting particle, {on:켜고|끄고} chooses by a boolean.
func fillSlots(phrase string, in intent) string {
	return slot.ReplaceAllStringFunc(phrase, func(found string) string {
		m := slot.FindStringSubmatch(found)
		name, rest := m[1], m[2]
		if name == "room" {
			return withParticle(in.said, rest)
		}
		if name == "level" {
			return withParticle(levelText(in), rest)
		}
		yes, no, _ := strings.Cut(rest, "|")
		if on, _ := in.params[name].V.(bool); on {
			return yes
		}
		return no
	})
}

func levelText(in intent) string {
	if v, ok := in.params[in.frame.Level].V.(float64); ok {
		return formatNumber(v)
	}
	return ""
}

// readTail says how the last digit of a number ends when it is read aloud: 영 일 이 삼 사 오 육 칠 팔 구.
const closedDigits, rieulDigits = "01367 8", "178"

// withParticle adds 로 or 으로 as it is read.
func withParticle(word, particle string) string {
	if particle != "로" || word == "" {
		return word
	}
	last := word[len(word)-1]
	open, rieul, sure := endsOpen(word)
	if !sure {
		rieul = strings.IndexByte(rieulDigits, last) >= 0
		open = strings.IndexByte(closedDigits, last) < 0
	}
	if open || rieul {
		return word + "로"
	}
	return word + "으로"
}

// acknowledge says what will be done, in the order in which it was asked.
func acknowledge(lang language, intents []intent) string {
	if lang == english {
		return acknowledgeEnglish(intents)
	}
	var parts []string
	for i, in := range intents {
		s := sayOf(in)
		phrase := fillSlots(s.Ko[2], in) + "."
		if i < len(intents)-1 {
			phrase = fillSlots(s.Ko[1], in)
		}
		if in.room != "" && in.frame.RoomParam == "" {
			phrase = withParticle(in.said, "로") + " 이동해서 " + phrase
		}
		parts = append(parts, before(in)+phrase)
	}
	return strings.Join(parts, " ")
}

func before(in intent) string {
	text := ""
	if in.when != nil {
		text = in.ifSaid + " "
	}
	if in.delayMS > 0 {
		text += durationText(in.delayMS) + " 뒤에 "
	}
	return text
}

func acknowledgeEnglish(intents []intent) string {
	var parts []string
	for _, in := range intents {
		phrase := fillSlots(sayOf(in).En, in)
		if in.room != "" && in.frame.RoomParam == "" {
			phrase = "go to the " + in.said + " and " + phrase
		}
		if in.when != nil {
			phrase += " " + in.ifSaid
		}
		if in.delayMS > 0 {
			phrase += " after " + durationEnglish(in.delayMS)
		}
		parts = append(parts, phrase)
	}
	return "OK, I will " + strings.Join(parts, ", then ") + "."
}

type timeWord struct {
	ms     int64
	ko, en string
}

var timeWords = []timeWord{{3600000, "시간", "hour"}, {60000, "분", "minute"}, {1000, "초", "second"}}

func durationText(ms int64) string {
	var parts []string
	for _, w := range timeWords {
		if n := ms / w.ms; n > 0 {
			parts, ms = append(parts, formatNumber(float64(n))+w.ko), ms%w.ms
		}
	}
	return strings.Join(parts, " ")
}

func durationEnglish(ms int64) string {
	var parts []string
	for _, w := range timeWords {
		if n := ms / w.ms; n > 0 {
			unit := w.en
			if n > 1 {
				unit += "s"
			}
			parts, ms = append(parts, formatNumber(float64(n))+" "+unit), ms%w.ms
		}
	}
	return strings.Join(parts, " ")
}
