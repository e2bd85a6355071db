package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// testdata/accept holds messages: those of the contract and of its seed documents first. testdata/refuse holds messages with the
// faults that they must be refused for.

func golden(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files in %s: %v", dir, err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(f), ".json")] = data
	}
	return all
}

// wayOf is the direction that a message of this type travels.
func wayOf(t testing.TB, message []byte) Direction {
	t.Helper()
	var head struct{ Type Type }
	if err := json.Unmarshal(message, &head); err != nil {
		t.Fatal(err)
	}
	if row, ok := bodies[head.Type]; ok {
		if row.dir != bothWays {
			return row.dir
		}
		if bytes.Contains(message, []byte(`"state"`)) {
			return Up
		}
	}
	return Down
}

func TestGoldenMessagesAreAcceptedInBothEncodings(t *testing.T) {
	schema := compileSchemas(t)
	for name, message := range golden(t, "accept") {
		t.Run(name, func(t *testing.T) {
			opt := Options{AllowJSON: true, Direction: wayOf(t, message)}
			e, err := Decode(message, opt)
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if err := schemaAccepts(t, schema, message); err != nil {
				t.Errorf("the schema refuses what Decode accepts: %v", err)
			}
			for _, enc := range []Encoding{CBOR, JSON} {
				data, err := Encode(e, enc)
				if err != nil {
					t.Fatal(err)
				}
				again, err := Decode(data, Options{AllowJSON: enc == JSON, Direction: opt.Direction})
				if err != nil {
					t.Fatalf("own %s is refused: %v", enc, err)
				}
				sameMessage(t, again, e)
				if enc == CBOR {
					compareCBOR(t, name, data)
				} else if err := schemaAccepts(t, schema, data); err != nil {
					t.Errorf("the schema refuses what Encode wrote: %v", err)
				}
			}
		})
	}
}

// sameMessage holds two envelopes together by their bytes: a list that is empty and one that is left out are one.
func sameMessage(t *testing.T, got, want Envelope) {
	t.Helper()
	a, errA := Encode(got, CBOR)
	b, errB := Encode(want, CBOR)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("after a round trip (%v, %v):\n%x\n%x", errA, errB, a, b)
	}
}

// compareCBOR holds the bytes against a file of hex and diagnostic notation.
func compareCBOR(t *testing.T, name string, data []byte) {
	t.Helper()
	diag, err := cbor.Diagnose(data)
	if err != nil {
		t.Fatal(err)
	}
	want, file := hex.EncodeToString(data)+"\n"+diag+"\n", filepath.Join("testdata", "accept", name+".cbor.txt")
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s (%v) is not what Encode writes:\n%s", file, err, want)
	}
}

// refusedMessage is a file of testdata/refuse.
type refusedMessage struct {
	Faults        []Fault         `json:"faults"`
	SchemaAccepts bool            `json:"schema_accepts"` // no schema can say this
	Direction     Direction       `json:"direction"`
	Message       json.RawMessage `json:"message"`
}

func TestGoldenMessagesAreRefusedWithEveryFault(t *testing.T) {
	schema := compileSchemas(t)
	for name, data := range golden(t, "refuse") {
		t.Run(name, func(t *testing.T) {
			var tc refusedMessage
			if err := json.Unmarshal(data, &tc); err != nil {
				t.Fatal(err)
			}
			if tc.Direction == "" {
				tc.Direction = wayOf(t, tc.Message)
			}
			for _, message := range [][]byte{tc.Message, asCBOR(t, tc.Message)} {
				_, err := Decode(message, Options{AllowJSON: true, Direction: tc.Direction})
				e, ok := errors.AsType[*DecodeError](err)
				if !ok {
					t.Fatalf("error %v, want a refusal", err)
				}
				if got, want := faultLines(e.Faults), faultLines(tc.Faults); !slices.Equal(got, want) {
					t.Errorf("faults\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if e.ID == "" || len(e.SHA256) != 64 {
					t.Errorf("a readable envelope must give its id: %+v", e)
				}
			}
			if err := schemaAccepts(t, schema, tc.Message); (err == nil) != tc.SchemaAccepts {
				t.Errorf("schema: %v, want accepted %v", err, tc.SchemaAccepts)
			}
		})
	}
}

func faultLines(faults []Fault) []string {
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.Path+" "+f.ReasonCode)
	}
	slices.Sort(lines)
	return lines
}

// asCBOR writes any JSON as deterministic CBOR with the library, not with the code under test.
func asCBOR(t testing.TB, message []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(message, &v); err != nil {
		t.Fatal(err)
	}
	data, err := encMode.Marshal(withIntegers(v))
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.Clone(selfDescribed), data...)
}

func withIntegers(v any) any {
	switch v := v.(type) {
	case float64:
		if isInteger(v) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = withIntegers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = withIntegers(v[k])
		}
	}
	return v
}

func TestGoldenMessagesDecodeAlikeFromForeignCBOR(t *testing.T) {
	for name, message := range golden(t, "accept") {
		opt := Options{AllowJSON: true, Direction: wayOf(t, message)}
		a, errA := Decode(message, opt)
		b, errB := Decode(asCBOR(t, message), opt)
		if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: JSON and CBOR differ (%v, %v)", name, errA, errB)
		}
	}
}
