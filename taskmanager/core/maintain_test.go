package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// cleanKept is a cleaning that goes on until something, in a plan with more steps.
func cleanKept(until, more string) string {
	return `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","required_effects":[{"effect_id":"air_cleaning_active","kind":"maintain","until":"` + until + `"}]` + more
}

const moveAfter = `},{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_1"]}]`

// keeps plays a rig up to where the cleaning runs and is kept until the move of step_2 has ended, which is on its way.
func keeps(t *testing.T) (r *rig, clean, move core.TaskID) {
	t.Helper()
	r = newRig(t)
	r.elsewhere()
	r.submit(cleanKept("step_2", moveAfter))
	clean = r.last().Task
	r.accept(clean)
	r.read("cleaning.is_running", true)
	r.event("cleaning.started", clean, nil)
	r.want("step_1", "completed")
	r.elsewhere()
	move = r.last().Task
	r.accept(move)
	r.want("step_2", "running")
	return r, clean, move
}

func (r *rig) effect(step string) core.Effect {
	r.t.Helper()
	return r.step(step).Effects[0]
}

// wantKept checks how the kept effect of step_1 and the workflow stand.
func (r *rig) wantKept(effect core.EffectState, wf core.WorkflowState, reason core.Reason) {
	r.t.Helper()
	if e := r.effect("step_1"); e.State != effect {
		r.t.Errorf("the effect is %s, want %s", e.State, effect)
	}
	if w := r.wf("wf_1"); w.State != wf || w.Reason != reason {
		r.t.Errorf("the workflow is %s %q, want %s %q", w.State, w.Reason, wf, reason)
	}
	r.want("step_1", "completed") // terminal is terminal
}

func TestKeptUntilAStepEnds(t *testing.T) {
	r, _, move := keeps(t)
	r.pass(20_000)
	r.read("cleaning.is_running", true)
	r.arrive(move, "kitchen")
	r.want("step_2", "completed")
	r.wantKept(core.EffectObserved, core.WfActive, core.ReasonNone) // it is read anew
	if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); !strings.Contains(fmt.Sprint(why), "read for the last time") {
		t.Errorf("why: %v", why)
	}
	if n := len(r.sent(core.MsgResult)); n != 0 {
		t.Fatal("the result went up before the last look")
	}
	r.read("cleaning.is_running", true)
	r.wantKept(core.EffectObserved, core.WfCompleted, core.ReasonNone)
	ev := r.effect("step_1").Evidence
	if last := ev[len(ev)-1]; last.Key != "cleaning.is_running" || last.Against {
		t.Errorf("evidence %+v", ev)
	}
	if n := len(r.sent(core.MsgResult)); n != 1 {
		t.Errorf("%d results", n)
	}
}

func TestKeptUntilAnEvent(t *testing.T) {
	head := func(until string) (*rig, core.TaskID) {
		r := newRig(t)
		r.taken(0, `"deadline_ms":600000`, cleanKept(until, `}]`))
		task := r.last().Task
		r.accept(task)
		return r, task
	}
	t.Run("another thing happens, then it is read", func(t *testing.T) {
		r, task := head("voice.session_ended")
		r.event("cleaning.started", task, nil)
		r.event("voice.session_ended", "t-other", nil) // of a task of somebody else
		r.read("cleaning.is_running", true)
		r.wantKept(core.EffectObserved, core.WfActive, core.ReasonNone)
		r.event("voice.session_ended", "", nil)
		r.wantKept(core.EffectObserved, core.WfActive, core.ReasonNone)
		r.read("cleaning.is_running", true)
		r.wantKept(core.EffectObserved, core.WfCompleted, core.ReasonNone)
	})
	t.Run("it came between dispatch and proof", func(t *testing.T) {
		r, task := head("voice.session_ended")
		r.event("voice.session_ended", "", nil)
		r.event("cleaning.started", task, nil)
		r.wantKept(core.EffectObserved, core.WfActive, core.ReasonNone)
		r.read("cleaning.is_running", true)
		r.wantKept(core.EffectObserved, core.WfCompleted, core.ReasonNone)
	})
	t.Run("its own end leaves nothing to read", func(t *testing.T) {
		r, task := head("cleaning.completed")
		r.event("cleaning.started", task, nil)
		r.pass(60_000)
		r.read("cleaning.is_running", false) // the robot says this first
		r.event("cleaning.completed", task, nil)
		r.wantKept(core.EffectObserved, core.WfCompleted, core.ReasonNone)
	})
	t.Run("it never comes", func(t *testing.T) {
		r, task := head("voice.session_ended")
		r.event("cleaning.started", task, nil)
		for range 70 {
			r.pass(10_000)
			r.read("cleaning.is_running", true)
		}
		r.wantKept(core.EffectExpired, core.WfExpired, core.ReasonDeadlineExceeded)
	})
}

// An effect that has to hold on and does not: the workflow fails, though its step had completed. A person's own change is no failure.
func TestKeptEffectIsContradicted(t *testing.T) {
	stopped := core.Observed{Event: "cleaning.stopped", Source: "home"}
	own := core.Observed{Event: "external_stop", Resource: "cleaner", Source: "home"}
	for _, tc := range []struct {
		name   string
		do     func(r *rig, clean core.TaskID)
		effect core.EffectState
	}{
		{"an event of its task", func(r *rig, clean core.TaskID) { r.event("cleaning.failed", clean, nil) }, core.EffectContradicted},
		{"an event without a task", func(r *rig, _ core.TaskID) { r.pass(2000); r.do(stopped) }, core.EffectContradicted},
		{"a reading that stays", func(r *rig, _ core.TaskID) {
			r.read("cleaning.is_running", false)
			r.pass(900)
			r.read("cleaning.is_running", false)
		}, core.EffectContradicted},
		{"a reading that is taken back", func(r *rig, _ core.TaskID) {
			r.read("cleaning.is_running", false)
			r.pass(900)
			r.read("cleaning.is_running", true)
		}, core.EffectObserved},
		{"no reading at all", func(r *rig, _ core.TaskID) { r.pass(60_000) }, core.EffectObserved},
		{"the value cannot be read", func(r *rig, _ core.TaskID) {
			r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "cleaning.is_running"}}})
			r.pass(60_000)
		}, core.EffectObserved},
		{"an event of another's task", func(r *rig, _ core.TaskID) { r.event("cleaning.failed", "t-other", nil) }, core.EffectObserved},
		{"a person's own stop, told after it", func(r *rig, _ core.TaskID) { r.do(stopped); r.pass(100); r.do(own) }, core.EffectWaived},
		{"a person's own stop, told before it", func(r *rig, _ core.TaskID) { r.do(own); r.pass(3000); r.do(stopped) }, core.EffectWaived},
		{"a button of long ago", func(r *rig, clean core.TaskID) {
			r.do(core.Observed{Event: "pui.resumed", Source: "home"})
			r.pass(20_000)
			r.event("cleaning.failed", clean, nil)
		}, core.EffectContradicted},
		{"a plan of the user stops it", func(r *rig, clean core.TaskID) {
			r.do(core.TaskEnded{Task: clean, Outcome: core.OutcomeDone}) // its task has ended, the fan runs
			r.offer("wf_2", "pl_2", `[{"cloud_step_id":"a","taskMethod":"stopCleaning"}]`)
			r.do(stopped)
			r.read("cleaning.is_running", false)
		}, core.EffectWaived},
		{"a plan of nobody stops it", func(r *rig, clean core.TaskID) {
			r.do(core.TaskEnded{Task: clean, Outcome: core.OutcomeDone})
			r.background(`[{"cloud_step_id":"a","taskMethod":"stopCleaning"}]`)
			r.read("cleaning.is_running", false)
		}, core.EffectContradicted},
		{"an event that may be about another task", func(r *rig, clean core.TaskID) {
			r.do(core.TaskEnded{Task: clean, Outcome: core.OutcomeDone})
			r.background(`[{"cloud_step_id":"a","taskMethod":"stopCleaning"}]`)
			r.do(stopped)
		}, core.EffectObserved},
		{"a reading, and then none can be had", func(r *rig, _ core.TaskID) {
			r.read("cleaning.is_running", false)
			r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "cleaning.is_running"}}})
		}, core.EffectObserved},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, clean, move := keeps(t)
			tc.do(r, clean)
			r.pass(1000)
			if e := r.effect("step_1"); e.State != tc.effect {
				t.Fatalf("the effect is %s, want %s", e.State, tc.effect)
			}
			r.elsewhere()
			r.arrive(move, "kitchen")
			r.want("step_2", "completed")
			switch tc.effect {
			case core.EffectContradicted:
				r.wantKept(tc.effect, core.WfFailed, core.ReasonContradicts)
			case core.EffectWaived:
				r.wantKept(tc.effect, core.WfCompleted, core.ReasonNone)
			default:
				r.read("cleaning.is_running", true)
				r.wantKept(tc.effect, core.WfCompleted, core.ReasonNone)
			}
		})
	}
}

// background hands in a plan that nobody asked for just now.
func (r *rig) background(requests string) {
	r.t.Helper()
	if a := r.do(r.planText(`{"workflow":{"cloud_workflow_id":"wf_2","plan_id":"pl_2","revision":0,"priority":"background"},"device_task_requests":` + requests + `}`)).Answers[0]; !a.Accepted {
		r.t.Fatalf("answer %+v", a)
	}
}

// What ends while a person holds the plan is their own change.
func TestKeptEffectUnderAPersonsHold(t *testing.T) {
	r, clean, _ := keeps(t)
	r.do(core.TaskEnded{Task: clean, Outcome: core.OutcomeDone})
	if a := r.do(core.ControlReceived{Head: core.Head{Msg: "c-1", Hash: "h"}, Verb: "pause", Scope: "workflow", Target: "wf_1", By: "app"}).Answers[0]; !a.Accepted {
		t.Fatalf("answer %+v", a)
	}
	r.pass(20_000)
	r.read("cleaning.is_running", false)
	r.pass(1000)
	if e := r.effect("step_1"); e.State != core.EffectWaived {
		t.Fatalf("the effect is %s", e.State)
	}
}

// A step until which something is kept may have ended before that is brought about.
func TestKeptUntilAStepThatHasEnded(t *testing.T) {
	r := newRig(t)
	r.submit(cleanKept("step_2", `},{"cloud_step_id":"step_2","taskMethod":"setVolume","params":{"level":30}}]`))
	clean, vol := r.dispatches()[0].Task, r.last().Task
	r.do(core.TaskAnswered{Task: vol, Accepted: true}, core.TaskEnded{Task: vol, Outcome: core.OutcomeDone},
		core.Observed{Event: "sound.changed", Task: vol, Source: "home", Data: core.Values{"level": 30.0}})
	r.want("step_2", "completed")
	r.accept(clean)
	r.event("cleaning.started", clean, nil)
	r.wantKept(core.EffectObserved, core.WfActive, core.ReasonNone)
	r.read("cleaning.is_running", true)
	r.wantKept(core.EffectObserved, core.WfCompleted, core.ReasonNone)
}

// An event that nobody heard is told by the executor when it is asked, and counts as that event.
func TestKeptUntilAnEventThatWasMissed(t *testing.T) {
	r := newRig(t)
	r.taken(0, `"deadline_ms":600000`, cleanKept("cleaning.completed", `}]`))
	task := r.last().Task
	r.accept(task)
	r.event("cleaning.started", task, nil)
	r.restart("run-1")
	r.do(core.TaskStatus{Task: task, Known: core.KnownEnded, Instance: "run-1", Ended: &core.TaskEnded{Task: task, Outcome: core.OutcomeDone},
		Event: &core.Observed{Event: "cleaning.completed", Task: task, Source: "home"}})
	r.wantKept(core.EffectObserved, core.WfCompleted, core.ReasonNone)
}

// on_failure abort: a lost effect takes the rest with it, and a failure elsewhere gives up what is kept.
func TestKeptEffectUnderAbort(t *testing.T) {
	begin := func(clean, move string) (*rig, core.TaskID, core.TaskID) {
		r := newRig(t)
		r.elsewhere()
		r.taken(0, `"deadline_ms":600000`, strings.Replace(cleanKept("voice.session_ended", `,"on_failure":"`+clean+`"`+moveAfter), `"depends_on":["step_1"]`, `"depends_on":["step_1"],"on_failure":"`+move+`"`, 1))
		task := r.last().Task
		r.accept(task)
		r.event("cleaning.started", task, nil)
		r.elsewhere()
		return r, task, r.last().Task
	}
	r, clean, move := begin("abort", "continue")
	r.accept(move)
	r.event("cleaning.failed", clean, nil)
	r.pass(1000)
	r.want("step_2", "cancelling/plan_aborted")
	r.do(core.TaskEnded{Task: move, Outcome: core.OutcomeCancelled})
	r.wantKept(core.EffectContradicted, core.WfFailed, core.ReasonContradicts)

	r, _, move = begin("continue", "abort")
	r.do(core.TaskAnswered{Task: move, Reason: core.ReasonExecutorRefused})
	r.wantKept(core.EffectWaived, core.WfFailed, core.ReasonExecutorRefused)
}

// What has not begun for the sake of a lost effect does not begin.
func TestLostEffectReleasesNothing(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(cleanKept("step_3", `},{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_1"],"temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":60000},
	  {"cloud_step_id":"step_3","taskMethod":"setMoveTo","params":{"position":"거실"},"depends_on":["step_2"]},
	  {"cloud_step_id":"step_4","taskMethod":"setVolume","params":{"level":30},"depends_on":[{"step":"step_1","on":"failure"}]}]`))
	task := r.last().Task
	r.accept(task)
	r.event("cleaning.started", task, nil)
	r.want("step_1", "completed", "step_2", "waiting", "step_4", "skipped/branch_not_taken")
	r.event("cleaning.failed", task, nil)
	r.pass(1000)
	r.want("step_2", "skipped/dependency_failed", "step_3", "skipped/dependency_failed")
	r.wantKept(core.EffectContradicted, core.WfFailed, core.ReasonContradicts)
	if n := len(r.dispatches()); n != 1 {
		t.Errorf("%d dispatches", n)
	}
}

// At the end nobody can say whether it still holds: it is waited for, said so, and given up.
func TestKeptEffectThatCannotBeRead(t *testing.T) {
	r, _, move := keeps(t)
	r.arrive(move, "kitchen")
	r.pass(14_000)
	if e := r.effect("step_1"); e.Kept.Stale || e.Kept.Over {
		t.Fatalf("too early: %+v", e.Kept)
	}
	r.pass(2000)
	if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); !strings.Contains(fmt.Sprint(why), string(core.ReasonContextStale)) {
		t.Errorf("why: %v", why)
	}
	r.wantKept(core.EffectObserved, core.WfActive, core.ReasonNone)
	r.pass(60_000)
	r.wantKept(core.EffectExpired, core.WfFailed, core.ReasonContextStale)
}

func TestKeptEffectSurvivesARestart(t *testing.T) {
	for _, reboot := range []bool{false, true} {
		t.Run(fmt.Sprintf("with a reboot: %v", reboot), func(t *testing.T) {
			r, _, move := keeps(t)
			r.arrive(move, "kitchen")
			if reboot {
				r.now.Boot, r.now.BootID = 5_000, "boot-2"
				r.now.WallMS += 5_000
			}
			reads := count[core.Read](r)
			r.restart("run-1")
			if count[core.Read](r) == reads {
				t.Fatal("after a start nothing asks for the value")
			}
			r.pass(16_000)
			if !r.effect("step_1").Kept.Stale {
				t.Fatal("the last look has no end any more")
			}
			r.wantKept(core.EffectObserved, core.WfActive, core.ReasonNone)
			r.read("cleaning.is_running", true)
			r.wantKept(core.EffectObserved, core.WfCompleted, core.ReasonNone)
		})
	}
}

// What ends the effect after the end that the plan named says nothing of the time before.
func TestKeptUntilThePlanItselfEndsIt(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(cleanKept("step_2", moveAfter[:len(moveAfter)-1]+`,{"cloud_step_id":"step_3","taskMethod":"stopCleaning","depends_on":["step_2"]}]`))
	clean := r.last().Task
	r.accept(clean)
	r.read("cleaning.is_running", true)
	r.event("cleaning.started", clean, nil)
	r.elsewhere()
	r.arrive(r.last().Task, "kitchen")
	stop := r.last()
	if stop.Method != "stopCleaning" {
		t.Fatalf("dispatched %s", stop.Method)
	}
	r.read("cleaning.is_running", false)
	r.do(core.TaskEnded{Task: stop.Task, Outcome: core.OutcomeDone}, core.Observed{Event: "cleaning.stopped", Task: clean, Source: "home"})
	r.settleAt("cleaning.is_running", false)
	r.want("step_2", "completed", "step_3", "completed")
	r.wantKept(core.EffectObserved, core.WfCompleted, core.ReasonNone)
}

func TestCancelWaivesWhatIsKept(t *testing.T) {
	r, _, _ := keeps(t)
	r.do(cancel("wf_1"))
	r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeCancelled})
	r.wantKept(core.EffectWaived, core.WfCancelled, core.ReasonUserCancelled)

	r, _, move := keeps(t)
	ans := r.do(core.ControlReceived{Head: core.Head{Msg: "c-1", Hash: "h"}, Verb: "cancel", Scope: "step", Target: "wf_1/step_1"}).Answers[0]
	if !ans.Accepted {
		t.Fatalf("answer %+v", ans)
	}
	r.arrive(move, "kitchen")
	r.wantKept(core.EffectWaived, core.WfCompleted, core.ReasonNone)
}

// A revision may take out the step until which something is kept, or give the effect up.
func TestRevisionOfWhatIsKept(t *testing.T) {
	plan := cleanKept("step_3", `},{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_1"]},
	  {"cloud_step_id":"step_3","taskMethod":"setVolume","params":{"level":30},"depends_on":["step_2"]}]`)
	for _, tc := range []struct {
		name, head string
		effect     core.EffectState
	}{
		{"its end is taken out", "", core.EffectObserved},
		{"it is given up", `"cancel_steps":["step_1"]`, core.EffectWaived},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(plan)
			clean := r.last().Task
			r.accept(clean)
			r.event("cleaning.started", clean, nil)
			r.elsewhere()
			move := r.last().Task
			r.taken(1, tc.head, `[{"cloud_step_id":"step_9","taskMethod":"setVolume","params":{"level":40}}]`)
			r.read("cleaning.is_running", true)
			r.arrive(move, "kitchen")
			vol := r.last()
			r.accept(vol.Task)
			r.do(core.TaskEnded{Task: vol.Task, Outcome: core.OutcomeDone}, core.Observed{Event: "sound.changed", Task: vol.Task, Source: "home", Data: core.Values{"level": 40.0, "muted": false}})
			r.want("step_2", "completed", "step_9", "completed")
			r.wantKept(tc.effect, core.WfCompleted, core.ReasonNone)
		})
	}
	t.Run("it goes on in a new order", func(t *testing.T) {
		r := newRig(t)
		r.elsewhere()
		r.submit(plan)
		clean := r.last().Task
		r.accept(clean)
		r.event("cleaning.started", clean, nil)
		r.elsewhere()
		move := r.last().Task
		r.taken(1, "", `[{"cloud_step_id":"step_3","taskMethod":"setVolume","params":{"level":30},"depends_on":["step_2"]},{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_1"]},`+
			cleanKept("step_3", `}]`)[1:])
		r.arrive(move, "kitchen")
		r.read("cleaning.is_running", true)
		r.wantKept(core.EffectObserved, core.WfActive, core.ReasonNone)
		if k := r.wf("wf_1").Plan.Steps[2].Keeps; len(k) != 1 || k[0].Step != 1 {
			t.Fatalf("keeps %+v", k)
		}
		vol := r.last().Task
		r.accept(vol)
		r.do(core.TaskEnded{Task: vol, Outcome: core.OutcomeDone}, core.Observed{Event: "sound.changed", Task: vol, Source: "home", Data: core.Values{"level": 30.0}})
		r.read("cleaning.is_running", true)
		r.wantKept(core.EffectObserved, core.WfCompleted, core.ReasonNone)
	})
}

// A kept effect that nothing looks at any more would keep its plan open for ever.
func TestTheAuditHealsAKeptEffectThatNobodyLooksAt(t *testing.T) {
	r, _, _ := keeps(t)
	if sound := core.Audit(r.s, r.now); len(sound) != 0 {
		t.Fatalf("an alarm over a sound state: %v", sound)
	}
	r.forget("wf_1", func(*core.Workflow) {})
	found := core.Audit(r.s, r.now)
	if !slices.ContainsFunc(found, func(s core.Stuck) bool { return s.Step == "step_1" }) {
		t.Fatalf("found %v", found)
	}
	r.do(core.Audited{})
	if left := core.Audit(r.s, r.now); len(left) != 0 {
		t.Fatalf("still %v", left)
	}
}

// What was never brought about is not kept: the step's own end decides.
func TestAFailedStepKeepsNothing(t *testing.T) {
	r := newRig(t)
	r.taken(0, `"deadline_ms":600000`, cleanKept("voice.session_ended", `,"on_failure":"abort"}]`))
	r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused})
	r.want("step_1", "failed/executor_refused")
	r.wantWorkflow(core.WfFailed)
	if e := r.effect("step_1"); e.Kept != nil || e.State != core.EffectExpired {
		t.Fatalf("the effect is %s, kept %+v", e.State, e.Kept)
	}
}
