package bridge

import (
	"slices"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/schedule"
)

// maxTemplateID bounds the ids of a plan with a schedule: its occurrences add a sign and a stamp, @20261224T1800.
// Source: docs/contract.md, limits (128 characters).
const maxTemplateID = 128 - 14

// scheduled takes the schedule of a plan. Whether it has a next time depends on the present moment and is not judged here.
func (k *checker) scheduled() {
	s := k.w.Workflow.Schedule
	if s == nil {
		return
	}
	sched := &core.Schedule{Days: s.Days, On: s.On, At: s.At, EndAt: s.EndAt, TZ: s.TZ}
	if s.Until != nil {
		sched.Until = *s.Until
	}
	k.plan.Schedule = sched
	_, faults := schedule.Parse(schedule.Spec{Days: s.Days, On: s.On, At: s.At, EndAt: s.EndAt, TZ: s.TZ, Until: sched.Until})
	for _, f := range faults {
		reason := wire.ReasonBadValue
		if f.Missing {
			reason = wire.ReasonMissingField
		}
		k.fault("workflow.schedule."+f.Field, core.Reason(reason), "%s", f.Message)
	}
	if _, err := time.LoadLocation(s.TZ); s.TZ == "" || s.TZ == "Local" || err != nil { // "" and Local are places of this machine
		k.fault("workflow.schedule.tz", wire.ReasonBadValue, "%q is no zone such as Asia/Seoul", s.TZ)
	}
	for _, id := range [][2]string{{"cloud_workflow_id", string(k.plan.Workflow)}, {"plan_id", string(k.plan.ID)}} {
		if len(id[1]) > maxTemplateID {
			k.fault("workflow."+id[0], wire.ReasonTooLarge, "an id of %d characters: a plan with a schedule has at most %d, its occurrences add a stamp", len(id[1]), maxTemplateID)
		}
	}
	if len(k.plan.CancelSteps) > 0 {
		k.fault("workflow.cancel_steps", wire.ReasonBadValue, "a schedule is replaced whole: what it has begun is cancelled by its own id")
	}
}

// inTemplate checks a step of a plan with a schedule.
func (k *checker) inTemplate(s *core.StepSpec, r *wire.Request) {
	switch {
	case k.plan.Schedule == nil:
		if r.OnOverdue != "" && r.TemporalRelation == "" {
			k.here("on_overdue", wire.ReasonBadValue, "there is no moment that could pass: it goes with a temporal_relation or a schedule")
		}
		return
	case s.NotBeforeMS != 0:
		k.here("not_before", wire.ReasonBadValue, "a moment does not come again with each occurrence: the schedule is the time")
	}
	if op, ok := k.cat.Operations[s.Method]; ok && !op.Schedulable {
		k.here("taskMethod", ReasonNotSchedulable, "%s may not stand in a schedule", s.Method)
	}
	s.OnOverdue = core.Overdue(r.OnOverdue)
}

// endSteps adds to a plan with an end the steps that stop what it uses: one for each stop of the catalog.
func (k *checker) endSteps() {
	if k.plan.Schedule == nil || k.plan.Schedule.EndAt == "" {
		return
	}
	var stops []catalog.Method
	for i := range k.plan.Steps {
		for _, res := range k.plan.Steps[i].Resources {
			if m := k.cat.Resources[res].Stop; m != "" && !slices.Contains(stops, m) {
				stops = append(stops, m)
			}
		}
	}
	if len(stops) == 0 && len(k.faults) == 0 {
		k.fault("workflow.schedule.end_at", wire.ReasonBadValue, "no step of the plan uses anything that could be stopped then")
	}
	for _, m := range stops {
		k.at = "workflow.schedule.end_at"
		k.plan.Steps = append(k.plan.Steps, core.StepSpec{ID: core.StepID("end@" + string(m)), Target: core.OnDevice, Wait: core.WaitCompleted,
			OnFailure: core.FailContinue, Method: m, Ends: true})
		s := &k.plan.Steps[len(k.plan.Steps)-1]
		if res, ok := k.resolve(call{method: m, field: "params"}, nil); ok {
			k.ground(s, &wire.Request{CloudStepID: string(s.ID), TaskMethod: string(m)}, res, nil)
		}
	}
}
