package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"deviceagent/testbed/authority"
)

// programs are the real programs beside the agent, made once.
var programs = sync.OnceValues(func() (string, error) {
	agent, err := built()
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(agent) // goes with it
	out, err := exec.Command("go", "build", "-o", dir, "../deviceagentctl", "../plannerd", "../testbed").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot build the programs: %w: %s", err, out)
	}
	return dir, nil
})

// patience bounds every wait of this test: a machine may be slow.
const patience = 90 * time.Second

// cloud is a real broker with the configuration and the access list that we ship, and a real planner.
type cloud struct {
	*robot
	bin    string
	port   string
	broker *exec.Cmd
	http   string
}

func (c *cloud) until(what string, is func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if is() {
			return
		}
	}
	c.t.Fatalf("in vain waited for: %s", what)
}

func (c *cloud) write(name string, text []byte) string {
	c.t.Helper()
	if err := os.WriteFile(c.at(name), text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return c.at(name)
}

// trust lets the broker believe an authority's clients, and the planner be one of them.
func (c *cloud) trust(a *authority.Authority) {
	c.t.Helper()
	cert, key, err := a.Client("planner")
	if err != nil {
		c.t.Fatal(err)
	}
	c.write("deviceagent-ca.crt", a.PEM)
	c.write("planner.crt", cert)
	c.write("planner.key", key)
}

func (c *cloud) startBroker() {
	c.t.Helper()
	path, err := exec.LookPath("mosquitto")
	if err != nil {
		path = "/usr/sbin/mosquitto" // not in the PATH of ordinary users on Debian
	}
	if _, err := os.Stat(path); err != nil {
		c.t.Fatal("mosquitto is not installed: this test needs the broker (make tools; on Debian: apt-get install mosquitto)")
	}
	c.broker = exec.Command(path, "-c", c.at("mosquitto.conf"))
	if err := c.broker.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.until("the broker", func() bool {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+c.port, time.Second)
		return err == nil && conn.Close() == nil
	})
}

func (c *cloud) stopBroker() {
	_ = c.broker.Process.Kill()
	_ = c.broker.Wait()
}

func newCloud(t *testing.T, r *robot, a *authority.Authority) *cloud {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(probe.Addr().String())
	_ = probe.Close()
	c := &cloud{robot: r, bin: bin, port: port}
	cert, key, err := a.Broker()
	if err != nil {
		t.Fatal(err)
	}
	c.write("broker.crt", cert)
	c.write("broker.key", key)
	c.trust(a)
	for _, name := range []string{"deviceagent.acl", "deviceagent.conf"} {
		text, err := os.ReadFile("../../packaging/mosquitto/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "deviceagent.conf" { // only paths, address and, as tests run as root, the user are changed
			text = []byte(strings.NewReplacer("/etc/mosquitto/certs", r.dir, "/etc/mosquitto", r.dir, "listener 8883", "listener "+port+" 127.0.0.1").Replace(string(text)) +
				"user root\npersistence_location " + r.dir + "/\n")
			name = "mosquitto.conf"
		}
		c.write(name, text)
	}
	c.startBroker()
	t.Cleanup(func() { c.stopBroker() })
	c.startPlanner()
	return c
}

// signingKey is the planner's; trusted.pem is its public half.
func (c *cloud) signingKey() string {
	c.t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	own, err := x509.MarshalPKCS8PrivateKey(private)
	open, err2 := x509.MarshalPKIXPublicKey(public)
	if err := errors.Join(err, err2); err != nil {
		c.t.Fatal(err)
	}
	c.write("trusted.pem", authority.Block("PUBLIC KEY", open))
	return c.write("signing.pem", authority.Block("PRIVATE KEY", own))
}

func (c *cloud) startPlanner() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "plannerd"), "--listen", "127.0.0.1:0", "--db", c.at("planner.db"), "--broker", "mqtts://127.0.0.1:"+c.port,
		"--broker-ca", c.at("server-ca.crt"), "--broker-cert", c.at("planner.crt"), "--broker-key", c.at("planner.key"), "--signing-key", c.signingKey(), "--log-level", "warn")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	read, write := io.Pipe()
	cmd.Stdout = write
	done := make(chan struct{})
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { defer close(done); _ = cmd.Wait(); _ = write.Close() }()
	c.t.Cleanup(func() { cancel(); <-done })
	line := make([]byte, 256)
	n, err := read.Read(line)
	fields := strings.Fields(string(line[:n]))
	if err != nil || len(fields) != 3 {
		c.t.Fatalf("the planner says %q: %v", line[:n], err)
	}
	c.http = "http://" + strings.TrimPrefix(fields[1], "http=")
	go func() { _, _ = io.Copy(io.Discard, read) }()
}

// call asks the planner.
func (c *cloud) call(method, path, body string, into any) error {
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.http+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return json.Unmarshal(text, into)
}

func (c *cloud) online() bool {
	var d struct{ Link, StoreEpoch string }
	return c.call("GET", "/v1/devices/rb-factory", "", &d) == nil && d.Link == "online"
}

// say gives the id of the plan that becomes of words.
func (c *cloud) sentence(text string) string {
	c.t.Helper()
	body, err := json.Marshal(map[string]string{"device_id": "rb-factory", "recognized_text": text})
	if err != nil {
		c.t.Fatal(err)
	}
	var turn struct {
		WorkflowID string `json:"workflow_id"`
	}
	if err := c.call("POST", "/v1/turns", string(body), &turn); err != nil || turn.WorkflowID == "" {
		c.t.Fatalf("%q became no plan: %v", text, err)
	}
	return turn.WorkflowID
}

// status is how the planner says that a plan ended; "": it has not.
func (c *cloud) ended(workflow string) string {
	var w struct {
		Status string `json:"status"`
	}
	if err := c.call("GET", "/v1/workflows/"+workflow, "", &w); err != nil {
		c.t.Fatal(err)
	}
	return w.Status
}

// ctl runs the field tool and gives what it prints.
func (c *cloud) ctl(args ...string) string {
	c.t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, "deviceagentctl"), args...)
	cmd.Env = append(os.Environ(), "DEVICEAGENT_SOCKET="+c.at("diag.sock"), "DEVICEAGENT_STATE_DIR="+c.at("state"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("deviceagentctl %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// certified has a request signed and puts the certificate in place.
func (c *cloud) certified(a *authority.Authority, request string, args ...string) {
	c.t.Helper()
	cert, err := a.Sign(request, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.ctl(append([]string{"provision", "--certificate", c.write("device.pem", cert)}, args...)...)
}

// body starts the simulated robot, which registers with each agent that comes.
func (c *cloud) body() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "testbed"), "robot", "--socket", c.at("executor.sock"), "--speed", "20", "--log", c.at("robot.log"))
	stdin, err := cmd.StdinPipe() // its end would be the robot's
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { cancel(); _ = stdin.Close(); _ = cmd.Wait() })
	c.ctl("executors", "--wait", "home", "--timeout", patience.String())
}

// did says whether the robot's own log has a kind of line.
func (c *cloud) did(kind string) bool {
	text, err := os.ReadFile(c.at("robot.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	return strings.Contains(string(text), `"`+kind+`"`)
}

// From the factory and back: a robot without a name gets its identity, is online at a real planner through a real broker with the shipped
// access list, works, gets a new certificate while it runs, is reset while it works, and begins anew. What it said and what it was stays nowhere.
func TestProvisionRenewResetAndBeginAgain(t *testing.T) {
	first, second := newMaker(t, "maker"), newMaker(t, "maker-2")
	r := newRobot(t)
	c := &cloud{robot: r}
	c.write("server-ca.crt", first.PEM)
	c = newCloud(t, r, first)
	c.write("agent.toml", fmt.Appendf(nil, "state_dir = %q\nrun_dir = %q\n[time]\nassume_synced = true\n[firmware]\nbus = \"off\"\n", r.at("state"), r.dir))

	// Without a name there is no start; with its identity there is one.
	if end := r.start(io.Discard, "").end(); end.ExitStatus() != exitUsage {
		t.Fatalf("an agent without a name: exit %d", end.ExitStatus())
	}
	provision := func(by *authority.Authority, args ...string) {
		t.Helper()
		request := c.ctl(append([]string{"provision", "--device-id", "rb-factory", "--broker", "mqtts://127.0.0.1:" + c.port, "--ca", r.at("server-ca.crt"), "--trusted-keys", r.at("trusted.pem")}, args...)...)
		c.certified(by, request, "--issuer", c.write("issuer.pem", by.PEM))
	}
	provision(first)
	agent := r.start(io.Discard, "")
	r.hear("READY=1")
	c.until("the robot to be online", c.online)
	c.body()
	done := c.sentence("거실로 가")
	c.until("the plan to be done", func() bool { return c.ended(done) == "completed" })

	// A renewal while it runs: the broker comes back and believes the second authority alone.
	renewed := c.ctl("provision", "--renew")
	if !c.online() {
		t.Error("asking for a certificate took the robot off")
	}
	c.certified(second, renewed, "--issuer", c.write("second.pem", second.PEM))
	c.stopBroker()
	c.trust(second)
	c.until("the robot to be offline", func() bool { return !c.online() || c.link() != "online" })
	c.startBroker()
	c.until("the robot to be online by its new certificate", func() bool { return c.link() == "online" && c.online() })

	// The reset, in the middle of work.
	before := r.epoch()
	const words = "거실로 가서 60분 청정해"
	open := c.sentence(words)
	c.until("the robot to clean", func() bool { return c.did("cleaning_start") })
	if len(r.traces(words)) == 0 {
		t.Fatal("what was said is not on the disk: nothing is tried here")
	}
	c.ctl("factory-reset", "--yes", "--reason", "sold")
	if end := agent.end(); end.ExitStatus() != exitOK {
		t.Fatalf("exit %d", end.ExitStatus())
	}
	if !c.did("cleaning_end") {
		t.Error("the agent ended, and the robot cleans on")
	}
	agent = r.start(io.Discard, "") // as systemd does
	r.hear("READY=1")
	if link := c.link(); link != "not configured" {
		t.Errorf("the link is %q", link)
	}
	if found := r.traces(words); len(found) > 0 || r.epoch() == before {
		t.Errorf("what was said is in %v; epoch %s, it was %s", found, r.epoch(), before)
	}
	agent.signal(syscall.SIGTERM)
	agent.end()

	// And anew, with the authority of then; and from now on it believes what is signed, and nothing else.
	provision(second, "--require-signed")
	r.start(io.Discard, "")
	r.hear("READY=1")
	c.until("the robot to be online again", func() bool { return c.link() == "online" && c.online() })
	c.until("the planner to hold nothing open of before", func() bool { return c.ended(open) != "" })
	again := c.sentence("안방으로 가")
	c.until("a plan of the new life to be done", func() bool { return c.ended(again) == "completed" })
}

func newMaker(t *testing.T, name string) *authority.Authority {
	t.Helper()
	a, err := authority.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// link is the state of the link, as the agent says it.
func (r *robot) link() string {
	reply, err := r.client().Get(r.t.Context(), "/status", nil)
	if err != nil {
		return "no answer"
	}
	var s struct {
		Link struct {
			State string `json:"state"`
		} `json:"link"`
	}
	if err := json.Unmarshal(reply.Data, &s); err != nil {
		r.t.Fatal(err)
	}
	return s.Link.State
}
