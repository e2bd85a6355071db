package token

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []Call
	}{
		{"the seed's move", "<sk_move>(position=거실)<sk_end>", []Call{{"move", []Arg{{"position", "거실", false}}}}},
		{"several calls", "<sk_move>(position=안방);<sk_clean>(mode=auto, duration_min=20)<sk_end>", []Call{
			{"move", []Arg{{"position", "안방", false}}}, {"clean", []Arg{{"mode", "auto", false}, {"duration_min", "20", false}}}}},
		{"empty parentheses", "<sk_stop>( )<sk_end>", []Call{{"stop", nil}}},
		{"a name that begins with a digit", "<sk_4>()<sk_end>", []Call{{"4", nil}}},
		{"bare values are trimmed", "<sk_a>( k =  living room \t, l=2 )<sk_end>", []Call{{"a", []Arg{{"k", "living room", false}, {"l", "2", false}}}}},
		{"quotes keep what is inside", `<sk_a>(k=" a, b) <sk_end>;=\"\\ ")<sk_end>`, []Call{{"a", []Arg{{"k", ` a, b) <sk_end>;="\ `, true}}}}},
		{"an empty quoted value", `<sk_a>(k="")<sk_end>`, []Call{{"a", []Arg{{"k", "", true}}}}},
		{"the same key in two calls", "<sk_a>(k=1);<sk_a>(k=1)<sk_end>", []Call{{"a", []Arg{{"k", "1", false}}}, {"a", []Arg{{"k", "1", false}}}}},
		{"space around calls", " <sk_a> (k=1) ;\n<sk_b>() <sk_end> ", []Call{{"a", []Arg{{"k", "1", false}}}, {"b", nil}}},
		{"an equals sign in a bare value", "<sk_a>(k=x=y)<sk_end>", []Call{{"a", []Arg{{"k", "x=y", false}}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse(tc.text)
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Fatalf("Parse = %#v, %v; want %#v", got, err, tc.want)
			}
			again, err := Parse(Format(got))
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Fatalf("Parse(Format) = %#v, %v; want %#v", again, err, got)
			}
		})
	}
}

func TestParseNamesThePositionOfTheFault(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		pos        int
		msg        string
	}{
		{"nothing", "", 0, "expected <sk_NAME>"},
		{"only the end", "<sk_end>", 0, "<sk_end> where a call belongs"},
		{"no end", "<sk_a>()", 8, "expected ; or <sk_end>"},
		{"end of a list is missing", "<sk_a>();<sk_end>", 9, "<sk_end> where a call belongs"},
		{"no name", "<sk_>()<sk_end>", 4, "expected a name"},
		{"no bracket", "<sk_a()<sk_end>", 5, "expected >"},
		{"no parentheses", "<sk_a><sk_end>", 6, "expected ("},
		{"text before", "x<sk_a>()<sk_end>", 0, "expected <sk_NAME>"},
		{"text behind", "<sk_a>()<sk_end>x", 16, "text follows <sk_end>"},
		{"a second end", "<sk_a>()<sk_end><sk_end>", 16, "text follows <sk_end>"},
		{"a key twice", "<sk_a>(k=1, k=2)<sk_end>", 12, "the key k appears twice"},
		{"no key", "<sk_a>(=1)<sk_end>", 7, "expected a key"},
		{"a key that begins with a digit", "<sk_a>(1k=1)<sk_end>", 7, "expected a key"},
		{"no equals sign", "<sk_a>(k)<sk_end>", 8, "expected ="},
		{"no value", "<sk_a>(k= )<sk_end>", 10, "expected a value"},
		{"a comma too many", "<sk_a>(k=1,)<sk_end>", 11, "expected a key"},
		{"a bare value to the end", "<sk_a>(k=1", 10, "expected )"},
		{"an open quote", `<sk_a>(k="1)<sk_end>`, 9, "the quote is not closed"},
		{"text behind a quote", `<sk_a>(k="1"2)<sk_end>`, 12, "expected , or )"},
		{"a quote in a bare value", `<sk_a>(k=1"2)<sk_end>`, 10, "a quote inside a bare value"},
		{"an unknown escape", `<sk_a>(k="\n")<sk_end>`, 10, `only \" and \\ are escapes`},
		{"an escape at the end", `<sk_a>(k="\`, 10, `only \" and \\ are escapes`},
		{"invalid UTF-8", "<sk_a>(k=\xff)<sk_end>", 9, "invalid UTF-8"},
		{"too long", "<sk_a>(k=" + strings.Repeat("x", MaxBytes) + ")<sk_end>", MaxBytes, "more than 8192 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls, err := Parse(tc.text)
			e, ok := errors.AsType[*SyntaxError](err)
			if !ok || calls != nil || e.Pos != tc.pos || e.Msg != tc.msg {
				t.Fatalf("Parse = %v, %v; want %q at byte %d", calls, err, tc.msg, tc.pos)
			}
		})
	}
}

func TestFormatQuotesWhatCannotBeBare(t *testing.T) {
	calls := []Call{{"a", []Arg{{"e", "", false}, {"c", "x,y", false}, {"q", `"`, false}, {"s", " x", false}, {"b", `\`, false}, {"plain", "거실", false}}}}
	text := Format(calls)
	if want := `<sk_a>(e="", c="x,y", q="\"", s=" x", b=\, plain=거실)<sk_end>`; text != want {
		t.Fatalf("Format = %s, want %s", text, want)
	}
	got, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range got[0].Args {
		if a.Value != calls[0].Args[i].Value {
			t.Errorf("value %d is %q after a round trip, want %q", i, a.Value, calls[0].Args[i].Value)
		}
	}
}

func FuzzToken(f *testing.F) {
	for _, text := range []string{"", "<sk_move>(position=거실)<sk_end>", "<sk_a>(k=\"\\\"\\\\,)\", l= x y );<sk_b>()<sk_end>",
		"<sk_a>(k=1,k=2)<sk_end>", "<sk_a>(k=\"", "<sk_4>()<sk_end>", "\xff", "<sk_end>", "<sk_a>(b=\\)<sk_end>"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		calls, err := Parse(text)
		if err != nil {
			e, ok := errors.AsType[*SyntaxError](err)
			if !ok || e.Pos < 0 || e.Pos > len(text) || e.Msg == "" || calls != nil {
				t.Fatalf("Parse(%q) = %v, %v", text, calls, err)
			}
			return
		}
		written := Format(calls)
		again, err := Parse(written)
		if len(written) <= MaxBytes && (err != nil || !reflect.DeepEqual(again, calls)) {
			t.Fatalf("%q: after Format (%q) = %#v, %v; want %#v", text, written, again, err, calls)
		}
	})
}
