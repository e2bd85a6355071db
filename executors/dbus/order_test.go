package dbus_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
)

// Calls reach a service in the order in which the core decided them, and one without an answer holds up none. What counts is the order
// on the service's own connection.
func TestCallsKeepTheirOrder(t *testing.T) {
	d := startDaemon(t)
	var mu sync.Mutex
	var got []string
	conn, err := godbus.Connect(d.address, godbus.WithIncomingInterceptor(func(m *godbus.Message) {
		if member, _ := m.Headers[godbus.FieldMember].Value().(string); m.Type == godbus.TypeMethodCall && (member == "Invoke" || member == "Cancel") {
			mu.Lock()
			got = append(got, fmt.Sprint(member, " ", m.Body[0]))
			mu.Unlock()
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	silent := make(chan struct{})
	defer close(silent)
	wait := func() (bool, string, *godbus.Error) { <-silent; return true, "", nil }
	if err := conn.ExportMethodTable(map[string]any{
		"Invoke": func(_, _ string, _ map[string]godbus.Variant) (bool, string, *godbus.Error) { return wait() },
		"Cancel": func(_, _ string) (bool, string, *godbus.Error) { return wait() },
		"Read":   func([]string) (map[string]godbus.Variant, *godbus.Error) { return nil, nil },
	}, path, "org.deviceagent.Executor1"); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, d, time.Minute)
	if _, err := conn.RequestName(name, 0); err != nil {
		t.Fatal(err)
	}
	heard[core.ExecutorUp](r, 1, nil)
	var want []string
	for i := range 8 { // as many as are open at a time
		task := core.TaskID(fmt.Sprintf("t%d", i))
		r.reg.Carry(core.Dispatch{Service: "mover", Task: task, Method: "setMoveTo"})
		r.reg.Carry(core.Stop{Service: "mover", Task: task, Method: "stopMovement"})
		want = append(want, "Invoke "+string(task), "Cancel "+string(task))
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		come := slices.Clone(got)
		mu.Unlock()
		if len(come) >= len(want) {
			if !slices.Equal(come, want) {
				t.Fatalf("came %q, want %q", come, want)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("only %q came", come)
		}
	}
}
