package executors

import (
	"testing"

	"deviceagent/taskmanager/core"
)

func TestPumpIsBounded(t *testing.T) {
	p := newPump()
	for range maxPosted {
		if !p.post(core.Tick{}) {
			t.Fatal("dropped below the bound")
		}
	}
	if p.post(core.Tick{}) {
		t.Error("took more than the bound")
	}
	if n := len(p.take()); n != maxPosted {
		t.Errorf("%d events wait, want %d", n, maxPosted)
	}
}
