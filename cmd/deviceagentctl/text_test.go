package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
)

func TestKoreanIsComplete(t *testing.T) {
	for _, r := range core.Reasons {
		if koreanReasons[r.Code] == "" {
			t.Errorf("reason %s has no Korean", r.Code)
		}
	}
	for _, c := range diag.Codes {
		if koreanCodes[c.Code] == "" {
			t.Errorf("code %s has no Korean", c.Code)
		}
	}
	for key, s := range sentences {
		if s[0] == "" || s[1] == "" {
			t.Errorf("sentence %s: %q", key, s)
		}
		if n, m := strings.Count(s[0], "%s"), strings.Count(s[1], "%s"); n != m {
			t.Errorf("sentence %s takes %d texts in English and %d in Korean", key, n, m)
		}
	}
	for state, key := range answers {
		if sentences[key][0] == "" {
			t.Errorf("state %q says %s, which is no sentence", state, key)
		}
	}
}

func TestExitCodesOfEveryCode(t *testing.T) {
	known := map[int]bool{}
	for _, e := range diag.Exits {
		known[e.Code] = true
	}
	for _, c := range diag.Codes {
		if !known[c.Exit] || c.Exit == 0 || c.Title == "" {
			t.Errorf("%s has exit %d and title %q", c.Code, c.Exit, c.Title)
		}
	}
}

func TestColumnsOf(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "거실": 4, "거실 a": 6, "\x1b[31mfailed\x1b[0m": 6, "é": 1, "e\u0301": 1, "…": 1} {
		if got := columnsOf(text); got != want {
			t.Errorf("%q has %d columns, want %d", text, got, want)
		}
	}
}

func TestCleanLeavesNoControl(t *testing.T) {
	if got := clean("a\x1b[2Jb\u202ec\nd\u2028e"); strings.ContainsAny(got, "\x1b\u202e\n\u2028") || !strings.HasPrefix(got, "a") {
		t.Errorf("%q", got)
	}
}

func TestHostileGoalDoesNoHarm(t *testing.T) {
	r := newRobot(t)
	r.Submit(strings.Replace(bedPlan, "안방으로 가", `\u001b[2J\u202e`+strings.Repeat("x", 4000), 1))
	for _, args := range []string{"ps", "show wf_9c20", "watch wf_9c20 --timeout 20ms"} {
		out, _ := r.run(strings.Fields(args)...)
		if strings.ContainsAny(out.stdout+out.stderr, "\x1b\u202e") {
			t.Errorf("%s: control characters reach the terminal", args)
		}
	}
}

func TestColour(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, tc := range []struct {
		name, flag string
		env        func(string) string
		tty, want  bool
	}{
		{"flag wins over NO_COLOR", "always", env("NO_COLOR", "1"), false, true},
		{"flag wins over a terminal", "never", env("TERM", "xterm"), true, false},
		{"NO_COLOR wins over forcing", "auto", env("NO_COLOR", "1", "FORCE_COLOR", "1", "TERM", "xterm"), true, false},
		{"forced without a terminal", "auto", env("CLICOLOR_FORCE", "1"), false, true},
		{"forced with 0 is not forced", "auto", env("FORCE_COLOR", "0"), false, false},
		{"terminal", "auto", env("TERM", "xterm"), true, true},
		{"dumb terminal", "auto", env("TERM", "dumb"), true, false},
		{"pipe", "auto", env("TERM", "xterm"), false, false},
	} {
		if got := wantsColour(tc.flag, tc.env, tc.tty); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	r := newRobot(t)
	r.scene("ended")
	out, _ := r.run("ps", "--all", "--color", "always")
	if !strings.Contains(out.stdout, "\x1b[31mfailed\x1b[0m") {
		t.Errorf("no colour in %q", out.stdout)
	}
	plain, _ := r.run("ps", "--all")
	for line := range strings.Lines(out.stdout) {
		for code := 30; code < 38; code++ {
			line = strings.ReplaceAll(line, fmt.Sprintf("\x1b[%dm", code), "")
		}
		line = strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(line)
		if !strings.Contains(plain.stdout, line) {
			t.Errorf("colour moves the columns: %q", line)
		}
	}
}

func TestNarrowPageWrapsAndNeverCutsAnId(t *testing.T) {
	r := newRobot(t)
	r.scene("moving")
	out, _ := r.run("ps")
	for line := range strings.Lines(out.stdout) {
		if n := columnsOf(strings.TrimRight(line, "\n")); n > defaultWidth+20 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(out.stdout, "wf_9c1e") || !strings.Contains(out.stdout, "wf_9c20") {
		t.Errorf("an id is cut:\n%s", out.stdout)
	}
}

func TestLanguageFromTheEnvironment(t *testing.T) {
	r := newRobot(t)
	for env, ko := range map[string]bool{"ko_KR.UTF-8": true, "C.UTF-8": false} {
		out, _ := r.runEnv(map[string]string{"LC_ALL": env, "LANG": "ko_KR.UTF-8"}, "", "show", "nope")
		if strings.Contains(out.stderr, "조치") != ko {
			t.Errorf("LC_ALL=%s: %q", env, out.stderr)
		}
	}
}

// told is one command as the documents tell it.
type told struct {
	name, short string
	flags       []*pflag.Flag
}

func freshRoot() *cobra.Command {
	a := &app{world: world{env: func(string) string { return "" }}, client: &diag.Client{}}
	return a.root()
}

// listCommands lists what can be called, from the commands themselves.
func listCommands() (all []told) {
	var walk func(c *cobra.Command, above string)
	walk = func(c *cobra.Command, above string) {
		if c.Hidden || c.Name() == "completion" {
			return
		}
		if c.HasParent() && (c.RunE != nil || c.Run != nil) && !c.HasSubCommands() {
			row := told{name: strings.TrimSpace(above + " " + c.Use), short: c.Short}
			if len(c.Aliases) > 0 {
				row.name += " (" + strings.Join(c.Aliases, ", ") + ")"
			}
			c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if f.Name != "help" {
					row.flags = append(row.flags, f)
				}
			})
			all = append(all, row)
		}
		for _, sub := range c.Commands() {
			next := ""
			if c.HasParent() {
				next = c.Name()
			}
			walk(sub, next)
		}
	}
	walk(freshRoot(), "")
	return all
}

// sharedFlags are those of every command.
func sharedFlags() (all []*pflag.Flag) {
	freshRoot().PersistentFlags().VisitAll(func(f *pflag.Flag) { all = append(all, f) })
	return all
}

func exits() (rows [][2]string) {
	for _, e := range diag.Exits {
		rows = append(rows, [2]string{fmt.Sprint(e.Code), e.Meaning})
	}
	return rows
}

// commandTable is the table of docs/cli.md.
func commandTable() string {
	var b strings.Builder
	b.WriteString("| command | does | own flags |\n| --- | --- | --- |\n")
	for _, c := range listCommands() {
		var flags []string
		for _, f := range c.flags {
			flags = append(flags, "`--"+f.Name+"` "+f.Usage)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(c.name, "|", "\\|"), strings.ReplaceAll(c.short, "|", "\\|"), strings.Join(flags, "; "))
	}
	return b.String()
}

func exitTable() string {
	var b strings.Builder
	b.WriteString("| code | meaning |\n| --- | --- |\n")
	for _, e := range exits() {
		fmt.Fprintf(&b, "| %s | %s |\n", e[0], e[1])
	}
	return b.String()
}

// example is real output for the document.
func example(t *testing.T) string {
	r := newRobot(t)
	var all []string
	add := func(calls ...string) {
		for _, call := range calls {
			all = append(all, strings.ReplaceAll(r.said(strings.Fields(call)...), "(stderr) ", ""))
		}
	}
	add("status")
	r.scene("moving")
	add("ps", "why wf_9c20")
	r = newRobot(t)
	r.scene("verifying")
	add("show @last", "why @last/step_2", "why @last/step_2 --lang ko")
	r = newRobot(t)
	r.scene("ended")
	add("watch @failed", "show nope -o json")
	return "```\n" + strings.Join(all, "\n") + "```\n"
}

func TestDocument(t *testing.T) {
	const path = "../../docs/cli.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	for name, want := range map[string]string{"commands": commandTable(), "exit codes": exitTable(), "output": example(t)} {
		begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->"
		_, rest, ok := strings.Cut(doc, begin)
		have, _, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("docs/cli.md has no place for %s", name)
		}
		if have == want {
			continue
		}
		if !*update {
			t.Errorf("%s in docs/cli.md differ (-update rewrites them); want\n%s", name, want)
		}
		doc = strings.Replace(doc, begin+have+end, begin+want+end, 1)
	}
	if *update {
		if err := os.WriteFile(path, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
