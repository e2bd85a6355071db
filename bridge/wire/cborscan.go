package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The major types of CBOR. Source: RFC 8949, section 3.1.
const (
	majorUint   = 0
	majorNint   = 1
	majorText   = 3
	majorArray  = 4
	majorMap    = 5
	majorSimple = 7
)

// The simple values that are allowed, and the three widths of floats.
const (
	simpleFalse = 20
	simpleTrue  = 21
	simpleNull  = 22
	infoFloat16 = 25
	infoFloat32 = 26
	infoFloat64 = 27
)

// selfDescribed is tag 55799: it stands before every CBOR message, and no other tag is allowed.
var selfDescribed = []byte{0xd9, 0xd9, 0xf7}

// head is the start of one item: its major type and argument. For floats info tells the width and arg holds the bits.
type head struct {
	major byte
	info  byte
	arg   uint64
	next  int
}

// readHead reads the head at pos. It refuses what deterministic CBOR does not have: longer forms than needed, indefinite lengths,
// tags, byte strings, and the simple values that JSON has no word for.
func readHead(data []byte, pos int) (head, *syntaxFault) {
	if pos >= len(data) {
		return head{}, malformed(pos, "the message ends too early")
	}
	h := head{major: data[pos] >> 5, info: data[pos] & 31, next: pos + 1}
	switch {
	case h.info < 24:
		h.arg = uint64(h.info)
	case h.info <= 27:
		width := 1 << (h.info - 24)
		if len(data)-h.next < width {
			return head{}, malformed(pos, "the message ends too early")
		}
		var wide [8]byte
		copy(wide[8-width:], data[h.next:h.next+width])
		h.arg = binary.BigEndian.Uint64(wide[:])
		h.next += width
	case h.info == 31:
		return head{}, malformed(pos, "an indefinite length is not allowed")
	default:
		return head{}, malformed(pos, "reserved additional information %d", h.info)
	}
	return h, h.check(pos)
}

func (h head) check(pos int) *syntaxFault {
	switch h.major {
	case 2:
		return malformed(pos, "a byte string is not allowed")
	case 6:
		return malformed(pos, "tag %d is not allowed here", h.arg)
	case majorSimple:
		if h.info == simpleFalse || h.info == simpleTrue || h.info == simpleNull || h.info >= infoFloat16 {
			return nil
		}
		return malformed(pos, "simple value %d is not allowed", h.arg)
	}
	if h.info >= 24 && h.arg < shortest[h.info-24] {
		return malformed(pos, "a number or length is not in its shortest form")
	}
	return nil
}

// shortest is the smallest argument that needs 1, 2, 4 and 8 bytes.
var shortest = [4]uint64{24, 1 << 8, 1 << 16, 1 << 32}

func (h head) isFloat() bool { return h.major == majorSimple && h.info >= infoFloat16 }
func (h head) isNull() bool  { return h.major == majorSimple && h.info == simpleNull }

// isInt says whether the head is an integer in the range that JSON holds exactly.
func (h head) isInt() bool { return h.major == majorUint || h.major == majorNint }

func (h head) int() int64 {
	if h.major == majorNint {
		return -1 - int64(h.arg)
	}
	return int64(h.arg)
}

// float widens the bits of a float head.
func (h head) float() float64 {
	switch h.info {
	case infoFloat16:
		return float16(uint16(h.arg))
	case infoFloat32:
		return float64(math.Float32frombits(uint32(h.arg)))
	}
	return math.Float64frombits(h.arg)
}

// float16 widens a half. Source: RFC 8949, appendix D.
func float16(bits uint16) float64 {
	exp, mant := int(bits>>10&31), float64(bits&1023)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(mant, -24)
	case 31:
		v = math.Inf(1)
		if mant != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(mant+1024, exp-25)
	}
	if bits&0x8000 != 0 {
		return -v
	}
	return v
}

// scanner checks that bytes are one item of deterministic CBOR within the limits. Everything behind it relies on that.
type scanner struct {
	data  []byte
	lim   Limits
	items int
}

func scan(data []byte, lim Limits) *syntaxFault {
	s := scanner{data: data, lim: lim}
	end, f := s.item(0, 0)
	if f != nil {
		return f
	}
	if end != len(data) {
		return malformed(end, "bytes follow the message")
	}
	return nil
}

func (s *scanner) item(pos int, depth int64) (int, *syntaxFault) {
	if s.items++; s.items > maxItems {
		return 0, tooLarge(pos, "more than %d values", maxItems)
	}
	h, f := readHead(s.data, pos)
	if f != nil {
		return 0, f
	}
	switch h.major {
	case majorUint, majorNint:
		return h.next, checkInt(h, pos)
	case majorText:
		return s.text(h, pos)
	case majorArray:
		return s.array(h, pos, depth+1)
	case majorMap:
		return s.object(h, pos, depth+1)
	}
	return h.next, checkFloat(h, s.data[pos:h.next], pos)
}

func (s *scanner) text(h head, pos int) (int, *syntaxFault) {
	if h.arg > uint64(len(s.data)-h.next) {
		return 0, malformed(pos, "the message ends inside a string")
	}
	if h.arg > uint64(s.lim.StringBytes) {
		return 0, tooLarge(pos, "a string of %d bytes, at most %d are allowed", h.arg, s.lim.StringBytes)
	}
	end := h.next + int(h.arg)
	if !utf8.Valid(s.data[h.next:end]) {
		return 0, malformed(pos, "a string is not valid UTF-8")
	}
	return end, nil
}

func (s *scanner) array(h head, pos int, depth int64) (int, *syntaxFault) {
	if f := checkNesting(pos, depth, s.lim); f != nil {
		return 0, f
	}
	if h.arg > maxArray {
		return 0, tooLarge(pos, "an array of %d elements, at most %d are allowed", h.arg, maxArray)
	}
	at := h.next
	for range h.arg {
		var f *syntaxFault
		if at, f = s.item(at, depth); f != nil {
			return 0, f
		}
	}
	return at, nil
}

func (s *scanner) object(h head, pos int, depth int64) (int, *syntaxFault) {
	if f := checkNesting(pos, depth, s.lim); f != nil {
		return 0, f
	}
	if h.arg > maxPairs {
		return 0, tooLarge(pos, "an object of %d members, at most %d are allowed", h.arg, maxPairs)
	}
	at := h.next
	var last []byte
	for range h.arg {
		key, f := s.key(at, last)
		if f != nil {
			return 0, f
		}
		last = s.data[at:key]
		if at, f = s.item(key, depth); f != nil {
			return 0, f
		}
	}
	return at, nil
}

// key checks one name: text, and behind the name before it in the order of the encoded bytes.
func (s *scanner) key(pos int, last []byte) (int, *syntaxFault) {
	h, f := readHead(s.data, pos)
	if f != nil {
		return 0, f
	}
	if h.major != majorText {
		return 0, malformed(pos, "a member's name is not text")
	}
	end, f := s.text(h, pos)
	if f != nil {
		return 0, f
	}
	switch bytes.Compare(last, s.data[pos:end]) {
	case 0:
		return 0, malformed(pos, "the name %q appears twice", clip(string(s.data[h.next:end])))
	case 1:
		return 0, malformed(pos, "the members are not in deterministic order")
	}
	return end, nil
}

func checkNesting(pos int, depth int64, lim Limits) *syntaxFault {
	if depth > lim.Nesting {
		return tooLarge(pos, "more than %d levels of nesting", lim.Nesting)
	}
	return nil
}

func checkInt(h head, pos int) *syntaxFault {
	most := uint64(maxSafeInt)
	if h.major == majorNint {
		most--
	}
	if h.arg > most {
		return malformed(pos, "an integer is outside ±(2^53-1)")
	}
	return nil
}

// checkFloat refuses NaN, the infinities, floats that are not in their shortest form, and those that are an integer.
func checkFloat(h head, raw []byte, pos int) *syntaxFault {
	if !h.isFloat() {
		return nil
	}
	v := h.float()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return malformed(pos, "NaN and infinity are not allowed")
	}
	var buf [9]byte
	if !bytes.Equal(appendNumber(buf[:0], v), raw) {
		return malformed(pos, "a float is not in its shortest form, or is an integer")
	}
	return nil
}

// clip shortens text from outside before it is repeated.
func clip(text string) string {
	if len(text) <= maxPathName {
		return text
	}
	cut := maxPathName
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
