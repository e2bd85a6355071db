package rules

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// quantity is a number found in the text.
type quantity struct {
	value  float64
	end    int
	digits bool // written in digits: no doubt that it is a number
	native bool // 한, 두, 다섯
	runes  int
}

// numbers reads the numerals that begin at start: a duration ("1시간 반", "삼십 초"), a percentage, a time of day, a bare number.
func (p *reader) numbers(runes []rune, start int) []item {
	q, ok := p.number(runes, start)
	if !ok {
		return nil
	}
	var out []item
	if it, ok := p.duration(runes, start); ok {
		out = append(out, it)
	}
	if end, ok := p.unit(runes, q.end, p.ko.Percent); ok {
		out = append(out, item{kind: kindPercent, num: q.value, start: start, end: end})
	}
	if end, ok := p.unit(runes, q.end, p.ko.Clock); ok && !p.continues(runes, end) {
		out = append(out, item{kind: kindClock, num: q.value, start: start, end: end})
	}
	if q.digits || !q.native && (q.runes > 1 || p.isTarget(runes, q.end)) {
		out = append(out, item{kind: kindNumber, num: q.value, start: start, end: q.end})
	}
	return out
}

// isTarget says whether a single Sino-Korean syllable is followed by what only follows a value: 십"으로", 백"까지".
func (p *reader) isTarget(runes []rune, at int) bool {
	return hasRunes(runes, at, []rune("으로")) || hasRunes(runes, at, []rune("까지"))
}

// continues says whether "시" is the beginning of "시간" here.
func (p *reader) continues(runes []rune, at int) bool { return at < len(runes) && runes[at] == '간' }

// duration reads "한 시간 반", "1분 30초", "90초".
func (p *reader) duration(runes []rune, start int) (item, bool) {
	at, total, found := start, 0.0, false
	for {
		q, ok := p.number(runes, at)
		if !ok {
			break
		}
		unitMS, end, ok := p.timeUnit(runes, q.end)
		if !ok {
			break
		}
		total += q.value * unitMS
		at, found = end, true
		if half, ok := p.half(runes, at); ok {
			total += unitMS / 2
			at = half
			break
		}
		at = skipSpace(runes, at)
	}
	for at > start && runes[at-1] == ' ' {
		at--
	}
	return item{kind: kindDuration, ms: int64(math.Round(total)), start: start, end: at}, found
}

// half reads 반 after a unit. "반" must end there, or be followed by a particle: not "반드시".
func (p *reader) half(runes []rune, at int) (int, bool) {
	at = skipSpace(runes, at)
	half := []rune(p.ko.Numerals.Half)
	if !hasRunes(runes, at, half) {
		return 0, false
	}
	end := at + len(half)
	if end < len(runes) && runes[end] == '드' {
		return 0, false
	}
	return end, true
}

func (p *reader) timeUnit(runes []rune, at int) (ms float64, end int, ok bool) {
	at = skipSpace(runes, at)
	for unit, unitMS := range p.ko.Units {
		if u := []rune(unit); hasRunes(runes, at, u) && at+len(u) > end {
			ms, end, ok = float64(unitMS), at+len(u), true
		}
	}
	return ms, end, ok
}

func (p *reader) unit(runes []rune, at int, units []string) (end int, ok bool) {
	at = skipSpace(runes, at)
	for _, unit := range units {
		if u := []rune(unit); hasRunes(runes, at, u) && at+len(u) > end {
			end, ok = at+len(u), true
		}
	}
	return end, ok
}

// number reads one numeral: digits, Sino-Korean or native.
func (p *reader) number(runes []rune, start int) (quantity, bool) {
	if q, ok := digits(runes, start); ok {
		return q, true
	}
	sino, okSino := p.sino(runes, start)
	native, okNative := p.native(runes, start)
	if okNative && (!okSino || native.end > sino.end) {
		return native, true
	}
	return sino, okSino
}

func digits(runes []rune, start int) (quantity, bool) {
	end := start
	for end < len(runes) && (unicode.IsDigit(runes[end]) || runes[end] == '.') {
		end++
	}
	value, err := strconv.ParseFloat(string(runes[start:end]), 64)
	if err != nil {
		return quantity{}, false
	}
	return quantity{value: value, end: end, digits: true, runes: end - start}, true
}

// sino reads 삼십오, 백이십, 천. A digit counts once before a power or at the end; 이십오십 ends after 이십오.
func (p *reader) sino(runes []rune, start int) (quantity, bool) {
	n := p.ko.Numerals
	var total, digit int64 = 0, -1
	var last int64 = math.MaxInt64
	at := start
	for ; at < len(runes); at++ {
		r := string(runes[at])
		if power, ok := n.SinoPowers[r]; ok && power < last {
			total += max(digit, 1) * power
			if digit == 0 {
				return quantity{}, false
			}
			last, digit = power, -1
			continue
		}
		d, ok := n.SinoDigits[r]
		if !ok || digit >= 0 {
			break
		}
		digit = d
	}
	if digit > 0 || digit == 0 && total == 0 {
		total += digit
	}
	return quantity{value: float64(total), end: at, runes: at - start}, at > start
}

// native reads 열다섯, 스물두, 한.
func (p *reader) native(runes []rune, start int) (quantity, bool) {
	tens, at := longestKey(p.ko.Numerals.NativeTens, runes, start)
	ones, end := longestKey(p.ko.Numerals.Native, runes, at)
	if end == start {
		return quantity{}, false
	}
	return quantity{value: float64(tens + ones), end: end, native: true, runes: end - start}, true
}

func longestKey(table map[string]int64, runes []rune, start int) (value int64, end int) {
	end = start
	for key, v := range table { // in any order: two keys of one length cannot both stand here
		if k := []rune(key); hasRunes(runes, start, k) && start+len(k) > end {
			value, end = v, start+len(k)
		}
	}
	return value, end
}

func hasRunes(runes []rune, at int, want []rune) bool {
	return at+len(want) <= len(runes) && string(runes[at:at+len(want)]) == string(want)
}

func skipSpace(runes []rune, at int) int {
	for at < len(runes) && runes[at] == ' ' {
		at++
	}
	return at
}

// formatNumber writes a level as people say it.
func formatNumber(value float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', -1, 64), ".0")
}
