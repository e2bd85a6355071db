package catalog

import (
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/condition"
)

func (k *checker) effect(id EffectID, e Effect) {
	k.oneOf("kind", e.Kind, "achieve", "maintain")
	k.expr("terminal_evidence", &e.Terminal)
	k.contextOnly("holds", e.Holds)
	for i, leaf := range e.Contradicted {
		k.leaf("contradicted_by["+strconv.Itoa(i)+"]", leaf)
	}
	k.confidence("confidence_policy", e.Confidence)
	k.countable("terminal_evidence", &e.Terminal, e.Confidence)
	provided := len(k.c.Providers(id)) > 0
	for _, skill := range k.c.Skills {
		provided = provided || slices.Contains(skill.Effects, id)
	}
	if !provided {
		k.add("", "has no provider; name it in the effects of an operation or a skill that is enabled")
	}
}

// confidence: an echo only repeats the command, so it proves nothing and cannot be accepted.
func (k *checker) confidence(path string, c Confidence) {
	if len(c.Accept) == 0 {
		k.add(path+".accept", "is empty; nothing could ever prove this")
	}
	for _, class := range c.Accept {
		k.oneOf(path+".accept", string(class), string(Independent), string(SamePath))
	}
}

// countable: a signal of a class that the policy does not accept can never count, so a leaf on it would wait for ever.
func (k *checker) countable(path string, e *Expr, c Confidence) {
	for _, leaf := range e.Leaves() {
		class, name, ok := k.classOf(leaf)
		if ok && len(c.Accept) > 0 && !slices.Contains(c.Accept, class) {
			k.add(path, "%s is of class %s, which the confidence policy does not accept", name, class)
		}
	}
}

func (k *checker) classOf(leaf Leaf) (class Class, name string, ok bool) {
	if leaf.Event != "" {
		e, ok := k.c.Events[leaf.Event]
		return e.Class, string(leaf.Event), ok
	}
	key, ok := k.c.Context[leaf.Context]
	return key.Class, string(leaf.Context), ok
}

// contextOnly checks an expression that must be answerable at any moment, so it may not wait for an event or a call's arguments.
func (k *checker) contextOnly(path string, e *Expr) {
	if e == nil {
		return
	}
	k.expr(path, e)
	for _, leaf := range e.Leaves() {
		if leaf.Event != "" {
			k.add(path, "asks for the event %s; it must ask for context values only", leaf.Event)
		}
		if ref, ok := reference(leaf.Value); ok && k.section == InResources {
			k.add(path, "refers to $%s; a resource knows no arguments", ref)
		}
	}
}

// expr checks the shape and the leaves of an expression.
func (k *checker) expr(path string, e *Expr) {
	forms := 0
	for _, has := range []bool{e.All != nil, e.Any != nil, e.Leaf != nil} {
		if has {
			forms++
		}
	}
	if forms != 1 {
		k.add(path, "must have exactly one of all, any, event and context")
		return
	}
	if e.Leaf != nil {
		k.leaf(path, *e.Leaf)
		return
	}
	word, parts := "all", e.All
	if e.Any != nil {
		word, parts = "any", e.Any
	}
	if len(parts) == 0 {
		k.add(path+"."+word, "is empty; what asks for nothing proves nothing")
	}
	for i := range parts {
		k.expr(path+"."+word+"["+strconv.Itoa(i)+"]", &parts[i])
	}
}

func (k *checker) leaf(path string, leaf Leaf) {
	switch {
	case leaf.Event != "" && leaf.Context != "":
		k.add(path, "has an event and a context key; give one")
	case leaf.Event != "":
		k.eventLeaf(path, leaf)
	case leaf.Context != "":
		k.contextLeaf(path, leaf)
	default:
		k.add(path, "must have exactly one of all, any, event and context")
	}
}

func (k *checker) eventLeaf(path string, leaf Leaf) {
	if leaf.Op != "" || leaf.Value != nil || leaf.MaxAgeMS != 0 || leaf.StableForMS != 0 {
		k.add(path, "an event has match, match_not and correlate; op, value and ages belong to a context key")
	}
	k.oneOf(path+".correlate", leaf.Correlate, "", "task_id")
	e, ok := k.c.Events[leaf.Event]
	if !ok {
		k.add(path+".event", "%q does not exist or is disabled", leaf.Event)
		return
	}
	k.match(path+".match", e, leaf.Match)
	k.match(path+".match_not", e, leaf.MatchNot)
}

func (k *checker) match(path string, e Event, match map[string]condition.Value) {
	for _, name := range sortedKeys(match) {
		field, ok := e.Data[name]
		if !ok {
			k.add(path, "the event has no field %q", name)
			continue
		}
		if _, ref := reference(match[name]); ref {
			continue // its type is checked against each operation that has the effect
		}
		if message := field.refuses(match[name]); message != "" {
			k.add(JoinPath(path, name), "%s", message)
		}
	}
}

func (k *checker) contextLeaf(path string, leaf Leaf) {
	if leaf.Match != nil || leaf.MatchNot != nil || leaf.Correlate != "" {
		k.add(path, "a context key has op and value; match and correlate belong to an event")
	}
	if leaf.MaxAgeMS < 0 || leaf.StableForMS < 0 {
		k.add(path, "has a negative age")
	}
	key, ok := k.c.Context[leaf.Context]
	if !ok {
		k.add(path+".context", "%q does not exist or is disabled", leaf.Context)
		return
	}
	if _, ref := reference(leaf.Value); ref {
		if key.Type != Number && key.Type != Integer {
			k.oneOf(path+".op", string(leaf.Op), "eq", "ne")
		}
		return
	}
	asked := condition.Condition{Ref: ctxPrefix + string(leaf.Context), Op: leaf.Op, Value: leaf.Value}
	for _, fault := range condition.Check(asked, k.contextKind) {
		k.add(path+"."+fault.Path, "%s", fault.Message)
	}
	k.enum(path+".value", leaf.Value, key.Enum)
}

// ctxPrefix begins a condition's reference to the device context: "ctx.battery.level".
const ctxPrefix = "ctx."

func (k *checker) contextKind(ref string) (kind string, ok bool) {
	name, ok := strings.CutPrefix(ref, ctxPrefix)
	key, exists := k.c.Context[ContextKey(name)]
	return string(key.Type), ok && exists
}

// enum reports a constant that the value can never have: a misspelt grade would otherwise read as "never".
func (k *checker) enum(path string, v condition.Value, enum []condition.Value) {
	values := []condition.Value{v}
	if list, ok := v.([]any); ok {
		values = list
	}
	for _, one := range values {
		if one != nil && len(enum) > 0 && !slices.ContainsFunc(enum, func(e condition.Value) bool { return condition.Equal(e, one) }) {
			k.add(path, "%s is none of %s", show(one), Param{Enum: enum}.describe())
		}
	}
}

// references gives the paths of the arguments that an effect's evidence refers to.
func (e Effect) references() []string {
	var paths []string
	for _, use := range e.uses() {
		paths = append(paths, use.path)
	}
	return paths
}

// use is one place where evidence refers to an argument.
type use struct {
	path    string // "position.room_id"
	event   EventName
	field   string // of the event
	context ContextKey
}

func (e Effect) uses() []use {
	uses := leafUses(e.Terminal.Leaves())
	uses = append(uses, leafUses(e.Holds.Leaves())...)
	return append(uses, leafUses(e.Contradicted)...)
}

func leafUses(leaves []Leaf) []use {
	var uses []use
	for _, leaf := range leaves {
		for _, match := range []map[string]condition.Value{leaf.Match, leaf.MatchNot} {
			for _, field := range sortedKeys(match) {
				if path, ok := reference(match[field]); ok {
					uses = append(uses, use{path, leaf.Event, field, ""})
				}
			}
		}
		if path, ok := reference(leaf.Value); ok {
			uses = append(uses, use{path: path, context: leaf.Context})
		}
	}
	return uses
}
