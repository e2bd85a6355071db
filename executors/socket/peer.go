package socket

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Peer is who connected, as the kernel says (SO_PEERCRED), read once for each connection. There is no process id in it: it may
// belong to another program by the time that it is looked at.
type Peer struct {
	UID, GID uint32
	Known    bool // false: not a unix socket (a pipe in a test), nothing is known
}

// peerOf reads the credentials of a unix connection. An error means that they could not be read: such a peer is refused.
func peerOf(conn net.Conn) (Peer, error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{}, nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("cannot read peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = credErr
	}
	if err != nil {
		return Peer{}, fmt.Errorf("cannot read peer credentials: %w", err)
	}
	return Peer{UID: cred.Uid, GID: cred.Gid, Known: true}, nil
}
