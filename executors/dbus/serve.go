package dbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"

	_ "embed"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Introspection is the XML of our interface, as it is installed for those who write services in another language.
//
//go:embed executor1.xml
var Introspection string

// Program serves operations: what a service written in Go implements to be reached by a [Bus]. Its methods are called side by side
// and may answer later, from any goroutine. Each of them answers at most once.
type Program interface {
	// Dispatch starts a task: answer Accepted, or not with a Reason. A task id that was seen or sealed before is never run again.
	Dispatch(d core.Dispatch, answer func(core.TaskAnswered))
	// Query tells what is known of a task. One that is not known is sealed: a later Dispatch with its id is refused.
	Query(task core.TaskID, answer func(core.TaskStatus))
	Cancel(s core.Stop, answer func(core.StopAnswered))
	Pause(task core.TaskID, answer func(core.StopAnswered))
	Resume(task core.TaskID, answer func(core.StopAnswered))
	// Read answers with one value for each key; one that cannot be had has Available false.
	Read(keys []catalog.ContextKey, answer func([]core.ContextValue))
}

// Host is a service on a bus. Its methods may be called from any goroutine; they fail when the connection is gone.
type Host struct {
	conn *godbus.Conn
	path godbus.ObjectPath
}

// Serve connects to the bus at address ("": the system bus), takes the name and answers for the program. Errors: the bus is not
// there, the name is taken by another or not allowed.
func Serve(ctx context.Context, address, name string, path godbus.ObjectPath, p Program) (*Host, error) {
	conn, err := Connect(ctx, address, nil, godbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	return ServeOn(conn, name, path, p)
}

// ServeOn is Serve on a connection that exists; it is closed with the service, also where this fails.
func ServeOn(conn *godbus.Conn, name string, path godbus.ObjectPath, p Program) (*Host, error) {
	h := &Host{conn, path}
	if err := h.export(name, p); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return h, nil
}

func (h *Host) export(name string, p Program) error {
	if err := h.conn.Export(exported{h, p}, h.path, Interface); err != nil {
		return err
	}
	if err := h.conn.Export(introspect.Introspectable(Introspection), h.path, "org.freedesktop.DBus.Introspectable"); err != nil {
		return err
	}
	if err := h.conn.Export(properties{}, h.path, "org.freedesktop.DBus.Properties"); err != nil {
		return err
	}
	reply, err := h.conn.RequestName(name, godbus.NameFlagDoNotQueue)
	if err != nil {
		return fmt.Errorf("cannot take the name %s: %w", name, err)
	}
	if reply != godbus.RequestNameReplyPrimaryOwner {
		return fmt.Errorf("cannot take the name %s: another program has it", name)
	}
	return nil
}

// Close gives the name back and ends the connection.
func (h *Host) Close() error { return h.conn.Close() }

// Done is closed when the connection is gone.
func (h *Host) Done() <-chan struct{} { return h.conn.Context().Done() }

func (h *Host) emit(signal string, args ...any) error {
	return h.conn.Emit(h.path, Interface+"."+signal, args...)
}

// Progress reports a sign of life.
func (h *Host) Progress(p core.TaskProgress) error {
	return h.emit("Feedback", string(p.Task), p.Percent, p.Note)
}

// Paused reports that a task rests and can go on; Resumed that it goes on.
func (h *Host) Paused(task core.TaskID) error  { return h.emit("Held", string(task), true) }
func (h *Host) Resumed(task core.TaskID) error { return h.emit("Held", string(task), false) }

// Result reports how a task ended.
func (h *Host) Result(r core.TaskEnded) error {
	return h.emit("Result", string(r.Task), string(r.Outcome), string(r.Reason), variants(r.Output))
}

// Event reports an event of the catalog.
func (h *Host) Event(ev core.Observed) error { return h.emit("Event", string(ev.Event), fields(ev)) }

// Context says values unasked. Those without Available are gone.
func (h *Host) Context(values []core.ContextValue) error {
	there, gone := split(values)
	return h.emit("Context", there, gone)
}

func split(values []core.ContextValue) (there map[string]godbus.Variant, gone []string) {
	all := core.Values{}
	gone = []string{}
	for _, v := range values {
		if v.Available {
			all[string(v.Key)] = v.Value
		} else {
			gone = append(gone, string(v.Key))
		}
	}
	return variants(all), gone
}

// fields are what an event has beside its name.
func fields(ev core.Observed) map[string]godbus.Variant {
	out := map[string]godbus.Variant{}
	for name, text := range map[string]string{"task_id": string(ev.Task), "resource": string(ev.Resource), "source": ev.Source,
		"source_class": string(ev.Class), "occurred_at": ev.OccurredAt, "reason": string(ev.Reason)} {
		if text != "" {
			out[name] = godbus.MakeVariant(text)
		}
	}
	if ev.Seq != 0 {
		out["seq"] = godbus.MakeVariant(ev.Seq)
	}
	if len(ev.Data) > 0 {
		out["data"] = godbus.MakeVariant(variants(ev.Data))
	}
	return out
}

// exported has the methods of the interface. Each waits for the program's answer, however long that takes: silence is the program's.
type exported struct {
	h *Host
	p Program
}

// answerTime bounds how long a call is kept open for an answer that does not come.
const answerTime = 10 * time.Minute

// await waits for an answer or the end of the connection.
func await[T any](h *Host, ask func(func(T))) (T, *godbus.Error) {
	got := make(chan T, 1)
	ask(func(v T) {
		select {
		case got <- v:
		default:
		}
	})
	select {
	case v := <-got:
		return v, nil
	case <-h.Done():
	case <-time.After(answerTime):
	}
	var none T
	return none, godbus.NewError(busName+".Error.NoReply", nil)
}

func (e exported) Invoke(task, method string, params map[string]godbus.Variant) (bool, string, *godbus.Error) {
	args, err := coreValues(params)
	if err != nil {
		return false, "", godbus.NewError(busName+".Error.InvalidArgs", []any{err.Error()})
	}
	a, fail := await(e.h, func(f func(core.TaskAnswered)) {
		e.p.Dispatch(core.Dispatch{Task: core.TaskID(task), Method: catalog.Method(method), Params: args}, f)
	})
	return a.Accepted, string(a.Reason), fail
}

func (e exported) Query(task string) (string, map[string]godbus.Variant, *godbus.Error) {
	st, fail := await(e.h, func(f func(core.TaskStatus)) { e.p.Query(core.TaskID(task), f) })
	details := map[string]godbus.Variant{}
	if st.Sealed {
		details["sealed"] = godbus.MakeVariant(true)
	}
	if st.Paused {
		details["paused"] = godbus.MakeVariant(true)
	}
	if end := st.Ended; end != nil {
		details["outcome"], details["reason"], details["output"] = godbus.MakeVariant(string(end.Outcome)), godbus.MakeVariant(string(end.Reason)), godbus.MakeVariant(variants(end.Output))
	}
	if ev := st.Event; ev != nil {
		f := fields(*ev)
		f["event"] = godbus.MakeVariant(string(ev.Event))
		details["event"] = godbus.MakeVariant(f)
	}
	return string(st.Known), details, fail
}

func (e exported) Cancel(task, method string) (bool, string, *godbus.Error) {
	return e.stop(func(f func(core.StopAnswered)) {
		e.p.Cancel(core.Stop{Task: core.TaskID(task), Method: catalog.Method(method)}, f)
	})
}

func (e exported) Pause(task string) (bool, string, *godbus.Error) {
	return e.stop(func(f func(core.StopAnswered)) { e.p.Pause(core.TaskID(task), f) })
}

func (e exported) Resume(task string) (bool, string, *godbus.Error) {
	return e.stop(func(f func(core.StopAnswered)) { e.p.Resume(core.TaskID(task), f) })
}

func (e exported) stop(ask func(func(core.StopAnswered))) (bool, string, *godbus.Error) {
	a, fail := await(e.h, ask)
	return a.Accepted, string(a.Reason), fail
}

func (e exported) Read(keys []string) (map[string]godbus.Variant, *godbus.Error) {
	asked := make([]catalog.ContextKey, len(keys))
	for i, k := range keys {
		asked[i] = catalog.ContextKey(k)
	}
	values, fail := await(e.h, func(f func([]core.ContextValue)) { e.p.Read(asked, f) })
	there, _ := split(values)
	return there, fail
}

// properties answers for the one property.
type properties struct{}

func (properties) Get(iface, name string) (godbus.Variant, *godbus.Error) {
	if iface != Interface || name != "Health" {
		return godbus.Variant{}, godbus.NewError(busName+".Error.UnknownProperty", []any{name})
	}
	return godbus.MakeVariant("ok"), nil
}

func (p properties) GetAll(iface string) (map[string]godbus.Variant, *godbus.Error) {
	v, fail := p.Get(iface, "Health")
	return map[string]godbus.Variant{"Health": v}, fail
}

func (properties) Set(_, name string, _ godbus.Variant) *godbus.Error {
	return godbus.NewError(busName+".Error.PropertyReadOnly", []any{name})
}
