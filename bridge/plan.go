package bridge

import (
	"fmt"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Reason codes of faults that the check of a plan finds, beside those of the wire and the catalog.
const (
	ReasonUnknownStep      core.Reason = "unknown_step"        // a dependency or anchor that the plan does not have
	ReasonCycle            core.Reason = "cycle"               // steps that wait for each other
	ReasonUnknownToken     core.Reason = "unknown_token"       // a token that the catalog does not map
	ReasonTokenMismatch    core.Reason = "token_mismatch"      // taskMethod and token_text mean different things
	ReasonUnknownOutput    core.Reason = "unknown_output"      // a reference to an output that no earlier step gives
	ReasonUnknownEffect    core.Reason = "unknown_effect"      // an effect that the catalog does not have
	ReasonEffectNoProvider core.Reason = "effect_not_provided" // an effect that this operation does not bring about
	ReasonUnknownEvent     core.Reason = "unknown_event"       // an event that the catalog does not have
	ReasonMismatch         core.Reason = "workflow_mismatch"   // a request that names another workflow than its plan
	ReasonBadCondition     core.Reason = "bad_condition"       // a condition with a wrong shape, type or reference
	ReasonUnknownSkill     core.Reason = "unknown_skill"       // a skill that the catalog does not have
	ReasonBadDependency    core.Reason = "bad_dependency"      // a dependency on itself, or twice with different ends
	maxDelayMS             int64       = 30 * 24 * 3600 * 1000 // Source: docs/contract.md, temporal_relation
)

// checker collects every fault of one plan.
type checker struct {
	cat    *catalog.Catalog
	w      *wire.Plan
	plan   *core.Plan
	index  map[string]int
	order  []int // topological
	faults []core.Fault
	at     string // path of the present request
}

func (k *checker) fault(path string, reason core.Reason, format string, args ...any) {
	k.faults = append(k.faults, core.Fault{Path: path, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (k *checker) here(field string, reason core.Reason, format string, args ...any) {
	k.fault(k.at+"."+field, reason, format, args...)
}

// CheckPlan grounds a decoded plan in a catalog: the planner checks with it what it sends, the device what it gets.
func CheckPlan(cat *catalog.Catalog, w *wire.Plan) (*core.Plan, []core.Fault) {
	k := &checker{cat: cat, w: w, index: map[string]int{}}
	k.head()
	for i := range w.Requests {
		k.index[w.Requests[i].CloudStepID] = i
	}
	k.plan.Steps = make([]core.StepSpec, len(w.Requests))
	for i := range w.Requests {
		k.at = fmt.Sprintf("device_task_requests[%d]", i)
		k.step(i, &w.Requests[i])
	}
	if k.acyclic() {
		for _, i := range k.order {
			k.at = fmt.Sprintf("device_task_requests[%d]", i)
			k.references(i, &w.Requests[i])
		}
		k.deadline()
	}
	return k.plan, k.faults
}

func (k *checker) head() {
	h := &k.w.Workflow
	k.plan = &core.Plan{
		Workflow: core.WorkflowID(h.CloudWorkflowID), ID: core.PlanID(h.PlanID), Revision: h.Revision, DeadlineMS: h.DeadlineMS,
		Priority: core.Priority(h.Priority), CatalogEtag: k.cat.Etag,
	}
	if k.plan.Priority == "" {
		k.plan.Priority = core.PriorityUser
	}
	if h.Origin != nil {
		k.plan.TurnID, k.plan.Utterance = h.Origin.TurnID, h.Origin.Utterance
	}
	if len(h.CancelSteps) > 0 {
		k.fault("workflow.cancel_steps", core.ReasonUnsupported, "this agent takes no revisions yet")
	}
	if k.w.Experience != nil {
		k.fault("experience", core.ReasonUnsupported, "this agent takes no experiences yet")
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
		k.here("cloud_workflow_id", ReasonMismatch, "the plan is for %s", k.w.Workflow.CloudWorkflowID)
	}
	if r.ContractVersion != "" && r.ContractVersion != wire.Version {
		k.here("contract_version", ReasonMismatch, "the envelope says %s", wire.Version)
	}
	if r.Retry != nil {
		k.here("retry", core.ReasonUnsupported, "this agent does not retry steps yet")
	}
	if strings.Contains(r.OutputKey, ".") {
		k.here("output_key", wire.ReasonBadValue, "a dot separates the key from the path in references, so the key has none")
	}
	k.dependencies(s, r)
	k.temporal(s, r)
	if s.Target == core.OnCloud {
		k.cloudStep(s, r)
	} else {
		k.deviceStep(s, r)
	}
}

func or(v, fallback string) string {
	if v == "" {
		return fallback
	}
	return v
}

func (k *checker) cloudStep(s *core.StepSpec, r *wire.Request) {
	if _, ok := k.cat.Skills[catalog.SkillID(r.Skill)]; !ok && r.Skill != "" {
		k.here("skill", ReasonUnknownSkill, "%q is no skill of this catalog", r.Skill)
	}
	if r.TaskMethod != "" || r.TokenText != "" {
		k.here("execution_target", wire.ReasonBadValue, "a cloud step names a skill, not a taskMethod or token_text")
	}
	if len(r.RequiredEffects) > 0 {
		k.here("required_effects", core.ReasonUnsupported, "this agent takes no effects of cloud steps yet")
	}
	s.Skill, s.Call = r.Skill, r.Params.Map()
	s.TimeoutMS, s.EvidenceMS, s.HoldMS = orMS(r.TimeoutMS, 300_000), orMS(r.EvidenceTimeoutMS, 15_000), orMS(r.HoldMS, defaultHoldMS)
	s.InputFrom = inputs(r)
}

// defaultHoldMS bounds blocked by context. Source: docs/contract.md, plan (60000).
const defaultHoldMS = 60_000

func orMS(v, fallback int64) int64 {
	if v > 0 {
		return v
	}
	return fallback
}

func inputs(r *wire.Request) map[string]string {
	if r.InputFrom == nil || len(r.InputFrom.Params) == 0 {
		return nil
	}
	return r.InputFrom.Params
}

// deviceStep grounds the call: method or token, arguments, variant, effects, times.
func (k *checker) deviceStep(s *core.StepSpec, r *wire.Request) {
	if r.Skill != "" {
		k.here("skill", core.ReasonUnsupported, "this agent opens no content sessions yet")
	}
	method, params, field, ok := k.call(r)
	if !ok {
		return
	}
	s.Method = method
	s.InputFrom = inputs(r)
	res, ok := k.resolve(s, params, field)
	if !ok {
		return
	}
	op := res.Operation
	s.Args, s.Call = res.Args, res.Call
	s.Resources, s.Stops, s.MovesBody = op.Resources, op.Stops, op.MovesBody
	s.Op = core.FactsOf(op)
	if op.HumanPaced && r.TimeoutMS == 0 {
		s.TimeoutMS = 0
	} else {
		s.TimeoutMS = orMS(r.TimeoutMS, orMS(op.Timeout.For(res.Args), 60_000))
	}
	s.EvidenceMS = orMS(r.EvidenceTimeoutMS, orMS(op.EvidenceMS, 15_000))
	s.HoldMS = orMS(r.HoldMS, orMS(op.HoldMS, defaultHoldMS))
	k.effects(s, r, op)
	k.waitEvent(s, r, op)
}

// resolve checks the arguments. A parameter that an earlier step will fill is stood in for by a value that fits its type.
func (k *checker) resolve(s *core.StepSpec, params map[string]any, field string) (catalog.Resolved, bool) {
	full := make(map[string]any, len(params)+len(s.InputFrom))
	for name, v := range params {
		full[name] = v
	}
	op, known := k.cat.Operations[s.Method]
	for name := range s.InputFrom {
		p, ok := op.Params[name]
		switch {
		case known && !ok:
			k.here("input_from."+name, catalog.ReasonUnknownParameter, "%s has no parameter %q", s.Method, name)
		case ok && full[name] != nil:
			k.here("input_from."+name, wire.ReasonBadValue, "the parameter is given twice: in params and from an output")
		case ok:
			full[name] = k.standIn(p)
		}
	}
	res, faults := k.cat.Resolve(s.Method, full)
	for _, f := range faults {
		path := field
		if f.Path != "" {
			path = field + "." + f.Path
		}
		if f.Reason == catalog.ReasonUnknownMethod {
			path = strings.Replace(field, "params", "taskMethod", 1)
		}
		k.here(path, core.Reason(f.Reason), "%s", f.Message)
	}
	for name := range s.InputFrom {
		delete(res.Args, name)
		delete(res.Call, name)
	}
	return res, len(faults) == 0
}

func (k *checker) standIn(p catalog.Param) any {
	switch {
	case len(p.Enum) > 0:
		return p.Enum[0]
	case p.Type == catalog.RoomRef && len(k.cat.Rooms) > 0:
		return string(k.cat.Rooms[0].ID)
	case p.Type == catalog.Boolean:
		return true
	case p.Type == catalog.String:
		return ""
	case p.Minimum != nil:
		return *p.Minimum
	}
	return 0.0
}

func (k *checker) effects(s *core.StepSpec, r *wire.Request, op catalog.Operation) {
	s.Effects, s.Named = core.EffectsOf(op), len(r.RequiredEffects) > 0
	if s.Named {
		s.Effects = nil
	}
	provided := op.AllEffects()
	for i, e := range r.RequiredEffects {
		path := fmt.Sprintf("required_effects[%d]", i)
		id := catalog.EffectID(e.EffectID)
		switch _, known := k.cat.Effects[id]; {
		case !known:
			k.here(path, ReasonUnknownEffect, "%q is no effect of this catalog", e.EffectID)
		case !contains(provided, id):
			k.here(path, ReasonEffectNoProvider, "%s does not bring about %s with these arguments", s.Method, e.EffectID)
		case e.Kind == "maintain":
			k.here(path, core.ReasonUnsupported, "this agent keeps no maintain effects yet")
		default:
			s.Effects = append(s.Effects, id)
		}
	}
	if len(s.Effects) == 0 && op.MovesBody {
		k.here("taskMethod", ReasonEffectNoProvider, "%s moves the body and nothing would prove that it is done", s.Method)
	}
}

func contains[T comparable](list []T, v T) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

func (k *checker) waitEvent(s *core.StepSpec, r *wire.Request, op catalog.Operation) {
	switch {
	case r.WaitEvent != nil && s.Wait != core.WaitForEvent:
		k.here("wait_event", wire.ReasonBadValue, "it goes with wait_policy event")
	case r.WaitEvent != nil:
		if _, ok := k.cat.Events[catalog.EventName(r.WaitEvent.Event)]; !ok {
			k.here("wait_event.event", ReasonUnknownEvent, "%q is no event of this catalog", r.WaitEvent.Event)
		}
		s.WaitEvent = &core.EventMatch{Event: catalog.EventName(r.WaitEvent.Event), Match: r.WaitEvent.Match.Map()}
	case s.Wait == core.WaitForEvent && op.ReleaseEvent != "":
		s.WaitEvent = &core.EventMatch{Event: op.ReleaseEvent}
	case s.Wait == core.WaitForEvent:
		k.here("wait_event", wire.ReasonMissingField, "%s has no release event of its own, so wait_policy event has to name one", s.Method)
	}
}
