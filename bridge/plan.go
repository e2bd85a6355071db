package bridge

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Defaults of a step that neither the plan nor the catalog bounds. Source: docs/contract.md, plan (hold_ms); the others are ours.
const (
	defaultHoldMS     = 60_000
	defaultEvidenceMS = 15_000
	defaultTimeoutMS  = 60_000
	cloudTimeoutMS    = 300_000
	maxDelayMS        = 30 * 24 * 3600 * 1000
)

// Bounds of a refusal: the ack that carries it has a size too, and a hostile plan has thousands of faults.
const (
	maxFaults  = 64
	maxPath    = 256 // bytes
	maxMessage = 512
)

// checker collects every fault of one plan.
type checker struct {
	cat    *catalog.Catalog
	w      *wire.Plan
	local  bool
	plan   *core.Plan
	index  map[string]int         // step id → index
	output map[core.OutputKey]int // output_key → index of the step that gives it
	order  []int                  // topological
	faults []core.Fault
	at     string // path of the present request

	experiences Experiences
	goal        bool         // what is looked at now is the goal
	goalFaults  []core.Fault // what is wrong with it: a device that evaluates no goals takes the plan all the same
}

func (k *checker) fault(path string, reason core.Reason, format string, args ...any) {
	list := &k.faults
	if k.goal {
		list = &k.goalFaults
	}
	switch n := len(*list); {
	case n < maxFaults:
		*list = append(*list, core.Fault{Path: clip(path, maxPath), Reason: reason, Message: clip(fmt.Sprintf(format, args...), maxMessage)})
	case n == maxFaults:
		*list = append(*list, core.Fault{Reason: wire.ReasonTooLarge, Message: "there are more faults than are reported"})
	}
}

// clip shortens text from outside before it is repeated.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

func (k *checker) here(field string, reason core.Reason, format string, args ...any) {
	k.fault(k.at+"."+field, reason, format, args...)
}

func (k *checker) enter(i int) { k.at = fmt.Sprintf("device_task_requests[%d]", i) }

// CheckPlan grounds a decoded plan in a catalog, by the rules for plans from the cloud: the planner checks with it what it sends,
// the device what it gets. The plan may be used where there are no faults. The same input gives the same plan and the same faults
// in the same order: the head, each step on its own, what steps take from each other, the whole. Paths are relative to the body.
// At most 64 faults are given, then one that says that there are more.
func CheckPlan(cat *catalog.Catalog, w *wire.Plan) (*core.Plan, []core.Fault) {
	p, faults, goal := checkPlan(cat, w, false, Experiences{})
	return p, append(faults, goal...)
}

// checkPlan gives the faults of the goal apart: whether they matter depends on whether a goal is evaluated at all.
func checkPlan(cat *catalog.Catalog, w *wire.Plan, local bool, exp Experiences) (p *core.Plan, faults, goal []core.Fault) {
	k := &checker{cat: cat, w: w, local: local, experiences: exp, index: map[string]int{}, output: map[core.OutputKey]int{}}
	for i := range w.Requests {
		k.index[w.Requests[i].CloudStepID] = i
	}
	k.head()
	k.plan.Steps = make([]core.StepSpec, len(w.Requests))
	for i := range w.Requests {
		k.enter(i)
		k.step(i, &w.Requests[i])
	}
	for i := range w.Requests {
		k.enter(i)
		k.references(i, &w.Requests[i])
	}
	k.goal = true
	k.experience()
	k.goal = false
	if k.acyclic() {
		k.deadline()
	}
	k.endSteps()
	return k.plan, k.faults, k.goalFaults
}

func (k *checker) head() {
	h := &k.w.Workflow
	k.plan = &core.Plan{
		Workflow: core.WorkflowID(h.CloudWorkflowID), ID: core.PlanID(h.PlanID), Revision: h.Revision, DeadlineMS: h.DeadlineMS,
		Priority: core.Priority(or(h.Priority, string(core.PriorityUser))), CatalogEtag: k.cat.Etag,
	}
	if strings.HasPrefix(h.CloudWorkflowID, core.StandingPrefix) {
		k.fault("workflow.cloud_workflow_id", ReasonNotForPlans, "ids that begin with %s are made by the device itself", core.StandingPrefix)
	}
	if k.plan.Priority == core.PrioritySafety && !k.local {
		k.fault("workflow.priority", ReasonNotForPlans, "safety is for what the robot does of its own accord and for plans that are handed in on it: use user or background")
	}
	if h.Origin != nil {
		k.plan.TurnID, k.plan.Utterance, k.plan.Locale = h.Origin.TurnID, h.Origin.Utterance, h.Origin.Locale
	}
	k.cancelSteps(h)
	k.scheduled()
	k.prefetch()
	if len(k.w.Requests) == 0 {
		k.fault("device_task_requests", wire.ReasonMissingField, "a plan without an experience has at least one step")
	}
}

// step checks what one request says on its own.
func (k *checker) step(i int, r *wire.Request) {
	s := &k.plan.Steps[i]
	*s = core.StepSpec{
		ID: core.StepID(r.CloudStepID), Target: core.Target(or(r.ExecutionTarget, string(core.OnDevice))), Immediate: r.ExecutionMode == "immediate",
		Wait: core.WaitPolicy(or(r.WaitPolicy, string(core.WaitCompleted))), Output: core.OutputKey(r.OutputKey), DelayMS: r.DelayMS,
		OnFailure: core.OnFail(or(r.OnFailure, string(core.FailEscalate))), When: conditionOf(r.When),
	}
	if r.CloudWorkflowID != "" && r.CloudWorkflowID != k.w.Workflow.CloudWorkflowID {
		k.here("cloud_workflow_id", wire.ReasonBadValue, "is not the plan's, which is %s", k.w.Workflow.CloudWorkflowID)
	}
	if r.ContractVersion != "" && r.ContractVersion != wire.Version {
		k.here("contract_version", core.ReasonUnsupported, "must be %s", wire.Version)
	}
	k.outputKey(i, s.Output)
	k.dependencies(s, r)
	k.temporal(s, r)
	if s.Target == core.OnCloud {
		k.cloudStep(s, r)
	} else {
		k.deviceStep(s, r)
	}
	k.inTemplate(s, r)
}

func or(v, fallback string) string {
	if v == "" {
		return fallback
	}
	return v
}

func orMS(v, fallback int64) int64 {
	if v > 0 {
		return v
	}
	return fallback
}

// cloudStep: the cloud does it and says how it ended. An event of the home cannot release what waits for it.
func (k *checker) cloudStep(s *core.StepSpec, r *wire.Request) {
	switch _, ok := k.cat.Skills[catalog.SkillID(r.Skill)]; {
	case r.Skill == "":
		k.here("skill", wire.ReasonMissingField, "a cloud step needs a skill")
	case r.TaskMethod != "" || r.TokenText != "":
		k.here("skill", wire.ReasonBadValue, "a step has either a skill, or taskMethod or token_text")
	case !ok:
		k.here("skill", ReasonUnknownSkill, "%q is no skill of this catalog", r.Skill)
	}
	k.skillEffects(s, r)
	if r.Retry != nil {
		k.here("retry", core.ReasonUnsupported, "this agent does not retry cloud steps")
	}
	if s.Wait == core.WaitForEvent || r.WaitEvent != nil {
		k.here("wait_policy", core.ReasonUnsupported, "a cloud step releases others when it is handed over (submitted) or has ended (completed)")
	}
	s.Skill, s.Call = r.Skill, r.Params.Map()
	s.Op.Noisy = k.cat.Skills[catalog.SkillID(r.Skill)].Noisy && k.hushed()
	s.TimeoutMS, s.EvidenceMS, s.HoldMS = orMS(r.TimeoutMS, cloudTimeoutMS), orMS(r.EvidenceTimeoutMS, defaultEvidenceMS), orMS(r.HoldMS, defaultHoldMS)
	for _, name := range inputNames(r) {
		if s.Call[name] != nil {
			k.twice(name)
		}
		give(&s.InputFrom, name, r.InputFrom.Params[name])
	}
}
