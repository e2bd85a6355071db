package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core/catalog"
)

// Options say what to check and how. Zero times have the defaults of [Options.fill]; with a catalog the limits are those of the
// operation's entry, unless they are given here.
type Options struct {
	Bus     string // address; "": the system bus
	Service string // well-known name
	Path    string // of the object; "": from the catalog, else the name with slashes for dots

	Method  string           // an operation that takes a while; "": the first one of the catalog that is bound to the service and can be cancelled
	Params  []map[string]any // of one task each, in turn, so that each task has something to do; nil: made from the catalog
	Refuse  []map[string]any // arguments that must be refused; with a catalog more are made from its ranges
	Expect  []string         // events that a task that was done has brought about, with its task_id
	Prove   []Want           // context values after a task that was done
	AtRest  []Want           // context values after a task that was cancelled
	Durable bool             // the service remembers its tasks over a restart; with a catalog: probe durable
	Catalog *catalog.Catalog // nil: none

	Restart     func(context.Context) error // how to restart the service; nil: what needs it is not run
	RestartTime time.Duration               // until it is back: 30 s

	Ack      time.Duration // to answer Invoke: 3 s
	Answer   time.Duration // to answer any other call: 3 s
	Stop     time.Duration // from Cancel to Result: 4 s
	Hold     time.Duration // from Pause or Resume to Held: 4 s
	Timeout  time.Duration // from Invoke to Result: 120 s
	Evidence time.Duration // from done to its evidence: 15 s
	Settle   time.Duration // how long it is listened for what must not come: 1.5 s
	MaxRate  int           // signals in any one second: 100

	Skip []ID              // checks that are left out
	Tell func(line string) // hears what is being done; nil: nobody
}

// Want is a context value: Key is Value. A text "$name" or "$name.field" as Value is an argument of the task.
type Want struct {
	Key   string
	Value any
}

// ErrCannotRun is the cause of all that kept the kit from its work: wrong options, no bus, no service.
var ErrCannotRun = errors.New("the service cannot be checked")

func cannot(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCannotRun, fmt.Errorf(format, args...))
}

func (o *Options) fill() {
	for _, d := range []struct {
		at *time.Duration
		is time.Duration
	}{{&o.RestartTime, 30 * time.Second}, {&o.Ack, 3 * time.Second}, {&o.Answer, 3 * time.Second}, {&o.Stop, 4 * time.Second}, {&o.Hold, 4 * time.Second},
		{&o.Timeout, 2 * time.Minute}, {&o.Evidence, 15 * time.Second}, {&o.Settle, 1500 * time.Millisecond}} {
		if *d.at == 0 {
			*d.at = d.is
		}
	}
	if o.MaxRate == 0 {
		o.MaxRate = 100
	}
	if o.Path == "" {
		o.Path = "/" + strings.ReplaceAll(o.Service, ".", "/")
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
}

// check says what is wrong with options that are filled.
func (o *Options) check() error {
	parts := strings.Split(o.Service, ".")
	switch {
	case o.Service == "":
		return errors.New("--service is missing: the well-known name of the service, such as com.example.Head")
	case len(parts) < 2 || slices.Contains(parts, ""):
		return fmt.Errorf("--service %q is no well-known name; those look like com.example.Head", o.Service)
	case !godbus.ObjectPath(o.Path).IsValid():
		return fmt.Errorf("--path %q is no object path; those look like /com/example/Head", o.Path)
	case o.Method == "":
		return errors.New("--method is missing: an operation that takes a while, or --catalog with one that is bound to the service")
	case len(o.Params) == 0:
		return errors.New("--params is missing: the arguments of the operation as a JSON object")
	}
	for _, id := range o.Skip {
		if !slices.Contains(IDs(), id) {
			return fmt.Errorf("--skip %s is no check; those are %v", id, IDs())
		}
	}
	return nil
}
