package core_test

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// alarms are the events that hold what moves, and the holds that they set.
var alarms = []struct {
	name  string
	ev    core.Observed
	hold  string
	ended string // the event that says that its cause has passed; "": a person judges it
}{
	{"the red button", core.Observed{Event: "safety.stopped", Data: core.Values{"code": "stop_button"}}, "safety:all:stopped", "safety.released"},
	{"lifted", core.Observed{Event: "robot.lifted"}, "safety:all:lifted", "robot.placed"},
	{"a severe fault", core.Observed{Event: "robot.fault", Data: core.Values{"code": "motor", "severity": "critical"}}, "safety:all:fault", ""},
	{"a fault of a severity that nobody knows", core.Observed{Event: "robot.fault", Data: core.Values{"code": "motor", "severity": "grave"}}, "safety:all:fault", ""},
	{"a fault without one", core.Observed{Event: "robot.fault", Data: core.Values{"code": "motor"}}, "safety:all:fault", ""},
	{"stuck, as a fault", core.Observed{Event: "robot.fault", Data: core.Values{"code": "stuck", "severity": "minor"}}, "safety:all:stuck", ""},
	{"stuck, as a motion that failed", core.Observed{Event: "movement.failed", Data: core.Values{"code": "stuck"}}, "safety:all:stuck", ""},
}

// What safety says stops the body at once, beside a commit that is under way too, and holds it until a person lets it go.
func TestSafetyHoldsAtOnceAndNeverLetsGoByItself(t *testing.T) {
	for _, tc := range alarms {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			task := r.driving()
			tc.ev.Source = "home"
			if !core.StopsSomething(tc.ev) {
				t.Error("it waits for a commit under way")
			}
			stop := core.Output(core.Stop{Task: task, Service: "home", Method: "setMoveTo"})
			if now := core.UrgentStops(r.s, r.now, tc.ev); !slices.Contains(now, stop) {
				t.Errorf("beside a commit: %+v", now)
			}
			r.do(tc.ev)
			if !slices.Contains(r.ch.Now, stop) {
				t.Fatalf("not stopped at once: %+v", r.ch.Now)
			}
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: "robot_fault"})
			r.want("step_1", "queued/held")
			r.wantWorkflow(core.WfHeld)
			r.wantHolders(tc.hold)

			r.control("resume", "app", "all", "")
			r.control("resume", "planner", "all", "")
			r.control("resume", "voice", "all", "")
			r.wantHolders(tc.hold) // nobody from afar
			if tc.ended != "" {
				r.button("pui.resumed")
				r.wantHolders(tc.hold) // nor who stands beside it, while its cause is there
				if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); len(why) == 0 || !strings.Contains(why[0].Text, "its cause has not passed") {
					t.Errorf("why: %+v", why)
				}
				r.button(tc.ended)
			}
			r.pass(3_600_000)
			r.idle()
			r.elsewhere()
			r.wantHolders(tc.hold)
			if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); len(why) == 0 || !strings.Contains(why[0].Text, "a person at the robot has to let it go on") {
				t.Errorf("why: %+v", why)
			}
			r.wantMethods("setMoveTo")
			r.button("pui.resumed")
			r.wantHolders()
			r.elsewhere()
			r.wantMethods("setMoveTo", "setMoveTo")
		})
	}
}

func TestAnOperatorGoesOverASafetyHold(t *testing.T) {
	r := newRig(t)
	r.do(core.Observed{Event: "robot.lifted", Source: "home"})
	if a := r.control("resume", "", "all", ""); !a.Accepted || len(a.Holders) != 0 {
		t.Errorf("answer %+v", a)
	}
	r.wantHolders()
}

func TestWhatIsNoAlarm(t *testing.T) {
	for _, ev := range []core.Observed{
		{Event: "robot.fault", Data: core.Values{"code": "dust", "severity": "minor"}},
		{Event: "robot.fault", Data: core.Values{"code": "dust", "severity": "info"}},
		{Event: "robot.fault", Data: core.Values{"code": "dust", "severity": "warning"}},
		{Event: "movement.failed", Data: core.Values{"code": "door_shut"}},
		{Event: "safety.released"}, {Event: "robot.placed"},
	} {
		r := newRig(t)
		ev.Source = "home"
		if r.do(ev); len(r.s.Holders()) != 0 || core.StopsSomething(ev) {
			t.Errorf("%s %v holds %+v", ev.Event, ev.Data, r.s.Holders())
		}
	}
}

// What neither moves nor goes on by itself is free to go on: the person who lifted the robot may want its screen.
func TestSafetyHoldsOnlyWhatMoves(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.do(core.Observed{Event: "safety.stopped", Source: "home"})
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"},{"cloud_step_id":"step_2","taskMethod":"setScreen","params":{"on":false}},
		{"cloud_step_id":"step_3","taskMethod":"stopMovement"}]`)
	r.want("step_1", "queued/held", "step_3", "dispatching")
	r.pass(3_100)
	r.wantMethods("stopMovement", "setScreen")
}

// The safety controller's state stands in for an event that was lost, both ways; it releases nothing by itself either.
func TestTheStateOfTheSafetyControllerCountsToo(t *testing.T) {
	r := newRig(t)
	r.read("safety.state", "normal")
	r.wantHolders()
	r.read("safety.state", "stopped")
	r.wantHolders("safety:all:stopped")
	r.button("pui.resumed")
	r.wantHolders("safety:all:stopped")
	r.read("safety.state", "normal")
	r.wantHolders("safety:all:stopped")
	r.button("pui.resumed")
	r.wantHolders()
}

// After a lift nobody knows where the robot stands, until that was read anew after it was put down; nothing read before counts.
func TestAfterALiftItsPlaceIsMissing(t *testing.T) {
	place := func(r *rig) string {
		if k, ok := r.s.Known["movement.location"]; ok && k.Available {
			return k.Value.(string)
		}
		return "missing"
	}
	r := newRig(t)
	r.settleAt("movement.location", "kitchen")
	r.do(core.Observed{Event: "robot.lifted", Source: "home"})
	for _, tc := range []struct {
		name string
		do   func()
		want string
	}{
		{"lifted", func() {}, "missing"},
		{"read in somebody's hands", func() { r.read("movement.location", "kitchen") }, "missing"},
		{"after a restart", func() {
			r.do(core.Started{StartNo: 2})
			r.up("run-1")
			r.read("movement.location", "kitchen")
		}, "missing"},
		{"put down", func() { r.button("robot.placed") }, "missing"},
		{"read where it stands now", func() { r.read("movement.location", "study") }, "study"},
		{"put down once more, from where nobody saw it lifted", func() { r.button("robot.placed") }, "missing"},
	} {
		if tc.do(); place(r) != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, place(r), tc.want)
		}
	}
}

// A lift and its end in one batch leave nothing of what was read before.
func TestALiftInOneBatch(t *testing.T) {
	r := newRig(t)
	at := func(room string) core.ContextRead {
		return core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "movement.location", Value: room, Available: true}}}
	}
	r.do(at("kitchen"), core.Observed{Event: "robot.lifted", Source: "home"}, at("kitchen"), core.Observed{Event: "robot.placed", Source: "home"})
	if k, ok := r.s.Known["movement.location"]; ok {
		t.Fatalf("known: %+v", k)
	}
	r.do(core.Observed{Event: "robot.placed", Source: "home"}, at("study"))
	if k := r.s.Known["movement.location"]; k.Value != "study" {
		t.Fatalf("known: %+v", k)
	}
}

// A task whose call was not answered is stopped by a guard too, and sealed: it may be on its way.
func TestAGuardStopsWhatWasNotAnswered(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.log = nil
	r.do(core.Observed{Event: "safety.stopped", Source: "home"})
	if count[core.Stop](r) != 1 || count[core.Query](r) != 1 {
		t.Fatalf("out: %+v", r.log)
	}
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-1"})
	r.want("step_1", "queued/held")
	r.do(core.TaskAnswered{Task: task, Unknown: true})
	r.want("step_1", "queued/held")
}

// An alarm and a dispatch decided together: the dispatch is taken back.
func TestAnAlarmInTheBatchOfADispatch(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	c := r.do(r.planEvent("wf_1", "pl_1", toKitchen), core.Observed{Event: "safety.stopped", Source: "home"})
	if len(c.Outputs) != 0 || len(r.dispatches()) != 0 {
		t.Fatalf("out: %+v", c.Outputs)
	}
	r.want("step_1", "queued/held")
}

// What says that it is done while it is being stopped is looked at like any other: it may have arrived.
func TestWhatArrivesWhileAGuardStopsIt(t *testing.T) {
	r := newRig(t)
	task := r.driving()
	r.do(core.Observed{Event: "safety.stopped", Source: "home"})
	r.arrive(task, "kitchen")
	r.want("step_1", "completed")
}

// A task that refuses to stop is left to come to its end: it is not called again and again.
func TestATaskThatRefusesToStopForAGuard(t *testing.T) {
	r := newRig(t)
	task := r.driving()
	r.do(core.Observed{Event: "safety.stopped", Source: "home"})
	for range 5 {
		r.do(core.StopAnswered{Task: task, Refused: true})
	}
	if n := count[core.Stop](r); n != 1 {
		t.Errorf("%d stops of what refuses them", n)
	}
	r.arrive(task, "kitchen")
	r.want("step_1", "completed")
}

// A safety hold survives a power cut with what may release it.
func TestASafetyHoldSurvivesARestart(t *testing.T) {
	r := newRig(t)
	r.driving()
	r.do(core.Observed{Event: "robot.lifted", Source: "home"})
	r.now.Boot, r.now.BootID = 5_000, "boot-2"
	r.do(core.Started{StartNo: 2})
	r.up("run-2")
	r.idle()
	r.wantHolders("safety:all:lifted")
	r.button("pui.resumed")
	r.wantHolders("safety:all:lifted")
	r.button("robot.placed")
	r.button("pui.resumed")
	r.wantHolders()
}

// A plan of priority safety that a person hands in goes first in the queue, and over no guard.
func TestPrioritySafetyGoesOverNoGuard(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.battery(12, false)
	r.log = nil
	ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
	ev.Plan.Priority, ev.Local = core.PrioritySafety, true
	r.do(ev)
	r.pass(10_000)
	r.want("step_1", "queued/held")
	if slices.Contains(r.methods(), string(catalog.Method("setMoveTo"))) {
		t.Error("driven on an empty battery")
	}
}

// A stop of the body that is not confirmed in its time goes another way too: by the catalog's standing plan stop, once.
func TestAStopThatIsNotConfirmedGoesAnotherWay(t *testing.T) {
	stops := func(r *rig) (n int) {
		for _, o := range r.log {
			if d, ok := o.(core.Dispatch); ok && d.Method == "stopMovement" {
				n++
			}
		}
		return n
	}
	for _, tc := range []struct {
		name string
		stop func(r *rig)
	}{
		{"a cancel", func(r *rig) { r.do(cancel("wf_1")) }},
		{"the button", func(r *rig) { r.button("pui.cancelled") }},
		{"a guard", func(r *rig) { r.do(core.Observed{Event: "safety.stopped", Source: "home"}) }},
		{"its time is over", func(r *rig) { r.pass(180_000) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			task := r.driving()
			tc.stop(r)
			if stops(r) != 0 {
				t.Fatal("it had its time")
			}
			r.read("movement.is_moving", true)
			r.pass(4_100)
			if stops(r) != 1 || r.wf("local:safety:1").Plan.Standing != "stop" {
				t.Fatalf("%d calls of stopMovement", stops(r))
			}
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
			r.pass(20_000)
			if stops(r) != 1 {
				t.Errorf("%d calls of stopMovement", stops(r))
			}
		})
	}
}

func TestAConfirmedStopNeedsNoOther(t *testing.T) {
	r := newRig(t)
	task := r.driving()
	r.do(cancel("wf_1"))
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.pass(60_000)
	if n := len(r.s.Workflows); n != 1 {
		t.Errorf("%d workflows", n)
	}
}

// The cancel button is for whatever moves the robot, also where that is no task of ours.
func TestTheButtonStopsWhatMovesByItself(t *testing.T) {
	r := newRig(t)
	r.push()
	r.read("movement.is_moving", true)
	r.button("pui.cancelled")
	if wf := r.wf("local:safety:1"); wf.Plan.Standing != "stop" || wf.State != core.WfActive {
		t.Errorf("%s is %s", wf.Plan.Standing, wf.State)
	}
}

// Wheels that were seen to stand still since they were told to are not stopped by other means, though it is too soon to be sure.
func TestAStopThatSeemsToRestGoesNoOtherWay(t *testing.T) {
	r := newRig(t)
	r.driving()
	r.do(cancel("wf_1"))
	r.pass(2_000)
	r.read("movement.is_moving", false)
	r.pass(2_100)
	if n := len(r.s.Workflows); n != 1 {
		t.Errorf("%d workflows", n)
	}
}
