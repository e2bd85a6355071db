package core_test

import (
	"strings"
	"testing"
	"time"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const cleanLong = `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","params":{"duration_min":60}}]`

// news waits for the end of cleaning.
func news(more string) string {
	return `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus","temporal_relation":"after_existing_event","anchor_event":"cleaning.completed"` + more + `}]`
}

// cleaning has a task of wf_0 clean; its step is completed, its task goes on.
func cleaning(t *testing.T) (*rig, core.TaskID) {
	t.Helper()
	r := newRig(t)
	r.offer("wf_0", "pl_0", cleanLong)
	task := r.last().Task
	r.accept(task)
	r.event("cleaning.started", task, core.Values{"mode": "fixed"})
	r.read("cleaning.is_running", true)
	if st := r.stepOf("wf_0", "step_1"); st.State != core.Completed {
		t.Fatalf("cleaning is %s", st.State)
	}
	return r, task
}

func (r *rig) cleaned(task core.TaskID) {
	r.event("cleaning.completed", task, core.Values{"mode": "fixed"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
}

func TestAnchorWaitsForTheRunThatIsUnderWay(t *testing.T) {
	r, task := cleaning(t)
	r.submit(news(`,"delay_ms":5000`))
	r.want("step_1", "waiting")
	if facts := core.Why(r.s, r.now, r.wf("wf_1"), 0); len(facts) == 0 || !strings.Contains(facts[0].Text, "cleaning.completed of wf_0/step_1") {
		t.Errorf("why: %+v", facts)
	}
	r.pass(10 * 60_000)
	r.event("cleaning.completed", "t-other", nil) // of another task
	r.pass(60_000)
	r.want("step_1", "waiting")
	r.cleaned(task)
	r.want("step_1", "waiting")
	r.pass(4_999)
	r.want("step_1", "waiting")
	r.pass(1)
	r.want("step_1", "dispatching")
	r.event("cleaning.completed", task, nil)
	if n := len(r.dispatches()); n != 2 {
		t.Errorf("%d dispatches, want one a step", n)
	}
}

func TestAnchorOrderOfEventAndResult(t *testing.T) {
	t.Run("the event comes after the result", func(t *testing.T) {
		r, task := cleaning(t)
		r.submit(news(""))
		r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
		r.pass(14_999)
		r.want("step_1", "waiting")
		r.event("cleaning.completed", task, nil)
		r.want("step_1", "dispatching")
	})
	t.Run("the event never comes", func(t *testing.T) {
		r, task := cleaning(t)
		r.submit(news(""))
		r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
		r.pass(15_000)
		r.want("step_1", "blocked/anchor_unknown")
	})
}

func TestAnchorThatFails(t *testing.T) {
	for name, end := range map[string]func(r *rig, task core.TaskID){
		"the run fails":  func(r *rig, task core.TaskID) { r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed}) },
		"it was stopped": func(r *rig, task core.TaskID) { r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled}) },
		"the user stops it": func(r *rig, task core.TaskID) {
			r.do(cancel("wf_0"))
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, task := cleaning(t)
			r.submit(news(""))
			end(r, task)
			r.want("step_1", "blocked/anchor_failed")
		})
	}
}

func TestAnchorThatDoesNotRun(t *testing.T) {
	t.Run("nothing runs", func(t *testing.T) {
		r := newRig(t)
		r.submit(news(""))
		r.want("step_1", "blocked/anchor_not_running")
	})
	t.Run("whether something runs is being read", func(t *testing.T) {
		r := newRig(t)
		r.pass(10_000) // the reading is stale
		r.submit(news(""))
		r.want("step_1", "waiting")
		if n := count[core.Read](r); n == 0 {
			t.Fatal("nothing was asked for")
		}
		r.read("cleaning.is_running", false)
		r.want("step_1", "blocked/anchor_not_running")
	})
	t.Run("asked, and done now", func(t *testing.T) {
		r := newRig(t)
		r.submit(news(""))
		esc := r.wf("wf_1").Escalations
		if len(esc) != 1 || esc[0].Reason != core.ReasonAnchorNotRunning {
			t.Fatalf("questions: %+v", esc)
		}
		r.do(core.DecisionReceived{Escalation: esc[0].ID, Action: core.ActRetry})
		r.want("step_1", "dispatching")
	})
	t.Run("asked, and nobody answers", func(t *testing.T) {
		r := newRig(t)
		r.submit(news(""))
		r.pass(120_000)
		r.want("step_1", "failed/anchor_not_running")
	})
	t.Run("unknown is never no", func(t *testing.T) {
		r := newRig(t)
		r.pass(10_000)
		r.submit(news(""))
		r.pass(3_000)
		r.want("step_1", "blocked/anchor_unknown")
	})
}

func TestAnchorOfWhatOthersRun(t *testing.T) {
	others := func(r *rig) {
		r.do(core.Observed{Event: "external_start", Resource: "cleaner", Source: "home", Class: catalog.Independent})
		r.read("cleaning.is_running", true)
	}
	heard := func(r *rig, name string) {
		r.do(core.Observed{Event: catalog.EventName(name), Resource: "cleaner", Source: "home", Class: catalog.Independent})
	}
	for _, tc := range []struct {
		name string
		end  func(r *rig)
		want string
	}{
		{"it completes", func(r *rig) { heard(r, "cleaning.completed") }, "dispatching"},
		{"it completes, told after its end", func(r *rig) { heard(r, "external_stop"); heard(r, "cleaning.completed") }, "dispatching"},
		{"it fails", func(r *rig) { heard(r, "cleaning.failed") }, "blocked/anchor_failed"},
		{"it is stopped", func(r *rig) { heard(r, "external_stop"); r.pass(15_000) }, "blocked/anchor_failed"},
		{"the agent is started anew", func(r *rig) { r.restart("run-1") }, "blocked/anchor_unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			others(r)
			r.submit(news(""))
			r.want("step_1", "waiting")
			tc.end(r)
			r.read("battery.level", 80.0)
			r.want("step_1", tc.want)
		})
	}
	t.Run("known by a reading alone", func(t *testing.T) {
		r := newRig(t)
		r.read("cleaning.is_running", true)
		r.submit(news(""))
		r.want("step_1", "waiting")
		heard(r, "cleaning.completed")
		r.want("step_1", "dispatching")
	})
}

func TestAnchorThatHasEndedMeanwhile(t *testing.T) {
	for _, tc := range []struct {
		name  string
		ago   int64 // since the event, when the plan comes
		seen  int64 // before the plan comes
		want  string
		clock bool
	}{
		{"since the words were said", 5_000, 6_000, "dispatching", true},
		{"before them", 6_000, 5_000, "blocked/anchor_not_running", true},
		{"nobody knows the time", 5_000, 6_000, "blocked/anchor_not_running", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, task := cleaning(t)
			r.cleaned(task)
			r.pass(tc.ago)
			r.read("cleaning.is_running", false)
			r.now.Trusted = tc.clock
			seen := time.UnixMilli(r.now.WallMS - tc.seen).UTC().Format("2006-01-02T15:04:05.000Z")
			r.submit(news(`,"anchor_seen_at":"` + seen + `"`))
			r.want("step_1", tc.want)
			r.pass(60_000)
			if n := len(r.dispatches()); tc.want == "dispatching" && n != 2 {
				t.Errorf("%d dispatches, want one a step", n)
			}
		})
	}
}

func TestAnchorOfWorkThatIsStillToBegin(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.offer("wf_0", "pl_0", `[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"주방"}},
	 {"cloud_step_id":"clean","taskMethod":"startBasicAirClear","depends_on":["go"]}]`)
	move := r.last().Task
	r.submit(news(""))
	r.want("step_1", "waiting")
	r.arrive(move, "kitchen")
	clean := r.last().Task
	r.accept(clean)
	r.event("cleaning.started", clean, nil)
	r.read("cleaning.is_running", true)
	r.want("step_1", "waiting")
	r.cleaned(clean)
	r.want("step_1", "dispatching")
}

func TestAnchorOfWorkThatNeverBegins(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.offer("wf_0", "pl_0", `[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"주방"},"on_failure":"continue"},
	 {"cloud_step_id":"clean","taskMethod":"startBasicAirClear","depends_on":["go"]}]`)
	move := r.last().Task
	r.submit(news(""))
	r.do(core.TaskAnswered{Task: move, Reason: core.ReasonExecutorRefused})
	r.want("step_1", "blocked/anchor_failed")
}

func TestAnchorOverARestart(t *testing.T) {
	t.Run("the run goes on", func(t *testing.T) {
		r, task := cleaning(t)
		r.submit(news(""))
		r.off(60_000, true)
		r.want("step_1", "waiting")
		r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"})
		r.cleaned(task)
		r.read("battery.level", 80.0)
		r.want("step_1", "dispatching")
	})
	t.Run("it ended meanwhile, and its event was recorded", func(t *testing.T) {
		r, task := cleaning(t)
		r.submit(news(""))
		r.off(60_000, true)
		r.do(core.TaskStatus{Task: task, Known: core.KnownEnded, Ended: &core.TaskEnded{Task: task, Outcome: core.OutcomeDone},
			Event: &core.Observed{Event: "cleaning.completed", Task: task, Source: "home", Class: catalog.Independent}})
		r.read("battery.level", 80.0)
		r.want("step_1", "dispatching")
	})
	t.Run("nobody knows it any more", func(t *testing.T) {
		r, task := cleaning(t)
		r.submit(news(""))
		r.off(60_000, true)
		r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-2"})
		r.settleAt("cleaning.is_running", false)
		for range 8 {
			r.pass(500)
			r.read("cleaning.is_running", false)
		}
		r.want("step_1", "blocked/anchor_unknown")
	})
}

// TestAnchorThatWasGivenBefore: what a run has given already it does not give again.
func TestAnchorThatWasGivenBefore(t *testing.T) {
	for _, tc := range []struct {
		name string
		seen int64 // before the plan comes
		want string
	}{{"since the words were said", 61_000, "dispatching"}, {"before them", 59_000, "blocked/anchor_not_running"}} {
		t.Run(tc.name, func(t *testing.T) {
			r, _ := cleaning(t)
			r.pass(60_000)
			r.read("cleaning.is_running", true)
			seen := time.UnixMilli(r.now.WallMS - tc.seen).UTC().Format("2006-01-02T15:04:05.000Z")
			r.submit(strings.Replace(news(`,"anchor_seen_at":"`+seen+`"`), "cleaning.completed", "cleaning.started", 1))
			r.want("step_1", tc.want)
		})
	}
}

func TestAnchorTimeout(t *testing.T) {
	r, task := cleaning(t)
	r.submit(news(`,"anchor_timeout_ms":60000`))
	r.pass(59_999)
	r.want("step_1", "waiting")
	r.pass(1)
	r.want("step_1", "blocked/anchor_timeout")
	r.cleaned(task)
	r.want("step_1", "blocked/anchor_timeout")
}

// TestAnchorIsNotChangedForAnother: a run that begins later is another one.
func TestAnchorIsNotChangedForAnother(t *testing.T) {
	r, task := cleaning(t)
	r.submit(news(""))
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed})
	r.want("step_1", "blocked/anchor_failed")
	r.offer("wf_2", "pl_2", cleanLong)
	again := r.last().Task
	r.accept(again)
	r.cleaned(again)
	r.want("step_1", "blocked/anchor_failed")
}

// TestAnchorAsksTheCloud: what the cloud step needs is asked for once, after the event.
func TestAnchorReleasesACloudStepOnce(t *testing.T) {
	r, task := cleaning(t)
	r.submit(strings.Replace(news(""), `"taskMethod":"getBatteryStatus"`, `"execution_target":"cloud","skill":"fresh_information_brief"`, 1))
	r.pass(60_000)
	if n := len(r.sent(core.MsgStepDue)); n != 0 {
		t.Fatalf("%d step_due before the event", n)
	}
	r.cleaned(task)
	r.pass(60_000)
	if n := len(r.sent(core.MsgStepDue)); n != 1 {
		t.Fatalf("%d step_due, want one", n)
	}
}
