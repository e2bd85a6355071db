package catalogfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// The file forms differ from the typed ones in what the core cannot decode itself: an expression has its leaf inlined, and a room
// can be reached unless the file says otherwise. A field of the outer struct takes the place of the embedded one of its name.
type (
	expr struct {
		All []expr `json:"all"`
		Any []expr `json:"any"`
		catalog.Leaf
	}
	effect struct {
		catalog.Effect
		Terminal expr  `json:"terminal_evidence"`
		Holds    *expr `json:"holds"`
	}
	operation struct {
		catalog.Operation
		Variants     []variant `json:"variants"`
		DoneEvidence *expr     `json:"done_evidence"`
	}
	variant struct {
		catalog.Variant
		DoneEvidence *expr `json:"done_evidence"`
	}
	resource struct {
		catalog.Resource
		AtRest *expr `json:"at_rest"`
	}
	room struct {
		catalog.Room
		Reachable *bool `json:"reachable"`
	}
)

// typed gives the typed form; a nil expression stays nil.
func (e *expr) typed() *catalog.Expr {
	if e == nil {
		return nil
	}
	out := &catalog.Expr{All: typedList(e.All), Any: typedList(e.Any)}
	if e.Event != "" || e.Context != "" {
		leaf := e.Leaf
		out.Leaf = &leaf
	}
	return out
}

func typedList(parts []expr) []catalog.Expr {
	var list []catalog.Expr
	for _, part := range parts {
		list = append(list, *part.typed())
	}
	return list
}

// decode fills the catalog and the planner's part from the entries that are left. What it cannot decode passed the schema, so such
// a fault is rare; it makes the entry bad like any other.
func (s *set) decode() {
	c := &s.catalog
	c.Operations = section(s, "operations", func(_ string, o operation) (catalog.Method, catalog.Operation) {
		o.Operation.DoneEvidence = o.DoneEvidence.typed()
		for _, v := range o.Variants {
			v.Variant.DoneEvidence = v.DoneEvidence.typed()
			o.Operation.Variants = append(o.Operation.Variants, v.Variant)
		}
		return o.Method, o.Operation
	})
	c.Effects = section(s, "effects", func(name string, e effect) (catalog.EffectID, catalog.Effect) {
		e.ID, e.Effect.Terminal, e.Effect.Holds = catalog.EffectID(name), *e.Terminal.typed(), e.Holds.typed()
		return e.ID, e.Effect
	})
	c.Resources = section(s, "resources", func(name string, r resource) (catalog.ResourceID, catalog.Resource) {
		r.Resource.AtRest = r.AtRest.typed()
		return catalog.ResourceID(name), r.Resource
	})
	c.Context = section(s, "context", named[catalog.ContextKey, catalog.Key])
	c.Events = section(s, "events", named[catalog.EventName, catalog.Event])
	c.Skills = section(s, "skills", named[catalog.SkillID, catalog.Skill])
	c.Tokens = section(s, "tokens", named[string, catalog.Method])
	c.Guards = section(s, "guards", named[string, catalog.Guard])
	c.Voice = section(s, "voice", named[string, catalog.Method])
	c.Services = section(s, "services", named[string, catalog.DBusService])
	c.Standing = section(s, "standing", named[string, []catalog.StandingStep])
	rooms := section(s, "rooms", func(name string, r room) (string, catalog.Room) {
		r.Room.Reachable = r.Reachable == nil || *r.Reachable
		return name, r.Room
	})
	c.Rooms = nil
	for _, name := range s.order["rooms"] {
		if r, ok := rooms[name]; ok {
			c.Rooms = append(c.Rooms, r)
		}
	}
	s.planner = s.decodePlanner()
}

func named[K ~string, V any](name string, v V) (K, V) { return K(name), v }

// section decodes the entries of one section, each once in the life of the set. The map is never nil.
func section[F any, K comparable, V any](s *set, name string, typed func(string, F) (K, V)) map[K]V {
	out := map[K]V{}
	type pair struct {
		k K
		v V
	}
	for _, id := range slices.Sorted(maps.Keys(s.sections[name])) {
		if known, ok := s.decoded[entry{name, id}].(pair); ok {
			out[known.k] = known.v
			continue
		}
		var form F
		if err := s.sections[name][id].into(&form); err != nil && s.bad[entry{name, id}] {
			continue // its schema fault says it better
		} else if err != nil {
			s.report(name, Fault{Line: s.sections[name][id].line, Path: catalog.JoinPath(name, id), Message: fmt.Sprintf("cannot be decoded: %v", err)})
			s.bad[entry{name, id}] = true
			continue
		}
		k, v := typed(id, form)
		out[k] = v
		s.decoded[entry{name, id}] = pair{k, v}
	}
	return out
}

// into decodes a tree that passed its schema.
func (n *node) into(form any) error {
	data, err := json.Marshal(n.plain())
	if err != nil {
		return err
	}
	return json.Unmarshal(data, form)
}
