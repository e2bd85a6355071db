package dbus

import (
	"context"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"

	"deviceagent/executors"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// matches are the rules for the signals of a service. Those of a mapped one are not bound to an object where a task's id may be its path.
func (svc Service) matches() [][]godbus.MatchOption {
	if svc.Map == nil {
		return [][]godbus.MatchOption{{godbus.WithMatchInterface(Interface), godbus.WithMatchObjectPath(svc.Path)}}
	}
	anywhere := map[string]bool{} // interfaces whose signals may come of any object
	for _, w := range svc.Map.taskWords() {
		if _, iface := w.At(svc.Map.Service); w.task == byPath {
			anywhere[iface] = true
		}
	}
	var out [][]godbus.MatchOption
	seen := map[string]bool{}
	for _, w := range svc.Map.words() {
		path, iface := w.At(svc.Map.Service)
		match := []godbus.MatchOption{godbus.WithMatchInterface(iface)}
		switch {
		case w.Property != "":
			match = []godbus.MatchOption{godbus.WithMatchInterface(properties1), godbus.WithMatchMember("PropertiesChanged"), godbus.WithMatchArg(0, iface),
				godbus.WithMatchObjectPath(godbus.ObjectPath(path))}
		case anywhere[iface]:
			path = ""
		default:
			match = append(match, godbus.WithMatchObjectPath(godbus.ObjectPath(path)))
		}
		if key := fmt.Sprint(w.Property != "", iface, " ", path); !seen[key] {
			seen[key] = true
			out = append(out, match)
		}
	}
	return out
}

// lookTime bounds the question what a service has. Who does not answer it is taken for having what the map says.
const lookTime = 5 * time.Second

// came looks at a mapped service that has come, beside the session: it may be slow.
func (s *session) came(svc Service, owner string) {
	mem := s.memory[svc.ID]
	mem.connect(s.instance(owner))
	b := newMapped(s.life, s, svc, owner, mem)
	s.mapped[svc.ID] = b
	s.spawn(func() {
		b.lacks = b.look()
		b.healthAtFirst()
		b.order.Lock()
		b.known = true
		b.order.Unlock()
		b.offer()
	})
}

// offer asks the session to take the service in with what it offers now. It waits for the session, which therefore never calls it.
func (b *mapped) offer() {
	select {
	case b.s.looked <- b:
	case <-b.life.Done():
	}
}

// offered takes a service in with the operations that it can carry out, and reads all that it can read.
func (s *session) offered(b *mapped) {
	if s.mapped[b.svc.ID] != b {
		return // gone meanwhile
	}
	b.order.Lock()
	health := b.health
	b.order.Unlock()
	var methods []catalog.Method
	for _, m := range b.svc.Methods {
		line := s.o.Log.Warn().Str("service", string(b.svc.ID)).Str("bus_name", b.svc.Name).Str("operation", string(m))
		switch why := b.lacks[m]; {
		case why != "":
			line.Str("lacks", why).Msg("operation is not offered: the service does not have what its map names")
		case health != "" && len(b.spec.Operations[m].Stops) == 0:
			line.Str("health", health).Msg("operation is not offered: the service says that it cannot work")
		default:
			methods = append(methods, m)
		}
	}
	s.o.Registry.Add(b.svc.ID, s.instance(b.owner), methods, b.svc.Keys, executors.Waiting{Beginner: b})
	b.readAnew(b.svc.Keys)
	b.order.Lock()
	b.roomsAnew()
	b.order.Unlock()
}

// healthAtFirst asks a service that has come how it is. Who cannot be asked is taken for well, and a line says so.
func (b *mapped) healthAtFirst() {
	h := b.spec.Service.Health
	if h == nil {
		return
	}
	ctx, cancel := context.WithTimeout(b.life, lookTime)
	defer cancel()
	s, err := b.get(ctx, h.DBusPlace, h.Property)
	if err != nil {
		b.complain(err, "health cannot be read", h.Property)
		return
	}
	b.order.Lock()
	defer b.order.Unlock()
	if b.health == "" {
		b.health = b.ails(s)
	}
}

// healthIs takes a change of the health. The order lock is held.
func (b *mapped) healthIs(heard heard) {
	h := b.spec.Service.Health
	if h == nil || !heard.is(catalog.DBusWord{DBusPlace: h.DBusPlace, Property: h.Property}, "", b.spec.Service) {
		return
	}
	was := b.health
	if b.health = b.ails(heard.said); b.known && (was == "") != (b.health == "") {
		b.s.spawn(b.offer)
	}
}

// ails says what keeps the service from work; "" for nothing.
func (b *mapped) ails(s said) string {
	h := b.spec.Service.Health
	place := h.Field
	if place == "" {
		place = "value"
	}
	ok, err := s.fits(map[string]condition.Value{place: h.OK})
	switch {
	case err != nil:
		return "it says nothing that can be read"
	case ok:
		return ""
	}
	raw, _ := s.raw(place)
	text, _ := textOf(raw)
	return fmt.Sprintf("%s is %.64q", h.Property, text)
}

// look asks a service what it has, and says for each operation what of its map is missing there.
func (b *mapped) look() map[catalog.Method]string {
	ctx, cancel := context.WithTimeout(b.life, lookTime)
	defer cancel()
	nodes := map[string]*introspect.Node{} // by path; nil: not told
	lacks := map[catalog.Method]string{}
	for _, m := range slices.Sorted(maps.Keys(b.spec.Operations)) {
		for _, c := range calls(b.spec.Operations[m].Binding.DBus.Map) {
			path, iface := c.At(b.spec.Service)
			node, asked := nodes[path]
			if !asked {
				node = b.introspect(ctx, path)
				nodes[path] = node
			}
			if why := lacking(node, path, iface, c); why != "" {
				lacks[m] = why
				break
			}
		}
	}
	return lacks
}

// calls are the calls of an operation. Those to an object that a handle names cannot be looked at.
func calls(m *catalog.DBusMap) []catalog.DBusCall {
	out := []catalog.DBusCall{m.Call}
	for _, how := range []steering{cancelling, pausing, resuming} {
		if c := how.call(m); c != nil {
			out = append(out, c.DBusCall)
		}
	}
	if m.Query != nil && m.Query.Method != "" {
		out = append(out, m.Query.DBusCall)
	}
	return out
}

// introspect gives what an object has; nil where it does not tell.
func (b *mapped) introspect(ctx context.Context, path string) *introspect.Node {
	body, err := b.s.call(ctx, b.object(path), "org.freedesktop.DBus.Introspectable.Introspect")
	var text string
	if err == nil {
		err = godbus.Store(body, &text)
	}
	var node introspect.Node
	if err == nil {
		err = xml.Unmarshal([]byte(text), &node)
	}
	if err != nil {
		b.s.o.Log.Info().Err(err).Str("service", string(b.svc.ID)).Str("path", path).Msg("service does not tell what it has; its map is believed")
		return nil
	}
	return &node
}

// lacking says what of a call an object does not have; "" where it has all of it, or does not tell.
func lacking(node *introspect.Node, path, iface string, c catalog.DBusCall) string {
	if node == nil || len(node.Interfaces) == 0 {
		return ""
	}
	i := slices.IndexFunc(node.Interfaces, func(x introspect.Interface) bool { return x.Name == iface })
	if i < 0 {
		return fmt.Sprintf("interface %s at %s", iface, path)
	}
	n := slices.IndexFunc(node.Interfaces[i].Methods, func(x introspect.Method) bool { return x.Name == c.Method })
	if n < 0 {
		return fmt.Sprintf("method %s.%s at %s", iface, c.Method, path)
	}
	var takes, has strings.Builder
	for _, a := range node.Interfaces[i].Methods[n].Args {
		if a.Direction != "out" {
			takes.WriteString(a.Type)
		}
	}
	for _, a := range c.Args {
		has.WriteString(a.Type)
	}
	if takes.String() != has.String() {
		return fmt.Sprintf("method %s.%s(%s) at %s: it takes (%s)", iface, c.Method, has.String(), path, takes.String())
	}
	return ""
}
