package agent

import (
	"testing"
	"testing/fstest"
)

func TestF70_TheMarkOfAMachine(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	a := Machine(fstest.MapFS{"sys/firmware/devicetree/base/serial-number": file("10000000a1b2c3d4\x00")})
	b := Machine(fstest.MapFS{"sys/firmware/devicetree/base/serial-number": file("10000000a1b2c3d5\x00")})
	if a == "" || a == b {
		t.Fatalf("two boards have the marks %q and %q", a, b)
	}
	if got := Machine(fstest.MapFS{"sys/class/dmi/id/board_serial": file("10000000A1B2C3D4\n")}); got != a {
		t.Errorf("the same number from another place is %q, want %q", got, a)
	}
	for _, none := range []string{"", "0000000000000000", "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "Default string", "To be filled by O.E.M.", "1234", "System Serial Number"} {
		if got := Machine(fstest.MapFS{"sys/class/dmi/id/board_serial": file(none + "\n")}); got != "" {
			t.Errorf("%q is the number of no machine, and gave %q", none, got)
		}
	}
	if got := Machine(fstest.MapFS{}); got != "" {
		t.Errorf("nothing can be read, and gave %q", got)
	}
}
