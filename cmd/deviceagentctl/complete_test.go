package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"deviceagent/packaging/roff"
)

// suggested is what a shell gets for the words typed so far, without descriptions and the directive.
func (r *robot) suggested(words ...string) (out []string) {
	got, _ := r.run(append([]string{cobra.ShellCompNoDescRequestCmd}, words...)...)
	for line := range strings.Lines(got.stdout) {
		if !strings.HasPrefix(line, ":") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func TestCompletionKnowsThePlansOfTheRobot(t *testing.T) {
	r := newRobot(t)
	r.scene("moving")
	for words, want := range map[string]string{
		"cancel|":          "wf_9c1e wf_9c20",
		"why|":             "wf_9c1e wf_9c20",
		"why|wf_9c1e/":     "wf_9c1e/step_1 wf_9c1e/step_2",
		"why|wf_9c1e|":     "",
		"why|wf_gone/":     "",
		"mode|":            "automatic manual service",
		"status|":          "",
		"status|--output|": "json jsonl text wide",
		"schedules|":       "",
	} {
		got := r.suggested(strings.Split(words, "|")...)
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
	r.stop()
	if got := r.suggested("why", ""); len(got) != 0 {
		t.Errorf("without an agent: %q", got)
	}
}

func TestCompletionOffersEndedPlansToLookers(t *testing.T) {
	r := newRobot(t)
	r.scene("ended")
	if got := r.suggested("show", ""); len(got) != 2 {
		t.Errorf("show: %q, want two plans", got)
	}
	if got := r.suggested("cancel", ""); len(got) != 0 {
		t.Errorf("cancel: %q, but both plans have ended", got)
	}
}

func TestAHostileGoalDoesNotReachTheShell(t *testing.T) {
	r := newRobot(t)
	r.Submit(strings.Replace(bedPlan, "안방으로 가", `\u001b[2J\u202e`, 1))
	if out, _ := r.run(cobra.ShellCompRequestCmd, "why", ""); !strings.Contains(out.stdout, "wf_9c20") || strings.ContainsAny(out.stdout, "\x1b\u202e") {
		t.Errorf("%q", out.stdout)
	}
}

func TestCompletionKnowsTheContext(t *testing.T) {
	if got := newRobot(t).suggested("context", ""); !slices.Contains(got, "movement.location") {
		t.Errorf("%q", got)
	}
}

// TestManual holds the installed page against the commands: go test ./cmd/deviceagentctl -update
func TestManual(t *testing.T) { shipped(t, "man/deviceagentctl.1", manual()) }

// shipped compares what the packages install with what it has to be.
func shipped(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join("../../packaging", name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what the commands say (%v); go test ./cmd/deviceagentctl -update writes it", path, err)
	}
}

// manual is deviceagentctl(1), from the commands themselves.
func manual() string {
	p := roff.New("deviceagentctl", 1, "look into the agent on this robot, and operate it")
	p.Section("Synopsis")
	p.Text("`deviceagentctl` [`--socket` PATH] [`-o` text|wide|json|jsonl] COMMAND [ARGUMENT…]")
	p.Section("Description")
	p.Text("`deviceagentctl` asks `deviceagentd`(8) over two unix sockets: one for reading, one for reading and operating. The mode and group of a socket file decide " +
		"who may use it. It keeps nothing between two calls. Standard output carries data only; hints and errors go to standard error.")
	p.Text("An ID may be cut to a prefix that only one plan has; `@last` is the plan accepted last, `@failed` the one that failed last.")
	p.Section("Commands")
	for _, c := range listCommands() {
		p.Item("`"+c.name+"`", c.short+".")
		for _, f := range c.flags {
			p.SubItem("`--"+f.Name+"`", f.Usage+".")
		}
	}
	p.Item("`completion bash|zsh|fish`", "Writes a completion script. The package has installed them.")
	p.Item("`help exit-codes|states|reasons [CODE]|output`", "What the codes, states and reasons mean; needs no agent.")
	p.Section("Flags")
	for _, f := range sharedFlags() {
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		p.Item(name, f.Usage+".")
	}
	p.Section("Exit status")
	for _, e := range exits() {
		p.Item("`"+e[0]+"`", e[1]+".")
	}
	p.Section("Environment")
	p.Item("`DEVICEAGENT_SOCKET`, `DEVICEAGENT_CONTROL_SOCKET`", "As the flags of these names.")
	p.Item("`LC_ALL`, `LC_MESSAGES`, `LANG`", "The language of sentences: Korean or English. States, codes and keys stay English.")
	p.Item("`NO_COLOR`, `CLICOLOR_FORCE`, `FORCE_COLOR`, `TERM`", "Whether there is colour, where `--color` does not say so.")
	p.Section("Files")
	p.Item("`/run/deviceagent/diag.sock`", "For reading: group `deviceagent-read`.")
	p.Item("`/run/deviceagent/control.sock`", "For reading and operating: group `deviceagent-control`.")
	p.Section("Examples")
	p.Example("deviceagentctl status\ndeviceagentctl why @failed\ndeviceagentctl submit plan.json --wait\ndeviceagentctl cancel --all --reason 'somebody is in the way'")
	p.Section("See also")
	p.Text("`deviceagentd`(8), `agent.toml`(5)")
	return p.String()
}
