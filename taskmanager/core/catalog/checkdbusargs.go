package catalog

import (
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/condition"
)

// busRange is what an integer type of the bus holds. 64 bits are read and written as far as a float64 is exact.
var busRange = map[string][2]float64{
	"y": {0, 1<<8 - 1}, "n": {-1 << 15, 1<<15 - 1}, "q": {0, 1<<16 - 1}, "i": {-1 << 31, 1<<31 - 1}, "u": {0, 1<<32 - 1},
	"x": {-condition.MaxInteger, condition.MaxInteger}, "t": {0, condition.MaxInteger},
}

// busTypes gives for a type of the bus which types of a parameter it can carry.
var busTypes = map[string][]Type{
	"b": {Boolean}, "y": {Integer}, "n": {Integer}, "q": {Integer}, "i": {Integer}, "u": {Integer}, "x": {Integer}, "t": {Integer}, "d": {Integer, Number},
	"s": {String, RoomRef}, "o": {String, RoomRef}, "g": {String, RoomRef}, "as": {String, RoomRef},
}

// BusFits says whether a value can be written as a type of the bus. A text written as "as" is a list of one.
func BusFits(busType string, v condition.Value) bool {
	if limits, ok := busRange[busType]; ok {
		n, _ := v.(float64)
		return condition.Fits(v, string(Integer)) && n >= limits[0] && n <= limits[1]
	}
	text, isText := v.(string)
	switch busType {
	case "b":
		return condition.Fits(v, string(Boolean))
	case "d":
		return condition.Fits(v, string(Number))
	case "s", "g":
		return isText
	case "o":
		return isText && isObjectPath(text)
	case "as":
		list, ok := v.([]any)
		return isText || ok && !slices.ContainsFunc(list, func(x any) bool { _, ok := x.(string); return !ok })
	}
	return false
}

// call checks a method and its arguments.
func (p *mapping) call(path string, c DBusCall) {
	p.place(path, c.DBusPlace)
	if c.Method == "" {
		p.add(path+".method", "is missing")
	}
	for i, a := range c.Args {
		p.arg(index(path+".args", i), a, path == "executor.dbus.map.call", true)
	}
}

// arg checks one argument. own: of the operation's call, which has the parameters but no handle yet. fixed: it stands at its place, so
// its value must always be there; a member of an a{sv} is left out where it is not.
func (p *mapping) arg(path string, a DBusArg, own, fixed bool) {
	n := 0
	for _, given := range []bool{a.Param != "", a.Task, a.Handle, a.Value != nil, a.Fields != nil} {
		if given {
			n++
		}
	}
	if n != 1 {
		p.add(path, "needs exactly one of param, task, handle, value and fields")
		return
	}
	t := a.Type
	switch {
	case t == "v" && a.Of == "":
		p.add(path+".of", "is missing; say which type the v holds")
		return
	case t == "v":
		t = a.Of
	case a.Of != "":
		p.add(path+".of", "is for the type v, and this is %s", a.Type)
	}
	if (a.Fields != nil) != (t == "a{sv}") {
		p.add(path+".fields", "make an a{sv}, and nothing else does")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.Fields)) {
		p.arg(JoinPath(path+".fields", name), a.Fields[name], own, false)
	}
	if a.Param == "" && (a.Values != nil || a.Scale != 0) {
		p.add(path, "has values or a scale, which are for a parameter")
	}
	switch {
	case a.Param != "":
		p.carries(path, a, t, own, fixed)
	case a.Value != nil && !BusFits(t, a.Value):
		p.add(path+".value", "%s does not fit the type %s", show(a.Value), t)
	case a.Task && t != "s":
		p.add(path+".type", "is %s; our id of a task is a text, s", a.Type)
	case (a.Task || a.Handle) && p.m == nil:
		p.add(path, "is an id of a task, and this call belongs to none")
	case a.Handle && own:
		p.add(path+".handle", "is in the reply of this very call")
	case a.Handle && p.m.by() != DBusByHandle:
		p.add(path+".handle", "is not known: the task is not known by its handle")
	}
}

// carries checks that a type can carry a parameter.
func (p *mapping) carries(path string, a DBusArg, t string, own, fixed bool) {
	name, field, nested := strings.Cut(a.Param, ".")
	param, ok := p.op.Params[name]
	switch {
	case !own:
		p.add(path+".param", "is an argument of the operation's call; this call has none")
		return
	case !ok:
		p.add(path+".param", "%q is no parameter of %s", name, p.op.Method)
		return
	case nested && (param.Type != RoomRef || field != "room_id"):
		p.add(path+".param", "%q cannot be had; of a room there is room_id, of others the value itself", a.Param)
		return
	}
	if fixed && !param.Required && param.Default == nil {
		p.add(path+".param", "%q may be left out of a plan, and an argument may not: give it a default or make it required", name)
	}
	if a.Scale != 0 && plain(param.Type) != Number {
		p.add(path+".scale", "is for a number, and %s is a %s", name, param.Type)
	}
	if a.Values != nil {
		p.rows(path, a, t, param)
		return
	}
	whole := busRange[t] != [2]float64{}
	if !slices.Contains(busTypes[t], param.Type) && !(whole && a.Scale != 0 && param.Type == Number) {
		p.add(path+".type", "is %s, which cannot carry %s, a %s", t, name, param.Type)
		return
	}
	for _, limit := range []*float64{param.Minimum, param.Maximum} {
		if limit == nil || !whole {
			continue
		}
		n := *limit * scaleOr1(a.Scale)
		if limits := busRange[t]; n < limits[0] || n > limits[1] {
			p.add(path+".type", "is %s, which holds %s to %s, and %s may be %s", t, number(limits[0]), number(limits[1]), name, number(n))
		}
	}
}

func scaleOr1(scale float64) float64 {
	if scale == 0 {
		return 1
	}
	return scale
}

// rows checks a value map of a parameter: every value that it can have is mapped, and to what the type can carry.
func (p *mapping) rows(path string, a DBusArg, t string, param Param) {
	if a.Scale != 0 {
		p.add(path+".scale", "does not go with values")
	}
	for _, text := range slices.Sorted(maps.Keys(a.Values)) {
		if !BusFits(t, a.Values[text]) {
			p.add(JoinPath(path+".values", text), "%s does not fit the type %s", show(a.Values[text]), t)
		}
	}
	want := param.Enum
	if param.Type == Boolean && len(want) == 0 {
		want = []condition.Value{true, false}
	}
	for _, v := range want {
		if _, ok := a.Values[DBusText(v)]; !ok {
			p.add(path+".values", "has no row for %q", DBusText(v))
		}
	}
}
