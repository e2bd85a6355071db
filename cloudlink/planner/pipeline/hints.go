package pipeline

import (
	"slices"

	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
)

// Preclassify is stage 4: it marks what the registries know of the words. It chooses nothing, and an imperative alone marks nothing for
// the device.
func Preclassify(in turn.Input, seen rules.Seen, x registry.Excerpt, history turn.History) turn.Hints {
	s := saidOf(in.Text, seen.English)
	h := noHints()
	h.HasExplicitODLIntent, h.UnsupportedMatches, h.MissingMatches = seen.Explicit, matches(seen.Unsupported), matches(seen.Missing)
	operations(&h, seen, x)
	for _, topic := range slices.Sorted(keys(x.DeviceQnATopics)) {
		if span, ok := s.find(s.in(x.DeviceQnATopics[topic])); ok {
			h.DeviceQnATopics = append(h.DeviceQnATopics, turn.Match{ID: topic, Span: span})
		}
	}
	if span, ok := s.find(s.in(x.ProductIdentityAnchors)); ok {
		h.ProductIdentityAnchors = append(h.ProductIdentityAnchors, turn.Match{ID: "product", Span: span})
	}
	for _, m := range h.UnsupportedMatches {
		if !slices.Contains(h.UnsupportedRequestCategories, m.ID) {
			h.UnsupportedRequestCategories = append(h.UnsupportedRequestCategories, m.ID)
		}
	}
	hint := func(name string) bool { return s.has(x.ClassificationHints[name]) }
	asks := seen.ToDo || seen.About || seen.Wish
	h.HasDeviceActionCueSurface = seen.ToDo
	h.HasMissingCapability = len(seen.Missing) > 0 && (asks || seen.Words <= 3)
	h.HasCancelCue = hint("cancel_cue")
	h.HasSelfTarget = s.has(own.Self) && ownStyle(s, s.in(x.ClassificationHints["public_recommendation_cue"]))
	schedules(&h, seen, history, asks)
	h.HasFactQuestion = seen.Fact && seen.About
	h.HasPublicRecommendationCue = asks && hint("public_recommendation_cue")
	h.HasFRGScope = asks && (seen.Weather || seen.Outside)
	h.HasContentCue = asks && named(seen, "story")
	h.HasStableDeviceQnATarget = asks && (seen.Product || seen.About && len(h.DeviceQnATopics) > 0 && !h.HasSelfTarget)
	h.HasCoherentConversationPurpose = !seen.ToDo && (hint("conversation") && (!seen.Fragment || seen.Personal) || seen.Personal && seen.Statement || seen.Words <= mostGreeting && s.has(own.Greeting))
	h.HasClearConversationReplyShape = !seen.Fragment && (seen.Statement || asks || seen.Comfort)
	h.LooksFragmentary = seen.Fragment
	h.PublicMatches = public(seen, s, x)
	h.STTNullResponseStrategy = strategy(h, seen, history)
	return h
}

// mostGreeting is how many words of thanks or a greeting are no more than that.
const mostGreeting = 4

// noHints are the marks where none were made.
func noHints() turn.Hints {
	none := func() []turn.Match { return []turn.Match{} }
	return turn.Hints{ExecutionMatches: none(), StateQueryMatches: none(), SettingsMatches: none(), UnsupportedMatches: none(), DeviceQnATopics: none(), ProductIdentityAnchors: none(),
		MissingMatches: none(), PublicMatches: none(), UnsupportedRequestCategories: []string{}}
}

// operations sorts the operations that are named by their kind.
func operations(h *turn.Hints, seen rules.Seen, x registry.Excerpt) {
	for _, m := range matches(seen.Operations) {
		if _, ok := x.ExecutionCapabilities[m.ID]; ok {
			h.ExecutionMatches = append(h.ExecutionMatches, m)
		} else if _, ok := x.StateQueryCapabilities[m.ID]; ok {
			h.StateQueryMatches = append(h.StateQueryMatches, m)
		} else if _, ok := x.SettingsCapabilities[m.ID]; ok {
			h.SettingsMatches = append(h.SettingsMatches, m)
		}
	}
	h.HasExecutionCapabilityAnchor, h.HasStateQueryCapabilityAnchor, h.HasSettingsCapabilityAnchor = len(h.ExecutionMatches) > 0, len(h.StateQueryMatches) > 0, len(h.SettingsMatches) > 0
	h.HasSupportedCapabilityAnchor = h.HasExecutionCapabilityAnchor || h.HasStateQueryCapabilityAnchor || h.HasSettingsCapabilityAnchor
}

// schedules marks what speaks of schedules. A fragment with a time answers the question about one that is open, unless it takes that back
// or is plainly about something else.
func schedules(h *turn.Hints, seen rules.Seen, history turn.History, asks bool) {
	h.HasScheduleManagementAnchor = named(seen, "schedule")
	h.HasScheduleTimeSemantics = seen.Clock || seen.Recurring
	open := history.SlotState != nil && len(history.SlotState.Missing) > 0
	strong := seen.Explicit || seen.Weather || seen.Outside || len(seen.Unsupported) > 0 || named(seen, "story")
	h.HasContextualScheduleSlotFragment = open && !h.HasCancelCue && !strong && (h.HasScheduleTimeSemantics || len(seen.Rooms) > 0 || seen.Fragment)
	h.HasScheduleWorkflowScope = h.HasContextualScheduleSlotFragment || asks && (h.HasScheduleManagementAnchor || h.HasScheduleTimeSemantics && !seen.Explicit) || asks && named(seen, "event") && len(seen.Unsupported) == 0
}

// publicMedia are things that this robot does not play, and that one can ask about all the same.
var publicMedia = []string{"video_playback", "music_playback", "streaming_or_app_execution"}

// public are the things of the outside world that are named. A word that only asks for one ("추천") is none, but what stands beside it is.
func public(seen rules.Seen, s said, x registry.Excerpt) []turn.Match {
	out := []turn.Match{}
	cues := s.in(x.ClassificationHints["public_recommendation_cue"])
	add := func(m rules.Match) {
		if cue, only := saidOf(m.Span, seen.English).find(cues); !only || cue != m.Span {
			out = append(out, turn.Match(m))
		}
	}
	for _, m := range seen.Topics {
		if m.ID == "weather" || m.ID == "info" || m.ID == "place" {
			add(m)
		}
	}
	for _, m := range seen.Unsupported {
		if slices.Contains(publicMedia, m.ID) {
			add(m)
		}
	}
	if i := s.last(cues); i >= 0 && len(out) == 0 {
		if at := asked(s, i); at >= 0 {
			out = append(out, turn.Match{ID: "named", Span: s.spoken[at]})
		}
	}
	return out
}

// asked is the word that a request for a recommendation is about: in Korean the last before it that names something, in English the
// first behind it; -1: none does, or it is the user's own style.
func asked(s said, cue int) int {
	step := -1
	if s.english {
		step = 1
	}
	for i := cue + step; i >= 0 && i < len(s.fields); i += step {
		word := saidOf(s.fields[i], s.english)
		switch {
		case word.has(own.NoTarget):
		case word.has(own.SelfStyle), word.has(own.Self):
			return -1
		default:
			return i
		}
	}
	return -1
}

// ownStyle says whether what is to be recommended is the user's own style: the word before the request in Korean, any in English.
func ownStyle(s said, cues []string) bool {
	cue := s.last(cues)
	if cue < 0 || s.english {
		return cue >= 0 && s.has(own.SelfStyle)
	}
	for i := cue - 1; i >= 0; i-- {
		if word := saidOf(s.fields[i], false); !word.has(own.NoTarget) {
			return word.has(own.SelfStyle)
		}
	}
	return false
}

// strategy is how a turn without a target would be answered; empty where it has one.
func strategy(h turn.Hints, seen rules.Seen, history turn.History) string {
	switch {
	case seen.Words == 0:
		return "retry"
	case !seen.Fragment || h.HasContextualScheduleSlotFragment:
		return ""
	case h.HasSupportedCapabilityAnchor || len(seen.Rooms) > 0 || len(h.PublicMatches) > 0 || history.HintStrength == "strong":
		return "scoped_probe"
	}
	return "clarification"
}

func named(seen rules.Seen, topic string) bool {
	return slices.ContainsFunc(seen.Topics, func(m rules.Match) bool { return m.ID == topic })
}

func matches(list []rules.Match) []turn.Match {
	out := []turn.Match{}
	for _, m := range list {
		out = append(out, turn.Match(m))
	}
	return out
}
