package diag

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/rs/zerolog"
)

// Knobs are the bounds that tests make small.
type Knobs struct {
	Write, Look, Heartbeat time.Duration
	PerUID, Total, Ring    int
	NoPeer                 bool // the kernel does not say who calls
}

// ServeWith is Serve with other bounds; each one that is 0 stays.
func ServeWith(ctx context.Context, read, control net.Listener, a Agent, log zerolog.Logger, k Knobs) error {
	s := newServer(a, log)
	s.write, s.look, s.heartbeat = either(k.Write, s.write), either(k.Look, s.look), either(k.Heartbeat, s.heartbeat)
	s.door.perUID, s.door.total = either(k.PerUID, s.door.perUID), either(k.Total, s.door.total)
	s.hub = newHub(either(k.Ring, ringSize))
	if k.NoPeer {
		s.door.peer = func(net.Conn) (Peer, error) { return Peer{}, errors.New("no credentials") }
	}
	return s.serve(ctx, read, control)
}

func either[T comparable](v, other T) T {
	if v == *new(T) {
		return other
	}
	return v
}

// Route is a path of the API for tests.
type Route struct {
	Method, Path string
	Control      bool
}

// Routes lists what is served.
func Routes() (out []Route) {
	for _, r := range routes {
		out = append(out, Route{r.method, r.path, r.control})
	}
	return out
}

// Denied is what a client says of a socket that its user may not open.
func Denied(socket, user string) *Problem { return (&Client{User: user}).denied(socket) }
