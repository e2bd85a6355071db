package sim

import (
	"encoding/json"
	"fmt"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

const planHead = `{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},"device_task_requests":`

// submit hands in plan number n of this play.
func (m *sim) submit(n int) {
	if !m.up {
		m.at(5_000, func() { m.submit(n) })
		return
	}
	ev := m.plan(fmt.Sprintf("wf_%d", n), m.requests())
	m.offer(ev)
	if m.fault(4) {
		m.at(m.between(0, 600_000), func() { m.offer(ev) }) // the broker sends it again
	}
}

func (m *sim) offer(ev core.PlanSubmitted) {
	if !m.up {
		m.at(5_000, func() { m.offer(ev) })
		return
	}
	m.judge.offered(ev)
	m.tell(ev)
}

func (m *sim) plan(wf string, requests []map[string]any) core.PlanSubmitted {
	body, _ := json.Marshal(requests)
	text := `{"v":"` + wire.Version + `","type":"plan","id":"0190a000-0000-7000-8000-000000000001","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":` +
		strings.NewReplacer("wf_1", wf, "pl_1", "pl_"+wf).Replace(planHead) + string(body) + `}}`
	ev, ok := m.codec.Decode([]byte(text), false).(core.PlanSubmitted)
	if !ok {
		m.failf("the simulation made a bad plan: %s\n%+v", body, m.codec.Decode([]byte(text), false))
	}
	ev.ExpireMS, ev.SentMS, ev.Msg = 0, 1_800_000_000_000+m.T, core.MessageID("plan-"+wf)
	if m.rnd.IntN(12) == 0 {
		ev.Plan.DeadlineMS = m.between(5_000, 600_000)
	}
	return ev
}

func (m *sim) room() string {
	return []string{"living_room", "kitchen", "master_bedroom", "study"}[m.rnd.IntN(4)]
}

// requests makes the steps of a random plan: chains, fans, diamonds, conditions, delays.
func (m *sim) requests() []map[string]any {
	var steps []map[string]any
	for i := range 1 + m.rnd.IntN(6) {
		s := map[string]any{"cloud_step_id": fmt.Sprintf("s%d", i)}
		m.work(s)
		m.waits(s, steps)
		m.policy(s)
		steps = append(steps, s)
	}
	return steps
}

func (m *sim) work(s map[string]any) {
	call := func(method string, params map[string]any) {
		if s["taskMethod"] = method; params != nil {
			s["params"] = params
		}
	}
	switch m.rnd.IntN(14) {
	case 0, 1, 2, 3:
		call("setMoveTo", map[string]any{"position": m.room()})
	case 4, 5:
		mode := "fixed"
		if m.rnd.IntN(3) == 0 {
			mode = "all"
		}
		call("startBasicAirClear", map[string]any{"duration_min": 1 + m.rnd.IntN(3), "mode": mode})
		if m.coin() {
			s["required_effects"] = []string{"air_cleaning_completed"}
		}
	case 6:
		call("returnToStation", nil)
	case 7:
		if m.coin() {
			call("setScreen", map[string]any{"on": m.coin()})
		} else {
			call("setScreen", map[string]any{"brightness": 10 * m.rnd.IntN(11)})
		}
	case 8:
		call("setVolume", map[string]any{"level": 10 * m.rnd.IntN(11)})
	case 9:
		call("setMannerMode", map[string]any{"on": m.coin()})
	case 10:
		if s["output_key"] = "o" + s["cloud_step_id"].(string); m.coin() {
			call("getAirQuality", nil)
		} else {
			call("getBatteryStatus", nil)
		}
	case 11:
		if m.coin() {
			call("stopMovement", nil)
		} else {
			call("stopCleaning", nil)
		}
	case 12:
		call("startVitalSign", nil)
	case 13:
		s["execution_target"], s["skill"] = "cloud", "fresh_information_brief"
	}
}

func (m *sim) waits(s map[string]any, before []map[string]any) {
	deps := []any{}
	taken := map[string]bool{}
	for range m.rnd.IntN(3) {
		if len(before) == 0 {
			break
		}
		id := before[m.rnd.IntN(len(before))]["cloud_step_id"].(string)
		if taken[id] {
			continue
		}
		taken[id] = true
		if on := m.rnd.IntN(6); on < 2 {
			deps = append(deps, map[string]any{"step": id, "on": []string{"done", "failure"}[on]})
		} else {
			deps = append(deps, id)
		}
	}
	s["depends_on"] = deps
	if len(deps) > 0 && m.rnd.IntN(4) == 0 {
		if id, ok := deps[0].(string); ok {
			s["temporal_relation"], s["temporal_anchor_id"], s["delay_ms"] = "after_planned_step", id, m.between(1, 120_000)
		}
	}
}

func (m *sim) policy(s map[string]any) {
	if s["execution_target"] == nil {
		switch m.rnd.IntN(6) {
		case 0:
			s["wait_policy"] = "submitted"
		case 1:
			if s["taskMethod"] == "startBasicAirClear" {
				s["wait_policy"] = "event"
			}
		}
		if m.rnd.IntN(8) == 0 {
			s["executionMode"] = "immediate"
		}
		if m.rnd.IntN(3) == 0 && s["taskMethod"] != "startVitalSign" { // that is never sent again
			s["retry"] = map[string]any{"max_attempts": 1 + m.rnd.IntN(3), "backoff_ms": m.between(0, 20_000)}
		}
	}
	switch m.rnd.IntN(5) {
	case 0:
		s["on_failure"] = "continue"
	case 1:
		s["on_failure"] = "abort"
	}
	switch m.rnd.IntN(8) {
	case 0:
		s["when"] = map[string]any{"ref": "ctx.battery.level", "op": "ge", "value": []any{20, 90}[m.rnd.IntN(2)]}
	case 1:
		s["when"] = map[string]any{"ref": "ctx.movement.is_moving", "op": "eq", "value": false}
	}
	if m.rnd.IntN(6) == 0 {
		s["hold_ms"] = m.between(1_000, 30_000)
	}
	if m.rnd.IntN(8) == 0 && s["taskMethod"] != "startVitalSign" {
		s["timeout_ms"] = m.between(1_000, 60_000)
	}
}

// cancel is a user's wish, about any workflow, known or not.
func (m *sim) cancel() {
	if !m.up {
		return
	}
	ev := core.ControlReceived{Head: core.Head{Msg: core.MessageID(fmt.Sprintf("c-%d", m.order)), Hash: "h"}, Verb: "cancel", Scope: "workflow", Target: fmt.Sprintf("wf_%d", m.rnd.IntN(6))}
	switch m.rnd.IntN(8) {
	case 0:
		ev.Scope, ev.Target = "all", ""
	case 1:
		ev.Scope, ev.Target = "step", ev.Target+"/s0"
	}
	m.judge.asked(ev.Msg)
	m.tell(ev)
}

// cloud answers a cloud step, some time, or never.
func (m *sim) cloud(due core.StepDue) {
	if m.fault(6) {
		return
	}
	ev := core.StepResult{Head: core.Head{Msg: core.MessageID("sr-" + due.Task), Hash: "h"}, Step: due.Step, Task: due.Task, Done: !m.fault(5)}
	for range 1 + m.rnd.IntN(2) {
		m.at(m.between(500, 60_000), func() {
			if m.up {
				m.judge.asked(ev.Msg)
				m.tell(ev)
			}
		})
	}
}

// epilogue: after all that, the robot works, and an idle agent writes nothing.
func (m *sim) epilogue() {
	m.offer(m.plan("wf_last", []map[string]any{
		{"cloud_step_id": "go", "taskMethod": "setMoveTo", "params": map[string]any{"position": m.room()}},
		{"cloud_step_id": "clean", "taskMethod": "startBasicAirClear", "params": map[string]any{"duration_min": 1, "mode": "all"}, "required_effects": []string{"air_cleaning_completed"}},
		{"cloud_step_id": "screen", "taskMethod": "setScreen", "params": map[string]any{"brightness": 50}},
		{"cloud_step_id": "volume", "taskMethod": "setVolume", "params": map[string]any{"level": 50}},
		{"cloud_step_id": "vital", "taskMethod": "startVitalSign"},
	}))
	m.until(m.T + 1_800_000)
	wf := m.s.Workflows["wf_last"]
	if wf == nil {
		m.failf("the last plan was not taken")
	}
	if wf.Deadline == 0 {
		for i := range wf.Steps {
			if st := &wf.Steps[i]; st.State != core.Completed && st.State != core.Satisfied {
				m.failf("after all faults %s is %s (%s %s)", st.ID, st.State, st.Reason, st.Detail)
			}
		}
	}
	if idle := m.T - m.wrote; idle < 600_000 {
		m.failf("an idle agent wrote %d ms ago", idle)
	}
}
