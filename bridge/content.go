package bridge

import (
	"fmt"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// contentOf is what the planner says to a content session.
func contentOf(h core.Head, b *wire.Content) core.Event {
	ev := core.ContentReceived{Head: h, Session: core.TaskID(b.SessionID), Verb: core.ContentVerb(b.Verb), Text: b.Text, Act: b.SpeechAct}
	if p := b.Payload; p != nil {
		ev.Last = p.Last
		if p.RetrievedAt != "" {
			ev.LookedMS = millis(p.RetrievedAt)
		}
	}
	return ev
}

// contentReport is what a session tells the planner.
func contentReport(r *core.ContentReport) *wire.Content {
	out := &wire.Content{SessionID: string(r.Session), Verb: string(r.Verb), Text: r.Text, RefID: string(r.Ref), ReasonCode: code(r.Reason), State: string(r.State),
		Event: r.Event, Position: r.Position}
	if r.Ref != "" {
		out.Accepted = &r.Accepted
	}
	return out
}

// sessionOf names the session of a step that is due.
func sessionOf(d *core.StepDue) string {
	if d.Tells {
		return string(d.Task)
	}
	return ""
}

// skillEffects are what a cloud step has to bring about: what the plan names, else what its skill is for. A step whose output others take
// looks something up and tells nobody, so it has none by default.
func (k *checker) skillEffects(s *core.StepSpec, r *wire.Request) {
	provided := k.cat.Skills[catalog.SkillID(r.Skill)].Effects
	if s.Named = len(r.RequiredEffects) > 0; !s.Named {
		if r.OutputKey == "" {
			s.Effects = append(s.Effects, provided...)
		}
		return
	}
	for i, e := range r.RequiredEffects {
		path := fmt.Sprintf("required_effects[%d]", i)
		id := catalog.EffectID(e.EffectID)
		switch _, known := k.cat.Effects[id]; {
		case !known:
			k.here(path, ReasonUnknownEffect, "%q is no effect of this catalog", e.EffectID)
		case !slices.Contains(provided, id):
			k.here(path, ReasonEffectNoProvider, "%s does not bring about %s", r.Skill, e.EffectID)
		case e.Kind == kindMaintain:
			k.here(path, core.ReasonUnsupported, "what is told once is not kept")
		case !slices.Contains(s.Effects, id):
			s.Effects = append(s.Effects, id)
		}
	}
}

// prefetch takes what came with a schedule. The core knows how much there is room for.
func (k *checker) prefetch() {
	for _, p := range k.w.Prefetch {
		k.plan.Prefetch = append(k.plan.Prefetch, core.Part{Name: p.Part, At: p.Position, Text: p.Text})
	}
}
