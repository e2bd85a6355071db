package wire

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func testReceipt() Envelope {
	return Envelope{V: Version, Type: TypeReceipt, ID: testID, DeviceID: "rb-0001", SentAt: "2026-11-30T09:00:00Z", Receipt: &Receipt{}}
}

func TestEncodeRefusesWhatNobodyCouldRead(t *testing.T) {
	due := func(v any) func(*Envelope) {
		return func(e *Envelope) {
			e.Type, e.Receipt = TypeStepDue, nil
			e.StepDue = &StepDue{Inputs: Object{"x": Value{v}}}
		}
	}
	deep := any(1.0)
	for range 20 {
		deep = []any{deep}
	}
	for _, tc := range []struct {
		name string
		edit func(*Envelope)
	}{
		{"no body", func(e *Envelope) { e.Receipt = nil }},
		{"another body", func(e *Envelope) { e.Type = TypeAck }},
		{"two bodies", func(e *Envelope) { e.Ack = &Ack{} }},
		{"no type", func(e *Envelope) { e.Type = "" }},
		{"invalid UTF-8", func(e *Envelope) { e.Receipt.Nonce = "\xff" }},
		{"invalid UTF-8 in a value", due("\xff")},
		{"invalid UTF-8 in a name", due(map[string]any{"\xff": 1.0})},
		{"NaN", due(math.NaN())},
		{"infinity", due(math.Inf(-1))},
		{"a channel", due(make(chan int))},
		{"too deep", due(deep)},
		{"a long text", func(e *Envelope) { e.Receipt.Nonce = strings.Repeat("x", 8<<10+1) }},
		{"an inexact integer", func(e *Envelope) { e.Seq = 1 << 53 }},
		{"too large", func(e *Envelope) {
			for range 1000 {
				e.Receipt.Refs = append(e.Receipt.Refs, strings.Repeat("x", 300))
			}
		}},
		{"inputs from both", func(e *Envelope) {
			in := &InputFrom{Params: map[string]string{"a": "b"}, Visible: []string{"c"}}
			*e = Envelope{Type: TypePlan, Plan: &Plan{Requests: []Request{{InputFrom: in}}}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := testReceipt()
			tc.edit(&e)
			for _, enc := range []Encoding{CBOR, JSON} {
				if out, err := Encode(e, enc); err == nil {
					t.Errorf("%s: %x", enc, out)
				}
			}
		})
	}
	if _, err := Encode(testReceipt(), "xml"); err == nil {
		t.Error("an unknown encoding was written")
	}
}

func TestNilListsAreWrittenAsEmpty(t *testing.T) {
	e := Envelope{Type: TypeResult, Result: &Result{}}
	out, err := Encode(e, JSON)
	if err != nil || !strings.Contains(string(out), `"steps":[]`) {
		t.Fatalf("%s %v", out, err)
	}
}

func TestContentHash(t *testing.T) {
	base := planJSON("20")
	hash := func(text string) string {
		t.Helper()
		e, err := Decode([]byte(text), Options{AllowJSON: true})
		if err != nil {
			t.Fatal(err)
		}
		h, err := ContentHash(e)
		if err != nil || len(h) != 64 {
			t.Fatal(h, err)
		}
		return h
	}
	want := hash(base)
	for name, pair := range map[string][2]string{
		"another id":       {testID, "01931f2e-7c00-7000-8000-000000000002"},
		"another time":     {"09:00:00.000Z", "09:00:01.000Z"},
		"another form":     {`"x":20`, `"x":2e1`},
		"an empty list":    {`"taskMethod"`, `"depends_on":[],"taskMethod"`},
		"null for nothing": {`"workflow"`, `"experience":null,"workflow"`},
	} {
		if got := hash(strings.Replace(base, pair[0], pair[1], 1)); got != want {
			t.Errorf("%s changed the hash", name)
		}
	}
	for name, pair := range map[string][2]string{
		"another device": {"rb-0001", "rb-0002"},
		"another value":  {`"x":20`, `"x":21`},
		"a dependency":   {`"taskMethod"`, `"depends_on":["a"],"taskMethod"`},
	} {
		if got := hash(strings.Replace(base, pair[0], pair[1], 1)); got == want {
			t.Errorf("%s kept the hash", name)
		}
	}
	a := hash(strings.Replace(base, `"taskMethod"`, `"depends_on":["a"],"taskMethod"`, 1))
	b := hash(strings.Replace(base, `"taskMethod"`, `"depends_on":[{"step":"a","on":"success"}],"taskMethod"`, 1))
	if a != b {
		t.Error("two spellings of one dependency have two hashes")
	}
	if _, err := ContentHash(Envelope{Type: TypePlan}); err == nil {
		t.Error("a hash of nothing")
	}
}

func TestUnionsInBothCodecs(t *testing.T) {
	for _, tc := range []struct {
		value any
		json  string
	}{
		{Dependency{Step: "a"}, `"a"`},
		{Dependency{Step: "a", On: "done"}, `{"step":"a","on":"done"}`},
		{RequiredEffect{EffectID: "e"}, `"e"`},
		{RequiredEffect{EffectID: "e", Kind: "maintain", Until: "x"}, `{"effect_id":"e","kind":"maintain","until":"x"}`},
		{InputFrom{Params: map[string]string{"p": "o.x"}}, `{"p":"o.x"}`},
		{InputFrom{Visible: []string{"o"}}, `["o"]`},
		{Value{map[string]any{"a": []any{1.0, nil, "x", true, 1.5}}}, `{"a":[1,null,"x",true,1.5]}`},
	} {
		text, err := json.Marshal(tc.value)
		if err != nil || string(text) != tc.json {
			t.Errorf("%s (%v), want %s", text, err, tc.json)
		}
		back := reflect.New(reflect.TypeOf(tc.value))
		if err := json.Unmarshal(text, back.Interface()); err != nil || !reflect.DeepEqual(back.Elem().Interface(), tc.value) {
			t.Errorf("JSON %s: %+v (%v)", tc.json, back.Elem(), err)
		}
		raw, err := encMode.Marshal(tc.value)
		if err != nil {
			t.Fatal(err)
		}
		back = reflect.New(reflect.TypeOf(tc.value))
		if err := decStrict.Unmarshal(raw, back.Interface()); err != nil || !reflect.DeepEqual(back.Elem().Interface(), tc.value) {
			t.Errorf("CBOR of %s: %+v (%v)", tc.json, back.Elem(), err)
		}
	}
	for text, want := range map[string]Dependency{`"b"`: {Step: "b"}, `{"step":"b","on":"success"}`: {Step: "b"}} {
		got := Dependency{Step: "old", On: "done"}
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s = %+v (%v)", text, got, err)
		}
	}
}

func TestObjectOf(t *testing.T) {
	in := map[string]any{"i": 3, "u": uint16(4), "l": []string{"a"}, "m": map[string]int{}, "o": Object{"v": Value{true}}, "big": int64(1) << 60}
	o := ObjectOf(in)
	want := map[string]any{"i": 3.0, "u": 4.0, "l": []any{"a"}, "o": map[string]any{"v": true}}
	got := o.Map()
	for k, v := range want {
		if !reflect.DeepEqual(got[k], v) {
			t.Errorf("%s = %#v, want %#v", k, got[k], v)
		}
	}
	for _, k := range []string{"big", "m"} {
		if _, err := encMode.Marshal(o[k]); err == nil {
			t.Errorf("%s = %#v was encoded", k, o[k].V)
		}
	}
	if ObjectOf(nil) != nil || Object(nil).Map() != nil {
		t.Error("nil must stay nil")
	}
}

func TestValueRefusesInvalidUTF8ByItself(t *testing.T) {
	for _, v := range []any{"\xff", []any{"\xff"}, map[string]any{"\xff": true}} {
		if raw, err := (Value{v}).MarshalCBOR(); err == nil {
			t.Errorf("%q was written as %x", v, raw)
		}
	}
}
