package catalog_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager/core/catalog"
)

// A plan is stored with the proof that it was accepted for. What a restart reads must still be able to prove something.
func TestProofSurvivesStoring(t *testing.T) {
	want := catalog.Expr{Any: []catalog.Expr{
		{Leaf: &catalog.Leaf{Event: "sound.changed", Match: map[string]any{"level": "$level"}, Correlate: "task_id"}},
		{All: []catalog.Expr{{Leaf: &catalog.Leaf{Context: "sound.volume", Op: "eq", Value: "$level", StableForMS: 500}}}},
	}}
	for name, c := range map[string]struct {
		write func(any) ([]byte, error)
		read  func([]byte, any) error
	}{"json": {json.Marshal, json.Unmarshal}, "cbor": {cbor.Marshal, cbor.Unmarshal}} {
		data, err := c.write(want)
		if err != nil {
			t.Fatal(err)
		}
		var got catalog.Expr
		if err := c.read(data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s gives %+v (%v), want %+v", name, data, got, err, want)
		}
	}
}
