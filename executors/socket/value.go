package socket

import (
	"math"

	"deviceagent/taskmanager/core/condition"
)

// maxSafe is the largest whole number that a float64 holds exactly with all below it.
const maxSafe = 1 << 53

// coreValues turns decoded values into those of the core, in place: nil, bool, float64, string, []any, map[string]any.
func coreValues(m values) (values, error) {
	for k, v := range m {
		n, err := coreValue(v)
		if err != nil {
			return nil, err
		}
		m[k] = n
	}
	return m, nil
}

func coreValue(v condition.Value) (condition.Value, error) {
	switch v := v.(type) {
	case nil, bool, float64, string:
		return v, nil
	case uint64:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case map[string]any:
		return coreValues(v)
	case []any:
		for i := range v {
			n, err := coreValue(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = n
		}
		return v, nil
	}
	return nil, badFrame("a value is none of null, boolean, number, text, array and map with text keys")
}

// wireValues copies values for the wire: a whole number travels as an integer, which any small decoder reads.
func wireValues(m values) values {
	if len(m) == 0 {
		return nil
	}
	out := make(values, len(m))
	for k, v := range m {
		out[k] = wireValue(v)
	}
	return out
}

func wireValue(v condition.Value) condition.Value {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= maxSafe {
			return int64(v)
		}
	case map[string]any:
		return wireValues(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = wireValue(v[i])
		}
		return out
	}
	return v
}
