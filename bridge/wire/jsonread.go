package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// fromJSON turns JSON into deterministic CBOR within the limits. What CBOR may not hold (a name twice, half a surrogate pair, an
// integer that is not exact) is refused here, with its position in the JSON.
func fromJSON(data []byte, lim Limits) ([]byte, *syntaxFault) {
	if f := checkJSON(data); f != nil {
		return nil, f
	}
	r := jsonReader{data: data, lim: lim, out: make([]byte, 0, len(data))}
	r.space()
	if f := r.value(0); f != nil {
		return nil, f
	}
	return r.out, nil
}

// checkJSON is the library's judgement on the grammar; the reader behind it may rely on it.
func checkJSON(data []byte) *syntaxFault {
	if !utf8.Valid(data) {
		return malformed(invalidUTF8(data), "the message is not valid UTF-8")
	}
	if json.Valid(data) {
		return nil
	}
	var raw json.RawMessage
	pos, err := 0, json.Unmarshal(data, &raw)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		pos = int(syntax.Offset)
	}
	return malformed(pos, "the message is not JSON: %v", err)
}

// invalidUTF8 is the position of the first byte that is no UTF-8.
func invalidUTF8(data []byte) int {
	pos := 0
	for pos < len(data) {
		c, width := utf8.DecodeRune(data[pos:])
		if c == utf8.RuneError && width == 1 {
			break
		}
		pos += width
	}
	return pos
}

// jsonReader reads valid JSON and writes CBOR.
type jsonReader struct {
	data  []byte
	pos   int
	lim   Limits
	items int
	out   []byte
	spare []byte // for sorting the members of an object
}

func (r *jsonReader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return
		}
	}
}

// next passes one byte of punctuation and the space around it.
func (r *jsonReader) next() {
	r.pos++
	r.space()
}

func (r *jsonReader) value(depth int64) *syntaxFault {
	if r.items++; r.items > maxItems {
		return tooLarge(r.pos, "more than %d values", maxItems)
	}
	switch r.data[r.pos] {
	case '{':
		return r.object(depth + 1)
	case '[':
		return r.array(depth + 1)
	case '"':
		return r.text()
	case 't':
		return r.word(4, simpleTrue)
	case 'f':
		return r.word(5, simpleFalse)
	case 'n':
		return r.word(4, simpleNull)
	}
	return r.number()
}

func (r *jsonReader) word(length int, simple byte) *syntaxFault {
	r.out = append(r.out, majorSimple<<5|simple)
	r.pos += length
	r.space()
	return nil
}

func (r *jsonReader) number() *syntaxFault {
	from := r.pos
	for r.pos < len(r.data) && bytes.IndexByte([]byte("+-.0123456789eE"), r.data[r.pos]) >= 0 {
		r.pos++
	}
	literal := string(r.data[from:r.pos])
	r.space()
	if !bytes.ContainsAny([]byte(literal), ".eE") {
		v, err := strconv.ParseInt(literal, 10, 64)
		if err != nil || v > maxSafeInt || v < -maxSafeInt {
			return malformed(from, "an integer is outside ±(2^53-1)")
		}
		r.out = appendInt(r.out, v)
		return nil
	}
	v, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(v, 0) {
		return malformed(from, "a number is too large")
	}
	r.out = appendNumber(r.out, v)
	return nil
}

func (r *jsonReader) array(depth int64) *syntaxFault {
	from, start := r.pos, len(r.out)
	if f := checkNesting(from, depth, r.lim); f != nil {
		return f
	}
	n := 0
	for r.next(); r.data[r.pos] != ']'; n++ {
		if n == maxArray {
			return tooLarge(from, "an array of more than %d elements", maxArray)
		}
		if f := r.value(depth); f != nil {
			return f
		}
		r.comma()
	}
	r.next()
	r.insertHead(start, majorArray, n)
	return nil
}

// comma passes the comma between two elements.
func (r *jsonReader) comma() {
	if r.data[r.pos] == ',' {
		r.next()
	}
}

func (r *jsonReader) insertHead(start int, major byte, n int) {
	var buf [9]byte
	r.out = slices.Insert(r.out, start, appendHead(buf[:0], major, uint64(n))...)
}

// entry is where a member was written: name from key to value, value from there to end.
type entry struct{ key, value, end, pos int }

func (r *jsonReader) object(depth int64) *syntaxFault {
	from, start := r.pos, len(r.out)
	if f := checkNesting(from, depth, r.lim); f != nil {
		return f
	}
	var fixed [16]entry
	entries := fixed[:0]
	for r.next(); r.data[r.pos] != '}'; {
		if len(entries) == maxPairs {
			return tooLarge(from, "an object of more than %d members", maxPairs)
		}
		e := entry{key: len(r.out), pos: r.pos}
		if f := r.text(); f != nil {
			return f
		}
		e.value = len(r.out)
		r.next() // the colon
		if f := r.value(depth); f != nil {
			return f
		}
		e.end = len(r.out)
		entries = append(entries, e)
		r.comma()
	}
	r.next()
	return r.sortMembers(start, entries)
}

// sortMembers brings the members written since start into deterministic order, behind the head of their object.
func (r *jsonReader) sortMembers(start int, entries []entry) *syntaxFault {
	r.spare = append(r.spare[:0], r.out[start:]...)
	name := func(e entry) []byte { return r.spare[e.key-start : e.value-start] }
	slices.SortStableFunc(entries, func(a, b entry) int { return bytes.Compare(name(a), name(b)) })
	r.out = appendHead(r.out[:start], majorMap, uint64(len(entries)))
	for i, e := range entries {
		if i > 0 && bytes.Equal(name(entries[i-1]), name(e)) {
			return malformed(e.pos, "a name appears twice")
		}
		r.out = append(r.out, r.spare[e.key-start:e.end-start]...)
	}
	return nil
}

func (r *jsonReader) text() *syntaxFault {
	from := r.pos
	r.pos++
	start := r.pos
	escaped := false
	for r.data[r.pos] != '"' {
		if r.data[r.pos] == '\\' {
			escaped = true
			r.pos++
		}
		r.pos++
	}
	text := r.data[start:r.pos]
	r.next()
	if escaped {
		var f *syntaxFault
		if text, f = unescape(text, start); f != nil {
			return f
		}
	}
	if int64(len(text)) > r.lim.StringBytes {
		return tooLarge(from, "a string of %d bytes, at most %d are allowed", len(text), r.lim.StringBytes)
	}
	r.out = append(appendHead(r.out, majorText, uint64(len(text))), text...)
	return nil
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape resolves the escapes of a valid JSON string. Half a surrogate pair is no character: encoding/json would quietly put
// U+FFFD there, and then two encodings of one message would differ.
func unescape(raw []byte, pos int) ([]byte, *syntaxFault) {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		if raw[i+1] != 'u' {
			out = append(out, escapes[raw[i+1]])
			i += 2
			continue
		}
		c, width := hexRune(raw[i:])
		if c == utf8.RuneError && width == 0 {
			return nil, malformed(pos+i, "half of a surrogate pair")
		}
		out = utf8.AppendRune(out, c)
		i += width
	}
	return out, nil
}

// hexRune reads \uXXXX, or two of them where they are a pair. Width 0 means that a half has no other half.
func hexRune(raw []byte) (rune, int) {
	c := hex4(raw)
	if !utf16.IsSurrogate(c) {
		return c, 6
	}
	if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		if pair := utf16.DecodeRune(c, hex4(raw[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 0
}

func hex4(raw []byte) rune {
	v, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		panic("internal error: unescape needs valid JSON: " + err.Error())
	}
	return rune(v)
}
