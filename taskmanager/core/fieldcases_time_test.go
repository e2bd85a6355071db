package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

const (
	hourMS = 3_600_000
	dayMS  = 24 * hourMS
	yearMS = 365 * dayMS
)

// afterAir is a plan whose second step is due 30 s after its first was proven; its rig waits for it.
func afterAir(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"},
	 {"cloud_step_id":"step_2","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":30000}]`)
	task := r.last().Task
	r.accept(task)
	r.event("air.measured", task, core.Values{"pm25": 3.0, "grade": "good"})
	r.want("step_2", "waiting")
	return r
}

// wallJumps plays jumps of the wall clock, in ms, in the middle of a delay, each followed by a new start of the agent: it ends neither early
// nor late, and once.
func wallJumps(t *testing.T, jumps ...int64) {
	t.Helper()
	r := afterAir(t)
	due := r.step("step_2").Due
	for _, j := range jumps {
		r.pass(5_000)
		r.now.WallMS += j
		r.restart("run-1") // of the process, in the same boot
		r.want("step_2", "waiting")
	}
	r.read("battery.level", 80.0)
	r.pass(int64(due-r.now.Boot) - 1)
	r.want("step_2", "waiting")
	r.pass(1)
	r.want("step_2", "dispatching")
	r.pass(1_000)
	if n := len(r.dispatches()); n != 2 {
		t.Errorf("%d dispatches, want one a step", n)
	}
}

func TestF49_AYearForthAndBack(t *testing.T) { wallJumps(t, yearMS, -yearMS) }

func TestF50_TwoHoursBack(t *testing.T) { wallJumps(t, -2*hourMS) }

func TestG1_AWrongClockAtTheStartThatIsSetLater(t *testing.T) {
	r := newRig(t)
	r.now.Trusted, r.now.WallMS = false, 0 // 1970
	r.elsewhere()
	ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
	ev.Plan.DeadlineMS = 60_000
	r.do(ev)
	r.accept(r.last().Task)
	r.pass(10_000)
	r.now.Trusted, r.now.WallMS = true, 1_800_000_000_000
	r.do(core.Tick{})
	r.want("step_1", "running") // the deadline is a duration from the acceptance
	r.pass(49_999)
	r.want("step_1", "running")
	r.pass(1)
	r.want("step_1", "cancelling/deadline_exceeded")
	if wf := r.wf("wf_1"); wf.AcceptMS != 0 {
		t.Errorf("accepted at %d, by a clock that nobody trusted", wf.AcceptMS)
	}
}

func TestF51_EightHoursOfSuspend(t *testing.T) {
	r := afterAir(t)
	r.now.Boot += 8 * hourMS // the boot clock counts what the device slept
	r.now.WallMS += 8 * hourMS
	r.do(core.Tick{})
	r.want("step_2", "dispatching")
	r.do(core.Tick{}, core.Tick{})
	if n := len(r.dispatches()); n != 2 {
		t.Errorf("%d dispatches, want one a step", n)
	}
}

func TestG3_OrderIsThatOfTheIntake(t *testing.T) {
	for name, jump := range map[string]int64{"a day forth": dayMS, "a day back": -dayMS} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			says := func(at string) {
				r.do(core.Observed{Event: "movement.arrived", Resource: "base", Source: "home", OccurredAt: at, Data: core.Values{"room_id": "kitchen"}})
			}
			says("2099-01-01T00:00:00Z") // by its stamp after the dispatch, taken in before it
			r.submit(toKitchen)
			task := r.last().Task
			r.now.WallMS += jump
			r.accept(task)
			r.settleAt("movement.location", "kitchen")
			r.want("step_1", "running")
			says("1999-01-01T00:00:00Z")
			r.settleAt("movement.location", "kitchen")
			r.want("step_1", "completed")
			for i, m := range r.out {
				if m.Seq != int64(i+1) {
					t.Errorf("message %d has number %d", i, m.Seq)
				}
			}
			if res := r.sent(core.MsgResult)[0].Result; res.ElapsedMS < 0 || res.ElapsedMS > 60_000 {
				t.Errorf("it took %d ms", res.ElapsedMS)
			}
		})
	}
}

func TestG4_AnUntrustedClockJudgesNoExpiry(t *testing.T) {
	for _, tc := range []struct {
		name    string
		trusted bool
		expire  int64 // from now
		want    core.Reason
	}{
		{"in time", true, 60_000, core.ReasonNone},
		{"too late", true, -1, core.ReasonExpired},
		{"nobody knows the time", false, 60_000, core.ReasonClockUntrusted},
		{"nobody knows the time, and it seems too late", false, -14 * dayMS, core.ReasonClockUntrusted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.now.Trusted = tc.trusted
			ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
			ev.ExpireMS = r.now.WallMS + tc.expire
			c := r.do(ev)
			if a := c.Answers[0]; a.Reason != tc.want || a.Accepted != (tc.want == core.ReasonNone) {
				t.Fatalf("answer %+v, want %q", a, tc.want)
			}
			if tc.want != core.ReasonClockUntrusted {
				return
			}
			if len(c.Remember) != 0 {
				t.Fatal("remembered, though it binds only until the clock is set")
			}
			r.now.Trusted, ev.ExpireMS = true, r.now.WallMS+60_000
			if a := r.do(ev).Answers[0]; !a.Accepted {
				t.Fatalf("once the clock is set: %+v", a)
			}
		})
	}
}

// TestF83_AnIDOlderThanTheMemoryIsRefused: what the id memory has forgotten may come again, and may not be taken for new.
func TestF83_AnIDOlderThanTheMemoryIsRefused(t *testing.T) {
	const forgotten = 1_790_000_000_000
	for _, tc := range []struct {
		name    string
		head    core.Head
		trusted bool
		want    core.Reason
	}{
		{"nothing was forgotten", core.Head{IDMS: 5}, true, core.ReasonNone},
		{"as old as what was forgotten", core.Head{IDMS: forgotten, ForgottenMS: forgotten}, true, core.ReasonExpired},
		{"as old, and nobody knows the time", core.Head{IDMS: forgotten, ForgottenMS: forgotten}, false, core.ReasonExpired},
		{"younger", core.Head{IDMS: forgotten + 1, ForgottenMS: forgotten}, true, core.ReasonNone},
		{"handed in on the robot", core.Head{IDMS: 5, ForgottenMS: forgotten, Local: true}, true, core.ReasonNone},
		{"a day ahead", core.Head{IDMS: 1_800_000_000_000 + dayMS}, true, core.ReasonNone},
		{"more than a day ahead", core.Head{IDMS: 1_800_000_000_001 + dayMS}, true, core.ReasonClockSkew},
		{"more than a day ahead of a clock that nobody has set", core.Head{IDMS: 1_800_000_000_001 + dayMS}, false, core.ReasonNone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.now.Trusted = tc.trusted
			plan := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
			plan.IDMS, plan.ForgottenMS, plan.Local = tc.head.IDMS, tc.head.ForgottenMS, tc.head.Local
			if a := r.do(plan).Answers[0]; a.Reason != tc.want {
				t.Errorf("a plan: %+v, want %q", a, tc.want)
			}
			stop := core.ControlReceived{Head: tc.head, Verb: "cancel", Scope: "all"}
			stop.Msg = "c-1"
			if a := r.do(stop).Answers[0]; a.Reason != tc.want {
				t.Errorf("a cancel of all: %+v, want %q", a, tc.want)
			}
		})
	}
}
