package sim

import "deviceagent/taskmanager/core"

// lastPlan is what is handed in when everything works again.
const lastPlan = "wf_last"

// epilogue: after all that, the robot works, and an idle agent writes nothing.
func (m *home) epilogue() {
	ev := m.plan(draft{wf: lastPlan, requests: []map[string]any{
		{"cloud_step_id": "go", "taskMethod": "setMoveTo", "params": map[string]any{"position": m.stream("epilogue").room()}},
		{"cloud_step_id": "clean", "taskMethod": "startBasicAirClear", "params": map[string]any{"duration_min": 1, "mode": "all"}, "required_effects": []string{"air_cleaning_completed"}},
		{"cloud_step_id": "screen", "taskMethod": "setScreen", "params": map[string]any{"brightness": 50}},
		{"cloud_step_id": "volume", "taskMethod": "setVolume", "params": map[string]any{"level": 50}},
		{"cloud_step_id": "vital", "taskMethod": "startVitalSign"},
	}}, m.stream("epilogue"))
	ev.Plan.DeadlineMS = 0
	m.cloud.post(ev.Msg, ev)
	m.until(m.T + 1_800_000)
	wf := m.s.Workflows[lastPlan]
	if wf == nil {
		m.failf("afterwards: the last plan was not taken")
	}
	for i := range wf.Steps {
		if st := &wf.Steps[i]; st.State != core.Completed && st.State != core.Satisfied {
			m.failf("afterwards: after all faults %s is %s (%s %s)", st.ID, st.State, st.Reason, st.Detail)
		}
	}
	if idle := m.T - m.wrote; idle < 600_000 {
		m.failf("afterwards: an idle agent wrote %d ms ago", idle)
	}
}
