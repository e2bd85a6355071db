package bridge

import (
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// Trace makes the wire form of a trace.
func Trace(list []core.TraceEntry) []wire.TraceEntry {
	var out []wire.TraceEntry
	for _, e := range list {
		t := wire.TraceEntry{Seq: e.Seq, AtMS: e.AtMS, Stage: string(e.Stage), What: e.What, StepID: string(e.Step), EffectID: e.Effect, ReasonCode: code(e.Reason),
			Seen: e.Seen, Basis: e.Basis, Refused: e.Refused, Before: leftOf(e.Before), After: leftOf(e.After), Missing: e.Missing}
		if d := e.Diff; d != nil {
			t.Diff = &wire.PlanDiff{From: d.From, To: d.To, Added: textOf(d.Added), Removed: textOf(d.Removed), Changed: textOf(d.Changed), Stopped: textOf(d.Stopped), More: d.More}
		}
		if u := e.Usage; u != nil {
			t.Usage = &wire.Usage{Model: u.Model, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, LatencyMS: u.LatencyMS}
		}
		out = append(out, t)
	}
	return out
}

func leftOf(b *core.TraceBudget) *wire.TraceBudget {
	if b == nil {
		return nil
	}
	return &wire.TraceBudget{Decisions: b.Decisions, Replans: b.Replans, Retries: b.Retries, Questions: b.Questions}
}

func textOf(ids []core.StepID) (out []string) {
	for _, id := range ids {
		out = append(out, string(id))
	}
	return out
}

// keptTrace is how many entries at each end of a trace stay where a result is too large.
const keptTrace = 8

// thinTrace and noTrace are what a result gives up of its trace: its middle, then all of it. How many entries are missing stays.
func thinTrace(e *wire.Envelope) {
	if t := traceIn(e); t != nil && len(*t) > 2*keptTrace+1 {
		gap := missing((*t)[keptTrace : len(*t)-keptTrace])
		*t = append(append(append([]wire.TraceEntry{}, (*t)[:keptTrace]...), gap), (*t)[len(*t)-keptTrace:]...)
	}
}

func noTrace(e *wire.Envelope) {
	if t := traceIn(e); t != nil && len(*t) > 0 {
		*t = []wire.TraceEntry{missing(*t)}
	}
}

func traceIn(e *wire.Envelope) *[]wire.TraceEntry {
	if e.Result == nil || e.Result.Experience == nil {
		return nil
	}
	return &e.Result.Experience.Trace
}

// missing is one entry for those that are cut.
func missing(cut []wire.TraceEntry) wire.TraceEntry {
	gap := wire.TraceEntry{Seq: cut[len(cut)-1].Seq}
	for _, e := range cut {
		gap.Missing += max(1, e.Missing)
	}
	return gap
}
