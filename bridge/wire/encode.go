package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

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
