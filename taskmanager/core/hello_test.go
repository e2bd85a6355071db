package core_test

import (
	"fmt"
	"testing"

	"deviceagent/taskmanager/core"
)

// results are the reports on a workflow, as "status/reason".
func (r *rig) results(id core.WorkflowID) (out []string) {
	for _, m := range r.out {
		if m.Type == core.MsgResult && m.Workflow == id {
			out = append(out, string(m.Result.Status)+"/"+string(m.Result.Reason))
		}
	}
	return out
}

// closing is the answer to a hello that lists these workflows.
func closing(ids ...core.WorkflowID) core.HelloAnswered {
	var ev core.HelloAnswered
	for _, id := range ids {
		ev.Close = append(ev.Close, core.ToClose{Workflow: id})
	}
	return ev
}

func TestWhatAnEarlierStoreKnewIsClosed(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.do(closing("wf_old"), closing("wf_old"))
	if got := r.results("wf_old"); len(got) != 1 || got[0] != "failed/store_lost" {
		t.Fatalf("reports %v", got)
	}
	if r.s.Tombs["wf_old"] != core.ReasonStoreLost || !r.ch.Must {
		t.Fatalf("tombstone %q, to be committed %v", r.s.Tombs["wf_old"], r.ch.Must)
	}
	if a := r.do(r.planEvent("wf_old", "pl_old", toKitchen)).Answers[0]; a.Reason != core.ReasonAlreadyTerminal {
		t.Errorf("its plan, which was on its way: %+v", a)
	}
	r.do(closing("wf_old")) // its report was receipted, and the planner lost it with a restored backup
	if got := r.results("wf_old"); len(got) != 2 || got[1] != "failed/store_lost" {
		t.Errorf("asked for again: %v", got)
	}
}

func TestWhatIsOpenOrScheduledHereIsNotClosed(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.do(r.scheduled("wf_s", 0, everyEvening, clean))
	r.do(closing("wf_1", "wf_s"))
	if got := append(r.results("wf_1"), r.results("wf_s")...); len(got) != 0 {
		t.Errorf("reports %v", got)
	}
	r.want("step_1", "dispatching")
	if r.s.Templates["wf_s"] == nil {
		t.Error("the schedule is gone")
	}
}

func TestS37_WhatEndedHereIsReportedAgain(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.do(core.ControlReceived{Head: core.Head{Msg: "c1"}, Verb: "kill", Scope: "all"})
	if n := len(r.results("wf_1")); n != 1 {
		t.Fatalf("%d reports", n)
	}
	r.do(closing("wf_1"))
	got := r.results("wf_1")
	if len(got) != 2 || got[1] != got[0] || r.s.Tombs["wf_1"] == core.ReasonStoreLost {
		t.Errorf("reports %v, tombstone %q", got, r.s.Tombs["wf_1"])
	}
	past := &core.Past{State: core.WfCompleted, Result: &core.Result{Status: core.WfCompleted}}
	r.do(core.HelloAnswered{Close: []core.ToClose{{Workflow: "wf_past", Past: past}}})
	if got := r.results("wf_past"); len(got) != 1 || got[0] != "completed/" {
		t.Errorf("what only the store has: %v", got)
	}
}

func TestAHelloClosesABoundedNumber(t *testing.T) {
	r := newRig(t)
	var ids []core.WorkflowID
	for i := range core.MaxClose + 9 {
		ids = append(ids, core.WorkflowID(fmt.Sprintf("wf_%d", i)))
	}
	r.do(closing(ids...))
	if len(r.out) != core.MaxClose {
		t.Errorf("%d reports", len(r.out))
	}
}

// While nobody has set the clock, age is judged by the planner's, as boot time carries it on.
func TestF48_AgeIsJudgedByThePlannersTimeWhileTheClockIsNotTrusted(t *testing.T) {
	const planner = 1_900_000_000_000
	for _, tc := range []struct {
		name  string
		hello int64
		head  core.Head
		want  core.Reason
	}{
		{"in time", planner, core.Head{SentMS: planner, ExpireMS: planner + 60_000}, core.ReasonNone},
		{"at the last moment", planner, core.Head{SentMS: planner, ExpireMS: planner + 10_000}, core.ReasonNone},
		{"late", planner, core.Head{SentMS: planner - 60_000, ExpireMS: planner + 9_999}, core.ReasonExpired},
		{"eleven hours late", planner, core.Head{SentMS: planner - 11*3600_000, ExpireMS: planner - 11*3600_000 + 300_000}, core.ReasonExpired},
		{"an id that is a day ahead", planner, core.Head{IDMS: planner + 10_000 + dayMS}, core.ReasonNone},
		{"an id that is more than a day ahead", planner, core.Head{IDMS: planner + 10_001 + dayMS}, core.ReasonClockSkew},
		{"no hello was answered", 0, core.Head{SentMS: planner, ExpireMS: planner + 60_000}, core.ReasonClockUntrusted},
		{"handed in on the robot", planner, core.Head{SentMS: 1, ExpireMS: 300_001, Local: true}, core.ReasonClockUntrusted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.now.Trusted, r.now.WallMS = false, 5_000
			r.do(core.HelloAnswered{PlannerMS: tc.hello})
			r.pass(10_000)
			ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
			ev.SentMS, ev.ExpireMS, ev.IDMS, ev.Local = tc.head.SentMS, tc.head.ExpireMS, tc.head.IDMS, tc.head.Local
			if a := r.do(ev).Answers[0]; a.Reason != tc.want {
				t.Errorf("answer %+v, want %q", a, tc.want)
			}
		})
	}
}

func TestThePlannersTimeIsNoTrustAndEndsWithTheBoot(t *testing.T) {
	const planner = 1_900_000_000_000
	r := newRig(t)
	r.elsewhere()
	r.now.Trusted = false
	r.do(core.HelloAnswered{PlannerMS: planner})
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"temporal_relation":"at_time","not_before":"2027-01-01T00:00:00Z"}]`)
	r.want("step_1", "waiting")
	r.now.BootID, r.now.Boot = "boot-2", 5_000
	r.do(core.Started{StartNo: 2})
	ev := r.planEvent("wf_2", "pl_2", toKitchen).(core.PlanSubmitted)
	ev.SentMS, ev.ExpireMS = planner, planner+60_000
	if a := r.do(ev).Answers[0]; a.Reason != core.ReasonClockUntrusted {
		t.Errorf("after a reboot: %+v", a)
	}
	r.do(core.HelloAnswered{PlannerMS: planner})
	r.do(core.Started{StartNo: 3}) // of the agent alone
	if a := r.do(ev).Answers[0]; !a.Accepted {
		t.Errorf("after a start in the same boot: %+v", a)
	}
}

// A link that comes and goes writes nothing while the planner's clock says what boot time says.
func TestTheSamePlannersTimeChangesNothing(t *testing.T) {
	r := newRig(t)
	r.do(core.HelloAnswered{PlannerMS: 1_900_000_000_000})
	r.pass(60_000)
	if c := r.do(core.HelloAnswered{PlannerMS: 1_900_000_060_400}); c.Must || c.Ignored != 1 {
		t.Errorf("must be committed %v, ignored %d", c.Must, c.Ignored)
	}
	r.do(core.HelloAnswered{PlannerMS: 1_900_000_090_000})
	if got := r.s.Device.PlannerMS; got != 1_900_000_090_000 {
		t.Errorf("the planner's clock is noted as %d", got)
	}
}

// "다 그만" by button in a robot that does not know the time: it is dated as soon as the planner says it.
func TestS38_AStopByButtonIsDatedByThePlannersTime(t *testing.T) {
	const planner = 1_900_000_000_000
	r := newRig(t)
	r.elsewhere()
	r.now.Trusted, r.now.WallMS = false, 5_000
	r.do(core.ControlReceived{Head: core.Head{Msg: "c1", SentMS: 5_000, Local: true}, Verb: "cancel", Scope: "all"})
	r.pass(30_000)
	offer := func(wf string, sent int64) core.Reason {
		ev := r.planEvent(wf, "pl_"+wf, toKitchen).(core.PlanSubmitted)
		ev.SentMS = sent
		return r.do(ev).Answers[0].Reason
	}
	if got := offer("wf_1", planner-30_001); got != core.ReasonClockUntrusted {
		t.Errorf("before anybody knows the time: %q", got)
	}
	r.do(core.HelloAnswered{PlannerMS: planner})
	if got := offer("wf_1", planner-30_000); got != core.ReasonCancelledBefore {
		t.Errorf("said at the stop: %q", got)
	}
	if got := offer("wf_2", planner-29_999); got != core.ReasonNone {
		t.Errorf("said after it: %q", got)
	}
}
