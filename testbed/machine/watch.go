package machine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// Seen is one line that came out of the machine, and how long the write log was when it did. All that the machine had made safe before it
// sent the line lies before that place: a cut there or later must not lose it.
type Seen struct {
	Log  int64  `json:"log"`  // bytes
	Port string `json:"port"` // by which it came
	Line string `json:"line"`
}

// Watch takes connections on unix sockets, by the name of the port, and writes each line down as JSON until ctx ends. It is where QEMU's
// ports lead to; it has to be there before QEMU starts, and says so by ready.
func Watch(ctx context.Context, sockets map[string]string, log string, out io.Writer, ready func()) error {
	w := &watcher{log: log, out: json.NewEncoder(out)}
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for port, path := range sockets {
		ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
		if err != nil {
			return fmt.Errorf("cannot listen on %s: %w", path, err)
		}
		context.AfterFunc(ctx, func() { _ = ln.Close() })
		wg.Go(func() {
			if err := w.serve(ctx, port, ln); err != nil {
				stop(err)
			}
		})
	}
	ready()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

type watcher struct {
	log string
	mu  sync.Mutex
	out *json.Encoder
}

func (w *watcher) serve(ctx context.Context, port string, ln net.Listener) error {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return nil // closed: the watch is over
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		in := bufio.NewScanner(conn)
		for in.Scan() {
			if err := w.seen(port, in.Text()); err != nil {
				return errors.Join(err, conn.Close())
			}
		}
		stop()
		_ = conn.Close() // the machine has ended it
	}
}

func (w *watcher) seen(port, line string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	info, err := os.Stat(w.log)
	if err != nil {
		return fmt.Errorf("cannot see how long the write log is: %w", err)
	}
	return w.out.Encode(Seen{Log: info.Size(), Port: port, Line: line})
}

// ReadSeen reads what a watch wrote. A last line that was cut off is left out.
func ReadSeen(r io.Reader) (all []Seen, err error) {
	in := json.NewDecoder(r)
	for {
		var s Seen
		switch err := in.Decode(&s); {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("cannot read what was seen: %w", err)
		}
		all = append(all, s)
	}
}
