package timeko

import (
	"math"
	"strconv"
	"unicode"
)

// Number reads the number that begins at a place: digits, Sino-Korean, native, mixed ("2백만"), decimals ("이백점 칠일"), fractions
// ("육과 구분의 이"), negatives, powers.
func (t text) number(at int) (value float64, end int, ok bool) {
	if at < len(t) && (t[at] == '-' || t[at] == '+') && at+1 < len(t) && (isDigit(t[at+1]) || t[at+1] == '.') {
		value, end, ok = t.number(at + 1)
		if t[at] == '-' {
			value = -value
		}
		return value, end, ok
	}
	if e, minus := t.eatAny(at, words.Minus); minus {
		value, end, ok = t.number(e)
		return -value, end, ok
	}
	value, end, ok = t.fractional(at)
	if !ok {
		return 0, 0, false
	}
	for ok { // "이십과 삼과 오분의 삼": a sum, if a fraction ends it
		sum, e, more := t.addend(end)
		if !more {
			break
		}
		value, end = value+sum, e
	}
	return value, end, true
}

// addend reads "과 오분의 삼", or "과 삼과 오분의 삼".
func (t text) addend(at int) (value float64, end int, ok bool) {
	e, joined := t.eatAny(at, []string{"과", "와"})
	if !joined {
		e = t.skip(at)
		if e == at || e >= len(t) || !unicode.IsDigit(t[e]) {
			return 0, 0, false
		}
	}
	whole, e, ok := t.plain(e)
	if !ok {
		return 0, 0, false
	}
	if v, end, ok := t.partsOf(whole, e); ok {
		return v, end, true
	}
	if !joined {
		return 0, 0, false
	}
	rest, end, ok := t.addend(e)
	return whole + rest, end, ok
}

// fractional reads one number, or "칠분의 이", "4/5", "2.5^-1".
func (t text) fractional(at int) (value float64, end int, ok bool) {
	value, end, ok = t.plain(at)
	if !ok {
		return 0, 0, false
	}
	if v, e, found := t.partsOf(value, end); found {
		return v, e, true
	}
	if end < len(t) && (t[end] == '^' || t[end] == 'e') {
		if power, e, found := t.exponent(end + 1); found && t[end] == '^' {
			return math.Pow(value, power), e, true
		} else if found {
			return value * math.Pow(10, power), e, true
		}
	}
	return value, end, true
}

// exponent reads digits with a sign.
func (t text) exponent(at int) (value float64, end int, ok bool) {
	sign := 1.0
	if at < len(t) && (t[at] == '-' || t[at] == '+') {
		if t[at] == '-' {
			sign = -1
		}
		at++
	}
	value, end, ok = t.digits(at)
	return sign * value, end, ok
}

// partsOf reads what makes a fraction of a number.
func (t text) partsOf(first float64, at int) (value float64, end int, ok bool) {
	if e, found := t.eat(at, words.PartsOf); found && first != 0 {
		if above, e, found := t.plain(e); found {
			return above / first, e, true
		}
	}
	if at < len(t) && t[at] == '/' {
		if below, e, found := t.plain(at + 1); found && below != 0 && (e >= len(t) || t[e] != '/') {
			return first / below, e, true
		}
	}
	return 0, 0, false
}

// plain reads a number without a fraction.
func (t text) plain(at int) (value float64, end int, ok bool) {
	at = t.skip(at)
	if v, e, found := t.large(at); found {
		value, end, ok = v, e, true
	}
	if v, e, found := t.native(at); found && e > end {
		value, end, ok = v, e, true
	}
	if v, e, found := eatKey(t, at, words.Counted); found && e > end {
		value, end, ok = v, e, true
	} else if v, e, found := eatKey(t, end, words.Counted); ok && found {
		value, end = value*v, e // "두 다스"
	}
	if e, found := t.eat(at, words.Half); found && !ok && t.endsHalf(e) {
		return 0.5, e, true
	}
	return value, end, ok
}

// endsHalf says whether 반 is a word of its own: it is no 반드시.
func (t text) endsHalf(at int) bool {
	return at >= len(t) || t[at] == ' ' || t.begins(at, "이 ", "을 ", "만 ", "은 ", "도 ", "의 ")
}

// digits reads 1,234,567.89, 1 414 021 100, .25, 4.800.
func (t text) digits(at int) (value float64, end int, ok bool) {
	var out []rune
	i := at
	for i < len(t) {
		switch {
		case unicode.IsDigit(t[i]):
			out = append(out, t[i])
		case t[i] == '.' && i+1 < len(t) && unicode.IsDigit(t[i+1]):
			out = append(out, '.')
		case (t[i] == ',' || t[i] == ' ') && t.grouped(i) && i > at:
		default:
			value, err := strconv.ParseFloat(string(out), 64)
			return value, i, err == nil
		}
		i++
	}
	value, err := strconv.ParseFloat(string(out), 64)
	return value, i, err == nil
}

// grouped says whether a comma or space stands between groups of three digits.
func (t text) grouped(i int) bool {
	n := 0
	for n < 4 && i+1+n < len(t) && unicode.IsDigit(t[i+1+n]) {
		n++
	}
	return n == 3 && unicode.IsDigit(t[i-1])
}

// large reads groups with 만, 억, 조; spaces may stand between the groups.
func (t text) large(at int) (value float64, end int, ok bool) {
	last := math.Inf(1)
	for i := at; ; {
		group, e, found := t.small(i)
		power, after, big := eatKey(t, e, words.Large)
		if !found {
			power, after, big = eatKey(t, i, words.Large)
			group = 1
			if !big || i > at && t[i-1] == ' ' {
				break
			}
		}
		if big && power < last && !t.isWord(after) {
			value, end, ok, last = value+group*power, after, true, power
			i = t.skip(after)
			continue
		}
		if found && (last == math.Inf(1) || group < last) {
			value, end, ok = value+group, e, true
		}
		break
	}
	if !ok {
		return 0, 0, false
	}
	return t.decimals(value, end)
}

// isWord keeps "만" as a particle and "조각", "경에" as words: a power is followed by a numeral, a space, a unit, or nothing.
func (t text) isWord(at int) bool {
	if at >= len(t) {
		return false
	}
	_, isEnd := t.eat(at, "각")
	return isEnd
}

// decimals reads "점 칠일" behind a number.
func (t text) decimals(whole float64, at int) (value float64, end int, ok bool) {
	e, point := t.eat(at, words.Point)
	if !point || t.skip(at) != at {
		return whole, at, true
	}
	e = t.skip(e)
	scale, found := 0.1, false
	for e < len(t) {
		d, ok := words.Digits[string(t[e])]
		if !ok && unicode.IsDigit(t[e]) {
			d, ok = float64(t[e]-'0'), true
		}
		if !ok {
			break
		}
		whole, scale, found = whole+d*scale, scale/10, true
		e++
	}
	if !found {
		return whole, at, true
	}
	return math.Round(whole*1e9) / 1e9, e, true
}

// small reads up to 9999: 백이십, 이천 이백, 35, 3천5백, 십하나; a row of digits, 일공일, is read digit by digit.
func (t text) small(at int) (value float64, end int, ok bool) {
	digit, last, i := -1.0, math.Inf(1), at
	for i < len(t) {
		if t[i] == ' ' && ok && t.numeral(i+1) && digit < 0 {
			i++
			continue
		}
		if d, e, found := t.digits(i); found && digit < 0 && (!ok || t[i-1] != ' ' && d < last && d == math.Trunc(d)) {
			digit, i, end, ok = d, e, e, true
			continue
		}
		r := string(t[i])
		if d, found := words.Digits[r]; found && digit < 0 {
			digit, i, end, ok = d, i+1, i+1, true
			continue
		}
		power, found := words.Small[r]
		if !found || power >= last {
			break
		}
		if digit < 0 {
			digit = 1
		}
		value, digit, last, i, end, ok = value+digit*power, -1, power, i+1, i+1, true
	}
	if digit >= 0 {
		value += digit
	} else if n, e, found := t.native(end); ok && found && t.skip(end) == end && n < last {
		return value + n, e, true // 십하나
	}
	return value, end, ok
}

func (t text) numeral(at int) bool {
	if at >= len(t) {
		return false
	}
	_, digit := words.Digits[string(t[at])]
	_, power := words.Small[string(t[at])]
	return digit || power
}

// native reads 열다섯, 스물두, 한.
func (t text) native(at int) (value float64, end int, ok bool) {
	tens, end, ok := eatKey(t, at, words.NativeTens)
	if !ok {
		end = at
	}
	from := end
	if ok && end < len(t) && t[end] == ' ' {
		from = end + 1
	}
	ones, e, found := eatKey(t, from, words.Native)
	if found {
		return tens + ones, e, true
	}
	return tens, end, ok
}
