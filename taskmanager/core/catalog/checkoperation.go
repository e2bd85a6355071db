package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/condition"
)

func (k *checker) operation(m Method, op Operation) {
	if op.Method != m {
		k.add("taskMethod", "is %q, and the entry is %q", op.Method, m)
	}
	if op.Capability == "" {
		k.add("capability", "is missing")
	}
	k.words(op)
	k.parameters(op)
	k.times(op)
	k.resources(op)
	k.provides(op)
	k.variants(op)
	k.prerequisites("prerequisites", op.Prerequisites)
	k.sensitivity(op)
	for i, as := range op.asVariants() {
		k.body(op, as, variantPath(i))
	}
}

func (k *checker) words(op Operation) {
	k.oneOf("kind", op.Kind, "execution", "state_query", "settings")
	k.oneOf("redo", string(op.Redo), string(RedoAnytime), string(RedoAfterStop), string(RedoNever))
	k.oneOf("probe", string(op.Probe), string(ProbeDurable), string(ProbeVolatile), string(ProbeNone))
	k.oneOf("visibility", op.Visibility, "", "public", "lab", "internal")
	k.oneOf("min_tier", op.MinTier, "", "restricted", TierFull)
	k.oneOf("executor.kind", op.Binding.Kind, "socket", "dbus", "process")
	if op.Binding.Name == "" {
		k.add("executor.name", "is missing; name the program or service that serves the operation")
	}
	k.process(op)
	k.dbus(op)
	k.socket(op)
	for _, word := range slices.Concat(op.Aliases.Ko, op.Aliases.En) {
		if fold(word) == "" || len(strings.Fields(word)) > 3 {
			k.add("aliases", "%q is no word; aliases are words or stems, never sentences", word)
		}
	}
}

func (k *checker) parameters(op Operation) {
	k.params("params", op.Params)
	k.params("output", op.Output)
	owner := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(op.Params)) {
		owner[name] = name
	}
	for _, name := range slices.Sorted(maps.Keys(op.Params)) {
		for _, alias := range op.Params[name].Aliases {
			if other, taken := owner[alias]; taken {
				k.add(JoinPath("params", name)+".aliases", "%q already names the parameter %s", alias, other)
			}
			owner[alias] = name
		}
	}
	known(k, "at_least_one", op.Params, op.AtLeastOne...)
}

// times: every step has all its bounds, and only a person may take as long as they like.
func (k *checker) times(op Operation) {
	for _, bound := range []struct {
		path string
		ms   int64
	}{{"ack_ms", op.AckMS}, {"evidence_timeout_ms", op.EvidenceMS}} {
		if bound.ms <= 0 {
			k.add(bound.path, "is %d; it must be a positive number of milliseconds", bound.ms)
		}
	}
	if op.Timeout == (Duration{}) && !op.HumanPaced {
		k.add("timeout", "is missing; only a human_paced operation may run unbounded")
	}
	k.duration("timeout", op, op.Timeout)
	k.duration("expected", op, op.ExpectedMS)
	if op.HoldMS < 0 {
		k.add("hold_ms", "is negative")
	}
	if op.Pause && op.PauseMS <= 0 {
		k.add("pause_ms", "is missing; a pause that is not confirmed within it becomes a stop")
	}
	if (op.Cancel || op.Pause || op.MovesBody) && op.StopMS <= 0 {
		k.add("stop_ms", "is missing; say how long a stop may take")
	}
}

func (k *checker) duration(path string, op Operation, d Duration) {
	if d.PerMS < 0 || d.PlusMS < 0 {
		k.add(path, "is negative")
	}
	if d.Per == "" {
		if d.PerMS != 0 {
			k.add(path, "has ms without per; a constant is written as plus")
		}
		return
	}
	p, ok := op.Params[d.Per]
	switch {
	case !ok:
		k.add(path+".per", "%q is no parameter of %s", d.Per, op.Method)
	case p.Type != Integer && p.Type != Number:
		k.add(path+".per", "%q is a %s; a duration can depend on a number only", d.Per, p.Type)
	case !p.Required && p.Default == nil:
		k.add(path+".per", "%q may be absent; make it required or give it a default", d.Per)
	}
}

func (k *checker) resources(op Operation) {
	known(k, "resources", k.c.Resources, op.Resources...)
	known(k, "stops", k.c.Resources, op.Stops...)
	if len(op.Stops) == 0 {
		return
	}
	if len(op.Resources) > 0 || len(op.Variants) > 0 {
		k.add("stops", "a stop operation takes no resource and has no variants: it waits for nobody")
	}
	if op.Redo != RedoAnytime {
		k.add("redo", "is %q; a stop may be sent at any time", op.Redo)
	}
	if op.MovesBody {
		k.add("moves_body", "a stop does not move the body")
	}
}

// provides checks the effects of an operation and what stands in for them.
func (k *checker) provides(op Operation) {
	known(k, "effects", k.c.Effects, op.Effects...)
	known(k, "optional_effects", k.c.Effects, op.MoreEffects...)
	for _, id := range op.AllEffects() {
		k.arguments("effects", "the evidence of "+string(id), op, k.c.Effects[id].uses())
	}
	if op.ReleaseEvent != "" {
		known(k, "release_event", k.c.Events, op.ReleaseEvent)
	}
	if op.ReadOnly && (len(op.Resources) > 0 || op.MovesBody) {
		k.add("read_only", "what only reads takes no resource and moves nothing")
	}
	if op.DoneEvidence != nil || len(op.DoneConfidence.Accept) > 0 {
		k.confidence("done_confidence", op.DoneConfidence)
	}
	k.doneEvidence("done_evidence", op, op.DoneEvidence)
}

func (k *checker) doneEvidence(path string, op Operation, e *Expr) {
	if e == nil {
		return
	}
	k.expr(path, e)
	k.countable(path, e, op.DoneConfidence)
	k.arguments(path, "it", op, leafUses(e.Leaves()))
}

// arguments checks that evidence refers to parameters that the operation has, with the type of what they are compared with.
func (k *checker) arguments(path, whose string, op Operation, uses []use) {
	for _, u := range uses {
		name, field, nested := strings.Cut(u.path, ".")
		p, ok := op.Params[name]
		isRoom := p.Type == RoomRef
		switch {
		case !ok:
			k.add(path, "%s refers to $%s, and %s has no parameter %q", whose, u.path, op.Method, name)
			continue
		case isRoom && field != "room_id" && field != "name":
			k.add(path, "%s refers to $%s; a room has the fields room_id and name", whose, u.path)
			continue
		case !isRoom && nested:
			k.add(path, "%s refers to $%s, and %s is a %s without fields", whose, u.path, name, p.Type)
			continue
		}
		if want := k.typeOfUse(u); want != "" && plain(want) != plain(p.Type) {
			k.add(path, "%s compares $%s, a %s, with a %s", whose, u.path, plain(p.Type), plain(want))
		}
	}
}

// plain gives the type that two values must share to be compared.
func plain(t Type) Type {
	switch t {
	case Integer:
		return Number
	case RoomRef:
		return String
	}
	return t
}

func (k *checker) typeOfUse(u use) Type {
	if u.event != "" {
		return k.c.Events[u.event].Data[u.field].Type
	}
	return k.c.Context[u.context].Type
}

func (k *checker) variants(op Operation) {
	kindOf := func(ref string) (string, bool) {
		name, ok := strings.CutPrefix(ref, paramPrefix)
		p, exists := op.Params[name]
		return string(p.Type), ok && exists && p.Type != RoomRef
	}
	if op.Noisy != nil {
		for _, fault := range condition.Check(*op.Noisy, kindOf) {
			k.add(strings.TrimSuffix("noisy."+fault.Path, "."), "%s", fault.Message)
		}
		for _, leaf := range op.Noisy.Leaves() {
			k.enum("noisy", leaf.Value, op.Params[strings.TrimPrefix(leaf.Ref, paramPrefix)].Enum)
		}
	}
	for i, v := range op.Variants {
		path := variantPath(i + 1)
		for _, fault := range condition.Check(v.When, kindOf) {
			k.add(strings.TrimSuffix(path+"when."+fault.Path, "."), "%s", fault.Message)
		}
		for _, leaf := range v.When.Leaves() {
			k.enum(path+"when", leaf.Value, op.Params[strings.TrimPrefix(leaf.Ref, paramPrefix)].Enum)
		}
		if v.NoEffect && len(v.Effects) > 0 {
			k.add(path+"no_effect", "contradicts the effects of the same variant")
		}
		known(k, path+"resources", k.c.Resources, v.Resources...)
		known(k, path+"effects", k.c.Effects, v.Effects...)
		k.prerequisites(path+"prerequisites", v.Prerequisites)
		k.doneEvidence(path+"done_evidence", op, v.DoneEvidence)
		if v.DoneEvidence != nil && op.DoneEvidence == nil {
			k.confidence("done_confidence", op.DoneConfidence)
		}
	}
}

// asVariants gives the operation as it is without a variant, then with each.
func (op Operation) asVariants() []Operation {
	all := []Operation{op}
	for _, v := range op.Variants {
		all = append(all, op.with(v))
	}
	return all
}

// variantPath is the path of asVariants()[i], to put a member's name behind.
func variantPath(i int) string {
	if i == 0 {
		return ""
	}
	return "variants[" + strconv.Itoa(i-1) + "]."
}

func (k *checker) prerequisites(path string, c *condition.Condition) {
	if c == nil {
		return
	}
	for _, fault := range condition.Check(*c, k.contextKind) {
		k.add(strings.TrimSuffix(path+"."+fault.Path, "."), "%s", fault.Message)
	}
	for _, leaf := range c.Leaves() {
		k.enum(path, leaf.Value, k.c.Context[ContextKey(strings.TrimPrefix(leaf.Ref, ctxPrefix))].Enum)
	}
}

func (k *checker) sensitivity(op Operation) {
	if op.Sensitivity == "" {
		return
	}
	k.oneOf("sensitivity", op.Sensitivity, "vital", "live_view", "personal_data", "external_contact", "sensitive_screen")
	if op.Consent == "" {
		k.add("consent", "is missing; an operation of sensitivity %s needs the person's consent", op.Sensitivity)
	}
	if !op.HumanPaced {
		k.add("human_paced", "must be true; an operation of sensitivity %s ends when the person ends it", op.Sensitivity)
	}
}

// body holds the rules for what moves the body: it can be stopped and seen to rest, it is never repeated without a stop, and only
// an independent source proves what it did.
func (k *checker) body(op, as Operation, path string) {
	if !as.MovesBody {
		return
	}
	if op.Redo == RedoAnytime {
		k.add("redo", "is anytime; what moves the body is repeated after_stop or never")
	}
	if op.StopMS <= 0 && !op.Cancel && !op.Pause && !op.MovesBody {
		k.add("stop_ms", "is missing; say how long a stop may take")
	}
	moves := false
	for _, id := range as.Resources {
		r, ok := k.c.Resources[id]
		if !ok {
			continue
		}
		moves = moves || r.Body
		if r.Stop == "" {
			k.add(path+"resources", "%s has no stop; what moves the body must be stoppable", id)
		}
		if r.AtRest == nil {
			k.add(path+"resources", "%s has no at_rest; nobody could see that it has stopped", id)
		}
	}
	if !moves {
		k.add(path+"resources", "holds no resource that is part of the body, so two motions could overlap")
	}
	if len(k.c.Standing[StandingStop]) == 0 {
		k.add(path+"moves_body", "needs the standing plan stop, which does not exist or is disabled")
	}
	for _, id := range as.AllEffects() {
		k.onlyIndependent(path+"effects", string(id), k.c.Effects[id].Confidence)
	}
	if len(as.Effects) == 0 {
		if as.DoneEvidence == nil {
			k.add(path+"done_evidence", "is missing; what moves the body without an effect must be proven by evidence, not by a reply")
		}
		k.onlyIndependent("done_confidence", "done_evidence", op.DoneConfidence)
	}
}

func (k *checker) onlyIndependent(path, what string, c Confidence) {
	if slices.ContainsFunc(c.Accept, func(class Class) bool { return class != Independent }) {
		k.add(path, "%s accepts more than independent evidence, which is not enough for what moves the body", what)
	}
}

func sortedKeys(m map[string]condition.Value) []string { return slices.Sorted(maps.Keys(m)) }
