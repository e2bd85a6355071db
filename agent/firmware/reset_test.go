package firmware

import (
	"strings"
	"testing"
)

// A factory reset names the robot that is meant, and is told with who asked.
func TestAFactoryResetNamesTheRobot(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	for _, other := range []string{"", "rb-0001"} {
		if fail := g.asks("FactoryReset", args(other, "sold")); fail != busError+"InvalidArgs" {
			t.Errorf("%q was meant: %q", other, fail)
		}
	}
	if fail := g.asks("FactoryReset", args("rb-7f21", "sold")); fail != "" {
		t.Error(fail)
	}
	if got := r.home.Resets(); len(got) != 1 || !strings.HasPrefix(got[0], "bus uid ") || !strings.HasSuffix(got[0], ": sold") {
		t.Errorf("%q", got)
	}
}
