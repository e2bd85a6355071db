package core_test

import (
	"maps"
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
			r.undecided()
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
	r.want("step_1", "blocked/evidence_timeout")
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
	r.want("step_1", "blocked/outcome_unknown")
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

func TestSatisfiedNeedsAReadingSinceTheLastTask(t *testing.T) {
	r := newRig(t)
	r.read("mode.manner", false)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"on":true,"brightness":90}},{"cloud_step_id":"step_2","taskMethod":"setScreen","params":{"on":false},"depends_on":["step_1"]}]`)
	r.read("display.brightness", 0.0) // still dark when the call has just gone
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("display.changed", task, core.Values{"on": true, "brightness": 90.0})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.want("step_1", "completed", "step_2", "queued") // that it is dark was read before it was lit
	r.read("display.brightness", 90.0)
	r.want("step_2", "dispatching")
}

func TestSatisfiedOnlyByItsClass(t *testing.T) {
	r := newRig(t)
	r.submit(toKitchen)
	for range 4 {
		for k, v := range map[catalog.ContextKey]any{"movement.location": "kitchen", "movement.is_moving": false} {
			r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: k, Value: v, Class: catalog.SamePath, Available: true}}})
		}
		r.pass(500)
	}
	r.want("step_1", "queued") // what the executor itself says of the place is no reading of a sensor
}

func TestExternalMotion(t *testing.T) {
	external := func(r *rig, name string) {
		r.do(core.Observed{Event: catalog.EventName(name), Resource: "cleaner", Source: "home"})
	}
	const clean = `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]`
	for _, tc := range []struct {
		name string
		do   func(r *rig)
		want string
	}{
		{"what somebody else does satisfies nothing", func(r *rig) {
			external(r, "external_start")
			r.read("cleaning.is_running", true)
			r.submit(clean)
		}, "queued/resource_busy"},
		{"nor does it prove what it broke into", func(r *rig) {
			r.submit(clean)
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
			external(r, "external_start")
			r.read("cleaning.is_running", true)
		}, "verifying"},
		{"an event that names the task does", func(r *rig) {
			r.submit(clean)
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			external(r, "external_start")
			r.event("cleaning.started", task, nil)
		}, "completed"},
		{"once it has ended, all counts again", func(r *rig) {
			external(r, "external_start")
			external(r, "external_stop")
			r.read("cleaning.is_running", true)
			r.submit(clean)
		}, "satisfied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			tc.do(r)
			r.want("step_1", tc.want)
		})
	}
}

func TestLastWordOfTheTaskBefore(t *testing.T) {
	for _, tc := range []struct {
		after int64
		want  string
	}{{10, "running"}, {2_000, "completed"}} {
		r := newRig(t)
		r.offer("wf_0", "pl_0", `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]}]`)
		first := r.last().Task
		r.do(core.TaskAnswered{Task: first, Accepted: true, Instance: "run-1"})
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]}]`)
		r.do(core.TaskEnded{Task: first, Outcome: core.OutcomeFailed})
		second := r.last().Task
		r.do(core.TaskAnswered{Task: second, Accepted: true, Instance: "run-1"})
		r.pass(tc.after)
		r.event("cleaning.completed", "", nil) // of a source that names no task
		r.want("step_1", tc.want)
	}
}

func TestDoneKeepsThePlaceUntilItIsProven(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	first := r.last().Task
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]`)
	r.do(core.TaskAnswered{Task: first, Accepted: true, Instance: "run-1"})
	r.event("movement.arrived", first, core.Values{"room_id": "kitchen"})
	r.do(core.TaskEnded{Task: first, Outcome: core.OutcomeDone})
	r.elsewhere()
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches: moved on before it was proven that it had arrived", n)
	}
	r.settleAt("movement.location", "kitchen")
	r.read("battery.level", 80.0)
	r.want("step_1", "completed")
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches after the proof, want 2", n)
	}
}

func TestFrequentSignalsAreStableToo(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("movement.arrived", task, core.Values{"room_id": "kitchen"})
	for range 30 { // twenty a second
		r.read("movement.location", "kitchen")
		r.pass(50)
	}
	r.want("step_1", "completed")
}

func TestACallThatNobodyTakesIsTriedForABoundedTime(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer func(task core.TaskID) []core.Event
		within int64
		want   string
		calls  int // at most
	}{
		{"always busy", func(task core.TaskID) []core.Event {
			return []core.Event{core.TaskAnswered{Task: task, NotSent: true, Reason: core.ReasonExecutorBusy}}
		}, 61_000, "blocked/executor_busy", 125},
		{"always lost, and known not to have run", func(task core.TaskID) []core.Event {
			return []core.Event{core.TaskAnswered{Task: task, Unknown: true}, core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-1"}}
		}, 181_000, "blocked/outcome_unknown", 370},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(toKitchen)
			for end := r.now.Boot + core.Instant(tc.within); r.now.Boot < end && r.step("step_1").Fate == nil; {
				at := r.now.Boot
				for n := 0; r.step("step_1").State == core.Dispatching; n++ {
					if n > 2 {
						t.Fatal("dispatched again and again in one moment")
					}
					r.do(tc.answer(r.last().Task)...)
				}
				r.pass(100)
				if at%30_000 == 0 {
					r.idle()
				}
				r.elsewhere()
			}
			r.want("step_1", tc.want)
			if n := len(r.dispatches()); n > tc.calls {
				t.Fatalf("%d dispatches, want at most %d", n, tc.calls)
			}
		})
	}
}

func TestLaterPlanDoesNotOvertake(t *testing.T) {
	r := newRig(t)
	r.read("movement.location", "kitchen")
	r.submit(toKitchen) // whether the robot still moves has to be read first
	r.want("step_1", "queued")
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]`)
	if n := len(r.dispatches()); n != 0 {
		t.Fatalf("the later plan moved first: %+v", r.dispatches())
	}
	r.read("movement.is_moving", true)
	if d := r.last(); d.Params["position"] != "kitchen" {
		t.Fatalf("dispatched %+v first", d)
	}
}

func TestDoneMeansAccepted(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"submitted"},{"cloud_step_id":"step_2","taskMethod":"getAirQuality","depends_on":["step_1"]}]`)
	r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeDone}) // its answer is still on the way
	r.want("step_1", "verifying", "step_2", "dispatching")
}

func TestForeignWordOnACloudStep(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief"}]`)
	r.do(core.TaskEnded{Task: r.sent(core.MsgStepDue)[0].Task, Outcome: core.OutcomeDone})
	r.want("step_1", "running")
}

func TestMovesOfAProofAreNotMovesOfItsStep(t *testing.T) {
	r := newRig(t)
	c := r.do(r.planEvent("wf_1", "pl_1", `[{"cloud_step_id":"step_1","taskMethod":"setVolume","params":{"level":60}}]`))
	task := r.last().Task
	c.Moves = append(c.Moves, r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: task, Outcome: core.OutcomeFailed}).Moves...)
	for _, mv := range c.Moves {
		if mv.Step != "" && mv.Effect == "" && core.StepState(mv.To) == core.StepState(core.EffectExpired) {
			t.Fatalf("the step seems to become expired: %+v", mv)
		}
	}
}

func TestReadingsFromBeforeTheDispatchProveNothing(t *testing.T) {
	r := newRig(t) // the battery was read a moment ago
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus"},{"cloud_step_id":"step_2","taskMethod":"stopMovement"}]`)
	for _, d := range r.dispatches() {
		r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: d.Task, Outcome: core.OutcomeDone})
	}
	r.want("step_1", "verifying")
	r.read("battery.level", 80.0)
	r.want("step_1", "completed")

	r = newRig(t)
	r.read("movement.is_moving", false)
	r.pass(900)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"stopMovement"}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.pass(200)
	r.read("movement.is_moving", false)
	r.want("step_1", "verifying") // the second for which it has to stand still begins with the stop
	r.pass(1_100)
	r.read("movement.is_moving", false)
	r.want("step_1", "completed")
}

func TestEventOfAnotherThing(t *testing.T) {
	r := newRig(t)
	r.read("mode.manner", false)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMannerMode","params":{"on":true}}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("mode.changed", task, core.Values{"mode": "night", "on": true})
	r.want("step_1", "running")
	r.event("mode.changed", task, core.Values{"mode": "manner", "on": true})
	r.want("step_1", "completed")
}

func TestAClaimDoesNotRaiseTheClass(t *testing.T) {
	r := newRig(t)
	cat := *r.cat
	cat.Events = maps.Clone(cat.Events)
	cat.Events["movement.arrived"] = catalog.Event{Class: catalog.SamePath, Resource: "base"}
	r.cat, r.s = &cat, core.NewState(&cat, core.Device{Epoch: "epoch-1"})
	r.do(core.Started{StartNo: 1})
	r.up("run-1")
	r.idle()
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("movement.arrived", task, core.Values{"room_id": "kitchen"}) // it claims to be independent
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.settleAt("movement.location", "kitchen")
	r.want("step_1", "verifying")
}

func TestSatisfiedOnlyByFreshReadings(t *testing.T) {
	r := newRig(t)
	for range 4 {
		r.read("movement.location", "kitchen")
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.pass(5_000)
	r.submit(toKitchen)
	r.want("step_1", "queued") // somebody may have carried it away since
	reads := count[core.Read](r)
	if reads == 0 {
		t.Fatal("nobody asks where it is")
	}
	for range 50 { // other news does not make it ask again
		r.read("battery.level", 80.0)
	}
	if n := count[core.Read](r); n != reads {
		t.Fatalf("%d reads in one moment", n-reads)
	}
}

func TestWindowsAreNarrow(t *testing.T) {
	for _, tc := range []struct {
		name string
		plan string
		do   func(r *rig)
	}{
		{"something else used the resource meanwhile", `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]}]`, func(r *rig) {
			r.do(core.Observed{Event: "external_start", Resource: "cleaner", Source: "home"}, core.Observed{Event: "external_stop", Resource: "cleaner", Source: "home"})
			r.event("cleaning.completed", "", nil)
		}},
		{"the proof has to name its task", `[{"cloud_step_id":"step_1","taskMethod":"setVolume","params":{"level":60}}]`, func(r *rig) {
			r.event("sound.changed", "", core.Values{"level": 60.0})
		}},
		{"two of a kind that use nothing", `[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"},{"cloud_step_id":"step_2","taskMethod":"getAirQuality"}]`, func(r *rig) {
			r.event("air.measured", "", core.Values{"pm25": 3.0, "grade": "good"})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.submit(tc.plan)
			for _, d := range r.dispatches() {
				r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"})
			}
			r.pass(2_000)
			tc.do(r)
			r.want("step_1", "running")
		})
	}
}
