package socket

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// doors is a listener of pipes that can fail.
type doors struct {
	conns chan net.Conn
	fails chan error
	shut  chan struct{}
}

func newDoors() *doors {
	return &doors{conns: make(chan net.Conn), fails: make(chan error, 8), shut: make(chan struct{})}
}

func (d *doors) Accept() (net.Conn, error) {
	select {
	case err := <-d.fails:
		return nil, err
	case c := <-d.conns:
		return c, nil
	case <-d.shut:
		return nil, net.ErrClosed
	}
}

func (d *doors) Close() error   { close(d.shut); return nil }
func (d *doors) Addr() net.Addr { return nil }

type noFiles struct{ error }

func (noFiles) Temporary() bool { return true }

func TestConnectionsAreBounded(t *testing.T) {
	inRig(t, Options{MaxConns: 1}, func(r *rig) {
		d := newDoors()
		ended := make(chan error, 1)
		r.wg.Go(func() { ended <- r.srv.Serve(r.ctx, d) })
		first, served := net.Pipe()
		d.conns <- served
		second, served2 := net.Pipe()
		defer second.Close()
		taken := make(chan struct{})
		go func() { d.conns <- served2; close(taken) }()
		synctest.Wait()
		select {
		case <-taken:
			t.Fatal("a second connection was taken")
		default:
		}
		first.Close()
		<-taken
		r.stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("serve ended with %v", err)
		}
	})
}

func TestNoFileDescriptorsIsWaitedOut(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		d := newDoors()
		d.fails <- noFiles{errors.New("too many open files")}
		ended := make(chan error, 1)
		r.wg.Go(func() { ended <- r.srv.Serve(r.ctx, d) })
		time.Sleep(time.Second)
		c, served := net.Pipe()
		defer c.Close()
		d.conns <- served // taken: it has gone on
		d.fails <- errors.New("listener broken")
		if err := <-ended; err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("serve ended with %v, want the listener's error", err)
		}
	})
}

func TestUnreadableCredentialsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if p, err := peerOf(conn); err == nil {
		t.Errorf("peer %+v of a closed connection", p)
	}
}
