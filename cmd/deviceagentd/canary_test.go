package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/testbed/mosquitto"
)

// kept collects what a program writes.
type kept struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.b.Write(p)
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.b.String()
}

// Secrets and words are planted in the real programs, which then work and run into faults; afterwards they are looked for in all that the
// programs say: logs at the finest level, every document, the bundle, what goes over the broker.
func TestCanariesAreNowhere(t *testing.T) {
	const password, token, words = "canary-pa55word-7f3e", "canary-t0ken-91ab", "카나리아 비밀 얘기"
	r := newRobot(t)
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	b, err := mosquitto.Start(t.TempDir(), func(port string) string {
		return "listener " + port + " 127.0.0.1\nallow_anonymous true\npersistence false\n"
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Kill)
	c := &cloud{robot: r, bin: bin}
	signing := c.signingKey()
	secretKey := pemLines(t, signing)
	c.write("password", []byte(password+"\n"))
	c.write("token", []byte(token+"\n"))

	var over kept // everything that a stranger on the broker sees
	spy := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://" + b.Addr).SetClientID("spy").SetUsername("spy"))
	if tok := spy.Connect(); !tok.WaitTimeout(patience) || tok.Error() != nil {
		t.Fatal(tok.Error())
	}
	t.Cleanup(func() { spy.Disconnect(0) })
	if tok := spy.Subscribe("deviceagent/v1/+/up/#", 1, func(_ mqtt.Client, m mqtt.Message) { _, _ = over.Write(m.Payload()) }); !tok.WaitTimeout(patience) {
		t.Fatal("no subscription")
	}

	planner := exec.Command(filepath.Join(bin, "plannerd"), "--listen", "127.0.0.1:0", "--db", c.at("planner.db"), "--broker", "mqtt://"+b.Addr, "--token-file", c.at("token"),
		"--signing-key", signing, "--log-level", "debug")
	var plannerLog kept
	planner.Stdout, planner.Stderr = &plannerLog, &plannerLog
	if err := planner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = planner.Process.Signal(syscall.SIGTERM); _ = planner.Wait() })
	c.until("the planner", func() bool { return strings.Contains(plannerLog.String(), "http=") })
	_, rest, _ := strings.Cut(plannerLog.String(), "http=")
	url := "http://" + strings.Fields(rest)[0]

	settings := fmt.Sprintf("device_id = \"rb-canary\"\nstate_dir = %q\nrun_dir = %q\nrequire_signed = true\ntrusted_keys_file = %q\n[broker]\nurl = \"mqtt://%s\"\npassword_file = %q\n"+
		"[log]\nlevel = \"debug\"\n[time]\nassume_synced = true\n[firmware]\nbus = \"off\"\n", r.at("state"), r.dir, r.at("trusted.pem"), b.Addr, r.at("password"))
	c.write("agent.toml", []byte(settings))
	var agentLog kept
	p := r.start(&agentLog, "")
	asked := func(method, path, body, bearer string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+bearer)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	c.until("the robot online", func() bool {
		_, text := asked("GET", "/v1/devices/rb-canary", "", token)
		return strings.Contains(text, `"online"`)
	})
	c.body()
	plan := `{"workflow":{"cloud_workflow_id":"wf_canary","plan_id":"pl_canary","revision":0,"origin":{"utterance":"` + words + `"}},"device_task_requests":[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"주방"}}]}`
	if status, text := asked("POST", "/v1/devices/rb-canary/plans", plan, token); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, text)
	}
	c.until("the plan done", func() bool {
		_, text := asked("GET", "/v1/workflows/wf_canary", "", token)
		return strings.Contains(text, `"status":"completed"`)
	})

	// Faults: a wrong token, an unsigned message, a password that cannot be read any more, a broker that goes and comes.
	var documents strings.Builder
	for _, bearer := range []string{"wrong", token} {
		for _, path := range []string{"/v1/devices", "/v1/devices/rb-canary", "/v1/workflows/nope", "/readyz", "/healthz", "/openapi.json"} {
			_, text := asked("GET", path, "", bearer)
			documents.WriteString(text)
		}
	}
	spy.Publish("deviceagent/v1/rb-canary/down/plan", 1, false, []byte(plan))
	if err := os.Chmod(c.at("password"), 0); err == nil {
		_ = os.Rename(c.at("password"), c.at("gone"))
	}
	b.Kill()
	c.until("the loss seen", func() bool { return !strings.Contains(r.status(), `"online"`) })
	_ = os.Rename(c.at("gone"), c.at("password"))
	_ = os.Chmod(c.at("password"), 0o600)
	for _, args := range [][]string{{"status"}, {"ps", "--all"}, {"show", "wf_canary"}, {"config", "show"}, {"context"}, {"executors"}, {"version"}, {"schedules"}} {
		documents.WriteString(c.ctl(append(args, "-o", "json")...))
	}
	if !strings.Contains(documents.String(), words) {
		t.Error("the plan's words are in no document: this test could not find them anywhere")
	}
	bundle := unpacked(t, strings.TrimSpace(c.ctl("bundle", "--dir", t.TempDir())))
	for what, text := range map[string]string{"the agent's log": agentLog.String(), "the planner's log": plannerLog.String(), "the documents": documents.String(), "the bundle": bundle, "what goes up": over.String()} {
		if !strings.Contains(text, "rb-canary") && what != "the planner's log" {
			t.Errorf("%s: has nothing of the robot, so it shows nothing", what)
		}
		for _, secret := range append([]string{password, token}, secretKey...) {
			if strings.Contains(text, secret) {
				t.Errorf("%s: has the secret %q", what, secret)
			}
		}
		if what != "the documents" && strings.Contains(text, words) {
			t.Errorf("%s: has what was said", what)
		}
	}
	with := unpacked(t, strings.TrimSpace(c.ctl("bundle", "--with-person-data", "--dir", t.TempDir())))
	if !strings.Contains(with, words) || strings.Contains(with, password) {
		t.Error("a bundle with person data: has no words, or a secret")
	}

	// Somebody wants it gone.
	c.ctl("erase", "--person-data", "--yes")
	if left := r.traces(words); len(left) > 0 {
		t.Errorf("erased, and still in %v", left)
	}
	// What has ended has ended, also for a revision that comes after, and over a restart.
	revised := strings.NewReplacer(`"revision":0`, `"revision":1`, `"go"`, `"again"`).Replace(plan)
	for _, when := range []string{"at once", "after a restart"} {
		if rep, err := r.client().Post(t.Context(), "/plans", nil, []byte(revised)); err == nil || !strings.Contains(err.Error(), "ended") {
			t.Errorf("%s: a revision of what was erased: %s %v", when, rep.Data, err)
		}
		if when == "at once" {
			p.signal(syscall.SIGTERM)
			p.end()
			r.start(&agentLog, "")
			c.ctl("status", "--wait", "--timeout", patience.String())
		}
	}
	if text := c.ctl("ps", "--all"); strings.Contains(text, words) {
		t.Errorf("erased, and still told:\n%s", text)
	}
}

func pemLines(t *testing.T, path string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-----") {
			out = append(out, line)
		}
	}
	return out
}

// unpacked reads all of a bundle. F63: no name in it leads anywhere but below one folder, and it is for its owner only.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsLocal(h.Name) || h.Typeflag != tar.TypeReg || strings.Count(h.Name, "/") > 2 {
			t.Errorf("in the bundle: %q of type %c", h.Name, h.Typeflag)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "== %s\n%s\n", h.Name, text)
	}
}
