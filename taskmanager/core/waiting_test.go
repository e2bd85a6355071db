package core_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"deviceagent/taskmanager/core"
)

// atTime is a plan of one step that waits for a moment, so many ms after the rig's wall clock.
func atTime(r *rig, inMS int64, more string) string {
	at := time.UnixMilli(r.now.WallMS + inMS).In(time.FixedZone("", 9*3600)).Format("2006-01-02T15:04:05.000Z07:00")
	return `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus","temporal_relation":"at_time","not_before":"` + at + `"` + more + `}]`
}

// toWall lets time go by until the wall clock shows a moment, at the pace at which whoever drives the core has to wake it.
func (r *rig) toWall(ms int64) {
	r.t.Helper()
	for r.now.WallMS < ms {
		next := ms
		if at := r.s.NextWall(); at > r.now.WallMS && at < next {
			next = at
		}
		r.pass(next - r.now.WallMS)
		r.do(core.Tick{})
	}
}

func TestG1_AWallTimerWaitsForTrustAndFollowsEachJump(t *testing.T) {
	r := newRig(t)
	at := r.now.WallMS + 3*hourMS
	r.submit(atTime(r, 3*hourMS, ""))
	r.want("step_1", "waiting")
	if stuck := core.Audit(r.s, r.now); len(stuck) > 0 {
		t.Fatalf("the audit finds %v", stuck)
	}
	if got := r.s.NextWall(); got != at {
		t.Fatalf("the next moment is %d, want %d", got, at)
	}
	r.toWall(at - hourMS)
	r.now.WallMS -= dayMS // the clock is set back by a day: the moment is a day further off, whatever the boot clock says
	r.do(core.Tick{})
	r.toWall(at - 1)
	r.want("step_1", "waiting")
	r.now.Trusted = false // and now nobody knows the time any more
	r.pass(hourMS)
	r.do(core.Tick{})
	r.want("step_1", "waiting/clock_untrusted")
	r.now.Trusted, r.now.WallMS = true, at-1
	r.do(core.Tick{})
	r.want("step_1", "waiting/")
	r.toWall(at)
	r.want("step_1", "dispatching")
	r.now.WallMS -= dayMS // set back after it was done: it is not done again
	r.do(core.Tick{})
	r.toWall(at + 1)
	r.pass(1_000)
	if n := len(r.dispatches()); n != 1 {
		t.Errorf("%d dispatches, want one", n)
	}
}

func TestAWallTimeIsNotReachedByAClockThatNobodyTrusts(t *testing.T) {
	r := newRig(t)
	plan := atTime(r, 1_000, "")
	r.now.Trusted = false
	r.submit(plan)
	r.want("step_1", "waiting/clock_untrusted")
	r.pass(hourMS)
	r.do(core.Tick{})
	r.want("step_1", "waiting/clock_untrusted")
	if facts := core.Why(r.s, r.now, r.wf("wf_1"), 0); len(facts) == 0 || !strings.Contains(facts[0].Text, "cannot be trusted") {
		t.Errorf("why: %+v", facts)
	}
}

func TestOverdue(t *testing.T) {
	for _, tc := range []struct {
		name, more string
		late       int64
		state      string
		wf         core.WorkflowState
	}{
		{"run by default", "", hourMS, "dispatching", core.WfActive},
		{"run", `,"on_overdue":"run"`, hourMS, "dispatching", core.WfActive},
		{"skip", `,"on_overdue":"skip"`, hourMS, "skipped/overdue_skipped", core.WfExpired},
		{"fail", `,"on_overdue":"fail"`, hourMS, "blocked/overdue", core.WfQueued},
		{"skip, within the grace", `,"on_overdue":"skip"`, 60_000, "dispatching", core.WfActive},
		{"skip, just over it", `,"on_overdue":"skip"`, 60_001, "skipped/overdue_skipped", core.WfExpired},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Run("off at the moment", func(t *testing.T) {
				r := newRig(t)
				r.submit(atTime(r, hourMS, tc.more))
				r.off(hourMS+tc.late, true)
				r.do(core.Tick{})
				r.want("step_1", tc.state)
				r.wantWorkflow(tc.wf)
			})
			t.Run("asleep at the moment", func(t *testing.T) {
				r := newRig(t)
				r.submit(atTime(r, hourMS, tc.more))
				r.now.Boot, r.now.WallMS = r.now.Boot+core.Instant(hourMS+tc.late), r.now.WallMS+hourMS+tc.late
				r.do(core.Tick{})
				r.want("step_1", tc.state)
			})
			t.Run("the plan came too late", func(t *testing.T) {
				r := newRig(t)
				r.submit(atTime(r, -tc.late, tc.more))
				r.want("step_1", tc.state)
			})
		})
	}
}

// off plays a time off of so many ms, and a start with a clock that is trusted or not.
func (r *rig) off(ms int64, trusted bool) {
	wall := r.now.WallMS + ms
	r.now.BootID += "'"
	r.now.Boot, r.now.WallMS, r.now.Trusted = 5_000, wall, trusted
	r.do(core.Started{StartNo: 2})
	r.up("run-1")
}

func TestD2_ADelayThatEndedWhileTheDeviceWasOff(t *testing.T) {
	for policy, want := range map[string]string{"run": "dispatching", "skip": "skipped/overdue_skipped", "fail": "blocked/overdue"} {
		t.Run(policy, func(t *testing.T) {
			r := newRig(t)
			r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","delay_ms":600000,"on_overdue":"` + policy + `"}]`)
			r.pass(60_000)
			r.off(540_000+60_001, true)
			r.do(core.Tick{})
			r.want("step_1", want)
		})
	}
	t.Run("goes on where it is not over", func(t *testing.T) {
		r := newRig(t)
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","delay_ms":600000,"on_overdue":"skip"}]`)
		r.pass(60_000)
		r.off(300_000, true)
		r.pass(239_999)
		r.want("step_1", "waiting")
		r.pass(1)
		r.want("step_1", "dispatching")
	})
}

func TestAMomentThatPassesWhileAStepWaitsForOthersIsNotOverdue(t *testing.T) {
	r := newRig(t)
	plan := atTime(r, 10_000, `,"depends_on":["step_0"],"on_overdue":"skip"`)
	r.submit(strings.Replace(plan, `[`, `[{"cloud_step_id":"step_0","taskMethod":"startVitalSign"},`, 1))
	task := r.last().Task
	r.accept(task)
	r.pass(hourMS)
	r.want("step_1", "pending")
	r.event("vital.completed", task, nil)
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.want("step_0", "completed", "step_1", "dispatching")
}

func TestADelayAndAWallTimeWaitForBoth(t *testing.T) {
	for _, tc := range []struct {
		name        string
		delay, wall int64
	}{{"the delay ends last", 50_000, 20_000}, {"the wall time is last", 20_000, 50_000}} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			end := r.now.WallMS + 50_000
			r.submit(strings.Replace(atTime(r, tc.wall, `,"delay_ms":`+itoa(tc.delay)), "at_time", "after_planned_step", 1))
			r.toWall(end - 1)
			r.want("step_1", "waiting")
			r.toWall(end)
			r.want("step_1", "dispatching")
		})
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// TestF52_ATimeOffThatIsLearntLater: the clock is set some time after the start. Until then the delay may be late and says so, it is
// never early; once the clock is set, the time off is made up for.
func TestF52_ATimeOffThatIsLearntLater(t *testing.T) {
	r := newRig(t)
	ev := r.planEvent("wf_1", "pl_1", `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","delay_ms":3600000}]`).(core.PlanSubmitted)
	ev.Plan.DeadlineMS = 2 * hourMS
	r.do(ev)
	r.pass(600_000)
	r.do(core.Tick{})
	wall := r.now.WallMS
	r.off(1_200_000, false)
	r.want("step_1", "waiting/clock_untrusted")
	if facts := core.Why(r.s, r.now, r.wf("wf_1"), 0); len(facts) < 2 || !strings.Contains(facts[1].Text, "never early") {
		t.Errorf("why: %+v", facts)
	}
	r.submitAs("wf_2", `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","delay_ms":3600000}]`)
	r.pass(60_000)
	r.do(core.Tick{})
	r.off(0, false) // a second time, for a minute that nobody can measure
	r.pass(60_000)
	deadline, later := r.wf("wf_1").Deadline, r.stepOf("wf_2", "step_1").Due
	r.want("step_1", "waiting/clock_untrusted")
	r.now.Trusted, r.now.WallMS = true, wall+1_200_000+60_000+60_000+60_000
	r.do(core.Tick{})
	r.want("step_1", "waiting/")
	if moved := deadline - r.wf("wf_1").Deadline; moved != 1_200_000+60_000 {
		t.Errorf("the deadline has come nearer by %d ms, want the time off", moved)
	}
	if due := r.stepOf("wf_2", "step_1").Due; later-due > 60_000 {
		t.Errorf("a delay that began after the time off is shorter by %d ms", later-due)
	}
	left := int64(3_600_000 - 600_000 - 1_200_000 - 180_000)
	r.pass(left - 1)
	r.want("step_1", "waiting")
	r.pass(1)
	r.want("step_1", "dispatching")
}

func (r *rig) submitAs(wf, requests string) {
	r.t.Helper()
	if ans := r.offer(wf, "pl_"+wf, requests); !ans.Accepted {
		r.t.Fatalf("%s is refused: %+v", wf, ans)
	}
}
