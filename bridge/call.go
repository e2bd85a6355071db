package bridge

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"deviceagent/bridge/token"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// call is what a device step asks for, in the words of its request.
type call struct {
	method catalog.Method
	params map[string]any
	field  string // where faults of its parameters belong
	same   *call  // the token_text beside a taskMethod: it has to mean the same
}

// deviceStep grounds the call: method or token, arguments, variant, effects, times.
func (k *checker) deviceStep(s *core.StepSpec, r *wire.Request) {
	if r.Skill != "" {
		k.here("skill", core.ReasonUnsupported, "a skill is carried out in the cloud: execution_target has to be cloud")
		return
	}
	c, ok := k.call(r)
	if !ok || !k.allowed(c) {
		return
	}
	s.Method = c.method
	standIns := k.inputs(s, r, c)
	res, ok := k.resolve(c, standIns)
	if ok && c.same != nil {
		k.sameCall(c.same, standIns, res)
	}
	if ok {
		k.ground(s, r, res, standIns)
	}
}

func (k *checker) call(r *wire.Request) (c call, ok bool) {
	byToken := call{field: "token_text"}
	readable := false
	if r.TokenText != "" {
		byToken.method, byToken.params, readable = k.token(r.TokenText)
	}
	switch {
	case r.TaskMethod != "":
		c = call{method: catalog.Method(r.TaskMethod), params: r.Params.Map(), field: "params"}
		if readable {
			c.same = &byToken
		}
		return c, true
	case r.TokenText == "":
		k.here("taskMethod", wire.ReasonMissingField, "a device step names a taskMethod or a token_text")
	case len(r.Params) > 0:
		k.here("params", wire.ReasonBadValue, "a step with token_text and no taskMethod takes its parameters from the token")
	}
	return byToken, readable
}

// allowed: a plan may name what the catalog offers to plans. Internal operations are those that the agent uses itself.
func (k *checker) allowed(c call) bool {
	m, field := c.method, "taskMethod"
	if c.field == "token_text" {
		field = c.field
	}
	op, ok := k.cat.Operations[m]
	switch {
	case !ok:
		k.here(field, catalog.ReasonUnknownMethod, "%q is no method of this catalog", m)
	case op.Visibility == "internal":
		k.here(field, ReasonNotForPlans, "%s is internal: the agent keeps it to itself", m)
	case op.Visibility == "lab" && !k.local:
		k.here(field, ReasonNotForPlans, "%s is for the lab: only a plan that is handed in on the robot may name it", m)
	default:
		return true
	}
	return false
}

// inputs stands in for each parameter that an earlier step will fill, by its own name: a value that fits its type, and the largest,
// so that a time-out that depends on it is long enough. What comes is checked and chooses its variant when the step is dispatched.
func (k *checker) inputs(s *core.StepSpec, r *wire.Request, c call) map[string]any {
	standIns := map[string]any{}
	for _, written := range inputNames(r) {
		name, p, ok := parameter(k.cat.Operations[s.Method], written)
		if !ok {
			k.here("input_from."+written, catalog.ReasonUnknownParameter, "%s has no parameter %q", s.Method, written)
			continue
		}
		if _, twice := standIns[name]; twice || c.params[written] != nil {
			k.twice(written)
			continue
		}
		standIns[name] = k.standIn(p)
		give(&s.InputFrom, name, r.InputFrom.Params[written])
	}
	return standIns
}

func (k *checker) twice(name string) {
	k.here("input_from."+name, wire.ReasonBadValue, "the parameter is given twice")
}

func inputNames(r *wire.Request) []string {
	if r.InputFrom == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.InputFrom.Params))
}

func give(to *map[string]string, name, path string) {
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[name] = path
}

// parameter finds a parameter by its name or one of its aliases.
func parameter(op catalog.Operation, written string) (string, catalog.Param, bool) {
	if p, ok := op.Params[written]; ok {
		return written, p, true
	}
	for _, name := range slices.Sorted(maps.Keys(op.Params)) {
		if slices.Contains(op.Params[name].Aliases, written) {
			return name, op.Params[name], true
		}
	}
	return "", catalog.Param{}, false
}

func (k *checker) standIn(p catalog.Param) any {
	switch {
	case len(p.Enum) > 0:
		return p.Enum[0]
	case p.Type == catalog.RoomRef:
		i := slices.IndexFunc(k.cat.Rooms, func(r catalog.Room) bool { return r.Reachable })
		if i < 0 {
			return "" // refused as no room, which is so
		}
		return string(k.cat.Rooms[i].ID)
	case p.Type == catalog.Boolean:
		return true
	case p.Type == catalog.String:
		return ""
	case p.Maximum != nil:
		return *p.Maximum
	case p.Minimum != nil:
		return *p.Minimum
	}
	return 0.0
}

// resolve checks the arguments together with the stand-ins.
func (k *checker) resolve(c call, standIns map[string]any) (catalog.Resolved, bool) {
	full := make(map[string]any, len(c.params)+len(standIns))
	maps.Copy(full, c.params)
	maps.Copy(full, standIns)
	res, faults := k.cat.Resolve(c.method, full)
	for _, f := range faults {
		path := c.field
		if f.Path != "" && c.field == "params" {
			path += "." + f.Path
		}
		if _, stood := standIns[f.Path]; stood {
			path = "input_from." + f.Path
		}
		k.here(path, core.Reason(f.Reason), "%s", f.Message)
	}
	return res, len(faults) == 0
}

// ground takes over what the catalog says of the call.
func (k *checker) ground(s *core.StepSpec, r *wire.Request, res catalog.Resolved, standIns map[string]any) {
	op := res.Operation
	s.Resources, s.Stops, s.MovesBody, s.Op = op.Resources, op.Stops, op.MovesBody, core.FactsOf(op)
	if e := k.w.Experience; e != nil && !k.experiences.Off {
		s.Op.NeedsFull = op.MinTier == catalog.TierFull
		if _, asks := e.Consent[op.Consent]; asks || op.Sensitivity != "" { // without an experience the user's own words were the consent
			s.Op.Consent = op.Consent
		}
		s.Op.Noisy = op.Loud && k.hushed()
		s.Op.ExpectedMS = op.ExpectedMS.For(res.Args)
	}
	k.times(s, r, res, standIns)
	k.effects(s, r, op, standIns)
	k.waitEvent(s, r, op)
	k.retry(s, r, op)
	for name := range standIns {
		delete(res.Args, name)
		delete(res.Call, name)
	}
	s.Args, s.Call = res.Args, res.Call
}

// retry: only what the catalog lets be sent again may be tried again.
func (k *checker) retry(s *core.StepSpec, r *wire.Request, op catalog.Operation) {
	switch {
	case r.Retry == nil:
	case op.Redo == catalog.RedoNever || op.Redo == "":
		k.here("retry", wire.ReasonBadValue, "%s is never sent again (redo never)", s.Method)
	default:
		s.Retry = core.Retry{Attempts: r.Retry.MaxAttempts, BackoffMS: r.Retry.BackoffMS}
	}
}

// times: every step is bounded; only what waits for a person may take as long as they like.
func (k *checker) times(s *core.StepSpec, r *wire.Request, res catalog.Resolved, standIns map[string]any) {
	op := res.Operation
	s.EvidenceMS = orMS(r.EvidenceTimeoutMS, orMS(op.EvidenceMS, defaultEvidenceMS))
	s.HoldMS = orMS(r.HoldMS, orMS(op.HoldMS, defaultHoldMS))
	if s.TimeoutMS = r.TimeoutMS; s.TimeoutMS > 0 || op.HumanPaced {
		return
	}
	if _, open := standIns[op.Timeout.Per]; open && op.Params[op.Timeout.Per].Maximum == nil {
		k.here("timeout_ms", wire.ReasonMissingField, "the time-out depends on %s, which comes from an output and has no largest value", op.Timeout.Per)
	}
	s.TimeoutMS = orMS(op.Timeout.For(res.Args), defaultTimeoutMS)
}

// token reads the one call of a token_text. A token maps to a method only through the catalog.
func (k *checker) token(text string) (m catalog.Method, params map[string]any, ok bool) {
	calls, err := token.Parse(text)
	if err != nil {
		k.here("token_text", wire.ReasonMalformed, "%v", err)
		return "", nil, false
	}
	if len(calls) != 1 {
		k.here("token_text", core.ReasonUnsupported, "a step is one call, this text has %d; each takes a step of its own", len(calls))
		return "", nil, false
	}
	if m, ok = k.cat.Tokens["sk_"+calls[0].Name]; !ok {
		k.here("token_text", ReasonUnknownToken, "sk_%s is not in the token table", calls[0].Name)
		return "", nil, false
	}
	params = map[string]any{}
	for _, a := range calls[0].Args {
		_, p, _ := parameter(k.cat.Operations[m], a.Key)
		params[a.Key] = typed(p, a)
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
		if f, err := strconv.ParseFloat(a.Value, 64); err == nil && strings.Trim(a.Value, "0123456789+-.eE") == "" {
			return f
		}
	case catalog.Boolean:
		if a.Value == "true" || a.Value == "false" {
			return a.Value == "true"
		}
	}
	return a.Value
}

// sameCall holds a token_text to the taskMethod beside it.
func (k *checker) sameCall(c *call, standIns map[string]any, said catalog.Resolved) {
	if c.method != said.Operation.Method {
		k.here(c.field, ReasonTokenMismatch, "it means %s, the request says %s", c.method, said.Operation.Method)
		return
	}
	for written := range c.params {
		if name, _, _ := parameter(said.Operation, written); standIns[name] != nil {
			k.here(c.field, ReasonTokenMismatch, "it gives a parameter that the request takes from an output")
			return
		}
	}
	meant, ok := k.resolve(*c, standIns)
	if ok && !condition.Equal(meant.Call, said.Call) {
		k.here(c.field, ReasonTokenMismatch, "it means %v, the request says %v", meant.Call, said.Call)
	}
}
