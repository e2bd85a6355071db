package firmware

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Source is a program that may report events beside those that the catalog binds: who owns the name on the bus.
type Source struct {
	Name   string   // well-known name
	Events []string // patterns of names of events, as of [path.Match]: "pui.*", "robot.fault"
}

// Sources are those that the settings name.
type Sources []Source

// ParseSources reads the setting: names with their events, as in "com.example.Buttons=pui.*,user.answered com.example.Safety=safety.*".
func ParseSources(text string) (Sources, error) {
	var out Sources
	for _, word := range strings.Fields(text) {
		name, events, ok := strings.Cut(word, "=")
		if !ok || events == "" || !strings.Contains(name, ".") || strings.HasPrefix(name, ":") {
			return nil, fmt.Errorf("cannot read %q: write a bus name, =, and events with commas between them", word)
		}
		src := Source{Name: name, Events: strings.Split(events, ",")}
		for _, pattern := range src.Events {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" || pattern[0] == '*' {
				return nil, fmt.Errorf("cannot read %q: an event is a name such as robot.fault, or the beginning of one such as safety.*", word)
			}
		}
		out = append(out, src)
	}
	return out, nil
}

func (src Source) covers(event string) bool {
	return slices.ContainsFunc(src.Events, func(pattern string) bool {
		ok, _ := path.Match(pattern, event) // ParseSources has looked
		return ok
	})
}

// ground is what of the state decides whether an event is taken.
type ground struct {
	decl  catalog.Event
	known bool
	bound map[string]core.ServiceID      // bus name → service that the catalog binds there, and whose matter the event is
	tasks map[core.TaskID]core.ServiceID // under way
}

// ReportEvent reports an event of the catalog.
func (e exported) ReportEvent(event string, fields map[string]godbus.Variant, from godbus.Sender) *godbus.Error {
	c, done, fail := e.s.admit(from, "ReportEvent", control)
	if fail != nil {
		return fail
	}
	defer done()
	ctx, cancel := context.WithTimeout(e.s.conn.Context(), askTime)
	defer cancel()
	var g ground
	if err := e.s.o.Agent.Inspect(ctx, func(s *core.State, _ core.Now) { g = groundOf(s, event) }); err != nil {
		return failureOf(err)
	}
	if !g.known {
		return failure("InvalidArgs", fmt.Sprintf("the catalog has no event %.64q", event))
	}
	source, service := e.s.sourceOf(ctx, c, event, g)
	if source == "" {
		e.s.refusals.Warn().Str("event", event).Uint32("uid", c.uid).Uint32("pid", c.pid).Str("sender", c.name).Msg("event from no source of it refused")
		return godbus.NewError(errorNotSource, []any{"neither the catalog nor firmware.sources names the caller as a source of " + event})
	}
	ev, err := observedOf(event, fields, g)
	if err == nil && ev.Task != "" && (service == "" || g.tasks[ev.Task] != service) {
		err = errors.New("task_id: the caller has no task of this id under way")
	}
	if err != nil {
		return failure("InvalidArgs", err.Error())
	}
	ev.Source = source
	if err := e.s.o.Agent.Send(ctx, ev); err != nil {
		return failureOf(err)
	}
	return nil
}

func groundOf(s *core.State, event string) ground {
	cat := s.Catalog()
	g := ground{bound: map[string]core.ServiceID{}, tasks: map[core.TaskID]core.ServiceID{}}
	g.decl, g.known = cat.Events[catalog.EventName(event)]
	for m, op := range cat.Operations {
		if op.Binding.Kind == "dbus" && op.Binding.DBus != nil && concerns(cat, m, catalog.EventName(event), g.decl.Resource) {
			g.bound[op.Binding.DBus.Service] = core.ServiceID(op.Binding.Name)
		}
	}
	for _, wf := range s.Workflows {
		for _, a := range wf.Attempts {
			if a.State != core.Ended {
				g.tasks[a.Task] = a.Service
			}
		}
	}
	return g
}

// concerns says whether an event is the matter of whoever carries out an operation: it is about what that uses or stops, or a run of it
// can give it. A service that moves has nothing to say of the buttons.
func concerns(cat *catalog.Catalog, m catalog.Method, event catalog.EventName, about catalog.ResourceID) bool {
	op := cat.Operations[m]
	uses := func(list []catalog.ResourceID) bool { return about != "" && slices.Contains(list, about) }
	return cat.Gives(m, event) || uses(op.Resources) || uses(op.Stops) ||
		slices.ContainsFunc(op.Variants, func(v catalog.Variant) bool { return uses(v.Resources) })
}

// sourceOf is the name under which a caller may report an event; "": it may not. A service that the catalog binds on this bus says
// nothing here that it could not say by its own signal. All others need a name that the settings let report this event. That the
// caller owns the name is asked of the bus each time, so that nobody speaks for one who has gone.
func (s *session) sourceOf(ctx context.Context, c caller, event string, g ground) (source string, service core.ServiceID) {
	owns := func(name string) bool {
		var owner string
		return s.call(ctx, "GetNameOwner", name).Store(&owner) == nil && owner == c.name
	}
	for _, name := range slices.Sorted(maps.Keys(g.bound)) {
		if s.o.Bound && owns(name) {
			return string(g.bound[name]), g.bound[name]
		}
	}
	for _, src := range s.o.Sources {
		if src.covers(event) && owns(src.Name) {
			return src.Name, ""
		}
	}
	return "", ""
}

// observedOf reads the fields of an event: what the catalog declares as its data, and three of the event itself. The class that counts
// is the catalog's, or the weaker one that the caller claims.
func observedOf(event string, fields map[string]godbus.Variant, g ground) (core.Observed, error) {
	ev := core.Observed{Event: catalog.EventName(event), Data: core.Values{}}
	var task, class string
	for _, f := range []struct {
		name string
		to   *string
	}{{"task_id", &task}, {"occurred_at", &ev.OccurredAt}, {"source_class", &class}} {
		v, ok := fields[f.name]
		if !ok {
			continue
		}
		if *f.to, ok = v.Value().(string); !ok || len(*f.to) > 128 { // the library would make text of a number
			return ev, fmt.Errorf("%s: must be text of at most 128 bytes", f.name)
		}
		delete(fields, f.name)
	}
	ev.Task, ev.Class = core.TaskID(task), catalog.Class(class)
	if class != "" && !slices.Contains([]catalog.Class{catalog.Independent, catalog.SamePath, catalog.Echo}, ev.Class) {
		return ev, errors.New("source_class: must be independent, same_path or echo")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		decl, ok := g.decl.Data[name]
		if !ok {
			return ev, fmt.Errorf("%.64s: the catalog gives %s no such field", name, event)
		}
		v, err := valueOf(fields[name].Value(), decl)
		if err != nil {
			return ev, fmt.Errorf("%s: %w", name, err)
		}
		ev.Data[name] = v
	}
	return ev, nil
}

// valueOf makes a value of the core of what travelled, where it is what the catalog declares.
func valueOf(v any, decl catalog.Param) (condition.Value, error) {
	var out condition.Value
	switch v := v.(type) {
	case bool, string, float64:
		out = v
	case byte:
		out = float64(v)
	case int16:
		out = float64(v)
	case uint16:
		out = float64(v)
	case int32:
		out = float64(v)
	case uint32:
		out = float64(v)
	case int64:
		out = float64(v)
	case uint64:
		out = float64(v)
	}
	n, number := out.(float64)
	text, isText := out.(string)
	_, truth := out.(bool)
	fits := false
	switch decl.Type {
	case catalog.Boolean:
		fits = truth
	case catalog.Number:
		fits = number && !math.IsNaN(n) && !math.IsInf(n, 0)
	case catalog.Integer:
		fits = number && n == math.Trunc(n) && math.Abs(n) <= 1<<53
	case catalog.String, catalog.RoomRef:
		fits = isText && len(text) <= 8192
	}
	switch {
	case !fits:
		return nil, fmt.Errorf("must be a %s", decl.Type)
	case len(decl.Enum) > 0 && !slices.ContainsFunc(decl.Enum, func(e condition.Value) bool { return condition.Equal(e, out) }):
		return nil, fmt.Errorf("must be one of %v", decl.Enum)
	case number && (decl.Minimum != nil && n < *decl.Minimum || decl.Maximum != nil && n > *decl.Maximum):
		return nil, errors.New("is out of its bounds")
	}
	return out, nil
}
