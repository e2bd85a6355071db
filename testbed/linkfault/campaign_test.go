package linkfault

import (
	"os"
	"testing"
	"time"
)

// A small campaign, with every fault: nothing is lost, doubled or out of order.
func TestASmallCampaign(t *testing.T) {
	opt := Options{Messages: 300, Plans: 40, Each: 1, Cells: 1, Robots: 4, Pace: 30, Most: 3 * time.Minute, Dir: t.TempDir(), Out: os.Stderr}
	rep, err := Run(t.Context(), opt)
	if rep != nil {
		rep.Print(os.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, lack := range rep.Lacks(opt) {
		t.Error("lacks:", lack)
	}
	if !rep.Good() {
		t.Error("not as promised")
	}
}
