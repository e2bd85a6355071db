package secondpass

import (
	"slices"

	"deviceagent/cloudlink/planner/turn"
)

// Pair is two families between which a second pass may decide, with the one thing that it asks.
type Pair struct {
	A, B turn.Family
	Ask  string
}

// Pairs are all of them.
var Pairs = []Pair{
	{turn.DEF, turn.STTNull, "Is there something in utterance to which one can reply at once, without asking what was meant? Then DEF, else STT_NULL."},
	{turn.DEF, turn.FRG, "Is there a thing of the outside world in utterance, and would a good first reply look it up? Then FRG, else DEF."},
	{turn.STTNull, turn.FRG, "Is there a thing of the outside world in utterance that can be named, such as a title or a place? Then FRG, else STT_NULL."},
}

// WeakShape is the reason of a need that nobody asked for. Who has a second opinion at hand already does not need it.
const WeakShape = "an object of no kind, and no clear shape of a reply"

// Of finds the pair of two families.
func Of(a, b turn.Family) (Pair, bool) {
	i := slices.IndexFunc(Pairs, func(p Pair) bool { return p.A == a && p.B == b || p.A == b && p.B == a })
	if i < 0 {
		return Pair{}, false
	}
	return Pairs[i], true
}

// Need says whether a second pass is held about a first decision, by what the stages before it found (nil: there were none).
func Need(d turn.Decision, before *turn.Trace) turn.SecondNeed {
	switch {
	case d.Control != nil || d.Schedule != nil || slices.ContainsFunc(d.Steps, func(s turn.Step) bool { return s.ExecutionTarget != "cloud" }) || len(d.Steps) > 1:
		return turn.SecondNeed{Reason: "the decision does something"}
	case d.AskFollowUp:
		return turn.SecondNeed{Reason: "the decision asks by itself"}
	case d.OwnerSelection != turn.DEF && d.OwnerSelection != turn.STTNull && d.OwnerSelection != turn.FRG:
		return turn.SecondNeed{Reason: "the owner is of no pair"}
	}
	if before != nil {
		if n := left(d, before); n.Opens {
			return n
		}
	}
	if d.NeedsSecondPass {
		if p, ok := Of(d.OwnerSelection, d.RunnerUpFamily); ok {
			return opens(p, "the first pass asks for it")
		}
		return turn.SecondNeed{Reason: "the runner-up is of no pair"}
	}
	if before != nil && d.OwnerSelection != turn.FRG && d.FamilyConfidence != "high" && slices.Contains([]string{turn.UnknownObject, turn.Conversation}, before.Object.Type) && before.Reply.Type != turn.BoundedReply {
		p, _ := Of(turn.DEF, turn.STTNull)
		return opens(p, WeakShape)
	}
	return turn.SecondNeed{Reason: "the first pass is sure"}
}

// left looks for a public signal that the first pass closed as talk or noise.
func left(d turn.Decision, before *turn.Trace) turn.SecondNeed {
	h := before.Hints
	if d.OwnerSelection == turn.FRG || !h.HasFRGScope && !(h.HasPublicRecommendationCue && h.HasDeviceActionCueSurface) {
		return turn.SecondNeed{}
	}
	p, _ := Of(d.OwnerSelection, turn.FRG)
	return opens(p, "a public signal is left over")
}

func opens(p Pair, why string) turn.SecondNeed {
	return turn.SecondNeed{Opens: true, Pair: []turn.Family{p.A, p.B}, Reason: why}
}

// Judge answers the question of a need by evidence. Where that is not enough the first pass stands.
func Judge(d turn.Decision, need turn.SecondNeed, before *turn.Trace) turn.SecondPass {
	p, _ := Of(need.Pair[0], need.Pair[1])
	out := turn.SecondPass{Question: p.Ask, Family: d.OwnerSelection, By: "rules", Reason: "nothing in the words decides it: the first pass stands"}
	h := before.Hints
	asks := h.HasFRGScope || h.HasPublicRecommendationCue && h.HasDeviceActionCueSurface
	switch {
	case p.B == turn.FRG && h.HasSelfTarget:
		out.Family, out.Reason = p.A, "it is about the user's own taste"
	case p.B == turn.FRG && before.Object.Type == turn.OutsideOption && len(h.PublicMatches) == 0:
		out.Family, out.Reason = p.A, "nothing of the outside world is named"
	case p.B == turn.FRG && len(h.PublicMatches) > 0 && asks:
		out.Family, out.Reason = turn.FRG, "a thing of the outside world is named and asked for: "+h.PublicMatches[0].Span
	case p.A == turn.DEF && p.B == turn.STTNull && before.Reply.Type == turn.BoundedReply:
		out.Family, out.Reason = turn.DEF, before.Reply.Reason
	case p.A == turn.DEF && p.B == turn.STTNull && before.Reply.Type == turn.IntentRepair:
		out.Family, out.Reason = turn.STTNull, before.Reply.Reason
	}
	out.Changed = out.Family != d.OwnerSelection
	return out
}
