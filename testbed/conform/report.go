package conform

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Schema names the form of the JSON report.
const Schema = "deviceagent-conformance-1"

// Status says what became of a check.
type Status string

// The four. NotRun is never a success: what was not tried is not known. NotApplicable is what the operation does not offer.
const (
	Passed        Status = "passed"
	Failed        Status = "failed"
	NotRun        Status = "not_run"
	NotApplicable Status = "not_applicable"
)

// Step is one thing that was done for a check and what came of it.
type Step struct {
	Did      string `json:"did"`
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
	OK       bool   `json:"ok"`
	Task     string `json:"task_id,omitempty"`
}

// Check is one check with all that was done for it.
type Check struct {
	ID     ID     `json:"id"`
	Title  string `json:"title"`
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"` // why it was not run or does not apply
	Change string `json:"change,omitempty"` // of a failed one: what to change in the service
	Steps  []Step `json:"steps,omitempty"`
}

// Operation is what was run.
type Operation struct {
	Method  string           `json:"method"`
	Params  []map[string]any `json:"params"`
	Catalog bool             `json:"from_catalog"`
	Limits  map[string]int64 `json:"limits_ms"`
}

// Report is the outcome of a run. Its JSON form is that of docs/conformance.md.
type Report struct {
	Schema    string         `json:"schema"`
	Service   string         `json:"service"`
	Path      string         `json:"path"`
	Owner     string         `json:"owner"`
	Operation Operation      `json:"operation"`
	Began     time.Time      `json:"began"`
	TookMS    int64          `json:"took_ms"`
	Outcome   Outcome        `json:"outcome"`
	Counts    map[Status]int `json:"counts"`
	Checks    []Check        `json:"checks"`
}

// Outcome of a whole run.
type Outcome string

// Incomplete: nothing failed, but something was not run.
const (
	AllPassed  Outcome = "passed"
	SomeFailed Outcome = "failed"
	Incomplete Outcome = "incomplete"
)

// Failed are the ids of the checks that failed, in order.
func (r *Report) Failed() (ids []ID) { return r.with(Failed) }

// NotRun are the ids of the checks that were not run, in order.
func (r *Report) NotRun() (ids []ID) { return r.with(NotRun) }

func (r *Report) with(s Status) (ids []ID) {
	for _, c := range r.Checks {
		if c.Status == s {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// count sums up. skipped are checks that the caller left out: they are not run, and do not make the run incomplete.
func (r *Report) count(skipped []ID) {
	r.Counts, r.Outcome = map[Status]int{}, AllPassed
	for _, c := range r.Checks {
		r.Counts[c.Status]++
		switch {
		case c.Status == Failed:
			r.Outcome = SomeFailed
		case c.Status == NotRun && r.Outcome == AllPassed && !slices.Contains(skipped, c.ID):
			r.Outcome = Incomplete
		}
	}
}

// WriteJSON writes the report as one indented object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

var words = map[Status]string{Passed: "passed", Failed: "FAILED", NotRun: "not run", NotApplicable: "n/a"}

// WriteText writes a table of all checks, then each failure with what to change.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Conformance of %s at %s (owner %s)\noperation %s %s\n\n", r.Service, r.Path, r.Owner, r.Operation.Method, asJSON(r.Operation.Params))
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "  %-7s  %-14s  %s\n", words[c.Status], c.ID, c.Title)
		if c.Reason != "" {
			fmt.Fprintf(&b, "  %-7s  %-14s    %s\n", "", "", c.Reason)
		}
	}
	for _, c := range r.Checks {
		if c.Status == Failed {
			c.details(&b)
		}
	}
	fmt.Fprintf(&b, "\n%d checks in %.1f s: %d passed, %d failed, %d not run, %d not applicable\n", len(r.Checks), float64(r.TookMS)/1000,
		r.Counts[Passed], r.Counts[Failed], r.Counts[NotRun], r.Counts[NotApplicable])
	_, err := io.WriteString(w, b.String())
	return err
}

// maxShown bounds the failures of one check in the text; the JSON has all.
const maxShown = 5

func (c Check) details(b *strings.Builder) {
	fmt.Fprintf(b, "\nFAILED %s: %s\n", c.ID, c.Title)
	shown, left := 0, 0
	for _, s := range c.Steps {
		switch {
		case s.OK:
		case shown == maxShown:
			left++
		default:
			shown++
			fmt.Fprintf(b, "  did       %s\n  expected  %s\n  seen      %s\n", s.Did, s.Expected, s.Seen)
		}
	}
	if left > 0 {
		fmt.Fprintf(b, "  … and %d more, in the JSON report\n", left)
	}
	fmt.Fprintf(b, "  change    %s\n  more      docs/conformance.md#%s\n", c.Change, c.ID)
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
