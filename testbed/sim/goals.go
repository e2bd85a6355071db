package sim

import (
	"slices"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// experiencesOf draws what the device of a home does with experiences: most evaluate them, up to some tier.
func experiencesOf(d dice) bridge.Experiences {
	switch d.IntN(8) {
	case 0:
		return bridge.Experiences{Off: true}
	case 1:
		return bridge.Experiences{Tier: core.TierShadow}
	case 2:
		return bridge.Experiences{Tier: core.TierContent}
	case 3, 4:
		return bridge.Experiences{Tier: core.TierRestricted}
	}
	return bridge.Experiences{Tier: core.TierFull}
}

// wanted is the experience of a plan as the planner knows it.
type wanted struct {
	id, goal   string
	tier       core.Tier
	budget     *core.GoalBudget
	deadlineMS int64 // that of the budget, which the door would refuse where it is too short for the plan
	lowered    bool  // a revision has lowered the tier, or tried to
}

// wish draws an experience for a plan, or none.
func (c *cloud) wish(wf string) *wanted {
	m := c.m
	d := m.stream("experience " + wf)
	if d.coin() || !m.happens("experience "+wf) {
		return nil
	}
	w := &wanted{id: "exp_" + wf, goal: []string{"clean_air_delivered", "robot_is_there", "quiet_home"}[d.IntN(3)], tier: m.exp.Tier}
	if !m.exp.Off && d.oneIn(4) { // a lower one
		w.tier = tierList[d.IntN(1+slices.Index(tierList, w.tier))]
	}
	if d.oneIn(5) {
		return w
	}
	b := core.GoalBudget{Decisions: int64(d.IntN(4)), Retries: int64(d.IntN(4)), Questions: int64(d.IntN(3))}
	b.Replans = d.between(0, b.Decisions)
	w.deadlineMS = d.between(300_000, 3_600_000)
	if d.oneIn(3) {
		w.deadlineMS = d.between(10_000, 240_000)
	}
	w.budget = &b
	return w
}

// longDeadlineMS passes every door. What the plan really has is put in its place behind it.
const longDeadlineMS = 86_400_000

// write makes the experience of a plan message with these steps.
func (w *wanted) write(d dice, steps []map[string]any) map[string]any {
	out := map[string]any{"contract_version": "experience.v1", "experience_id": w.id, "goal_id": w.goal, "summary": "…", "effects": w.effects(d, steps)}
	switch d.IntN(3) {
	case 0:
		out["constraints"] = []string{"safety_policy_first"}
	case 1:
		out["constraints"] = []string{"safety_policy_first", "user_can_cancel_anytime"}
	}
	if b := w.budget; b != nil {
		out["budget"] = map[string]any{"max_decisions": b.Decisions, "max_replans": b.Replans, "deadline_ms": longDeadlineMS, "fallback": "ask_or_stop",
			"automatic_retries": b.Retries, "user_questions": b.Questions}
	}
	switch {
	case w.lowered:
		out["tier"] = string(core.TierShadow)
	case w.tier != "":
		out["tier"] = string(w.tier)
	}
	return out
}

// effects draws some effects of the steps; one at least is required.
func (w *wanted) effects(d dice, steps []map[string]any) []any {
	var all []map[string]any
	for _, s := range steps {
		for _, e := range effectsOf(s) {
			all = append(all, map[string]any{"effect_id": e, "step_id": s["cloud_step_id"], "required": !d.oneIn(4)})
		}
	}
	d.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	all = all[:min(len(all), 1+d.IntN(3))]
	out := make([]any, len(all))
	for i, e := range all {
		out[i] = e
	}
	if len(all) > 0 {
		all[0]["required"] = true
	}
	return out
}

// effectsOf are the effects that a step is asked for. Source: packaging/catalog/operations.json.
func effectsOf(s map[string]any) []string {
	switch list := s["required_effects"].(type) {
	case []string:
		return list
	case []any:
		return []string{list[0].(map[string]any)["effect_id"].(string)}
	}
	p, _ := s["params"].(map[string]any)
	quiet := map[any]string{"setMannerMode": "quiet_environment", "setVolume": "quiet_environment", "setScreen": "reduced_visual_stimulation"}
	switch s["taskMethod"] {
	case "setMannerMode":
		if p["on"] != true {
			return nil
		}
	case "setVolume":
		if p["level"].(int) > 20 {
			return nil
		}
	case "setScreen":
		if b, ok := p["brightness"].(int); s["input_from"] != nil || ok && b > 30 || !ok && p["on"] != false {
			return nil
		}
	}
	if e := quiet[s["taskMethod"]]; e != "" {
		return []string{e}
	}
	e := map[any]string{"setMoveTo": "target_location_reached", "returnToStation": "station_docked", "startBasicAirClear": "air_cleaning_active", "getAirQuality": "air_quality_reported",
		"getBatteryStatus": "battery_status_reported", "stopMovement": "movement_stopped", "stopCleaning": "air_cleaning_stopped", "startVitalSign": "vital_interaction_ended"}[s["taskMethod"]]
	if e == "" {
		return nil
	}
	return []string{e}
}

// fit makes steps that an experience of this tier may have, one at least with an effect. What does not move the body takes the place of
// what does. There is no effect that content alone brings about here, so a goal of that tier is written down only.
func (w *wanted) fit(steps []map[string]any) {
	if w.tier == core.TierContent {
		w.tier = core.TierShadow
	}
	for _, s := range steps {
		p, _ := s["params"].(map[string]any)
		switch {
		case w.tier != core.TierRestricted:
		case s["taskMethod"] == "setMoveTo":
			instead(s, "startBasicAirClear", map[string]any{"duration_min": 1, "mode": "fixed"})
			s["required_effects"] = []string{"air_cleaning_completed"}
		case s["taskMethod"] == "returnToStation":
			instead(s, "setMannerMode", map[string]any{"on": true})
		case s["taskMethod"] == "startVitalSign":
			instead(s, "setScreen", map[string]any{"on": false})
		case p["mode"] == "all":
			p["mode"] = "fixed"
		}
	}
	if !slices.ContainsFunc(steps, func(s map[string]any) bool { return len(effectsOf(s)) > 0 }) {
		instead(steps[len(steps)-1], "setMannerMode", map[string]any{"on": true})
	}
}

// instead makes a step of another one, in its place.
func instead(s map[string]any, method string, params map[string]any) {
	for _, key := range []string{"required_effects", "wait_policy", "input_from", "output_key", "execution_target", "skill"} {
		delete(s, key)
	}
	s["taskMethod"], s["params"] = method, params
}

// flaw is an experience that has to be refused, with this code and nothing changed.
type flaw struct {
	code core.Reason
	make func(e map[string]any)
}

// flaws of a first plan. Those of the tier need a device that allows less than all.
var flaws = []flaw{
	{bridge.ReasonUnknownEffect, func(e map[string]any) { effect(e)["effect_id"] = "warm_home" }},
	{bridge.ReasonUnknownStep, func(e map[string]any) { effect(e)["step_id"] = "s99" }},
	{bridge.ReasonEffectNoProvider, func(e map[string]any) { effect(e)["effect_id"] = "night_mode_applied" }},
	{wire.ReasonBadValue, func(e map[string]any) {
		for _, x := range e["effects"].([]any) {
			x.(map[string]any)["required"] = false
		}
	}},
	{wire.ReasonBadValue, func(e map[string]any) {
		e["budget"] = map[string]any{"max_decisions": 1, "max_replans": 2, "deadline_ms": longDeadlineMS, "fallback": "ask_or_stop", "automatic_retries": 0, "user_questions": 0}
	}},
	{core.ReasonTierBlocked, func(e map[string]any) { e["tier"] = "content_only" }},
	{core.ReasonTierBlocked, raised}, // on a device that allows less
}

func raised(e map[string]any) { e["tier"] = "full" }

// revisedFlaws are those of a revision.
var revisedFlaws = append([]flaw{
	{core.ReasonIDReused, func(e map[string]any) { e["goal_id"] = "another" }},
	{core.ReasonIDReused, func(e map[string]any) { e["experience_id"] = "another" }},
	{core.ReasonIDReused, func(e map[string]any) { clear(e) }},
	{core.ReasonTierBlocked, raised}, {core.ReasonTierBlocked, raised},
}, flaws[:5]...)

func effect(e map[string]any) map[string]any { return e["effects"].([]any)[0].(map[string]any) }

// spoil makes an experience bad, now and then, in homes that evaluate it. most is the tier that it may have.
func (c *cloud) spoil(e map[string]any, from []flaw, most core.Tier, d dice, name string) core.Reason {
	if c.m.pure() || !d.oneIn(8) || !c.m.happens("flaw "+name) {
		return ""
	}
	f := from[d.IntN(len(from))]
	if f.code == core.ReasonTierBlocked && most == core.TierFull {
		f = from[0]
	}
	f.make(e)
	return f.code
}

// expects notes what has to become of a message with a flaw.
func (j *judge) expects(id core.MessageID, wf core.WorkflowID, code core.Reason) {
	j.flawed[id] = flawed{wf, code}
}

type flawed struct {
	wf   core.WorkflowID
	code core.Reason
}

// mayGoBefore are the reasons that a message is refused with before its experience is looked at.
var mayGoBefore = []core.Reason{core.ReasonAfterCancel, core.ReasonAlreadyTerminal, core.ReasonOutdatedRevision, core.ReasonCancelledBefore, core.ReasonSameRevision, core.ReasonDuplicateStep,
	core.ReasonUnknownTarget, core.ReasonDecisionStale, core.ReasonSuperseded, core.ReasonNotAllowed, core.ReasonClockUntrusted}

// refused: what is wrong in its experience is refused with its code, and changes nothing.
func (j *judge) refused(id core.MessageID, a *core.Answer, c core.Change) {
	first := !j.taken[a.Workflow]
	if a.Accepted {
		j.taken[a.Workflow] = true
	}
	f, bad := j.flawed[id]
	if !bad {
		return
	}
	named := a.Reason == f.code || slices.ContainsFunc(a.Faults, func(x core.Fault) bool { return x.Reason == f.code })
	switch {
	case a.Accepted && first && f.code == core.ReasonIDReused: // it came before what it contradicts: then that is refused
	case a.Accepted:
		j.m.failf("bad experience: %s of %s is accepted, it is %s", id, f.wf, f.code)
	case named:
		j.m.tally.Refusals[f.code]++
	case !slices.Contains(mayGoBefore, a.Reason):
		j.m.failf("bad experience: %s of %s is refused as %s, it is %s", id, f.wf, a.Reason, f.code)
	}
	if j.aims[f.wf] == nil && j.plans[f.wf] == nil && slices.ContainsFunc(c.Workflows, func(wf *core.Workflow) bool { return wf.Plan.Workflow == f.wf }) {
		j.m.failf("bad experience: %s was refused, and %s is there", id, f.wf)
	}
}
