package scenario

import (
	"fmt"
	"time"

	"deviceagent/agent/clock"
)

// wallClock is how the device's wall clock stands to the true time.
type wallClock struct {
	slept time.Duration // in suspends: the true time has gone on, the bubble's has not
	off   time.Duration // how far the clock is from the true time
	lost  bool          // it begins in 1970 at each boot, and is not trusted until somebody sets it
}

// boot makes the clock of a new boot.
func (w *wallClock) boot(id string) *clock.Virtual {
	c := clock.Package(id)
	w.off = 0
	if w.lost {
		w.off = time.Until(time.Unix(0, 0)) - w.slept
		c.SetTrusted(false)
	}
	c.ShiftWall(w.slept + w.off)
	return c
}

// setClock makes the device's wall clock jump ("+24h", "-2h"), lose its battery ("lost": from the next boot on it begins in 1970), or be
// set by somebody who knows the time ("right").
func (h *house) setClock(arg string) error {
	d := h.device
	switch arg {
	case "lost":
		d.wall.lost = true
		return nil
	case "right":
		d.clock.SetTrusted(true)
		d.clock.ShiftWall(-d.wall.off)
		d.wall.off = 0
		return nil
	}
	by, err := time.ParseDuration(arg)
	if err != nil {
		return fmt.Errorf("clock %q: want lost, right, or how far it jumps, as in +24h", arg)
	}
	d.clock.ShiftWall(by)
	d.wall.off += by
	return nil
}

// suspend lets the device's machine sleep. Nothing of it runs meanwhile; the home's own time stands still too.
func (h *house) suspend(arg string) error {
	by, err := time.ParseDuration(arg)
	if err != nil {
		return err
	}
	h.device.wall.slept += by
	h.device.clock.Suspend(by)
	return nil
}
