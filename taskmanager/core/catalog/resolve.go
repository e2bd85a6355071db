package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/condition"
)

// Resolved is one checked call. Its maps are its own.
type Resolved struct {
	// Operation is the effective one: whether it makes noise is said, the variant's resources, effects, moves_body, done_evidence and prerequisites are applied,
	// and what moves the body needs the tier full.
	Operation Operation
	// Args is what $-references see: a room as {"room_id","name"}, other values as given, defaults filled in.
	Args map[string]condition.Value
	// Call is what the executor gets, under the parameters' own names: a room as its room_id, other values as in Args.
	Call map[string]condition.Value
}

// ArgFault is one thing that is wrong with a call. Path is the parameter as the caller wrote it, "" for the method. Reason is one
// of unknown_method, unknown_parameter, missing_parameter, bad_parameter, unknown_location, room_unreachable.
type ArgFault struct {
	Path    string
	Reason  string
	Message string
}

// The reasons of an ArgFault, as refusals carry them.
const (
	ReasonUnknownMethod    = "unknown_method"
	ReasonUnknownParameter = "unknown_parameter"
	ReasonMissingParameter = "missing_parameter"
	ReasonBadParameter     = "bad_parameter"
	ReasonUnknownLocation  = "unknown_location"
	ReasonRoomUnreachable  = "room_unreachable"
)

// Resolve checks a call and grounds it: parameter names and their aliases, types, limits, defaults, rooms, and the variant that the
// arguments choose. A null counts as not given. It finds all faults at once, in order of the parameters' names; with a fault the
// Resolved is empty.
func (c *Catalog) Resolve(m Method, params map[string]condition.Value) (Resolved, []ArgFault) {
	op, ok := c.Operations[m]
	if !ok {
		return Resolved{}, []ArgFault{{"", ReasonUnknownMethod, fmt.Sprintf("%q is no method of this catalog", m)}}
	}
	r := resolver{catalog: c, op: op, given: map[string]string{}}
	r.out = Resolved{Args: map[string]condition.Value{}, Call: map[string]condition.Value{}}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		r.argument(name, params[name])
	}
	r.absent()
	if len(r.faults) > 0 {
		return Resolved{}, r.faults
	}
	r.out.Operation = op.effective(r.out.Args)
	return r.out, nil
}

type resolver struct {
	catalog *Catalog
	op      Operation
	given   map[string]string // parameter → the name that the caller used
	out     Resolved
	faults  []ArgFault
}

func (r *resolver) fault(path, reason, format string, args ...any) {
	r.faults = append(r.faults, ArgFault{path, reason, fmt.Sprintf(format, args...)})
}

func (r *resolver) argument(written string, v condition.Value) {
	name, ok := r.op.parameter(written)
	if !ok {
		r.fault(written, ReasonUnknownParameter, "%s has no parameter %q; it has %s", r.op.Method, written, listOf(slices.Sorted(maps.Keys(r.op.Params))))
		return
	}
	if v == nil {
		return
	}
	if other, twice := r.given[name]; twice {
		r.fault(written, ReasonBadParameter, "%q and %q are the same parameter; give one", other, written)
		return
	}
	r.given[name] = written
	p := r.op.Params[name]
	if p.Type == RoomRef {
		r.room(name, written, v)
		return
	}
	if message := p.refuses(v); message != "" {
		r.fault(written, ReasonBadParameter, "%s", message)
		return
	}
	r.out.Args[name], r.out.Call[name] = v, v
}

func (r *resolver) room(name, written string, v condition.Value) {
	text, ok := v.(string)
	if !ok {
		r.fault(written, ReasonBadParameter, "is %s; it must be the name of a room", show(v))
		return
	}
	room, ok, candidates := r.catalog.FindRoom(text)
	switch {
	case !ok && len(candidates) == 0:
		r.fault(written, ReasonUnknownLocation, "%q is no room of this home", text)
	case !ok:
		r.fault(written, ReasonUnknownLocation, "%q names no single room; nearest: %s", text, strings.Join(candidates, ", "))
	case !room.Reachable:
		r.fault(written, ReasonRoomUnreachable, "%s cannot be reached", room.Name)
	default:
		r.out.Args[name] = map[string]any{"room_id": string(room.ID), "name": room.Name}
		r.out.Call[name] = string(room.ID)
	}
}

// absent fills in defaults and finds what is missing.
func (r *resolver) absent() {
	for _, name := range slices.Sorted(maps.Keys(r.op.Params)) {
		p := r.op.Params[name]
		if _, ok := r.given[name]; ok {
			continue
		}
		switch {
		case p.Default != nil && p.Type == RoomRef:
			r.room(name, name, p.Default)
		case p.Default != nil:
			r.out.Args[name], r.out.Call[name] = p.Default, p.Default
		case p.Required:
			r.fault(name, ReasonMissingParameter, "%s needs %q, %s", r.op.Method, name, p.describe())
		}
	}
	given := func(name string) bool { _, ok := r.given[name]; return ok }
	if len(r.op.AtLeastOne) > 0 && !slices.ContainsFunc(r.op.AtLeastOne, given) {
		r.fault("", ReasonMissingParameter, "%s needs at least one of %s", r.op.Method, listOf(r.op.AtLeastOne))
	}
}

// parameter gives the own name of a parameter from what a caller wrote: the name or one of its aliases.
func (op Operation) parameter(written string) (string, bool) {
	if _, ok := op.Params[written]; ok {
		return written, true
	}
	for _, name := range slices.Sorted(maps.Keys(op.Params)) {
		if slices.Contains(op.Params[name].Aliases, written) {
			return name, true
		}
	}
	return "", false
}

// effective applies the first variant whose condition is true of the arguments. An argument that was not given is missing, so a
// comparison with it is unknown and chooses nothing.
func (op Operation) effective(args map[string]condition.Value) Operation {
	look := func(ref string, _ int64) (condition.Value, condition.Availability) {
		if v, ok := Ref("$"+strings.TrimPrefix(ref, paramPrefix), args); ok {
			return v, condition.Fresh
		}
		return nil, condition.Missing
	}
	for _, v := range op.Variants {
		if condition.Eval(v.When, look).Truth == condition.True {
			op = op.with(v)
			break
		}
	}
	op.Loud = op.Noisy != nil && condition.Eval(*op.Noisy, look).Truth == condition.True
	if op.MovesBody {
		op.MinTier = TierFull
	}
	op.Variants = nil
	return op
}

// TierFull is the tier in which the body may move.
const TierFull = "full"

// paramPrefix begins the references of a variant's condition: "params.mode".
const paramPrefix = "params."

func (op Operation) with(v Variant) Operation {
	if v.Resources != nil {
		op.Resources = v.Resources
	}
	if v.Effects != nil {
		op.Effects = v.Effects
	}
	if v.NoEffect {
		op.Effects, op.MoreEffects = nil, nil
	}
	if v.MovesBody != nil {
		op.MovesBody = *v.MovesBody
	}
	if v.DoneEvidence != nil {
		op.DoneEvidence = v.DoneEvidence
	}
	if v.Prerequisites != nil {
		op.Prerequisites = v.Prerequisites
	}
	return op
}

// refuses says what is wrong with a value that is no room; "" where it may be used.
func (p Param) refuses(v condition.Value) string {
	if !condition.Fits(v, string(p.Type)) {
		return fmt.Sprintf("is %s; it must be %s", show(v), p.describe())
	}
	if len(p.Enum) > 0 && !slices.ContainsFunc(p.Enum, func(e condition.Value) bool { return condition.Equal(e, v) }) {
		return fmt.Sprintf("is %s; it must be %s", show(v), p.describe())
	}
	if n, ok := v.(float64); ok && (p.Minimum != nil && n < *p.Minimum || p.Maximum != nil && n > *p.Maximum) {
		return fmt.Sprintf("is %s; it must be %s", show(v), p.describe())
	}
	return ""
}

// describe says in words what a parameter takes: "an integer from 1 to 180", "one of fixed, all, zone".
func (p Param) describe() string {
	if len(p.Enum) > 0 {
		var words []string
		for _, e := range p.Enum {
			words = append(words, fmt.Sprint(e))
		}
		return "one of " + strings.Join(words, ", ")
	}
	text := "a " + string(p.Type)
	if p.Type == Integer {
		text = "an integer"
	}
	switch {
	case p.Minimum != nil && p.Maximum != nil:
		return text + " from " + number(*p.Minimum) + " to " + number(*p.Maximum)
	case p.Minimum != nil:
		return text + " of at least " + number(*p.Minimum)
	case p.Maximum != nil:
		return text + " of at most " + number(*p.Maximum)
	}
	return text
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// show prints a value for a message, cut to a length that a refusal can carry.
func show(v condition.Value) string {
	text := fmt.Sprintf("%v", v)
	if s, ok := v.(string); ok {
		text = strconv.Quote(s)
	}
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return text
}

func listOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
