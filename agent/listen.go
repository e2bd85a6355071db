package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// listen opens a unix socket, unless it was handed in.
func listen(ctx context.Context, given net.Listener, path string) (net.Listener, error) {
	if given != nil {
		return given, nil
	}
	if err := makeWay(ctx, path); err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	// The folder of the store is made, too: who tries the agent names two folders, and both need not be there.
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the folder of a socket: %w", err)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot set the mode of %s: %w", path, err), ln.Close())
	}
	return ln, nil
}

// makeWay takes away the socket file that an earlier process left behind, and nothing else: not a file that a mistaken setting names,
// and not the socket of a process that is only too busy to answer.
func makeWay(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("what is there is no socket; move it away or set another path")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return errors.Join(errors.New("another process does; stop it or set another path"), conn.Close())
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("another process may do: %w", err)
	}
	return os.Remove(path)
}
