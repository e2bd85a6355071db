package scenario

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/cloudlink/planner/turn"
)

// Said is one turn of a person with the planner, as it counts for what it cost the person.
type Said struct {
	At       time.Duration // since the start of the scenario
	Revises  bool          // it corrects work that is under way
	Cancels  bool
	AskedFor bool // the planner asked back
}

func turnOf(at time.Duration, d turn.Decision, dispatched bool) Said {
	return Said{At: at, Revises: dispatched && d.Revises != nil, Cancels: d.Control != nil && d.Control.Verb == "cancel", AskedFor: d.AskFollowUp}
}

// Effort is what a result took of a person. How well people understood what went on, and how far they trusted it, nobody has measured:
// docs/scenarios.md has the questions.
type Effort struct {
	Scenario    string   `json:"scenario"`
	Turns       int      `json:"turns"`
	Corrections int      `json:"corrections"`
	Cancels     int      `json:"cancels"`
	AskedBack   int      `json:"asked_back"` // by the planner
	Consents    int      `json:"consents"`   // and other questions that the robot asked
	PresentMS   int64    `json:"present_ms"` // from the first words of a person to the last
	Expected    []string `json:"expected"`
	Missing     []string `json:"missing"` // of what was expected
	Held        bool     `json:"held"`    // the run is as its scenario says
}

// outcomes are the facts that are results in the home.
var outcomes = []string{"arrived", "cleaned", "sets"}

// Results lists what came of a run in the home: where the robot came to rest, what was cleaned and set, and what was told. An order of
// the person alone ("시작할게요") is no result.
func (o *Observation) Results() (out []string) {
	for _, f := range o.Facts {
		switch {
		case slices.Contains(outcomes, f.Kind):
			out = append(out, f.Kind+" "+f.Text)
		case f.Kind == "dispatch" && strings.Contains(f.Text, "session_id="):
			if _, text, ok := strings.Cut(f.Text, "text="); ok {
				text, _, _ = strings.Cut(text, " utterance_id=")
				out = append(out, "told "+strings.Trim(text, `"`))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// EffortOf counts what a run took, held to the results that were expected of it. What was told may have been answered at once.
func EffortOf(r *Result, expected []string) Effort {
	e := Effort{Scenario: r.Scenario.ID, Held: r.Passed(), Expected: append([]string{}, expected...), Missing: []string{}}
	if r.Seen == nil {
		e.Missing = e.Expected
		return e
	}
	for _, s := range r.Seen.Said {
		e.Turns++
		e.count(s)
	}
	replies := ""
	for _, f := range r.Seen.Facts {
		switch {
		case f.Kind == "reply":
			replies += f.Text
		case f.Kind == "asked" && strings.Contains(f.Text, " expires after "):
			e.Consents++
		}
	}
	have := r.Seen.Results()
	for _, want := range expected {
		text, told := strings.CutPrefix(want, "told ")
		if !slices.Contains(have, want) && (!told || !strings.Contains(replies, text)) {
			e.Missing = append(e.Missing, want)
		}
	}
	e.PresentMS = r.Seen.Present.Milliseconds()
	return e
}

func (e *Effort) count(s Said) {
	for _, c := range []struct {
		is bool
		to *int
	}{{s.Revises, &e.Corrections}, {s.Cancels, &e.Cancels}, {s.AskedFor, &e.AskedBack}} {
		if c.is {
			*c.to++
		}
	}
}

// persons are the stimuli that are a person speaking or answering.
var persons = []string{"say", "answer", "cancel"}

// present is how long a person had to be there: from the first words to the last.
func present(s *Scenario, given []time.Duration) time.Duration {
	var first, last time.Duration
	seen := false
	for i, st := range s.Stimul {
		if i >= len(given) || !slices.Contains(persons, st.Verb) && !(st.Verb == "robot" && strings.HasPrefix(st.Arg, "say ")) {
			continue
		}
		if !seen {
			first, seen = given[i], true
		}
		last = given[i]
	}
	return last - first
}

// Comparison is the same result by one goal, said once, and by single commands.
type Comparison struct {
	Goal     Effort `json:"goal"`
	Commands Effort `json:"commands"`
}

// Same says whether both came to what was expected.
func (c Comparison) Same() bool {
	return c.Goal.Held && c.Commands.Held && len(c.Goal.Missing)+len(c.Commands.Missing) == 0 && len(c.Goal.Expected) > 0
}

// Print writes the comparison for people.
func (c Comparison) Print(w io.Writer) {
	say := func(name, format string, a, b any) {
		_, _ = fmt.Fprintf(w, "%-22s "+format+" "+format+"\n", name, a, b)
	}
	say("", "%14s", c.Goal.Scenario, c.Commands.Scenario)
	say("turns", "%14d", c.Goal.Turns, c.Commands.Turns)
	say("corrections", "%14d", c.Goal.Corrections, c.Commands.Corrections)
	say("cancels", "%14d", c.Goal.Cancels, c.Commands.Cancels)
	say("asked back", "%14d", c.Goal.AskedBack, c.Commands.AskedBack)
	say("consents asked", "%14d", c.Goal.Consents, c.Commands.Consents)
	say("a person is present", "%14s", time.Duration(c.Goal.PresentMS)*time.Millisecond, time.Duration(c.Commands.PresentMS)*time.Millisecond)
	say("expected = actual", "%14s", c.Goal.met(), c.Commands.met())
	for _, e := range []Effort{c.Goal, c.Commands} {
		for _, m := range e.Missing {
			_, _ = fmt.Fprintf(w, "%s: missing %s\n", e.Scenario, m)
		}
	}
	_, _ = fmt.Fprintln(w, "understanding and trust: not measured")
}

func (e Effort) met() string {
	return fmt.Sprintf("%d/%d", len(e.Expected)-len(e.Missing), len(e.Expected))
}

// Compared plays both. What the goal has brought about in the home is what is expected of both.
func Compared(t *testing.T, r *Runner, goal, commands *Scenario) Comparison {
	a, b := r.Run(t, goal), r.Run(t, commands)
	var expected []string
	if a.Seen != nil {
		expected = a.Seen.Results()
	}
	return Comparison{EffortOf(a, expected), EffortOf(b, expected)}
}
