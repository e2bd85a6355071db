package dbus

import (
	"context"
	"maps"
	"slices"
	"strings"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// heard is a signal of a mapped service, or the new value of one of its properties.
type heard struct {
	said
	name  string // of the signal or the property
	iface string
	path  string
}

// is says whether a word of the map is this one, its match left out.
func (h heard) is(w catalog.DBusWord, task string, s catalog.DBusService) bool {
	name := w.Signal
	if h.property {
		name = w.Property
	}
	path, iface := w.At(s)
	return name != "" && name == h.name && iface == h.iface && (path == h.path || task == byPath)
}

// changed names the property whose change this is.
func (h heard) changed() string { return h.path + " " + h.iface + "." + h.name }

// byPath is the place of a task's id that is the path of the object that speaks.
const byPath = "path"

// maxKept bounds the words that wait for a handle. Source: a task says a handful of things before its call is answered.
const maxKept = 64

// signal takes a signal of the owner.
func (b *mapped) signal(m *godbus.Signal) {
	dot := strings.LastIndexByte(m.Name, '.')
	iface, name := m.Name[:max(dot, 0)], m.Name[dot+1:]
	if iface == properties1 {
		b.changed(m)
		return
	}
	b.hear(heard{said{body: m.Body}, name, iface, string(m.Path)})
}

// changed takes properties that have another value, and reads those anew whose value is not told.
func (b *mapped) changed(m *godbus.Signal) {
	var iface string
	var values map[string]godbus.Variant
	var old []string
	if err := godbus.Store(m.Body, &iface, &values, &old); err != nil {
		b.complain(err, "signal cannot be read, dropped", m.Name)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		b.hear(heard{said{[]any{values[name].Value()}, true}, name, iface, string(m.Path)})
	}
	for _, name := range old {
		if b.listensTo(iface, name, string(m.Path)) {
			b.getAnew(iface, name, string(m.Path))
		}
	}
}

// listensTo says whether the map has a word for a property.
func (b *mapped) listensTo(iface, property, path string) bool {
	h := heard{said{property: true}, property, iface, path}
	for _, w := range b.svc.Map.words() {
		if h.is(w, "", b.spec.Service) {
			return true
		}
	}
	return false
}

// getAnew reads a property whose new value was not told. What is told meanwhile is not older.
func (b *mapped) getAnew(iface, property, path string) {
	h := heard{said{property: true}, property, iface, path}
	b.s.spawn(func() {
		ctx, cancel := context.WithTimeout(b.life, b.s.o.Limit)
		defer cancel()
		b.order.Lock()
		before := b.changes[h.changed()]
		b.order.Unlock()
		s, err := b.get(ctx, catalog.DBusPlace{Path: path, Interface: iface}, property)
		if err == nil {
			h.body = s.body
		} else {
			b.complain(err, "property cannot be read", property) // its old value does not hold any more
		}
		b.order.Lock()
		defer b.order.Unlock()
		if b.life.Err() == nil && b.changes[h.changed()] == before {
			b.hearNow(h)
		}
	})
}

func (b *mapped) hear(h heard) {
	b.order.Lock()
	defer b.order.Unlock()
	b.hearNow(h)
}

// hearNow makes events of what was heard and hands them over. The order lock is held.
func (b *mapped) hearNow(h heard) {
	if h.property {
		b.changes[h.changed()]++
		b.healthIs(h)
	}
	b.roomsIn(h)
	b.mem.mu.Lock()
	later := b.mustWait(h)
	b.mem.mu.Unlock()
	if later {
		if b.kept = append(b.kept, h); len(b.kept) > maxKept {
			b.kept = nil
			b.s.end(errGap) // one of them could be the end of a task
		}
		return
	}
	b.hand(b.context(h))
	b.mem.mu.Lock()
	evs := append(b.observed(h), b.tasks(h)...)
	b.mem.mu.Unlock()
	b.hand(evs)
}

// again takes up the words that have waited for a handle. The order lock is held.
func (b *mapped) again() {
	kept := b.kept
	b.kept = nil
	for _, h := range kept {
		b.hearNow(h)
	}
}

// mustWait says whether a word may be about a task whose handle a reply is going to bring.
func (b *mapped) mustWait(h heard) bool {
	if h.property || !b.mem.waits() {
		return false
	}
	return slices.ContainsFunc(b.svc.Map.taskWords(), func(w taskWord) bool {
		if !h.is(w.DBusWord, w.task, b.spec.Service) {
			return false
		}
		key, err := h.key(w.task)
		return err == nil && b.mem.byHandle(key, true) == nil && b.mem.jobs[core.TaskID(key)] == nil
	})
}

// key gives the id of the task that a word is about.
func (h heard) key(place string) (string, error) {
	if place == byPath {
		return h.path, nil
	}
	raw, err := h.raw(place)
	if err != nil {
		return "", err
	}
	return textOf(raw)
}

// context makes values of the device context.
func (b *mapped) context(h heard) []core.Event {
	read := core.ContextRead{Source: string(b.svc.ID)}
	for _, key := range b.svc.Keys {
		c := b.spec.Service.Context[key]
		if f, ok := b.tells(h, c); ok {
			v := b.contextValue(key, h.said, f)
			b.told[key] = v
			b.version[key]++
			read.Values = append(read.Values, v)
		}
	}
	if len(read.Values) == 0 {
		return nil
	}
	return []core.Event{read}
}

// tells says whether a word tells a key, and where its value is.
func (b *mapped) tells(h heard, c catalog.DBusContext) (catalog.DBusField, bool) {
	if h.is(catalog.DBusWord{DBusPlace: c.DBusPlace, Property: c.Property}, "", b.spec.Service) {
		return c.DBusField, true
	}
	for _, s := range c.Signals {
		if !h.is(s.DBusWord, "", b.spec.Service) || !b.match(h, s.DBusWord) {
			continue
		}
		f := s.DBusField
		if f.Value == nil && f.Values == nil && f.Scale == 0 && f.Offset == 0 {
			f.Values, f.Else, f.Scale, f.Offset = c.Values, c.Else, c.Scale, c.Offset
		}
		return f, true
	}
	return catalog.DBusField{}, false
}

// match holds what was heard against the match of a word. What cannot be read fits nothing.
func (b *mapped) match(h heard, w catalog.DBusWord) bool {
	ok, err := h.fits(w.Match)
	if err != nil {
		b.complain(err, "signal cannot be read, dropped", h.name)
	}
	return err == nil && ok
}

// observed makes events of the catalog. The memory's lock is held.
func (b *mapped) observed(h heard) (evs []core.Event) {
	for _, e := range b.spec.Service.Events {
		if !h.is(e.DBusWord, e.Task, b.spec.Service) || !b.match(h, e.DBusWord) {
			continue
		}
		ev := core.Observed{Event: e.Event, Resource: e.Resource, Class: e.Class, Source: string(b.svc.ID), Reason: h.reason(e.Reason, "")}
		var err error
		ev.Data, err = h.values(e.Data, b.spec.Catalog.Events[e.Event].Data)
		if err == nil && e.Task != "" {
			err = b.attribute(h, e.Task, &ev)
		}
		if err != nil {
			b.complain(err, "signal cannot be read, dropped", h.name)
			continue
		}
		evs = append(evs, ev)
	}
	return evs
}

// attribute names the task of an event, where it is one that is known here or can be ours.
func (b *mapped) attribute(h heard, place string, ev *core.Observed) error {
	var j *job
	if place == catalog.DBusCurrent {
		j = b.current()
	} else {
		key, err := h.key(place)
		if err != nil {
			return err
		}
		if j = b.mem.byHandle(key, false); j == nil {
			j = b.mem.jobs[core.TaskID(key)]
		}
		if j == nil && b.anyByID() && checkNames(key) == nil {
			ev.Task = core.TaskID(key)
		}
	}
	if j != nil {
		ev.Task = j.id
		copied := *ev
		j.event = &copied
	}
	return nil
}

// current is the only task that the service has; nil where there is none, or more than one.
func (b *mapped) current() (found *job) {
	for _, j := range b.mem.slots {
		if found != nil {
			return nil
		}
		found = j
	}
	return found
}

func (b *mapped) anyByID() bool {
	for _, op := range b.spec.Operations {
		if byOf(op.Binding.DBus.Map) == catalog.DBusByID {
			return true
		}
	}
	return false
}

// tasks makes events of the words about tasks. The memory's lock is held.
func (b *mapped) tasks(h heard) (evs []core.Event) {
	for _, method := range slices.Sorted(maps.Keys(b.spec.Operations)) {
		m := b.spec.Operations[method].Binding.DBus.Map
		evs = append(evs, b.progress(h, method, m)...)
		evs = append(evs, b.accepted(h, method, m)...)
		evs = append(evs, b.confirms(h, method, m)...)
		evs = append(evs, b.results(h, method, m)...)
	}
	return evs
}

// about finds the task that a word is about; nil where it is none of this method, or not known. id is set where it can be ours.
func (b *mapped) about(h heard, w catalog.DBusWord, task string, method catalog.Method, m *catalog.DBusMap) (j *job, id core.TaskID) {
	if !h.is(w, task, b.spec.Service) {
		return nil, ""
	}
	if byOf(m) == catalog.DBusBySingle {
		j = b.mem.slots[m.Task.Slot]
	} else {
		key, err := h.key(task)
		if err != nil {
			b.complain(err, "signal cannot be read, dropped", h.name)
			return nil, ""
		}
		if byOf(m) == catalog.DBusByHandle {
			j = b.mem.byHandle(key, true)
		} else if j = b.mem.jobs[core.TaskID(key)]; j == nil && checkNames(key) == nil {
			id = core.TaskID(key)
		}
	}
	if j != nil && j.method != method {
		return nil, ""
	}
	if j != nil {
		id = j.id
	}
	return j, id
}

func (b *mapped) progress(h heard, method catalog.Method, m *catalog.DBusMap) []core.Event {
	for _, p := range m.Progress {
		j, id := b.about(h, p.DBusWord, p.Task, method, m)
		if id == "" || !b.match(h, p.DBusWord) {
			continue
		}
		ev := core.TaskProgress{Task: id}
		if p.Percent != nil {
			v, err := h.value(*p.Percent, catalog.Number, nil)
			if err != nil {
				b.complain(err, "signal cannot be read, dropped", h.name)
				continue
			}
			ev.Percent, _ = v.(float64)
		}
		if p.Note != nil {
			if v, err := h.value(*p.Note, catalog.String, nil); err == nil {
				ev.Note, _ = v.(string)
			}
		}
		if j == nil {
			return []core.Event{ev}
		}
		return b.say(j, ev)
	}
	return nil
}

// accepted takes the signals that accept or refuse a task.
func (b *mapped) accepted(h heard, method catalog.Method, m *catalog.DBusMap) []core.Event {
	a := m.Accept
	if a == nil || a.Signal == "" {
		return nil
	}
	verdictOf := func(w catalog.DBusWord, task string, v verdict) {
		if j, _ := b.about(h, w, task, method, m); j != nil && j.state == calling && b.match(h, w) {
			select {
			case j.verdict <- v:
			default: // the first one stands
			}
		}
	}
	verdictOf(a.DBusWord, a.Task, verdict{accepted: true})
	if r := a.Refused; r != nil {
		verdictOf(r.DBusWord, r.Task, verdict{reason: h.reason(r.Reason, core.ReasonExecutorRefused)})
	}
	return nil
}

// confirms takes the words that a task was cancelled, rests or goes on.
func (b *mapped) confirms(h heard, method catalog.Method, m *catalog.DBusMap) (evs []core.Event) {
	for _, how := range []steering{cancelling, pausing, resuming} {
		c := how.call(m)
		if c == nil || c.Confirmed == nil || c.Confirmed.Reply {
			continue
		}
		if j, _ := b.about(h, c.Confirmed.DBusWord, c.Confirmed.Task, method, m); j != nil && b.match(h, c.Confirmed.DBusWord) {
			evs = append(evs, b.confirmed(j, how)...)
		}
	}
	return evs
}

// results takes the words that a task has ended. A property has to have had another value since the call: it may be an old one.
func (b *mapped) results(h heard, method catalog.Method, m *catalog.DBusMap) []core.Event {
	for i, r := range m.Result {
		if r.Reply {
			continue
		}
		j, id := b.about(h, r.DBusWord, r.Task, method, m)
		if id == "" {
			continue
		}
		ok, err := h.fits(r.Match)
		if err != nil {
			b.complain(err, "signal cannot be read, dropped", h.name)
			return nil // also where another row would take anything
		}
		if !ok {
			if j != nil && h.property {
				j.seen[i] = true
			}
			continue
		}
		if h.property && !j.seen[i] {
			continue
		}
		end, err := b.endOf(id, method, r, h.said)
		if err != nil {
			b.complain(err, "signal cannot be read, dropped", h.name)
			continue
		}
		if j == nil {
			return []core.Event{end}
		}
		return b.over(j, end)
	}
	return nil
}

// taskWord is a word that names a task, with the place of its id.
type taskWord struct {
	catalog.DBusWord
	task string
}

// taskWords are all words of the map that name a task by its id.
func (m *Mapping) taskWords() (out []taskWord) {
	add := func(w catalog.DBusWord, task string) {
		if task != "" && task != catalog.DBusCurrent {
			out = append(out, taskWord{w, task})
		}
	}
	m.each(add)
	return out
}

// words are all words of the map.
func (m *Mapping) words() (out []catalog.DBusWord) {
	m.each(func(w catalog.DBusWord, _ string) { out = append(out, w) })
	for _, c := range m.Service.Context {
		out = append(out, catalog.DBusWord{DBusPlace: c.DBusPlace, Property: c.Property})
		for _, s := range c.Signals {
			out = append(out, s.DBusWord)
		}
	}
	if r := m.Service.Rooms; r != nil {
		out = append(out, r.Words()...)
	}
	if h := m.Service.Health; h != nil {
		out = append(out, catalog.DBusWord{DBusPlace: h.DBusPlace, Property: h.Property})
	}
	return slices.DeleteFunc(out, func(w catalog.DBusWord) bool { return w.Signal == "" && w.Property == "" })
}

// each visits the words of events and of operations.
func (m *Mapping) each(visit func(w catalog.DBusWord, task string)) {
	for _, e := range m.Service.Events {
		visit(e.DBusWord, e.Task)
	}
	for _, method := range slices.Sorted(maps.Keys(m.Operations)) {
		d := m.Operations[method].Binding.DBus.Map
		for _, p := range d.Progress {
			visit(p.DBusWord, p.Task)
		}
		for _, r := range d.Result {
			visit(r.DBusWord, r.Task)
		}
		if a := d.Accept; a != nil {
			visit(a.DBusWord, a.Task)
			if a.Refused != nil {
				visit(a.Refused.DBusWord, a.Refused.Task)
			}
		}
		for _, how := range []steering{cancelling, pausing, resuming} {
			if c := how.call(d); c != nil && c.Confirmed != nil {
				visit(c.Confirmed.DBusWord, c.Confirmed.Task)
			}
		}
	}
}
