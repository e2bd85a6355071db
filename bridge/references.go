package bridge

import (
	"fmt"
	"slices"
	"strings"

	"deviceagent/bridge/token"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// call gives the method and parameters of a device step, from taskMethod or from its token; both given must mean the same.
// field is where faults of the arguments belong.
func (k *checker) call(r *wire.Request) (m catalog.Method, params map[string]any, field string, ok bool) {
	if r.TokenText == "" {
		if r.TaskMethod == "" {
			k.here("taskMethod", wire.ReasonMissingField, "a device step names a taskMethod or a token_text")
			return "", nil, "", false
		}
		return catalog.Method(r.TaskMethod), r.Params.Map(), "params", true
	}
	m, params, ok = k.token(r.TokenText)
	if !ok {
		return "", nil, "", false
	}
	if r.TaskMethod == "" {
		if len(r.Params) > 0 {
			k.here("params", wire.ReasonBadValue, "a step with token_text and no taskMethod takes its parameters from the token")
		}
		return m, params, "token_text", true
	}
	a, fa := k.cat.Resolve(catalog.Method(r.TaskMethod), r.Params.Map())
	b, fb := k.cat.Resolve(m, params)
	if len(fa) == 0 && len(fb) == 0 && (r.TaskMethod != string(m) || !condition.Equal(map[string]any(a.Call), map[string]any(b.Call))) {
		k.here("token_text", ReasonTokenMismatch, "it means %s %v, the request says %s %v", m, b.Call, r.TaskMethod, a.Call)
	}
	return catalog.Method(r.TaskMethod), r.Params.Map(), "params", true
}

// token reads one call. A token maps to a method only through the catalog.
func (k *checker) token(text string) (catalog.Method, map[string]any, bool) {
	calls, err := token.Parse(text)
	if err != nil {
		k.here("token_text", wire.ReasonMalformed, "%v", err)
		return "", nil, false
	}
	if len(calls) != 1 {
		k.here("token_text", core.ReasonUnsupported, "a step is one call, this text has %d", len(calls))
		return "", nil, false
	}
	m, ok := k.cat.Tokens["sk_"+calls[0].Name]
	if !ok {
		k.here("token_text", ReasonUnknownToken, "sk_%s is not in the token table", calls[0].Name)
		return "", nil, false
	}
	params := map[string]any{}
	for _, a := range calls[0].Args {
		params[a.Key] = typed(k.cat.Operations[m].Params[a.Key], a)
	}
	return m, params, true
}

// typed reads a bare token value as the parameter's type; what does not read stays text and is refused by the argument check.
func typed(p catalog.Param, a token.Arg) any {
	if a.Quoted {
		return a.Value
	}
	switch p.Type {
	case catalog.Integer, catalog.Number:
		var f float64
		if _, err := fmt.Sscanf(a.Value+" ", "%g ", &f); err == nil {
			return f
		}
	case catalog.Boolean:
		if a.Value == "true" || a.Value == "false" {
			return a.Value == "true"
		}
	}
	return a.Value
}

func (k *checker) dependencies(s *core.StepSpec, r *wire.Request) {
	seen := map[int]core.On{}
	for i, d := range r.DependsOn {
		path := fmt.Sprintf("depends_on[%d]", i)
		at, ok := k.index[d.Step]
		on := core.On(or(d.On, string(core.OnSuccess)))
		switch {
		case !ok:
			k.here(path, ReasonUnknownStep, "the plan has no step %q", d.Step)
		case d.Step == r.CloudStepID:
			k.here(path, ReasonBadDependency, "a step cannot wait for itself")
		case seen[at] != "" && seen[at] != on:
			k.here(path, ReasonBadDependency, "it waits for %s and for %s of the same step", seen[at], on)
		case seen[at] == "":
			seen[at] = on
			s.Deps = append(s.Deps, core.Dep{Step: at, On: on})
		}
	}
}

// temporal: after_planned_step is a dependency on the anchor, added where it is missing, plus a delay counted on the device.
func (k *checker) temporal(s *core.StepSpec, r *wire.Request) {
	switch r.TemporalRelation {
	case "":
		if r.DelayMS != 0 || r.TemporalAnchorID != "" {
			k.here("temporal_relation", wire.ReasonMissingField, "delay_ms and temporal_anchor_id go with a temporal_relation")
		}
		return
	case "after_planned_step":
	default:
		k.here("temporal_relation", core.ReasonUnsupported, "this agent knows after_planned_step only")
		return
	}
	at, ok := k.index[r.TemporalAnchorID]
	if !ok || r.TemporalAnchorID == r.CloudStepID {
		k.here("temporal_anchor_id", ReasonUnknownStep, "the plan has no other step %q", r.TemporalAnchorID)
		return
	}
	if r.DelayMS < 0 || r.DelayMS > maxDelayMS {
		k.here("delay_ms", wire.ReasonBadValue, "0 to %d ms (30 days)", maxDelayMS)
	}
	s.Anchor = at + 1
	if !slices.ContainsFunc(s.Deps, func(d core.Dep) bool { return d.Step == at }) {
		s.Deps = append(s.Deps, core.Dep{Step: at, On: core.OnSuccess})
	}
}

// acyclic orders the steps; steps that wait for each other are all named.
func (k *checker) acyclic() bool {
	steps := k.plan.Steps
	left := make([]int, len(steps))
	for i := range steps {
		left[i] = len(steps[i].Deps)
	}
	for done := -1; done != len(k.order); {
		done = len(k.order)
		for i := range steps {
			if left[i] != 0 {
				continue
			}
			left[i] = -1
			k.order = append(k.order, i)
			for j := range steps {
				if slices.ContainsFunc(steps[j].Deps, func(d core.Dep) bool { return d.Step == i }) {
					left[j]--
				}
			}
		}
	}
	if len(k.order) == len(steps) {
		return true
	}
	var ring []string
	for i := range steps {
		if left[i] > 0 {
			ring = append(ring, string(steps[i].ID))
		}
	}
	for i := range steps {
		if left[i] > 0 {
			k.fault(fmt.Sprintf("device_task_requests[%d].depends_on", i), ReasonCycle, "these steps wait for each other: %s", strings.Join(ring, ", "))
		}
	}
	return false
}

// references checks what a step takes from others: inputs and the references of its condition.
func (k *checker) references(i int, r *wire.Request) {
	before := k.ancestors(i)
	if r.InputFrom != nil {
		for j, key := range r.InputFrom.Visible {
			k.producer(before, key, fmt.Sprintf("input_from[%d]", j))
		}
		for param, path := range r.InputFrom.Params {
			key, _, _ := strings.Cut(path, ".")
			k.producer(before, key, "input_from."+param)
		}
	}
	s := &k.plan.Steps[i]
	if s.When == nil {
		return
	}
	for _, f := range condition.Check(*s.When, func(ref string) (string, bool) { return k.typeOf(before, ref) }) {
		path := "when"
		if f.Path != "" {
			path += "." + f.Path
		}
		k.here(path, ReasonBadCondition, "%s", f.Message)
	}
}

func (k *checker) ancestors(i int) map[int]bool {
	out := map[int]bool{}
	var visit func(int)
	visit = func(j int) {
		for _, d := range k.plan.Steps[j].Deps {
			if !out[d.Step] {
				out[d.Step] = true
				visit(d.Step)
			}
		}
	}
	visit(i)
	return out
}

// producer checks that an output comes from a step that this one waits for, and that waits for completed.
func (k *checker) producer(before map[int]bool, key, path string) {
	for j := range k.plan.Steps {
		if string(k.plan.Steps[j].Output) != key {
			continue
		}
		switch {
		case !before[j]:
			k.here(path, ReasonUnknownOutput, "%s comes from %s, which this step does not wait for", key, k.plan.Steps[j].ID)
		case k.plan.Steps[j].Wait != core.WaitCompleted:
			k.here(path, ReasonUnknownOutput, "%s comes from %s, whose wait_policy is %s: an output needs completed", key, k.plan.Steps[j].ID, k.plan.Steps[j].Wait)
		}
		return
	}
	k.here(path, ReasonUnknownOutput, "no step has the output_key %q", key)
}

// typeOf gives the type of a reference in a condition; "" where it is not declared.
func (k *checker) typeOf(before map[int]bool, ref string) (string, bool) {
	if key, ok := strings.CutPrefix(ref, "ctx."); ok {
		decl, known := k.cat.Context[catalog.ContextKey(key)]
		return string(decl.Type), known
	}
	key, path, _ := strings.Cut(ref, ".")
	for j := range k.plan.Steps {
		s := &k.plan.Steps[j]
		if string(s.Output) != key || !before[j] {
			continue
		}
		fields := k.cat.Operations[s.Method].Output
		if p, ok := fields[path]; ok {
			return string(p.Type), true
		}
		return "", s.Target == core.OnCloud || path == "" || len(fields) == 0
	}
	return "", false
}

// deadline refuses a plan that could not end in time even if all went well.
func (k *checker) deadline() {
	if k.plan.DeadlineMS == 0 || len(k.faults) > 0 {
		return
	}
	reach := make([]int64, len(k.plan.Steps))
	var longest int64
	for _, i := range k.order {
		s := &k.plan.Steps[i]
		for _, d := range s.Deps {
			reach[i] = max(reach[i], reach[d.Step])
		}
		reach[i] += s.DelayMS + k.declared(s)
		longest = max(longest, reach[i])
	}
	if k.plan.DeadlineMS < longest {
		k.fault("workflow.deadline_ms", core.ReasonDeadlineTooShort, "delays and declared durations on the longest path take %d ms", longest)
	}
}

// declared is how long a step takes by its own words: a duration argument, where the effect is its end.
func (k *checker) declared(s *core.StepSpec) int64 {
	op := k.cat.Operations[s.Method]
	if op.ExpectedMS.Per == "" || len(s.Effects) == 0 || slices.Equal(s.Effects, op.Effects) {
		return 0
	}
	d := op.ExpectedMS
	d.PlusMS = 0
	return d.For(s.Args)
}
