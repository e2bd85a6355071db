package gonogo

import (
	"fmt"
	"io"
	"strings"
)

// Verdict is what came of one line.
type Verdict string

// The verdicts. Only Met and Clear let a provider through.
const (
	Met      Verdict = "met"       // of a Go line: shown, and within its limit
	Missed   Verdict = "missed"    // shown, and not within its limit
	Clear    Verdict = "clear"     // of a No-Go line: looked for, and not found
	Found    Verdict = "found"     // No-Go
	NotShown Verdict = "not_shown" // nothing there to look at
)

// Number is one figure of a line. Value is nil where the denominator is 0.
type Number struct {
	Name        string   `json:"name"`
	Numerator   int64    `json:"numerator"`
	Denominator int64    `json:"denominator"`
	Value       *float64 `json:"value"`
	Limit       string   `json:"limit"`  // what it is held to
	From        string   `json:"from"`   // where it was read
	IDs         []string `json:"not_in"` // what speaks against it

	holds bool
}

// Line is one line of the list.
type Line struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"` // go, no_go
	Text    string   `json:"text"`
	Verdict Verdict  `json:"verdict"`
	Numbers []Number `json:"numbers"`
}

// Report is the judgement over a provider.
type Report struct {
	Provider  string   `json:"provider"`
	Go        bool     `json:"go"`
	NoGo      bool     `json:"no_go"` // a No-Go line was found
	Lines     []Line   `json:"lines"`
	Scenarios []string `json:"scenarios"` // that were played, each as often as Runs says
	Runs      int      `json:"runs"`
	Failed    []string `json:"failed"` // scenarios that did not hold
	Stores    int      `json:"stores"`
	Plans     int      `json:"plans"` // in which the provider has a step
	Goals     int      `json:"goals"`
	Aside     []string `json:"aside"` // records that could not be read: nothing is said about them
}

// close gives a line its verdict, and the report what follows.
func (r *Report) close(l Line) {
	shown, holds := true, true
	for i := range l.Numbers {
		n := &l.Numbers[i]
		if n.Denominator > 0 {
			n.Value = new(float64(n.Numerator) / float64(n.Denominator))
		}
		if n.IDs == nil {
			n.IDs = []string{}
		}
		shown = shown && n.Denominator > 0
		holds = holds && (n.Denominator == 0 || n.holds)
	}
	switch {
	case !holds && l.Kind == "go":
		l.Verdict = Missed
	case !holds:
		l.Verdict, r.NoGo = Found, true
	case !shown:
		l.Verdict = NotShown
	case l.Kind == "go":
		l.Verdict = Met
	default:
		l.Verdict = Clear
	}
	r.Go = r.Go && (l.Verdict == Met || l.Verdict == Clear)
	r.Lines = append(r.Lines, l)
}

// Print writes the report for people.
func (r Report) Print(to io.Writer) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(to, format+"\n", args...) }
	say("%s: %d scenarios, %d runs each; %d stores, %d plans with it, %d with a goal", r.Provider, len(r.Scenarios), r.Runs, r.Stores, r.Plans, r.Goals)
	for _, l := range r.Lines {
		say("%-9s %-30s %s", l.Verdict, l.ID, l.Text)
		for _, n := range l.Numbers {
			value := "n/a"
			if n.Value != nil {
				value = fmt.Sprintf("%.4f", *n.Value)
			}
			say("            %-32s %7s  (%d/%d; %s)  %s", n.Name, value, n.Numerator, n.Denominator, n.Limit, n.From)
			if len(n.IDs) > 0 {
				say("              %s", strings.Join(n.IDs[:min(len(n.IDs), mostIDs)], ", "))
			}
		}
	}
	for _, id := range r.Failed {
		say("did not hold: %s", id)
	}
	for _, id := range r.Aside {
		say("cannot be read, not counted: %s", id)
	}
	switch {
	case r.NoGo:
		say("NO-GO")
	case r.Go:
		say("GO")
	default:
		say("no Go: not all of it is shown")
	}
}

// mostIDs bounds what is printed for people; all of them are in the JSON.
const mostIDs = 8
