package conform

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	godbus "github.com/godbus/dbus/v5"
)

// wire turns a value of JSON into what the agent would send: whole numbers as x, others as d, no nulls.
func wire(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v)
		}
	case map[string]any:
		return variants(v)
	case []any:
		out := []godbus.Variant{}
		for _, x := range v {
			if x != nil {
				out = append(out, godbus.MakeVariant(wire(x)))
			}
		}
		return out
	}
	return v
}

func variants(m map[string]any) map[string]godbus.Variant {
	out := make(map[string]godbus.Variant, len(m))
	for k, v := range m {
		if v != nil {
			out[k] = godbus.MakeVariant(wire(v))
		}
	}
	return out
}

// plain turns what came over the bus into values of JSON. Errors: a type that has no counterpart, a number that is none.
func plain(v any) (any, error) {
	switch v := v.(type) {
	case bool, string:
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is no number", v)
		}
		return v, nil
	case godbus.ObjectPath:
		return string(v), nil
	case godbus.Variant:
		return plain(v.Value())
	case map[string]godbus.Variant:
		return plainMap(v)
	case []godbus.Variant:
		return plainList(v)
	case []string:
		return plainList(v)
	case []float64:
		return plainList(v)
	case []bool:
		return plainList(v)
	case []int32:
		return plainList(v)
	case []int64:
		return plainList(v)
	}
	if n, ok := whole(v); ok {
		return n, nil
	}
	return nil, fmt.Errorf("type %s has no counterpart", godbus.SignatureOf(v))
}

func whole(v any) (float64, bool) {
	switch v := v.(type) {
	case byte:
		return float64(v), true
	case int16:
		return float64(v), true
	case uint16:
		return float64(v), true
	case int32:
		return float64(v), true
	case uint32:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

func plainMap(m map[string]godbus.Variant) (map[string]any, error) {
	out := make(map[string]any, len(m))
	for k, v := range m {
		x, err := plain(v)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", k, err)
		}
		out[k] = x
	}
	return out, nil
}

func plainList[T any](in []T) (any, error) {
	out := make([]any, len(in))
	for i, v := range in {
		x, err := plain(v)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

// show prints what came over the bus, for people.
func show(v any) string {
	p, err := plain(v)
	if err != nil {
		return fmt.Sprintf("%v (%s)", v, godbus.SignatureOf(v))
	}
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Sprint(p)
	}
	if len(text) > 200 {
		return string(text[:200]) + "…"
	}
	return string(text)
}

func showAll(body []any) string {
	parts := make([]string, len(body))
	for i, v := range body {
		parts[i] = show(v)
	}
	return strings.Join(parts, ", ")
}

// signature of a body as the bus would write it.
func signature(body []any) string { return godbus.SignatureOf(body...).String() }
