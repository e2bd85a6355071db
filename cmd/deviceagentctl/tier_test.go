package main

import (
	"strings"
	"testing"
)

// A tier is set at the robot, told, up to the setting, and taken back; off ends the evaluation of experiences.
func TestTier(t *testing.T) {
	r := newRobot(t)
	for _, step := range []struct{ set, told string }{{"", "restricted"}, {"content_only", "content_only"}, {"off", "off"}, {"restricted", "restricted"}} {
		if step.set != "" {
			if out, code := r.run("tier", step.set, "--reason", "guests"); code != 0 || !strings.Contains(out.stdout, step.told) {
				t.Fatalf("exit %d %q %q", code, out.stdout, out.stderr)
			}
		}
		if out, code := r.run("tier"); code != 0 || !strings.Contains(out.stdout, "experience is "+step.told) {
			t.Errorf("after %q: exit %d %q %q", step.set, code, out.stdout, out.stderr)
		}
	}
	for _, bad := range [][]string{{"tier", "full"}, {"tier", "godlike", "--reason", "x"}} {
		if out, code := r.run(bad...); code == 0 {
			t.Errorf("%v: %q", bad, out.stdout)
		}
	}
}
