package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	godbus "github.com/godbus/dbus/v5"
)

// Interface is the interface that is checked.
const Interface = "org.deviceagent.Executor1"

const (
	busName      = "org.freedesktop.DBus"
	ownerChanged = busName + ".NameOwnerChanged"
)

// heard is one signal of the service, as it came.
type heard struct {
	at     time.Time
	order  godbus.Sequence // place among all that came over the connection, replies too
	owner  string
	path   godbus.ObjectPath
	member string // Feedback, Held, Result, Event, Context, or another name
	task   string // of Event: from its fields; "" where none is named
	body   []any
}

// reply is what became of one call.
type reply struct {
	method string
	args   []any
	asked  time.Time
	took   time.Duration
	limit  time.Duration
	order  godbus.Sequence
	body   []any
	err    error
	silent bool // no answer within the limit
}

// dbusName is the name of the error that answered, or "".
func (r reply) dbusName() string {
	var e godbus.Error
	if errors.As(r.err, &e) {
		return e.Name
	}
	return ""
}

// String says what came back, for people.
func (r reply) String() string {
	switch {
	case r.silent:
		return fmt.Sprintf("no answer within %v", r.limit)
	case r.err != nil:
		return fmt.Sprintf("error %s: %v", r.dbusName(), r.err)
	}
	return fmt.Sprintf("(%s) after %v", showAll(r.body), r.took.Round(time.Millisecond))
}

// accepted reads (b accepted, s reason).
func (r reply) accepted() (ok bool, reason string, err error) {
	if r.err == nil {
		r.err = godbus.Store(r.body, &ok, &reason)
	}
	return ok, reason, r.err
}

// witness is the kit's own connection: it calls, and keeps all that the service says, in the order of the connection.
type witness struct {
	conn    *godbus.Conn
	name    string
	path    godbus.ObjectPath
	mu      sync.Mutex
	log     []heard
	other   []heard // from other objects of the service: nobody listens to them, and they may be another executor's
	replies []reply
	owner   string        // who has the name now; "" for nobody
	left    int           // how often an owner has lost the name
	news    chan struct{} // closed and made anew whenever something came
}

// dial connects, and watches the name before it asks who has it, so that nothing is missed.
func dial(ctx context.Context, address, name string, path godbus.ObjectPath) (*witness, error) {
	w := &witness{name: name, path: path, news: make(chan struct{})}
	opts := []godbus.ConnOption{godbus.WithContext(ctx), godbus.WithSignalHandler(w)}
	var err error
	if address == "" {
		w.conn, err = godbus.ConnectSystemBus(opts...)
	} else {
		w.conn, err = godbus.Connect(address, opts...)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the bus: %w", err)
	}
	if err := w.watch(ctx); err != nil {
		return nil, errors.Join(err, w.conn.Close())
	}
	return w, nil
}

func (w *witness) watch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := w.conn.AddMatchSignalContext(ctx, godbus.WithMatchSender(busName), godbus.WithMatchInterface(busName), godbus.WithMatchMember("NameOwnerChanged"),
		godbus.WithMatchArg(0, w.name))
	if err == nil {
		err = w.conn.AddMatchSignalContext(ctx, godbus.WithMatchSender(w.name), godbus.WithMatchInterface(Interface))
	}
	if err != nil {
		return fmt.Errorf("cannot watch %s: %w", w.name, err)
	}
	var owner string
	err = w.conn.BusObject().CallWithContext(ctx, busName+".GetNameOwner", 0, w.name).Store(&owner)
	if err != nil {
		return fmt.Errorf("nobody has the name %s on this bus: %w", w.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owner = owner
	return nil
}

// DeliverSignal implements [godbus.SignalHandler]. It only notes, so it may run in the connection's own goroutine, in order.
func (w *witness) DeliverSignal(_, _ string, s *godbus.Signal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Name == ownerChanged && s.Sender == busName {
		var name, was, owner string
		if godbus.Store(s.Body, &name, &was, &owner) == nil && name == w.name {
			w.owner = owner
			if was != "" {
				w.left++
			}
		}
	} else if member, ours := strings.CutPrefix(s.Name, Interface+"."); ours && s.Sender == w.owner {
		h := heard{time.Now(), s.Sequence, s.Sender, s.Path, member, taskOf(member, s.Body), s.Body}
		if s.Path == w.path {
			w.log = append(w.log, h)
		} else {
			w.other = append(w.other, h)
		}
	}
	close(w.news)
	w.news = make(chan struct{})
}

// taskOf reads the task id of a signal as far as it can be read; the types are checked elsewhere.
func taskOf(member string, body []any) (task string) {
	switch {
	case member == "Event" && len(body) > 1:
		if fields, ok := body[1].(map[string]godbus.Variant); ok {
			task, _ = fields["task_id"].Value().(string)
		}
	case member != "Context" && len(body) > 0:
		task, _ = body[0].(string)
	}
	return task
}

// call makes one call and waits no longer than limit.
func (w *witness) call(ctx context.Context, limit time.Duration, member string, args ...any) reply {
	method := member
	if !strings.Contains(member, ".") {
		method = Interface + "." + member
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r := reply{method: member, args: args, asked: time.Now(), limit: limit}
	c := w.conn.Object(w.name, w.path).CallWithContext(bounded, method, godbus.FlagNoAutoStart, args...)
	r.took, r.order, r.body, r.err = time.Since(r.asked), c.ResponseSequence, c.Body, c.Err
	r.silent = errors.Is(c.Err, context.DeadlineExceeded) || r.dbusName() == busName+".Error.NoReply"
	w.mu.Lock()
	w.replies = append(w.replies, r)
	w.mu.Unlock()
	return r
}

// all is what was heard so far.
func (w *witness) all() []heard {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]heard(nil), w.log...)
}

// of is what was heard of one task.
func (w *witness) of(task string) (out []heard) {
	for _, h := range w.all() {
		if h.task == task && task != "" {
			out = append(out, h)
		}
	}
	return out
}

// until waits for ok to hold, looking again whenever something came; false: limit passed first.
func (w *witness) until(ctx context.Context, limit time.Duration, ok func() bool) bool {
	end := time.NewTimer(limit)
	defer end.Stop()
	for {
		w.mu.Lock()
		news := w.news
		w.mu.Unlock()
		if ok() {
			return true
		}
		select {
		case <-news:
		case <-end.C:
			return ok()
		case <-ctx.Done():
			return false
		}
	}
}

// signal waits for a signal of a task for which ok holds (nil: any).
func (w *witness) signal(ctx context.Context, limit time.Duration, task, member string, ok func(heard) bool) (found heard, came bool) {
	came = w.until(ctx, limit, func() bool {
		for _, h := range w.of(task) {
			if h.member == member && (ok == nil || ok(h)) {
				found = h
				return true
			}
		}
		return false
	})
	return found, came
}

// departures is how often an owner has lost the name.
func (w *witness) departures() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left
}

func (w *witness) present() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owner
}
