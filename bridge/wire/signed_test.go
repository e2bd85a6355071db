package wire

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/veraison/go-cose"
)

var updateSigned = flag.Bool("update-signed", false, "write the golden vectors of signed messages anew")

// testKey is a key for tests alone: its seed is one byte 32 times.
func testKey(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func publicOf(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// envelope is a golden message in CBOR.
func envelope(t testing.TB, name string) []byte {
	t.Helper()
	e, err := Decode(golden(t, "accept")[name], Options{AllowJSON: true})
	if err != nil {
		t.Fatal(err)
	}
	data, err := Encode(e, CBOR)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sign(t testing.TB, data []byte, key ed25519.PrivateKey) []byte {
	t.Helper()
	signed, err := Sign(data, key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// The bytes are for ever: another implementation of the planner is held against them.
func TestGoldenSignatures(t *testing.T) {
	for _, name := range []string{"plan_seed_request", "control_cancel", "decision_retry", "receipt"} {
		signed := sign(t, envelope(t, name), testKey(1))
		path := filepath.Join("testdata", "signed", name+".hex")
		if *updateSigned {
			if err := os.WriteFile(path, []byte(hex.EncodeToString(signed)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if hex.EncodeToString(signed) != strings.TrimSpace(string(want)) {
			t.Errorf("%s is signed otherwise than in %s", name, path)
		}
		if _, err := Decode(signed, Options{Keys: NewKeys(publicOf(testKey(1))), Signed: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A signed message is the message: nothing of it is read otherwise than without the signature.
func TestASignatureChangesNothingOfTheMessage(t *testing.T) {
	data := envelope(t, "plan_seed_request")
	plain, err := Decode(data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	both := NewKeys(publicOf(testKey(1)), publicOf(testKey(2)))
	for _, key := range []ed25519.PrivateKey{testKey(1), testKey(2)} { // while one key replaces another, both are believed
		got, err := Decode(sign(t, data, key), Options{Keys: both, Signed: true})
		if err != nil {
			t.Fatal(err)
		}
		sameMessage(t, got, plain)
		a, err1 := ContentHash(got)
		b, err2 := ContentHash(plain)
		if err := errors.Join(err1, err2); err != nil || a != b {
			t.Fatalf("the content differs: %x %x %v", a, b, err)
		}
	}
	if _, err := Decode(data, Options{Keys: both}); err != nil {
		t.Errorf("where signatures are not required, a message without one passes: %v", err)
	}
}

// F31: what is not signed, or not as it should be, is refused, and its ids are not repeated: a forger could refuse for others.
func TestF31_UnsignedAndAlteredMessagesAreRefused(t *testing.T) {
	data := envelope(t, "plan_seed_request")
	key := testKey(1)
	signed := sign(t, data, key)
	trusted := Options{Keys: NewKeys(publicOf(key)), Signed: true}
	odd := func(change func(*cose.Sign1Message)) []byte {
		t.Helper()
		m := cose.NewSign1Message()
		m.Headers.Protected.SetAlgorithm(cose.AlgorithmEdDSA)
		m.Headers.Protected[cose.HeaderLabelKeyID] = []byte(KeyID(publicOf(key)))
		m.Payload = data
		change(m)
		signer, err := cose.NewSigner(cose.AlgorithmEdDSA, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Sign(nil, nil, signer); err != nil {
			t.Fatal(err)
		}
		out, err := m.MarshalCBOR()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if _, err := Decode(odd(func(*cose.Sign1Message) {}), trusted); err != nil {
		t.Fatalf("what the rest is compared with is refused: %v", err)
	}
	for _, tc := range []struct {
		name, says string
		data       []byte
		opt        Options
	}{
		{"no signature", "not signed", data, trusted},
		{"JSON, which cannot be signed", "not signed", golden(t, "accept")["plan_seed_request"], Options{AllowJSON: true, Keys: trusted.Keys, Signed: true}},
		{"another key", "is not known on this device", sign(t, data, testKey(3)), trusted},
		{"no key here", "is not known on this device", signed, Options{}},
		{"another message under the signature", "was changed", swap(t, signed, sign(t, envelope(t, "control_cancel"), key)), trusted},
		{"something beside the signature", "nothing else", odd(func(m *cose.Sign1Message) { m.Headers.Unprotected[int64(99)] = "x" }), trusted},
		{"more under it", "nothing else", odd(func(m *cose.Sign1Message) { m.Headers.Protected[int64(99)] = "x" }), trusted},
		{"no key id", "nothing else", odd(func(m *cose.Sign1Message) { delete(m.Headers.Protected, cose.HeaderLabelKeyID) }), trusted},
		{"something else that is signed", "no message in CBOR", odd(func(m *cose.Sign1Message) { m.Payload = []byte(`{"v":1}`) }), trusted},
		{"a signature in a signature", "no message in CBOR", odd(func(m *cose.Sign1Message) { m.Payload = signed }), trusted},
		{"a length written longer than it has to be", "deterministic", stretch(t, signed, data), trusted},
		{"cut off", "cannot be read", signed[:len(signed)-1], trusted},
		{"more behind it", "cannot be read", append(bytes.Clone(signed), 0), trusted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Decode(tc.data, tc.opt)
			var de *DecodeError
			if !errors.As(err, &de) || de.Faults[0].ReasonCode != ReasonSignature || !strings.Contains(de.Faults[0].Message, tc.says) {
				t.Fatalf("got %v, want %s that says %q", err, ReasonSignature, tc.says)
			}
			if de.ID != "" || de.DeviceID != "" || de.SHA256 == "" {
				t.Errorf("the refusal names id %q of device %q, hash %q: only the hash is sure", de.ID, de.DeviceID, de.SHA256)
			}
		})
	}
}

// stretch writes the length of the payload in four bytes where two would do.
func stretch(t *testing.T, signed, payload []byte) []byte {
	t.Helper()
	at := bytes.Index(signed, payload) - 3
	if signed[at] != 0x59 {
		t.Fatalf("byte %d is %#x, want the head of a byte string of two bytes of length", at, signed[at])
	}
	return slices.Concat(signed[:at], []byte{0x5a, 0, 0}, signed[at+1:])
}

// swap puts the payload of one signed message under the signature of another.
func swap(t *testing.T, of, payload []byte) []byte {
	t.Helper()
	var a, b cose.Sign1Message
	if err := errors.Join(a.UnmarshalCBOR(of), b.UnmarshalCBOR(payload)); err != nil {
		t.Fatal(err)
	}
	a.Payload = b.Payload
	out, err := a.MarshalCBOR()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// No single byte of a signed message can be another: each either breaks the signature or the form.
func TestEveryByteIsUnderTheSignature(t *testing.T) {
	signed := sign(t, envelope(t, "control_cancel"), testKey(1))
	opt := Options{Keys: NewKeys(publicOf(testKey(1))), Signed: true}
	for i := range signed {
		for _, bit := range []byte{1, 0x10, 0x80} {
			other := bytes.Clone(signed)
			other[i] ^= bit
			if _, err := Decode(other, opt); err == nil {
				t.Fatalf("byte %d of %d changed by %#x is accepted", i, len(signed), bit)
			}
		}
	}
}

// A signature does not make a message larger than it may be, nor smaller.
func TestTheLimitIsOfTheMessage(t *testing.T) {
	data := envelope(t, "plan_seed_request")
	signed := sign(t, data, testKey(1))
	if extra := len(signed) - len(data); extra > signatureBytes {
		t.Fatalf("a signature adds %d bytes, %d are allowed", extra, signatureBytes)
	}
	opt := Options{Keys: NewKeys(publicOf(testKey(1))), Limits: Limits{MessageBytes: int64(len(data))}}
	if _, err := Decode(signed, opt); err != nil {
		t.Errorf("a message of just the limit: %v", err)
	}
	opt.Limits.MessageBytes--
	for name, bytes := range map[string][]byte{"signed": signed, "not signed": data} {
		_, err := Decode(bytes, opt)
		if de, ok := errors.AsType[*DecodeError](err); !ok || de.Faults[0].ReasonCode != ReasonTooLarge {
			t.Errorf("a message of one byte more, %s: %v", name, err)
		}
	}
}

func FuzzSigned(f *testing.F) {
	data := envelope(f, "control_cancel")
	f.Add(sign(f, data, testKey(1)))
	f.Add(data)
	tagged, err := cbor.Marshal(cbor.Tag{Number: 18, Content: []any{[]byte{}, map[int]int{}, []byte{1}, []byte{2}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tagged)
	genuine := sign(f, data, testKey(1))
	opt := Options{Keys: NewKeys(publicOf(testKey(1))), Signed: true}
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, err := Decode(in, opt); err == nil && !bytes.Equal(in, genuine) {
			t.Fatalf("%x is believed, and nobody signed it", in)
		}
	})
}
