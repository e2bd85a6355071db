package core_test

import (
	"encoding/json"
	"testing"

	"deviceagent/taskmanager/core"
)

// forget puts a workflow back as a bug or another hand might leave it: nothing of it is armed any more.
func (r *rig) forget(id string, change func(*core.Workflow)) {
	r.t.Helper()
	was := r.wf(id)
	wf := &core.Workflow{}
	copyOf(r.t, was, wf)
	wf.Plan = was.Plan
	wf.Steps, wf.Attempts = make([]core.Step, len(was.Steps)), make([]core.Attempt, len(was.Attempts))
	for i := range was.Steps {
		copyOf(r.t, &was.Steps[i], &wf.Steps[i])
		wf.Steps[i].Due, wf.Steps[i].RunDue = 0, 0
	}
	for i := range was.Attempts {
		copyOf(r.t, &was.Attempts[i], &wf.Attempts[i])
	}
	change(wf)
	r.s.Adopt(wf)
}

// copyOf copies what is stored, and leaves what is not.
func copyOf(t *testing.T, from, to any) {
	t.Helper()
	b, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever state a step is in: if nothing could move it any more, the audit says so, heals it, and then it comes to its end.
func TestD8_TheAuditHealsWhatNothingCouldMove(t *testing.T) {
	for _, state := range core.StepStates {
		if state.Terminal() {
			continue
		}
		if len(core.Movers(state)) == 0 {
			t.Errorf("no row says what can move a step that is %s", state)
		}
		recipe, reachable := inState[state]
		if !reachable {
			continue
		}
		t.Run(string(state), func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			recipe(r)
			if sound := core.Audit(r.s, r.now); len(sound) != 0 {
				t.Fatalf("an alarm over a sound state: %v", sound)
			}
			r.forget("wf_1", func(wf *core.Workflow) {
				r.s.Device.Holds = nil     // who held it is gone, and nobody has looked
				if state == core.Pending { // its dependency has ended, and nobody has looked
					wf.Steps[0].State, wf.Attempts = core.Skipped, nil
					wf.Steps[0].Reason, wf.Steps[0].Task = core.ReasonConditionFalse, ""
				}
			})
			if state == core.Queued {
				r.s.Drop("wf_0") // what it waited for is gone, and nobody has looked
			}
			found := core.Audit(r.s, r.now)
			if len(found) == 0 {
				t.Fatal("no alarm")
			}
			c := r.do(core.Audited{})
			if !c.Must {
				t.Error("what was healed is not written down")
			}
			if left := core.Audit(r.s, r.now); len(left) != 0 {
				t.Fatalf("still %v", left)
			}
			r.pass(3_600_000)
			if st := r.step("step_1"); !st.State.Terminal() {
				t.Errorf("an hour later it is %s (%s %s)", st.State, st.Reason, st.Detail)
			}
		})
	}
}

func TestTheAuditRestoresThePlaceAmongTheOpenOnes(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	wf := r.wf("wf_1")
	r.s.Drop("wf_1")
	r.s.Workflows["wf_1"] = wf // in the map, and in no index
	if len(core.Audit(r.s, r.now)) == 0 {
		t.Fatal("no alarm")
	}
	r.do(core.Audited{})
	if left := core.Audit(r.s, r.now); len(left) != 0 || len(r.s.Open()) != 1 {
		t.Fatalf("open %v, still %v", r.s.Open(), left)
	}
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.want("step_1", "running")
}

// Found by the audit: a step that waits behind another's place in the queue was not looked at when that gave its place up.
func TestAPlaceInTheQueueThatIsGivenUpIsGivenOn(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.offer("wf_0", "pl_0", `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]`) // takes the cleaner alone
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.offer("wf_a", "pl_a", `[{"cloud_step_id":"step_0","taskMethod":"startVitalSign"},
	 {"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","params":{"mode":"all"}}]`) // keeps its place for base and cleaner
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.offer("wf_b", "pl_b", `[{"cloud_step_id":"step_1","taskMethod":"returnToStation"}]`)
	if a, b := r.stepOf("wf_a", "step_1"), r.stepOf("wf_b", "step_1"); a.State != core.Queued || b.State != core.Queued {
		t.Fatalf("%s and %s, want both queued", a.State, b.State)
	}
	for r.stepOf("wf_a", "step_1").State == core.Queued { // until the look at its other step finds the battery's level stale
		r.pass(1_000)
	}
	if found := core.Audit(r.s, r.now); len(found) != 0 {
		t.Errorf("%v", found)
	}
	if st := r.stepOf("wf_b", "step_1").State; st == core.Queued && r.last().Method != "returnToStation" {
		t.Errorf("the next in the queue is still %s", st)
	}
}

// Found by the audit: a task whose outcome was unknown and whose step was then proven was asked for by nobody.
func TestALostTaskOfAProvenStepIsAskedFor(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setVolume","params":{"level":30}}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Unknown: true})
	r.event("sound.changed", task, core.Values{"level": 30.0, "muted": false})
	r.want("step_1", "completed")
	if found := core.Audit(r.s, r.now); len(found) != 0 {
		t.Fatalf("%v", found)
	}
	before := count[core.Query](r)
	r.pass(15_000)
	if count[core.Query](r) == before {
		t.Error("nobody asked for it")
	}
}

// A step that was released by the start of another, which asks by now, waits for that and not for what once was in its way.
func TestTheAuditKnowsWhatAReleasedStepWaitsFor(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.offer("wf_2", "pl_2", toKitchen)
	move := r.last().Task
	r.accept(move)
	r.submit(`[{"cloud_step_id":"a","taskMethod":"setScreen","params":{"brightness":70},"wait_policy":"submitted"},{"cloud_step_id":"b","taskMethod":"setMoveTo","params":{"position":"거실"},"depends_on":["a"]}]`)
	screen := r.last().Task
	r.accept(screen)
	r.want("b", "queued/resource_busy")
	r.do(core.TaskEnded{Task: screen, Outcome: core.OutcomeFailed, Reason: "jammed"})
	r.want("a", "blocked/jammed", "b", "queued")
	r.event("movement.arrived", move, core.Values{"room_id": "kitchen"})
	r.settleAt("movement.location", "kitchen")
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Completed {
		t.Fatalf("the move is %s", st.State)
	}
	if found := core.Audit(r.s, r.now); len(found) != 0 {
		t.Fatalf("an alarm over a sound state: %v", found)
	}
}
