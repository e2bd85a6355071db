package diag

import (
	"context"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// Agent is what the API looks at. Every method may be called from any goroutine.
type Agent interface {
	// Inspect lets f read the state between two batches; f keeps nothing of it. [taskmanager.Manager] has it.
	Inspect(ctx context.Context, f func(*core.State, core.Now)) error
	// Receive takes one message as JSON and returns when its answer is durable. [taskmanager.Manager] has it.
	Receive(ctx context.Context, payload []byte, from taskmanager.Source) (core.Answer, error)
	// Finished reads a workflow that ended before this start; ok false: there is none. [taskmanager.Manager] has it.
	Finished(ctx context.Context, id core.WorkflowID) (wf *core.Workflow, ok bool, err error)
	// Words is what was said that a workflow or a template comes from; "": not known, or not kept any more. [taskmanager.Manager] has it.
	Words(id core.WorkflowID) string
	// ErasePersonData removes at once what is kept of people in work that has ended.
	ErasePersonData(ctx context.Context) (Erasure, error)
	// Check decodes and grounds a message like Receive and changes nothing. Accepted says that it has no fault in itself: whether
	// the agent would take it now (revisions, limits) is not asked.
	Check(payload []byte) core.Answer
	// Watch begins to tell moves; the returned function ends it.
	Watch() (Feed, func())
	// Status gives what the agent knows outside the state. It does not block.
	Status() Facts
	Device
}

// Feed is a running account of moves.
type Feed struct {
	C      <-chan core.Move
	Missed func() int // gives and clears the number of moves that were lost because C was full
}

// The phases of the agent.
const (
	Starting = "starting"
	Running  = "running"
	Stopping = "stopping"
)

// Facts is what the agent knows outside the state. A nil pointer, like an empty text, says that it is not known.
type Facts struct {
	Phase         string `json:"phase"` // starting, running, stopping
	Version       string `json:"version"`
	Commit        string `json:"commit,omitempty"`
	Contract      string `json:"contract"`
	DeviceID      string `json:"device_id"`
	Socket        string `json:"socket,omitempty"`         // the read socket
	ControlSocket string `json:"control_socket,omitempty"` // the socket for reading and operating
	StartedMS     int64  `json:"-"`                        // wall clock at the start, Unix ms; 0: not known
	StartNo       int64  `json:"start_no"`                 // starts of this store so far
	StartCause    string `json:"start_cause,omitempty"`    // boot, crash, watchdog, update, operator
	Hold          bool   `json:"hold"`                     // loads and shows, dispatches nothing
	Tier          string `json:"-"`                        // the setting; off: experiences are not evaluated

	Link      Link       `json:"link"`
	Outbox    Outbox     `json:"outbox"`
	Store     Store      `json:"store"`
	Clock     Clock      `json:"clock"`
	Executors []Executor `json:"-"` // services that are there, with what the registry knows of them
	RoomsEtag string     `json:"-"` // of the rooms of now; "": those of the catalog
	Settings  []Setting  `json:"-"` // what is in force; no secrets, only the names of their files
	Warnings  []string   `json:"warnings"`
}

// Link is the way to the cloud, in the link's own words.
type Link struct {
	State      string `json:"state"` // offline, connecting, online, not configured
	Reason     string `json:"reason,omitempty"`
	Broker     string `json:"broker,omitempty"` // host:port, without user or password
	SinceMS    *int64 `json:"since_ms"`         // how long it has been in this state
	LastUpMS   *int64 `json:"last_up_ms"`       // since the last message up
	LastDownMS *int64 `json:"last_down_ms"`     // since the last message down
}

// Outbox counts what is on its way to the cloud.
type Outbox struct {
	Unsent   *int64 `json:"unsent"`   // never handed to the broker by this process
	Awaiting *int64 `json:"awaiting"` // the planner has not receipted them
	OldestMS *int64 `json:"oldest_ms"`
	Bound    *int64 `json:"bound"` // rows that it may hold
}

// Store is the state of the disk.
type Store struct {
	Path       string   `json:"path,omitempty"`
	Epoch      string   `json:"epoch,omitempty"`
	UsedBytes  *int64   `json:"used_bytes"`
	BoundBytes *int64   `json:"bound_bytes"`
	SetAside   []string `json:"set_aside"` // workflows whose records cannot be read, or made the agent fail in three starts in a row
}

// Clock says what the wall clock is worth. Whether it is trusted now is in every document.
type Clock struct {
	Source   string `json:"source,omitempty"` // ntp, rtc, cloud
	OffsetMS *int64 `json:"offset_ms"`
}

// Executor is a service as the registry of executors sees it.
type Executor struct {
	Service   string
	SinceMS   int64 // wall clock, Unix ms; 0: not known
	Open      int   // calls sent, not answered
	Waiting   int   // calls not sent yet
	LastError string
}

// Setting is one value that is in force and where it came from.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // built-in, a file with its line, environment, flag
}
