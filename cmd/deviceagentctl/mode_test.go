package main

import (
	"strings"
	"testing"
)

// A mode is set, told by status with who has the robot and why, refuses plans, and is left again.
func TestMode(t *testing.T) {
	r := newRobot(t)
	if out, code := r.run("mode", "service", "--reason", "brushes"); code != 0 || !strings.Contains(out.stdout, "the mode is service") {
		t.Fatalf("exit %d %q %q", code, out.stdout, out.stderr)
	}
	for _, cmd := range []string{"status", "mode"} {
		out, _ := r.run(cmd)
		for _, want := range []string{"mode        service", "operator:all:service", "brushes"} {
			if !strings.Contains(out.stdout, want) {
				t.Errorf("%s does not say %q:\n%s", cmd, want, out.stdout)
			}
		}
	}
	if out, code := r.runEnv(nil, movePlan, "submit", "-"); code == 0 || !strings.Contains(out.stderr, "an operator has the robot") {
		t.Errorf("a plan: exit %d %q %q", code, out.stdout, out.stderr)
	}
	if out, code := r.run("mode", "automatic", "--reason", "done"); code != 0 || !strings.Contains(out.stdout, "the mode is automatic") {
		t.Fatalf("exit %d %q %q", code, out.stdout, out.stderr)
	}
	if out, _ := r.run("mode"); !strings.Contains(out.stdout, "mode        automatic") || strings.Count(out.stdout, "\n") != 3 {
		t.Errorf("afterwards:\n%s", out.stdout)
	}
}
