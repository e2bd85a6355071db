package socket

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"deviceagent/taskmanager/core"
)

// writes records what goes out, write by write; each waits for a token of next.
type writes struct {
	net.Conn
	next chan struct{}
	got  chan []byte
}

func (w *writes) Write(b []byte) (int, error) {
	<-w.next
	w.got <- bytes.Clone(b)
	return len(b), nil
}

func TestAllThatWaitsGoesOutInOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		w := &writes{Conn: a, next: make(chan struct{}), got: make(chan []byte, 8)}
		o := newOutbox()
		ended := make(chan error, 1)
		go func() { ended <- o.writeTo(w) }()
		for n := range 5 {
			if _, err := o.send(KindAnswer, uint64(n), answerBody{Accepted: true}, false); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the first is in its write by now
		}
		w.next <- struct{}{}
		w.next <- struct{}{}
		<-w.got
		in := newFrameReader(bytes.NewReader(<-w.got))
		for want := range uint64(4) {
			if f, err := in.next(); err != nil || f.Call != want+1 {
				t.Fatalf("frame %d, %v, want %d", f.Call, err, want+1)
			}
		}
		o.finish()
		if err := <-ended; !errors.Is(err, errClosed) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestFullOutbox(t *testing.T) {
	fill := func(o *outbox) {
		for {
			if _, err := o.send(KindResult, 0, resultBody{Task: "t1", Outcome: string(make([]byte, 100<<10))}, false); err != nil {
				if !errors.Is(err, errFull) {
					t.Fatal(err)
				}
				return
			}
		}
	}
	for _, tc := range []struct {
		name string
		free func(o *outbox)
		want error
	}{
		{"room comes", func(o *outbox) { o.take() }, nil},
		{"the connection ends", func(o *outbox) { o.fail(errReplaced) }, errReplaced},
		{"the session closes", func(o *outbox) { o.finish() }, errClosed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutbox()
				fill(o)
				got := make(chan error, 1)
				go func() {
					_, err := o.send(KindAnswer, 1, answerBody{}, true)
					got <- err
				}()
				synctest.Wait()
				if len(got) != 0 {
					t.Fatal("did not wait for room")
				}
				tc.free(o)
				if err := <-got; !errors.Is(err, tc.want) {
					t.Errorf("error %v, want %v", err, tc.want)
				}
			})
		})
	}
}

func TestCallToAFullConnectionIsNotSent(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		conn := r.pipe()
		defer conn.Close()
		mustWrite(t, conn, KindRegister, 0, goodRegister)
		if _, err := newFrameReader(conn).next(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.in.take()
		big := dispatch(1)
		big.Params = core.Values{"text": string(bytes.Repeat([]byte("a"), 200<<10))}
		var evs []core.Event
		for range 8 {
			evs = append(evs, r.carry(big)...)
		}
		if len(evs) == 0 || !evs[0].(core.TaskAnswered).NotSent {
			t.Errorf("events %+v, want not sent", evs)
		}
		big.Params = core.Values{"text": string(bytes.Repeat([]byte("a"), MaxFrame))}
		if evs := r.carry(big); len(evs) != 1 || !evs[0].(core.TaskAnswered).NotSent {
			t.Errorf("a frame over the limit: %+v, want not sent", evs)
		}
	})
}
