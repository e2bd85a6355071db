package firmware

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"

	busfiles "deviceagent/packaging/dbus"
)

// The users and groups of these tests. A bus asks the system's files for each user's groups and lets nobody in whom they do not know, so
// three users play who are on every Debian, each in the group of its name.
const (
	readUser     = "daemon"
	controlUser  = "bin"
	strangerUser = "nobody"
)

// playing gives the numbers of a user.
func playing(t *testing.T, name string) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatalf("this test plays the user %s: %v", name, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// needRoot: only root can play other users.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test plays other users on a bus: run it as root (sudo -E env PATH=$PATH go test ./agent/firmware)")
	}
}

// installed is a bus policy as on a robot: closed but for its own matters, with our file in it. Users and groups are others, since the
// machine of a test has none of ours; the names are tested where the package is installed.
func installed(t *testing.T) string {
	t.Helper()
	text := busfiles.Agent1Policy
	for name, other := range map[string]string{`user="deviceagent"`: "root", `group="deviceagent-read"`: readUser, `group="deviceagent-control"`: controlUser} {
		if !strings.Contains(text, name) {
			t.Fatalf("the policy has no %s", name)
		}
		word, _, _ := strings.Cut(name, "=")
		text = strings.ReplaceAll(text, name, word+`="`+other+`"`)
	}
	begin, end := strings.Index(text, "<busconfig>"), strings.Index(text, "</busconfig>")
	return `<policy context="default"><allow user="*"/><deny own="*"/><deny send_type="method_call"/>
<allow send_type="signal"/><allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/>
<allow receive_type="method_call"/><allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
<allow send_destination="org.freedesktop.DBus"/></policy>` + text[begin+len("<busconfig>"):end]
}

// as calls a method as another user, by a program that is not ours, and gives what that prints.
func (d *daemon) as(t *testing.T, who string, what ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "dbus-send", append([]string{"--bus=" + d.address, "--print-reply", "--dest=" + Name, string(Path)}, what...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: playing(t, who)}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("dbus-send is needed (Debian: apt-get install dbus): %v", err)
	}
	return string(out), err
}

// calls are one of each kind that a caller may try.
var calls = []struct {
	name string
	need role
	what []string
}{
	{"status", reader, []string{Interface + ".Status"}},
	{"may restart", reader, []string{Interface + ".MayRestart"}},
	{"a property", reader, []string{properties + ".Get", "string:" + Interface, "string:Mode"}},
	{"all properties", reader, []string{properties + ".GetAll", "string:" + Interface}},
	{"introspection", reader, []string{busName + ".Introspectable.Introspect"}},
	{"submit", control, []string{Interface + ".Submit", "string:{}"}},
	{"cancel", control, []string{Interface + ".Cancel", "string:all", "string:", "string:test"}},
	{"hold", control, []string{Interface + ".Hold", "string:pui", "string:test"}},
	{"release", control, []string{Interface + ".Release", "string:pui"}},
	{"answer", control, []string{Interface + ".Answer", "string:q", "string:cancel"}},
	{"busy", control, []string{Interface + ".Busy", "string:test", "uint32:1"}},
	{"announce a restart", control, []string{Interface + ".PrepareRestart", "string:test", "uint32:1"}},
	{"call a restart off", control, []string{Interface + ".CallOffRestart"}},
	{"done", control, []string{Interface + ".Done", "string:x"}},
	{"reset of another robot", control, []string{Interface + ".FactoryReset", "string:x", "string:test"}},
}

// Two walls keep out who is in neither group: the bus by the installed policy, and the agent itself where the policy lets everybody in.
func TestWhoIsInNeitherGroupIsRefusedTwice(t *testing.T) {
	needRoot(t)
	for _, wall := range []struct{ name, policy, says string }{
		{"by the bus", installed(t), "Rejected send message"},
		{"by the agent, where the policy is lax", lax, "neither of the groups"},
	} {
		t.Run(wall.name, func(t *testing.T) {
			d := startDaemon(t, wall.policy)
			r := serve(t, d, func(o *Options) {
				o.Read, o.Control = readUser, controlUser
			})
			r.join()
			for _, who := range []struct {
				name string
				may  role
			}{{strangerUser, nobody}, {readUser, reader}, {controlUser, control}} {
				for _, c := range calls {
					out, err := d.as(t, who.name, c.what...)
					refused := err != nil && strings.Contains(out, "AccessDenied")
					if refused != (who.may < c.need) || refused && !strings.Contains(out, wall.says) {
						t.Errorf("%s, %s: %s", who.name, c.name, strings.TrimSpace(out))
					}
				}
			}
			if n := len(r.home.messages()); n != 2 { // the operator's plan and cancel; its question was none
				t.Errorf("the agent's door took %d messages", n)
			}
		})
	}
}

// Each method of the interface asks who calls, whatever else it does: none was forgotten.
func TestEveryMethodAsksWhoCalls(t *testing.T) {
	r := serve(t, startDaemon(t, lax), func(o *Options) { o.strict = true })
	g := r.join()
	in := map[string][]any{"Status": nil, "Submit": args(movePlan), "Cancel": args("all", "", "test"), "Hold": args("pui", "test"), "Release": args("pui"),
		"Answer": args("q", "cancel"), "ReportEvent": args("pui.paused", map[string]godbus.Variant{}), "MayRestart": nil, "Busy": args("test", uint32(1)), "Done": args("x"),
		"PrepareRestart": args("test", uint32(1)), "CallOffRestart": nil, "FactoryReset": args("rb-7f21", "test")}
	typ := reflect.TypeFor[exported]()
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		if _, ok := in[name]; !ok {
			t.Errorf("%s is not tried here", name)
		}
		if fail := g.asks(name, in[name]); fail != busError+"AccessDenied" {
			t.Errorf("%s answers %q", name, fail)
		}
	}
	for method, in := range map[string][]any{properties + ".Get": args(Interface, "Mode"), properties + ".GetAll": args(Interface), busName + ".Introspectable.Introspect": nil} {
		if fail := g.asks(method, in); fail != busError+"AccessDenied" {
			t.Errorf("%s answers %q", method, fail)
		}
	}
	if n := len(r.home.messages()) + len(r.home.events()) + len(r.home.Resets()); n != 0 {
		t.Errorf("%d messages and events went in all the same", n)
	}
	if n := strings.Count(r.log.String(), "call on the bus refused"); n < 5 || n > 10 {
		t.Errorf("%d lines of refused calls, want the first 5 of a minute: whoever may not call must not fill the log", n)
	}
}

// A broadcast is not for everybody: goals and questions tell what people do at home.
func TestSignalsReachOnlyWhoMayLook(t *testing.T) {
	needRoot(t)
	d := startDaemon(t, installed(t))
	r := serve(t, d, func(o *Options) { o.Read, o.Control = readUser, controlUser })
	g := r.join()
	listen := func(who string) (*log, func()) {
		cmd := exec.Command("dbus-monitor", "--address", d.address, "type='signal',interface='"+Interface+"'")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: playing(t, who)}
		out := &log{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatalf("dbus-monitor is needed (Debian: apt-get install dbus): %v", err)
		}
		// It may not become a monitor, and falls back to matches of its own; from then on it says NameAcquired.
		eventually(t, "dbus-monitor on the bus", func() bool {
			return strings.Contains(out.String(), "NameAcquired") || strings.Contains(out.String(), "eavesdrop")
		})
		return out, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	}
	may, endMay := listen(readUser)
	defer endMay()
	not, endNot := listen(strangerUser)
	defer endNot()
	eventually(t, "a signal for the reader", func() bool {
		var ok bool
		var code string
		var holders []string
		for _, method := range []string{"Hold", "Release"} {
			in := args("operator", "test")
			if method == "Release" {
				in = args("operator")
			}
			if fail := g.asks(method, in, &ok, &code, &holders); fail != "" || !ok {
				t.Fatalf("%s: %s %s", method, fail, code)
			}
		}
		return strings.Contains(may.String(), "member=Held")
	})
	if text := not.String(); strings.Contains(text, "member=Held") {
		t.Errorf("a stranger hears\n%s", text)
	}
}

// The groups that count are those that a program has, as the kernel told the bus: not those that its user has by the system's files.
func TestTheGroupsOfTheConnectionCount(t *testing.T) {
	needRoot(t)
	d := startDaemon(t, lax)
	serve(t, d, func(o *Options) { o.Read, o.Control = readUser, controlUser }).join()
	who := playing(t, strangerUser)
	call := func() string {
		cmd := exec.Command("dbus-send", "--bus="+d.address, "--print-reply", "--dest="+Name, string(Path), Interface+".Status")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := call(); !strings.Contains(out, "AccessDenied") {
		t.Errorf("without the group: %s", out)
	}
	who.Groups = []uint32{playing(t, readUser).Gid}
	if out := call(); !strings.Contains(out, "rb-7f21") {
		t.Errorf("with the group: %s", out)
	}
}

// Nobody but the agent's own user may take its name.
func TestOnlyTheAgentMayOwnItsName(t *testing.T) {
	needRoot(t)
	d := startDaemon(t, installed(t))
	for _, who := range []string{strangerUser, controlUser} {
		cmd := exec.Command("dbus-send", "--bus="+d.address, "--print-reply", "--dest="+busName, "/org/freedesktop/DBus", busName+".RequestName", "string:"+Name, "uint32:4")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: playing(t, who)}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "AccessDenied") {
			t.Errorf("%s: %s", who, out)
		}
	}
}

func TestRoles(t *testing.T) {
	s := New(Options{Read: "61001", Control: "61002"})
	strict := New(Options{Read: "61001", Control: "61002", strict: true})
	none := New(Options{})
	gone := New(Options{Read: "no-such-group", Control: "no-such-group-either"})
	self := caller{uid: uint32(os.Geteuid())}
	for _, tc := range []struct {
		name string
		s    *Service
		c    caller
		want role
	}{
		{"root", s, caller{uid: 0}, control},
		{"the agent's own user", s, self, control},
		{"a member of the group that operates", s, caller{uid: 61010, groups: []uint32{7, 61002}}, control},
		{"a member of the group that looks", s, caller{uid: 61010, groups: []uint32{7, 61001}}, reader},
		{"a member of both", s, caller{uid: 61010, groups: []uint32{61001, 61002}}, control},
		{"a member of neither", s, caller{uid: 61010, groups: []uint32{61003}}, nobody},
		{"a user without groups", s, caller{uid: 61010}, nobody},
		{"the agent's own user, asked strictly", strict, self, nobody},
		{"group 0 where no group is set", none, caller{uid: 61010, groups: []uint32{0}}, nobody},
		{"group 0 where the groups do not exist", gone, caller{uid: 61010, groups: []uint32{0}}, nobody},
	} {
		if got := tc.s.roleOf(tc.c); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// An old bus tells no groups; then the system's files are asked, and a user whom they do not know has none.
func TestGroupsOfAUser(t *testing.T) {
	if got, err := groupsOf(61010); err != nil || len(got) != 0 {
		t.Errorf("a user who is not there: %v, %v", got, err)
	}
	if got, err := groupsOf(0); err != nil || len(got) == 0 {
		t.Errorf("root: %v, %v", got, err)
	}
}

// Too many calls of one caller are refused, and none of another.
func TestAGreedyCallerKeepsNobodyOut(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g, other := r.join(), enter(t, r.d)
	block := make(chan struct{})
	r.home.mu.Lock()
	r.home.block = block
	r.home.mu.Unlock()
	answers := make(chan *godbus.Call, 4*perCaller)
	for range 3 * perCaller {
		g.conn.Object(Name, Path).Go(Interface+".Status", 0, answers)
	}
	refused, late := 0, time.After(patience)
	for refused < 2*perCaller {
		select {
		case c := <-answers:
			if c.Err != nil && c.Err.(godbus.Error).Name == busError+"LimitsExceeded" {
				refused++
			}
		case <-late:
			t.Fatalf("%d of %d calls were refused, want %d", refused, 3*perCaller, 2*perCaller)
		}
	}
	close(block)
	var st map[string]godbus.Variant
	if fail := other.asks("Status", nil, &st); fail != "" {
		t.Errorf("the other caller is told %s", fail)
	}
	for range perCaller {
		if c := <-answers; c.Err != nil {
			t.Errorf("one of the calls that were let in ended with %v", c.Err)
		}
	}
}
