package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Encoding is how a message is written.
type Encoding string

// The encodings. JSON is for labs and the local socket.
const (
	CBOR Encoding = "cbor" // RFC 8949, core deterministic, behind tag 55799
	JSON Encoding = "json"
)

// Direction is the way that a message travels.
type Direction string

// The directions. Unknown members are refused on the way down and passed over on the way up: the planner stores what a newer
// device says.
const (
	Down Direction = "down" // planner → device
	Up   Direction = "up"   // device → planner

	bothWays Direction = "both ways" // of a body that travels both ways
)

// Options say what Decode accepts. The zero value is the strictest: CBOR, on the way down, with the limits of the contract.
type Options struct {
	AllowJSON bool
	Limits    Limits // what is zero takes its default; nothing can be raised but Steps
	Direction Direction
	Keys      Keys // whose signatures are believed
	Signed    bool // what is not signed is refused
}

// decStrict fills structs from bytes that passed scan and walk. It repeats their checks, so that a hole in one of ours is closed
// by the library's. decLoose is for what may have unknown members.
// decPeek only looks for the ids of a message that is refused already, perhaps for its depth; it keeps
// nothing else.
var (
	decStrict = decMode(cbor.ExtraDecErrorUnknownField, 16, maxArray, maxPairs)
	decLoose  = decMode(cbor.ExtraDecErrorNone, 16, maxArray, maxPairs)
	decPeek   = decMode(cbor.ExtraDecErrorNone, 1024, 256<<10, 256<<10)
)

func decMode(extra cbor.ExtraDecErrorCond, nesting, array, pairs int) cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:   nesting,
		MaxArrayElements:  array,
		MaxMapPairs:       pairs,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: extra,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		NaN:               cbor.NaNDecodeForbidden,
		Inf:               cbor.InfDecodeForbidden,
		BignumTag:         cbor.BignumTagForbidden,
	}.DecMode()
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return mode
}

// Decode reads one message. The error is a *DecodeError with every fault that could be found; the envelope is then empty.
// Bytes that begin with tag 55799 are CBOR, with tag 18 such CBOR with a signature around it, others JSON, which must be allowed.
func Decode(data []byte, opt Options) (Envelope, error) {
	lim := opt.Limits.effective()
	if int64(len(data)) > lim.MessageBytes+signatureBytes {
		return Envelope{}, oversize(data, len(data), lim)
	}
	inner, f := opt.opened(data)
	if f != nil {
		// Its ids are not looked for: a forger could have the ack refuse what somebody else has sent.
		return Envelope{}, refusal(data, f.fault())
	}
	if int64(len(inner)) > lim.MessageBytes {
		return Envelope{}, oversize(data, len(inner), lim)
	}
	plain, f := canonical(inner, opt.AllowJSON, lim)
	if f != nil {
		e := refusal(data, f.fault())
		e.peek(inner, lim)
		return Envelope{}, e
	}
	env, e := decodePlain(plain, opt.Direction, lim)
	if e == nil {
		return env, nil
	}
	e.SHA256 = refusal(data).SHA256
	return Envelope{}, e
}

func oversize(data []byte, n int, lim Limits) *DecodeError {
	return refusal(data, tooLarge(0, "a message of %d bytes, at most %d are allowed", n, lim.MessageBytes).fault())
}

// canonical gives the one deterministic CBOR form of a message, without the tag.
func canonical(data []byte, allowJSON bool, lim Limits) ([]byte, *syntaxFault) {
	if plain, ok := bytes.CutPrefix(data, selfDescribed); ok {
		f := scan(plain, lim)
		if f != nil {
			f.pos += len(selfDescribed)
		}
		return plain, f
	}
	if !looksJSON(data) {
		return nil, malformed(0, "the message begins with neither CBOR's tag 55799 nor a JSON object")
	}
	if !allowJSON {
		return nil, &syntaxFault{ReasonUnsupported, 0, "JSON is switched off, the message must be CBOR"}
	}
	plain, f := fromJSON(data, lim)
	if f != nil {
		return nil, f
	}
	if f := scan(plain, lim); f != nil {
		return nil, f
	}
	return plain, nil
}

func looksJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

// decodePlain checks and decodes bytes that scan accepted.
func decodePlain(plain []byte, dir Direction, lim Limits) (Envelope, *DecodeError) {
	w := walker{data: plain, lim: lim, lenient: dir == Up}
	w.item(0, envelopeShape)
	e := &DecodeError{}
	e.identify(plain, lim)
	var env Envelope
	if !w.misfit {
		w.fill(plain, &env)
	}
	if row, ok := bodies[e.Type]; ok {
		checkDirection(&w, e.Type, row, dir)
		if w.body[1] > 0 {
			w.item(w.body[0], row.shape)
		}
		if !w.misfit && w.body[1] > 0 {
			w.fill(plain[w.body[0]:w.body[1]], row.alloc(&env))
			crossCheck(&w, &env, dir)
		}
	}
	if len(w.faults) == 0 {
		return env, nil
	}
	e.Faults = w.faults
	return Envelope{}, e
}

// fill decodes into dst. After a clean walk it cannot fail; if it does, the walk has a hole and the message is refused.
func (w *walker) fill(data []byte, dst any) {
	mode := decLoose
	if _, isEnvelope := dst.(*Envelope); !isEnvelope && !w.lenient && len(w.faults) == 0 {
		mode = decStrict
	}
	if err := mode.Unmarshal(data, dst); err != nil {
		w.misfit = true
		w.faultAt("", ReasonMalformed, clip(err.Error()))
	}
}

func checkDirection(w *walker, t Type, row bodyKind, dir Direction) {
	if dir == "" {
		dir = Down
	}
	if row.dir != dir && row.dir != bothWays {
		w.faultAt("type", ReasonUnsupported, fmt.Sprintf("%s does not travel %s", t, dir))
	}
}

// identity is the part of an envelope that a refusal needs.
type identity struct {
	ID       string `json:"id"`
	DeviceID string `json:"device_id"`
	Type     string `json:"type"`
}

// identify fills in what can be read of the ids, whatever else is wrong.
func (e *DecodeError) identify(plain []byte, lim Limits) {
	w := walker{data: plain}
	e.keep(&e.ID, w.topText("id"), lim)
	e.keep(&e.DeviceID, w.topText("device_id"), lim)
	e.keep((*string)(&e.Type), w.topText("type"), lim)
}

// topText finds a text member of the outermost object; empty if there is none.
func (w *walker) topText(name string) string {
	h := w.head(0)
	if h.major != majorMap {
		return ""
	}
	at := h.next
	for range h.arg {
		key, value := w.textOf(w.head(at))
		if v := w.head(value); key == name && v.major == majorText {
			text, _ := w.textOf(v)
			return text
		}
		at = w.skip(value)
	}
	return ""
}

// peek reads the ids of a message that scan refused: where only a limit or the order is broken, a refusal can still name it.
func (e *DecodeError) peek(data []byte, lim Limits) {
	var id identity
	if plain, ok := bytes.CutPrefix(data, selfDescribed); ok {
		if decPeek.Unmarshal(plain, &id) != nil {
			return
		}
	} else if json.Unmarshal(data, &id) != nil {
		return
	}
	e.keep(&e.ID, id.ID, lim)
	e.keep(&e.DeviceID, id.DeviceID, lim)
	e.keep((*string)(&e.Type), id.Type, lim)
}

// keep takes over an id that is spelled right: it will be repeated in an ack.
func (e *DecodeError) keep(dst *string, text string, lim Limits) {
	if reason, _ := checkID(text, true, lim); reason == "" {
		*dst = text
	}
}
