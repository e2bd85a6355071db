package wire

import (
	"math"
	"strconv"
)

// toJSON writes bytes that scan accepted as JSON. Members keep the order of the CBOR.
func toJSON(plain []byte) []byte {
	w := jsonWriter{walker: walker{data: plain}, out: make([]byte, 0, len(plain)*5/4)}
	w.value(0)
	return w.out
}

type jsonWriter struct {
	walker
	out []byte
}

func (w *jsonWriter) value(pos int) int {
	h := w.head(pos)
	switch h.major {
	case majorUint, majorNint:
		w.out = strconv.AppendInt(w.out, h.int(), 10)
		return h.next
	case majorText:
		text, end := w.textOf(h)
		w.out = appendQuoted(w.out, text)
		return end
	case majorArray:
		return w.list(h, '[', ']', w.value)
	case majorMap:
		return w.list(h, '{', '}', w.pair)
	}
	switch {
	case h.isFloat():
		w.out = appendFloat(w.out, h.float())
	case h.isNull():
		w.out = append(w.out, "null"...)
	default:
		w.out = strconv.AppendBool(w.out, h.info == simpleTrue)
	}
	return h.next
}

func (w *jsonWriter) list(h head, open, end byte, element func(int) int) int {
	w.out = append(w.out, open)
	at := h.next
	for i := range int(h.arg) {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		at = element(at)
	}
	w.out = append(w.out, end)
	return at
}

func (w *jsonWriter) pair(pos int) int {
	at := w.value(pos)
	w.out = append(w.out, ':')
	return w.value(at)
}

// appendFloat writes a number that is not an exact integer. A large whole number gets an exponent, since as plain digits it would
// be read as an integer, which has to be exact.
func appendFloat(buf []byte, v float64) []byte {
	format := byte('f')
	if a := math.Abs(v); a > maxSafeInt || a < 1e-6 {
		format = 'e'
	}
	return strconv.AppendFloat(buf, v, format, -1, 64)
}

const hexDigits = "0123456789abcdef"

// appendQuoted writes a JSON string and escapes what JSON says must be; token_text stays readable.
func appendQuoted(buf []byte, text string) []byte {
	buf = append(buf, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			buf = append(buf, '\\', c)
		case c < 0x20:
			buf = append(buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			buf = append(buf, c)
		}
	}
	return append(buf, '"')
}
