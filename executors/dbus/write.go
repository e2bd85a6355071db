package dbus

import (
	"fmt"
	"math"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// given is what the arguments of a mapped call are made of.
type given struct {
	task   core.TaskID
	handle any // as the service gave it
	params core.Values
}

// args makes the arguments of a call. An error means that the call cannot be made.
func (g given) args(list []catalog.DBusArg) ([]any, error) {
	out := make([]any, len(list))
	for i, a := range list {
		v, ok, err := g.arg(a)
		if err == nil && !ok {
			err = fmt.Errorf("%s was not given", a.Param)
		}
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		out[i] = v
	}
	return out, nil
}

// arg makes one argument; ok is false where a parameter was not given.
func (g given) arg(a catalog.DBusArg) (v any, ok bool, err error) {
	t := a.Type
	if t == "v" {
		t = a.Of
	}
	switch {
	case a.Handle && g.handle == nil:
		return nil, false, fmt.Errorf("the service has not told its id of the task")
	case a.Handle:
		v, err = handleAs(t, g.handle)
	case a.Fields != nil:
		v, err = g.dict(a.Fields)
	case a.Task:
		v, err = written(t, string(g.task))
	case a.Value != nil:
		v, err = written(t, a.Value)
	default:
		have, there := g.param(a)
		if !there {
			return nil, false, nil
		}
		v, err = written(t, have)
	}
	if err == nil && a.Type == "v" {
		v = godbus.MakeVariant(v)
	}
	return v, err == nil, err
}

func (g given) dict(fields map[string]catalog.DBusArg) (map[string]godbus.Variant, error) {
	out := map[string]godbus.Variant{}
	for name, a := range fields {
		v, ok, err := g.arg(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if variant, is := v.(godbus.Variant); ok && is {
			out[name] = variant
		} else if ok {
			out[name] = godbus.MakeVariant(v)
		}
	}
	return out, nil
}

// param gives a parameter as the service wants it. The room that it names travels as its id already.
func (g given) param(a catalog.DBusArg) (condition.Value, bool) {
	name, _ := catalog.DBusPath(a.Param)
	v, ok := g.params[name]
	if !ok || v == nil {
		return nil, false
	}
	if a.Values != nil {
		mapped, known := a.Values[catalog.DBusText(v)]
		if !known {
			return v, true // written as it is, where its type fits
		}
		return mapped, true
	}
	if n, is := v.(float64); is && a.Scale != 0 {
		v = n * a.Scale
		if a.Type != "d" && a.Of != "d" {
			v = math.Round(n * a.Scale)
		}
	}
	return v, true
}

// written makes a value of a type of the bus.
func written(t string, v condition.Value) (any, error) {
	if !catalog.BusFits(t, v) {
		return nil, fmt.Errorf("%.64v does not fit the type %s", v, t)
	}
	n, _ := v.(float64)
	switch t {
	case "y":
		return byte(n), nil
	case "n":
		return int16(n), nil
	case "q":
		return uint16(n), nil
	case "i":
		return int32(n), nil
	case "u":
		return uint32(n), nil
	case "x":
		return int64(n), nil
	case "t":
		return uint64(n), nil
	case "o":
		return godbus.ObjectPath(v.(string)), nil
	case "g":
		sig, err := godbus.ParseSignature(v.(string))
		return sig, err
	case "as":
		return texts(v), nil
	}
	return v, nil
}

func texts(v condition.Value) []string {
	if one, ok := v.(string); ok {
		return []string{one}
	}
	out := []string{}
	for _, x := range v.([]any) {
		out = append(out, x.(string))
	}
	return out
}

// handleAs gives the service's own id back as the type that its method takes.
func handleAs(t string, handle any) (any, error) {
	if godbus.SignatureOf(handle).String() == t {
		return handle, nil
	}
	v, err := plain(handle)
	if err != nil {
		return nil, err
	}
	if t == "s" || t == "o" || t == "g" {
		text, err := textOf(handle)
		if err != nil {
			return nil, err
		}
		v = text
	}
	return written(t, v)
}
