package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func seedMessages(f *testing.F, asIs func([]byte)) {
	for _, m := range golden(f, "accept") {
		asIs(m)
	}
	for _, data := range golden(f, "refuse") {
		var tc refusedMessage
		if err := json.Unmarshal(data, &tc); err != nil {
			f.Fatal(err)
		}
		asIs(tc.Message)
	}
}

// decodeBothWays decodes in each direction and checks what holds for every answer.
func decodeBothWays(t *testing.T, data []byte) (e Envelope, ok bool) {
	for _, dir := range []Direction{Down, Up} {
		env, err := Decode(data, Options{AllowJSON: true, Direction: dir})
		if err == nil {
			return env, true
		}
		d, is := errors.AsType[*DecodeError](err)
		if !is || len(d.Faults) == 0 || len(d.SHA256) != 64 || !reflect.DeepEqual(env, Envelope{}) {
			t.Fatalf("%q: %#v", data, err)
		}
		for _, fault := range d.Faults {
			// the library must never find what the walk has let through
			if fault.ReasonCode == "" || strings.HasPrefix(fault.Message, "cbor: ") {
				t.Fatalf("%q: %+v", data, fault)
			}
		}
		ack := Envelope{Type: TypeAck, Ack: &Ack{RefID: d.ID, Errors: d.Faults}}
		if _, err := Encode(ack, CBOR); err != nil {
			t.Fatalf("%q: the refusal cannot be sent: %v", data, err)
		}
	}
	return Envelope{}, false
}

// checkRoundTrip: what was accepted can be written in both encodings and is then the same.
func checkRoundTrip(t *testing.T, e Envelope) {
	for _, enc := range []Encoding{CBOR, JSON} {
		out, err := Encode(e, enc)
		if err != nil {
			if strings.Contains(err.Error(), "at most") {
				return // JSON is longer than the CBOR that it came from, and the reverse
			}
			t.Fatal(err)
		}
		again, ok := decodeBothWays(t, out)
		if !ok {
			t.Fatalf("own %s is refused: %q", enc, out)
		}
		a, errA := ContentHash(e)
		b, errB := ContentHash(again)
		if errA != nil || errB != nil || a != b {
			t.Fatalf("%s changed the content: %q", enc, out)
		}
		out2, err := Encode(again, enc)
		if err != nil || !bytes.Equal(out, out2) {
			t.Fatalf("%s is not stable: %q, %q (%v)", enc, out, out2, err)
		}
	}
}

func FuzzDecodeJSON(f *testing.F) {
	seedMessages(f, func(m []byte) { f.Add(string(m)) })
	for _, v := range []string{"1e999", "-0.0", `"\ud83e\udd16\u0000"`, `"\ud800"`, `{"a":1,"a":2}`, "9007199254740992.0", "5e-324"} {
		f.Add(planJSON(v))
	}
	f.Fuzz(func(t *testing.T, data string) {
		if e, ok := decodeBothWays(t, []byte(data)); ok {
			checkRoundTrip(t, e)
		}
	})
}

func FuzzDecodeCBOR(f *testing.F) {
	seedMessages(f, func(m []byte) { f.Add(asCBOR(f, m)) })
	for _, text := range []string{"d9d9f7a0", "d9d9f79f", "d9d9f7bb8000000000000000", "d9d9f7f97e00", "d9d9f7d9d9f7a0"} {
		data, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, selfDescribed) {
			data = append(bytes.Clone(selfDescribed), data...)
		}
		if e, ok := decodeBothWays(t, data); ok {
			checkRoundTrip(t, e)
		}
	})
}

// FuzzBothEncodings writes any JSON as CBOR with the library alone, and decodes both: one verdict, one value, the same faults.
func FuzzBothEncodings(f *testing.F) {
	seedMessages(f, func(m []byte) { f.Add(string(m)) })
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		if f := func() *syntaxFault { _, f := canonical([]byte(text), true, DefaultLimits()); return f }(); f != nil {
			return // a name twice, an inexact integer: encoding/json has changed them already
		}
		binary := asCBOR(t, []byte(text))
		for _, dir := range []Direction{Down, Up} {
			a, errA := Decode([]byte(text), Options{AllowJSON: true, Direction: dir})
			b, errB := Decode(binary, Options{Direction: dir})
			if (errA == nil) != (errB == nil) || !reflect.DeepEqual(a, b) {
				t.Fatalf("%q\nJSON %v\nCBOR %v", text, errA, errB)
			}
			if errA != nil && !reflect.DeepEqual(errA.(*DecodeError).Faults, errB.(*DecodeError).Faults) {
				t.Fatalf("%q\nJSON %v\nCBOR %v", text, errA, errB)
			}
		}
	})
}
