package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/condition"
)

// Section names the kind of an entry, as the files do.
type Section string

// The sections. A fault in one entry disables that entry where the loader may go on.
const (
	InOperations Section = "operations"
	InEffects    Section = "effects"
	InContext    Section = "context"
	InEvents     Section = "events"
	InResources  Section = "resources"
	InRooms      Section = "rooms"
	InTokens     Section = "tokens"
	InSkills     Section = "skills"
	InStanding   Section = "standing"
	InGuards     Section = "guards"
	InVoice      Section = "voice"
	InServices   Section = "services"
)

// Fault is one thing that is wrong with a catalog. Path leads to it: "operations.setMoveTo.timeout"; it begins with
// EntryPath(Section, Entry). Message says what is wrong and what would be right.
type Fault struct {
	Section Section
	Entry   string
	Path    string
	Message string
}

// EntryPath is the path of one entry: "operations.setMoveTo", or with a dotted name "events[\"movement.arrived\"]".
func EntryPath(section Section, entry string) string { return JoinPath(string(section), entry) }

// JoinPath adds a member to a path.
func JoinPath(path, member string) string {
	if strings.ContainsAny(member, ". []\"") || member == "" {
		return path + "[" + strconv.Quote(member) + "]"
	}
	return path + "." + member
}

// Check finds every fault that one entry alone does not show: references between entries and their types, and the rules that keep
// the robot safe (what moves the body can be stopped and is proven by an independent source; what is sensitive asks for consent).
// Faults come in the order of the sections above and of the entries' names. A catalog without faults can be relied on by the core.
func (c *Catalog) Check() []Fault {
	k := &checker{c: c}
	each(k, InOperations, c.Operations, k.operation)
	each(k, InEffects, c.Effects, k.effect)
	each(k, InContext, c.Context, k.key)
	each(k, InEvents, c.Events, k.event)
	each(k, InResources, c.Resources, k.resource)
	k.faults = append(k.faults, CheckRooms(c.Rooms)...)
	each(k, InTokens, c.Tokens, k.token)
	each(k, InSkills, c.Skills, k.skill)
	each(k, InStanding, c.Standing, k.standing)
	each(k, InGuards, c.Guards, k.guard)
	each(k, InVoice, c.Voice, k.voice)
	each(k, InServices, c.Services, k.service)
	return k.faults
}

// checker collects faults; section and entry are where it is now.
type checker struct {
	c       *Catalog
	section Section
	entry   string
	faults  []Fault
}

func each[K ~string, V any](k *checker, section Section, entries map[K]V, check func(name K, entry V)) {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		k.section, k.entry = section, string(name)
		check(name, entries[name])
	}
}

// add reports a fault at a path below the entry: "timeout", "variants[0].when", "" for the entry itself.
func (k *checker) add(path, format string, args ...any) {
	full := EntryPath(k.section, k.entry)
	switch {
	case strings.HasPrefix(path, "["):
		full += path
	case path != "":
		full += "." + path
	}
	k.faults = append(k.faults, Fault{k.section, k.entry, full, fmt.Sprintf(format, args...)})
}

// oneOf reports a word that is none of the allowed ones.
func (k *checker) oneOf(path, word string, allowed ...string) {
	if !slices.Contains(allowed, word) {
		k.add(path, "is %q; it must be one of %s", word, strings.Join(allowed, ", "))
	}
}

// known reports names that a section does not have.
func known[K ~string, V any](k *checker, path string, entries map[K]V, names ...K) {
	for _, name := range names {
		if _, ok := entries[name]; !ok {
			k.add(path, "%q does not exist or is disabled", name)
		}
	}
}

func (k *checker) key(_ ContextKey, key Key) {
	k.param("", Param{Type: key.Type, Enum: key.Enum})
	if key.Type == RoomRef {
		k.add("type", "is room; the context holds a room as its id, which is a string")
	}
	if key.MaxAgeMS <= 0 {
		k.add("max_age_ms", "is %d; every value gets old, give its freshness limit in milliseconds", key.MaxAgeMS)
	}
	k.class("class", key.Class)
}

func (k *checker) event(_ EventName, e Event) {
	k.class("class", e.Class)
	if e.Resource != "" {
		known(k, "resource", k.c.Resources, e.Resource)
	}
	k.params("data", e.Data)
}

func (k *checker) class(path string, class Class) {
	k.oneOf(path, string(class), string(Independent), string(SamePath), string(Echo))
}

func (k *checker) resource(id ResourceID, r Resource) {
	k.contextOnly("at_rest", r.AtRest)
	if r.Body && r.Stop == "" {
		k.add("stop", "is missing; a part of the body must have an operation that stops it")
	}
	if r.Stop == "" {
		return
	}
	known(k, "stop", k.c.Operations, r.Stop)
	if op, ok := k.c.Operations[r.Stop]; ok && !slices.Contains(op.Stops, id) {
		k.add("stop", "%s does not stop %s: its stops are %s", r.Stop, id, resourceList(op.Stops))
	}
}

func (k *checker) token(name string, m Method) {
	if rest, ok := strings.CutPrefix(name, "sk_"); !ok || rest == "" {
		k.add("", "is no token name; it must begin with sk_")
	}
	known(k, "", k.c.Operations, m)
}

func (k *checker) skill(_ SkillID, s Skill) {
	if s.Owner == "" {
		k.add("owner", "is missing; name the route family that owns the skill")
	}
	known(k, "effects", k.c.Effects, s.Effects...)
	for _, id := range s.Effects {
		for _, path := range k.c.Effects[id].references() {
			k.add("effects", "the evidence of %s refers to $%s, and a skill declares no parameters", id, path)
		}
	}
}

// The names of the standing plans.
const (
	StandingStop   = "stop"
	StandingReturn = "return"
)

func (k *checker) standing(name string, steps []StandingStep) {
	k.oneOf("", name, StandingStop, StandingReturn)
	if len(steps) == 0 {
		k.add("", "has no step")
	}
	for i, step := range steps {
		path := "[" + strconv.Itoa(i) + "]"
		resolved, faults := k.c.Resolve(step.Method, step.Params)
		for _, fault := range faults {
			k.add(strings.TrimSuffix(path+".params."+fault.Path, ".params."), "%s", fault.Message)
		}
		if len(faults) == 0 && name == StandingStop && len(resolved.Operation.Stops) == 0 {
			k.add(path, "%s is no stop operation; the standing plan stop must wait for nobody", step.Method)
		}
	}
	if name != StandingStop {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(k.c.Resources)) {
		if r := k.c.Resources[id]; r.Body && !slices.ContainsFunc(steps, func(s StandingStep) bool { return slices.Contains(k.c.Operations[s.Method].Stops, id) }) {
			k.add("", "does not stop %s, which is part of the body", id)
		}
	}
}

// CheckRooms finds what is wrong with a list of rooms: an empty or repeated id, a name or alias that also means another room.
func CheckRooms(rooms []Room) []Fault {
	k := &checker{section: InRooms}
	owner := map[string]RoomID{}
	seen := map[RoomID]bool{}
	for _, room := range rooms {
		k.entry = string(room.ID)
		if room.ID == "" || room.Name == "" {
			k.add("", "needs an id and a name")
		}
		if seen[room.ID] {
			k.add("id", "%q is given twice", room.ID)
			continue
		}
		seen[room.ID] = true
		for _, name := range room.names() {
			folded := fold(name)
			other, taken := owner[folded]
			switch {
			case folded == "" && name != "":
				k.add("aliases", "%q holds no letter", name)
			case taken && other != room.ID:
				k.add("aliases", "%q already means the room %s; a name must mean one room", name, other)
			default:
				owner[folded] = room.ID
			}
		}
	}
	return k.faults
}

// params checks declared parameters, outputs or event fields.
func (k *checker) params(path string, params map[string]Param) {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		k.param(JoinPath(path, name), params[name])
	}
}

func (k *checker) param(path string, p Param) {
	dot := func(member string) string { return strings.TrimPrefix(path+"."+member, ".") }
	types := []string{string(String), string(Number), string(Integer), string(Boolean), string(RoomRef)}
	k.oneOf(dot("type"), string(p.Type), types...)
	if !slices.Contains(types, string(p.Type)) {
		return
	}
	for i, v := range p.Enum {
		if !condition.Fits(v, string(p.Type)) {
			k.add(dot("enum["+strconv.Itoa(i)+"]"), "is %s, and the type is %s", show(v), p.Type)
		}
	}
	numeric := p.Type == Number || p.Type == Integer
	if !numeric && (p.Minimum != nil || p.Maximum != nil) {
		k.add(path, "has a minimum or maximum, which a %s cannot have", p.Type)
	}
	if p.Minimum != nil && p.Maximum != nil && *p.Minimum > *p.Maximum {
		k.add(dot("minimum"), "%s is above the maximum %s", number(*p.Minimum), number(*p.Maximum))
	}
	if p.Default == nil {
		return
	}
	if message := p.refuses(p.Default); message != "" {
		k.add(dot("default"), "%s", message)
	}
	if p.Required {
		k.add(dot("required"), "a parameter with a default is never missing; leave one of them out")
	}
}

func resourceList(ids []ResourceID) string {
	var names []string
	for _, id := range ids {
		names = append(names, string(id))
	}
	return listOf(names)
}
