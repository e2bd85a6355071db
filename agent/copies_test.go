package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// What nobody can read is kept for who has to find out, a little of it: whoever sends much fills no disk.
func TestCopiesOfUnreadableMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := newRefused(dir, zerolog.Nop())
		copies := func() int {
			t.Helper()
			list, err := filepath.Glob(filepath.Join(dir, "refused", "*.bin"))
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		send := func(n int) {
			r.note(core.Answer{Reason: wire.ReasonMalformed, RefSHA256: "x"}, append(fmt.Appendf(nil, "%d ", n), bytes.Repeat([]byte("x"), 8<<10)...))
		}
		for n := range 50 {
			send(n)
			send(n) // the same once more is no other
		}
		if got := copies(); got != 20 {
			t.Errorf("%d copies on the first day, want 20", got)
		}
		list, _ := filepath.Glob(filepath.Join(dir, "refused", "*.bin"))
		if info, err := os.Stat(list[0]); err != nil || info.Size() != 4<<10 || info.Mode().Perm() != 0o600 {
			t.Errorf("a copy is %v %v, want 4 KiB for its owner", info, err)
		}
		for day := range 6 {
			time.Sleep(24 * time.Hour)
			for n := range 30 {
				send(1000*(day+1) + n)
			}
		}
		if got := copies(); got != 100 {
			t.Errorf("%d copies after a week, want 100", got)
		}
		r.note(core.Answer{Reason: core.ReasonWrongEpoch}, []byte("readable")) // it has an id, and its sender can be asked
		if err := r.forget(); err != nil || copies() != 0 {
			t.Errorf("%d copies after they were erased, %v", copies(), err)
		}
	})
}
