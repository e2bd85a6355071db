package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const toKitchen = `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}]`

func TestMoveCompletesByEvidence(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.want("step_1", "dispatching")
	d := r.last()
	if d.Params["position"] != "kitchen" {
		t.Fatalf("position %v was sent, want the room's id", d.Params["position"])
	}
	r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"})
	r.want("step_1", "running")
	r.do(core.TaskEnded{Task: d.Task, Outcome: core.OutcomeDone})
	r.want("step_1", "verifying")
	r.event("movement.arrived", d.Task, core.Values{"room_id": "kitchen"})
	r.want("step_1", "verifying") // the event alone is not enough: the location has to be read there
	r.settleAt("movement.location", "kitchen")
	r.want("step_1", "completed")
	r.wantWorkflow(core.WfCompleted)
	if n := len(r.out); n != 2 {
		t.Fatalf("%d messages up, want ack and result", n)
	}
	ev := r.step("step_1").Effects[0].Evidence
	if len(ev) != 2 || ev[0].Event != "movement.arrived" || ev[0].Source != "home" || ev[0].Seq == 0 || ev[1].Key != "movement.location" {
		t.Fatalf("evidence %+v", ev)
	}
}

func TestWhatIsNoProof(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(r *rig, task core.TaskID)
		want string
	}{
		{"an arrival from before the dispatch is not counted", func(r *rig, task core.TaskID) {}, "timed_out/evidence_timeout"},
		{"an arrival of another task", func(r *rig, task core.TaskID) {
			r.event("movement.arrived", "t-foreign", core.Values{"room_id": "kitchen"})
		}, "timed_out/evidence_timeout"},
		{"an arrival that only echoes the command", func(r *rig, task core.TaskID) {
			r.do(core.Observed{Event: "movement.arrived", Task: task, Source: "home", Class: catalog.Echo, Data: core.Values{"room_id": "kitchen"}})
		}, "timed_out/evidence_timeout"},
		{"an arrival in another room contradicts", func(r *rig, task core.TaskID) {
			r.event("movement.arrived", task, core.Values{"room_id": "study"})
		}, "failed/evidence_contradicts"},
		{"an arrival without a task id while something else moved the robot", func(r *rig, task core.TaskID) {
			r.do(core.Observed{Event: "external_start", Resource: "base", Source: "home"})
			r.event("movement.arrived", "", core.Values{"room_id": "kitchen"})
		}, "timed_out/evidence_timeout"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.event("movement.arrived", "", core.Values{"room_id": "kitchen"})
			r.submit(toKitchen)
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			tc.do(r, task)
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
			r.settleAt("movement.location", "kitchen")
			r.pass(60_000)
			r.want("step_1", tc.want)
			r.wantWorkflow(core.WfFailed)
		})
	}
}

func TestWindowCorrelation(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("movement.arrived", "", core.Values{"room_id": "kitchen"}) // a source that cannot name tasks
	r.settleAt("movement.location", "kitchen")
	r.want("step_1", "completed")
	if by := r.step("step_1").Effects[0].Evidence[0].By; by != "window" {
		t.Fatalf("correlation %q, want window", by)
	}
}

func TestLocationMustBeStable(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("movement.arrived", task, core.Values{"room_id": "kitchen"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	for range 20 { // it flickers: never a second in one room
		r.read("movement.location", "kitchen")
		r.pass(400)
		r.read("movement.location", "study")
		r.pass(400)
	}
	r.want("step_1", "timed_out/evidence_timeout")
}

func TestSatisfiedWithoutMotion(t *testing.T) {
	r := newRig(t)
	r.submit(toKitchen)
	if count[core.Dispatch](r) != 0 || count[core.Read](r) == 0 {
		t.Fatal("whether the effect holds already was not read first")
	}
	for range 4 {
		r.read("movement.location", "kitchen")
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.want("step_1", "satisfied")
	r.wantWorkflow(core.WfCompleted)
	if n := count[core.Dispatch](r); n != 0 {
		t.Fatalf("%d dispatches, want none", n)
	}
}

func TestUnknownHoldsIsDispatchedAfterAckDeadline(t *testing.T) {
	r := newRig(t)
	r.submit(toKitchen)
	r.pass(2_900)
	if count[core.Dispatch](r) != 0 {
		t.Fatal("dispatched before the answer could come")
	}
	r.pass(200)
	if count[core.Dispatch](r) != 1 {
		t.Fatal("what stays unknown has to be dispatched")
	}
}

func TestLateAndRepeatedAnswers(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.pass(3_100)
	r.want("step_1", "outcome_unknown/ack_timeout")
	if count[core.Query](r) == 0 {
		t.Fatal("nobody asked what became of the task")
	}
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"}) // late, and still used
	r.want("step_1", "running")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: "stuck"}) // the first stands
	r.want("step_1", "verifying")
	if r.ch.Ignored != 1 {
		t.Fatalf("%d ignored, want the second result", r.ch.Ignored)
	}
	if n := count[core.Dispatch](r); n != 1 {
		t.Fatalf("%d dispatches, want 1", n)
	}
}

func TestSilenceIsNoReasonToMoveTwice(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.pass(170_000) // no answer, no status: ask and ask, never call again
	if n := count[core.Dispatch](r); n != 1 {
		t.Fatalf("%d dispatches, want 1", n)
	}
	r.pass(60_000)
	r.want("step_1", "failed/outcome_unknown")
	if count[core.Stop](r) == 0 {
		t.Fatal("what may still move was not stopped")
	}
}

func TestKnownNotRunIsDispatchedAgain(t *testing.T) {
	for _, tc := range []struct {
		name     string
		instance string
		sealed   bool
		again    bool
	}{
		{"same instance, sealed", "run-1", true, true},
		{"another instance has forgotten it", "run-2", true, false},
		{"not sealed: the call may still be on its way", "run-1", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(toKitchen)
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Unknown: true})
			r.elsewhere()
			r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: tc.sealed, Instance: tc.instance})
			want := 1
			if tc.again {
				want = 2
			}
			if n := count[core.Dispatch](r); n != want {
				t.Fatalf("%d dispatches, want %d", n, want)
			}
			if tc.again && r.last().Task == task {
				t.Fatal("a sealed id was used again")
			}
		})
	}
}
