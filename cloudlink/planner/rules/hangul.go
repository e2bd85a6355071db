package rules

import "strings"

// A Hangul syllable is lead*588 + vowel*28 + tail + 0xAC00. Conjugation changes single letters inside a syllable ("켜" + ㄴ is
// "켠"), so the stems of the lexicon are conjugated on letters, never by cutting text.

const (
	hangulFirst = 0xAC00
	hangulLast  = 0xD7A3
)

// The letters that conjugation looks at, as indices of vowel and tail.
const (
	vA, vAE, vEO, vE, vYEO, vO, vWA, vWAE, vOE, vU, vWO, vEU, vI = 0, 1, 4, 5, 6, 8, 9, 10, 11, 13, 14, 18, 20

	tNone, tN, tL, tB, tSS = 0, 4, 8, 17, 20

	leadR = 5
)

type syllable struct{ lead, vowel, tail int }

func decompose(r rune) (syllable, bool) {
	if r < hangulFirst || r > hangulLast {
		return syllable{}, false
	}
	n := int(r - hangulFirst)
	return syllable{n / 588, n % 588 / 28, n % 28}, true
}

func (s syllable) String() string {
	return string(rune(hangulFirst + s.lead*588 + s.vowel*28 + s.tail))
}

// splitLast cuts the last syllable off. Not Hangul: ok is false.
func splitLast(text string) (head string, last syllable, ok bool) {
	runes := []rune(text)
	if len(runes) == 0 {
		return "", syllable{}, false
	}
	last, ok = decompose(runes[len(runes)-1])
	return string(runes[:len(runes)-1]), last, ok
}

// endsOpen says whether the last syllable has no final consonant, which chooses between 를 and 을. Digits and Latin letters are
// read as both: sure is false.
func endsOpen(text string) (open, rieul, sure bool) {
	_, last, ok := splitLast(text)
	if !ok {
		return false, false, false
	}
	return last.tail == tNone, last.tail == tL, true
}

// infinitive makes the -아/어 form: 켜 → 켜, 끄 → 꺼, 하 → 해, 멈추 → 멈춰, 틀 → 틀어, 돌아오 → 돌아와.
func infinitive(stem string) string {
	head, s, ok := splitLast(stem)
	if !ok {
		return stem
	}
	if s.tail != tNone {
		return closedInfinitive(stem, head, s)
	}
	if strings.HasSuffix(stem, "하") {
		return head + "해"
	}
	switch s.vowel {
	case vO:
		s.vowel = vWA
	case vU:
		s.vowel = vWO
	case vI:
		s.vowel = vYEO
	case vOE: // 되 → 돼
		s.vowel = vWAE
	case vEU:
		return openEU(head, s)
	case vA, vAE, vEO, vE, vYEO:
	default:
		return stem + "어"
	}
	return head + s.String()
}

// closedInfinitive adds 아 after ㅏ and ㅗ, else 어. A final ㅂ of the adjectives in the lexicon is the irregular one: 덥 → 더워.
func closedInfinitive(stem, head string, s syllable) string {
	if s.tail == tB {
		s.tail = tNone
		return head + s.String() + "워"
	}
	if s.vowel == vA || s.vowel == vO {
		return stem + "아"
	}
	return stem + "어"
}

// openEU drops the ㅡ: 끄 → 꺼, 나쁘 → 나빠; 르 doubles its ㄹ: 고르 → 골라.
func openEU(head string, s syllable) string {
	before, prev, ok := splitLast(head)
	bright := ok && (prev.vowel == vA || prev.vowel == vO)
	s.vowel = vEO
	if bright {
		s.vowel = vA
	}
	if s.lead == leadR && ok && prev.tail == tNone {
		prev.tail = tL
		head = before + prev.String()
	}
	return head + s.String()
}

// withTail adds a final consonant to an open stem (가 → 간), replaces ㄹ (틀 → 튼), or adds its syllable (찾 → 찾은).
func withTail(stem string, tail int, after string) string {
	head, s, ok := splitLast(stem)
	switch {
	case !ok:
		return stem
	case s.tail == tNone || s.tail == tL:
		s.tail = tail
		return head + s.String()
	case s.tail == tB:
		s.tail = tNone
		return withTail(head+s.String()+"우", tail, after)
	}
	return stem + after
}

// euStem is the stem before endings that begin with (으): 찾 → 찾으, 틀 → 틀, 덥 → 더우.
func euStem(stem string) string {
	head, s, ok := splitLast(stem)
	switch {
	case !ok || s.tail == tNone || s.tail == tL:
		return stem
	case s.tail == tB:
		s.tail = tNone
		return head + s.String() + "우"
	}
	return stem + "으"
}

// dropL is the stem before endings that begin with ㄴ or ㅅ: 틀 → 트.
func dropL(stem string) string {
	head, s, ok := splitLast(stem)
	if !ok || s.tail != tL {
		return stem
	}
	s.tail = tNone
	return head + s.String()
}

// past makes the past stem: 가 → 갔, 켜 → 켰, 틀 → 틀었.
func past(stem string) string {
	inf := infinitive(stem)
	head, s, ok := splitLast(inf)
	if !ok || s.tail != tNone {
		return inf
	}
	s.tail = tSS
	return head + s.String()
}
