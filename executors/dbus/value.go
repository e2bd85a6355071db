package dbus

import (
	"fmt"
	"math"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/condition"
)

// maxSafe is the largest whole number that a float64 holds exactly with all below it.
const maxSafe = 1 << 53

// coreValues turns variants into values of the core: bool, float64, string, []any, map[string]any.
func coreValues(m map[string]godbus.Variant) (core.Values, error) {
	if m == nil {
		return nil, nil
	}
	out := make(core.Values, len(m))
	for k, v := range m {
		x, err := coreValue(v.Value())
		if err != nil {
			return nil, fmt.Errorf("%.64q: %w", k, err)
		}
		out[k] = x
	}
	return out, nil
}

func coreValue(v any) (condition.Value, error) {
	switch v := v.(type) {
	case bool, string:
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is no number", v)
		}
		return v, nil
	case byte:
		return float64(v), nil
	case int16:
		return float64(v), nil
	case uint16:
		return float64(v), nil
	case int32:
		return float64(v), nil
	case uint32:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	case godbus.ObjectPath:
		return string(v), nil
	case godbus.Variant:
		return coreValue(v.Value())
	case map[string]godbus.Variant:
		return coreValues(v)
	case []godbus.Variant:
		return list(v)
	case []string:
		return list(v)
	case []float64:
		return list(v)
	case []bool:
		return list(v)
	case []int32:
		return list(v)
	case []int64:
		return list(v)
	}
	return nil, fmt.Errorf("a value of type %T has no counterpart here", v)
}

func list[T any](in []T) (condition.Value, error) {
	out := make([]any, len(in))
	for i, v := range in {
		x, err := coreValue(v)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

// variants turns values of the core into variants. A whole number travels as an integer (x), which any service reads; a value that is
// not there is left out, since D-Bus has no null.
func variants(m core.Values) map[string]godbus.Variant {
	out := make(map[string]godbus.Variant, len(m))
	for k, v := range m {
		if v != nil {
			out[k] = godbus.MakeVariant(busValue(v))
		}
	}
	return out
}

func busValue(v condition.Value) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= maxSafe {
			return int64(v)
		}
	case map[string]any:
		return variants(v)
	case []any:
		out := []godbus.Variant{}
		for _, x := range v {
			if x != nil {
				out = append(out, godbus.MakeVariant(busValue(x)))
			}
		}
		return out
	}
	return v
}
