package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
	"github.com/rs/zerolog"

	"deviceagent/agent/clock"
	"deviceagent/agent/config"
	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/bus"
)

// byMethod reads rooms of dictionaries.
var byMethod = map[string]any{"method": "Rooms", "id": "id", "name": "name", "aliases": "also", "reachable": "open", "signals": []any{map[string]any{"signal": "Changed"}}}

// mapCatalog is the default catalog with a map service.
func mapCatalog(t *testing.T, rooms map[string]any) *catalog.Catalog {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(defaults.Files, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(defaults.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	var ops map[string]any
	if err := json.Unmarshal(files["operations.json"].Data, &ops); err != nil {
		t.Fatal(err)
	}
	ops["services"] = map[string]any{"maps": map[string]any{"service": "com.example.Maps", "path": "/com/example/Maps", "interface": "com.example.Maps1",
		"rooms": rooms}}
	data, err := json.Marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	files["operations.json"] = &fstest.MapFile{Data: data}
	c, faults, err := catalogfile.Load(files)
	if err != nil || len(c.Services) != 1 {
		t.Fatalf("%v %v", faults, err)
	}
	return c
}

type row = map[string]godbus.Variant

func rowOf(id, name string, open any, also ...string) row {
	return row{"id": godbus.MakeVariant(id), "name": godbus.MakeVariant(name), "open": godbus.MakeVariant(open), "also": godbus.MakeVariant(append([]string{}, also...))}
}

// atlas is a map service on a real bus.
type atlas struct {
	t    *testing.T
	conn *godbus.Conn
	mu   sync.Mutex
	rows []row
}

func (m *atlas) Rooms() ([]row, *godbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows, nil
}

func (m *atlas) set(rows ...row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = rows
}

// change gives it other rooms and says so.
func (m *atlas) change(rows ...row) {
	m.t.Helper()
	m.set(rows...)
	if err := m.conn.Emit("/com/example/Maps", "com.example.Maps1.Changed"); err != nil {
		m.t.Fatal(err)
	}
}

func startAtlas(t *testing.T, address string, rows ...row) *atlas {
	t.Helper()
	conn, err := godbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	m := &atlas{t: t, conn: conn, rows: rows}
	if err := conn.Export(m, "/com/example/Maps", "com.example.Maps1"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("com.example.Maps", 0); err != nil {
		t.Fatal(err)
	}
	return m
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// mapped is an agent with a state of its own, over a real bus.
type mapRig struct {
	t     *testing.T
	o     Options
	log   *lines
	a     *Agent
	end   func()
	plans int
}

func newMapRig(t *testing.T, rooms map[string]any) *mapRig {
	t.Helper()
	d, err := bus.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Stop() })
	dir, err := os.MkdirTemp("", "da")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	clk, err := clock.New(clock.Options{AssumeSynced: true})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.DeviceID, cfg.StateDir, cfg.AllowJSON = "rb-1", filepath.Join(dir, "state"), true
	cfg.Executor.Socket, cfg.Diag.ReadSocket, cfg.Diag.ControlSocket = filepath.Join(dir, "x.sock"), filepath.Join(dir, "r.sock"), filepath.Join(dir, "c.sock")
	cfg.Firmware.Bus, cfg.Executor.Bus = "off", d.Address()
	r := &mapRig{t: t, log: &lines{}}
	r.o = Options{Config: cfg, Catalog: mapCatalog(t, rooms), Clock: clk, Log: zerolog.New(r.log)}
	return r
}

func (r *mapRig) start() {
	r.t.Helper()
	a, err := New(r.t.Context(), r.o)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	r.a, r.end = a, sync.OnceFunc(func() { cancel(); <-done })
	r.t.Cleanup(r.end)
	select {
	case <-a.Ready():
	case err := <-done:
		done <- err
		r.t.Fatalf("agent ended: %v", err)
	}
}

func (r *mapRig) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	r.t.Fatalf("never: %s\n%s", what, r.log)
}

// has waits until these rooms, and no others, are known to plans, the hello and diagnostics.
func (r *mapRig) has(ids ...string) {
	r.t.Helper()
	r.until(fmt.Sprint("rooms ", ids), func() bool { return r.ids() == fmt.Sprint(ids) })
	st, etag := downlink{r.a.manager, r.a}.Status(), catalogfile.RoomsEtag(r.a.rooms.now().Rooms)
	if st.RoomsEtag != etag || len(st.Rooms) != len(ids) || (insider{r.a.manager, r.a}).Facts().Rooms != etag {
		r.t.Errorf("the hello has %d rooms with %s, want %d with %s", len(st.Rooms), st.RoomsEtag, len(ids), etag)
	}
}

func (r *mapRig) ids() string {
	var ids []string
	for _, room := range r.a.rooms.now().Rooms {
		ids = append(ids, string(room.ID))
	}
	return fmt.Sprint(ids)
}

// saidAgain waits for the link to be told that the hello is another.
func (r *mapRig) saidAgain() {
	r.t.Helper()
	select {
	case <-r.a.modeChanged:
	case <-time.After(time.Minute):
		r.t.Error("the hello is not said again")
	}
}

func (r *mapRig) plan(to string) core.Answer {
	r.t.Helper()
	r.plans++
	ans, err := r.a.manager.Receive(r.t.Context(), fmt.Appendf(nil, `{"v":"a2a-task-orchestration-v1","type":"plan","id":"0190a000-0000-7000-8000-%012d","device_id":"rb-1",
 "sent_at":"2026-11-30T09:00:00.000Z","body":{"workflow":{"cloud_workflow_id":"wf_%d","plan_id":"pl_%d","revision":0},"device_task_requests":[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":%q}}]}}`,
		r.plans, r.plans, r.plans, to), taskmanager.FromLocal)
	if err != nil {
		r.t.Fatal(err)
	}
	return ans
}

func (r *mapRig) place(id core.WorkflowID) (place string) {
	r.t.Helper()
	if err := r.a.manager.Inspect(r.t.Context(), func(s *core.State, _ core.Now) { place = fmt.Sprint(s.Workflows[id].Plan.Steps[0].Args["position"]) }); err != nil {
		r.t.Fatal(err)
	}
	return place
}

// TestRoomsOfTheMapService: what the service tells is what plans may name, at once and after a start without it; what was accepted before
// keeps its place.
func TestRoomsOfTheMapService(t *testing.T) {
	r := newMapRig(t, byMethod)
	r.start()
	own := r.ids()
	if ans := r.plan("다락방"); ans.Accepted || len(ans.Faults) != 1 || ans.Faults[0].Reason != catalog.ReasonUnknownLocation {
		t.Fatalf("a room that nobody knows: %+v", ans)
	}
	m := startAtlas(t, r.o.Config.Executor.Bus, rowOf("attic", "attic", true, "다락방"), rowOf("cellar", "cellar", false))
	r.has("attic", "cellar")
	r.saidAgain()
	if ans := r.plan("다락방"); !ans.Accepted || r.place("wf_2") != "map[name:attic room_id:attic]" {
		t.Fatalf("a room that the map service knows: %+v", ans)
	}
	if ans := r.plan("cellar"); ans.Accepted || ans.Faults[0].Reason != catalog.ReasonRoomUnreachable {
		t.Errorf("a room that cannot be reached: %+v", ans)
	}
	m.change(rowOf("kitchen", "kitchen", true, "주방"))
	r.has("kitchen")
	r.saidAgain()
	if ans := r.plan("attic"); ans.Accepted || ans.Faults[0].Reason != catalog.ReasonUnknownLocation {
		t.Errorf("a room that is gone: %+v", ans)
	}
	if got := r.place("wf_2"); got != "map[name:attic room_id:attic]" {
		t.Errorf("a step that was accepted now goes to %s", got)
	}
	m.conn.Close()
	r.end()
	r.start()
	r.has("kitchen")
	if ans := r.plan("주방"); !ans.Accepted {
		t.Errorf("after a start without the service: %+v", ans)
	}
	r.end()
	path := filepath.Join(r.o.Config.StateDir, roomsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"kitchen"`, `"garden"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start()
	if r.ids() != own || !strings.Contains(r.log.String(), "not as it was written") {
		t.Errorf("a list that was tampered with is taken: %s\n%s", r.ids(), r.log)
	}
	r.end()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	plain := *r.o.Catalog
	plain.Services = nil
	r.o.Catalog = &plain
	r.start()
	if r.ids() != own {
		t.Errorf("a robot without a map service has the rooms %s of one", r.ids())
	}
}

// TestABadListOfRoomsIsRefusedAsAWhole: the last good one stays, and a line says all that is wrong.
func TestABadListOfRoomsIsRefusedAsAWhole(t *testing.T) {
	r := newMapRig(t, byMethod)
	r.start()
	good := rowOf("attic", "attic", true)
	m := startAtlas(t, r.o.Config.Executor.Bus, good)
	r.has("attic")
	many := make([]row, 300)
	for i := range many {
		many[i] = rowOf(fmt.Sprintf("room_%d", i), fmt.Sprintf("room %d", i), true)
	}
	for _, tt := range []struct {
		name string
		says []string
		rows []row
	}{
		{"an id twice and one that is none", []string{"is given twice", "is no id"}, []row{rowOf("den", "den", true), rowOf("den", "study", true), rowOf("No Id", "x", true)}},
		{"an alias of two rooms", []string{"already means the room den"}, []row{rowOf("den", "den", true, "작은 방"), rowOf("hall", "hall", true, "작은방")}},
		{"none", []string{"0 rooms; a home has 1 to 256"}, []row{}},
		{"too many", []string{"300 rooms; a home has 1 to 256"}, many},
		{"no name", []string{"a name of 0 letters"}, []row{rowOf("loft", "", true)}},
		{"too long for a status", []string{"fit into a status"}, []row{rowOf("loft", "loft", true, longNames()...)}},
		{"a word for a boolean", []string{"row 1", "a boolean is wanted"}, []row{good, rowOf("den", "den", "yes")}},
		{"a number for a name", []string{"row 0", "a string is wanted"}, []row{{"id": godbus.MakeVariant("a"), "name": godbus.MakeVariant(7), "open": godbus.MakeVariant(true), "also": godbus.MakeVariant([]string{})}}},
		{"a text for aliases", []string{"a list of texts is wanted"}, []row{{"id": godbus.MakeVariant("a"), "name": godbus.MakeVariant("a"), "open": godbus.MakeVariant(true), "also": godbus.MakeVariant("b")}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(r.log.String())
			m.change(tt.rows...)
			r.until(tt.name, func() bool {
				for line := range strings.Lines(r.log.String()[before:]) {
					all := strings.Contains(line, "the last good ones stay")
					for _, word := range tt.says {
						all = all && strings.Contains(line, word)
					}
					if all {
						return true
					}
				}
				return false
			})
			r.has("attic")
		})
	}
	m.change(rowOf("hall", "hall", true))
	r.has("hall")
}

// pair is a struct (ss).
type pair struct{ ID, Name string }

// TestRoomsThatAreAProperty: structs, read when the service is there and again with each change.
func TestRoomsThatAreAProperty(t *testing.T) {
	r := newMapRig(t, map[string]any{"property": "List", "id": "0", "name": "1"})
	r.start()
	conn, err := godbus.Connect(r.o.Config.Executor.Bus)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	props, err := prop.Export(conn, "/com/example/Maps", prop.Map{"com.example.Maps1": {"List": {Value: []pair{{"attic", "attic"}}, Emit: prop.EmitTrue}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("com.example.Maps", 0); err != nil {
		t.Fatal(err)
	}
	r.has("attic")
	props.SetMust("com.example.Maps1", "List", []pair{{"den", "den"}, {"hall", "hall"}})
	r.has("den", "hall")
}

func longNames() (out []string) {
	for i := range 200 {
		out = append(out, fmt.Sprintf("%d%s", i, strings.Repeat("x", 190)))
	}
	return out
}
