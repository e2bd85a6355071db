package core_test

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

const everyEvening = `"schedule":{"days":["mon","tue","wed","thu","fri","sat","sun"],"at":"18:00","end_at":"19:00","tz":"Asia/Seoul"}`

const clean = `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]`

// schedule hands in a plan with a schedule under the id tp.
func (r *rig) schedule(sched, requests string) core.Answer {
	r.t.Helper()
	return *r.do(r.scheduled("tp", 0, sched, requests)).Answers[0]
}

func (r *rig) scheduled(id string, revision int64, sched, requests string) core.PlanSubmitted {
	r.t.Helper()
	return r.planWith(`{"cloud_workflow_id":"`+id+`","plan_id":"pl_`+id+`","revision":`+itoa(revision)+`,`+sched+`}`, requests).(core.PlanSubmitted)
}

// planWith makes the event of a plan with this head.
func (r *rig) planWith(head, requests string) core.Event {
	r.t.Helper()
	return r.planText(`{"workflow":` + head + `,"device_task_requests":` + requests + `}`)
}

// due plays the Manager: the occurrence of a stamp is due, so many ms ago.
func (r *rig) due(stamp string, agoMS int64) {
	at := r.now.WallMS - agoMS
	r.do(core.Occurred{Template: "tp", Stamp: stamp, AtMS: at, EndMS: at + hourMS})
}

func (r *rig) wantOf(wf, step, state string) {
	r.t.Helper()
	st := r.stepOf(wf, step)
	got := string(st.State)
	if strings.Contains(state, "/") {
		got += "/" + string(st.Reason)
	}
	if got != state {
		r.t.Errorf("%s/%s is %s (%s), want %s", wf, step, got, st.Reason, state)
	}
}

// kept is a rig with a schedule, an hour later.
func kept(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	if ans := r.schedule(everyEvening, clean); !ans.Accepted {
		t.Fatalf("refused: %+v", ans)
	}
	if len(r.s.Workflows) != 0 || len(r.s.Templates) != 1 {
		t.Fatalf("%d workflows, %d templates", len(r.s.Workflows), len(r.s.Templates))
	}
	r.pass(hourMS)
	r.idle()
	return r
}

// begun is a schedule whose occurrence tp@e1 cleans; its step is completed, its task goes on.
func begun(t *testing.T) (*rig, core.TaskID) {
	t.Helper()
	r := kept(t)
	r.due("e1", 0)
	task := r.last().Task
	r.accept(task)
	r.event("cleaning.started", task, nil)
	r.read("cleaning.is_running", true)
	r.wantOf("tp@e1", "step_1", "completed")
	r.wantOf("tp@e1", "end@stopCleaning", "waiting")
	return r, task
}

func TestS12_AnOccurrenceBeginsAndEnds(t *testing.T) {
	r, task := begun(t)
	wf := r.wf("tp@e1")
	if wf.Plan.ID != "pl_tp@e1" || wf.Plan.Template != "tp" {
		t.Errorf("plan %s of %s", wf.Plan.ID, wf.Plan.Template)
	}
	r.toWall(r.s.NextWall() - 1)
	r.wantOf("tp@e1", "end@stopCleaning", "waiting")
	r.toWall(r.s.NextWall())
	stop := r.last()
	if stop.Method != "stopCleaning" {
		t.Fatalf("the last call is %s", stop.Method)
	}
	r.accept(stop.Task)
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.event("cleaning.stopped", "", nil)
	r.do(core.TaskEnded{Task: stop.Task, Outcome: core.OutcomeDone})
	r.wantOf("tp@e1", "end@stopCleaning", "completed")
	if wf := r.wf("tp@e1"); wf.State != core.WfCompleted {
		t.Errorf("the occurrence is %s (%s)", wf.State, wf.Reason)
	}
	if n := len(r.sent(core.MsgResult)); n != 1 {
		t.Errorf("%d results", n)
	}
}

func TestAnEndStopsOnlyWhatItsOwnTasksHold(t *testing.T) {
	r, task := begun(t)
	r.cleaned(task)
	r.wantOf("tp@e1", "end@stopCleaning", "skipped/condition_false") // nothing is left to stop: it waits for no end
	if wf := r.wf("tp@e1"); wf.State != core.WfCompleted {
		t.Errorf("the occurrence is %s", wf.State)
	}
	r.read("cleaning.is_running", false)
	r.offer("wf_0", "pl_0", cleanLong) // a person's own
	n := len(r.dispatches())
	r.pass(2 * hourMS)
	r.do(core.Tick{})
	for _, d := range r.dispatches()[n:] {
		t.Errorf("%s at the end of a schedule that had ended before", d.Method)
	}
}

func TestAnEndCancelsWhatIsNotDone(t *testing.T) {
	r := newRig(t)
	r.schedule(everyEvening, `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]},
	 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","depends_on":["step_1"]}]`)
	r.pass(hourMS)
	r.idle()
	r.due("e1", 0)
	task := r.last().Task
	r.accept(task)
	r.event("cleaning.started", task, nil)
	r.toWall(r.s.NextWall())
	r.wantOf("tp@e1", "step_1", "cancelling/schedule_end")
	r.wantOf("tp@e1", "step_2", "cancelled/schedule_end")
	if stop := r.last(); stop.Method != "stopCleaning" {
		t.Errorf("the last call is %s", stop.Method)
	}
}

func TestAnOccurrenceComesOnce(t *testing.T) {
	r, _ := begun(t)
	again := func(what string) {
		t.Helper()
		n := 0
		for _, d := range r.dispatches() {
			if d.Method == "startBasicAirClear" {
				n++
			}
		}
		if n != 1 || len(r.s.Workflows) != 1 {
			t.Fatalf("%s: it cleaned %d times, %d workflows", what, n, len(r.s.Workflows))
		}
	}
	r.due("e1", 0)
	again("told twice")
	r.pass(1_000)
	r.due("e1", 1_000)
	again("told again")
	r.now.WallMS -= 2 * hourMS // F50: and it is 18:00 once more
	r.do(core.Tick{})
	r.pass(2 * hourMS)
	r.due("e1", 0)
	again("after two hours back")
	r.now.WallMS += yearMS
	r.do(core.Tick{})
	r.now.WallMS -= yearMS
	r.do(core.Tick{})
	r.due("e1", 0)
	again("after a year forth and back")
	r.off(hourMS, true)
	r.due("e1", hourMS)
	again("after a restart")
}

// TestF49_AScheduleAfterAYearForthAndBack: what was passed over comes when its time comes.
func TestF49_AScheduleAfterAYearForthAndBack(t *testing.T) {
	r := kept(t)
	r.now.WallMS += yearMS
	r.do(core.Tick{})
	r.due("next year", 0)
	r.now.WallMS -= yearMS
	r.do(core.Tick{})
	r.pass(dayMS)
	r.due("tomorrow", 0)
	if r.s.Workflows["tp@tomorrow"] == nil {
		t.Error("a year without its schedule, for a clock that was wrong for a moment")
	}
	r.due("next year", 0)
	if n := len(r.s.Workflows); n != 2 {
		t.Errorf("%d workflows, want two", n)
	}
}

func TestALateOccurrence(t *testing.T) {
	for _, tc := range []struct {
		name, more string
		late       int64
		want       string
		wf         core.WorkflowState
	}{
		{"ten minutes", "", 600_000, "dispatching", core.WfActive},
		{"more", "", 600_001, "skipped/overdue_skipped", core.WfExpired},
		{"more, and it would wait once more", `,"temporal_relation":"after_planned_step","delay_ms":60000`, 600_001, "skipped/overdue_skipped", core.WfExpired},
		{"more, and to be run", `,"on_overdue":"run"`, 600_001, "dispatching", core.WfActive},
		{"more, and to fail", `,"on_overdue":"fail"`, 600_001, "blocked/overdue", core.WfQueued},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.schedule(everyEvening, strings.Replace(clean, `}]`, tc.more+`}]`, 1))
			r.pass(hourMS)
			r.idle()
			r.due("e1", tc.late)
			r.wantOf("tp@e1", "step_1", tc.want)
			if wf := r.wf("tp@e1"); wf.State != tc.wf {
				t.Errorf("the occurrence is %s, want %s", wf.State, tc.wf)
			}
		})
	}
}

// The id of an occurrence has a sign that no plan from outside may carry: a replan would be refused at the door.
func TestAnOccurrenceIsNotOfferedAReplan(t *testing.T) {
	r := newRig(t)
	r.schedule(everyEvening, strings.Replace(clean, `}]`, `,"on_overdue":"fail"}]`, 1))
	r.pass(hourMS)
	r.idle()
	r.due("e1", 600_001)
	r.wantOf("tp@e1", "step_1", "blocked/overdue")
	all := r.wf("tp@e1").Escalations
	if len(all) != 1 || slices.Contains(all[0].Allowed, core.ActReplan) || !slices.Contains(all[0].Allowed, core.ActCancel) {
		t.Errorf("asked %+v", all)
	}
}

func TestAnOccurrenceBeforeTheScheduleIsNone(t *testing.T) {
	r := newRig(t)
	r.pass(hourMS)
	r.schedule(everyEvening, clean)
	r.due("before", 1_000)
	r.due("at the moment", 0)
	if n := len(r.s.Workflows); n != 0 {
		t.Errorf("%d workflows", n)
	}
}

func TestAnOccurrenceNeedsATrustedClock(t *testing.T) {
	r := newRig(t)
	r.now.Trusted = false
	r.schedule(everyEvening, clean)
	r.pass(60_000)
	r.due("e1", 0)
	if len(r.s.Workflows) != 0 {
		t.Fatal("begun by a clock that nobody trusts")
	}
	r.now.Trusted = true
	r.do(core.Tick{})
	r.due("before it came", 60_001)
	if len(r.s.Workflows) != 0 {
		t.Fatal("an occurrence from before the schedule came")
	}
	r.due("e1", 59_999)
	r.wantOf("tp@e1", "step_1", "queued")
}

func TestAnOccurrenceExpiresWhenTheNextIsDue(t *testing.T) {
	r, task := begun(t)
	r.pass(60_000)
	r.due("e2", 0)
	if wf := r.wf("tp@e1"); wf.State != core.WfExpired || wf.Reason != core.ReasonExpired {
		t.Errorf("the first is %s (%s)", wf.State, wf.Reason)
	}
	if n := count[core.Stop](r); n == 0 {
		t.Error("what it had begun goes on")
	}
	r.wantOf("tp@e2", "step_1", "queued")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.read("cleaning.is_running", false)
	r.wantOf("tp@e2", "step_1", "dispatching")
}

func cancelOf(scope, target string) core.ControlReceived {
	return core.ControlReceived{Head: core.Head{Msg: core.MessageID("c-" + scope + target)}, Verb: "cancel", Scope: scope, Target: target}
}

func TestCancelOfAScheduleAndOfItsOccurrence(t *testing.T) {
	t.Run("the occurrence", func(t *testing.T) {
		r, task := begun(t)
		ans := *r.do(cancelOf("workflow", "tp@e1")).Answers[0]
		if !ans.Accepted || len(r.s.Templates) != 1 {
			t.Fatalf("%+v, %d templates", ans, len(r.s.Templates))
		}
		if n := count[core.Stop](r); n != 1 {
			t.Errorf("%d stops of what it had begun", n)
		}
		r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
		r.read("cleaning.is_running", false)
		r.pass(60_000)
		r.read("cleaning.is_running", false)
		r.due("e2", 0)
		r.wantOf("tp@e2", "step_1", "dispatching")
	})
	for _, scope := range []string{"schedule", "workflow"} {
		t.Run("the schedule, by scope "+scope, func(t *testing.T) {
			r, _ := begun(t)
			ans := *r.do(cancelOf(scope, "tp")).Answers[0]
			if !ans.Accepted || len(r.s.Templates) != 0 || count[core.Stop](r) != 0 {
				t.Fatalf("%+v, %d templates, %d stops", ans, len(r.s.Templates), count[core.Stop](r))
			}
			r.pass(60_000)
			r.due("e2", 0)
			if r.s.Workflows["tp@e2"] != nil {
				t.Error("begun after the cancel")
			}
			if ans := r.schedule(everyEvening, clean); ans.Accepted || ans.Reason != core.ReasonAfterCancel {
				t.Errorf("a late plan: %+v", ans)
			}
		})
	}
	t.Run("one that nobody knows", func(t *testing.T) {
		r := newRig(t)
		if ans := *r.do(cancelOf("schedule", "tp")).Answers[0]; ans.Reason != core.ReasonUnknownTarget {
			t.Errorf("%+v", ans)
		}
		if ans := r.schedule(everyEvening, clean); ans.Reason != core.ReasonAfterCancel {
			t.Errorf("a plan after its cancel: %+v", ans)
		}
	})
	t.Run("all ends what runs and keeps schedules", func(t *testing.T) {
		r, _ := begun(t)
		r.do(cancelOf("all", ""))
		if len(r.s.Templates) != 1 || count[core.Stop](r) != 1 {
			t.Errorf("%d templates, %d stops", len(r.s.Templates), count[core.Stop](r))
		}
	})
}

func TestARevisionReplacesASchedule(t *testing.T) {
	r, task := begun(t)
	next := r.scheduled("tp", 1, everyEvening, `[{"cloud_step_id":"step_9","taskMethod":"getAirQuality"},{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]`)
	if ans := *r.do(next).Answers[0]; !ans.Accepted {
		t.Fatalf("%+v", ans)
	}
	r.wantOf("tp@e1", "end@stopCleaning", "waiting")
	r.pass(1_000)
	r.do(core.Occurred{Template: "tp", Stamp: "old", AtMS: r.now.WallMS}, core.Occurred{Template: "tp", Revision: 1, Stamp: "e1", AtMS: r.now.WallMS})
	if n := len(r.s.Workflows); n != 1 {
		t.Errorf("%d workflows: one of an old revision, or one that was begun before", n)
	}
	r.cleaned(task)
	r.pass(1_000)
	r.do(core.Occurred{Template: "tp", Revision: 1, Stamp: "e2", AtMS: r.now.WallMS})
	r.wantOf("tp@e2", "step_9", "dispatching")
	for _, tc := range []struct {
		name string
		ev   core.PlanSubmitted
		want core.Reason
	}{
		{"the same again", next, core.ReasonNone},
		{"an older one", r.scheduled("tp", 0, everyEvening, cleanLong), core.ReasonOutdatedRevision},
		{"the same with other content", r.scheduled("tp", 1, everyEvening, cleanLong), core.ReasonSameRevision},
		{"another plan", r.planWith(`{"cloud_workflow_id":"tp","plan_id":"other","revision":2,`+everyEvening+`}`, clean).(core.PlanSubmitted), core.ReasonIDReused},
		{"a plan without a schedule", r.planWith(`{"cloud_workflow_id":"tp","plan_id":"pl_tp","revision":2}`, clean).(core.PlanSubmitted), core.ReasonIDReused},
	} {
		if ans := *r.do(tc.ev).Answers[0]; ans.Reason != tc.want || ans.Accepted != (tc.want == core.ReasonNone) {
			t.Errorf("%s: %+v, want %q", tc.name, ans, tc.want)
		}
	}
}

func TestAWorkflowDoesNotBecomeASchedule(t *testing.T) {
	r := newRig(t)
	r.submit(toKitchen)
	ev := r.planWith(`{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":1,`+everyEvening+`}`, clean).(core.PlanSubmitted)
	if ans := *r.do(ev).Answers[0]; ans.Reason != core.ReasonIDReused {
		t.Errorf("%+v", ans)
	}
}

func TestSixtyFourSchedules(t *testing.T) {
	r := newRig(t)
	for i := range 64 {
		if ans := *r.do(r.scheduled("tp"+itoa(int64(i)), 0, everyEvening, clean)).Answers[0]; !ans.Accepted {
			t.Fatalf("schedule %d: %+v", i, ans)
		}
	}
	if ans := *r.do(r.scheduled("one-more", 0, everyEvening, clean)).Answers[0]; ans.Reason != core.ReasonLimit {
		t.Errorf("%+v", ans)
	}
	if ans := *r.do(r.scheduled("tp7", 1, everyEvening, clean)).Answers[0]; !ans.Accepted {
		t.Errorf("a revision: %+v", ans)
	}
}

func TestAScheduleThatIsOver(t *testing.T) {
	r := kept(t)
	r.do(core.ScheduleOver{Template: "tp", Revision: 1})
	if len(r.s.Templates) != 1 {
		t.Fatal("gone by a word about another revision")
	}
	r.do(core.ScheduleOver{Template: "tp"})
	if len(r.s.Templates) != 0 {
		t.Fatal("it is still there")
	}
}

func TestF84_AScheduleWithoutANextTime(t *testing.T) {
	r := newRig(t)
	ev := r.scheduled("tp", 0, everyEvening, clean)
	ev.NoNext = true
	if ans := *r.do(ev).Answers[0]; ans.Accepted || ans.Reason != core.ReasonScheduleOver {
		t.Errorf("%+v", ans)
	}
}

// TestAStopThatWaitsIsNotUrgent: what is to be stopped at a moment, or by a schedule, is not stopped when the plan comes.
func TestAStopThatWaitsIsNotUrgent(t *testing.T) {
	r, _ := cleaning(t)
	stop := `[{"cloud_step_id":"step_1","taskMethod":"stopCleaning"}]`
	at := strings.Replace(atTime(r, hourMS, ""), "getBatteryStatus", "stopCleaning", 1)
	for name, ev := range map[string]core.Event{
		"by a schedule":  r.scheduled("tp", 0, `"schedule":{"on":"2027-12-24","at":"18:00","tz":"Asia/Seoul"}`, stop),
		"at a moment":    r.planEvent("wf_1", "pl_1", at),
		"after an event": r.planEvent("wf_1", "pl_1", strings.Replace(news(""), "getBatteryStatus", "stopCleaning", 1)),
	} {
		if core.StopsSomething(ev) || len(core.UrgentStops(r.s, r.now, ev)) != 0 {
			t.Errorf("%s: stopped at once", name)
		}
	}
	if !core.StopsSomething(r.planEvent("wf_1", "pl_1", stop)) {
		t.Error("a stop that waits for nothing is not heard at once")
	}
}

// TestAnOccurrenceWhileAnOperatorHasTheRobot: nothing moves, and the cloud is told.
func TestAnOccurrenceWhileAnOperatorHasTheRobot(t *testing.T) {
	r := kept(t)
	r.setMode(core.ModeService)
	r.due("e1", 0)
	if wf := r.wf("tp@e1"); wf.State != core.WfCancelled || wf.Reason != core.ReasonNotAutomatic || len(r.dispatches()) != 0 || len(r.sent(core.MsgResult)) != 1 {
		t.Fatalf("it is %s (%s), %d dispatches", wf.State, wf.Reason, len(r.dispatches()))
	}
	r.setMode(core.ModeAutomatic)
	r.pass(1_000)
	r.due("e2", 0)
	r.wantOf("tp@e2", "step_1", "dispatching")
}

// TestAStampIsRemembered: also where the workflow that was made of it has ended and left the memory, and over a revision.
func TestAStampIsRemembered(t *testing.T) {
	for _, revised := range []bool{false, true} {
		r, task := begun(t)
		r.cleaned(task)
		r.s.Drop("tp@e1")
		revision := int64(0)
		if revised {
			revision = 1
			r.do(r.scheduled("tp", 1, everyEvening, cleanLong))
		}
		r.now.WallMS -= 2 * hourMS
		r.do(core.Tick{})
		r.pass(2 * hourMS)
		r.do(core.Occurred{Template: "tp", Revision: revision, Stamp: "e1", AtMS: r.now.WallMS})
		if n := len(r.s.Workflows); n != 0 {
			t.Errorf("revised %v: the same occurrence again", revised)
		}
		r.pass(1)
		r.do(core.Occurred{Template: "tp", Revision: revision, Stamp: "e2", AtMS: r.now.WallMS})
		if n := len(r.s.Workflows); n != 1 {
			t.Errorf("revised %v: the next did not come", revised)
		}
	}
}

// TestAnEndWithNothingToStop: what is still to be done is cancelled, and nothing is stopped that others may have begun.
func TestAnEndWithNothingToStop(t *testing.T) {
	r := newRig(t)
	r.schedule(everyEvening, `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"},
	 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":7200000}]`)
	r.pass(hourMS)
	r.idle()
	r.due("e1", 0)
	task := r.last().Task
	r.accept(task)
	r.event("cleaning.started", task, nil)
	r.cleaned(task)
	n := len(r.dispatches())
	r.toWall(r.s.NextWall())
	r.wantOf("tp@e1", "step_2", "cancelled/schedule_end")
	r.wantOf("tp@e1", "end@stopCleaning", "skipped/condition_false")
	if len(r.dispatches()) != n {
		t.Errorf("%s at the end", r.last().Method)
	}
}

// TestAnOccurrenceThatIsOverWhenItIsNoticed: its end has passed too. Nothing begins, whatever on_overdue says, and nothing is stopped.
func TestAnOccurrenceThatIsOverWhenItIsNoticed(t *testing.T) {
	r := newRig(t)
	r.schedule(everyEvening, strings.Replace(clean, `}]`, `,"on_overdue":"run"}]`, 1))
	r.pass(3 * hourMS)
	r.idle()
	r.due("e1", 2*hourMS)
	r.wantOf("tp@e1", "step_1", "cancelled/schedule_end")
	r.wantOf("tp@e1", "end@stopCleaning", "skipped/condition_false")
	if n := len(r.dispatches()); n != 0 {
		t.Errorf("%s", r.last().Method)
	}
}
