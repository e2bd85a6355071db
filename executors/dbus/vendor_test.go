package dbus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/rs/zerolog"

	"deviceagent/bridge/catalogfile"
	"deviceagent/executors"
	"deviceagent/executors/dbus"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

type object = map[string]any

// example gives testdata/vendor.json: what a robot with services of another maker changes in its operations.json.
func example(t *testing.T) (services, operations object) {
	t.Helper()
	data, err := os.ReadFile("testdata/vendor.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Services, Operations object }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all.Services, all.Operations
}

// TestTheGuideShowsTheExample: what a reader copies is what the tests carry out.
func TestTheGuideShowsTheExample(t *testing.T) {
	guide, err := os.ReadFile("../../docs/dbus-executor.md")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/vendor.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), "```json example\n"+string(data)+"```") {
		t.Error("docs/dbus-executor.md does not show testdata/vendor.json as it is")
	}
}

// catalogOf gives the default catalog with these services, and the operations changed in these members.
func catalogOf(t *testing.T, services, operations object) *catalog.Catalog {
	t.Helper()
	fsys := fstest.MapFS{}
	names, err := fs.Glob(defaults.Files, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(defaults.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		fsys[name] = &fstest.MapFile{Data: data}
	}
	var file object
	if err := json.Unmarshal(fsys["operations.json"].Data, &file); err != nil {
		t.Fatal(err)
	}
	file["services"] = services
	for _, op := range file["operations"].([]any) {
		if change, ok := operations[op.(object)["taskMethod"].(string)].(object); ok {
			maps.Copy(op.(object), change)
		}
	}
	data, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	fsys["operations.json"] = &fstest.MapFile{Data: data}
	c, _, err := catalogfile.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newMapRig joins a registry and a bus with the mapped services of a catalog.
func newMapRig(t *testing.T, d *daemon, c *catalog.Catalog, limit time.Duration) *rig {
	t.Helper()
	r := &rig{t: t, d: d, all: true}
	log := zerolog.New(&r.log)
	r.reg = executors.New(executors.Options{Sink: r.sink, Log: log, HardLimit: limit,
		Urgent: func(m catalog.Method) bool { return len(c.Operations[m].Stops) > 0 }})
	bus := dbus.New(dbus.Options{Address: d.address, Registry: r.reg, Sink: r.sink, Log: log, Retry: 20 * time.Millisecond, Limit: limit, Services: dbus.ServicesOf(c)})
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.reg.Run(ctx) })
	wg.Go(func() { _ = bus.Run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait(); r.reg.Close() })
	return r
}

// logged waits for a line of the log that has all the words.
func (r *rig) logged(words ...string) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for line := range strings.Lines(r.log.String()) {
			all := true
			for _, w := range words {
				all = all && strings.Contains(line, w)
			}
			if all {
				return
			}
		}
	}
	r.t.Fatalf("no line with %q in:\n%s", words, r.log.String())
}

// text is a log that may be read while it is written.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// vendor is a program with interfaces of its own: it knows nothing of us.
type vendor struct {
	t    *testing.T
	conn *godbus.Conn
	name string
	path godbus.ObjectPath

	mu    sync.Mutex
	calls []string
	props map[string]any // by "interface.Name"
}

// export gives it methods: "interface.Method" → func(args...) (results..., *godbus.Error).
func (v *vendor) export(path godbus.ObjectPath, methods map[string]any) {
	v.t.Helper()
	byIface := map[string]map[string]any{"org.freedesktop.DBus.Properties": {"Get": v.get}}
	for full, f := range methods {
		dot := strings.LastIndexByte(full, '.')
		if byIface[full[:dot]] == nil {
			byIface[full[:dot]] = map[string]any{}
		}
		byIface[full[:dot]][full[dot+1:]] = f
	}
	for iface, table := range byIface {
		if err := v.conn.ExportMethodTable(table, path, iface); err != nil {
			v.t.Fatal(err)
		}
	}
}

func (v *vendor) take() {
	v.t.Helper()
	if reply, err := v.conn.RequestName(v.name, godbus.NameFlagDoNotQueue); err != nil || reply != godbus.RequestNameReplyPrimaryOwner {
		v.t.Fatalf("cannot take %s: %v %v", v.name, reply, err)
	}
}

func (v *vendor) get(iface, name string) (godbus.Variant, *godbus.Error) {
	v.note("get:%s.%s", iface, name)
	v.mu.Lock()
	defer v.mu.Unlock()
	p, ok := v.props[iface+"."+name]
	if !ok {
		return godbus.Variant{}, godbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", []any{name})
	}
	return godbus.MakeVariant(p), nil
}

// set gives properties a value that nobody is told.
func (v *vendor) set(iface, name string, value any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.props[iface+"."+name] = value
}

// change gives a property a value and tells it.
func (v *vendor) change(iface, name string, value any) {
	v.t.Helper()
	v.set(iface, name, value)
	v.emit(v.path, "org.freedesktop.DBus.Properties.PropertiesChanged", iface, map[string]godbus.Variant{name: godbus.MakeVariant(value)}, []string{})
}

// invalidate gives a property a value and tells only that it has another.
func (v *vendor) invalidate(iface, name string, value any) {
	v.t.Helper()
	v.set(iface, name, value)
	v.emit(v.path, "org.freedesktop.DBus.Properties.PropertiesChanged", iface, map[string]godbus.Variant{}, []string{name})
}

func (v *vendor) emit(path godbus.ObjectPath, signal string, args ...any) {
	v.t.Helper()
	if err := v.conn.Emit(path, signal, args...); err != nil {
		v.t.Fatal(err)
	}
}

func (v *vendor) note(f string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, fmt.Sprintf(f, args...))
}

func (v *vendor) did() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Join(v.calls, " ")
}

// waitFor waits until the vendor has done something.
func (v *vendor) waitFor(what string) {
	v.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(v.did(), what) {
			return
		}
	}
	v.t.Fatalf("the vendor did %s, and not %s", v.did(), what)
}

// put gives a member of the example another value: words lead to it, numbers into lists.
func put(t *testing.T, in object, at string, to any) {
	t.Helper()
	var tree any = in
	words := strings.Fields(at)
	for _, w := range words[:len(words)-1] {
		switch n := tree.(type) {
		case object:
			tree = n[w]
		case []any:
			tree = n[w[0]-'0']
		}
	}
	n, ok := tree.(object)
	if !ok {
		t.Fatalf("%s leads nowhere", at)
	}
	if n[words[len(words)-1]] = to; to == nil {
		delete(n, words[len(words)-1])
	}
}

// member is one change of the example.
type member struct {
	at string
	to any
}

// changed gives the catalog of the example with changes: "services ..." and "operations ...".
func changed(t *testing.T, changes ...member) *catalog.Catalog {
	t.Helper()
	services, operations := example(t)
	all := object{"services": services, "operations": operations}
	for _, c := range changes {
		put(t, all, c.at, c.to)
	}
	return catalogOf(t, all["services"].(object), all["operations"].(object))
}
