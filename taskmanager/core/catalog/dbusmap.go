package catalog

import (
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/condition"
)

// DBusService is a service on the bus that keeps an interface of its own: what of it belongs to no single operation. It is named by the
// executor name of its operations.
type DBusService struct {
	Service   string                     `json:"service"`             // well-known name
	Path      string                     `json:"path"`                // of its object, where nothing else is said
	Interface string                     `json:"interface,omitempty"` // where nothing else is said
	Context   map[ContextKey]DBusContext `json:"context,omitempty"`
	Events    []DBusEvent                `json:"events,omitempty"`
	Errors    map[string]DBusError       `json:"errors,omitempty"` // by the error's full name
	Health    *DBusHealth                `json:"health,omitempty"`
	Rooms     *DBusRooms                 `json:"rooms,omitempty"`
}

// DBusPlace is an object and an interface other than the service's.
type DBusPlace struct {
	Path      string `json:"path,omitempty"`
	Interface string `json:"interface,omitempty"`
}

// DBusWord is what a service says and when it counts: one of Signal, Property (its change) and Reply (of the operation's call). Match
// has a value or a list of values for each path into it; all must fit.
type DBusWord struct {
	DBusPlace
	Signal   string                     `json:"signal,omitempty"`
	Property string                     `json:"property,omitempty"`
	Reply    bool                       `json:"reply,omitempty"`
	Match    map[string]condition.Value `json:"match,omitempty"`
}

// DBusField is where a value comes from: a path into what was said, mapped and scaled; or a constant. A path begins with the number of
// an argument ("0", "2.room"), or with "value" for a property; left out, it is the first argument, or the property itself.
type DBusField struct {
	Field  string                     `json:"field,omitempty"`
	Values map[string]condition.Value `json:"values,omitempty"` // by the text of what was said
	Else   condition.Value            `json:"else,omitempty"`   // where Values has no row
	Scale  float64                    `json:"scale,omitempty"`  // a number times this; 0: 1
	Offset float64                    `json:"offset,omitempty"` // and then plus this
	Value  condition.Value            `json:"value,omitempty"`  // the constant
}

// DBusArg is one argument of a call: its D-Bus type, and where its value is from: exactly one of Param (a parameter of the operation),
// Task (our task id), Handle (the service's own id of the task), Value (a constant) and Fields (of an a{sv}).
type DBusArg struct {
	Type   string                     `json:"type"`
	Of     string                     `json:"of,omitempty"` // the type inside a v
	Param  string                     `json:"param,omitempty"`
	Task   bool                       `json:"task,omitempty"`
	Handle bool                       `json:"handle,omitempty"`
	Value  condition.Value            `json:"value,omitempty"`
	Fields map[string]DBusArg         `json:"fields,omitempty"`
	Values map[string]condition.Value `json:"values,omitempty"` // of a parameter: by its text
	Scale  float64                    `json:"scale,omitempty"`  // of a parameter: times this; 0: 1
}

// DBusCall is a method and its arguments.
type DBusCall struct {
	DBusPlace
	Method string    `json:"method,omitempty"`
	Args   []DBusArg `json:"args,omitempty"`
}

// DBusContext is where a context key comes from: read by Property or by a method, and told by the property's change or by signals.
type DBusContext struct {
	DBusField
	DBusCall
	Property string       `json:"property,omitempty"`
	Signals  []DBusSignal `json:"signals,omitempty"`
	Class    Class        `json:"class,omitempty"` // only weakens the key's own
}

// DBusSignal is a signal that tells a context key. What it does not say of values, scale and offset is as the key says.
type DBusSignal struct {
	DBusWord
	DBusField
}

// DBusEvent makes an event of the catalog of a signal or a property's change. Task is the path to the task's id, or "current".
type DBusEvent struct {
	DBusWord
	Event    EventName            `json:"event"`
	Task     string               `json:"task,omitempty"`
	Resource ResourceID           `json:"resource,omitempty"`
	Class    Class                `json:"class,omitempty"`
	Reason   *DBusField           `json:"reason,omitempty"`
	Data     map[string]DBusField `json:"data,omitempty"`
}

// The path to a task's id that is none: the task that its slot is taken by.
const DBusCurrent = "current"

// DBusError says what an error of the service means for the task.
type DBusError struct {
	As     string `json:"as"` // refused, failed, unknown
	Reason string `json:"reason,omitempty"`
}

// What an error may mean.
const (
	DBusRefused = "refused"
	DBusFailed  = "failed"
	DBusUnknown = "unknown"
)

// DBusHealth is a property that says whether the service can work. Anything but OK: it is offered no tasks, only stops.
type DBusHealth struct {
	DBusPlace
	Property string            `json:"property"`
	Field    string            `json:"field,omitempty"`
	OK       []condition.Value `json:"ok"`
}

// DBusRooms is where the list of rooms is from: read by Property, or by a method without arguments, when the service comes and when one of
// Signals (or the property's change) says that it is another. Field is the place of the list. ID, Name, Aliases (of a list of texts) and
// Reachable (of a boolean; "": all are) are places in a row: a member's number or key.
type DBusRooms struct {
	DBusPlace
	Method    string     `json:"method,omitempty"`
	Property  string     `json:"property,omitempty"`
	Field     string     `json:"field,omitempty"`
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Aliases   string     `json:"aliases,omitempty"`
	Reachable string     `json:"reachable,omitempty"`
	Signals   []DBusWord `json:"signals,omitempty"`
}

// Words are what says that the list is another.
func (r *DBusRooms) Words() []DBusWord {
	if r.Property == "" {
		return r.Signals
	}
	return append([]DBusWord{{DBusPlace: r.DBusPlace, Property: r.Property}}, r.Signals...)
}

// MapService names the service that the rooms come from; "": they are those of the catalog. The loader lets in one.
func (c *Catalog) MapService() string {
	for name, s := range c.Services {
		if s.Rooms != nil {
			return name
		}
	}
	return ""
}

// DBusMap says how an operation is carried out by a service with an interface of its own.
type DBusMap struct {
	Call     DBusCall             `json:"call"`
	Accept   *DBusAccept          `json:"accept,omitempty"` // nil: it has accepted when the call returns
	Task     *DBusTask            `json:"task,omitempty"`   // nil: nothing is said of it after the reply
	Progress []DBusProgress       `json:"progress,omitempty"`
	Result   []DBusResult         `json:"result"` // the first that fits counts
	Cancel   *DBusSteer           `json:"cancel,omitempty"`
	Pause    *DBusSteer           `json:"pause,omitempty"`
	Resume   *DBusSteer           `json:"resume,omitempty"`
	Query    *DBusQuery           `json:"query,omitempty"`
	Errors   map[string]DBusError `json:"errors,omitempty"` // before those of the service
}

// DBusAccept: the reply has to fit Match, or a signal has to come; else the task is refused. Refused is the signal that says so.
type DBusAccept struct {
	DBusWord
	Task    string      `json:"task,omitempty"`
	Reason  *DBusField  `json:"reason,omitempty"` // of a reply that does not fit
	Refused *DBusRefuse `json:"refused,omitempty"`
}

// DBusRefuse is a signal by which a task is refused.
type DBusRefuse struct {
	DBusWord
	Task   string     `json:"task,omitempty"`
	Reason *DBusField `json:"reason,omitempty"`
}

// DBusTask says by what later words are known to be about the task.
type DBusTask struct {
	By    string `json:"by"`              // id, handle, single
	Field string `json:"field,omitempty"` // of the reply: where the handle is
	Slot  string `json:"slot,omitempty"`  // of single: operations with one slot exclude each other; "": the whole service
}

// By what a task is known.
const (
	DBusByID     = "id"     // our task id is an argument of the call
	DBusByHandle = "handle" // the reply holds the service's own id
	DBusBySingle = "single" // it is the only one
)

// DBusProgress is a sign of life.
type DBusProgress struct {
	DBusWord
	Task    string     `json:"task,omitempty"`
	Percent *DBusField `json:"percent,omitempty"`
	Note    *DBusField `json:"note,omitempty"`
}

// DBusResult is an end of the task.
type DBusResult struct {
	DBusWord
	Task    string               `json:"task,omitempty"`
	Outcome string               `json:"outcome"` // done, failed, cancelled
	Reason  *DBusField           `json:"reason,omitempty"`
	Output  map[string]DBusField `json:"output,omitempty"`
}

// DBusSteer is the call that cancels, pauses or resumes, and the word that says that it has happened.
type DBusSteer struct {
	DBusCall
	Confirmed *DBusConfirm `json:"confirmed,omitempty"`
}

// DBusConfirm confirms a cancel, a pause or a resume: a signal, a property's change, or the reply of its call.
type DBusConfirm struct {
	DBusWord
	Task string `json:"task,omitempty"`
}

// DBusQuery tells how a task stands, by a method or a property. States gives for the text of what is said one of running, paused, done,
// failed, cancelled, unknown; Errors does so for errors of the method. What has no row there is no answer.
type DBusQuery struct {
	DBusCall
	Property string               `json:"property,omitempty"`
	Field    string               `json:"field,omitempty"`
	States   map[string]string    `json:"states"`
	Errors   map[string]string    `json:"errors,omitempty"`
	Output   map[string]DBusField `json:"output,omitempty"`
	Reason   *DBusField           `json:"reason,omitempty"`
}

// The words of a query's states beside the outcomes.
const (
	DBusRunning = "running"
	DBusPaused  = "paused"
)

// At gives the object and the interface, the service's own where nothing else is said.
func (d DBusPlace) At(s DBusService) (path, iface string) {
	path, iface = s.Path, s.Interface
	if d.Path != "" {
		path = d.Path
	}
	if d.Interface != "" {
		iface = d.Interface
	}
	return path, iface
}

// DBusText is the text of a value by which value maps and matches look it up: numbers in their shortest form, true, false.
func DBusText(v condition.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// DBusPath splits a path into what was said. root is "value" or the number of an argument.
func DBusPath(path string) (root string, rest []string) {
	parts := strings.Split(path, ".")
	return parts[0], parts[1:]
}
