package pipeline

import (
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
)

// Stages 14, 16 and 17: what is made of the first decision.

// takeSecond is what a second pass changes: the owner, and with it what is said. Nothing is planned.
func takeSecond(d turn.Decision, s turn.SecondPass, agents *registry.Registry, say func(turn.Family) string) turn.Decision {
	d.NeedsSecondPass = false // it has been held
	f, ok := agents.Owner(s.Family)
	if !s.Changed || !ok {
		return d
	}
	d.RunnerUpFamily, d.FamilyConfidence = d.OwnerSelection, "medium"
	d.SelectedRoutes, d.Steps, d.TurnMode = []turn.Family{s.Family}, nil, "singleton" // what the cloud would have composed belongs to the other family
	d.STTNullSubtype, d.UnsupportedCategory = "", ""
	f.Own(&d)
	d.TTSResponse = say(s.Family)
	d.Evidence = append(d.Evidence, turn.Evidence{Kind: "second_pass", ID: s.Reason})
	return d
}

// NameNull says of which kind a turn without a target is, and what could still be made of it.
func NameNull(d turn.Decision, h turn.Hints, history turn.History) turn.Decision {
	if d.OwnerSelection != turn.STTNull {
		return d
	}
	if d.STTNullRecovery == "" {
		d.STTNullRecovery = map[string]string{"retry": "unrecoverable", "scoped_probe": "scoped_probe"}[h.STTNullResponseStrategy]
		if d.STTNullRecovery == "" {
			d.STTNullRecovery = "clarification"
		}
	}
	if d.STTNullSubtype == "" || d.STTNullSubtype == "STT_NULL_GENERIC" {
		d.STTNullSubtype = map[string]string{"unrecoverable": "STT_NULL_HARD", "scoped_probe": "STT_NULL_SOFT", "clarification": "STT_NULL_GENERIC"}[d.STTNullRecovery]
	}
	if d.STTNullScope == "" {
		switch {
		case history.HintStrength == "strong":
			d.STTNullScope = "workflow"
		case h.HasSupportedCapabilityAnchor:
			d.STTNullScope = "device"
		case len(h.PublicMatches) > 0:
			d.STTNullScope = "public"
		case d.STTNullRecovery == "clarification":
			d.STTNullScope = "conversation"
		}
	}
	return d
}

// LetGo is stage 16: a revision of work that is not under way, or an older one, is no revision; and the trace says whether the words leave
// what is open. Ask is what is said where a revision is let go.
func LetGo(in turn.Input, d turn.Decision, ask string) (turn.Decision, turn.Escape) {
	open := in.Around.Slots != nil
	drop := func(why string) (turn.Decision, turn.Escape) {
		d.Revises, d.Steps, d.TurnMode = nil, nil, "multi_turn"
		d.AskFollowUp, d.AmbiguityReason, d.TTSResponse = true, "revision_not_open", ask
		return d, turn.Escape{Policy: "revision_dropped", Reason: why}
	}
	switch {
	case d.Revises != nil:
		i := slices.IndexFunc(in.Around.Workflows, func(w turn.Workflow) bool { return w.WorkflowID == d.Revises.WorkflowID })
		switch {
		case i < 0:
			return drop("the workflow that it names is not open")
		case d.Revises.Revision <= in.Around.Workflows[i].Revision:
			return drop("the device may have this revision already")
		}
		return d, turn.Escape{Policy: "revises", Reason: d.Revises.How}
	case open && d.OwnerSelection != turn.SCH && d.Slots == nil:
		return d, turn.Escape{Policy: "leaves_open_slots", Reason: "the words are about " + string(d.OwnerSelection)}
	case open:
		return d, turn.Escape{Policy: "stays", Reason: "a schedule is being talked about"}
	case len(in.Around.Workflows)+len(in.Around.Sessions) > 0:
		return d, turn.Escape{Policy: "beside_running_work", Reason: "what runs goes on"}
	}
	return d, turn.Escape{Policy: "nothing_under_way", Reason: "nothing is open"}
}

// UsageOf is stage 17's account of the model.
func UsageOf(d turn.Decision) turn.Usage {
	u := turn.Usage{ModelCalls: d.ModelCalls}
	if d.Model == nil {
		return u
	}
	for _, c := range d.Model.Calls {
		u.InputTokens, u.OutputTokens, u.LatencyMS = plus(u.InputTokens, c.InputTokens), plus(u.OutputTokens, c.OutputTokens), u.LatencyMS+c.LatencyMS
	}
	return u
}

// plus adds what was reported; nothing reported stays nothing.
func plus(sum, more *int64) *int64 {
	if more == nil {
		return sum
	}
	n := *more
	if sum != nil {
		n += *sum
	}
	return &n
}

// Explain is what a decision rests on, in words of the registry. Margins say how far the family that a thing speaks for is ahead.
func Explain(d turn.Decision, h turn.Hints, seen rules.Seen) []turn.Evidence {
	var out []turn.Evidence
	add := func(kind string, f turn.Family, list []turn.Match) {
		for _, m := range list {
			if slices.ContainsFunc(d.Evidence, func(e turn.Evidence) bool { return e.Kind == kind && e.Span == m.Span }) {
				continue // the main planner has cited it, and better
			}
			out = append(out, turn.Evidence{Kind: kind, ID: m.ID, Span: m.Span, Margin: max(0, Margin(f, h))})
		}
	}
	add("operation", turn.ODL, h.ExecutionMatches)
	add("operation", turn.ODL, h.StateQueryMatches)
	add("operation", turn.ODL, h.SettingsMatches)
	add("room", turn.ODL, matches(seen.Rooms))
	add("time", turn.SCH, times(seen))
	add("schedule", turn.SCH, scheduled(seen))
	add("missing", turn.ODL, h.MissingMatches)
	add("unsupported", turn.UNS, h.UnsupportedMatches)
	add("topic", turn.DQR, h.DeviceQnATopics)
	add("public", turn.FRG, h.PublicMatches)
	return append(out, d.Evidence...)
}

// times are the words of time, by what they are: clock, delay, span.
func times(seen rules.Seen) (out []turn.Match) {
	for _, m := range seen.Times {
		kind, _, _ := strings.Cut(m.ID, "@")
		out = append(out, turn.Match{ID: kind, Span: m.Span})
	}
	return out
}

// scheduled are the words of schedules.
func scheduled(seen rules.Seen) (out []turn.Match) {
	for _, m := range seen.Topics {
		if m.ID == "schedule" || m.ID == "event" {
			out = append(out, turn.Match(m))
		}
	}
	return out
}
