package home

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Kind says what a log entry is about.
type Kind string

// The kinds. Motion and cleaning are what the body did; call kinds are what others asked; event and result are what it said.
const (
	KindInvoke        Kind = "invoke"
	KindRepeat        Kind = "repeat" // an invoke whose task id was known
	KindRefused       Kind = "refused"
	KindMotionStart   Kind = "motion_start"
	KindMotionPause   Kind = "motion_pause"
	KindMotionResume  Kind = "motion_resume"
	KindMotionEnd     Kind = "motion_end"
	KindCleaningStart Kind = "cleaning_start"
	KindCleaningPause Kind = "cleaning_pause"
	KindCleaningGoOn  Kind = "cleaning_resume"
	KindCleaningEnd   Kind = "cleaning_end"
	KindPush          Kind = "push" // a person moves the robot
	KindResult        Kind = "result"
	KindEvent         Kind = "event"
	KindSpoken        Kind = "spoken"
	KindShown         Kind = "shown"   // words that the screen shows from now on; "": none
	KindSetting       Kind = "setting" // a setting that took hold
	KindStop          Kind = "stop"    // a stop operation reached the body
	KindCancel        Kind = "cancel"
	KindPause         Kind = "pause"
	KindResume        Kind = "resume"
	KindQuery         Kind = "query"
	KindButton        Kind = "button"
	KindHeard         Kind = "heard" // what a person said
)

// Entry is one line of the robot's own log. TMS is simulated time in milliseconds.
type Entry struct {
	TMS    int64          `json:"t_ms"`
	Kind   Kind           `json:"kind"`
	TaskID string         `json:"task_id,omitempty"`
	Method string         `json:"method,omitempty"`
	Params map[string]any `json:"params,omitempty"`
	Room   string         `json:"room,omitempty"` // where, or for a motion's start: where to
	Event  string         `json:"event,omitempty"`
	Reason string         `json:"reason,omitempty"` // outcome of an end, reason of a refusal
	Text   string         `json:"text,omitempty"`
	Note   string         `json:"note,omitempty"`
	Data   map[string]any `json:"data,omitempty"`
}

func (h *Home) write(e Entry) {
	e.TMS = h.at
	h.log(e)
}

// Log appends entries to a writer as JSON lines, one Write an entry, so that a kill loses at most the line being written. It is
// safe for concurrent use. The first error stays.
type Log struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewLog returns a log onto w.
func NewLog(w io.Writer) *Log { return &Log{w: w} }

// Add appends one entry.
func (l *Log) Add(e Entry) {
	line, err := json.Marshal(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	if err != nil {
		l.err = fmt.Errorf("cannot write the robot's log: %w", err)
	}
}

// Err is the first error, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// ReadLog reads entries back. A last line without its line end was cut off by a kill and is left out.
func ReadLog(r io.Reader) ([]Entry, error) {
	var entries []Entry
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return entries, nil
		}
		if err != nil {
			return entries, fmt.Errorf("cannot read the robot's log: %w", err)
		}
		var e Entry
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			return entries, fmt.Errorf("cannot read line %d of the robot's log: %w", n, err)
		}
		entries = append(entries, e)
	}
}

// Movement is one motion of the body, from the first turn of the wheels to their rest. Pauses lie inside.
type Movement struct {
	TaskID  string // empty: not by a task
	Method  string
	Room    string // where to
	EndRoom string // where it ended
	StartMS int64
	EndMS   int64
	Ended   bool
	Reason  string // arrived, stopped, failed
	Pauses  int
}

// Movements pairs the starts and ends of motions in order. Two entries of one task id are two movements.
func Movements(entries []Entry) []Movement {
	var out []Movement
	open := -1
	for _, e := range entries {
		switch e.Kind {
		case KindMotionStart:
			out = append(out, Movement{TaskID: e.TaskID, Method: e.Method, Room: e.Room, StartMS: e.TMS})
			open = len(out) - 1
		case KindMotionPause:
			if open >= 0 {
				out[open].Pauses++
			}
		case KindMotionEnd:
			if open >= 0 {
				m := &out[open]
				m.EndMS, m.EndRoom, m.Ended, m.Reason = e.TMS, e.Room, true, e.Reason
				open = -1
			}
		}
	}
	return out
}

// CheckLog says what in a log cannot be: two motions or cleanings at once, an end without a start, one task that moved or
// cleaned twice, a result of a task twice. An empty answer is the promise kept.
func CheckLog(entries []Entry) []string {
	var faults []string
	open := map[string]string{}
	seen := map[string]bool{}
	once := func(e Entry, what string) {
		key := what + " " + e.TaskID
		if e.TaskID != "" && seen[key] {
			faults = append(faults, fmt.Sprintf("t=%d: task %s has a second %s", e.TMS, e.TaskID, what))
		}
		seen[key] = true
	}
	start := func(e Entry, what string) {
		once(e, what)
		if owner, busy := open[what]; busy {
			faults = append(faults, fmt.Sprintf("t=%d: %s of %q begins while that of %q runs", e.TMS, what, e.TaskID, owner))
		}
		open[what] = e.TaskID
	}
	end := func(e Entry, what string) {
		if owner, busy := open[what]; !busy || owner != e.TaskID {
			faults = append(faults, fmt.Sprintf("t=%d: %s of %q ends and did not run", e.TMS, what, e.TaskID))
		}
		delete(open, what)
	}
	for _, e := range entries {
		switch e.Kind {
		case KindMotionStart:
			start(e, "motion")
		case KindMotionEnd:
			end(e, "motion")
		case KindCleaningStart:
			start(e, "cleaning")
		case KindCleaningEnd:
			end(e, "cleaning")
		case KindResult:
			once(e, "result")
		}
	}
	return faults
}
