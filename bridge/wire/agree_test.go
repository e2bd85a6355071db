package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestSchemaAndDecodeAgreeOnEveryChange changes each place of each golden message in every way of the list, and asks both. They
// may differ only where no schema can follow.
func TestSchemaAndDecodeAgreeOnEveryChange(t *testing.T) {
	schema := compileSchemas(t)
	changed := 0
	for name, message := range golden(t, "accept") {
		var doc any
		if err := json.Unmarshal(message, &doc); err != nil {
			t.Fatal(err)
		}
		way := wayOf(t, message)
		eachChange(doc, func(put func(any), del func(), where string) {
			check := func(how string) {
				changed++
				data, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				_, err = Decode(data, Options{AllowJSON: true, Direction: way})
				said := schemaAccepts(t, schema, data)
				if err == nil && said != nil && way == Up && strings.Contains(where+how, "unheard_of") {
					return // members of a newer device
				}
				if (err == nil) != (said == nil) && !beyondSchemas(err) {
					t.Errorf("%s: %s %s\nDecode: %v\nschema: %v", name, where, how, err, said)
				}
			}
			for _, v := range []any{nil, true, -1, 0, 1.5, "", "two words", strings.Repeat("x", 129), []any{}, []any{"a", "a"}, []any{1}, map[string]any{}, map[string]any{"unheard_of": "y"}} {
				put(v)
				check(fmt.Sprintf("= %.40v", v))
			}
			del()
			check("left out")
		})
	}
	if changed < 5000 {
		t.Errorf("only %d changes were tried", changed)
	}
}

// beyondSchemas says whether all faults are of the kinds that no schema can say.
func beyondSchemas(err error) bool {
	e, ok := errors.AsType[*DecodeError](err)
	if !ok {
		return false
	}
	return !slices.ContainsFunc(e.Faults, func(f Fault) bool {
		return f.ReasonCode != ReasonDuplicateStepID && !strings.HasSuffix(f.Path, "].cloud_workflow_id") && f.Path != "floor_seq"
	})
}

// eachChange visits every member and element, with a way to replace it and to leave it out; afterwards it is as before.
func eachChange(v any, visit func(put func(any), del func(), where string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			old := v[k]
			visit(func(n any) { v[k] = n }, func() { delete(v, k) }, k)
			v[k] = old
			eachChange(old, visit)
		}
		visit(func(n any) { v["unheard_of"] = n }, func() { delete(v, "unheard_of") }, "unheard_of")
	case []any:
		for i, old := range v {
			visit(func(n any) { v[i] = n }, func() { v[i] = old }, fmt.Sprint(i))
			v[i] = old
			eachChange(old, visit)
		}
	}
}
