package metrics_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/testbed/replay"
	"deviceagent/testbed/scenario"
)

// fullest is the bound of a running state together with a plan of two steps. Source: docs/experience.md, the running state.
const fullest = 1784

const aim = `"experience":{"contract_version":"experience.v1","experience_id":"exp_cleaning_companion_001","goal_id":"%g","summary":"%s","effects":[%e],` +
	`"constraints":["safety_policy_first","user_can_cancel_anytime"],"budget":{"max_decisions":3,"max_replans":1,"deadline_ms":7200000,"fallback":"ask_or_stop","automatic_retries":2,"user_questions":1},"tier":"full"}`

// plays are plans of two steps as S07, S08 and S19 have them: one that quietens the room, one that cleans while something else goes on
// and has its cleaner fail, and one whose move fails, is retried, asked about, replanned and fails again.
var plays = map[string]string{
	"S07": "scenario S07\ntitle a rest\ntier full\n\nwhen\n  plan " + planOf(`{"cloud_step_id":"step_1","taskMethod":"setVolume","params":{"level":20},"required_effects":["quiet_environment"]},
    {"cloud_step_id":"step_2","taskMethod":"setScreen","params":{"brightness":10},"depends_on":["step_1"],"required_effects":["reduced_visual_stimulation"]}`,
		"restful_environment", "잠깐 편하게 쉴 수 있게 소리와 화면을 낮춘다", `{"effect_id":"quiet_environment","step_id":"step_1","required":true},{"effect_id":"reduced_visual_stimulation","step_id":"step_2","required":true}`),
	"S08": "scenario S08\ntitle cleaning that fails\ntier full\nfault startBasicAirClear:fail_after=2s,fail_reason=robot_fault\n\nwhen\n  planner silent\n  plan " +
		planOf(`{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}},
    {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","params":{"duration_min":60},"depends_on":["step_1"],"required_effects":["air_cleaning_completed"]}`,
			"clean_air_delivered", "거실로 가서 청정하는 동안 사용자가 지루하지 않게 한다", `{"effect_id":"target_location_reached","step_id":"step_1","required":true},{"effect_id":"air_cleaning_completed","step_id":"step_2","required":true}`),
	"S19": "scenario S19\ntitle a move that fails\ntier full\nfault setMoveTo:fail_after=2s,fail_reason=executor_busy,times=4\n\nwhen\n  planner silent\n  plan " +
		planOf(`{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"},"retry":{"max_attempts":2,"backoff_ms":5000}},
    {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","params":{"duration_min":60},"depends_on":["step_1"],"required_effects":["air_cleaning_completed"]}`,
			"clean_air_delivered", "거실로 가서 청정하는 동안 사용자가 지루하지 않게 한다", `{"effect_id":"target_location_reached","step_id":"step_1","required":true},{"effect_id":"air_cleaning_completed","step_id":"step_2","required":true}`),
}

func planOf(steps, goal, summary, effects string) string {
	text := bytes.NewBufferString(`{"workflow":{"cloud_workflow_id":"wf_device_001","plan_id":"pl_001","revision":0},"device_task_requests":[` + steps + `],` + aim + `}`).Bytes()
	for from, to := range map[string]string{"%g": goal, "%s": summary, "%e": effects} {
		text = bytes.ReplaceAll(text, []byte(from), []byte(to))
	}
	return string(text) + "\n\nthen\n  ack plan accepted\n"
}

// Every state that a device goes through is made from its own journal; the fullest of each play is within the bound.
func TestTheFullestRunningStateStaysWithinItsBound(t *testing.T) {
	all := []*scenario.Scenario{}
	for name, text := range plays {
		s, err := scenario.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, name := range []string{"S07-yes", "S08", "S19-goal"} { // of the acceptance set, with more steps than two
		s, err := scenario.Load("../scenarios/" + name + ".scn")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, s := range all {
		name := s.ID
		stores, cat := played(t, s)
		states, most := 0, []byte{}
		if _, err := replay.Look(t.Context(), stores[0], cat, func(st *core.State) {
			for _, wf := range st.Workflows {
				running, ok := st.Running(wf)
				if !ok {
					continue
				}
				states++
				if b := line(t, running, wf.Context()); len(b) > len(most) {
					most = b
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d states, the fullest has %d bytes: %s", name, states, len(most), most)
		if states < 5 || len(most) == 0 || len(most) > fullest {
			t.Errorf("%s: %d states, the fullest has %d bytes, the bound is %d", name, states, len(most), fullest)
		}
	}
}

func line(t *testing.T, e core.ExperienceState, w core.WorkflowContext) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(struct {
		Experience core.ExperienceState `json:"experience"`
		Workflow   core.WorkflowContext `json:"workflow_context"`
	}{e, w}); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
