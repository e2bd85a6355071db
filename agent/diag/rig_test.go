package diag_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/agent/diag"
	"deviceagent/agent/diag/diagtest"
)

func TestMain(m *testing.M) {
	time.Local = time.FixedZone("KST", 9*3600)
	goleak.VerifyTestMain(m)
}

// rig is a served test agent.
type rig struct {
	t             *testing.T
	a             *diagtest.Agent
	read, control string
	log           *logBuffer
	stop          func()
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func serve(t *testing.T, k diag.Knobs) *rig {
	t.Helper()
	a, err := diagtest.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &rig{t: t, a: a, read: filepath.Join(dir, "diag.sock"), control: filepath.Join(dir, "control.sock"), log: &logBuffer{}}
	listen := func(path string) net.Listener {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	lr, lc := listen(r.read), listen(r.control)
	go func() { done <- diag.ServeWith(ctx, lr, lc, a, zerolog.New(r.log), k) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(r.stop)
	r.get("/v1/version") // served, and the ring has begun
	return r
}

func (r *rig) client() *diag.Client { return &diag.Client{Socket: r.read, Control: r.control} }

// raw calls without the client half: any curl works.
func (r *rig) raw(socket, method, path string, body io.Reader, header ...string) (*http.Response, []byte) {
	r.t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://any.host.at.all"+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, data
}

func (r *rig) get(path string) []byte {
	r.t.Helper()
	_, body := r.raw(r.read, "GET", path, nil)
	return body
}

func decode[T any](t *testing.T, body []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

const movePlan = `{"workflow":{"cloud_workflow_id":"wf_9c1e","plan_id":"pl_1","revision":0,"origin":{"turn_id":"tn_1","utterance":"거실로 가서 청정해"}},
 "device_task_requests":[
  {"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}},
  {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","params":{"duration_min":20},"depends_on":["step_1"]}]}`

const secondPlan = `{"workflow":{"cloud_workflow_id":"wf_9c20","plan_id":"pl_2","revision":0},
 "device_task_requests":[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]}`

func zerologTo(l *logBuffer) zerolog.Logger { return zerolog.New(l) }
