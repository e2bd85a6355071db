package rules

// form is one surface of a verb: the stem with one ending. What follows (an auxiliary, "수 있") is another word.
type form struct{ text, fn string }

// stemKinds are the ways in which an ending joins a stem. Honorific -시- and -겠- make new stems that take endings again.
var stemKinds = map[string]func(stem string) string{
	"stem":      func(s string) string { return s },
	"stemFinal": func(s string) string { return s },
	"inf":       infinitive,
	"eu":        euStem,
	"n":         func(s string) string { return withTail(s, tN, "은") },
	"l":         func(s string) string { return withTail(s, tL, "을") },
	"b":         func(s string) string { return withTail(dropL(s), tB, "습") },
	"past":      past,
	"ldrop":     func(s string) string { return dropL(euBeforeS(s)) },
}

// euBeforeS is the stem before 세요 and 니: 찾 takes 으 before 세요 and nothing before 니; the lexicon's verbs end open or in ㄹ,
// so the plain stem serves both.
func euBeforeS(stem string) string { return stem }

// forms conjugates a stem with every ending.
func forms(stem string, endings []ending) []form {
	var out []form
	honorific := euStem(stem) + "시"
	for _, e := range endings {
		for _, base := range []string{stem, honorific} {
			switch join := stemKinds[e.On]; {
			case e.On == "gess":
				out = appendForms(out, base+"겠", e)
			case join != nil:
				out = appendForms(out, join(base), e)
			}
		}
	}
	return out
}

func appendForms(out []form, base string, e ending) []form {
	for _, text := range e.Text {
		out = append(out, form{base + text, e.Fn})
	}
	return out
}
