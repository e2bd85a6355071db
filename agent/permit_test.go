package agent_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"deviceagent/agent"
	"deviceagent/agent/diag"
	"deviceagent/executors/socket"
	"deviceagent/taskmanager/core/catalog"
)

// TestMain is also the program that registers: the kernel knows credentials by process.
func TestMain(m *testing.M) {
	path := os.Getenv("REGISTER_AT")
	if path == "" {
		os.Exit(m.Run())
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		var s *socket.Session
		if s, err = socket.Serve(context.Background(), conn, socket.Registration{Service: "home", Instance: "i1", Methods: []catalog.Method{"setScreen"}}, quiet{}); err == nil {
			s.Close()
		}
	}
	fmt.Print(err)
}

type quiet struct{ socket.Program }

func (quiet) Connected(*socket.Session) {}

// bound is the default catalog with bounds for the service home.
func bound(c *catalog.Catalog, s catalog.Socket) *catalog.Catalog {
	out := *c
	out.Operations = maps.Clone(c.Operations)
	op := out.Operations["setScreen"]
	op.Binding.Socket = &s
	out.Operations["setScreen"] = op
	return &out
}

// program is this test's program where any user may run it.
func program(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(dir, "register")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	for _, err := range []error{err, to.Close(), os.Chmod(dir, 0o755), os.Chmod(path, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// register lets a program register as home with the credentials; nil: this test's own. It gives why not; "": it may.
func register(t *testing.T, program, path string, as *syscall.Credential) string {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Dir, cmd.Env, cmd.Stderr = "/", []string{"REGISTER_AT=" + path}, os.Stderr
	if as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot run the program: %v", err)
	}
	return strings.TrimPrefix(string(out), "<nil>")
}

// openTo starts an agent whose executor socket anybody may open: the mode of the file is not what is tested here.
func openTo(t *testing.T, s catalog.Socket) (path string, a *agent.Agent) {
	t.Helper()
	o := options(t)
	o.Catalog = bound(o.Catalog, s)
	a, _ = start(t, o)
	path = o.Config.Executor.Socket
	for name, mode := range map[string]os.FileMode{path: 0o666, filepath.Dir(path): 0o755} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	return path, a
}

func TestAProgramRegistersOnlyAsTheUserOfTheCatalog(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	path := program(t)
	for _, tc := range []struct{ name, user, refused string }{
		{"by name", me.Username, ""},
		{"by number", me.Uid, ""},
		{"another", "4242", "the catalog wants user 4242 (4242); run the service as that user"},
		{"unknown", "nobody-of-this-robot", "user nobody-of-this-robot, and it is not known on this robot"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at, _ := openTo(t, catalog.Socket{User: tc.user})
			got := register(t, path, at, nil)
			if (got == "") != (tc.refused == "") || !strings.Contains(got, tc.refused) || got != "" && !strings.Contains(got, "not_permitted") {
				t.Fatalf("answer %q, want one with %q", got, tc.refused)
			}
		})
	}
}

func TestAProgramRegistersOnlyInTheGroupOfTheCatalog(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	mine, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{me.Gid: "", "4242": "add SupplementaryGroups=4242", "no-group-of-this-robot": "group no-group-of-this-robot, and it is not known on this robot"}
	for _, g := range mine { // beside the first
		groups[fmt.Sprint(g)] = ""
	}
	path := program(t)
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		t.Run(group, func(t *testing.T) {
			at, _ := openTo(t, catalog.Socket{Group: group})
			if got := register(t, path, at, nil); (got == "") != (groups[group] == "") || !strings.Contains(got, groups[group]) {
				t.Fatalf("answer %q, want one with %q", got, groups[group])
			}
		})
	}
}

// A robot that lacks the user is not noticed at the refusal only, which nobody may read.
func TestAStrangerInTheCatalogIsAWarning(t *testing.T) {
	o := options(t)
	o.Catalog = bound(o.Catalog, catalog.Socket{User: "nobody-of-this-robot"})
	start(t, o)
	reply, err := (&diag.Client{Socket: o.Config.Diag.ReadSocket}).Get(t.Context(), "/status", nil)
	if err != nil || !strings.Contains(string(reply.Data), "nobody may register home: the catalog wants user nobody-of-this-robot") {
		t.Fatalf("%v: %s", err, reply.Data)
	}
}

// The same with programs of other users. Only root can start such; anybody else has the two tests above, which ask the same of themselves.
func TestProgramsOfOtherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: no program of another user can be started; what the catalog wants is tried on this user alone")
		return
	}
	path := program(t)
	at, _ := openTo(t, catalog.Socket{User: "4242", Group: "4300"})
	for _, tc := range []struct {
		name    string
		as      *syscall.Credential
		refused string
	}{
		{"user and group", &syscall.Credential{Uid: 4242, Gid: 4242, Groups: []uint32{4299, 4300}}, ""},
		{"user and first group", &syscall.Credential{Uid: 4242, Gid: 4300}, ""},
		{"without the group", &syscall.Credential{Uid: 4242, Gid: 4242, Groups: []uint32{4299}}, "add SupplementaryGroups=4300"},
		{"another user of the group", &syscall.Credential{Uid: 4243, Gid: 4300}, "user id 4243 may not register home"},
		{"root", nil, "user id 0 may not register home"},
		{"in very many groups", &syscall.Credential{Uid: 4242, Gid: 4242, Groups: append(many(5000, 300), 4300)}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := register(t, path, at, tc.as); (got == "") != (tc.refused == "") || !strings.Contains(got, tc.refused) {
				t.Fatalf("answer %q, want one with %q", got, tc.refused)
			}
		})
	}
}

func many(from, n uint32) (out []uint32) {
	for i := range n {
		out = append(out, from+i)
	}
	return out
}
