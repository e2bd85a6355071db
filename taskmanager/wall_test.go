package taskmanager_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/taskmanager/core"
)

// planAt moves to the kitchen at a moment of the wall clock, so far ahead of it.
func (r *rig) planAt(wf string, ahead time.Duration, more string) string {
	ms, _ := r.clk.Wall()
	at := time.UnixMilli(ms).Add(ahead).UTC().Format("2006-01-02T15:04:05.000Z")
	return planJSON(wf, strings.Replace(toKitchen, `}]`, `,"temporal_relation":"at_time","not_before":"`+at+`"`+more+`}]`, 1))
}

func (r *rig) wantState(wf string, want core.StepState) {
	r.t.Helper()
	if got := r.state(wf, "step_1"); got != want {
		r.t.Errorf("%s is %s, want %s", wf, got, want)
	}
}

func TestG1_TheManagerKeepsAMomentOverJumpsOfTheClock(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(r.planAt("wf_1", 2*time.Hour, ""))
		r.wait(time.Hour)
		r.clk.ShiftWall(-24 * time.Hour)
		r.wait(2 * time.Hour)
		r.wantState("wf_1", core.Waiting)
		r.clk.ShiftWall(24 * time.Hour) // the moment was an hour ago
		synctest.Wait()
		if n := r.calls("setMoveTo"); n != 1 {
			t.Fatalf("%d moves at once after the jump, want one", n)
		}
		r.clk.ShiftWall(-24 * time.Hour)
		r.wait(48 * time.Hour)
		if n := r.calls("setMoveTo"); n != 1 {
			t.Fatalf("%d moves in all, want one", n)
		}
	})
}

func TestG1_TheManagerSeesThatTheClockCanBeTrusted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(r.planAt("wf_1", time.Minute, ""))
		r.clk.SetTrusted(false)
		r.wait(time.Hour)
		r.wantState("wf_1", core.Waiting)
		r.clk.SetTrusted(true) // without a jump nobody tells
		r.wait(10 * time.Second)
		if n := r.calls("setMoveTo"); n != 1 {
			t.Fatalf("%d moves within 10 s, want one", n)
		}
	})
}

func TestF51_AMomentThatPassedInASuspendIsDueAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(r.planAt("wf_1", time.Hour, ""))
		r.receive(r.planAt("wf_2", time.Hour, `,"on_overdue":"skip"`))
		r.receive(planJSON("wf_3", `[{"cloud_step_id":"step_1","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","delay_ms":3600000}]`))
		r.wait(time.Second)
		r.clk.Suspend(8 * time.Hour)
		synctest.Wait()
		if r.calls("setMoveTo") != 1 || r.calls("getAirQuality") != 1 {
			t.Fatalf("%d moves and %d readings at once, want one each", r.calls("setMoveTo"), r.calls("getAirQuality"))
		}
		r.wantState("wf_2", core.Skipped)
	})
}

// TestF52_AMarkIsWrittenOnlyWhileItIsNeeded: a delay over a reboot without a clock loses at most the interval of its marks.
func TestF52_AMarkIsWrittenOnlyWhileItIsNeeded(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.clk.SetTrusted(false)
		r.receive(planJSON("wf_1", `[{"cloud_step_id":"step_1","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","delay_ms":7200000}]`))
		r.wait(time.Hour)
		marks := r.store.Commits()
		r.clk.SetTrusted(true)
		r.wait(20 * time.Second)
		before := r.store.Commits()
		r.wait(30 * time.Minute)
		if n := r.store.Commits() - before; n != 0 {
			t.Errorf("%d commits in half an hour of waiting with a trusted clock", n)
		}
		if marks < 25 || marks > 60 {
			t.Errorf("%d commits in an hour of waiting without a clock, want a mark each max(60 s, 2 %% of what is left)", marks)
		}
	})
}
