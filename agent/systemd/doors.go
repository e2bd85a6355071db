package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Doors are the sockets that were handed over. nil: that one was not, and the settings say where it is.
type Doors struct {
	Read     net.Listener // FileDescriptorName=read
	Control  net.Listener // control
	Executor net.Listener // executor
}

// Doors makes listeners of the sockets: each must be a unix stream socket that listens, under one of the three names, once. Anything else
// is a unit that belongs to another program, and an error: what the agent would not serve, nobody would. Closing a door leaves its file,
// which is the socket unit's. It can be called once.
func (s *Service) Doors() (Doors, error) {
	var d Doors
	place := map[string]*net.Listener{"read": &d.Read, "control": &d.Control, "executor": &d.Executor}
	var faults []error
	for _, f := range s.given {
		ln, err := door(f)
		at, known := place[f.Name()]
		switch {
		case !known:
			err = errors.New("there is no door of that name; FileDescriptorName= must be read, control or executor")
		case err == nil && *at != nil:
			err = errors.New("it is there twice; each socket unit has one ListenStream=")
		case err == nil:
			*at = ln
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("cannot use the socket %q of systemd: %w", f.Name(), err))
		}
		f.Close()
	}
	s.given = nil
	return d, errors.Join(faults...)
}

func door(f *os.File) (net.Listener, error) {
	fd := int(f.Fd())
	for _, want := range []struct{ option, value int }{{unix.SO_DOMAIN, unix.AF_UNIX}, {unix.SO_TYPE, unix.SOCK_STREAM}, {unix.SO_ACCEPTCONN, 1}} {
		if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, want.option); err != nil || got != want.value {
			return nil, errors.New("it is no unix stream socket that listens; the unit needs ListenStream= with a path, and Accept=no")
		}
	}
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false) // it was found to be one
	return ln, nil
}
