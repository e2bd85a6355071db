package home

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is what goes wrong with one method. The zero Fault is an honest robot.
type Fault struct {
	Times int // only the first so many invokes; 0: all

	// Of the call.
	Refuse     string        // refused with this reason
	Hang       bool          // never answers, does nothing, remembers nothing
	Mute       bool          // does all, but never answers and never says its result
	AnswerLate time.Duration // the answer to the invoke comes that much later
	HangQuery  bool          // never answers a Query
	HangCancel bool          // never answers a cancel, and goes on

	// Of the work.
	BeginLate       time.Duration // accepts at once, and begins that much later
	LieDone         bool          // says done at once, and nothing happens
	Contrary        bool          // does the opposite: every flag that it was given is turned round
	Reverts         time.Duration // what it has brought about comes undone by itself, that long after it has said "done"
	ArriveElsewhere string        // drives to this room instead
	FailAfter       time.Duration // fails that long after it was accepted
	FailReason      string        // with this reason: robot_fault
	Stuck           bool          // wheels or fan go on for ever; only the red button ends it
	IgnoreCancel    bool          // accepts a cancel and goes on to its own end
	IgnoreStop      bool          // a stop operation does not reach it
	RefuseCancel    string        // refuses a cancel with this reason
	IgnorePause     bool          // accepts a pause or resume, and does not

	// Of what is said.
	NoResult        bool     // never says its result; a Query tells it
	RepeatResult    bool     // says its result twice, and a sign of life after it
	ThenFail        bool     // says that it has failed, 300 ms after it has said "done"
	DropEvents      []string // events of its tasks that get lost
	DuplicateEvents bool     // events of its tasks come twice
}

func (f Fault) failReason() string {
	if f.FailReason == "" {
		return ReasonRobotFault
	}
	return f.FailReason
}

func (f Fault) drops(event string) bool { return slices.Contains(f.DropEvents, event) }

// Faults is all that goes wrong in one home.
type Faults struct {
	Method          map[string]Fault
	NoReading       bool          // the air sensor gives nothing
	NoValue         []string      // keys of the context that nobody can read
	DropEvents      []string      // events that get lost, whoever caused them
	DuplicateEvents bool          // every event comes twice
	DelayEvents     time.Duration // every event comes that much later than it happened
	Reorder         bool          // callbacks that are said together come in the opposite order
	Deaf            bool          // the service hears no call and answers none; the body goes on
	SilentContext   bool          // changes of the context are not pushed; only a Read tells them
}

func (f Faults) clone() Faults {
	f.Method = maps.Clone(f.Method)
	f.DropEvents = slices.Clone(f.DropEvents)
	f.NoValue = slices.Clone(f.NoValue)
	return f
}

func (f *Faults) drops(event string) bool { return slices.Contains(f.DropEvents, event) }

// take is the fault of this invoke; a counted one is used up.
func (f *Faults) take(method string) Fault {
	fault := f.Method[method]
	switch {
	case fault.Times == 1:
		delete(f.Method, method)
	case fault.Times > 1:
		left := fault
		left.Times--
		f.Method[method] = left
	}
	return fault
}

// disturb turns the order of callbacks that are said together. Context keeps its order: a wrong value that nothing corrects would
// be another fault.
func (f *Faults) disturb(out []Emission) []Emission {
	if !f.Reorder {
		return out
	}
	var at []int
	for i, e := range out {
		if e.Context == nil {
			at = append(at, i)
		}
	}
	for i, j := 0, len(at)-1; i < j; i, j = i+1, j-1 {
		out[at[i]], out[at[j]] = out[at[j]], out[at[i]]
	}
	return out
}

// methodFaults are the words of [Faults.Add] for one method; value is what stands behind "=".
var methodFaults = map[string]func(f *Fault, value string) error{
	"refuse":           func(f *Fault, v string) error { f.Refuse = or(v, ReasonBusy); return nil },
	"hang":             on(func(f *Fault) *bool { return &f.Hang }),
	"mute":             on(func(f *Fault) *bool { return &f.Mute }),
	"answer_late":      span(func(f *Fault) *time.Duration { return &f.AnswerLate }),
	"hang_query":       on(func(f *Fault) *bool { return &f.HangQuery }),
	"hang_cancel":      on(func(f *Fault) *bool { return &f.HangCancel }),
	"begin_late":       span(func(f *Fault) *time.Duration { return &f.BeginLate }),
	"lie_done":         on(func(f *Fault) *bool { return &f.LieDone }),
	"contrary":         on(func(f *Fault) *bool { return &f.Contrary }),
	"reverts":          span(func(f *Fault) *time.Duration { return &f.Reverts }),
	"arrive_elsewhere": func(f *Fault, v string) error { f.ArriveElsewhere = v; return nil },
	"fail_after":       span(func(f *Fault) *time.Duration { return &f.FailAfter }),
	"fail_reason":      func(f *Fault, v string) error { f.FailReason = v; return nil },
	"stuck":            on(func(f *Fault) *bool { return &f.Stuck }),
	"ignore_cancel":    on(func(f *Fault) *bool { return &f.IgnoreCancel }),
	"ignore_stop":      on(func(f *Fault) *bool { return &f.IgnoreStop }),
	"refuse_cancel":    func(f *Fault, v string) error { f.RefuseCancel = or(v, "cancel_refused"); return nil },
	"ignore_pause":     on(func(f *Fault) *bool { return &f.IgnorePause }),
	"no_result":        on(func(f *Fault) *bool { return &f.NoResult }),
	"repeat_result":    on(func(f *Fault) *bool { return &f.RepeatResult }),
	"then_fail":        on(func(f *Fault) *bool { return &f.ThenFail }),
	"drop_event":       func(f *Fault, v string) error { f.DropEvents = append(slices.Clone(f.DropEvents), v); return nil },
	"duplicate_events": on(func(f *Fault) *bool { return &f.DuplicateEvents }),
	"times": func(f *Fault, v string) (err error) {
		f.Times, err = strconv.Atoi(v)
		return err
	},
}

// homeFaults are the words of [Faults.Add] for the whole home.
var homeFaults = map[string]func(f *Faults, value string) error{
	"no_reading":       func(f *Faults, _ string) error { f.NoReading = true; return nil },
	"no_value":         noValue,
	"drop_event":       func(f *Faults, v string) error { f.DropEvents = append(slices.Clone(f.DropEvents), v); return nil },
	"duplicate_events": func(f *Faults, _ string) error { f.DuplicateEvents = true; return nil },
	"delay_events": func(f *Faults, v string) (err error) {
		f.DelayEvents, err = time.ParseDuration(v)
		return err
	},
	"deaf":           func(f *Faults, _ string) error { f.Deaf = true; return nil },
	"reorder":        func(f *Faults, _ string) error { f.Reorder = true; return nil },
	"silent_context": func(f *Faults, _ string) error { f.SilentContext = true; return nil },
}

func noValue(f *Faults, key string) error {
	if _, known := contexts[key]; !known {
		return fmt.Errorf("no key %q", key)
	}
	f.NoValue = append(slices.Clone(f.NoValue), key)
	return nil
}

// FaultWords names the words that [Faults.Add] knows: those of a method, and those of the whole home.
func FaultWords() (method, home []string) { return sortedKeys(methodFaults), sortedKeys(homeFaults) }

// Add reads one fault from text: "setMoveTo:fail_after=3s,times=2" for a method, "no_reading" for the home. What it does not
// know it refuses, and changes nothing.
func (f *Faults) Add(text string) error {
	method, words, ofMethod := strings.Cut(text, ":")
	if !ofMethod {
		return addFaults(f, homeFaults, text)
	}
	if _, known := operations[method]; !known {
		return fmt.Errorf("cannot set fault %q: no method %q", text, method)
	}
	fault := f.Method[method]
	if err := addFaults(&fault, methodFaults, words); err != nil {
		return err
	}
	if fault.Reverts > 0 && operations[method].undo == nil {
		return fmt.Errorf("cannot set fault %q: nothing of %s comes undone by itself", text, method)
	}
	if f.Method == nil {
		f.Method = map[string]Fault{}
	}
	f.Method[method] = fault
	return nil
}

func addFaults[F any](f *F, known map[string]func(*F, string) error, words string) error {
	next := *f
	for word := range strings.SplitSeq(words, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		set, ok := known[name]
		if !ok {
			return fmt.Errorf("cannot set fault %q: known are %s", name, strings.Join(sortedKeys(known), " "))
		}
		if err := set(&next, value); err != nil {
			return fmt.Errorf("cannot set fault %q: %w", name, err)
		}
	}
	*f = next
	return nil
}

func on(field func(*Fault) *bool) func(*Fault, string) error {
	return func(f *Fault, _ string) error {
		*field(f) = true
		return nil
	}
}

func span(field func(*Fault) *time.Duration) func(*Fault, string) error {
	return func(f *Fault, v string) (err error) {
		*field(f), err = time.ParseDuration(v)
		return err
	}
}

func or(v, otherwise string) string {
	if v == "" {
		return otherwise
	}
	return v
}

// AddFault adds to what goes wrong from now on; the text is that of [Faults.Add].
func (h *Home) AddFault(now time.Duration, text string) error {
	h.to(now)
	f := h.faults.clone()
	if err := f.Add(text); err != nil {
		return err
	}
	h.faults = f
	return nil
}
