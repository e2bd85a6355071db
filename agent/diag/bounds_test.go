package diag_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"deviceagent/agent/diag"
)

// silent opens a watch that never reads on after its first line. It returns when the watch has a place: the places of the calls
// before are given back a moment after their ends, and who comes too early is refused.
func (r *rig) silent(socket string) net.Conn {
	r.t.Helper()
	var conn net.Conn
	waitFor(r.t, func() bool {
		c, err := net.Dial("unix", socket)
		if err != nil {
			r.t.Fatal(err)
		}
		_, werr := fmt.Fprint(c, "GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n")
		line, rerr := bufio.NewReader(c).ReadString('\n')
		if werr != nil || rerr != nil || !strings.Contains(line, "200") {
			_ = c.Close()
			return false
		}
		conn = c
		return true
	})
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// version is how the agent answers a short call.
func (r *rig) version() int {
	r.t.Helper()
	resp, _ := r.raw(r.read, "GET", "/v1/version", nil)
	return resp.StatusCode
}

// TestSlowReaderIsCut: a reader that takes nothing is cut after the write bound, and nobody else waits for it.
func TestSlowReaderIsCut(t *testing.T) {
	r := serve(t, diag.Knobs{Write: 50 * time.Millisecond, PerUID: 3})
	r.silent(r.read)
	other, _, stop := r.follow("", -1) // finds a place even while the last call still has one
	next(t, other)
	r.silent(r.read)
	if status := r.version(); status != http.StatusServiceUnavailable {
		t.Fatalf("a fourth connection got %d, want a refusal", status)
	}
	seq := int64(100_000)
	waitFor(t, func() bool { // the place of one that was cut is free again, while the other still reads
		r.a.Tell(moves(seq, 200)...)
		seq += 200
		status := r.version()
		for len(other) > 0 {
			<-other
		}
		return status == http.StatusOK
	})
	r.a.Tell(moves(seq, 1)...)
	next(t, other)
	stop()
}

func TestTwoHundredClients(t *testing.T) {
	r := serve(t, diag.Knobs{})
	r.a.Submit(movePlan)
	var ok, refused, odd atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", r.read)
			}}
			defer tr.CloseIdleConnections()
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://x/v1/workflows", nil)
			resp, err := tr.RoundTrip(req)
			switch {
			case err != nil:
				refused.Add(1) // past the bound of all connections: closed unheard
				return
			case resp.StatusCode == http.StatusOK:
				ok.Add(1)
			case resp.StatusCode == http.StatusServiceUnavailable:
				refused.Add(1)
			default:
				odd.Add(1)
			}
			_ = resp.Body.Close()
		})
	}
	wg.Wait()
	if ok.Load() == 0 || odd.Load() != 0 || ok.Load()+refused.Load() != 200 {
		t.Errorf("%d served, %d refused, %d otherwise", ok.Load(), refused.Load(), odd.Load())
	}
	// The client half waits its turn.
	var failed atomic.Int64
	for range 20 {
		wg.Go(func() {
			if _, err := r.client().Get(t.Context(), "/workflows", nil); err != nil {
				failed.Add(1)
			}
		})
	}
	wg.Wait()
	if failed.Load() != 0 {
		t.Errorf("%d of 20 clients that wait their turn failed", failed.Load())
	}
}

func TestConnectionsOfOneUserAreBounded(t *testing.T) {
	r := serve(t, diag.Knobs{PerUID: 3, Total: 5})
	var conns []net.Conn
	for range 3 {
		conns = append(conns, r.silent(r.control)) // both sockets share the bound
	}
	resp, body := r.raw(r.read, "GET", "/v1/version", nil)
	if p := decode[diag.Problem](t, body); resp.StatusCode != 503 || p.Code != "too_many_connections" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the fourth: %s %s", resp.Status, body)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	waitFor(t, func() bool { return r.version() == http.StatusOK })
}

func TestPeerThatCannotBeNamedIsRefused(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Listen("unix", dir+"/c")
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, diag.Knobs{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- diag.ServeWith(ctx, l, c, r.a, zerologTo(r.log), diag.Knobs{NoPeer: true}) }()
	_, err = (&diag.Client{Socket: dir + "/s"}).Get(t.Context(), "/status", nil)
	p, ok := err.(*diag.Problem)
	if !ok || p.Exit != diag.ExitNoAgent || !strings.Contains(r.log.String(), "diagnostic connection refused") {
		t.Errorf("%v\n%s", err, r.log)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestHeaderBounds(t *testing.T) {
	r := serve(t, diag.Knobs{})
	conn, err := net.Dial("unix", r.read)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, werr := fmt.Fprintf(conn, "GET /v1/status HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 16<<10))
	line, rerr := bufio.NewReader(conn).ReadString('\n')
	if rerr == nil && werr == nil && !strings.Contains(line, "431") {
		t.Errorf("16 KiB of headers: %s", line)
	}
}
