package wire

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// walker holds bytes that scan accepted against a shape, and collects all that does not fit.
type walker struct {
	data    []byte
	lim     Limits
	lenient bool // unknown members are passed over: strict fields bind the way down only
	faults  []Fault
	path    []segment
	misfit  bool   // some item has the wrong type, so the Go types cannot take these bytes
	body    [2]int // where the body of an envelope begins and ends
}

// segment is one step of a path: a name, or an index where the name is empty.
type segment struct {
	name  string
	index int
}

func (w *walker) fault(reason, format string, args ...any) {
	if len(w.faults) > maxFaults {
		return // a hostile message has thousands, and each path costs more than the byte that caused it
	}
	w.faultAt(w.at(), reason, fmt.Sprintf(format, args...))
}

func (w *walker) faultAt(path, reason, msg string) {
	switch {
	case len(w.faults) < maxFaults:
		w.faults = append(w.faults, Fault{Path: path, ReasonCode: reason, Message: msg})
	case len(w.faults) == maxFaults:
		w.faults = append(w.faults, Fault{ReasonCode: ReasonTooLarge, Message: "there are more faults than are reported"})
	}
}

// at writes the path as in device_task_requests[1].depends_on[0].
func (w *walker) at() string {
	var b strings.Builder
	for _, s := range w.path {
		switch {
		case s.name == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + clip(s.name))
		default:
			b.WriteString(clip(s.name))
		}
	}
	return b.String()
}

func (w *walker) push(s segment) { w.path = append(w.path, s) }
func (w *walker) pop()           { w.path = w.path[:len(w.path)-1] }

// head reads a head that scan has read before.
func (w *walker) head(pos int) head {
	h, f := readHead(w.data, pos)
	if f != nil {
		panic("internal error: walk over bytes that were not scanned: " + f.Error())
	}
	return h
}

func (w *walker) textOf(h head) (string, int) {
	end := h.next + int(h.arg)
	return string(w.data[h.next:end]), end
}

// skip returns the position behind the item at pos.
func (w *walker) skip(pos int) int {
	h := w.head(pos)
	n := h.arg
	switch h.major {
	case majorText:
		return h.next + int(h.arg)
	case majorMap:
		n *= 2
	case majorArray:
	default:
		return h.next
	}
	at := h.next
	for range n {
		at = w.skip(at)
	}
	return at
}

// item checks the item at pos and returns the position behind it.
func (w *walker) item(pos int, s *shape) int {
	h := w.head(pos)
	switch s.kind {
	case kindText:
		if h.major == majorText {
			return w.text(h, s)
		}
	case kindInt:
		if h.isInt() {
			return w.integer(h, s)
		}
	case kindBool:
		if h.major == majorSimple && !h.isFloat() && !h.isNull() {
			return h.next
		}
	case kindArray:
		if h.major == majorArray {
			return w.array(h, s)
		}
	case kindStruct:
		if h.major == majorMap {
			return w.object(h, s.st)
		}
	case kindMap:
		if h.major == majorMap {
			return w.names(h, s)
		}
	case kindObject:
		if h.major == majorMap {
			return w.skip(pos)
		}
	case kindBody:
		if h.major == majorMap {
			w.body = [2]int{pos, w.skip(pos)}
			return w.body[1]
		}
	case kindValue:
		return w.skip(pos) // null is the same as left out
	case kindUnion:
		if form := s.forms[h.major]; form != nil {
			return w.item(pos, form)
		}
	}
	w.misfit = true
	w.fault(ReasonWrongType, "is %s, must be %s", h.describe(), s.describe())
	return w.skip(pos)
}

func (w *walker) text(h head, s *shape) int {
	text, end := w.textOf(h)
	if reason, msg := s.rule.text(text, w.lim); reason != "" {
		w.fault(reason, "%s", msg)
	}
	return end
}

func (w *walker) integer(h head, s *shape) int {
	if v := h.int(); v < s.rule.lo || v > s.rule.hi {
		w.fault(ReasonBadValue, "is %d, must be %d to %d", v, s.rule.lo, s.rule.hi)
	}
	return h.next
}

func (w *walker) array(h head, s *shape) int {
	w.count(h, s)
	at := h.next
	for i := range int(h.arg) {
		w.push(segment{index: i})
		at = w.item(at, s.elem)
		w.pop()
	}
	return at
}

func (w *walker) count(h head, s *shape) {
	if s.rule.maxSteps && h.arg > uint64(w.lim.Steps) {
		w.fault(ReasonTooLarge, "%d steps, at most %d are allowed", h.arg, w.lim.Steps)
	}
	if h.arg < uint64(s.rule.min) {
		w.fault(ReasonBadValue, "must not be empty")
	}
}

// names checks a map of free names to values of one shape.
func (w *walker) names(h head, s *shape) int {
	w.count(h, s)
	at := h.next
	for range h.arg {
		name, value := w.textOf(w.head(at))
		w.push(segment{name: name})
		if name == "" || int64(len(name)) > w.lim.IDChars {
			w.fault(ReasonBadValue, "a name must have 1 to %d bytes", w.lim.IDChars)
		}
		at = w.item(value, s.elem)
		w.pop()
	}
	return at
}

func (w *walker) object(h head, o *object) int {
	missing := o.required
	at := h.next
	for range h.arg {
		k := w.head(at)
		value := k.next + int(k.arg)
		f := o.byName[string(w.data[k.next:value])]
		if f == nil {
			w.unknown(string(w.data[k.next:value]), o)
			at = w.skip(value)
			continue
		}
		missing &^= f.bit
		at = w.member(value, f)
	}
	for ; missing != 0; missing &= missing - 1 {
		w.push(segment{name: o.fields[bits.TrailingZeros64(missing)].name})
		w.fault(ReasonMissingField, "is missing")
		w.pop()
	}
	return at
}

func (w *walker) member(pos int, f *field) int {
	if f.nullable && w.head(pos).isNull() {
		return pos + 1
	}
	w.push(segment{name: f.name})
	end := w.item(pos, f.shape)
	w.pop()
	return end
}

func (w *walker) unknown(name string, o *object) {
	if w.lenient {
		return
	}
	w.push(segment{name: name})
	defer w.pop()
	later := notYet[o.name]
	if slices.Contains(later, name) || slices.Contains(later, "*") {
		w.fault(ReasonUnsupported, "is not supported by this agent")
		return
	}
	w.fault(ReasonUnknownField, "is not a field of the contract")
}

// describe names what is there, for the message of a fault.
func (h head) describe() string {
	switch {
	case h.isInt():
		return "an integer"
	case h.major == majorText:
		return "text"
	case h.major == majorArray:
		return "an array"
	case h.major == majorMap:
		return "an object"
	case h.isNull():
		return "null"
	case h.isFloat():
		return "a number with a fraction"
	}
	return "a boolean"
}

var kindWords = map[kind]string{
	kindText: "text", kindInt: "an integer", kindBool: "a boolean", kindArray: "an array",
	kindStruct: "an object", kindMap: "an object", kindObject: "an object", kindBody: "an object",
}

func (s *shape) describe() string {
	if s.kind != kindUnion {
		return kindWords[s.kind]
	}
	var words []string
	for _, form := range s.forms {
		if form != nil {
			words = append(words, kindWords[form.kind])
		}
	}
	return strings.Join(words, " or ")
}
