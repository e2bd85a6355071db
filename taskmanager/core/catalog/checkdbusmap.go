package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/condition"
)

// mapping checks one mapped operation, or what of a mapped service belongs to none. It is where every promise of an operation is held
// against what its mapping can keep.
type mapping struct {
	*checker
	svc DBusService
	op  Operation // of an operation
	m   *DBusMap  // nil in a service's own entry
}

// mapped checks how an operation is carried out by a service with an interface of its own.
func (k *checker) mapped(op Operation, d *DBus) {
	if d.Service != "" || d.Path != "" || len(d.Keys) > 0 {
		k.add("executor.dbus.map", "is for a service of the section services, which says where it is and what it can read; leave service, path and keys out here")
	}
	svc, ok := k.c.Services[op.Binding.Name]
	if !ok {
		k.add("executor.name", "%q does not exist or is disabled in the section services, which says where the service is", op.Binding.Name)
		return
	}
	p := &mapping{checker: k, svc: svc, op: op, m: d.Map}
	p.call("executor.dbus.map.call", d.Map.Call)
	p.known()
	p.accept()
	p.ends()
	for i, r := range d.Map.Progress {
		at := index("executor.dbus.map.progress", i)
		p.about(at, r.DBusWord, r.Task, false)
		p.optional(at+".percent", r.DBusWord, r.Percent, Number)
		p.optional(at+".note", r.DBusWord, r.Note, String)
	}
	p.steers()
	p.query()
	p.errors("executor.dbus.map.errors", d.Map.Errors)
}

// service checks what of a service belongs to no operation.
func (k *checker) service(_ string, s DBusService) {
	p := &mapping{checker: k, svc: s}
	if !isBusName(s.Service) {
		k.add("service", "%q is no well-known name; those look like com.example.Mover", s.Service)
	}
	if !isObjectPath(s.Path) {
		k.add("path", "%q is no object path; those look like /com/example/Mover", s.Path)
	}
	if s.Interface != "" && !isInterface(s.Interface) {
		k.add("interface", "%q is no interface; those look like com.example.Mover1", s.Interface)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Context)) {
		p.context(JoinPath("context", string(key)), key, s.Context[key])
	}
	for i, e := range s.Events {
		p.tells(index("events", i), e)
	}
	p.errors("errors", s.Errors)
	if h := s.Health; h != nil {
		p.place("health", h.DBusPlace)
		p.root("health.field", DBusWord{Property: h.Property}, h.Field)
	}
	if s.Rooms != nil {
		p.rooms(*s.Rooms)
	}
}

// rooms: two map services would replace each other's lists for ever.
func (p *mapping) rooms(r DBusRooms) {
	p.place("rooms", r.DBusPlace)
	if (r.Method == "") == (r.Property == "") {
		p.add("rooms", "needs exactly one of property and method")
	}
	p.root("rooms.field", DBusWord{Property: r.Property, Reply: r.Property == ""}, r.Field)
	for i, w := range r.Signals {
		p.word(index("rooms.signals", i), w, false)
	}
	for _, name := range slices.Sorted(maps.Keys(p.c.Services)) {
		if other := p.c.Services[name]; name != p.entry && other.Rooms != nil {
			p.add("rooms", "are told by %s too; one service has the map", name)
		}
	}
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// place checks an object and an interface.
func (p *mapping) place(path string, d DBusPlace) {
	object, iface := d.At(p.svc)
	if !isObjectPath(object) {
		p.add(path+".path", "%q is no object path; those look like /com/example/Mover", object)
	}
	switch {
	case iface == "":
		p.add(path+".interface", "is missing here and at the service")
	case d.Interface != "" && !isInterface(d.Interface):
		p.add(path+".interface", "%q is no interface; those look like com.example.Mover1", d.Interface)
	}
}

// word checks that what is waited for is one thing, and that its match reads it.
func (p *mapping) word(path string, w DBusWord, reply bool) {
	n := 0
	for _, given := range []bool{w.Signal != "", w.Property != "", w.Reply} {
		if given {
			n++
		}
	}
	switch {
	case n != 1 && reply:
		p.add(path, "needs exactly one of signal, property and reply")
	case n != 1 || w.Reply && !reply:
		p.add(path, "needs exactly one of signal and property")
	}
	if !w.Reply {
		p.place(path, w.DBusPlace)
	}
	for _, at := range slices.Sorted(maps.Keys(w.Match)) {
		p.root(JoinPath(path+".match", at), w, at)
	}
}

// root: a property is read from "value", everything else from the number of an argument.
func (p *mapping) root(path string, w DBusWord, field string) {
	root, _ := DBusPath(field)
	switch {
	case field == "":
	case w.Property != "" && root != "value":
		p.add(path, "%q begins with %q; what a property says begins with value", field, root)
	case w.Property == "" && root == "value":
		p.add(path, "%q begins with value; what a signal or a reply says begins with the number of an argument, from 0", field)
	}
}

// about checks a word of a task: it has to be clear which task it is about.
func (p *mapping) about(path string, w DBusWord, task string, reply bool) {
	p.word(path, w, reply)
	if w.Reply {
		return
	}
	switch by := p.m.by(); {
	case by == "":
		p.add(path, "comes after the reply, and the map has no task: say by what the task is known")
	case by == DBusBySingle && task != "" && task != DBusCurrent:
		p.add(path+".task", "is %q, and the task is known by being the only one", task)
	case by != DBusBySingle && w.Property != "":
		p.add(path, "is a property, which tells of no id; only a task known by single can end or pause by one")
	case by != DBusBySingle && (task == "" || task == DBusCurrent):
		p.add(path+".task", "is missing; say where the task's id is in the signal")
	case by != DBusBySingle && task != "path":
		p.root(path+".task", w, task)
	}
}

func (m *DBusMap) by() string {
	if m.Task == nil {
		return ""
	}
	return m.Task.By
}

// known checks by what the task is known after its call.
func (p *mapping) known() {
	t, path := p.m.Task, "executor.dbus.map.task"
	if t == nil {
		return
	}
	p.oneOf(path+".by", t.By, DBusByID, DBusByHandle, DBusBySingle)
	if t.Field != "" && t.By != DBusByHandle {
		p.add(path+".field", "is where the reply has the handle, and the task is known by %s", t.By)
	}
	p.root(path+".field", DBusWord{}, t.Field)
	if t.Slot != "" && t.By != DBusBySingle {
		p.add(path+".slot", "is for a task known by single, and this one is known by %s", t.By)
	}
	if t.By == DBusByID && !takes(p.m.Call.Args, func(a DBusArg) bool { return a.Task }) {
		p.add(path+".by", "is id, and no argument of the call is the task's id")
	}
	if t.By == DBusBySingle && len(p.op.Stops) > 0 {
		p.add(path+".by", "is single; a stop waits for nobody, so it is never the only one")
	}
}

// takes says whether an argument, or a member of one, is what is looked for.
func takes(args []DBusArg, is func(DBusArg) bool) bool {
	return slices.ContainsFunc(args, func(a DBusArg) bool {
		return is(a) || takes(slices.Collect(maps.Values(a.Fields)), is)
	})
}

func (p *mapping) accept() {
	a, path := p.m.Accept, "executor.dbus.map.accept"
	if a == nil {
		return
	}
	if a.Signal == "" {
		w := a.DBusWord
		w.Reply = true
		p.word(path, w, true)
		p.optional(path+".reason", w, a.Reason, String)
		if len(a.Match) == 0 || a.Task != "" || a.Refused != nil || a.DBusPlace != (DBusPlace{}) {
			p.add(path, "needs a match of the reply, and at most a reason with it; or the signal that has to come")
		}
		return
	}
	p.about(path, a.DBusWord, a.Task, false)
	if a.Reason != nil {
		p.add(path+".reason", "is for a reply that does not fit; the reason of a refusing signal stands in refused")
	}
	if r := a.Refused; r != nil {
		p.about(path+".refused", r.DBusWord, r.Task, false)
		p.optional(path+".refused.reason", r.DBusWord, r.Reason, String)
	}
}

// ends checks how a task ends: what never can be done would run into its timeout each time.
func (p *mapping) ends() {
	path := "executor.dbus.map.result"
	for i, r := range p.m.Result {
		at := index(path, i)
		p.about(at, r.DBusWord, r.Task, true)
		p.oneOf(at+".outcome", r.Outcome, "done", "failed", "cancelled")
		p.optional(at+".reason", r.DBusWord, r.Reason, String)
		p.fields(at+".output", "the operation", r.DBusWord, r.Output, p.op.Output)
	}
	if !slices.ContainsFunc(p.m.Result, func(r DBusResult) bool { return r.Outcome == "done" }) {
		p.add(path, "has no row with the outcome done")
	}
}

// steers holds the promises to cancel and to pause against what is mapped for them.
func (p *mapping) steers() {
	for _, s := range []struct {
		name     string
		promised bool
		call     *DBusSteer
		confirm  bool
	}{
		{"cancel", p.op.Cancel, p.m.Cancel, false},
		{"pause", p.op.Pause, p.m.Pause, true},
		{"resume", p.op.Pause, p.m.Resume, true},
	} {
		path := "executor.dbus.map." + s.name
		switch {
		case s.promised && s.call == nil:
			p.add(path, "is missing, and the operation says that it can %s", strings.Replace(s.name, "resume", "pause", 1))
			continue
		case !s.promised && s.call != nil:
			p.add(path, "is mapped, and the operation does not say that it can %s", strings.Replace(s.name, "resume", "pause", 1))
		}
		if s.call == nil {
			continue
		}
		p.call(path, s.call.DBusCall)
		switch c := s.call.Confirmed; {
		case c != nil:
			p.about(path+".confirmed", c.DBusWord, c.Task, true)
		case s.confirm:
			p.add(path+".confirmed", "is missing; say what tells that it has happened: a signal, a property, or the reply itself")
		}
	}
}

// query holds the promise to remember a task against what can be asked.
func (p *mapping) query() {
	q, path := p.m.Query, "executor.dbus.map.query"
	if q == nil {
		if p.op.Probe != ProbeNone {
			p.add("probe", "is %s, and the map has no query: nobody can ask how the task stands, so it must be none", p.op.Probe)
		}
		return
	}
	w := DBusWord{Property: q.Property, Reply: q.Property == ""}
	if (q.Method == "") == (q.Property == "") {
		p.add(path, "needs exactly one of method and property")
	}
	if q.Method != "" {
		p.call(path, q.DBusCall)
	} else {
		p.place(path, q.DBusPlace)
	}
	p.root(path+".field", w, q.Field)
	p.fields(path+".output", "the operation", w, q.Output, p.op.Output)
	p.optional(path+".reason", w, q.Reason, String)
	named := takes(q.Args, func(a DBusArg) bool { return a.Task || a.Handle })
	switch by := p.m.by(); {
	case by == "":
		p.add(path, "asks for a task that has ended with its reply")
	case by != DBusBySingle && !named:
		p.add(path, "names no task; give it the task's id or handle as an argument")
	}
	says := slices.Concat(values(q.States), values(q.Errors))
	if p.op.Probe != ProbeNone && !(p.m.by() == DBusByID && named && slices.Contains(says, DBusUnknown)) {
		p.add("probe", "is %s, which needs a task known by id and a query that takes it and can say unknown; else it must be none", p.op.Probe)
	}
	if !slices.Contains(says, DBusRunning) {
		p.add(path+".states", "has no row that says running")
	}
	if p.m.by() == DBusBySingle && slices.ContainsFunc(says, func(s string) bool { return s != DBusRunning && s != DBusPaused && s != DBusUnknown }) {
		p.add(path+".states", "says how the task ended; who names no task can say only running, paused and unknown")
	}
}

func values[V any](m map[string]V) []V { return slices.Collect(maps.Values(m)) }

// errors: what the bus itself says cannot be mapped. It does not know what became of the call, or knows that nobody got it.
func (p *mapping) errors(path string, errs map[string]DBusError) {
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		at := JoinPath(path, name)
		if !isInterface(name) {
			p.add(at, "is no name of an error; those look like com.example.Error.Busy")
		}
		if bus, ok := strings.CutPrefix(name, "org.freedesktop.DBus.Error."); ok && slices.Contains(busOnly, bus) {
			p.add(at, "is said by the bus, which does not know what became of the task")
		}
		p.oneOf(at+".as", errs[name].As, DBusRefused, DBusFailed, DBusUnknown)
	}
}

var busOnly = []string{"NoReply", "Timeout", "TimedOut", "Disconnected", "ServiceUnknown", "NameHasNoOwner"}

func (p *mapping) context(path string, name ContextKey, c DBusContext) {
	known(p.checker, path, p.c.Context, name)
	key := p.c.Context[name]
	w := DBusWord{DBusPlace: c.DBusPlace, Property: c.Property, Reply: c.Property == ""}
	if (c.Method == "") == (c.Property == "") {
		p.add(path, "needs exactly one of property and method; what cannot be read is lost with the first signal that is")
	}
	if c.Method != "" {
		p.call(path, c.DBusCall)
	} else {
		p.place(path, c.DBusPlace)
	}
	p.field(path, w, c.DBusField, key.Type, key.Enum)
	if c.Class != "" {
		p.class(path+".class", c.Class)
	}
	for i, s := range c.Signals {
		at := index(path+".signals", i)
		p.word(at, s.DBusWord, false)
		p.field(at, s.DBusWord, s.DBusField, key.Type, key.Enum)
	}
}

func (p *mapping) tells(path string, e DBusEvent) {
	p.word(path, e.DBusWord, false)
	known(p.checker, path+".event", p.c.Events, e.Event)
	if e.Resource != "" {
		known(p.checker, path+".resource", p.c.Resources, e.Resource)
	}
	if e.Class != "" {
		p.class(path+".class", e.Class)
	}
	switch {
	case e.Task == "" || e.Task == DBusCurrent || e.Task == "path" && e.Signal != "":
	case e.Property != "":
		p.add(path+".task", "is %q, and a property tells of no id: current, or none", e.Task)
	default:
		p.root(path+".task", e.DBusWord, e.Task)
	}
	p.optional(path+".reason", e.DBusWord, e.Reason, String)
	p.fields(path+".data", "the event", e.DBusWord, e.Data, p.c.Events[e.Event].Data)
}

// fields checks values that go under names which somebody else declares.
func (p *mapping) fields(path, whose string, w DBusWord, fields map[string]DBusField, declared map[string]Param) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		d, ok := declared[name]
		if !ok {
			p.add(JoinPath(path, name), "is none of what %s declares: %s", whose, listOf(slices.Sorted(maps.Keys(declared))))
			continue
		}
		p.field(JoinPath(path, name), w, fields[name], d.Type, d.Enum)
	}
}

func (p *mapping) optional(path string, w DBusWord, f *DBusField, want Type) {
	if f != nil {
		p.field(path, w, *f, want, nil)
	}
}

// field checks that what comes out of a mapping can be what is wanted.
func (p *mapping) field(path string, w DBusWord, f DBusField, want Type, enum []condition.Value) {
	p.root(path+".field", w, f.Field)
	if f.Value != nil && (f.Field != "" || f.Values != nil || f.Else != nil || f.Scale != 0 || f.Offset != 0) {
		p.add(path+".value", "is a constant; leave field, values, else, scale and offset out")
	}
	if f.Else != nil && f.Values == nil {
		p.add(path+".else", "is for a text that values has no row for, and there are no values")
	}
	if (f.Scale != 0 || f.Offset != 0) && (f.Values != nil || want != "" && plain(want) != Number) {
		p.add(path+".scale", "is for a number that is not mapped by values; this is a %s", want)
	}
	fits := func(at string, v condition.Value) {
		switch {
		case v == nil || want == "":
		case !condition.Fits(v, string(want)):
			p.add(at, "is %s, and a %s is wanted", show(v), want)
		default:
			p.enum(at, v, enum)
		}
	}
	fits(path+".value", f.Value)
	fits(path+".else", f.Else)
	for _, text := range slices.Sorted(maps.Keys(f.Values)) {
		fits(JoinPath(path+".values", text), f.Values[text])
	}
}

// isInterface: at least two parts of letters, digits and _, none beginning with a digit; at most 255 bytes. Errors are named like it.
func isInterface(name string) bool { return isBusName(name) && !strings.Contains(name, "-") }
