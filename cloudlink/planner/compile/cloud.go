package compile

import (
	"cmp"
	"fmt"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Who carries out a step.
const (
	onDevice = "device"
	onCloud  = "cloud"
)

// afterExisting is the relation to work that was under way before the plan.
const afterExisting = "after_existing_event"

// cloudTimeoutMS bounds a cloud step whose skill has no time of its own here: looked up, sent, and told to its end.
const cloudTimeoutMS = 300_000

// skillTimeoutMS are the times of skills. News that take longer than this to come are told to nobody.
var skillTimeoutMS = map[string]int64{"fresh_information_brief": 120_000}

func cloudTimeout(s turn.Step) int64 {
	return cmp.Or(s.TimeoutMS, skillTimeoutMS[s.Skill], cloudTimeoutMS)
}

// cloud completes the request of a step that the planner's agents carry out when it is due. What a skill needs to know is its own affair:
// its parameters go through unchanged.
func (c *compiler) cloud(s *turn.Step, r *wire.Request) error {
	if s.TaskMethod != "" {
		return fmt.Errorf("a cloud step has a skill and no method, and it names %s", s.TaskMethod)
	}
	if _, known := c.cat.Skills[catalog.SkillID(s.Skill)]; !known {
		return fmt.Errorf("%q is no skill of this catalog", s.Skill)
	}
	r.Params, r.RequiredEffects, r.TimeoutMS = s.Params, named(s), cloudTimeout(*s)
	return nil
}

// named are the effects that the decision names.
func named(s *turn.Step) (out []wire.RequiredEffect) {
	for _, e := range s.RequiredEffects {
		out = append(out, wire.RequiredEffect{EffectID: e})
	}
	return out
}

// anchor ties a step to an event of other work that is under way. It counts from when the words were said: what ended while they
// were on their way was running when somebody spoke of it.
func (c *compiler) anchor(s *turn.Step, r *wire.Request) error {
	switch {
	case s.AnchorEvent == "" && s.TemporalRelation != afterExisting:
		return nil
	case s.AnchorEvent == "" || s.TemporalRelation != afterExisting:
		return fmt.Errorf("relation %q with anchor event %q: %s goes with an event", s.TemporalRelation, s.AnchorEvent, afterExisting)
	case !c.cat.Given(catalog.EventName(s.AnchorEvent)):
		return fmt.Errorf("no operation gives the event %q that it waits for", s.AnchorEvent)
	}
	r.AnchorEvent = s.AnchorEvent
	if !c.said.IsZero() {
		r.AnchorSeenAt = c.said.UTC().Format(time.RFC3339)
	}
	return nil
}

// awaits is how long the longest run goes on that can give an event, in milliseconds.
func (c *compiler) awaits(event string) (longest int64) {
	for m, op := range c.cat.Operations {
		if !c.cat.Gives(m, catalog.EventName(event)) {
			continue
		}
		most := map[string]any{}
		for name, p := range op.Params {
			if p.Maximum != nil {
				most[name] = *p.Maximum
			}
		}
		longest = max(longest, op.Timeout.For(most), op.ExpectedMS.For(most))
	}
	return longest
}
