package pipeline

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
)

// Stages 1, 2, 5, 7: what is known before anybody decides.

// unsureBelow is the confidence of a recognition under which the words may be others.
const unsureBelow = 0.5

// Normalise is stage 1.
func Normalise(in turn.Input, seen rules.Seen) turn.Normalised {
	text := strings.Join(strings.Fields(norm.NFC.String(in.Text)), " ")
	bare := strings.TrimRight(text, " .!?~…")
	n := turn.Normalised{Text: bare, Words: len(strings.Fields(bare)), Language: "ko", Question: strings.Contains(text[len(bare):], "?"), Partial: in.Around.Voice.Partial}
	if seen.English {
		n.Language = "en"
	}
	if c := in.Around.Voice.Confidence; c != nil {
		n.Unsure = *c < unsureBelow
	}
	if a := in.Around.Voice.Addressed; a != nil {
		n.ForAnother = !*a
	}
	return n
}

// MergeHistory is stage 2. Strong: a question of the robot is open, and not only what was said at all; weak: something was said before, or something runs.
func MergeHistory(in turn.Input) turn.History {
	a := in.Around
	h := turn.History{Turns: len(a.History), HintStrength: "none", SlotState: a.Slots}
	if len(a.Workflows) > 0 {
		w := a.Workflows[0]
		h.ActiveWorkflowSummary = strings.TrimSpace(fmt.Sprintf("odl %s %s", w.Status, w.Utterance))
	}
	if len(a.Sessions) > 0 {
		h.ActiveWorkflowSummary = strings.TrimSpace("stm " + a.Sessions[0].Kind + " " + a.Sessions[0].State)
	}
	if a.Slots != nil {
		h.ActiveWorkflowSummary = "sch " + a.Slots.Operation + " " + a.Slots.Function
	}
	if len(a.History) > 0 || h.ActiveWorkflowSummary != "" {
		h.HintStrength = "weak"
	}
	if n := len(a.History); n > 0 {
		last := a.History[n-1]
		h.LastFamily = last.Family
		if last.By == "robot" && strings.HasSuffix(strings.TrimRight(last.Text, " .!"), "?") {
			h.PendingFollowUpText = last.Text
		}
	}
	if h.PendingFollowUpText != "" && h.LastFamily != turn.STTNull || a.Slots != nil && len(a.Slots.Missing) > 0 {
		h.HintStrength = "strong"
	}
	return h
}

// TypeObject is stage 5: what a first useful reply would be about. The first that holds.
func TypeObject(h turn.Hints) turn.ObjectMeta {
	for _, o := range objects {
		if signals := o.when(h); len(signals) > 0 {
			return turn.ObjectMeta{Type: o.kind, Role: role(h), Confidence: o.confidence, Signals: signals, By: "rules"}
		}
	}
	return turn.ObjectMeta{Type: turn.UnknownObject, Role: "none", Confidence: "low", Signals: []string{}, By: "rules"}
}

// role is how the object stands in the words.
func role(h turn.Hints) string {
	switch {
	case h.HasDeviceActionCueSurface || h.HasExplicitODLIntent:
		return "act_target"
	case h.HasFactQuestion || h.HasPublicRecommendationCue || h.HasStableDeviceQnATarget || h.HasStateQueryCapabilityAnchor:
		return "asked_about"
	}
	return "mentioned"
}

// flags gives the names of those that hold.
func flags(pairs ...any) (out []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if on, _ := pairs[i+1].(bool); on {
			out = append(out, pairs[i].(string))
		}
	}
	return out
}

var objects = []struct {
	kind, confidence string
	when             func(turn.Hints) []string
}{
	{turn.SupportedDevice, "high", func(h turn.Hints) []string { return flags("has_explicit_odl_intent", h.HasExplicitODLIntent) }},
	{turn.WorkflowTarget, "high", func(h turn.Hints) []string {
		return flags("has_contextual_schedule_slot_fragment", h.HasContextualScheduleSlotFragment, "has_schedule_workflow_scope", h.HasScheduleWorkflowScope)
	}},
	{turn.DeviceKnowledge, "high", func(h turn.Hints) []string {
		return flags("has_stable_device_qna_target", h.HasStableDeviceQnATarget)
	}},
	{turn.UnsupportedTarget, "high", func(h turn.Hints) []string {
		return flags("unsupported_request_categories", len(h.UnsupportedRequestCategories) > 0 && h.HasDeviceActionCueSurface && !h.HasSupportedCapabilityAnchor)
	}},
	{turn.OutsideOption, "medium", func(h turn.Hints) []string {
		return flags("has_public_recommendation_cue", h.HasPublicRecommendationCue && !h.HasSelfTarget)
	}},
	{turn.PublicEntity, "medium", func(h turn.Hints) []string { return flags("has_frg_scope", h.HasFRGScope && !h.HasSelfTarget) }},
	{turn.SupportedDevice, "medium", func(h turn.Hints) []string {
		return flags("has_supported_capability_anchor", h.HasSupportedCapabilityAnchor, "has_missing_capability_anchor", h.HasMissingCapability)
	}},
	{turn.UnsupportedTarget, "low", func(h turn.Hints) []string {
		return flags("unsupported_request_categories", len(h.UnsupportedRequestCategories) > 0)
	}},
	{turn.PublicEntity, "low", func(h turn.Hints) []string { return flags("has_fact_question", h.HasFactQuestion) }},
	{turn.Conversation, "medium", func(h turn.Hints) []string {
		return flags("has_coherent_conversation_purpose", h.HasCoherentConversationPurpose, "has_self_target", h.HasSelfTarget, "has_content_session_cue", h.HasContentCue)
	}},
	{turn.Conversation, "low", func(h turn.Hints) []string {
		return flags("has_clear_conversation_reply_shape", h.HasClearConversationReplyShape)
	}},
}

// JudgeReply is stage 7: whether a narrow first reply can begin at once.
func JudgeReply(h turn.Hints, n turn.Normalised) turn.ReplyMeta {
	r := func(kind, confidence, reason string) turn.ReplyMeta {
		return turn.ReplyMeta{Type: kind, Confidence: confidence, Reason: reason, By: "rules"}
	}
	switch {
	case h.STTNullResponseStrategy == "retry":
		return r(turn.IntentRepair, "high", "nothing was understood")
	case n.ForAnother:
		return r(turn.IntentRepair, "high", "the robot was not spoken to")
	case h.HasCoherentConversationPurpose:
		return r(turn.BoundedReply, "high", "what is talked about is plain")
	case h.HasExplicitODLIntent || h.HasScheduleWorkflowScope || h.HasContentCue:
		return r(turn.BoundedReply, "high", "something is asked of the robot")
	case h.LooksFragmentary && n.Unsure:
		return r(turn.IntentRepair, "high", "a fragment, and recognised with little confidence")
	case h.LooksFragmentary && (h.HasSupportedCapabilityAnchor || len(h.PublicMatches) > 0):
		return r(turn.Uncertain, "medium", "a thing is named, and nothing is said of it")
	case h.LooksFragmentary:
		return r(turn.IntentRepair, "medium", "a fragment without a target")
	case h.HasClearConversationReplyShape:
		return r(turn.BoundedReply, "medium", "it ends as a sentence to which one can reply")
	}
	return r(turn.Uncertain, "low", "no shape of a reply is clear")
}
