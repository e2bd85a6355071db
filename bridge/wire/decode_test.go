package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

const (
	testID   = "01931f2e-7c00-7000-8000-000000000001"
	jsonHead = `{"v":"` + Version + `","id":"` + testID + `","device_id":"rb-0001","sent_at":"2026-11-30T09:00:00.000Z",`
)

func receiptJSON(body string) string { return jsonHead + `"type":"receipt","body":` + body + `}` }

// planJSON is a plan of one step whose params hold one value.
func planJSON(value string) string {
	return jsonHead + `"type":"plan","body":{"workflow":{"cloud_workflow_id":"w","plan_id":"p","revision":0},` +
		`"device_task_requests":[{"cloud_step_id":"s","taskMethod":"m","params":{"x":` + value + `}}]}}`
}

// paramCBOR is planJSON with the raw CBOR of the value in place of it.
func paramCBOR(t *testing.T, raw string) []byte {
	t.Helper()
	const mark = "\x68markmark"
	data := asCBOR(t, []byte(planJSON(`"markmark"`)))
	value, err := hex.DecodeString(raw)
	if err != nil || bytes.Count(data, []byte(mark)) != 1 {
		t.Fatal("test data:", err)
	}
	return bytes.Replace(data, []byte(mark), value, 1)
}

func refusalOf(t *testing.T, data []byte, opt Options) *DecodeError {
	t.Helper()
	env, err := Decode(data, opt)
	e, ok := errors.AsType[*DecodeError](err)
	if !ok || len(e.Faults) == 0 {
		t.Fatalf("Decode(%.80q) = %v, want a refusal", data, err)
	}
	if !reflect.DeepEqual(env, Envelope{}) {
		t.Fatalf("a refused message gave content: %+v", env)
	}
	return e
}

func TestBrokenJSONIsRefused(t *testing.T) {
	for _, tc := range []struct{ name, data, reason, part string }{
		{"empty", "", ReasonMalformed, "neither"},
		{"not an object", "[]", ReasonMalformed, "neither"},
		{"cut", `{"v":`, ReasonMalformed, "at byte 5"},
		{"bytes behind", receiptJSON("{}") + "{}", ReasonMalformed, "invalid character '{' after"},
		{"name twice", receiptJSON(`{"nonce":"a","nonce":"b"}`), ReasonMalformed, "appears twice"},
		{"name twice by an escape", receiptJSON(`{"nonce":"a","\u006eonce":"b"}`), ReasonMalformed, "appears twice"},
		{"name twice in a free value", planJSON(`{"a":1,"a":2}`), ReasonMalformed, "appears twice"},
		{"id twice", strings.Replace(receiptJSON("{}"), `"id":`, `"id":"x","id":`, 1), ReasonMalformed, "appears twice"},
		{"NaN", planJSON("NaN"), ReasonMalformed, "not JSON"},
		{"a number that is too large", planJSON("1e999"), ReasonMalformed, "too large"},
		{"an integer that is not exact", planJSON("9007199254740992"), ReasonMalformed, "2^53"},
		{"a huge integer", planJSON("-123456789012345678901234567890"), ReasonMalformed, "2^53"},
		{"invalid UTF-8", planJSON("\"\xff\""), ReasonMalformed, "UTF-8"},
		{"half a surrogate pair", planJSON(`"\ud800"`), ReasonMalformed, "surrogate"},
		{"two first halves", planJSON(`"\ud800\ud800"`), ReasonMalformed, "surrogate"},
		{"a second half alone", planJSON(`"\udc00"`), ReasonMalformed, "surrogate"},
		{"name in other case", strings.Replace(receiptJSON("{}"), `"v"`, `"V"`, 1), ReasonUnknownField, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := refusalOf(t, []byte(tc.data), Options{AllowJSON: true})
			if f := e.Faults[0]; f.ReasonCode != tc.reason || !strings.Contains(f.Message, tc.part) {
				t.Errorf("fault %+v, want %s with %q", f, tc.reason, tc.part)
			}
		})
	}
}

func TestNumbersAndTextAreOneInBothEncodings(t *testing.T) {
	for _, tc := range []struct {
		json, cbor string
		want       any
	}{
		{"20", "14", 20.0}, {"20.0", "14", 20.0}, {"2e1", "14", 20.0}, {"-0", "00", 0.0}, {"-0.0", "00", 0.0}, {"-1", "20", -1.0},
		{"24", "1818", 24.0}, {"256", "190100", 256.0}, {"65536", "1a00010000", 65536.0},
		{"0.5", "f93800", 0.5}, {"-1.5", "f9be00", -1.5}, {"0.1", "fb3fb999999999999a", 0.1}, {"100000.5", "fa47c35040", 100000.5},
		{"5.960464477539063e-8", "f90001", 5.960464477539063e-8},
		{"9007199254740991", "1b001fffffffffffff", 9007199254740991.0}, {"-9007199254740991", "3b001ffffffffffffe", -9007199254740991.0},
		{"9007199254740992.0", "fa5a000000", 9007199254740992.0}, {"1e300", "fb7e37e43c8800759c", 1e300},
		{`"\ud83e\udd16\n\/\""`, "67f09fa4960a2f22", "🤖\n/\""}, {`""`, "60", ""},
		{"null", "f6", nil}, {"true", "f5", true}, {"false", "f4", false},
		{`{"b":1,"a":2,"aa":[]}`, "a3616102616201626161" + "80", map[string]any{"a": 2.0, "b": 1.0, "aa": []any{}}},
	} {
		t.Run(tc.json, func(t *testing.T) {
			for _, data := range [][]byte{[]byte(planJSON(tc.json)), paramCBOR(t, tc.cbor)} {
				e, err := Decode(data, Options{AllowJSON: true})
				if err != nil {
					t.Fatal(err)
				}
				if got := e.Plan.Requests[0].Params["x"].V; !reflect.DeepEqual(got, tc.want) {
					t.Errorf("value %#v, want %#v", got, tc.want)
				}
				again, err := Encode(e, CBOR)
				if err != nil || !bytes.Equal(again, paramCBOR(t, tc.cbor)) {
					t.Errorf("encoded again (%v): %x", err, again)
				}
				text, err := Encode(e, JSON)
				if back, err2 := Decode(text, Options{AllowJSON: true}); err != nil || err2 != nil || !reflect.DeepEqual(back, e) {
					t.Errorf("through JSON (%v, %v): %s", err, err2, text)
				}
			}
		})
	}
}

func TestOtherFormsOfCBORAreRefused(t *testing.T) {
	for _, tc := range []struct{ name, value, reason, part string }{
		{"a longer integer", "1814", "", ""}, // 20 needs one byte, 0x14; 0x1814 is the long form
		{"an integer in two bytes", "1900ff", "", "shortest"},
		{"a longer length", "7801" + "61", "", "shortest"},
		{"an array with a longer length", "980101", "", "shortest"},
		{"an indefinite array", "9f01ff", "", "indefinite"},
		{"an indefinite text", "7f6161ff", "", "indefinite"},
		{"a tag", "c11a00000001", "", "tag 1"},
		{"a bignum", "c24101", "", "tag 2"},
		{"the tag inside", "d9d9f701", "", "tag 55799"},
		{"a byte string", "4161", "", "byte string"},
		{"undefined", "f7", "", "simple value"},
		{"a simple value", "f0", "", "simple value"},
		{"a simple value in two bytes", "f8ff", "", "simple value"},
		{"reserved information", "1c", "", "reserved"},
		{"NaN", "f97e00", "", "NaN"},
		{"infinity", "f97c00", "", "NaN"},
		{"a longer float", "fa3f000000", "", "shortest form"},
		{"an integral float", "f94d00", "", "shortest form"},
		{"minus zero", "f98000", "", "shortest form"},
		{"an integer that is not exact", "1b0020000000000000", "", "2^53"},
		{"a negative one", "3b001fffffffffffff", "", "2^53"},
		{"names in other order", "a2616201616101", "", "order"},
		{"a longer name first", "a262616101616201", "", "order"},
		{"a name twice", "a2616101616102", "", "twice"},
		{"a name that is a number", "a10101", "", "not text"},
		{"invalid UTF-8", "61ff", "", "UTF-8"},
		{"a surrogate in UTF-8", "63eda080", "", "UTF-8"},
		{"text to behind the end", "7a00010000", "", "ends inside"},
		{"an array of 4 billion", "9affffffff", ReasonTooLarge, "array"},
		{"an object of 2^63", "bb8000000000000000", ReasonTooLarge, "object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.reason == "" {
				tc.reason = ReasonMalformed
			}
			if tc.part == "" {
				tc.part = "shortest"
			}
			e := refusalOf(t, paramCBOR(t, tc.value), Options{})
			if f := e.Faults[0]; f.ReasonCode != tc.reason || !strings.Contains(f.Message, tc.part) {
				t.Errorf("fault %+v, want %s with %q", f, tc.reason, tc.part)
			}
		})
	}
}

func TestTheMessageBeginsWithOneTagAndEndsWithIt(t *testing.T) {
	good := asCBOR(t, []byte(receiptJSON("{}")))
	if _, err := Decode(good, Options{}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"no tag":           good[3:],
		"two tags":         append(bytes.Clone(selfDescribed), good...),
		"a byte behind":    append(bytes.Clone(good), 0xf6),
		"a byte too few":   good[:len(good)-1],
		"only the tag":     selfDescribed,
		"not an object":    append(bytes.Clone(selfDescribed), 0x80),
		"text":             append(bytes.Clone(selfDescribed), 0x61, 'a'),
		"JSON, not wanted": []byte(receiptJSON("{}")),
	} {
		e := refusalOf(t, data, Options{})
		if len(e.SHA256) != 64 {
			t.Errorf("%s: no hash to ack by: %+v", name, e)
		}
	}
	for n := range good {
		refusalOf(t, good[:n], Options{})
	}
}

func TestSyntaxFaultsNameTheByteOfTheMessage(t *testing.T) {
	good := asCBOR(t, []byte(receiptJSON("{}")))
	for _, tc := range []struct {
		data []byte
		want string
	}{
		{append(bytes.Clone(good), 0xf6), fmt.Sprintf("bytes follow the message at byte %d", len(good))},
		{append(bytes.Clone(selfDescribed), 0x9f), "an indefinite length is not allowed at byte 3"},
		{[]byte(`{"a":"\ud800"}`), "half of a surrogate pair at byte 6"},
		{[]byte(`{"a":1,"a":2}`), "a name appears twice at byte 7"},
		{[]byte("{\"a\":\"\xff\"}"), "the message is not valid UTF-8 at byte 6"},
		{[]byte(`{"a": 9007199254740992}`), "an integer is outside ±(2^53-1) at byte 6"},
		{[]byte(`{"a": [` + strings.Repeat("0,", 1024) + `0]}`), "an array of more than 1024 elements at byte 6"},
		{[]byte(`{"a": {` + manyMembers(257) + `}}`), "an object of more than 256 members at byte 6"},
		{[]byte(`{"a": "` + strings.Repeat("x", 8193) + `"}`), "a string of 8193 bytes, at most 8192 are allowed at byte 6"},
	} {
		if got := refusalOf(t, tc.data, Options{AllowJSON: true}).Faults[0].Message; got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func TestLimits(t *testing.T) {
	d := DefaultLimits()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	list := func(n int, of string) string { return "[" + strings.TrimSuffix(strings.Repeat(of+",", n), ",") + "]" }
	pairs := func(n int) string { return "{" + manyMembers(n) + "}" }
	steps := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"cloud_step_id":"s%d","taskMethod":"m"}`, i))
		}
		return jsonHead + `"type":"plan","body":{"workflow":{"cloud_workflow_id":"w","plan_id":"p","revision":0},"device_task_requests":[` + strings.Join(all, ",") + `]}}`
	}
	for _, tc := range []struct {
		name      string
		good, bad string
		lim       Limits
	}{
		{"nesting", planJSON(nested(11)), planJSON(nested(12)), d}, // envelope, body, steps, step, params
		{"text", planJSON(`"` + strings.Repeat("x", 8<<10) + `"`), planJSON(`"` + strings.Repeat("x", 8<<10+1) + `"`), d},
		{"name", planJSON(`{"` + strings.Repeat("x", 8<<10) + `":1}`), planJSON(`{"` + strings.Repeat("x", 8<<10+1) + `":1}`), d},
		{"array", planJSON(list(1024, "1")), planJSON(list(1025, "1")), d},
		{"pairs", planJSON(pairs(256)), planJSON(pairs(257)), d},
		{"values", planJSON(list(60, list(1000, "1"))), planJSON(list(70, list(1000, "1"))), d},
		{"steps", steps(128), steps(129), d},
		{"steps by setting", steps(300), steps(301), Limits{Steps: 300}},
		{"steps at most 1024", steps(1024), steps(1025), Limits{Steps: 5000}},
		{"ids not by setting", strings.Replace(steps(1), "s0", strings.Repeat("s", 128), 1), strings.Replace(steps(1), "s0", strings.Repeat("s", 129), 1), Limits{IDChars: 1 << 20}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, enc := range []Encoding{JSON, CBOR} {
				good, bad := []byte(tc.good), []byte(tc.bad)
				if enc == CBOR {
					good, bad = asCBOR(t, good), asCBOR(t, bad)
				}
				opt := Options{AllowJSON: true, Limits: tc.lim}
				if _, err := Decode(good, opt); err != nil {
					t.Errorf("%s at the limit: %v", enc, err)
				}
				e := refusalOf(t, bad, opt)
				if e.Faults[0].ReasonCode != ReasonTooLarge || e.ID != testID {
					t.Errorf("%s over the limit: %+v", enc, e)
				}
			}
		})
	}
}

func TestSizeIsCheckedFirst(t *testing.T) {
	for _, first := range []string{"{", string(selfDescribed), "x"} {
		data := append([]byte(first), bytes.Repeat([]byte{'x'}, 256<<10)...)
		if e := refusalOf(t, data, Options{AllowJSON: true}); e.Faults[0].ReasonCode != ReasonTooLarge || e.SHA256 == "" {
			t.Errorf("%+v", e)
		}
	}
	full := receiptJSON("{}")
	full += strings.Repeat(" ", 256<<10-len(full))
	if _, err := Decode([]byte(full), Options{AllowJSON: true}); err != nil {
		t.Error(err)
	}
	small := Options{AllowJSON: true, Limits: Limits{MessageBytes: 100}}
	if e := refusalOf(t, []byte(receiptJSON("{}")), small); e.Faults[0].ReasonCode != ReasonTooLarge {
		t.Errorf("%+v", e)
	}
}

// A hostile message must not cost much more than its bytes.
func TestHostileMessagesCostLittleMemory(t *testing.T) {
	empties := "[" + strings.TrimSuffix(strings.Repeat("[],", 1000), ",") + "]"
	data := []byte(planJSON("[" + strings.TrimSuffix(strings.Repeat(empties+",", 60), ",") + "]"))
	for _, message := range [][]byte{data, asCBOR(t, data)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Decode(message, Options{AllowJSON: true}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%d bytes of message cost %d bytes of memory", len(message), got)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var steps []string
	for range 100 {
		steps = append(steps, `{"`+strings.Repeat("unknown", 100)+`":1}`)
	}
	data := jsonHead + `"type":"plan","body":{"workflow":{"cloud_workflow_id":"w","plan_id":"p","revision":0},"device_task_requests":[` + strings.Join(steps, ",") + `]}}`
	e := refusalOf(t, []byte(data), Options{AllowJSON: true})
	if len(e.Faults) != maxFaults+1 || e.Faults[maxFaults].ReasonCode != ReasonTooLarge {
		t.Fatalf("%d faults", len(e.Faults))
	}
	for _, f := range e.Faults {
		if len(f.Path)+len(f.Message) > 300 {
			t.Fatalf("a fault of %d bytes", len(f.Path)+len(f.Message))
		}
	}
	ack := Envelope{V: Version, Type: TypeAck, ID: testID, Ack: &Ack{RefID: e.ID, Errors: e.Faults}}
	if out, err := Encode(ack, CBOR); err != nil || len(out) > 64<<10 {
		t.Fatalf("the refusal has %d bytes: %v", len(out), err)
	}
}

func TestRefusalNamesWhatIsReadable(t *testing.T) {
	for _, tc := range []struct{ name, data, id, device, typ string }{
		{"bad body", receiptJSON(`{"nonce":1}`), testID, "rb-0001", "receipt"},
		{"unknown type", strings.Replace(receiptJSON("{}"), "receipt", "nonsense", 1), testID, "rb-0001", "nonsense"},
		{"too deep", planJSON(strings.Repeat("[", 20) + strings.Repeat("]", 20)), testID, "rb-0001", "plan"},
		{"an id with a space", strings.Replace(receiptJSON(`{}`), testID, "a b", 1), "", "rb-0001", "receipt"},
		{"an id that is a number", `{"id":5,"device_id":"rb-0001","type":"plan"}`, "", "rb-0001", "plan"},
		{"not a UUID, but an id", `{"id":"m-1"}`, "m-1", "", ""},
		{"not JSON", `{"id":"m-1"`, "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			messages := [][]byte{[]byte(tc.data)}
			if tc.name != "not JSON" {
				messages = append(messages, asCBOR(t, messages[0]))
			}
			for _, data := range messages {
				e := refusalOf(t, data, Options{AllowJSON: true})
				if e.ID != tc.id || e.DeviceID != tc.device || string(e.Type) != tc.typ || len(e.SHA256) != 64 {
					t.Errorf("got %q %q %q", e.ID, e.DeviceID, e.Type)
				}
			}
		})
	}
}

func TestUnknownMembersPassOnTheWayUpOnly(t *testing.T) {
	up := jsonHead + `"type":"ack","newer":1,"body":{"ref_id":"a","accepted":true,"newer":{"x":[1]}}}`
	for _, data := range [][]byte{[]byte(up), asCBOR(t, []byte(up))} {
		e, err := Decode(data, Options{AllowJSON: true, Direction: Up})
		if err != nil || !e.Ack.Accepted {
			t.Errorf("up: %v", err)
		}
	}
	down := strings.Replace(receiptJSON(`{"newer":1}`), `"type"`, `"newer":1,"type"`, 1)
	if e := refusalOf(t, []byte(down), Options{AllowJSON: true, Direction: Down}); len(e.Faults) != 2 {
		t.Errorf("down: %+v", e.Faults)
	}
}

func TestErrorText(t *testing.T) {
	e := &DecodeError{Faults: []Fault{{"a.b", "bad_value", "must be x"}, {}}}
	if got, want := e.Error(), "cannot decode message: bad_value at a.b: must be x (and 1 more)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
