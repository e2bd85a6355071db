package scenario

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/bus"
)

// Result is one run of one scenario.
type Result struct {
	Scenario *Scenario
	Seen     *Observation // nil where Err is set
	Failures []Mismatch
	Err      error // a stimulus that could not be given, or a part that broke
	Real     time.Duration
}

// Passed says whether everything came, and nothing else.
func (r *Result) Passed() bool { return r.Err == nil && len(r.Failures) == 0 }

// String is the scenario's line in a report.
func (r *Result) String() string {
	word := "passed"
	if !r.Passed() {
		word = "FAILED"
	}
	line := fmt.Sprintf("%-13s %s  %s", r.Scenario.ID, word, r.Scenario.Title)
	if r.Seen == nil {
		return line
	}
	up := 0
	for _, f := range r.Seen.Facts {
		var n int
		if f.Kind == "up" {
			if _, err := fmt.Sscanf(f.Text[lastSpace(f.Text):], "%d", &n); err == nil {
				up += n
			}
		}
	}
	return fmt.Sprintf("%s  [%d dispatches, %d publishes, %v virtual, %v real]", line, r.Seen.count("dispatch"), up,
		r.Seen.Virtual.Round(time.Second), r.Real.Round(time.Millisecond))
}

func lastSpace(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == ' ' {
			return i + 1
		}
	}
	return 0
}

// Runner runs scenarios over one catalog.
type Runner struct {
	way     Way
	cat     *catalog.Catalog
	plans   planner.Planner                       // one for all: it holds the language, and knows nothing of a home
	Narrate io.Writer                             // what the robot does, for people; nil: nothing
	Log     zerolog.Logger                        // of agent and planner
	Form    Form                                  // of the messages
	Keep    func(s *Scenario, store string) error // is shown the device's store at the end of a run, before it goes; nil: nobody looks
}

// Form is how messages are written, both ways. The zero value is CBOR without signatures.
type Form struct {
	JSON   bool
	Signed bool // what goes down is signed, and the device takes nothing else
}

func (f Form) encoding() wire.Encoding {
	if f.JSON {
		return wire.JSON
	}
	return wire.CBOR
}

// NewRunner reads the catalog that the package installs, bound to the robot on the executor socket.
func NewRunner() (*Runner, error) { return NewRunnerOver(Socket) }

// NewRunnerOver reads the catalog that the package installs, bound to the robot on another way.
func NewRunnerOver(w Way) (*Runner, error) {
	cat, words, err := catalogOver(w)
	if err != nil {
		return nil, err
	}
	return &Runner{way: w, cat: cat, plans: planning(cat, words), Log: zerolog.Nop()}, nil
}

// planning is the planner as the program plannerd joins it, without a model.
func planning(cat *catalog.Catalog, words catalogfile.Planner) planner.Planner {
	return pipeline.New(rules.New(cat, words), cat, words)
}

// Catalog is what the scenarios are run over.
func (r *Runner) Catalog() *catalog.Catalog { return r.cat }

// Run plays one scenario in a bubble of its own. It returns when every goroutine of it has ended.
func (r *Runner) Run(t *testing.T, s *Scenario) *Result {
	res := &Result{Scenario: s}
	began := time.Now()
	dir, remove, err := tempDir()
	if err != nil {
		res.Err = err
		return res
	}
	defer remove()
	res.Err = r.inBubble(t, func(f *bus.Ferry) (err error) {
		res.Seen, err = r.play(s, dir, f, nil)
		return err
	})
	res.Real = time.Since(began)
	if res.Err == nil {
		res.Err = replayed(dir, r.cat)
	}
	if res.Err == nil && r.Keep != nil {
		res.Err = r.Keep(s, lastStore(dir))
	}
	if res.Err == nil {
		res.Failures = Compare(s.Expect, res.Seen.Facts)
	}
	return res
}

func (r *Runner) play(s *Scenario, dir string, ferry *bus.Ferry, cut *cutter) (seen *Observation, err error) {
	h := &house{cat: r.cat, form: r.Form, way: r.way, ferry: ferry, cut: cut}
	defer func() {
		if cerr := h.close(); err == nil {
			err = cerr
		}
	}()
	if err := h.open(s, dir, r.plans, r.Narrate, r.Log); err != nil {
		return nil, err
	}
	if cut != nil {
		cut.arm(h.device)
	}
	for _, st := range s.Stimul {
		if err := h.do(st); err != nil {
			if cut != nil && cut.at > 0 {
				continue // what it was to come after does not come after every cut, and who spoke while the device was off is not heard
			}
			return nil, fmt.Errorf("%s:%d: %w", s.Path, st.No, err)
		}
	}
	if err := h.settle(s.Tail); err != nil {
		return nil, err
	}
	if cut != nil { // what was lost is sent again by the planner, in its own time
		if err := h.settle(s.Tail); err != nil {
			return nil, err
		}
		cut.disarm() // the end of the play is no part of it
	}
	return h.observe(s)
}
