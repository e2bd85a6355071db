package bridge_test

import (
	"maps"
	"testing"

	"deviceagent/bridge"
	"deviceagent/taskmanager/core/catalog"
)

// with is the default catalog with one more operation, "make", and with other rooms where some are given.
func with(t *testing.T, op catalog.Operation, rooms ...catalog.Room) *catalog.Catalog {
	t.Helper()
	cat := *defaultCatalog(t)
	cat.Operations = maps.Clone(cat.Operations)
	op.Method = "make"
	cat.Operations["make"] = op
	if rooms != nil {
		cat.Rooms = rooms
	}
	return &cat
}

const makeFromCloud = `{"cloud_step_id":"a","execution_target":"cloud","skill":"rest_guidance","output_key":"o"},
 {"cloud_step_id":"b","taskMethod":"make","depends_on":["a"],"input_from":{"x":"o.x"}}`

func TestEveryTypeCanStandIn(t *testing.T) {
	five, minus := 5.0, -5.0
	attic := catalog.Room{ID: "attic", Name: "다락방"}
	cellar := catalog.Room{ID: "cellar", Name: "지하실", Reachable: true}
	for _, tc := range []struct {
		name  string
		param catalog.Param
		rooms []catalog.Room
		want  string
	}{
		{"text", catalog.Param{Type: catalog.String, Required: true}, nil, ""},
		{"one of several", catalog.Param{Type: catalog.String, Enum: []any{"low", "high"}, Required: true}, nil, ""},
		{"boolean", catalog.Param{Type: catalog.Boolean, Required: true}, nil, ""},
		{"number", catalog.Param{Type: catalog.Number, Required: true}, nil, ""},
		{"integer of at least five", catalog.Param{Type: catalog.Integer, Minimum: &five, Required: true}, nil, ""},
		{"integer of at most minus five", catalog.Param{Type: catalog.Integer, Maximum: &minus, Required: true}, nil, ""},
		{"room, the first out of reach", catalog.Param{Type: catalog.RoomRef, Required: true}, []catalog.Room{attic, cellar}, ""},
		{"room where none can be reached", catalog.Param{Type: catalog.RoomRef, Required: true}, []catalog.Room{attic}, "§1.input_from.x unknown_location"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cat := with(t, catalog.Operation{Params: map[string]catalog.Param{"x": tc.param}}, tc.rooms...)
			plan, faults := bridge.CheckPlan(cat, readPlan(t, planBody("", makeFromCloud)))
			if got := faultLines(faults); got != want(tc.want) {
				t.Fatalf("faults %s, want %s", got, want(tc.want))
			}
			if _, stays := plan.Steps[1].Call["x"]; stays {
				t.Error("the stand-in is sent")
			}
		})
	}
}

func TestTimeOutThatNobodyCanBound(t *testing.T) {
	cat := with(t, catalog.Operation{Params: map[string]catalog.Param{"x": {Type: catalog.Number, Required: true}}, Timeout: catalog.Duration{Per: "x", PerMS: 1000}})
	_, faults := bridge.CheckPlan(cat, readPlan(t, planBody("", makeFromCloud)))
	if got := faultLines(faults); got != want("§1.timeout_ms missing_field") {
		t.Fatalf("faults %q", got)
	}
}

func TestMotionWithoutProof(t *testing.T) {
	cat := with(t, catalog.Operation{MovesBody: true})
	_, faults := bridge.CheckPlan(cat, readPlan(t, planBody("", `{"cloud_step_id":"a","taskMethod":"make"}`)))
	if got := faultLines(faults); got != want("§0.taskMethod effect_not_provided") {
		t.Fatalf("faults %q", got)
	}
}

func TestHumanPacedHasNoTimeOutUnlessThePlanNamesOne(t *testing.T) {
	plan := grounded(t, "", `{"cloud_step_id":"a","taskMethod":"startVitalSign"},{"cloud_step_id":"b","taskMethod":"startVitalSign","timeout_ms":5000},{"cloud_step_id":"c","taskMethod":"getAirQuality"}`)
	for i, want := range []int64{0, 5000, 10_000} {
		if got := plan.Steps[i].TimeoutMS; got != want {
			t.Errorf("step %d: time-out %d ms, want %d", i, got, want)
		}
	}
}
