package core_test

import (
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

func (r *rig) saysPaused(task core.TaskID) {
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: "run-1", Source: "home"})
}

func (r *rig) saysGoesOn(task core.TaskID) {
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Resumed: true, Instance: "run-1", Source: "home"})
}

// moving sends the robot to the kitchen; it is on its way.
func (r *rig) moving() core.TaskID {
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.want("step_1", "running")
	return task
}

// pausedMove is the same, paused by the button and confirmed by the robot.
func (r *rig) pausedMove() core.TaskID {
	task := r.moving()
	r.button("pui.paused")
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true})
	r.saysPaused(task)
	return task
}

// calls tells the pauses, resumes and stops that went out, in their order.
func (r *rig) calls() string {
	var out []string
	for _, o := range r.log {
		switch o.(type) {
		case core.Pause:
			out = append(out, "pause")
		case core.Resume:
			out = append(out, "resume")
		case core.Stop:
			out = append(out, "stop")
		}
	}
	return strings.Join(out, " ")
}

func (r *rig) wantCalls(want string) {
	r.t.Helper()
	if got := r.calls(); got != want {
		r.t.Errorf("calls %q, want %q", got, want)
	}
}

// C4: that the executor said yes pauses nothing; the step is paused when its executor says that it rests.
func TestC4_AcceptedIsNotPaused(t *testing.T) {
	r := newRig(t)
	task := r.moving()
	ans := r.control("pause", "app", "workflow", "wf_1")
	if !ans.Accepted || ans.State != "active" || strings.Join(ans.Steps, ",") != "wf_1/step_1 pausing" {
		t.Fatalf("answer %+v", ans)
	}
	r.wantCalls("pause")
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true})
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"}) // it still runs
	r.want("step_1", "running")
	r.wantWorkflow(core.WfActive)
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: "run-1"})
	r.want("step_1", "paused/held")
	r.wantWorkflow(core.WfHeld)
}

// C4: a program without that word is believed when what its task uses is seen at rest from the call on, if it accepted that.
func TestC4_RestConfirmsAPause(t *testing.T) {
	r := newRig(t)
	task := r.moving()
	r.button("pui.paused")
	r.settleAt("movement.is_moving", false)
	r.pass(500)
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true})
	for range 4 {
		r.read("movement.is_moving", false)
		r.want("step_1", "running")
		r.pass(500)
	}
	r.read("movement.is_moving", false)
	r.want("step_1", "paused/held")
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"}) // it has no such word: it says nothing by its absence
	r.want("step_1", "paused/held")
	r.button("pui.resumed")
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true}) // said twice, of the call before
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"})
	r.want("step_1", "paused") // nor does it say by it that it goes on, before it said yes to that
	r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"})
	r.want("step_1", "running")
}

// C4: without a word of its executor nothing is paused by standing still: it may be waiting for a door.
func TestC4_StandingStillIsNotPaused(t *testing.T) {
	r := newRig(t)
	r.moving()
	r.button("pui.paused")
	for range 8 {
		r.read("movement.is_moving", false)
		r.want("step_1", "running")
		r.pass(500)
	}
	r.wantCalls("pause stop")
}

// A stop for a hold is confirmed by rest as well: its executor's last word may have been lost.
func TestRestConfirmsAStopForAHold(t *testing.T) {
	r := newRig(t)
	task := r.moving()
	r.button("pui.paused")
	r.pass(4000)
	r.do(core.StopAnswered{Task: task, Accepted: true})
	for range 8 {
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.want("step_1", "queued/held")
}

// C4: a pause that is never confirmed becomes a stop; the step is queued again when that is confirmed, and is sent again as it was when
// the last holder has let go.
func TestC4_UnconfirmedPauseBecomesAStop(t *testing.T) {
	for name, say := range map[string]func(r *rig, task core.TaskID){
		"accepted and ignored": func(r *rig, task core.TaskID) { r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true}) },
		"not answered":         func(r *rig, task core.TaskID) { r.do(core.StopAnswered{Task: task, To: core.ToPause}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			task := r.moving()
			first := r.last()
			r.button("pui.paused")
			say(r, task)
			r.pass(3999)
			r.wantCalls("pause")
			r.pass(1)
			r.wantCalls("pause stop")
			r.want("step_1", "running/held")
			r.wantWorkflow(core.WfActive)
			r.do(core.StopAnswered{Task: task, Accepted: true})
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
			r.want("step_1", "queued/held")
			r.wantWorkflow(core.WfHeld)
			r.elsewhere()
			r.button("pui.resumed")
			again := r.last()
			if again.Task == first.Task || again.Method != first.Method || again.Params["position"] == nil {
				t.Fatalf("sent again: %+v, first %+v", again, first)
			}
			r.arrive(again.Task, "kitchen")
			r.want("step_1", "completed")
		})
	}
}

// A refused pause will not be confirmed any more: it is a stop at once.
func TestRefusedPauseIsAStopAtOnce(t *testing.T) {
	r := newRig(t)
	task := r.moving()
	r.button("pui.paused")
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Refused: true, Reason: "not_supported"})
	r.wantCalls("pause stop")
	r.do(core.StopAnswered{Task: task, Refused: true, Reason: "no"}) // nor will it stop: its result is waited for, and nobody says paused
	r.want("step_1", "running/cancel_refused")
	r.wantWorkflow(core.WfActive)
	r.control("pause", "app", "workflow", "wf_1")
	r.pass(10_000)
	r.wantCalls("pause stop")
	r.event("movement.arrived", task, core.Values{"room_id": "kitchen"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.settleAt("movement.location", "kitchen")
	r.want("step_1", "completed")
}

// C4: a stop that nothing confirms leaves neither a paused nor a queued step behind: the cloud is asked.
func TestC4_UnconfirmedStopOfAHoldFails(t *testing.T) {
	r := newRig(t)
	r.moving()
	r.button("pui.paused")
	r.pass(60_000)
	if st := r.step("step_1"); st.State != core.Blocked || st.Reason != core.ReasonCancelUnconfirmed || len(r.sent(core.MsgEscalation)) != 1 {
		t.Fatalf("it is %s (%s)", st.State, st.Reason)
	}
}

// C21: going on is the very task that was paused, with its arguments; nothing is sent anew.
func TestC21_ResumeGoesOnWithTheSameTask(t *testing.T) {
	r := newRig(t)
	task := r.pausedMove()
	r.button("pui.resumed")
	r.want("step_1", "paused")
	r.wantCalls("pause resume")
	r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
	r.want("step_1", "paused")
	r.saysGoesOn(task)
	r.want("step_1", "running")
	r.wantWorkflow(core.WfActive)
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches", n)
	}
	if res, ok := r.log[len(r.log)-2].(core.Resume); ok && res.Task != task {
		t.Fatalf("resumed %s, not %s", res.Task, task)
	}
	r.arrive(task, "kitchen")
	r.want("step_1", "completed")
}

// C21: an executor that cannot go on, or has lost the task, gets the same step again, after the old task has surely ended.
func TestC21_ExecutorWithoutResume(t *testing.T) {
	for name, say := range map[string]func(r *rig, task core.TaskID){
		"refuses": func(r *rig, task core.TaskID) { r.do(core.StopAnswered{Task: task, To: core.ToResume, Refused: true}) },
		"ignores": func(r *rig, task core.TaskID) {
			r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
			r.pass(4000)
		},
		"answers nothing": func(r *rig, task core.TaskID) { r.pass(4000) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			task := r.pausedMove()
			first := r.last()
			r.button("pui.resumed")
			say(r, task)
			r.wantCalls("pause resume stop")
			r.want("step_1", "running/held")
			r.elsewhere()
			if n := len(r.dispatches()); n != 1 {
				t.Fatalf("%d dispatches before its end was confirmed", n)
			}
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
			r.elsewhere()
			if d := r.last(); len(r.dispatches()) != 2 || d.Method != first.Method || d.Task == task {
				t.Fatalf("after its end: %+v", r.dispatches())
			}
			r.arrive(r.last().Task, "kitchen")
			r.want("step_1", "completed")
		})
	}
}

// C22: an error that is cleared lets nobody go on who is held.
func TestC22_ClearingAnErrorIsNotResuming(t *testing.T) {
	r := newRig(t)
	r.pausedMove()
	r.event("safety.released", "", nil)
	r.event("robot.placed", "", nil)
	r.event("external_stop", "", nil)
	r.wantCalls("pause")
	r.want("step_1", "paused/held")
	r.wantHolders("pui:all")
}

// C24: the clocks of a paused step stand still; the deadline of its plan does not.
func TestC24_ClocksStandStill(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"timeout_ms":60000}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.pass(50_000)
	r.button("pui.paused")
	r.saysPaused(task)
	r.pass(3_600_000)
	r.want("step_1", "paused/held")
	r.button("pui.resumed")
	r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
	r.saysGoesOn(task)
	r.pass(9_999)
	r.want("step_1", "running")
	r.pass(1)
	r.want("step_1", "blocked/step_timeout")
}

func TestC24_TheDeadlineOfAPlanRunsOn(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
	ev.Plan.DeadlineMS = 600_000
	r.do(ev)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.button("pui.paused")
	r.saysPaused(task)
	r.pass(600_000)
	r.want("step_1", "cancelling/deadline_exceeded")
	r.wantCalls("pause stop")
}

// C18: the answer says of each step that is under way what the pause does to it, and so does why.
func TestC18_TheEffectOnEachStepIsTold(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	ev := r.planEvent("wf_1", "pl_1", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},
	 {"cloud_step_id":"step_2","taskMethod":"startVitalSign"},{"cloud_step_id":"step_3","taskMethod":"startBasicAirClear","params":{"mode":"fixed"}}]`).(core.PlanSubmitted)
	ev.Plan.Steps[2].Op.Pause, ev.Plan.Steps[2].MovesBody = false, true
	r.do(ev)
	for _, d := range r.dispatches() {
		r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"})
	}
	ans := r.control("pause", "", "all", "")
	want := "wf_1/step_1 pausing, wf_1/step_2 goes_on, wf_1/step_3 stopping"
	if got := strings.Join(ans.Steps, ", "); got != want {
		t.Fatalf("steps %q, want %q", got, want)
	}
	r.wantCalls("pause stop")
	for i, word := range []string{"told to pause", "goes on to its end", "being stopped"} {
		facts := core.Why(r.s, r.now, r.wf("wf_1"), i)
		if facts[0].Kind != "hold" || !strings.Contains(facts[0].Text, word) || facts[1].Ref != "operator:all" {
			t.Errorf("step %d: %+v", i+1, facts)
		}
	}
}

// B5: a pause that meets a dispatch under way takes hold when that is answered; until then nobody says paused.
func TestB5_PauseMeetsADispatch(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	ans := r.control("pause", "app", "workflow", "wf_1")
	if strings.Join(ans.Steps, ",") != "wf_1/step_1 pending" || ans.State != "active" {
		t.Fatalf("answer %+v", ans)
	}
	r.wantCalls("")
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.want("step_1", "running")
	r.wantCalls("pause")
	r.saysPaused(task)
	r.want("step_1", "paused/held")
}

// B5: with the pause and what would have been dispatched in one batch, nothing is dispatched.
func TestB5_PauseAndDispatchInOneBatch(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.do(r.planEvent("wf_1", "pl_1", toKitchen), core.Observed{Event: "pui.paused", Source: "home"})
	if n := len(r.dispatches()); n != 0 {
		t.Fatalf("%d dispatches", n)
	}
	r.want("step_1", "queued/held")
}

// B10: taken over and given back between two looks: each is an event of its own, and the task was told of both.
func TestTakeoverAndBackInOneBatch(t *testing.T) {
	r := newRig(t)
	task := r.moving()
	r.do(core.Observed{Event: "pui.takeover", Source: "home"}, core.Observed{Event: "pui.released", Source: "home"})
	r.wantCalls("pause resume")
	r.want("step_1", "running")
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true})
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: "run-1"}) // what it says of the first is old by now
	r.want("step_1", "running")
	r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"})
	r.pass(10_000)
	r.wantCalls("pause resume")
	r.arrive(task, "kitchen")
	r.want("step_1", "completed")
}

// A12: paused in any layer wins: the executor's word counts, whatever a value of another layer still says.
func TestA12_PausedInAnyLayerWins(t *testing.T) {
	r := newRig(t)
	task := r.moving()
	r.button("pui.paused")
	r.read("movement.is_moving", true)
	r.saysPaused(task)
	r.want("step_1", "paused/held")
	r.read("movement.is_moving", true)
	r.want("step_1", "paused/held")
}

// A robot that pauses its task by itself is not fought: it goes on by its own word, or when anybody lets it.
func TestTheRobotPausesByItself(t *testing.T) {
	for name, end := range map[string]func(r *rig, task core.TaskID){
		"and goes on by itself": func(r *rig, task core.TaskID) { r.saysGoesOn(task) },
		"and a person lets it": func(r *rig, task core.TaskID) {
			r.control("resume", "app", "workflow", "wf_1")
			r.wantCalls("resume")
			r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
			r.saysGoesOn(task)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			task := r.moving()
			r.saysPaused(task)
			r.want("step_1", "paused/held")
			r.wantHolders("pui:workflow:wf_1:executor")
			r.wantCalls("")
			end(r, task)
			r.want("step_1", "running")
			r.wantHolders()
		})
	}
}

// Another service has no say in it.
func TestOnlyItsOwnServicePausesATask(t *testing.T) {
	r := newRig(t)
	task := r.moving()
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Source: "other"})
	r.want("step_1", "running")
	r.wantHolders()
}

// A hold that comes while the task is told to go on: it may be moving, so it is not paused any more, and is paused again.
func TestHoldWhileResuming(t *testing.T) {
	r := newRig(t)
	task := r.pausedMove()
	r.button("pui.resumed")
	r.control("pause", "voice", "workflow", "wf_1")
	r.want("step_1", "running")
	r.wantCalls("pause resume pause")
	r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true})
	r.saysPaused(task)
	r.want("step_1", "paused/held")
}

// A paused task keeps what it uses for a minute; then it goes if others need it, and its step is queued again.
func TestPausedTaskKeepsItsResourceAMinute(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.control("pause", "app", "workflow", "wf_1")
	r.saysPaused(task)
	r.pass(20_000)
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]`)
	r.read("battery.level", 80.0)
	r.elsewhere()
	r.pass(39_999)
	r.wantCalls("pause")
	r.pass(1)
	r.wantCalls("pause stop")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.want("step_1", "queued/held")
	r.read("battery.level", 80.0)
	r.elsewhere()
	if d := r.last(); d.Task == task || len(r.dispatches()) != 2 {
		t.Fatalf("dispatches %+v", r.dispatches())
	}
}

// Nobody needs it: it stays paused, however long.
func TestPausedTaskStaysWhereNobodyNeedsIt(t *testing.T) {
	r := newRig(t)
	r.pausedMove()
	r.pass(86_400_000)
	r.want("step_1", "paused/held")
	r.wantCalls("pause")
}

// What may not be sent again is not queued again: the cloud is asked, and told that a hold stopped it.
func TestHoldStopsWhatMayNotBeSentAgain(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
	ev.Plan.Steps[0].Op.Pause, ev.Plan.Steps[0].Op.Redo = false, "never"
	r.do(ev)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.button("pui.takeover")
	r.wantCalls("stop")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	if st := r.step("step_1"); st.Reason != core.ReasonStoppedByHold || st.State != core.Blocked || len(r.sent(core.MsgEscalation)) != 1 {
		t.Fatalf("it is %s (%s)", st.State, st.Reason)
	}
}

// Before a task goes on its prerequisites are asked again; it waits for them as long as a blocked step would.
func TestResumeAsksThePrerequisitesAgain(t *testing.T) {
	r := newRig(t)
	task := r.pausedMove()
	r.read("battery.level", 10.0)
	r.button("pui.resumed")
	r.want("step_1", "paused/battery_low")
	r.wantCalls("pause")
	facts := core.Why(r.s, r.now, r.wf("wf_1"), 0)
	if facts[0].Kind != "context" || facts[0].Ref != "ctx.battery.level" {
		t.Errorf("why: %+v", facts)
	}
	r.pass(2000)
	r.read("battery.level", 80.0)
	r.wantCalls("pause resume")
	r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
	r.saysGoesOn(task)
	r.want("step_1", "running")
}

func TestResumeDoesNotWaitForEver(t *testing.T) {
	r := newRig(t)
	task := r.pausedMove()
	r.read("battery.level", 10.0)
	r.button("pui.resumed")
	r.pass(60_000)
	r.wantCalls("pause stop")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.want("step_1", "blocked")
	if n := len(r.sent(core.MsgEscalation)); n != 0 {
		t.Fatalf("%d questions before its hold_ms are over", n)
	}
	r.pass(60_000)
	if n := len(r.sent(core.MsgEscalation)); n != 1 {
		t.Fatalf("%d questions", n)
	}
}

// A condition that has become false meanwhile: the task is stopped, and its step is skipped like any other.
func TestResumeAsksTheConditionAgain(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.read("sound.volume", 50.0)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"when":{"ref":"ctx.sound.volume","op":"ge","value":40}}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.button("pui.paused")
	r.saysPaused(task)
	r.read("sound.volume", 10.0)
	r.button("pui.resumed")
	r.wantCalls("pause stop")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.want("step_1", "skipped/condition_false")
}

// A paused step over a restart: its executor is asked, and the hold still holds; what was left of its time is what is left.
func TestPausedOverARestart(t *testing.T) {
	for name, paused := range map[string]bool{"it still rests": true, "it runs again": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			task := r.pausedMove()
			r.do(core.Started{StartNo: 2})
			r.up("run-1")
			r.idle()
			r.want("step_1", "outcome_unknown")
			r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: paused, Instance: "run-1"})
			if paused {
				r.want("step_1", "paused/held")
				r.wantCalls("pause")
			} else {
				r.want("step_1", "running")
				r.wantCalls("pause pause")
			}
			r.wantHolders("pui:all")
		})
	}
}

// The holder had let go, and the agent died before it could say so: the task goes on after the restart, and nobody seems to hold it.
func TestResumeLostInARestart(t *testing.T) {
	r := newRig(t)
	task := r.pausedMove()
	r.button("pui.resumed")
	r.do(core.Started{StartNo: 2})
	r.up("run-1")
	r.idle()
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: "run-1"})
	r.wantCalls("pause resume resume")
	r.wantHolders()
}

// A cancel of what is paused stops it; refused, it runs or rests as it does, and its clock goes on.
func TestCancelWhilePaused(t *testing.T) {
	r := newRig(t)
	task := r.pausedMove()
	r.do(cancel("wf_1"))
	r.want("step_1", "cancelling")
	r.wantCalls("pause stop")
	r.do(core.StopAnswered{Task: task, Refused: true})
	r.wantCalls("pause stop pause")
	if st := r.step("step_1"); st.State != core.Running || st.Due == 0 {
		t.Fatalf("it is %s, due %d", st.State, st.Due)
	}
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	if st := r.step("step_1"); !st.State.Terminal() {
		t.Fatalf("it is %s", st.State)
	}
}

// Its result wins, also while it is paused.
func TestResultWhilePausedWins(t *testing.T) {
	r := newRig(t)
	task := r.pausedMove()
	r.event("movement.arrived", task, core.Values{"room_id": "kitchen"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.settleAt("movement.location", "kitchen")
	r.want("step_1", "completed")
	r.wantWorkflow(core.WfCompleted)
}

// A hold sends its pauses and stops beside a commit, as a cancel does.
func TestPauseIsUrgent(t *testing.T) {
	r := newRig(t)
	r.moving()
	for _, ev := range []core.Event{core.ControlReceived{Head: core.Head{Msg: "p-1"}, Verb: "pause", Scope: "all"},
		core.ControlReceived{Head: core.Head{Msg: "p-2"}, Verb: "pause", Scope: "workflow", Target: "wf_1"},
		core.Observed{Event: "pui.paused"}, core.Observed{Event: "pui.takeover"}} {
		if outs := core.UrgentStops(r.s, r.now, ev); len(outs) != 1 {
			t.Errorf("%+v: %+v", ev, outs)
		} else if _, ok := outs[0].(core.Pause); !ok {
			t.Errorf("%+v: %+v", ev, outs)
		}
	}
	if outs := core.UrgentStops(r.s, r.now, core.ControlReceived{Head: core.Head{Msg: "p-3"}, Verb: "pause", Scope: "workflow", Target: "wf_2"}); len(outs) != 0 {
		t.Errorf("of another workflow: %+v", outs)
	}
	r.want("step_1", "running")
}

// A pause that is refused after it has become a stop refuses no stop.
func TestALateAnswerToAPauseRefusesNoStop(t *testing.T) {
	r := newRig(t)
	task := r.moving()
	r.button("pui.paused")
	r.pass(4000)
	r.wantCalls("pause stop")
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Refused: true})
	r.want("step_1", "running/held")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.want("step_1", "queued/held")
}

// What was said of the pause before the task was told to go on does not pause it again.
func TestALateWordOfThePauseIsOld(t *testing.T) {
	r := newRig(t)
	task := r.pausedMove()
	r.button("pui.resumed")
	r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: "run-1"})
	r.wantHolders()
	r.saysGoesOn(task)
	r.want("step_1", "running")
	r.wantCalls("pause resume")
}

// The hold of another is ended by its name, by who may.
func TestResumeNamesAHolder(t *testing.T) {
	r := newRig(t)
	r.submit(chain)
	r.control("pause", "app", "workflow", "wf_1")
	resume := func(by string) core.Answer {
		head := core.Head{Msg: core.MessageID("r-" + by), Hash: "h", Local: by == ""}
		return *r.do(core.ControlReceived{Head: head, Verb: "resume", Scope: "workflow", Target: "wf_1", By: by, Holder: core.HeldByApp}).Answers[0]
	}
	if ans := resume("planner"); ans.Accepted || ans.Reason != core.ReasonNotYours {
		t.Errorf("by the cloud: %+v", ans)
	}
	r.wantHolders("app:workflow:wf_1")
	if ans := resume(""); !ans.Accepted || len(ans.Holders) != 0 {
		t.Errorf("by an operator: %+v", ans)
	}
	if ans := resume("voice"); !ans.Accepted { // nobody of that kind holds it: so it is
		t.Errorf("of nothing: %+v", ans)
	}
}

// Paused twice by its service, or asked again, changes nothing; what its step waits for is looked at once a minute and writes nothing.
func TestPausedIsQuiet(t *testing.T) {
	r := newRig(t)
	task := r.pausedMove()
	if c := r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: "run-1", Source: "home"}); c.Must || len(c.Moves) > 0 {
		t.Errorf("said twice: %+v", c.Moves)
	}
	log := len(r.log)
	r.pass(600_000)
	if n := len(r.log) - log; n > 10 {
		t.Errorf("%d outputs in ten minutes", n)
	}
	if r.ch.Must {
		t.Error("a look at a paused task is written down")
	}
}

// Once we asked a task to pause, what looks like the opposite of its effect contradicts nothing: it may be the pause.
func TestWhatIsSeenWhilePausingContradictsNothing(t *testing.T) {
	r := newRig(t)
	task := r.moving()
	r.button("pui.paused")
	r.event("movement.arrived", task, core.Values{"room_id": "living_room"})
	r.saysPaused(task)
	r.button("pui.resumed")
	r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
	r.saysGoesOn(task)
	r.arrive(task, "kitchen")
	r.want("step_1", "completed")
}

// What bounded a wait before a hold counts anew after it: the time of a hold is nobody's fault.
func TestAHoldIsNoTimeOfTrying(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.do(core.TaskAnswered{Task: r.last().Task, NotSent: true, Reason: core.ReasonExecutorBusy})
	r.want("step_1", "blocked/executor_busy")
	r.button("pui.paused")
	r.pass(3_600_000)
	r.want("step_1", "queued/held")
	r.idle()
	r.elsewhere()
	r.button("pui.resumed")
	r.do(core.TaskAnswered{Task: r.last().Task, NotSent: true, Reason: core.ReasonExecutorBusy})
	r.want("step_1", "blocked/executor_busy")
	if st := r.step("step_1"); st.Due < r.now.Boot+50_000 || len(r.sent(core.MsgEscalation)) != 0 {
		t.Fatalf("it is given up at %d, now is %d", st.Due, r.now.Boot)
	}
}
