package taskmanager_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/executors/fake"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

const airNow = `[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"}]`

func scheduleJSON(id, sched, requests string) string {
	return `{"v":"` + wire.Version + `","type":"plan","id":"` + idOf(id) + `","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":{"workflow":{"cloud_workflow_id":"` +
		id + `","plan_id":"pl-` + id + `","revision":0,"schedule":` + sched + `},"device_task_requests":` + requests + `}}`
}

const daily = `{"days":["mon","tue","wed","thu","fri","sat","sun"],"at":"18:00","tz":"Asia/Seoul"}`

// occurrences lists the workflows that were made of a template, with how they stand.
func (r *rig) occurrences(id string) (out []string) {
	r.t.Helper()
	if err := r.m.Inspect(r.t.Context(), func(s *core.State, _ core.Now) {
		for _, wf := range slices.Sorted(maps.Keys(s.Workflows)) {
			if stamp, ok := strings.CutPrefix(string(wf), id+"@"); ok {
				out = append(out, stamp+" "+string(s.Workflows[wf].State))
			}
		}
	}); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) wantOccurrences(id string, want ...string) {
	r.t.Helper()
	if got := r.occurrences(id); !slices.Equal(got, want) {
		r.t.Errorf("occurrences %q, want %q", got, want)
	}
}

// air lets the robot answer what the air is like.
func (r *rig) air() {
	r.robot.On("getAirQuality", fake.Script{RunFor: time.Second, Effects: []core.Event{
		core.Observed{Event: "air.measured", Source: "home", Data: core.Values{"pm25": 3.0, "grade": "good"}}}})
}

// A bubble begins on Saturday, 2000-01-01, 09:00 in Seoul.
func TestScheduleIsKeptByTheDevice(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.air()
		if ans := r.receive(scheduleJSON("tp", daily, airNow)); !ans.Accepted {
			t.Fatalf("%+v", ans)
		}
		r.wait(9*time.Hour - time.Millisecond)
		r.wantOccurrences("tp")
		r.wait(time.Millisecond)
		r.wantOccurrences("tp", "20000101T1800 active")
		r.wait(time.Minute)
		r.wantOccurrences("tp", "20000101T1800 completed")
		before := r.store.Commits()
		r.wait(23 * time.Hour)
		if n := r.store.Commits() - before; n > 1 { // what was soft
			t.Errorf("%d commits in a day of waiting for the next", n)
		}
		r.wait(time.Hour)
		r.wantOccurrences("tp", "20000101T1800 completed", "20000102T1800 completed")
		r.kill()
		r.open()
		r.wait(24 * time.Hour)
		r.wantOccurrences("tp", "20000103T1800 completed") // those before have ended, and are in the store
	})
}

func TestOfMissedOccurrencesTheLatestCounts(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.air()
		r.receive(scheduleJSON("tp", daily, airNow))
		r.receive(scheduleJSON("late", daily, strings.Replace(airNow, `}]`, `,"on_overdue":"run"}]`, 1)))
		r.wait(time.Minute)
		r.kill()
		time.Sleep(5 * 24 * time.Hour) // off until 09:01 of the 6th
		r.open()
		r.wait(time.Minute)
		r.wantOccurrences("tp", "20000105T1800 expired")
		r.wantOccurrences("late", "20000105T1800 completed")
		r.kill()
		time.Sleep(9*time.Hour + 5*time.Minute) // on again at 18:07
		r.open()
		r.wait(time.Minute)
		r.wantOccurrences("tp", "20000106T1800 completed")
	})
}

func TestF53_EachDayOfAYearOnce(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		t.Run(zone, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.air()
				r.receive(scheduleJSON("tp", `{"days":["mon","tue","wed","thu","fri","sat","sun"],"at":"02:30","tz":"`+zone+`","until":"2000-12-30"}`, airNow))
				seen := map[string]bool{}
				for range 370 {
					r.wait(24 * time.Hour)
					for _, o := range r.occurrences("tp") {
						seen[o] = true
					}
				}
				if len(seen) < 363 || len(seen) > 365 || r.calls("getAirQuality") != len(seen) { // the first and the last day by the zone's place
					t.Errorf("%d occurrences, %d readings in 365 days", len(seen), r.calls("getAirQuality"))
				}
				for o := range seen {
					if !strings.HasSuffix(o, "T0230 completed") {
						t.Errorf("occurrence %s", o)
					}
				}
				if n := r.templates(); n != 0 {
					t.Errorf("%d templates after the last day", n)
				}
			})
		})
	}
}

func (r *rig) templates() (n int) {
	r.t.Helper()
	if err := r.m.Inspect(r.t.Context(), func(s *core.State, _ core.Now) { n = len(s.Templates) }); err != nil {
		r.t.Fatal(err)
	}
	return n
}

func TestG1_SchedulesOverJumpsOfTheClock(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.air()
		r.clk.SetTrusted(false)
		r.receive(scheduleJSON("tp", daily, airNow))
		r.wait(48 * time.Hour)
		r.wantOccurrences("tp") // nobody knows the time
		r.clk.SetTrusted(true)
		r.wait(10 * time.Second)
		r.wantOccurrences("tp", "20000102T1800 expired") // that of yesterday was missed
		r.clk.ShiftWall(-2 * 24 * time.Hour)             // the time was wrong: it is 09:00 of the 1st
		r.wait(10 * time.Hour)
		r.wantOccurrences("tp", "20000101T1800 completed", "20000102T1800 expired")
		r.wait(24 * time.Hour) // and that of the 2nd was told already
		r.wantOccurrences("tp", "20000101T1800 completed", "20000102T1800 expired")
		r.wait(24 * time.Hour)
		r.wantOccurrences("tp", "20000101T1800 completed", "20000102T1800 expired", "20000103T1800 completed")
		r.clk.ShiftWall(365 * 24 * time.Hour) // F49
		synctest.Wait()
		r.clk.ShiftWall(-365 * 24 * time.Hour)
		r.wait(24 * time.Hour)
		if got := r.occurrences("tp"); !slices.Contains(got, "20000104T1800 completed") {
			t.Errorf("occurrences %q", got)
		}
	})
}

func TestF51_ScheduleInASuspend(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.air()
		r.receive(scheduleJSON("tp", daily, airNow))
		r.wait(time.Minute)
		r.clk.Suspend(9*time.Hour + 5*time.Minute) // until 18:06
		r.wait(time.Minute)
		r.wantOccurrences("tp", "20000101T1800 completed")
	})
}

// TestF84_WhatWillNeverComeIsRefusedAtOnce: bad dates, bad zones and days that have passed cost no time, and change nothing.
func TestF84_WhatWillNeverComeIsRefusedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for sched, want := range map[string]core.Reason{
			`{"on":"1999-12-31","at":"18:00","tz":"Asia/Seoul"}`:                           core.ReasonScheduleOver,
			`{"days":["mon"],"at":"18:00","tz":"Asia/Seoul","until":"2000-01-02"}`:         core.ReasonScheduleOver,
			`{"days":["sat"],"at":"09:00","tz":"Asia/Seoul","until":"2000-01-01"}`:         core.ReasonScheduleOver,
			`{"days":["mon"],"at":"18:00","tz":"Mars/Olympus"}`:                            wire.ReasonBadValue,
			`{"on":"2000-02-30","at":"18:00","tz":"Asia/Seoul"}`:                           wire.ReasonBadValue,
			`{"on":"2000-01-01","at":"18:00","tz":"Asia/Seoul","until":null}`:              core.ReasonNone,
			`{"days":["sun"],"at":"18:00","tz":"Pacific/Kiritimati","until":"2000-01-02"}`: core.ReasonNone,
		} {
			start := realNow()
			ans := r.receive(scheduleJSON(fmt.Sprintf("tp-%x", sched[2:12]), sched, airNow))
			if d := realNow().Sub(start); ans.Reason != want || d > 100*time.Millisecond {
				t.Errorf("%s: %+v after %v, want %q", sched, ans, d, want)
			}
		}
	})
}

// TestSchedulesAtRandom: whatever is done to the clock and the process, no occurrence is carried out twice, and each that came while the
// device ran with the right time is carried out.
func TestSchedulesAtRandom(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				rnd := rand.New(rand.NewPCG(seed, 0))
				r.air()
				r.receive(scheduleJSON("tp", `{"days":["mon","tue","wed","thu","fri","sat","sun"],"at":"18:00","tz":"Asia/Seoul"}`, airNow))
				done := map[string]bool{}
				jumped := time.Duration(0)
				note := func() {
					for _, o := range r.occurrences("tp") {
						done[o] = true
					}
				}
				for range 120 {
					r.wait(time.Duration(rnd.IntN(18*3600)) * time.Second)
					note()
					switch rnd.IntN(6) {
					case 0:
						r.kill()
						r.open()
					case 1:
						r.kill()
						time.Sleep(time.Duration(rnd.IntN(60)) * time.Hour)
						r.open()
					case 2:
						d := time.Duration(rnd.IntN(72)-36) * time.Hour
						jumped += d
						r.clk.ShiftWall(d)
					case 3:
						r.clk.ShiftWall(-jumped)
						jumped = 0
					case 4:
						r.clk.Suspend(time.Duration(rnd.IntN(20)) * time.Hour)
					case 5:
						r.clk.SetTrusted(rnd.IntN(3) > 0)
					}
				}
				r.wait(time.Minute)
				note()
				stamps, completed := map[string]bool{}, 0
				for o := range done {
					stamp, state, _ := strings.Cut(o, " ")
					if stamps[stamp] && state != "active" {
						t.Errorf("%s ended twice", stamp)
					}
					if state == "completed" {
						completed++
					}
					stamps[stamp] = stamps[stamp] || state != "active"
				}
				if n := r.calls("getAirQuality"); n < completed || n > completed+3 { // one cut off by a kill is asked for, or read again
					t.Errorf("%d readings for %d occurrences", n, completed)
				}
				r.clk.SetTrusted(true)
				r.clk.ShiftWall(-jumped)
				r.wait(24 * time.Hour)
				before := r.calls("getAirQuality")
				r.wait(10 * 24 * time.Hour)
				if n := r.calls("getAirQuality") - before; n < 8 || n > 10 { // at most those that were told ahead are missing
					t.Errorf("%d readings in ten quiet days", n)
				}
			})
		})
	}
}

func TestReckonDues(t *testing.T) {
	tpl := &core.Template{Plan: &core.Plan{Workflow: "tp", Schedule: &core.Schedule{Days: []string{"sat"}, At: "18:00", EndAt: "01:00", TZ: "Asia/Seoul"}}, FromMS: 1}
	now := time.Date(2000, 1, 1, 9, 0, 0, 0, time.UTC) // 18:00 in Seoul
	d, err := taskmanager.ReckonDues(tpl, now.UnixMilli())
	if err != nil || d.Due == nil || d.Due.Stamp != "20000101T1800" || d.Due.EndMS-d.Due.AtMS != 7*3600_000 || d.Next == nil || d.Next.Stamp != "20000108T1800" {
		t.Errorf("%+v %v", d, err)
	}
}
