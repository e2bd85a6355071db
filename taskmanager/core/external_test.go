package core_test

import (
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// push is a person who pushes the robot; it says nothing of its end.
func (r *rig) push() { r.do(core.Observed{Event: "external_start", Resource: "base", Source: "home"}) }

func TestWhatSomethingElseUsesIsWaitedFor(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(r *rig)
		runs bool
	}{
		{"it goes on, however long", func(r *rig) {
			for range 40 {
				r.read("movement.is_moving", true)
				r.read("battery.level", 80.0)
				r.pass(50_000)
			}
		}, false},
		{"it is said to have ended", func(r *rig) { r.do(core.Observed{Event: "external_stop", Resource: "base", Source: "home"}) }, true},
		{"its end is not said, and the wheels are seen at rest", func(r *rig) { r.settleFor("movement.is_moving", false, 4_000) }, true},
		{"they stand still for too short a time", func(r *rig) { r.settleFor("movement.is_moving", false, 2_000) }, false},
		{"that they stood still before says nothing", func(r *rig) { r.pass(10_000) }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.push()
			r.submit(toKitchen)
			r.want("step_1", "queued/resource_busy")
			if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); len(why) == 0 || why[0].Kind != "resource" || !strings.Contains(why[0].Text, "something else than a task of ours") {
				t.Errorf("why: %+v", why)
			}
			tc.end(r)
			if st := r.step("step_1"); (st.Reason != core.ReasonResourceBusy) != tc.runs {
				t.Errorf("at once: %s/%s %s", st.State, st.Reason, st.Detail)
			}
			r.elsewhere() // where it stands now
			if n := len(r.dispatches()); (n == 1) != tc.runs || n > 1 {
				t.Fatalf("%d dispatches", n)
			}
		})
	}
}

func TestALaterPlanDoesNotOvertakeOneThatWaitsForAPerson(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.push()
	r.submit(toKitchen)
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]`)
	r.do(core.Observed{Event: "external_stop", Resource: "base", Source: "home"})
	r.elsewhere()
	if d := r.dispatches(); len(d) != 1 || d[0].Params["position"] != "kitchen" {
		t.Fatalf("dispatched %+v", d)
	}
	if st := r.stepOf("wf_2", "step_1"); st.Reason != core.ReasonResourceBusy || st.Detail == "external" {
		t.Errorf("the later plan: %s/%s %s", st.State, st.Reason, st.Detail)
	}
}

func TestAStopWaitsForNoPerson(t *testing.T) {
	r := newRig(t)
	r.push()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"stopMovement"}]`)
	if r.last().Method != "stopMovement" {
		t.Fatal("not called")
	}
}

func TestImmediateIsRefusedWhileSomethingElseMoves(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.push()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"executionMode":"immediate"}]`)
	r.want("step_1", "blocked/resource_busy")
	r.undecided()
	r.want("step_1", "failed/resource_busy")
}

// What was read before a person pushed the robot away says nothing of where it stands now, however fresh it is.
func TestS23_WherePeopleMovedTheRobotIsReadAnew(t *testing.T) {
	r := newRig(t)
	r.read("movement.is_moving", false)
	r.settleAt("movement.location", "kitchen")
	r.push()
	r.do(core.Observed{Event: "external_stop", Resource: "base", Source: "home"})
	r.submit(toKitchen)
	r.want("step_1", "queued")
	r.settleAt("movement.location", "study")
	if r.last().Method != "setMoveTo" {
		t.Fatal("not driven")
	}
}

// The robot's own motion of a task is not taken for the one that it came after, where the end of that was never said.
func TestAnEndThatWasNeverSaidHoldsNobodyUpTwice(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.push()
	r.settleFor("movement.is_moving", false, 4_000)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},
		{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"안방"},"depends_on":["step_1"]}]`)
	task := r.last().Task
	r.read("movement.is_moving", true)
	r.arrive(task, "kitchen")
	r.read("movement.is_moving", false)
	r.want("step_1", "completed", "step_2", "dispatching")
}

func TestAPersonsStopOfATaskIsNotFought(t *testing.T) {
	for _, how := range []core.TaskEnded{{Outcome: core.OutcomeCancelled}, {Outcome: core.OutcomeFailed, Reason: core.ReasonExternalStop}} {
		r := newRig(t)
		r.elsewhere()
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"retry":{"max_attempts":3,"backoff_ms":100}}]`)
		how.Task = r.last().Task
		r.do(core.TaskAnswered{Task: how.Task, Accepted: true, Instance: "run-1"})
		r.push()
		r.do(how)
		r.want("step_1", "blocked/external_stop")
		r.pass(600_000)
		if n := len(r.dispatches()); n != 1 {
			t.Errorf("%v: sent again against the person: %d dispatches", how.Outcome, n)
		}
	}
}

func TestExternalMotionIsWrittenDown(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"external_start", "external_stop"} {
		if c := r.do(core.Observed{Event: catalog.EventName(name), Resource: "base", Source: "home"}); !c.Must {
			t.Errorf("%s leaves no row behind", name)
		}
	}
}

// settleFor reads a value each half second for so long.
func (r *rig) settleFor(key string, v any, ms int64) {
	for end := r.now.Boot + core.Instant(ms); r.now.Boot < end; {
		r.read(key, v)
		r.pass(500)
	}
	r.read(key, v)
}
