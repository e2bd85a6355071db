package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
)

func TestRawPlanIsRefusedWithAllFaults(t *testing.T) {
	r := newRig(t)
	r.check = func(p wire.Plan, _ []wire.Room) []wire.Fault {
		var faults []wire.Fault
		for i, q := range p.Requests {
			if q.TaskMethod != "setMoveTo" {
				faults = append(faults, wire.Fault{Path: fmt.Sprintf("device_task_requests[%d].taskMethod", i), ReasonCode: "unknown_method", Message: q.TaskMethod})
			}
		}
		return faults
	}
	r.start()
	shape := `{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"p 1","revision":-1},"typo":1,
		"device_task_requests":[{"cloud_step_id":"s1"},{"cloud_step_id":"s1","taskMethod":"setMoveTo"}]}`
	p := r.must(http.StatusUnprocessableEntity, "POST", "/v1/devices/rb-1/plans", shape)
	want(t, p, "code", "plan_refused")
	if got := faultPaths(p); len(got) < 4 {
		t.Errorf("faults at %v, want the id, the revision, the typo and the step at least", got)
	}
	p = r.must(http.StatusUnprocessableEntity, "POST", "/v1/devices/rb-1/plans?check=false", shape)
	want(t, p, "code", "plan_refused") // what is no plan cannot be passed on

	meaning := strings.ReplaceAll(rawPlan("wf_1", 0), "setMoveTo", "setFly")
	p = r.must(http.StatusUnprocessableEntity, "POST", "/v1/devices/rb-1/plans", meaning)
	if got := faultPaths(p); !slices.Equal(got, []string{"device_task_requests[0].taskMethod"}) {
		t.Errorf("faults at %v", got)
	}
	if status, _ := r.call("GET", "/v1/workflows/wf_1", ""); status != http.StatusNotFound {
		t.Errorf("a refused plan left a workflow: %d", status)
	}
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans?check=false", meaning)
	want(t, r.workflow("wf_1"), "submission", "queued")
}

func faultPaths(p object) (paths []string) {
	list, _ := p["faults"].([]any)
	for _, f := range list {
		paths = append(paths, f.(object)["path"].(string))
	}
	return paths
}

func TestRawPlanRepeatsAndRevisions(t *testing.T) {
	r := newRig(t)
	r.start()
	first := r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan("wf_1", 1))
	again := r.must(http.StatusOK, "POST", "/v1/devices/rb-1/plans", " "+rawPlan("wf_1", 1))
	want(t, again, "repeated", true)
	want(t, again, "message_id", first["message_id"])
	for _, tc := range []struct{ code, device, plan string }{
		{"same_revision_other_content", "rb-1", strings.ReplaceAll(rawPlan("wf_1", 1), "거실", "안방")},
		{"outdated_revision", "rb-1", rawPlan("wf_1", 0)},
		{"workflow_of_other_device", "rb-2", rawPlan("wf_1", 1)},
	} {
		p := r.must(http.StatusConflict, "POST", "/v1/devices/"+tc.device+"/plans", tc.plan)
		want(t, p, "code", tc.code)
	}
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan("wf_1", 2))
	want(t, r.workflow("wf_1"), "revision", 2)
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans?check=false", rawPlan("wf_1", 0))
}

func TestRefusedRevisionDoesNotUndoAnAcceptedOne(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	for i, reason := range []string{"", "already_terminal"} {
		r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan("wf_1", i))
		d.say(d.ack(d.next(wire.TypePlan), reason))
	}
	v := r.workflow("wf_1")
	want(t, v, "submission", "accepted")
	want(t, v, "revision", 0)
	if n := len(v["submissions"].([]any)); n != 2 {
		t.Errorf("%d submissions are shown, want 2", n)
	}
}

func TestQueueOfADeviceIsBounded(t *testing.T) {
	r := newRig(t)
	r.start()
	for i := range openPerDevice {
		r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan(fmt.Sprintf("wf_%d", i), 0))
	}
	p := r.must(http.StatusTooManyRequests, "POST", "/v1/devices/rb-1/plans", rawPlan("wf_more", 0))
	want(t, p, "code", "queue_full")
	if status, _ := r.call("GET", "/v1/workflows/wf_more", ""); status != http.StatusNotFound {
		t.Error("a plan that found no room left a workflow")
	}
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-2/plans", rawPlan("wf_other", 0))
}

func TestIdempotencyKey(t *testing.T) {
	r := newRig(t)
	r.start()
	say := func(text string) (int, object) {
		req := r.request("POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"`+text+`"}`)
		req.Header.Set("Idempotency-Key", "k1")
		return r.send(req)
	}
	_, first := say("go")
	_, again := say("go")
	want(t, again, "turn_id", first["turn_id"])
	want(t, again, "workflow_id", first["workflow_id"])
	status, p := say("go elsewhere")
	if status != http.StatusConflict {
		t.Errorf("another request under the key answered %d", status)
	}
	want(t, p, "code", "key_reused")
	want(t, r.get("/v1/devices/rb-1"), "unanswered", 1)
}

func TestHTTPRefusals(t *testing.T) {
	r := newRig(t)
	r.start()
	turn := `{"device_id":"rb-1","recognized_text":"go"}`
	for _, tc := range []struct {
		name, method, path, body string
		edit                     func(*http.Request)
		status                   int
		code                     string
	}{
		{"unknown path", "GET", "/v1/nothing", "", nil, 404, "not_found"},
		{"wrong method", "DELETE", "/v1/turns", "", nil, 405, "method_not_allowed"},
		{"unknown workflow", "GET", "/v1/workflows/none", "", nil, 404, "not_found"},
		{"unknown turn", "GET", "/v1/turns/none", "", nil, 404, "not_found"},
		{"unknown device", "GET", "/v1/devices/none", "", nil, 404, "not_found"},
		{"cancel of an unknown workflow", "POST", "/v1/workflows/none/cancel", "{}", nil, 404, "not_found"},
		{"unknown experience", "GET", "/v1/experiences/none", "", nil, 404, "not_found"},
		{"experience with a bad id", "GET", "/v1/experiences/a%20b", "", nil, 400, "bad_id"},
		{"id with a space", "GET", "/v1/devices/a%20b", "", nil, 400, "bad_id"},
		{"unknown field", "POST", "/v1/turns", `{"device_id":"rb-1","recognised_text":"go"}`, nil, 400, "malformed"},
		{"two values", "POST", "/v1/turns", turn + turn, nil, 400, "malformed"},
		{"no words", "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"  "}`, nil, 422, "bad_turn"},
		{"topic wildcard as device", "POST", "/v1/turns", `{"device_id":"+","recognized_text":"go"}`, nil, 422, "bad_turn"},
		{"unknown locale", "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"go","locale":"xx"}`, nil, 422, "bad_turn"},
		{"planner has no idea", "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"fail"}`, nil, 422, "cannot_plan"},
		{"turn too large", "POST", "/v1/turns", `"` + strings.Repeat("a", turnBytes) + `"`, nil, 413, "too_large"},
		{"plan too large", "POST", "/v1/devices/rb-1/plans", `"` + strings.Repeat("a", planBytes) + `"`, nil, 413, "too_large"},
		{"plan that leaves its frame", "POST", "/v1/devices/rb-1/plans", `{},"type":"control"`, nil, 400, "malformed"},
		{"check is no flag", "POST", "/v1/devices/rb-1/plans?check=no", rawPlan("w", 0), nil, 400, "bad_query"},
		{"form", "POST", "/v1/turns", turn, func(q *http.Request) { q.Header.Set("Content-Type", "text/plain") }, 415, "not_json"},
		{"foreign name for this machine", "POST", "/v1/turns", turn, func(q *http.Request) { q.Host = "evil.example" }, 403, "foreign_host"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := r.request(tc.method, tc.path, tc.body)
			if tc.edit != nil {
				tc.edit(req)
			}
			status, p := r.send(req)
			if status != tc.status || p["code"] != tc.code || p["title"] == "" || p["type"] != "urn:deviceagent:problem:"+tc.code {
				t.Errorf("answered %d %v, want %d %s", status, p, tc.status, tc.code)
			}
		})
	}
	if n := len(r.get("/v1/devices")["devices"].([]any)); n != 0 {
		t.Errorf("refused requests left %d devices", n)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	r := newRig(t)
	r.start()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	go func() { // the server closes while this is written
		_, _ = fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: %s\r\n\r\n", strings.Repeat("a", 64<<10))
	}()
	answer, _ := io.ReadAll(c)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 431") {
		t.Errorf("answered %.40q, want 431", answer)
	}
}

func TestToken(t *testing.T) {
	r := newRig(t)
	r.token = "s3cret"
	r.start()
	for _, tc := range []struct {
		path, auth string
		status     int
	}{
		{"/v1/devices", "", 401}, {"/v1/experiences/exp_1", "", 401}, {"/v1/devices", "Bearer wrong", 401}, {"/v1/devices", "s3cret", 401},
		{"/v1/devices", "Bearer s3cret", 200}, {"/healthz", "", 200}, {"/openapi.json", "", 200},
	} {
		req := r.request("GET", tc.path, "")
		req.Header.Set("Authorization", tc.auth)
		if status, _ := r.send(req); status != tc.status {
			t.Errorf("GET %s with %q answered %d, want %d", tc.path, tc.auth, status, tc.status)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", r.token, r.token, r.token); strings.Contains(text, "s3cret") {
		t.Errorf("the token prints as %s", text)
	}
}

type openListener struct{ net.Listener }

func (openListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 8088} }

func TestRefusesToStartOpen(t *testing.T) {
	opt := Options{Planner: canned{}, Compile: compileCanned, Store: &cutStore{}, HTTP: openListener{},
		Dial: func(context.Context) (net.Conn, error) { return nil, net.ErrClosed }}
	if _, err := New(opt); err == nil || !strings.Contains(err.Error(), "needs a token") {
		t.Errorf("New on 0.0.0.0 without token: %v", err)
	}
	var log lockedBuffer
	opt.Token, opt.Log = "t", zerolog.New(&log)
	if _, err := New(opt); err != nil || !strings.Contains(log.String(), "in clear") {
		t.Errorf("New on 0.0.0.0 with a token: %v, the log says %q", err, log.String())
	}
	opt.Token, opt.TLS = "", TLSFiles{Cert: "c", Key: "k"} // TLS alone keeps nobody out
	if _, err := New(opt); err == nil || !strings.Contains(err.Error(), "needs a token") {
		t.Errorf("New on 0.0.0.0 with a certificate of its own only: %v", err)
	}
	if _, err := New(Options{}); err == nil || strings.Count(err.Error(), "is missing") != 5 {
		t.Errorf("New without options: %v", err)
	}
}

func TestEveryRouteIsInTheDocument(t *testing.T) {
	var doc struct {
		OpenAPI string                               `json:"openapi"`
		Paths   map[string]map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(openapi, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("version %q", doc.OpenAPI)
	}
	var served, written []string
	for _, r := range (&Server{}).routes() {
		served = append(served, r.method+" "+r.path)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			written = append(written, strings.ToUpper(method)+" "+path)
			if op["operationId"] == nil || op["responses"] == nil {
				t.Errorf("%s %s has no operationId or no responses", method, path)
			}
		}
	}
	slices.Sort(served)
	slices.Sort(written)
	if !slices.Equal(served, written) {
		t.Errorf("served %v\nwritten %v", served, written)
	}
}

// Who asks a planner that is about to end is told to ask again, not that something is wrong with it.
func TestARequestThatIsCutOffByTheEndIsToBeAskedAgain(t *testing.T) {
	for _, err := range []error{context.Canceled, fmt.Errorf("cannot keep request: %w", context.Canceled), errStopping} {
		if p := problemOf(err); p.Status != http.StatusServiceUnavailable || p.Code != "stopping" {
			t.Errorf("%v: %+v", err, p)
		}
	}
	if p := problemOf(errors.New("disk on fire")); p.Status != http.StatusInternalServerError {
		t.Errorf("%+v", p)
	}
}
