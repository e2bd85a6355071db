package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

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
)

// Options say what Decode accepts. The zero value is the strictest: CBOR, on the way down, with the limits of the contract.
type Options struct {
	AllowJSON bool
	Limits    Limits // what is zero takes its default; nothing can be raised but Steps
	Direction Direction
}

// bodyKind is one row of the table of bodies.
type bodyKind struct {
	dir   Direction
	shape *shape
	alloc func(*Envelope) any // sets the body of that type and returns a pointer to it
	get   func(*Envelope) any // the body of that type, nil if it is not set
}

func row[T any](dir Direction, s *shaper, slot func(*Envelope) **T) bodyKind {
	return bodyKind{
		dir:   dir,
		shape: s.of(reflect.TypeFor[T](), rule{}),
		alloc: func(e *Envelope) any { p := new(T); *slot(e) = p; return p },
		get: func(e *Envelope) any {
			if p := *slot(e); p != nil {
				return p
			}
			return nil
		},
	}
}

// bodies are the types that this agent reads and writes.
var bodies, envelopeShape = func() (map[Type]bodyKind, *shape) {
	s := &shaper{structs: map[reflect.Type]*object{}}
	return map[Type]bodyKind{
		TypePlan:       row(Down, s, func(e *Envelope) **Plan { return &e.Plan }),
		TypeControl:    row(Down, s, func(e *Envelope) **Control { return &e.Control }),
		TypeStepResult: row(Down, s, func(e *Envelope) **StepResult { return &e.StepResult }),
		TypeReceipt:    row(Down, s, func(e *Envelope) **Receipt { return &e.Receipt }),
		TypeAck:        row(Up, s, func(e *Envelope) **Ack { return &e.Ack }),
		TypeResult:     row(Up, s, func(e *Envelope) **Result { return &e.Result }),
		TypeStepDue:    row(Up, s, func(e *Envelope) **StepDue { return &e.StepDue }),
		TypeStatus:     row(Up, s, func(e *Envelope) **Status { return &e.Status }),
	}, s.of(reflect.TypeFor[Envelope](), rule{})
}()

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
// Bytes that begin with tag 55799 are CBOR, others JSON, which must be allowed.
func Decode(data []byte, opt Options) (Envelope, error) {
	lim := opt.Limits.effective()
	if int64(len(data)) > lim.MessageBytes {
		return Envelope{}, refusal(data, tooLarge(0, "a message of %d bytes, at most %d are allowed", len(data), lim.MessageBytes).fault())
	}
	plain, f := canonical(data, opt.AllowJSON, lim)
	if f != nil {
		e := refusal(data, f.fault())
		e.peek(data, lim)
		return Envelope{}, e
	}
	env, e := decodePlain(plain, opt.Direction, lim)
	if e == nil {
		return env, nil
	}
	e.SHA256 = refusal(data).SHA256
	return Envelope{}, e
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
	if row.dir != dir {
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

// frame is the envelope with its body.
type frame struct {
	Envelope
	Body cbor.RawMessage `json:"body"`
}

// Encode writes one message. The body that Type names must be set, and no other. It refuses what no reader could accept by form
// (invalid UTF-8, over the limits of the contract); it does not judge spellings, so that a report is never held back by one.
func Encode(e Envelope, enc Encoding) ([]byte, error) {
	body, err := encodeBody(&e)
	if err != nil {
		return nil, err
	}
	plain, err := encMode.Marshal(frame{e, body})
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", e.Type, err)
	}
	lim := DefaultLimits()
	if f := scan(plain, lim); f != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", e.Type, f)
	}
	var out []byte
	switch enc {
	case CBOR:
		out = append(bytes.Clone(selfDescribed), plain...)
	case JSON:
		out = toJSON(plain)
	default:
		return nil, fmt.Errorf("cannot encode %s: unknown encoding %q", e.Type, enc)
	}
	if int64(len(out)) > lim.MessageBytes {
		return nil, fmt.Errorf("cannot encode %s: %d bytes, at most %d are allowed", e.Type, len(out), lim.MessageBytes)
	}
	return out, nil
}

func encodeBody(e *Envelope) (cbor.RawMessage, error) {
	if _, ok := bodies[e.Type]; !ok {
		return nil, fmt.Errorf("cannot encode message: unknown type %q", e.Type)
	}
	var body any
	for t, row := range bodies {
		b := row.get(e)
		if t == e.Type {
			body = b
		} else if b != nil {
			return nil, fmt.Errorf("cannot encode %s: a body of type %s is set", e.Type, t)
		}
	}
	if body == nil {
		return nil, fmt.Errorf("cannot encode %s: its body is not set", e.Type)
	}
	raw, err := encMode.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", e.Type, err)
	}
	return raw, nil
}

// ContentHash is the hex SHA-256 of the deterministic CBOR of the array [type, device_id, body]. Two messages that say the same
// have one hash, whatever their encoding, id and time, and whether a default was written out as null or an empty list. It tells
// a repeat from an id that was used again with other content. The errors are those of Encode for a missing or foreign body.
func ContentHash(e Envelope) (string, error) {
	body, err := encodeBody(&e)
	if err != nil {
		return "", err
	}
	buf := appendHead(nil, majorArray, 3)
	buf = appendText(buf, string(e.Type))
	buf = appendText(buf, e.DeviceID)
	sum := sha256.Sum256(append(buf, body...))
	return hex.EncodeToString(sum[:]), nil
}
