package wire

import (
	"encoding/json"
	"fmt"
)

// Object is a JSON object of free values: the params of an operation, an output.
type Object map[string]Value

// Value is one free JSON value inside a message, held as what encoding/json makes of it: nil, bool, float64, string, []any
// (of such), map[string]any (of such). Both encodings give the same Value: an integral float and an integer are one number.
type Value struct{ V any }

// IsZero says whether the value is absent (also: null).
func (v Value) IsZero() bool { return v.V == nil }

// Map is the object as plain Go values, as encoding/json would make them. A nil object gives nil.
func (o Object) Map() map[string]any {
	if o == nil {
		return nil
	}
	m := make(map[string]any, len(o))
	for k, v := range o {
		m[k] = v.V
	}
	return m
}

// ObjectOf holds a map of plain Go values. Integers of any width become float64, lists and maps of plain values their free form.
// What no message can hold (a channel, a struct, …) is kept as it is, and Encode refuses it. A nil map gives nil.
func ObjectOf(m map[string]any) Object {
	if m == nil {
		return nil
	}
	o := make(Object, len(m))
	for k, v := range m {
		o[k] = ValueOf(v)
	}
	return o
}

// ValueOf holds one plain Go value, with the same conversions as ObjectOf.
func ValueOf(v any) Value {
	if plain, err := normal(v); err == nil {
		return Value{plain}
	}
	return Value{v}
}

// normal turns a Go value into the forms that Value promises. It copies lists and maps, so the caller's may change later.
func normal(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, float64:
		return v, nil
	case Value:
		return normal(v.V)
	case Object:
		return normalMap(v.Map())
	case map[string]any:
		return normalMap(v)
	case []any:
		return normalList(v)
	case []string:
		return normalList(v)
	case map[string]string:
		return normalMap(v)
	case float32:
		return float64(v), nil
	}
	return normalInt(v)
}

func normalInt(v any) (any, error) {
	switch v := v.(type) {
	case int:
		return exact(int64(v))
	case int8:
		return float64(v), nil
	case int16:
		return float64(v), nil
	case int32:
		return float64(v), nil
	case int64:
		return exact(v)
	case uint8:
		return float64(v), nil
	case uint16:
		return float64(v), nil
	case uint32:
		return float64(v), nil
	}
	return nil, fmt.Errorf("cannot hold %T in a message", v)
}

// exact refuses an integer that float64 would round: a wrong number in the home is worse than none.
func exact(v int64) (any, error) {
	if v > maxSafeInt || v < -maxSafeInt {
		return nil, fmt.Errorf("cannot hold %d in a message: it is outside ±(2^53-1)", v)
	}
	return float64(v), nil
}

func normalMap[T any](m map[string]T) (any, error) {
	out := make(map[string]any, len(m))
	for k, v := range m {
		plain, err := normal(v)
		if err != nil {
			return nil, err
		}
		out[k] = plain
	}
	return out, nil
}

func normalList[T any](list []T) (any, error) {
	out := make([]any, 0, len(list))
	for _, v := range list {
		plain, err := normal(v)
		if err != nil {
			return nil, err
		}
		out = append(out, plain)
	}
	return out, nil
}

// MarshalCBOR writes the value deterministically: an integral number as an integer, names in order.
func (v Value) MarshalCBOR() ([]byte, error) { return appendValue(nil, v.V) }

// UnmarshalCBOR reads one value of deterministic CBOR; other forms are errors.
func (v *Value) UnmarshalCBOR(data []byte) error {
	plain, end, err := readValue(data, 0)
	if err != nil {
		return fmt.Errorf("cannot decode value: %w", err)
	}
	if end != len(data) {
		return fmt.Errorf("cannot decode value: %w", malformed(end, "bytes follow the value"))
	}
	v.V = plain
	return nil
}

// MarshalJSON writes the value as JSON.
func (v Value) MarshalJSON() ([]byte, error) {
	plain, err := normal(v.V)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// UnmarshalJSON reads any JSON value.
func (v *Value) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &v.V) }
