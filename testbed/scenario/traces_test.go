package scenario_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/scenario"
)

var rewrite = flag.Bool("update", false, "rewrite the traces of docs/experience.md")

const (
	tracesDoc   = "../../docs/experience.md"
	tracesBegin = "<!-- generated:traces -->\n"
	tracesEnd   = "<!-- /generated -->"
)

// worked are the runs whose traces stand in the document.
var worked = []struct{ id, about string }{
	{"S07-yes", "A rest, for which a cleaning of somebody else's is ended only after the person has agreed. All goes as planned: what was done and what proved it, and nothing else."},
	{"S08-fails", "The cleaning fails while a quiz is told. The cloud is asked once, and lets it be tried again; that spends the one decision and leaves the quiz alone."},
	{"S19-goal", "A move that cannot be done. A retry, a question, a revision with what it changed, another retry; the second question can offer no replan. Nobody answers it, the person on the robot neither, and the goal is ended safely."},
}

// The traces of the document are those of the results of real runs, as an outside subscriber got them.
func TestTheWorkedTraces(t *testing.T) {
	var b strings.Builder
	r := runner(t)
	for _, w := range worked {
		s, err := scenario.Load("../scenarios/" + w.id + ".scn")
		if err != nil {
			t.Fatal(err)
		}
		res := r.Run(t, s)
		if res.Err != nil || len(res.Failures) > 0 || len(res.Seen.Traces) != 1 {
			t.Fatalf("%s: %v %v, %d traces", w.id, res.Err, res.Failures, len(res.Seen.Traces))
		}
		fmt.Fprintf(&b, "### `%s`: %s\n\n%s\n\n```\n%s```\n\n", w.id, s.Title, w.about, traceText(&res.Seen.Traces[0]))
	}
	data, err := os.ReadFile(tracesDoc)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begun := strings.Cut(string(data), tracesBegin)
	old, tail, ended := strings.Cut(rest, tracesEnd)
	switch {
	case !begun || !ended:
		t.Fatalf("%s has no place for the traces", tracesDoc)
	case old == b.String():
	case *rewrite:
		if err := os.WriteFile(tracesDoc, []byte(head+tracesBegin+b.String()+tracesEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s shows other traces than the runs leave; -update rewrites:\n%s", tracesDoc, b.String())
	}
}

// traceText is a trace for people. Ids of tasks and questions are left out: they are other ones in each run.
func traceText(r *wire.Result) string {
	var b strings.Builder
	for _, e := range r.Experience.Trace {
		words := []string{fmt.Sprintf("%-9s %-8s %s", (time.Duration(e.AtMS) * time.Millisecond).Round(100*time.Millisecond), e.Stage, e.What)}
		for _, w := range []struct{ name, text string }{{"step", e.StepID}, {"effect", e.EffectID}, {"reason", e.ReasonCode}, {"seen", e.Seen}, {"gate closed", e.Refused}} {
			if w.text != "" {
				words = append(words, w.name+" "+w.text)
			}
		}
		if d := e.Diff; d != nil {
			words = append(words, fmt.Sprintf("revision %d to %d: added %v, removed %v, changed %v, stopped %v", d.From, d.To, d.Added, d.Removed, d.Changed, d.Stopped))
		}
		if e.After != nil {
			words = append(words, leftText(e.Before, e.After))
		}
		fmt.Fprintln(&b, strings.Join(words, "; "))
	}
	return b.String()
}

func leftText(before, after *wire.TraceBudget) string {
	now := fmt.Sprintf("%d decisions, %d replans, %d retries, %d questions", after.Decisions, after.Replans, after.Retries, after.Questions)
	if before == nil || *before == *after {
		return "left " + now
	}
	return fmt.Sprintf("left %s (before %d, %d, %d, %d)", now, before.Decisions, before.Replans, before.Retries, before.Questions)
}
