package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

func wfID(id string) core.WorkflowID { return core.WorkflowID(id) }

// draft is a plan as the planner writes it.
type draft struct {
	wf       string
	rev      int64
	cancel   []string
	schedule map[string]any
	requests []map[string]any
	goal     *wanted        // nil: none
	exp      map[string]any // what is written of it; empty: nothing
}

// message makes the event of a plan, by the very codec of the device. One with a flaw is refused there, or behind it.
func (m *home) message(p draft, d dice) core.Event {
	head := map[string]any{"cloud_workflow_id": p.wf, "plan_id": "pl_" + p.wf, "revision": p.rev}
	if len(p.cancel) > 0 {
		head["cancel_steps"] = p.cancel
	}
	if p.schedule != nil {
		head["schedule"] = p.schedule
	}
	deadline := d.between(30_000, 600_000)
	if !d.oneIn(16) {
		deadline = 0
	}
	switch d.IntN(8) {
	case 0:
		head["priority"] = "background"
	case 1:
		head["priority"] = "user"
	}
	plan := map[string]any{"workflow": head, "device_task_requests": p.requests}
	if len(p.exp) > 0 && !m.plain {
		plan["experience"] = p.exp
	}
	body, err := json.Marshal(plan)
	if err != nil {
		m.failf("the simulation made a bad plan: %v", err)
	}
	text := `{"v":"` + wire.Version + `","type":"plan","id":"0190a000-0000-7000-8000-000000000001","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":` + string(body) + `}`
	got := m.codec.Decode([]byte(text), false)
	ev, ok := got.(core.PlanSubmitted)
	if !ok {
		return got
	}
	ev.Plan.DeadlineMS = deadline // past the door, which would refuse one that is too short
	if g := ev.Plan.Goal; g != nil && g.Budget != nil {
		g.Budget.DeadlineMS = p.goal.deadlineMS
	}
	ev.ExpireMS, ev.SentMS, ev.Msg = 0, wallMS+m.T, core.MessageID("plan-"+string(ev.Plan.Workflow))
	return ev
}

// plan makes the event of a plan that has no flaw.
func (m *home) plan(p draft, d dice) core.PlanSubmitted {
	got := m.message(p, d)
	ev, ok := got.(core.PlanSubmitted)
	if !ok {
		m.failf("the simulation made a bad plan: %v %v\n%+v", p.requests, p.exp, got)
	}
	return ev
}

var rooms = []string{"living_room", "kitchen", "master_bedroom", "study"}

func (d dice) room() string { return rooms[d.IntN(len(rooms))] }

// requests makes the steps of a random plan: chains, fans, diamonds, conditions, delays. Each step is a decision of its own.
func (m *home) requests(wf string, d dice) []map[string]any {
	var steps []map[string]any
	n := 1 + d.IntN(5)
	for i := range n {
		name := fmt.Sprintf("step %s/s%d", wf, i)
		own := m.stream(name)
		if len(steps) > 0 && !m.happens(name) {
			continue
		}
		s := map[string]any{"cloud_step_id": fmt.Sprintf("s%d", i)}
		own.work(s, steps)
		own.waits(s, steps)
		own.policy(s)
		own.moment(s, wallMS+m.T)
		steps = append(steps, s)
	}
	m.stream("kept " + wf).keeps(steps)
	return steps
}

// moment makes a step wait for a moment of the wall clock, now and then one that has passed.
func (d dice) moment(s map[string]any, nowMS int64) {
	if s["temporal_relation"] != nil || !d.oneIn(12) {
		return
	}
	s["temporal_relation"] = "at_time"
	s["not_before"] = time.UnixMilli(nowMS + d.between(-120_000, 300_000)).UTC().Format("2006-01-02T15:04:05.000Z")
	if policy := []string{"", "run", "skip", "fail"}[d.IntN(4)]; policy != "" {
		s["on_overdue"] = policy
	}
}

// keeps wants the effect of a step kept until a later one has ended.
func (d dice) keeps(steps []map[string]any) {
	for i, s := range steps[:max(0, len(steps)-1)] {
		effect := ""
		params, _ := s["params"].(map[string]any)
		switch {
		case s["taskMethod"] == "startBasicAirClear" && s["required_effects"] == nil:
			effect = "air_cleaning_active"
		case s["taskMethod"] == "setMannerMode" && params["on"] == true:
			effect = "quiet_environment"
		}
		if effect != "" && d.oneIn(3) {
			s["required_effects"] = []any{map[string]any{"effect_id": effect, "kind": "maintain", "until": steps[i+1+d.IntN(len(steps)-1-i)]["cloud_step_id"]}}
		}
	}
}

func (d dice) work(s map[string]any, before []map[string]any) {
	call := func(method string, params map[string]any) {
		if s["taskMethod"] = method; params != nil {
			s["params"] = params
		}
	}
	switch d.IntN(15) {
	case 0, 1, 2, 3:
		call("setMoveTo", map[string]any{"position": d.room()})
	case 4, 5:
		mode := "fixed"
		if d.oneIn(3) {
			mode = "all"
		}
		call("startBasicAirClear", map[string]any{"duration_min": 1 + d.IntN(3), "mode": mode})
		if d.coin() {
			s["required_effects"] = []string{"air_cleaning_completed"}
		}
	case 6:
		call("returnToStation", nil)
	case 7:
		if d.coin() {
			call("setScreen", map[string]any{"on": d.coin()})
		} else {
			call("setScreen", map[string]any{"brightness": 10 * d.IntN(11)})
		}
	case 8:
		call("setVolume", map[string]any{"level": 10 * d.IntN(11)})
	case 9:
		call("setMannerMode", map[string]any{"on": d.coin()})
	case 10:
		if s["output_key"] = "o" + s["cloud_step_id"].(string); d.coin() {
			call("getAirQuality", nil)
		} else {
			call("getBatteryStatus", nil)
		}
	case 11:
		if d.coin() {
			call("stopMovement", nil)
		} else {
			call("stopCleaning", nil)
		}
	case 12:
		call("startVitalSign", nil)
	case 13:
		s["execution_target"], s["skill"] = "cloud", "fresh_information_brief"
		s["output_key"] = "o" + s["cloud_step_id"].(string) // it looks something up: nothing is told
	case 14: // as bright as the battery is full
		for _, b := range before {
			if b["taskMethod"] == "getBatteryStatus" {
				call("setScreen", nil)
				s["input_from"] = map[string]any{"brightness": b["output_key"].(string) + ".level"}
				s["depends_on"] = []any{b["cloud_step_id"]}
				return
			}
		}
		call("getBatteryStatus", nil)
		s["output_key"] = "o" + s["cloud_step_id"].(string)
	}
}

func (d dice) waits(s map[string]any, before []map[string]any) {
	if s["depends_on"] != nil {
		return
	}
	deps := []any{}
	taken := map[string]bool{}
	for range d.IntN(3) {
		if len(before) == 0 {
			break
		}
		id := before[d.IntN(len(before))]["cloud_step_id"].(string)
		if taken[id] {
			continue
		}
		taken[id] = true
		switch d.IntN(8) {
		case 0, 1:
			deps = append(deps, map[string]any{"step": id, "on": "done"})
		case 2:
			deps = append(deps, map[string]any{"step": id, "on": "failure"})
		default:
			deps = append(deps, id)
		}
	}
	s["depends_on"] = deps
	if len(deps) > 0 && d.oneIn(4) {
		if id, ok := deps[0].(string); ok {
			s["temporal_relation"], s["temporal_anchor_id"], s["delay_ms"] = "after_planned_step", id, d.between(1, 120_000)
		}
	}
}

func (d dice) policy(s map[string]any) {
	if s["execution_target"] == nil {
		switch d.IntN(6) {
		case 0:
			if s["output_key"] == nil {
				s["wait_policy"] = "submitted"
			}
		case 1:
			if s["taskMethod"] == "startBasicAirClear" {
				s["wait_policy"] = "event"
			}
		}
		if d.oneIn(16) {
			s["executionMode"] = "immediate"
		}
		if d.IntN(3) == 0 && s["taskMethod"] != "startVitalSign" { // that is never sent again
			s["retry"] = map[string]any{"max_attempts": 1 + d.IntN(3), "backoff_ms": d.between(0, 20_000)}
		}
	}
	switch d.IntN(4) {
	case 0:
		s["on_failure"] = "continue"
	case 1:
		s["on_failure"] = "abort"
	}
	switch d.IntN(10) {
	case 0:
		s["when"] = map[string]any{"ref": "ctx.battery.level", "op": "ge", "value": []any{20, 90}[d.IntN(2)]}
	case 1:
		s["when"] = map[string]any{"ref": "ctx.movement.is_moving", "op": "eq", "value": false}
	}
	if d.oneIn(6) {
		s["hold_ms"] = d.between(1_000, 30_000)
	}
	if d.oneIn(10) && s["taskMethod"] != "startVitalSign" {
		s["timeout_ms"] = d.between(1_000, 60_000)
	}
}
