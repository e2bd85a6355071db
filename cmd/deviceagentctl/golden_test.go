package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files and the output in docs/cli.md")

// normal takes out what differs from run to run.
func normal(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "/run/deviceagent")
	text = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllString(text, "UUID")
	text = regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllString(text, "ETAG")
	text = regexp.MustCompile(`\d+ operations   etag [0-9a-f]{12}…`).ReplaceAllString(text, "21 operations   etag 0123456789ab…")
	return text
}

// said is one call as a person sees it.
func (r *robot) said(args ...string) string {
	out, code := r.run(args...)
	text := "$ deviceagentctl " + strings.Join(args, " ") + "\n" + out.stdout
	for line := range strings.Lines(out.stderr) {
		text += "(stderr) " + line
	}
	if code != 0 {
		text += fmt.Sprintf("exit %d\n", code)
	}
	return normal(text, r.dir)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it):\n%s", path, got)
	}
}

func TestGolden(t *testing.T) {
	for _, tc := range []struct {
		scene string
		calls []string
	}{
		{"idle", []string{"status", "status --utc", "status --lang ko", "ps", "ps --lang ko", "executors --columns service,state,since,missing", "config show", "version", "context movement.location battery.level quiet_hours",
			"context battery.level --no-headers", "context x.y", "show @last", "show @last --lang ko", "watch nope", "nope", "ps --columns nope", "ps -o jsonl", "status --lang fr"}},
		{"moving", []string{"ps", "ps -o wide", "ps --no-headers --columns id,state", "show wf_9c1e", "why wf_9c1e", "why wf_9c1e --lang ko", "why wf_9c20", "why wf_9c20 --lang ko", "why wf_9c1e/step_2",
			"why wf_9c1e/step_9", "show wf_9c", "show wf_9c --lang ko", "cancel wf_9c1e", "cancel wf_9c20 --reason test", "cancel wf_9c20 --reason test --lang ko", "cancel --all --reason test", "show wf_9c20"}},
		{"verifying", []string{"ps", "show @last", "why @last/step_2", "why @last/step_2 --lang ko", "why @last/step_1", "why @last/step_1 --lang ko", "ps -o json", "show @last -o json", "why @last -o json"}},
		{"asked", []string{"ps", "status", "show @last", "why @last/step_2", "why @last/step_2 --lang ko", "executors -o json"}},
		{"aimed", []string{"trace wf_aim", "trace exp_air --lang ko", "trace wf_aim/step_2", "trace wf_aim --tail 2", "trace tn_4 -o json", "trace wf_9c20", "trace nope", "trace wf_aim --tail 0",
			"experience exp_air", "experience exp_air -o json", "experience wf_9c20"}},
		{"scheduled", []string{"schedules", "schedules -o wide", "schedules -o json", "ps", "show wf_eve", "why wf_eve", "why wf_eve --lang ko", "cancel wf_once --exact --yes --reason moved", "schedules --columns id,next"}},
		{"ended", []string{"ps", "ps --all", "show @failed", "show @failed --lang ko", "why @failed", "why @failed --lang ko", "why wf_9c20", "why wf_9c20 --lang ko", "watch wf_9c20", "watch @failed", "watch @failed -o json", "wait wf_9c20",
			"wait @failed", "wait @failed --for failed", "wait @failed/step_2 --for timed_out", "wait wf_9c20 --for nonsense", "cancel wf_9c20 --reason late", "cancel wf_9c20 --reason late --lang ko"}},
	} {
		t.Run(tc.scene, func(t *testing.T) {
			r := newRobot(t)
			r.scene(tc.scene)
			var all []string
			for _, call := range tc.calls {
				all = append(all, r.said(strings.Fields(call)...))
			}
			golden(t, tc.scene, strings.Join(all, "\n"))
		})
	}
}

func TestGoldenHelp(t *testing.T) {
	r := &robot{t: t, dir: t.TempDir()}
	var all []string
	for _, call := range []string{"help exit-codes", "help states", "help reasons", "help reasons --lang ko -o wide", "help reasons nonsense", "help output", "help", "help show", "help -o json", "help nope"} {
		all = append(all, r.said(strings.Fields(call)...))
	}
	golden(t, "help", strings.Join(all, "\n"))
}
