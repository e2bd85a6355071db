package doctest

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

const guide = "# A guide\n" + `
Type this:

` + "```sh\necho one\n```" + `

It answers:

` + "```text\none\n…\nexit 3\n```" + `

` + "```text\nno output of anything\n```" + `

Write ` + "`cat/lamp.json`" + `:

` + "```json file=cat/lamp.json\n{}\n```" + `

1. In a list:

   ` + "```sh ctrl-c=2s\n   sleep 60\n     indented\n   ```" + `

<!-- docs-test
echo hidden
-->

` + "```sh not-run=\"needs a robot\"\nreboot\n```" + `

## Another part

` + "```text\nno output either\n```\n"

func TestPageIsCommandsAndFilesInOrder(t *testing.T) {
	got := Parse("g.md", guide)
	want := []Block{
		{Line: 5, Kind: Commands, Text: "echo one\n", Shown: &Shown{Line: 11, Lines: []string{"one", "…"}, Exit: 3}},
		{Line: 23, Kind: File, Text: "{}\n", File: "cat/lamp.json"},
		{Line: 29, Kind: Commands, Text: "sleep 60\n  indented\n", CtrlC: 2 * time.Second},
		{Line: 34, Kind: Setup, Text: "echo hidden\n"},
		{Line: 38, Kind: Commands, Text: "reboot\n", NotRun: "needs a robot"},
	}
	if len(got.Faults) > 0 || !reflect.DeepEqual(got.Blocks, want) {
		t.Fatalf("got %+v\nfaults %q\nwant %+v", got.Blocks, got.Faults, want)
	}
}

func TestFaultsOfAPageNameTheLine(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"an open fence", "x\n```sh\necho\n", "p.md:2: the block has no end"},
		{"an open comment", "<!-- docs-test\necho\n", "p.md:1: the comment has no end"},
		{"commands behind the comment's name", "<!-- docs-test echo\n-->\n", `p.md:1: commands of a comment begin on its second line; in the first there is only on=MACHINE, found "<!-- docs-test echo"`},
		{"a typo", "```sh norun=\"x\"\n```\n", `p.md:1: norun="x" is no attribute of commands; there are not-run="reason", on=MACHINE and ctrl-c=2s`},
		{"no reason", "```sh not-run=\"\"\n```\n", `p.md:1: not-run="" is no attribute of commands; there are not-run="reason", on=MACHINE and ctrl-c=2s`},
		{"no time", "```sh ctrl-c=soon\n```\n", "p.md:1: ctrl-c=soon is no time such as 2s"},
		{"a stray word", "```sh now\n```\n", `p.md:1: unknown ["now"] behind sh`},
		{"a file outside", "`../x`\n```json file=../x\n```\n", `p.md:2: file "../x" leads out of the folder`},
		{"a file that no reader finds", "Write:\n\n```json file=x\n```\n", "p.md:3: the paragraph before the block does not name `x`: a reader does not see where it belongs"},
		{"no time at all", "```sh ctrl-c=0s\n```\n", "p.md:1: ctrl-c=0s is no time such as 2s"},
		{"commands that nobody runs", "```\nx\nsudo reboot now\n```\n", `p.md:1: "sudo reboot now" stands in a block without a language: nobody runs it; call the block sh`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Parse("p.md", tc.text).Faults
			if len(got) != 1 || got[0] != tc.want {
				t.Fatalf("got %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestWildcards(t *testing.T) {
	for _, tc := range []struct {
		want, got string
		fits      bool
	}{
		{"a\nb", "a\nb\n", true},
		{"a", "a   \n\n", true},
		{"a", "b", false},
		{"a\nb", "a", false},
		{"a", "a\nb", false},
		{"at …, in …", "at 10:00, in the kitchen", true},
		{"at …, in …", "at 10:00", false},
		{"…", "", true},
		{"a\n…\nz", "a\nb\nc\nz", true},
		{"a\n…\nz", "a\nz", true},
		{"a\n…\nz", "a\nb", false},
		{"…\nb\n…", "b\na\nb", true},
		{"  …", "a\nb", true}, // indented: still any lines
		{"x…x", "x", false},
		{"거…로", "거실로", true},
	} {
		if got := differs(strings.Split(tc.want, "\n"), tc.got); (got == "") != tc.fits {
			t.Errorf("%q against %q: %q", tc.want, tc.got, got)
		}
	}
}

func TestTranslationsMayDifferInWordsOnly(t *testing.T) {
	korean := strings.NewReplacer("Type this:", "입력합니다.", "It answers:", "결과:", "needs a robot", "로봇 필요", "echo one", "echo one  # 하나").Replace(guide)
	original := Parse("g.md", guide)
	if got := DifferencesOf(original, Parse("g.ko.md", korean)); len(got) > 0 {
		t.Fatalf("other words count as a difference: %q", got)
	}
	for what, text := range map[string]string{
		"another command":  strings.Replace(korean, "echo one", "echo two", 1),
		"another output":   strings.Replace(korean, "one\n…", "two\n…", 1),
		"another file":     strings.Replace(korean, "{}", "[]", 1),
		"a missing block":  strings.Replace(korean, "```sh not-run=\"로봇 필요\"\nreboot\n```", "", 1),
		"not run any more": strings.Replace(korean, "```sh ctrl-c=2s", "```sh ctrl-c=2s not-run=\"x\"", 1),
	} {
		if got := DifferencesOf(original, Parse("g.ko.md", text)); len(got) != 1 {
			t.Errorf("%s: got %q", what, got)
		}
	}
}
