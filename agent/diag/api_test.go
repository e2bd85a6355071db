package diag_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
)

// openAPI is the description, with every object closed: a field that it does not name is a failure here, though readers take it.
type openAPI struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
}

func loadOpenAPI(t *testing.T) *openAPI {
	t.Helper()
	raw, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	closeObjects(doc)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("api.json", doc); err != nil {
		t.Fatal(err)
	}
	return &openAPI{doc: doc.(map[string]any), compiler: c}
}

func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["type"] == "object" && v["properties"] != nil {
			v["additionalProperties"] = false
		}
		for _, sub := range v {
			closeObjects(sub)
		}
	case []any:
		for _, sub := range v {
			closeObjects(sub)
		}
	}
}

// check holds a body against what the description says of a path's answer.
func (o *openAPI) check(t *testing.T, method, path string, resp *http.Response, body []byte) {
	t.Helper()
	escaped := strings.NewReplacer("/", "~1", "{", "%7B", "}", "%7D").Replace(path)
	at := "api.json#/paths/" + escaped + "/" + strings.ToLower(method) + "/responses/200/content/application~1json/schema"
	if resp.StatusCode >= 400 {
		at = "api.json#/components/schemas/Problem"
		if ct := resp.Header.Get("Content-Type"); ct != "application/problem+json" {
			t.Errorf("%s %s: problem as %s", method, path, ct)
		}
	}
	o.validate(t, at, body)
}

func (o *openAPI) validate(t *testing.T, at string, body []byte) {
	t.Helper()
	s, err := o.compiler.Compile(at)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %v\n%s", at, err, body)
	}
}

func TestOpenAPINamesEveryRouteAndNoOther(t *testing.T) {
	o := loadOpenAPI(t)
	described := map[string]bool{}
	for path, item := range o.doc["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	for _, r := range diag.Routes() {
		if !described[r.Method+" "+r.Path] {
			t.Errorf("%s %s is not described", r.Method, r.Path)
		}
		delete(described, r.Method+" "+r.Path)
	}
	for left := range described {
		t.Errorf("%s is described and not served", left)
	}
}

// askingPlan needs a person's word before anything of it begins.
const askingPlan = `{"workflow":{"cloud_workflow_id":"wf_asks","plan_id":"pl_asks","revision":0},"device_task_requests":[{"cloud_step_id":"vital","taskMethod":"startVitalSign"}],
  "experience":{"contract_version":"experience.v1","experience_id":"exp_a","goal_id":"g_a","effects":[{"effect_id":"vital_interaction_ended","step_id":"vital","required":true}],"tier":"full"}}`

// TestEveryRouteAnswersAsDescribed walks all routes in a busy house: a plan that waits for proof, one that waits for the base, one
// that has ended.
func TestEveryRouteAnswersAsDescribed(t *testing.T) {
	o := loadOpenAPI(t)
	r := serve(t, diag.Knobs{})
	r.a.Submit(strings.Replace(movePlan, `"device_task_requests"`, `"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"g_1",
	  "effects":[{"effect_id":"target_location_reached","step_id":"step_1","required":true}],"tier":"full"},"device_task_requests"`, 1))
	r.a.Submit(secondPlan)
	r.a.Submit(strings.NewReplacer("wf_9c20", "wf_9c30", "pl_2", "pl_3", `"revision":0`, `"revision":0,"schedule":{"on":"2026-12-24","at":"18:00","tz":"Asia/Seoul"}`).Replace(secondPlan))
	r.a.Arrive("living_room")
	r.a.Do(core.TaskAnswered{Task: r.a.Last(), Accepted: true, Instance: "run-1"})
	r.a.Submit(askingPlan)
	_, asked := r.raw(r.control, "GET", "/v1/workflows/wf_asks", nil)
	_, question, _ := strings.Cut(string(asked), `"question_id":"`)
	question, _, _ = strings.Cut(question, `"`)
	bodies := map[string]string{
		"/v1/questions/{id}/answer": `{"option":"no"}`,
		"/v1/plans":                 strings.NewReplacer("wf_9c1e", "wf_new", "pl_1", "pl_new").Replace(movePlan),
		"/v1/workflows/{id}/cancel": `{"reason":"customer asked"}`,
		"/v1/cancel":                `{"reason":"customer asked"}`,
		"/v1/workflows/{id}/pause":  `{"reason":"customer asked"}`,
		"/v1/workflows/{id}/resume": `{"reason":"customer asked","holder":"operator"}`,
		"/v1/workflows/{id}/kill":   `{"reason":"customer asked"}`,
		"/v1/pause":                 `{"reason":"customer asked"}`,
		"/v1/resume":                `{"reason":"customer asked"}`,
		"/v1/kill":                  `{"reason":"customer asked"}`,
		"/v1/mode":                  `{"mode":"manual","reason":"brushes"}`,
		"/v1/tier":                  `{"tier":"restricted","reason":"guests"}`,
		"/v1/identity/renew":        `{}`,
		"/v1/identity/certificate":  `{"certificate":"it answers"}`,
		"/v1/factory-reset":         `{"device_id":"rb-7f21","reason":"sold"}`,
		"/v1/erase":                 `{"device_id":"rb-7f21","what":"person_data","reason":"asked for"}`,
	}
	var routes []diag.Route
	for _, rt := range diag.Routes() {
		if strings.HasPrefix(rt.Path, "/v1/questions") { // a cancel of all would withdraw the question
			routes = append([]diag.Route{rt}, routes...)
		} else {
			routes = append(routes, rt)
		}
	}
	for _, rt := range routes {
		if rt.Path == "/v1/watch" {
			continue // TestStream…
		}
		path := strings.NewReplacer("{id}", "wf_9c1e", "{step}", "step_2").Replace(rt.Path)
		if strings.HasPrefix(rt.Path, "/v1/questions") {
			path = strings.Replace(rt.Path, "{id}", question, 1)
		}
		var body io.Reader
		if rt.Control {
			body = strings.NewReader(bodies[rt.Path])
		}
		resp, data := r.raw(r.control, rt.Method, path, body)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %s %s", rt.Method, path, resp.Status, data)
		}
		o.check(t, rt.Method, rt.Path, resp, data)
		if doc := decode[diag.Reply](t, data); doc.AsOf.Seq == 0 || !strings.HasSuffix(doc.AsOf.DeviceTime, "+09:00") || !doc.AsOf.ClockTrusted {
			t.Errorf("%s %s: asOf %+v", rt.Method, path, doc.AsOf)
		}
	}
	for _, path := range []string{"/v1/workflows?all=true", "/v1/workflows/wf_9c1e", "/v1/workflows/wf_9c20/why"} {
		resp, data := r.raw(r.read, "GET", path, nil)
		o.check(t, "GET", strings.NewReplacer("?all=true", "", "wf_9c1e", "{id}", "wf_9c20", "{id}").Replace(path), resp, data)
	}
}

func TestProblems(t *testing.T) {
	o := loadOpenAPI(t)
	r := serve(t, diag.Knobs{})
	r.a.Submit(movePlan)
	r.a.Submit(secondPlan)
	big := strings.Repeat(" ", 257<<10)
	for _, tc := range []struct {
		name, socket, method, path, body string
		status                           int
		code                             string
		exit                             int
	}{
		{"a reader posts a plan", r.read, "POST", "/v1/plans", movePlan, 403, "control_socket_only", 5},
		{"a reader posts a cancel", r.read, "POST", "/v1/workflows/wf_9c1e/cancel", `{"reason":"x"}`, 403, "control_socket_only", 5},
		{"a reader puts anything", r.read, "PUT", "/v1/status", "", 403, "control_socket_only", 5},
		{"no such path", r.read, "GET", "/v1/nope", "", 404, "path_not_found", 1},
		{"no version", r.read, "GET", "/status", "", 404, "path_not_found", 1},
		{"get of a command", r.control, "GET", "/v1/plans", "", 405, "method_not_allowed", 1},
		{"post of a document", r.control, "POST", "/v1/status", "", 405, "method_not_allowed", 1},
		{"no such workflow", r.read, "GET", "/v1/workflows/wf_x", "", 404, "unknown_target", 4},
		{"no such step", r.read, "GET", "/v1/workflows/wf_9c1e/why/step_9", "", 404, "unknown_target", 4},
		{"no such selector", r.read, "GET", "/v1/workflows/@first", "", 404, "unknown_target", 4},
		{"nothing failed", r.read, "GET", "/v1/workflows/@failed", "", 404, "unknown_target", 4},
		{"two begin like it", r.read, "GET", "/v1/workflows/wf_9c", "", 409, "ambiguous_id", 2},
		{"no such key", r.read, "GET", "/v1/context?key=x.y", "", 404, "unknown_target", 4},
		{"watch of nothing", r.read, "GET", "/v1/watch?id=wf_x", "", 404, "unknown_target", 4},
		{"watch from no number", r.read, "GET", "/v1/watch?from=x", "", 422, "bad_value", 2},
		{"cancel by prefix", r.control, "POST", "/v1/workflows/wf_9c1/cancel", `{"reason":"x"}`, 404, "unknown_target", 4},
		{"cancel without a reason", r.control, "POST", "/v1/workflows/wf_9c1e/cancel", `{}`, 422, "bad_value", 2},
		{"cancel with a typo", r.control, "POST", "/v1/workflows/wf_9c1e/cancel", `{"raeson":"x"}`, 422, "malformed", 2},
		{"cancel with more behind it", r.control, "POST", "/v1/workflows/wf_9c1e/cancel", `{"reason":"x"}{"step":"s"}`, 422, "malformed", 2},
		{"cancel with no body", r.control, "POST", "/v1/workflows/wf_9c1e/cancel", "", 422, "malformed", 2},
		{"cancel of all names a step", r.control, "POST", "/v1/cancel", `{"reason":"x","step":"s"}`, 422, "bad_value", 2},
		{"plan is no JSON", r.control, "POST", "/v1/plans", `{"workflow":`, 422, "malformed", 2},
		{"plan reaches out of its member", r.control, "POST", "/v1/plans", `{},"type":"control","body":{}`, 422, "malformed", 2},
		{"plan is a list", r.control, "POST", "/v1/plans", `[]`, 422, "malformed", 2},
		{"plan is too large", r.control, "POST", "/v1/plans", big, 413, "too_large", 2},
		{"dry run of what", r.control, "POST", "/v1/plans?dry_run=perhaps", movePlan, 422, "bad_value", 2},
		{"renew with a typo", r.control, "POST", "/v1/identity/renew", `{"new":true}`, 422, "malformed", 2},
		{"no certificate", r.control, "POST", "/v1/identity/certificate", `{"certificate":"x"}{}`, 422, "malformed", 2},
		{"a certificate that does not fit", r.control, "POST", "/v1/identity/certificate", `{"certificate":"x"}`, 422, "identity_invalid", 2},
		{"a reader resets", r.read, "POST", "/v1/factory-reset", `{"device_id":"rb-7f21"}`, 403, "control_socket_only", 5},
		{"a reset of another robot", r.control, "POST", "/v1/factory-reset", `{"device_id":"rb-0001"}`, 422, "bad_value", 2},
		{"a reset of no robot", r.control, "POST", "/v1/factory-reset", `{}`, 422, "bad_value", 2},
		{"other content", r.control, "POST", "/v1/plans", strings.Replace(movePlan, "20}", "30}", 1), 409, "same_revision_other_content", 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, data := r.raw(tc.socket, tc.method, tc.path, strings.NewReader(tc.body))
			o.check(t, tc.method, tc.path, resp, data)
			p := decode[diag.Problem](t, data)
			if resp.StatusCode != tc.status || p.Status != tc.status || p.Code != tc.code || p.Exit != tc.exit {
				t.Errorf("%s, code %s exit %d, want %d %s %d\n%s", resp.Status, p.Code, p.Exit, tc.status, tc.code, tc.exit, data)
			}
		})
	}
	if got := r.a.Resets(); len(got) != 0 {
		t.Errorf("reset: %q", got)
	}
	if n := len(r.a.Inboxes); n != 2 {
		t.Errorf("%d messages reached the agent, want 2 (the cancel by prefix and the other content)", n)
	}
}

func TestSubmitNamesEveryFaultRelativeToThePlan(t *testing.T) {
	r := serve(t, diag.Knobs{})
	plan := `{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},"device_task_requests":[
	 {"cloud_step_id":"a","taskMethod":"flyTo","params":{}},
	 {"cloud_step_id":"b","taskMethod":"setMoveTo","params":{"position":"달"},"depends_on":["z"]}]}`
	for _, query := range []string{"", "?dry_run=true"} {
		_, data := r.raw(r.control, "POST", "/v1/plans"+query, strings.NewReader(plan))
		p := decode[diag.Problem](t, data)
		var paths []string
		for _, f := range p.Errors {
			paths = append(paths, f.Path+" "+string(f.Reason))
			if f.Message == "" {
				t.Errorf("fault without a message: %+v", f)
			}
		}
		got := strings.Join(paths, "; ")
		want := "device_task_requests[0].taskMethod unknown_method; device_task_requests[1].depends_on[0] unknown_step; device_task_requests[1].params.position unknown_location"
		if got != want || p.Exit != 2 || p.Status != 422 {
			t.Errorf("%s: %d exit %d\n got %s\nwant %s", query, p.Status, p.Exit, got, want)
		}
	}
}

func TestSubmitWrapsThePlanAndLogsWhoSentIt(t *testing.T) {
	r := serve(t, diag.Knobs{})
	_, data := r.raw(r.control, "POST", "/v1/plans?dry_run=true", strings.NewReader(movePlan))
	if ans := decode[struct{ Data diag.Answer }](t, data).Data; !ans.Accepted || !ans.DryRun || len(r.a.Inboxes) != 0 {
		t.Errorf("dry run: %+v, %d messages reached the agent", ans, len(r.a.Inboxes))
	}
	_, data = r.raw(r.control, "POST", "/v1/plans", strings.NewReader(movePlan))
	ans := decode[struct{ Data diag.Answer }](t, data).Data
	if !ans.Accepted || ans.Workflow != "wf_9c1e" || ans.PlanID != "pl_1" || ans.State == "" {
		t.Fatalf("%s", data)
	}
	env := decode[map[string]any](t, r.a.Inboxes[0])
	if env["type"] != "plan" || env["device_id"] != "rb-7f21" || env["id"] != ans.Message || len(ans.Message) != 36 || ans.Message[14] != '7' {
		t.Errorf("envelope %v", env)
	}
	_, data = r.raw(r.control, "POST", "/v1/workflows/wf_9c1e/cancel", strings.NewReader(`{"reason":"customer asked","step":"step_2"}`))
	if ans := decode[struct{ Data diag.Answer }](t, data).Data; ans.State != "cancelled" {
		t.Errorf("cancel of a step: %s", data)
	}
	if msg := string(r.a.Inboxes[1]); !strings.Contains(msg, `"scope":"step","target":"wf_9c1e/step_2"`) {
		t.Errorf("cancel of a step: %s", msg)
	}
	_, data = r.raw(r.control, "POST", "/v1/workflows/wf_9c1e/cancel", strings.NewReader(`{"reason":"customer asked"}`))
	if ans := decode[struct{ Data diag.Answer }](t, data).Data; ans.State != "cancelling" || len(ans.Stopping) != 1 || ans.Stopping[0] != "base" {
		t.Errorf("cancel: %s", data)
	}
	by := decode[struct {
		Body struct {
			RequestedBy string `json:"requested_by"`
		}
	}](t, r.a.Inboxes[2])
	uid := json.Number(itoa(os.Getuid()))
	if by.Body.RequestedBy != "operator uid "+uid.String() {
		t.Errorf("requested_by %q", by.Body.RequestedBy)
	}
	for _, want := range []string{`"command":"plan"`, `"command":"cancel step"`, `"command":"cancel workflow"`, `"uid":` + uid.String(), `"dry_run":true`} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not have %s:\n%s", want, r.log)
		}
	}
}

func TestDeniedNamesTheGroupOrTheDirectory(t *testing.T) {
	path := t.TempDir() + "/diag.sock"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	gid := os.Getgid()
	if gid == 0 {
		gid = 1 // root's group is never recommended
		if err := os.Chown(path, -1, gid); err != nil {
			t.Fatal(err)
		}
	}
	group := itoa(gid)
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	for mode, want := range map[os.FileMode]string{0o660: "sudo usermod -aG " + group + " kim, then log in again", 0o600: "ls -ld "} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if p := diag.Denied(path, "kim"); p.Exit != diag.ExitPermission || !strings.HasPrefix(p.Hint, want) {
			t.Errorf("mode %o: %+v", mode, p)
		}
	}
	if p := diag.Denied(path+"x", "kim"); p.Detail == "" || p.Hint == "" {
		t.Errorf("%+v", p)
	}
}

// A plan all of whose steps have ended may still keep an effect: then that is what it waits for.
func TestAPlanThatKeepsAnEffectSaysSo(t *testing.T) {
	r := serve(t, diag.Knobs{})
	r.a.Submit(`{"workflow":{"cloud_workflow_id":"wf_k","plan_id":"pl_k","revision":0,"deadline_ms":600000},"device_task_requests":[
	  {"cloud_step_id":"clean","taskMethod":"startBasicAirClear","required_effects":[{"effect_id":"air_cleaning_active","kind":"maintain","until":"voice.session_ended"}]}]}`)
	task := r.a.Last()
	r.a.Do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.a.Do(core.Observed{Event: "cleaning.started", Task: task, Source: "home"})
	if got := string(r.get("/v1/workflows/wf_k")); !strings.Contains(got, "air_cleaning_active is to be kept until voice.session_ended is received") {
		t.Errorf("the plan says %s", got)
	}
	r.a.Do(core.Observed{Event: "voice.session_ended", Source: "home"})
	why := decode[diag.WhyDocument](t, decode[diag.Reply](t, r.get("/v1/workflows/wf_k/why")).Data)
	if f := why.Steps[0].Facts; !slices.ContainsFunc(f, func(f diag.Fact) bool { return f.Kind == "time" && f.LeftMS != nil && *f.LeftMS > 0 }) {
		t.Errorf("why says %+v", f)
	}
}
