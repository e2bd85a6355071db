package pipeline

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/turn"
)

// signal is how much a mark of the preclassifier speaks for a family.
type signal struct {
	flag   string
	family turn.Family
	weight float64
	on     func(turn.Hints) bool
}

// signals are the prior of the flows: weights by hand, the same for all sentences. They are not fitted to any rows.
var signals = []signal{
	{"has_explicit_odl_intent", turn.ODL, 8, func(h turn.Hints) bool { return h.HasExplicitODLIntent }},
	{"has_supported_capability_anchor", turn.ODL, 2, func(h turn.Hints) bool { return h.HasSupportedCapabilityAnchor }},
	{"has_device_action_cue_surface", turn.ODL, 1.5, func(h turn.Hints) bool { return h.HasDeviceActionCueSurface && h.HasSupportedCapabilityAnchor }},
	{"has_missing_capability_anchor", turn.ODL, 3, func(h turn.Hints) bool { return h.HasMissingCapability }},
	{"has_contextual_schedule_slot_fragment", turn.SCH, 8, func(h turn.Hints) bool { return h.HasContextualScheduleSlotFragment }},
	{"has_schedule_workflow_scope", turn.SCH, 5, func(h turn.Hints) bool { return h.HasScheduleWorkflowScope }},
	{"has_schedule_management_anchor", turn.SCH, 1, func(h turn.Hints) bool { return h.HasScheduleManagementAnchor }},
	{"has_schedule_time_semantics", turn.SCH, 0.5, func(h turn.Hints) bool { return h.HasScheduleTimeSemantics }},
	{"has_frg_scope", turn.FRG, 3, func(h turn.Hints) bool { return h.HasFRGScope }},
	{"has_public_recommendation_cue", turn.FRG, 1.5, func(h turn.Hints) bool { return h.HasPublicRecommendationCue && !h.HasSelfTarget }},
	{"has_fact_question", turn.FRG, 1.5, func(h turn.Hints) bool { return h.HasFactQuestion }},
	{"has_stable_device_qna_target", turn.DQR, 4, func(h turn.Hints) bool { return h.HasStableDeviceQnATarget }},
	{"unsupported_request_categories", turn.UNS, 1, func(h turn.Hints) bool { return len(h.UnsupportedRequestCategories) > 0 }},
	{"unsupported_request_categories with an action cue", turn.UNS, 3, func(h turn.Hints) bool { return len(h.UnsupportedRequestCategories) > 0 && h.HasDeviceActionCueSurface }},
	{"has_device_action_cue_surface alone", turn.UNS, 1, func(h turn.Hints) bool {
		return h.HasDeviceActionCueSurface && !h.HasSupportedCapabilityAnchor && !h.HasContentCue && !h.HasFRGScope
	}},
	{"has_content_session_cue", turn.STM, 5, func(h turn.Hints) bool { return h.HasContentCue }},
	{"has_coherent_conversation_purpose", turn.DEF, 3, func(h turn.Hints) bool { return h.HasCoherentConversationPurpose }},
	{"has_self_target", turn.DEF, 2, func(h turn.Hints) bool { return h.HasSelfTarget }},
	{"has_clear_conversation_reply_shape", turn.DEF, 1, func(h turn.Hints) bool { return h.HasClearConversationReplyShape }},
	{"conversation is always possible", turn.DEF, 0.3, func(turn.Hints) bool { return true }},
	{"looks_fragmentary", turn.STTNull, 2.5, func(h turn.Hints) bool { return h.LooksFragmentary }},
	{"stt_null_response_strategy retry", turn.STTNull, 6, func(h turn.Hints) bool { return h.STTNullResponseStrategy == "retry" }},
	{"a fragment is always possible", turn.STTNull, 0.1, func(turn.Hints) bool { return true }},
}

// most flows are looked at first.
const mostFlows = 5

// share is what the signals say of one family.
type share struct {
	family turn.Family
	part   float64 // of 1
	why    []string
}

// shares weighs the families, the strongest first. Families without a signal are not in it.
func shares(h turn.Hints) (out []share) {
	total := 0.0
	for _, s := range signals {
		if !s.on(h) {
			continue
		}
		i := slices.IndexFunc(out, func(x share) bool { return x.family == s.family })
		if i < 0 {
			out, i = append(out, share{family: s.family}), len(out)
		}
		out[i].part += s.weight
		out[i].why = append(out[i].why, s.flag)
		total += s.weight
	}
	for i := range out {
		out[i].part /= total
	}
	slices.SortStableFunc(out, func(a, b share) int { return cmp.Compare(b.part, a.part) })
	return out
}

// RankFlows is stage 3: the families that the hints allow, their flows, and which of them to look at first. Of the flows of a family one
// whose cue stands in the words comes before the first of its agent.
func RankFlows(in turn.Input, h turn.Hints, agents *registry.Registry, english bool) turn.RankedFlows {
	r := turn.RankedFlows{By: "inline", TopFlows: []turn.RankedFlow{}}
	s := saidOf(in.Text, english)
	for _, one := range shares(h) {
		a, ok := agents.Agent(one.family)
		if !ok {
			continue
		}
		r.AllowedFamilies = append(r.AllowedFamilies, one.family)
		why := strings.Join(one.why, ", ")
		first := registry.Flow{Family: one.family, Agent: a.AgentID, Skill: a.Skills[0].SkillID}
		for _, skill := range a.Skills[1:] {
			if span, ok := s.find(s.in(skill.Cues)); ok {
				r.TopFlows = append(r.TopFlows, flow(registry.Flow{Family: one.family, Agent: a.AgentID, Skill: skill.SkillID}, one.part, why+"; cue "+span))
				break
			}
		}
		r.TopFlows = append(r.TopFlows, flow(first, one.part, why))
	}
	r.TopFlows = r.TopFlows[:min(len(r.TopFlows), mostFlows)]
	return primary(r)
}

// flow is an entry of the list. Ten thousandths are as fine as anybody reads.
func flow(f registry.Flow, part float64, why string) turn.RankedFlow {
	return turn.RankedFlow{FlowID: f.ID(), Score: round(part), Confidence: level(part), Rationale: why}
}

func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// level names a share.
func level(part float64) string {
	switch {
	case part >= 0.6:
		return "high"
	case part >= 0.3:
		return "medium"
	}
	return "low"
}

// primary fills in what the order says of the owner.
func primary(r turn.RankedFlows) turn.RankedFlows {
	if len(r.TopFlows) == 0 {
		return r
	}
	r.PrimaryFlow, r.Owner = r.TopFlows[0].FlowID, familyOf(r.TopFlows[0].FlowID)
	r.OwnerStrength = map[string]string{"high": "strong", "medium": "medium", "low": "weak"}[r.TopFlows[0].Confidence]
	for _, f := range r.TopFlows {
		if family := familyOf(f.FlowID); family != r.Owner {
			r.Alternative = family
			break
		}
	}
	return r
}

func familyOf(flowID string) turn.Family {
	family, _, _ := strings.Cut(flowID, ".")
	return turn.Family(family)
}

// Pool is stage 9: who is looked at first, by the ranked flows, or by the families that the hints allow where none are ranked.
func Pool(r turn.RankedFlows, h turn.Hints, agents *registry.Registry) turn.Candidates {
	c := turn.Candidates{AgentIDs: []string{}, SkillIDs: []string{}, Source: "ranked_top_flows"}
	add := func(f registry.Flow) {
		if !slices.Contains(c.AgentIDs, f.Agent) {
			c.AgentIDs = append(c.AgentIDs, f.Agent)
		}
		if !slices.Contains(c.SkillIDs, f.Skill) {
			c.SkillIDs = append(c.SkillIDs, f.Skill)
		}
	}
	for _, top := range r.TopFlows {
		if f, ok := agents.Flow(top.FlowID); ok {
			add(f)
		}
	}
	if len(c.AgentIDs) > 0 {
		return c
	}
	c.Source = "preclassifier_fallback"
	for _, one := range shares(h) {
		if f, ok := agents.Owner(one.family); ok {
			add(f)
		}
	}
	return c
}

// KeepRunnerUp is the ranked flows' part in stage 12: a decision that is not certain keeps a second family in view. It changes nothing else.
func KeepRunnerUp(d turn.Decision, r turn.RankedFlows) turn.Decision {
	if d.FamilyConfidence == "high" || d.RunnerUpFamily != "" {
		return d
	}
	for _, f := range []turn.Family{r.Owner, r.Alternative} {
		if f != "" && f != d.OwnerSelection {
			d.RunnerUpFamily = f
			break
		}
	}
	return d
}

// Align is stage 15: within the family that was decided the flow is the one that is ranked first. Another family is never taken, and a
// flow that somebody has chosen with care stands.
func Align(d turn.Decision, r turn.RankedFlows, agents *registry.Registry) (turn.Decision, turn.Centre) {
	c := turn.Centre{From: d.SelectedFlowID, To: d.SelectedFlowID, Reason: "no flow of this family is ranked before"}
	owner, ok := agents.Owner(d.OwnerSelection)
	if !ok || owner.ID() != d.SelectedFlowID {
		c.Reason = "the flow was chosen already"
		return d, c
	}
	for _, top := range r.TopFlows {
		f, ok := agents.Flow(top.FlowID)
		if !ok || f.Family != d.OwnerSelection {
			continue
		}
		if f.ID() != d.SelectedFlowID {
			f.Own(&d)
			c.To, c.Changed, c.Reason = f.ID(), true, top.Rationale
		}
		return d, c
	}
	return d, c
}

// Margin is how far a family is before the next one, by the signals; negative: it is behind the first.
func Margin(f turn.Family, h turn.Hints) float64 {
	mine, other := 0.0, 0.0
	for _, s := range shares(h) {
		if s.family == f {
			mine = s.part
		} else {
			other = max(other, s.part)
		}
	}
	return round(mine - other)
}

func keys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }
