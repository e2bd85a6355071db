package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// cleaning for 20 minutes is expected to take 20.5; beside it news in an hour, and news after it.
const (
	longClean = `{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":20},"required_effects":["air_cleaning_completed"]}`
	inAnHour  = `{"cloud_step_id":"news","execution_target":"cloud","skill":"fresh_information_brief","temporal_relation":"after_planned_step","delay_ms":3600000}`
	afterIt   = `{"cloud_step_id":"news","execution_target":"cloud","skill":"fresh_information_brief","depends_on":["clean"]}`
	expected  = (20*60 + 30) * 1000
)

func cleaningFor(t *testing.T, requests, experience string) *rig {
	t.Helper()
	r := newRig(t)
	if experience == "" {
		r.submit(`[` + requests + `]`)
	} else {
		r.aim(requests, experience)
	}
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.want("clean", "running")
	return r
}

// lateness counts the times at which watchers were told that a step is late.
func (r *rig) lateness(ms int64) (n int) {
	r.t.Helper()
	r.now.Boot += core.Instant(ms) - 1
	for range 2 {
		r.now.WallMS += 1
		r.now.Boot++
		r.do(core.Tick{})
		for _, mv := range r.ch.Moves {
			if mv.To == "late" && mv.Reason == core.ReasonStepLate && mv.Step == "clean" {
				n++
			}
		}
		if n > 0 {
			break
		}
	}
	return n
}

// A step that runs longer than expected is late once; it runs on. Content that only waited as planned is begun meanwhile.
func TestALateStepLetsContentGoFirst(t *testing.T) {
	r := cleaningFor(t, longClean+","+inAnHour, goal(ownAir, generous, "full"))
	r.pass(expected - 1)
	r.want("clean", "running", "news", "waiting")
	if r.lateness(1) != 1 {
		t.Fatal("nobody is told that it is late")
	}
	r.wantSupervised("STEP_LATE resume")
	r.want("clean", "running", "news", "running")
	if n := len(r.sent(core.MsgStepDue)); n != 1 {
		t.Errorf("%d cloud steps begun", n)
	}
	r.restart("run-1")
	r.do(core.TaskStatus{Task: r.last().Task, Known: core.KnownRunning, Instance: "run-1"})
	if r.lateness(1000) != 0 {
		t.Error("it is late twice")
	}
	if n := len(r.sent(core.MsgEscalation)); n != 0 {
		t.Errorf("%d questions: late is no failure", n)
	}
	r.cleaned(r.last().Task)
	r.want("clean", "completed")
	r.wantGoal(core.GoalCompleted)
}

// What depends on the late step waits on, and so does what has a moment of its own; a plain plan and a goal in shadow know no lateness.
func TestWhatALateStepDoesNotMove(t *testing.T) {
	atSix := `{"cloud_step_id":"news","execution_target":"cloud","skill":"fresh_information_brief","temporal_relation":"at_time","not_before":"2027-01-15T09:00:00Z"}`
	for name, tc := range map[string]struct {
		news, experience string
		late             int
		state            string
	}{
		"it depends on it": {afterIt, goal(ownAir, generous, "full"), 1, "pending"},
		"its moment":       {atSix, goal(ownAir, generous, "full"), 1, "waiting"},
		"a plain plan":     {inAnHour, "", 0, "waiting"},
		"shadow":           {inAnHour, goal(ownAir, generous, "shadow"), 0, "waiting"},
	} {
		r := cleaningFor(t, longClean+","+tc.news, tc.experience)
		r.pass(expected - 1)
		if n := r.lateness(1); n != tc.late {
			t.Errorf("%s: told %d times", name, n)
		}
		if st := r.step("news").State; string(st) != tc.state {
			t.Errorf("%s: the content is %s", name, st)
		}
	}
}

// The time of a pause does not make a step late.
func TestAPausedStepIsNotLate(t *testing.T) {
	r := cleaningFor(t, longClean+","+inAnHour, goal(ownAir, generous, "full"))
	r.wish("pause", "workflow", "wf_1")
	r.do(core.StopAnswered{Task: r.last().Task, To: core.ToPause, Accepted: true}, core.TaskStatus{Task: r.last().Task, Known: core.KnownRunning, Paused: true, Source: "home", Instance: "run-1"})
	r.want("clean", "paused")
	r.pass(600_000)
	r.wish("resume", "workflow", "wf_1")
	r.do(core.StopAnswered{Task: r.last().Task, To: core.ToResume, Accepted: true}, core.TaskStatus{Task: r.last().Task, Known: core.KnownRunning, Resumed: true, Source: "home", Instance: "run-1"})
	r.want("clean", "running")
	r.pass(expected - 5000)
	if r.step("clean").Late || r.lateness(1) != 0 {
		t.Error("late by the time of a pause")
	}
	r.pass(5000)
	if !r.step("clean").Late {
		t.Error("never late")
	}
}

// Content with a delay from something else that depends on the late step waits on with it.
func TestContentThatDependsOnTheLateStepWaitsOn(t *testing.T) {
	released := `{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":20},"wait_policy":"submitted","required_effects":["air_cleaning_completed"]}`
	over := `{"cloud_step_id":"news","execution_target":"cloud","skill":"fresh_information_brief","temporal_relation":"after_planned_step","temporal_anchor_id":"clean","delay_ms":3600000}`
	r := cleaningFor(t, released+","+over, goal(ownAir, generous, "full"))
	r.want("news", "waiting")
	r.pass(expected)
	if !r.step("clean").Late {
		t.Fatal("it is not late")
	}
	r.want("news", "waiting")
}
