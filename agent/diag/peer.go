package diag

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// Peer is who connected, as the kernel says (SO_PEERCRED), read once for each connection.
type Peer struct {
	UID, GID uint32
	PID      int32 // of the moment of the connection; for the log only: it may belong to another program by now
}

// String names the peer as it is written into the journal.
func (p Peer) String() string { return fmt.Sprintf("operator uid %d", p.UID) }

// peerOf reads the credentials of a connection. Whoever cannot be named is refused.
func peerOf(conn net.Conn) (Peer, error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{}, errors.New("cannot read peer credentials: not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("cannot read peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	if err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err == nil {
		err = credErr
	}
	if err != nil {
		return Peer{}, fmt.Errorf("cannot read peer credentials: %w", err)
	}
	return Peer{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}, nil
}

// door lets connections in: each with its peer, so many of one user and so many in all. It is shared by both sockets, so that
// nobody gets twice as many by using both.
type door struct {
	perUID int // connections of one user that are served
	total  int // connections in all; past it they are closed unheard
	log    zerolog.Logger
	peer   func(net.Conn) (Peer, error)

	mu   sync.Mutex
	open map[uint32]int
	sum  int
}

// guest is one connection that was let in.
type guest struct {
	net.Conn
	Peer
	over  bool // more than the user may have: it gets one answer, which says so
	leave func()
}

// Close gives the place free.
func (g *guest) Close() error {
	err := g.Conn.Close()
	g.leave()
	return err
}

// admit looks at a new connection. nil: it was closed.
func (d *door) admit(conn net.Conn) *guest {
	p, err := d.peer(conn)
	if err != nil {
		d.log.Warn().Err(err).Msg("diagnostic connection refused")
		_ = conn.Close()
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sum >= d.total {
		d.log.Warn().Uint32("uid", p.UID).Int("open", d.sum).Msg("diagnostic connection closed, too many in all")
		_ = conn.Close()
		return nil
	}
	if d.open == nil {
		d.open = map[uint32]int{}
	}
	g := &guest{Conn: conn, Peer: p, over: d.open[p.UID] >= d.perUID}
	d.sum++
	if !g.over {
		d.open[p.UID]++
	}
	g.leave = sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sum--
		if g.over {
			return
		}
		if d.open[p.UID]--; d.open[p.UID] == 0 {
			delete(d.open, p.UID)
		}
	})
	return g
}

// gate is a listener behind the door.
type gate struct {
	net.Listener
	door *door
}

// Accept waits for the next connection that is let in.
func (g gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if in := g.door.admit(conn); in != nil {
			return in, nil
		}
	}
}

type guestKey struct{}

// withGuest puts the connection's guest into the context of its requests.
func withGuest(ctx context.Context, conn net.Conn) context.Context {
	if g, ok := conn.(*guest); ok {
		return context.WithValue(ctx, guestKey{}, g)
	}
	return ctx
}

func guestOf(ctx context.Context) *guest {
	g, _ := ctx.Value(guestKey{}).(*guest)
	return g
}
