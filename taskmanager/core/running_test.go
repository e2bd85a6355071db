package core_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// compact writes a state as it is sent and shown: compact JSON, as UTF-8.
func compact(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// The sample of the contract is read and written again byte for byte: no name, no order and no field of it is lost.
func TestTheSampleOfAnExperienceComesBackByteForByte(t *testing.T) {
	sample, err := os.ReadFile("testdata/experience.json")
	if err != nil {
		t.Fatal(err)
	}
	var state core.ExperienceState
	dec := json.NewDecoder(bytes.NewReader(sample))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&state); err != nil {
		t.Fatal(err)
	}
	got := compact(t, state)
	t.Logf("the sample has %d bytes, written again %d", len(sample), len(got))
	if len(sample) != 656 || !bytes.Equal(got, sample) {
		t.Errorf("%d bytes, written again\n%s\nwant\n%s", len(sample), got, sample)
	}
}

// The phase says what is under way or waited for, in every state that a step can have.
func TestThePhaseOfAnExperience(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo+","+cleanIt, goal(ownGo+","+ownAir, generous, "full"))
	want := func(phase string, status core.GoalStatus) {
		t.Helper()
		s, ok := r.s.Running(r.wf("wf_1"))
		if !ok || s.Phase != phase || s.Status != status {
			t.Errorf("phase %q (%s), want %q (%s)", s.Phase, s.Status, phase, status)
		}
	}
	want("waiting_for_target_location_reached", core.GoalActive)
	move := r.last().Task
	r.do(core.TaskAnswered{Task: move, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: move, Outcome: core.OutcomeDone})
	want("verifying_target_location_reached", core.GoalActive)
	r.event("movement.arrived", move, core.Values{"room_id": "living_room"})
	r.settleAt("movement.location", "living_room")
	want("waiting_for_air_cleaning_completed", core.GoalActive)
	r.idle()
	r.read("movement.location", "living_room")
	r.read("movement.is_moving", false)
	r.refuse()
	want("blocked_at_air_cleaning_completed", core.GoalBlocked)
	r.undecided()
	want("safely_ended", core.GoalSafeEnd)

	s, _ := r.s.Running(r.wf("wf_1"))
	if got := strings.Join(s.Criteria, ","); got != "device_goal_completed" {
		t.Errorf("criteria %s", got)
	}
	if s.Budget.Decisions == nil || *s.Budget.Decisions != 2 || s.Budget.Retries != 1 || s.Sessions.Workflow != "wf_1" {
		t.Errorf("budget %+v", s.Budget)
	}
}
