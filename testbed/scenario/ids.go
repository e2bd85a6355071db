package scenario

import (
	"fmt"
	"sync/atomic"
	"time"
)

// ids makes UUIDv7s from virtual time and a counter: the same scenario has the same ids. The library's own generator remembers the
// last time that it saw, which in another bubble was another.
type ids struct{ n atomic.Uint64 }

func (g *ids) next() string {
	ms, n := uint64(time.Now().UnixMilli()), g.n.Add(1)
	return fmt.Sprintf("%08x-%04x-7%03x-8000-%012x", ms>>16, ms&0xffff, n&0xfff, n)
}
