package conform

import (
	"context"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	godbus "github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"

	"deviceagent/executors/dbus"
	"deviceagent/taskmanager/core/catalog"
)

// look compares the interface with its XML, and reads the property and the context once.
func (r *run) look(ctx context.Context) {
	r.introspects(ctx)
	if got, ok := r.call(ctx, nil, r.o.Answer, "org.freedesktop.DBus.Properties.Get", Interface, "Health"); ok {
		var v godbus.Variant
		err := got.err
		if err == nil {
			err = godbus.Store(got.body, &v)
		}
		word, isText := v.Value().(string)
		r.saw(err == nil && isText && word != "" && !strings.ContainsAny(word, " \t\n"), Health, nil, "read the property Health", "\"ok\" or one word that says why not", got.String())
	} else {
		r.notRun("it was not answered (see answers)", Health)
	}
	r.reads(ctx)
}

func (r *run) introspects(ctx context.Context) {
	const member = "org.freedesktop.DBus.Introspectable.Introspect"
	got, ok := r.call(ctx, nil, r.o.Answer, member)
	if !ok {
		r.notRun("Introspect was not answered (see answers)", Introspection)
		return
	}
	text, _ := firstText(heard{body: got.body})
	lacks, err := lacking(text)
	seen := "all of it"
	if err != nil {
		seen = err.Error()
	} else if len(lacks) > 0 {
		seen = strings.Join(lacks, "; ")
	}
	if got.err != nil {
		seen = got.String()
	}
	r.saw(got.err == nil && err == nil && len(lacks) == 0, Introspection, nil, "Introspect of "+r.o.Path, "each member of executor1.xml with its signature", seen)
}

// lacking says which members of our interface an introspection lacks or has otherwise. What it has beyond them is its own affair.
func lacking(text string) ([]string, error) {
	ours, err := members(dbus.Introspection)
	if err != nil {
		panic("internal error: executor1.xml: " + err.Error())
	}
	theirs, err := members(text)
	if err != nil {
		return nil, fmt.Errorf("the introspection cannot be read: %w", err)
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		switch is, there := theirs[name]; {
		case !there:
			out = append(out, name+" is missing")
		case is != ours[name]:
			out = append(out, fmt.Sprintf("%s has %s, not %s", name, is, ours[name]))
		}
	}
	return out, nil
}

// members are the members of our interface in an introspection, with their signatures as "(in) → (out)".
func members(text string) (map[string]string, error) {
	var node introspect.Node
	if err := xml.Unmarshal([]byte(text), &node); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, i := range node.Interfaces {
		if i.Name != Interface {
			continue
		}
		for _, m := range i.Methods {
			in, back := "", ""
			for _, a := range m.Args {
				if a.Direction == "out" {
					back += a.Type
				} else {
					in += a.Type
				}
			}
			out["method "+m.Name] = "(" + in + ") → (" + back + ")"
		}
		for _, s := range i.Signals {
			args := ""
			for _, a := range s.Args {
				args += a.Type
			}
			out["signal "+s.Name] = "(" + args + ")"
		}
		for _, p := range i.Properties {
			out["property "+p.Name] = p.Type + " " + p.Access
		}
	}
	return out, nil
}

// noKey is a context key that no service has.
const noKey = "conform.no_such_key"

func (r *run) reads(ctx context.Context) {
	keys := []string{noKey}
	for _, c := range r.op.calls {
		for _, p := range c.proof {
			keys = append(keys, readKeys(p.expr)...)
		}
	}
	keys = append(keys, readKeys(r.op.atRest...)...)
	if r.o.Catalog != nil {
		if d := r.o.Catalog.Operations[catalog.Method(r.op.method)].Binding.DBus; d != nil {
			for _, k := range d.Keys {
				keys = append(keys, string(k))
			}
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	got, ok := r.call(ctx, nil, r.o.Answer, "Read", keys)
	if !ok {
		r.notRun("it was not answered (see answers)", Read)
		return
	}
	var values map[string]godbus.Variant
	err := got.err
	if err == nil {
		err = godbus.Store(got.body, &values)
	}
	if !r.saw(err == nil, Read, nil, "Read of "+asJSON(keys)+", of which nobody has "+noKey, "the values that there are, in a map", got.String()) {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		r.saw(slices.Contains(keys, k) && k != noKey, Read, nil, "looked at "+k+" in the answer of Read", "a key that was asked for and that the service has", show(values[k]))
	}
}
