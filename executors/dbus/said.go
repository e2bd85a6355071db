package dbus

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// said is what a mapped service said: the arguments of a signal or a reply, or the value of a property. Its places are written as in
// [catalog.DBusField]. Nothing of it is trusted: a place that is not there and a type that does not fit are errors.
type said struct {
	body     []any
	property bool
}

// raw gives what is at a place, as the bus library has it, out of its variant.
func (s said) raw(place string) (any, error) {
	if place == "" && s.property {
		place = "value"
	} else if place == "" {
		place = "0"
	}
	root, rest := catalog.DBusPath(place)
	n, err := strconv.Atoi(root)
	switch {
	case s.property != (root == "value"):
		return nil, fmt.Errorf("%q is no place in what was said", place)
	case s.property:
		n = 0
	case err != nil:
		return nil, fmt.Errorf("%q is no place in what was said", place)
	}
	if n < 0 || n >= len(s.body) {
		return nil, fmt.Errorf("there is no argument %s, only %d", root, len(s.body))
	}
	v := bare(s.body[n])
	for _, step := range rest {
		if v, err = member(v, step); err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
	}
	return v, nil
}

// bare takes a value out of its variants.
func bare(v any) any {
	for {
		in, ok := v.(godbus.Variant)
		if !ok {
			return v
		}
		v = in.Value()
	}
}

// member gives a member of a struct or an array by its number, or of a dictionary by its key.
func member(v any, step string) (any, error) {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice:
		n, err := strconv.Atoi(step)
		if err != nil || n < 0 || n >= r.Len() {
			return nil, fmt.Errorf("there is no member %q of %d", step, r.Len())
		}
		return bare(r.Index(n).Interface()), nil
	case reflect.Map:
		for _, key := range r.MapKeys() {
			if text, err := textOf(key.Interface()); err == nil && text == step {
				return bare(r.MapIndex(key).Interface()), nil
			}
		}
		return nil, fmt.Errorf("there is no member %q", step)
	}
	return nil, fmt.Errorf("a value of type %T has no members", v)
}

// textOf gives the text of a scalar: of ids, and for the rows of a value map. It is exact for all integers.
func textOf(v any) (string, error) {
	switch v := bare(v).(type) {
	case string:
		return v, nil
	case godbus.ObjectPath:
		return string(v), nil
	case godbus.Signature:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case byte, int16, uint16, int32, uint32, int64, uint64:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("a value of type %T is no text, number or boolean", v)
}

// plain gives a value of the core: bool, float64, string, []any, map[string]any.
func plain(v any) (condition.Value, error) {
	switch v := bare(v).(type) {
	case bool, string:
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is no number", v)
		}
		return v, nil
	case godbus.UnixFD, godbus.UnixFDIndex:
		return nil, errors.New("a file descriptor has no counterpart here")
	case godbus.ObjectPath:
		return string(v), nil
	case godbus.Signature:
		return v.String(), nil
	case byte, int16, uint16, int32, uint32, int64, uint64:
		return whole(reflect.ValueOf(v))
	default:
		return group(reflect.ValueOf(v))
	}
}

func whole(r reflect.Value) (condition.Value, error) {
	n := 0.0
	if r.CanInt() {
		n = float64(r.Int())
	} else {
		n = float64(r.Uint())
	}
	if math.Abs(n) > maxSafe {
		return nil, fmt.Errorf("%v is too large to be held exactly", r.Interface())
	}
	return n, nil
}

// group reads arrays, structs and dictionaries.
func group(r reflect.Value) (condition.Value, error) {
	switch r.Kind() {
	case reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			v, err := plain(r.Index(i).Interface())
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case reflect.Map:
		object := make(map[string]any, r.Len())
		for _, key := range r.MapKeys() {
			name, err := textOf(key.Interface())
			if err != nil {
				return nil, err
			}
			if object[name], err = plain(r.MapIndex(key).Interface()); err != nil {
				return nil, fmt.Errorf("%.64q: %w", name, err)
			}
		}
		return object, nil
	case reflect.Invalid:
		return nil, errors.New("there is no value")
	}
	return nil, fmt.Errorf("a value of type %s has no counterpart here", r.Type())
}

// fits says whether all of a match hold. An error means that it cannot be read, which is no match either.
func (s said) fits(match map[string]condition.Value) (bool, error) {
	for place, want := range match {
		raw, err := s.raw(place)
		if err != nil {
			return false, err
		}
		have, err := plain(raw)
		if err != nil {
			return false, err
		}
		list, ok := want.([]any)
		if !ok {
			list = []any{want}
		}
		if !slices.ContainsFunc(list, func(one any) bool { return reflect.TypeOf(one) == reflect.TypeOf(have) }) {
			return false, fmt.Errorf("%s is a %T, and a %T is looked for", place, have, list[0])
		}
		if !slices.ContainsFunc(list, func(one any) bool { return condition.Equal(have, one) }) {
			return false, nil
		}
	}
	return true, nil
}

// errNoValue says that a value map has no row for what was said: it is no fault of the service, and no value.
var errNoValue = errors.New("the values of the map have no row for it")

// value gives what a field of a mapping makes of what was said. want is the type that it must have; "" for any.
func (s said) value(f catalog.DBusField, want catalog.Type, enum []condition.Value) (condition.Value, error) {
	v, err := s.mapped(f)
	if err != nil {
		return nil, err
	}
	if want != "" && !condition.Fits(v, string(want)) {
		return nil, fmt.Errorf("%s: is %.64v, and a %s is wanted", f.Field, v, want)
	}
	for _, one := range enum {
		if condition.Equal(v, one) {
			return v, nil
		}
	}
	if len(enum) > 0 {
		return nil, fmt.Errorf("%s: %.64v is none of what the catalog knows", f.Field, v)
	}
	return v, nil
}

func (s said) mapped(f catalog.DBusField) (condition.Value, error) {
	if f.Value != nil {
		return f.Value, nil
	}
	raw, err := s.raw(f.Field)
	if err != nil {
		return nil, err
	}
	if f.Values != nil {
		text, err := textOf(raw)
		if err != nil {
			return nil, err
		}
		if v, ok := f.Values[text]; ok {
			return v, nil
		}
		if f.Else == nil {
			return nil, fmt.Errorf("%.64q: %w", text, errNoValue)
		}
		return f.Else, nil
	}
	v, err := plain(raw)
	if err != nil || f.Scale == 0 && f.Offset == 0 {
		return v, err
	}
	n, ok := v.(float64)
	if !ok {
		return nil, fmt.Errorf("%.64v is no number to be scaled", v)
	}
	if f.Scale != 0 {
		n *= f.Scale
	}
	return n + f.Offset, nil
}

// values reads a set of fields, each of the type that it is declared with.
func (s said) values(fields map[string]catalog.DBusField, declared map[string]catalog.Param) (core.Values, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	out := core.Values{}
	for name, f := range fields {
		v, err := s.value(f, declared[name].Type, declared[name].Enum)
		if errors.Is(err, errNoValue) {
			continue // left out, as what is not there is
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

// reason reads a reason code; the fallback where there is none that is a code.
func (s said) reason(f *catalog.DBusField, fallback core.Reason) core.Reason {
	if f == nil {
		return fallback
	}
	v, err := s.value(*f, "", nil)
	text, ok := v.(string)
	if err != nil || !ok {
		return fallback
	}
	return reasonOf(text, fallback)
}
