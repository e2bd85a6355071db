package core_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// battery is what the battery's manager reports of its own accord.
func (r *rig) battery(level float64, charging bool) {
	r.event("battery.changed", "", core.Values{"level": level, "charging": charging})
}

func (r *rig) methods() (out []string) {
	for _, d := range r.dispatches() {
		out = append(out, string(d.Method))
	}
	return out
}

func (r *rig) wantMethods(want ...string) {
	r.t.Helper()
	if got := r.methods(); !slices.Equal(got, want) {
		r.t.Errorf("dispatched %q, want %q", got, want)
	}
}

// driving has the robot on its way to the kitchen.
func (r *rig) driving() core.TaskID {
	r.t.Helper()
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.read("movement.is_moving", true)
	return task
}

// The battery falls: what moves the body is stopped and held, the robot returns, and once it is charged the same step goes on.
func TestS26_ALowBatterySendsTheRobotBackAndThePlanGoesOn(t *testing.T) {
	r := newRig(t)
	move := r.driving()
	r.battery(12, false)
	r.wantHolders("battery:all")
	r.wantMethods("setMoveTo", "stopCleaning")
	if n := count[core.Stop](r); n != 1 {
		t.Fatalf("%d stops of the move, want 1", n)
	}
	r.wantWorkflow(core.WfActive)
	back := r.wf("local:safety:1")
	if back.Plan.Priority != core.PrioritySafety || back.Plan.Standing != "return" || !back.Plan.Local {
		t.Fatalf("the return: %+v", back.Plan)
	}
	if why := core.Why(r.s, r.now, back, 1); len(why) == 0 || why[0].Kind != "resource" {
		t.Errorf("why the return waits: %+v", why)
	}
	r.do(core.TaskEnded{Task: move, Outcome: core.OutcomeCancelled})
	r.read("station.docked", false)
	r.want("step_1", "queued/held")
	r.wantWorkflow(core.WfHeld)
	r.wantMethods("setMoveTo", "stopCleaning", "returnToStation")
	home := r.last().Task
	fan := r.dispatches()[1].Task
	r.do(core.TaskAnswered{Task: fan, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: fan, Outcome: core.OutcomeDone})
	r.settleFor("cleaning.is_running", false, 1_500)
	r.do(core.TaskAnswered{Task: home, Accepted: true, Instance: "run-1"})
	r.pass(2_000)
	r.event("station.docked", home, nil)
	r.do(core.TaskEnded{Task: home, Outcome: core.OutcomeDone})
	r.battery(13, true)
	if st := r.stepOf("local:safety:1", "step_2"); st.State != core.Completed {
		t.Fatalf("the return is %s/%s", st.State, st.Reason)
	}
	r.battery(29, true)
	r.want("step_1", "queued/held")
	r.read("battery.level", 30.0)
	r.battery(30, true)
	r.wantHolders()
	r.elsewhere()
	r.wantMethods("setMoveTo", "stopCleaning", "returnToStation", "setMoveTo")
	r.arrive(r.last().Task, "kitchen")
	r.wantWorkflow(core.WfCompleted)
	if n := len(r.sent(core.MsgResult)); n != 2 {
		t.Errorf("%d results, want that of the plan and that of the return", n)
	}
}

func TestTheBatteryIsActedOnOnceAFall(t *testing.T) {
	type step struct {
		level    float64
		charging bool
		returns  int // so far
	}
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"not above its value", []step{{13, false, 0}, {12.5, false, 0}}},
		{"at its value", []step{{12, false, 1}}},
		{"below it", []step{{3, false, 1}}},
		{"never on the charger", []step{{12, true, 0}, {5, true, 0}}},
		{"once, however far it falls", []step{{12, false, 1}, {11, false, 1}, {5, false, 1}, {25, false, 1}, {12, false, 1}}},
		{"again after it was on the charger", []step{{12, false, 1}, {12, true, 1}, {12, false, 2}}},
		{"again after work went on", []step{{12, false, 1}, {30, false, 1}, {12, false, 2}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			for _, s := range tc.steps {
				r.battery(s.level, s.charging)
				r.do(core.ControlReceived{Head: core.Head{Msg: core.MessageID("c" + string(rune('a'+r.now.Seq%26))), Local: true}, Verb: "cancel", Scope: "all"}) // the return itself is over
				n := 0
				for id := range r.s.Workflows {
					if strings.HasPrefix(string(id), core.StandingPrefix) {
						n++
					}
				}
				if n != s.returns {
					t.Fatalf("at %g %%, charging %v: %d returns, want %d", s.level, s.charging, n, s.returns)
				}
			}
		})
	}
}

// A reading says as much as an event. Whether it is being charged is asked for where it decides something, and unknown is not no.
func TestBatteryByReadings(t *testing.T) {
	value := func(key string, v any, class catalog.Class) core.ContextRead {
		return core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: catalog.ContextKey(key), Value: v, Class: class, Available: true}}}
	}
	for _, tc := range []struct {
		name  string
		do    func(r *rig)
		fires bool
	}{
		{"level alone", func(r *rig) { r.read("battery.level", 12.0) }, false},
		{"level and charger", func(r *rig) { r.read("battery.charging", false); r.read("battery.level", 12.0) }, true},
		{"the answer about the charger", func(r *rig) { r.read("battery.level", 12.0); r.read("battery.charging", false) }, true},
		{"it is on the charger", func(r *rig) { r.read("battery.level", 12.0); r.read("battery.charging", true) }, false},
		{"an old word about the charger", func(r *rig) { r.read("battery.charging", false); r.pass(61_000); r.read("battery.level", 12.0) }, false},
		{"a level that the path of the commands says", func(r *rig) {
			r.read("battery.charging", false)
			r.do(value("battery.level", 12.0, catalog.SamePath))
		}, false},
		{"a charger that the path of the commands tells of", func(r *rig) {
			r.do(value("battery.charging", false, catalog.SamePath))
			r.read("battery.level", 12.0)
		}, false},
		{"an event of a weaker class", func(r *rig) {
			r.do(core.Observed{Event: "battery.changed", Source: "home", Class: catalog.SamePath, Data: core.Values{"level": 5.0, "charging": false}})
		}, false},
		{"an event without the charger", func(r *rig) { r.event("battery.changed", "", core.Values{"level": 5.0}) }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			tc.do(r)
			if got := len(r.s.Holders()) == 1; got != tc.fires {
				t.Errorf("acted on: %v, want %v", got, tc.fires)
			}
		})
	}
	r := newRig(t)
	r.log = nil
	r.read("battery.level", 12.0)
	if !slices.ContainsFunc(r.log, func(o core.Output) bool {
		rd, ok := o.(core.Read)
		return ok && slices.Contains(rd.Keys, catalog.BatteryCharging)
	}) {
		t.Error("nobody asked whether it is being charged")
	}
}

// What neither moves nor goes on by itself is not held, nor is a plan of it counted as held.
func TestALowBatteryHoldsOnlyWhatMoves(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.battery(12, false)
	r.log = nil
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"on":false}},{"cloud_step_id":"step_2","taskMethod":"getAirQuality"},
		{"cloud_step_id":"step_3","taskMethod":"startBasicAirClear"},{"cloud_step_id":"step_4","taskMethod":"setMoveTo","params":{"position":"주방"}}]`)
	r.pass(3_100)
	r.want("step_3", "queued/held", "step_4", "queued/held")
	r.wantMethods("getAirQuality", "setScreen", "returnToStation")
}

// A task that will not stop keeps the base: the return waits and says so, and goes as soon as the wheels are seen at rest.
func TestTheReturnWaitsForAStopThatIsNotConfirmed(t *testing.T) {
	r := newRig(t)
	r.driving()
	r.battery(12, false)
	for range 40 {
		r.read("movement.is_moving", true)
		r.pass(500)
	}
	if st := r.stepOf("local:safety:1", "step_2"); st.State != core.Queued || st.Reason != core.ReasonResourceBusy {
		t.Fatalf("the return is %s/%s, and the base is not free", st.State, st.Reason)
	}
	if n := count[core.Stop](r); n < 3 {
		t.Errorf("%d stops, want at least 3", n)
	}
	if slices.Contains(r.methods(), "returnToStation") {
		t.Fatal("two tasks on the base")
	}
	r.settleFor("movement.is_moving", false, 13_000)
	r.read("station.docked", false)
	if !slices.Contains(r.methods(), "returnToStation") {
		t.Fatal("the wheels rest and the return does not go")
	}
}

// Safety does not wait for the proof of another step, however long that may take.
func TestTheReturnDoesNotWaitForAProof(t *testing.T) {
	r := newRig(t)
	task := r.driving()
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.want("step_1", "verifying")
	r.read("station.docked", false)
	r.battery(12, false)
	r.read("station.docked", false)
	r.wantMethods("setMoveTo", "stopCleaning", "returnToStation")
}

// A cleaning that may not be sent again fails by the hold; one that may is queued again. Nobody cancelled it.
func TestWhatTheReturnStopsWasNotCancelledByAnybody(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.battery(12, false)
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.want("step_1", "queued/held")
	r.wantWorkflow(core.WfHeld)
	if len(r.s.Tombs) != 0 {
		t.Errorf("tombs %v", r.s.Tombs)
	}
}

// A person's stop goes over the return too; it is not sent again before the battery falls anew, and the hold stays.
func TestAPersonMayStopTheReturn(t *testing.T) {
	r := newRig(t)
	r.read("station.docked", false)
	r.battery(12, false)
	r.read("station.docked", false)
	if r.last().Method != "returnToStation" {
		t.Fatal("no return")
	}
	r.do(core.Observed{Event: "pui.cancelled", Source: "home"})
	if st := r.stepOf("local:safety:1", "step_2"); st.State != core.Cancelling {
		t.Fatalf("the return is %s", st.State)
	}
	r.battery(11, false)
	r.wantHolders("battery:all")
	if n := len(r.dispatches()); n != 2 {
		t.Errorf("%d dispatches", n)
	}
}

// Somebody has put the robot on its charger: a return that has not begun is not needed any more.
func TestAReturnThatIsNotNeededAnyMore(t *testing.T) {
	r := newRig(t)
	r.button("pui.takeover")
	r.battery(12, false)
	if st := r.stepOf("local:safety:1", "step_2"); st.Reason != core.ReasonHeld {
		t.Fatalf("under a takeover the return is %s/%s", st.State, st.Reason)
	}
	r.battery(40, true)
	if st := r.stepOf("local:safety:1", "step_2"); st.State != core.Skipped || st.Reason != core.ReasonConditionFalse {
		t.Errorf("the return is %s/%s", st.State, st.Reason)
	}
	r.wantHolders("pui:all:takeover")
}

// The number of a standing plan survives a power cut, and nobody else's plan can take its place.
func TestStandingPlansHaveIdsOfTheirOwn(t *testing.T) {
	r := newRig(t)
	r.s.Tombs["local:safety:1"] = core.ReasonUserCancelled
	r.battery(12, false)
	r.wf("local:safety:2")
	if r.s.Device.Safety.PlanNo != 2 {
		t.Errorf("number %d", r.s.Device.Safety.PlanNo)
	}
}

// The way to the station is exempt from a prerequisite over the battery: it is what that guard is for.
func TestTheReturnIsExemptFromTheGuardThatItServes(t *testing.T) {
	cat := *defaultCatalog(t)
	cat.Operations = maps.Clone(cat.Operations)
	op := cat.Operations["returnToStation"]
	op.Prerequisites = cat.Operations["setMoveTo"].Prerequisites
	cat.Operations["returnToStation"] = op
	r := newRig(t)
	r.s = core.NewState(&cat, core.Device{Epoch: "epoch-1"})
	r.do(core.Started{StartNo: 1})
	r.up("run-1")
	r.read("battery.charging", false)
	r.read("battery.level", 5.0)
	r.read("station.docked", false)
	if !slices.Contains(r.methods(), "returnToStation") {
		t.Errorf("dispatched %q: %+v", r.methods(), r.stepOf("local:safety:1", "step_2"))
	}
}
