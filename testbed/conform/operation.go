package conform

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// operation is what is run, with all that is known of it.
type operation struct {
	method  string
	calls   []call
	wrong   []wrong
	cancel  offer
	pause   offer
	durable bool
	entry   bool // from a catalog
	atRest  []catalog.Expr
	expect  []string
}

// call is one set of arguments: as they go over the bus, and what proves that they were carried out.
type call struct {
	args  map[string]any
	proof []proof
}

// proof is one effect, or what the caller wants to see.
type proof struct {
	name    string
	expr    catalog.Expr
	against []catalog.Leaf
	accept  []catalog.Class // nil: any but echo
}

// wrong is a call that must be refused.
type wrong struct {
	what   string
	method string
	args   map[string]any
}

// offer says whether an operation can do something.
type offer string

// Ask: nobody has said; the service's own answer decides.
const (
	yes offer = "yes"
	no  offer = "no"
	ask offer = "ask"
)

// learn makes the operation of the options, and takes limits from the catalog's entry where the caller gave none.
func (o *Options) learn() (operation, error) {
	op := operation{method: o.Method, cancel: ask, pause: ask, durable: o.Durable, expect: o.Expect, atRest: exprs(o.AtRest)}
	if o.Catalog == nil {
		for _, p := range o.Params {
			op.calls = append(op.calls, call{args: p, proof: wanted(o.Prove)})
		}
		op.wrong = o.refusals()
		return op, nil
	}
	entry, err := o.entry()
	if err != nil {
		return op, err
	}
	o.take(entry)
	op.method, op.entry, op.durable = string(entry.Method), true, o.Durable || entry.Probe == catalog.ProbeDurable
	op.cancel, op.pause = offered(entry.Cancel), offered(entry.Pause)
	if len(o.Params) == 0 {
		if o.Params, err = o.samples(entry); err != nil {
			return op, err
		}
	}
	for _, p := range o.Params {
		c, err := o.call(entry, p)
		if err != nil {
			return op, err
		}
		op.calls = append(op.calls, c)
	}
	for _, id := range entry.Resources {
		if e := o.Catalog.Resources[id].AtRest; e != nil {
			op.atRest = append(op.atRest, *e)
		}
	}
	o.Method = op.method
	op.wrong = append(o.refusals(), breaches(entry, op.calls[0].args)...)
	return op, nil
}

func offered(can bool) offer {
	if can {
		return yes
	}
	return no
}

// entry is the operation that is run: the one that was named, or the first one that is bound to the service and can be cancelled.
func (o *Options) entry() (catalog.Operation, error) {
	if o.Method != "" {
		op, known := o.Catalog.Operations[catalog.Method(o.Method)]
		if !known {
			return op, fmt.Errorf("the catalog has no operation %s", o.Method)
		}
		if mapped(op) {
			return op, fmt.Errorf("the catalog maps %s to an interface of the service's own (executor.dbus.map), and this kit checks %s", o.Method, Interface)
		}
		return op, nil
	}
	var other *catalog.Operation
	for _, m := range slices.Sorted(maps.Keys(o.Catalog.Operations)) {
		op := o.Catalog.Operations[m]
		if d := op.Binding.DBus; op.Binding.Kind != "dbus" || d == nil || d.Service != o.Service || mapped(op) || op.HumanPaced {
			continue
		}
		if op.Cancel {
			return op, nil
		}
		if other == nil {
			other = &op
		}
	}
	if other == nil {
		return catalog.Operation{}, fmt.Errorf("the catalog binds no operation of %s to %s; name one with --method", Interface, o.Service)
	}
	return *other, nil
}

// mapped says whether the catalog translates an operation for a service that does not implement our interface.
func mapped(op catalog.Operation) bool { return op.Binding.DBus != nil && op.Binding.DBus.Map != nil }

// take takes place and limits of an entry, where the caller gave none.
func (o *Options) take(op catalog.Operation) {
	if d := op.Binding.DBus; d != nil && o.Path == "" {
		o.Path = d.Path
	}
	for _, l := range []struct {
		at *time.Duration
		ms int64
	}{{&o.Ack, op.AckMS}, {&o.Stop, op.StopMS}, {&o.Hold, op.PauseMS}, {&o.Evidence, op.EvidenceMS}} {
		if *l.at == 0 {
			*l.at = time.Duration(l.ms) * time.Millisecond
		}
	}
}

// samples makes two sets of arguments that differ wherever they can, from the ranges of an entry.
func (o *Options) samples(op catalog.Operation) ([]map[string]any, error) {
	var sets []map[string]any
	for i := range 2 {
		set := map[string]any{}
		for name, p := range op.Params {
			if !p.Required && (len(op.AtLeastOne) == 0 || op.AtLeastOne[0] != name) {
				continue
			}
			v, ok := o.sample(p, i)
			if !ok {
				return nil, fmt.Errorf("the catalog does not say what %s of %s may be: give --params", name, op.Method)
			}
			set[name] = v
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func (o *Options) sample(p catalog.Param, i int) (any, bool) {
	if len(p.Enum) > 0 {
		return p.Enum[i%len(p.Enum)], true
	}
	switch p.Type {
	case catalog.Boolean:
		return i%2 == 1, true
	case catalog.Integer, catalog.Number:
		at := [2]*float64{p.Maximum, p.Minimum}[i%2]
		if at == nil {
			return float64(1 + i), true
		}
		return *at, true
	case catalog.RoomRef:
		var reached []string
		for _, r := range o.Catalog.Rooms {
			if r.Reachable {
				reached = append(reached, string(r.ID))
			}
		}
		if len(reached) > 0 {
			return reached[i%len(reached)], true
		}
	}
	return nil, false
}

// call resolves arguments as the agent does, with the evidence of their effects.
func (o *Options) call(op catalog.Operation, params map[string]any) (call, error) {
	r, faults := o.Catalog.Resolve(op.Method, params)
	if len(faults) > 0 {
		return call{}, fmt.Errorf("--params %s: %s %s", asJSON(params), faults[0].Path, faults[0].Message)
	}
	c := call{args: r.Args, proof: wanted(o.Prove)}
	for _, id := range r.Operation.Effects {
		e := o.Catalog.Effects[id]
		c.proof = append(c.proof, proof{string(id), e.Terminal, e.Contradicted, e.Confidence.Accept})
		if d := r.Operation.Timeout.For(r.Args); o.Timeout == 0 && d > 0 {
			o.Timeout = time.Duration(d) * time.Millisecond
		}
	}
	if e := r.Operation.DoneEvidence; len(r.Operation.Effects) == 0 && e != nil {
		c.proof = append(c.proof, proof{"done_evidence", *e, nil, r.Operation.DoneConfidence.Accept})
	}
	return c, nil
}

func exprs(wants []Want) (out []catalog.Expr) {
	for _, w := range wants {
		out = append(out, catalog.Expr{Leaf: &catalog.Leaf{Context: catalog.ContextKey(w.Key), Op: condition.Eq, Value: w.Value}})
	}
	return out
}

func wanted(wants []Want) (out []proof) {
	for i, e := range exprs(wants) {
		out = append(out, proof{name: "--prove " + wants[i].Key, expr: e})
	}
	return out
}

// refusals are the calls that must be refused whatever the operation.
func (o *Options) refusals() []wrong {
	out := []wrong{{"a method that does not exist", "no_such_method", map[string]any{}}}
	for _, p := range o.Refuse {
		out = append(out, wrong{"the arguments of --refuse-params", o.Method, p})
	}
	return out
}

// breaches are arguments that the entry's parameters do not allow, one fault at a time.
func breaches(op catalog.Operation, good map[string]any) (out []wrong) {
	add := func(what, name string, v any) {
		args := maps.Clone(good)
		args[name] = v
		if v == nil {
			delete(args, name)
		}
		out = append(out, wrong{what, string(op.Method), args})
	}
	for _, name := range slices.Sorted(maps.Keys(op.Params)) {
		p := op.Params[name]
		if p.Required {
			add("no "+name, name, nil)
		}
		switch p.Type {
		case catalog.Integer, catalog.Number:
			add(name+" of a wrong type", name, "no number")
			if p.Maximum != nil {
				add(name+" above its maximum", name, *p.Maximum+1)
			}
			if p.Minimum != nil {
				add(name+" below its minimum", name, *p.Minimum-1)
			}
		case catalog.Boolean:
			add(name+" of a wrong type", name, "no boolean")
		case catalog.RoomRef:
			add(name+" that is no room", name, map[string]any{"room_id": "no_such_room", "name": "no such room"})
		case catalog.String:
			if len(p.Enum) > 0 {
				add(name+" that is none of its values", name, "no_such_value")
			}
		}
	}
	return out
}
