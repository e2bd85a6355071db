package core_test

import (
	"fmt"
	"testing"

	"deviceagent/taskmanager/core"
)

func TestAdmission(t *testing.T) {
	const now = 1_800_000_000_000 // of the rig's wall clock
	for _, tc := range []struct {
		name       string
		before     func(r *rig)
		change     func(ev *core.PlanSubmitted)
		want       core.Reason
		remembered bool
	}{
		{"as it is", nil, func(*core.PlanSubmitted) {}, core.ReasonNone, true},
		{"same revision, other content", func(r *rig) { r.submit(toKitchen) }, func(ev *core.PlanSubmitted) { ev.Hash = "other" }, core.ReasonSameRevision, false},
		{"remembered with other content", nil, func(ev *core.PlanSubmitted) { ev.Before, ev.HashThen = &core.Answer{Accepted: true}, "other" }, core.ReasonSameRevision, false},
		{"another plan of a known workflow", func(r *rig) { r.submit(toKitchen) }, func(ev *core.PlanSubmitted) { ev.Plan.ID = "pl_other" }, core.ReasonIDReused, false},
		{"a lower revision", func(r *rig) {
			ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
			ev.Plan.Revision = 2
			r.do(ev)
		}, func(ev *core.PlanSubmitted) { ev.Plan.Revision = 1 }, core.ReasonOutdatedRevision, false},
		{"a revision of a cancelled plan", func(r *rig) { r.submit(toKitchen); r.do(cancel("wf_1")) }, func(ev *core.PlanSubmitted) { ev.Plan.Revision = 1 }, core.ReasonAfterCancel, false},
		{"a revision of an ended plan", func(r *rig) { r.submit(toKitchen); r.do(core.TaskAnswered{Task: r.last().Task}); r.undecided() },
			func(ev *core.PlanSubmitted) { ev.Plan.Revision = 1 }, core.ReasonAlreadyTerminal, false},
		{"in time", nil, func(ev *core.PlanSubmitted) { ev.ExpireMS = now }, core.ReasonNone, true},
		{"too late", nil, func(ev *core.PlanSubmitted) { ev.ExpireMS = now - 1 }, core.ReasonExpired, true},
		{"its age cannot be judged", func(r *rig) { r.now.Trusted = false }, func(ev *core.PlanSubmitted) { ev.ExpireMS = now + 1000 }, core.ReasonClockUntrusted, false},
		{"for an earlier store", nil, func(ev *core.PlanSubmitted) { ev.Epoch = "epoch-0" }, core.ReasonWrongEpoch, false}, // else the same plan for this store could not come any more
		{"for this store", nil, func(ev *core.PlanSubmitted) { ev.Epoch = "epoch-1" }, core.ReasonNone, true},
		{"on the robot nobody knows the epoch", nil, func(ev *core.PlanSubmitted) { ev.Epoch, ev.Local = "epoch-0", true }, core.ReasonNone, true},
		{"more than the device holds", func(r *rig) {
			for i := range 256 {
				r.offer(fmt.Sprintf("w-%d", i), fmt.Sprintf("p-%d", i), `[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"}]`)
			}
		}, func(*core.PlanSubmitted) {}, core.ReasonLimit, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			if tc.before != nil {
				tc.before(r)
			}
			ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
			ev.ExpireMS = 0
			tc.change(&ev)
			c := r.do(ev)
			if a := c.Answers[0]; a.Reason != tc.want || a.Accepted != (tc.want == core.ReasonNone) {
				t.Fatalf("answer %+v, want %q", a, tc.want)
			}
			if got := len(c.Remember) == 1; got != tc.remembered {
				t.Fatalf("remembered: %v, want %v", got, tc.remembered)
			}
		})
	}
}

func TestControlIDIsNotUsedTwice(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	ev := cancel("wf_1")
	first := core.Answer{Accepted: true, State: "cancelling"}
	ev.Before, ev.HashThen = &first, "other"
	if a := r.do(ev).Answers[0]; a.Accepted || a.Reason != core.ReasonIDReused {
		t.Fatalf("other content under the same id: %+v", a)
	}
	r.want("step_1", "dispatching")
	ev.HashThen = ev.Hash
	if a := r.do(ev).Answers[0]; a.State != "cancelling" {
		t.Fatalf("the same again: %+v", a)
	}
	r.want("step_1", "dispatching")
}
