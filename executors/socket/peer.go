package socket

import (
	"fmt"
	"net"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Peer is who connected, as the kernel says (SO_PEERCRED), read once for each connection. There is no process id in it: it may
// belong to another program by the time that it is looked at.
type Peer struct {
	UID, GID uint32
	Groups   []uint32 // beside GID
	Known    bool     // false: not a unix socket (a pipe in a test), nothing is known
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
	var groups []uint32
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if credErr == nil {
			groups, credErr = peerGroups(fd)
		}
	})
	if err == nil {
		err = credErr
	}
	if err != nil {
		return Peer{}, fmt.Errorf("cannot read peer credentials: %w", err)
	}
	return Peer{UID: cred.Uid, GID: cred.Gid, Groups: groups, Known: true}, nil
}

// maxGroups is how many groups one process can be in. Source: NGROUPS_MAX of Linux.
const maxGroups = 65536

// peerGroups reads the groups that the peer was in beside its first one when it connected (SO_PEERGROUPS, since Linux 4.13).
func peerGroups(fd uintptr) ([]uint32, error) {
	for n := 32; n <= maxGroups; n *= 2 {
		groups := make([]uint32, n)
		size := uint32(n * 4)
		_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS, uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch e {
		case 0:
			return groups[:size/4], nil
		case unix.ERANGE: // there are more
		case unix.ENOPROTOOPT: // an older kernel, or an emulated one: the first group is all that is known
			return nil, nil
		default:
			return nil, e
		}
	}
	return nil, unix.ERANGE
}

// In says whether the peer is in a group.
func (p Peer) In(gid uint32) bool { return p.GID == gid || slices.Contains(p.Groups, gid) }
