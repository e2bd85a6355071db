package diag_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

func itoa(n int) string { return fmt.Sprint(n) }

// follow collects a stream in the background.
func (r *rig) follow(id string, from int64) (events chan diag.StreamEvent, done chan error, stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	events, done = make(chan diag.StreamEvent, 10_000), make(chan error, 1)
	go func() {
		done <- r.client().Follow(ctx, id, from, func(ev diag.StreamEvent) error { events <- ev; return nil })
		close(events)
	}()
	return events, done, func() { cancel(); <-done }
}

// patience is how long a test waits for what must happen over a real socket, on a machine that has other things to do.
const patience = time.Minute

func next(t *testing.T, events chan diag.StreamEvent) diag.StreamEvent {
	t.Helper()
	select {
	case ev, ok := <-events:
		if !ok {
			t.Fatal("the stream has ended")
		}
		return ev
	case <-time.After(patience):
		t.Fatalf("no event in %v", patience)
	}
	panic("unreachable")
}

func TestStreamEndsWithThePlan(t *testing.T) {
	r := serve(t, diag.Knobs{})
	r.a.Submit(secondPlan)
	from := decode[diag.Reply](t, r.get("/v1/workflows")).AsOf.Seq
	events, done, _ := r.follow("wf_9c2", from)
	if ev := next(t, events); ev.Live == nil || ev.Live.Workflow != "wf_9c20" || ev.Live.StartNo != 7 {
		t.Fatalf("first event %+v", ev)
	}
	r.a.Submit(movePlan) // another workflow is not told
	r.a.Arrive("master_bedroom")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var got []string
	last := ""
	for ev := range events {
		switch {
		case ev.Move != nil:
			got = append(got, fmt.Sprintf("%s%s>%s", ev.Move.Step, ev.Move.Effect, ev.Move.To))
			if ev.ID == last || ev.Move.Seq <= from || ev.Move.Workflow != "wf_9c20" {
				t.Errorf("move %+v with id %s after %s", ev.Move, ev.ID, last)
			}
			last = ev.ID
		case ev.End != nil:
			got = append(got, "end "+ev.End.State)
		default:
			t.Errorf("%+v", ev)
		}
	}
	if text := strings.Join(got, " "); !strings.HasSuffix(text, "step_1>completed >completed end completed") {
		t.Errorf("told: %s", text)
	}
	again, done, _ := r.follow("wf_9c20", -1)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if first, second := next(t, again), next(t, again); first.Live == nil || second.End == nil {
		t.Errorf("of an ended plan: %+v %+v", first, second)
	}
}

func moves(from, n int64) (out []core.Move) {
	for i := range n {
		out = append(out, core.Move{Seq: from + i, Workflow: "wf_9c1e", Step: "step_1", To: "running"})
	}
	return out
}

func TestStreamResumesByIdAndNamesTheHole(t *testing.T) {
	r := serve(t, diag.Knobs{Ring: 16})
	start := decode[diag.Reply](t, r.get("/v1/workflows")).AsOf.Seq
	for i := range int64(40) {
		r.a.Tell(moves(start+1+i, 1)...)
	}
	read := func(id string, n int) (out []string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", r.read)
		}}
		defer tr.CloseIdleConnections()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://x/v1/watch", nil)
		req.Header.Set("Last-Event-ID", id)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		lines := bufio.NewScanner(resp.Body)
		kind := ""
		for len(out) < n && lines.Scan() {
			switch name, v, _ := strings.Cut(lines.Text(), ": "); name {
			case "event":
				kind = v
			case "id":
				out = append(out, kind+" "+v)
			}
		}
		return out
	}
	waitFor(t, func() bool { return read(itoa(int(start+39)), 1)[0] == "move "+itoa(int(start+40)) })
	if got, want := read(itoa(int(start+38)), 2), "move "+itoa(int(start+39)); got[0] != want {
		t.Errorf("resumed with %v, want %s", got, want)
	}
	if got := read(itoa(int(start+5)), 2); got[0] != "gap "+itoa(int(start+24)) || got[1] != "move "+itoa(int(start+25)) {
		t.Errorf("resumed with %v, want the gap up to %d and the move behind it", got, start+24)
	}
	if got := read(itoa(int(start+999)), 1); got[0] != "gap "+itoa(int(start+40)) {
		t.Errorf("an id of another store: %v, want a gap", got)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("it did not happen in %v", patience)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAFloodLosesNothingSilently(t *testing.T) {
	r := serve(t, diag.Knobs{})
	from := decode[diag.Reply](t, r.get("/v1/workflows")).AsOf.Seq
	events, _, stop := r.follow("", from)
	defer stop()
	next(t, events) // live
	const n = 5000
	r.a.Tell(moves(from+1, n)...) // more than any buffer holds, at once
	r.a.Tell(moves(from+n+1, 1)...)
	seen := map[int64]bool{}
	for left := int64(n); left > 0; {
		ev := next(t, events)
		first, last := int64(1), int64(0)
		switch {
		case ev.Move != nil:
			first, last = ev.Move.Seq, ev.Move.Seq
		case ev.Gap != nil:
			first, last = ev.Gap.From, ev.Gap.To
		}
		for seq := first; seq <= last; seq++ {
			if seq > from && seq <= from+n && !seen[seq] {
				seen[seq] = true
				left--
			}
		}
	}
}

func TestOwnerThatDoesNotAnswer(t *testing.T) {
	r := serve(t, diag.Knobs{Look: 20 * time.Millisecond})
	for _, tc := range []struct {
		name, phase, code string
		block             bool
		fail              error
	}{
		{"starting", diag.Starting, "agent_starting", true, nil},
		{"busy", diag.Running, "agent_busy", true, nil},
		{"stopped", diag.Running, "agent_stopping", false, taskmanager.ErrStopped},
		{"stopping", diag.Stopping, "agent_stopping", true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r.a.Facts(func(f *diag.Facts) { f.Phase = tc.phase })
			r.a.Fail = tc.fail
			if tc.block {
				r.a.Block = make(chan struct{})
				defer func() { r.a.Block = nil }()
			}
			_, err := r.client().Get(t.Context(), "/status", nil)
			if p, ok := err.(*diag.Problem); !ok || p.Code != tc.code || p.Exit != diag.ExitNoAgent || p.Hint == "" {
				t.Errorf("%+v", err)
			}
			r.a.Fail = nil
		})
	}
	r.a.Fail = taskmanager.ErrNotCommitted
	_, err := r.client().Post(t.Context(), "/plans", nil, []byte(movePlan))
	if p, ok := err.(*diag.Problem); !ok || p.Code != "storage_error" || p.Exit != diag.ExitError {
		t.Errorf("%+v", err)
	}
	r.a.Fail = nil
}

func TestStoppingEndsTheStreams(t *testing.T) {
	r := serve(t, diag.Knobs{})
	events, _, stop := r.follow("", -1)
	next(t, events)
	start := time.Now()
	r.stop()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("stopping took %v with a stream open", took)
	}
	if ev := next(t, events); ev.Kind != diag.EventLost || ev.Lost == nil {
		t.Errorf("%+v", ev)
	}
	stop()
}

func TestStatusNeverMakesUpWhatIsNotKnown(t *testing.T) {
	r := serve(t, diag.Knobs{})
	r.a.Facts(func(f *diag.Facts) { *f = diag.Facts{Phase: diag.Running, DeviceID: "rb-7f21"} })
	r.a.Trust(false, 0)
	doc := decode[struct {
		Data map[string]any
		AsOf diag.AsOf
	}](t, r.get("/v1/status"))
	if doc.AsOf.DeviceTime != diag.NotKnown || doc.AsOf.ClockTrusted || doc.Data["started"] != nil || doc.Data["health"] != "degraded" {
		t.Errorf("%+v", doc)
	}
	for _, path := range [][2]string{{"link", "since_ms"}, {"outbox", "unsent"}, {"outbox", "bound"}, {"store", "used_bytes"}, {"clock", "offset_ms"}} {
		if v := doc.Data[path[0]].(map[string]any)[path[1]]; v != nil {
			t.Errorf("%s is %v, want null", path, v)
		}
	}
}
