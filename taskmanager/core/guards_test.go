package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Guards that no story needs by itself: each could be removed from the source and everything else would still pass. The table of all
// guards is testbed/mutant/guards.mut.

// What counts is the sequence of the intake: a held event may be decided after a dispatch that it came before.
func TestAnEventFromBeforeTheDispatchProvesNothing(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	d := r.last()
	r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"})
	seq := r.now.Seq
	r.now.Seq = 1
	r.event("movement.arrived", d.Task, core.Values{"room_id": "kitchen"})
	r.now.Seq = seq
	r.settleAt("movement.location", "kitchen")
	r.do(core.TaskEnded{Task: d.Task, Outcome: core.OutcomeDone})
	r.want("step_1", "verifying")
	r.event("movement.arrived", d.Task, core.Values{"room_id": "kitchen"})
	r.want("step_1", "completed")
}

// However fresh a value is: one that was read before the dispatch is what the step found, not what it did.
func TestAValueFromBeforeTheDispatchProvesNothing(t *testing.T) {
	r := newRig(t)
	r.read("display.brightness", 50.0)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"brightness":50}}]`)
	d := r.last()
	r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: d.Task, Outcome: core.OutcomeDone})
	r.want("step_1", "verifying")
	r.read("display.brightness", 50.0)
	r.want("step_1", "completed")
}

// An event that names no task belongs to the only one that uses its resource, unless something else used it as well.
func TestAWindowThatOthersUsedProvesNothing(t *testing.T) {
	for _, others := range []bool{false, true} {
		r := newRig(t)
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]`)
		d := r.last()
		r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"})
		r.pass(2_000)
		if others {
			r.do(core.Observed{Event: "external_start", Resource: "cleaner", Source: "home"})
		}
		r.event("cleaning.started", "", core.Values{"mode": "fixed"})
		r.do(core.TaskEnded{Task: d.Task, Outcome: core.OutcomeDone})
		if got, want := r.step("step_1").State == core.Completed, !others; got != want {
			t.Errorf("others %v: the step is %s", others, r.step("step_1").State)
		}
		r.event("cleaning.started", d.Task, core.Values{"mode": "fixed"})
		r.want("step_1", "completed")
	}
}

// Of two sources that say different things neither proves anything.
func TestADisputedValueProvesNothing(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"brightness":50}}]`)
	d := r.last()
	r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: d.Task, Outcome: core.OutcomeDone})
	say := func(source string, v float64) {
		r.do(core.ContextRead{Source: source, Values: []core.ContextValue{{Key: "display.brightness", Value: v, Class: catalog.Independent, Available: true}}})
	}
	say("panel", 80)
	say("home", 50)
	r.want("step_1", "verifying")
	say("panel", 50)
	r.want("step_1", "completed")
}

// What holds by the doing of somebody else, who goes on, is not satisfied.
func TestNothingIsSatisfiedWhileOthersUseIt(t *testing.T) {
	for _, used := range []bool{false, true} {
		r := newRig(t)
		if used {
			r.do(core.Observed{Event: "external_start", Resource: "volume", Source: "home"})
		}
		r.read("mode.manner", true)
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMannerMode","params":{"on":true}}]`)
		r.read("mode.manner", true)
		if used {
			r.want("step_1", "dispatching")
		} else {
			r.want("step_1", "satisfied")
		}
	}
}

// An operation that may never be repeated is not, however sure it is that nothing of it goes on.
func TestWhatMayNeverBeRepeatedIsNot(t *testing.T) {
	for redo, want := range map[catalog.Redo]int{catalog.RedoNever: 1, catalog.RedoAnytime: 2} {
		r := newRig(t)
		op := r.cat.Operations["setMannerMode"]
		op.Redo = redo
		cat := *r.cat
		cat.Operations = map[catalog.Method]catalog.Operation{}
		for m, o := range r.cat.Operations {
			cat.Operations[m] = o
		}
		cat.Operations["setMannerMode"] = op
		r = newRigOf(t, &cat)
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMannerMode","params":{"on":false}}]`)
		d := r.last()
		r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"})
		r.do(core.ExecutorDown{Service: "home"})
		r.up("run-2")
		r.do(core.TaskStatus{Task: d.Task, Known: core.KnownNot, Sealed: true, Instance: "run-2"})
		r.pass(2_000)
		if n := len(r.dispatches()); n != want {
			t.Errorf("redo %s: %d dispatches, want %d; the step is %s/%s", redo, n, want, r.step("step_1").State, r.step("step_1").Reason)
		}
	}
}
