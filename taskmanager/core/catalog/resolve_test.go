package catalog

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core/condition"
)

func limit(n float64) *float64 { return &n }

// home is a small catalog with every kind of parameter and variant.
func home() *Catalog {
	moves, stays := true, false
	guard := &condition.Condition{Ref: "ctx.battery.level", Op: condition.Ge, Value: 20.0}
	proof := &Expr{Leaf: &Leaf{Event: "sound.changed"}}
	return &Catalog{
		Etag: "e", RoomsEtag: "r",
		Operations: map[Method]Operation{
			"move": {Method: "move", Params: map[string]Param{"position": {Type: RoomRef, Required: true, Aliases: []string{"room"}}},
				Resources: []ResourceID{"base"}, Effects: []EffectID{"there"}, MovesBody: true},
			"clean": {Method: "clean", Params: map[string]Param{
				"mode":    {Type: String, Enum: []condition.Value{"fixed", "all"}, Default: "fixed"},
				"minutes": {Type: Integer, Minimum: limit(1), Maximum: limit(180), Default: 60.0},
				"speed":   {Type: Number, Minimum: limit(0)},
				"quiet":   {Type: Boolean}},
				Resources: []ResourceID{"cleaner"}, Effects: []EffectID{"active"}, MoreEffects: []EffectID{"completed"}, MinTier: "restricted",
				Variants: []Variant{
					{When: condition.Condition{Ref: "params.mode", Op: condition.Eq, Value: "all"}, Resources: []ResourceID{"cleaner", "base"}, MovesBody: &moves, Prerequisites: guard},
					{When: condition.Condition{Ref: "params.speed", Op: condition.Lt, Value: 1.0}, NoEffect: true, MovesBody: &stays, DoneEvidence: proof},
					{When: condition.Condition{Ref: "params.quiet", Op: condition.Eq, Value: true}, Effects: []EffectID{"silent"}}}},
			"sound": {Method: "sound", Params: map[string]Param{"level": {Type: Integer}, "mute": {Type: Boolean}}, AtLeastOne: []string{"level", "mute"}},
		},
		Rooms: []Room{
			{ID: "living_room", Name: "거실", Aliases: []string{"living room"}, Reachable: true},
			{ID: "kitchen", Name: "주방", Aliases: []string{"부엌", "Kitchen"}, Reachable: true},
			{ID: "kids_room", Name: "아이 방", Aliases: []string{"kids' room"}, Reachable: true},
			{ID: "attic", Name: "다락", Reachable: false},
		},
	}
}

func TestResolve(t *testing.T) {
	for _, tc := range []struct {
		name   string
		method Method
		params map[string]condition.Value
		args   map[string]condition.Value
		call   map[string]condition.Value
	}{
		{"a room by its alias, a parameter by its alias", "move", map[string]condition.Value{"room": "부엌"},
			map[string]condition.Value{"position": map[string]any{"room_id": "kitchen", "name": "주방"}}, map[string]condition.Value{"position": "kitchen"}},
		{"defaults", "clean", nil,
			map[string]condition.Value{"mode": "fixed", "minutes": 60.0}, map[string]condition.Value{"mode": "fixed", "minutes": 60.0}},
		{"null counts as not given", "clean", map[string]condition.Value{"mode": nil, "speed": nil, "minutes": 180.0},
			map[string]condition.Value{"mode": "fixed", "minutes": 180.0}, map[string]condition.Value{"mode": "fixed", "minutes": 180.0}},
		{"false is given", "sound", map[string]condition.Value{"mute": false}, map[string]condition.Value{"mute": false}, map[string]condition.Value{"mute": false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, faults := home().Resolve(tc.method, tc.params)
			if len(faults) > 0 || !reflect.DeepEqual(got.Args, tc.args) || !reflect.DeepEqual(got.Call, tc.call) {
				t.Fatalf("args %v, call %v, faults %v; want %v, %v", got.Args, got.Call, faults, tc.args, tc.call)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		method Method
		params map[string]condition.Value
		want   []string // "path reason: part of the message"
	}{
		{"unknown method", "fly", nil, []string{" unknown_method: \"fly\""}},
		{"unknown parameter", "move", map[string]condition.Value{"position": "거실", "speed": 1.0}, []string{"speed unknown_parameter: it has position"}},
		{"missing", "move", nil, []string{"position missing_parameter: a room"}},
		{"missing, given as null", "move", map[string]condition.Value{"room": nil}, []string{"position missing_parameter: a room"}},
		{"none of several", "sound", nil, []string{" missing_parameter: at least one of level, mute"}},
		{"given twice", "move", map[string]condition.Value{"position": "거실", "room": "주방"}, []string{"room bad_parameter: the same parameter"}},
		{"no text for a room", "move", map[string]condition.Value{"position": 1.0}, []string{"position bad_parameter: name of a room"}},
		{"unknown room", "move", map[string]condition.Value{"room": "거슬"}, []string{"room unknown_location: nearest: 거실"}},
		{"unreachable room", "move", map[string]condition.Value{"position": "다락"}, []string{"position room_unreachable: 다락"}},
		{"all at once, by name", "clean", map[string]condition.Value{"minutes": 0.0, "mode": "some", "quiet": "yes", "speed": -1.0, "wet": true}, []string{
			"minutes bad_parameter: is 0; it must be an integer from 1 to 180", "mode bad_parameter: one of fixed, all", "quiet bad_parameter: is \"yes\"; it must be a boolean",
			"speed bad_parameter: a number of at least 0", "wet unknown_parameter: no parameter \"wet\""}},
		{"above the maximum", "clean", map[string]condition.Value{"minutes": 181.0}, []string{"minutes bad_parameter: is 181"}},
		{"a fraction", "clean", map[string]condition.Value{"minutes": 1.5}, []string{"minutes bad_parameter: is 1.5"}},
		{"a word for a number", "clean", map[string]condition.Value{"minutes": "20"}, []string{"minutes bad_parameter: is \"20\""}},
		{"a long value is cut", "clean", map[string]condition.Value{"mode": strings.Repeat("가", 500)}, []string{"mode bad_parameter: …"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, faults := home().Resolve(tc.method, tc.params)
			if len(faults) != len(tc.want) || got.Args != nil {
				t.Fatalf("faults %q, args %v; want %q and no args", faults, got.Args, tc.want)
			}
			for i, want := range tc.want {
				head, words, _ := strings.Cut(want, ": ")
				path, reason, _ := strings.Cut(head, " ")
				if f := faults[i]; f.Path != path || f.Reason != reason || !strings.Contains(f.Message, words) || len(f.Message) > 400 {
					t.Errorf("fault %q, want %q", f, want)
				}
			}
		})
	}
}

func TestVariants(t *testing.T) {
	for _, tc := range []struct {
		name      string
		params    map[string]condition.Value
		resources []ResourceID
		effects   []EffectID
		optional  bool
		moves     bool
		tier      string
	}{
		{"none fits", nil, []ResourceID{"cleaner"}, []EffectID{"active"}, true, false, "restricted"},
		{"resources and motion", map[string]condition.Value{"mode": "all"}, []ResourceID{"cleaner", "base"}, []EffectID{"active"}, true, true, TierFull},
		{"no effect", map[string]condition.Value{"speed": 0.5}, []ResourceID{"cleaner"}, nil, false, false, "restricted"},
		{"another effect", map[string]condition.Value{"quiet": true, "speed": 2.0}, []ResourceID{"cleaner"}, []EffectID{"silent"}, true, false, "restricted"},
		{"the first that fits", map[string]condition.Value{"mode": "all", "speed": 0.5}, []ResourceID{"cleaner", "base"}, []EffectID{"active"}, true, true, TierFull},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := home()
			got, faults := c.Resolve("clean", tc.params)
			op := got.Operation
			if len(faults) > 0 || !slices.Equal(op.Resources, tc.resources) || !slices.Equal(op.Effects, tc.effects) ||
				(op.MoreEffects != nil) != tc.optional || op.MovesBody != tc.moves || op.MinTier != tc.tier || op.Variants != nil {
				t.Fatalf("%+v, faults %v", op, faults)
			}
			if (op.Prerequisites != nil) != tc.moves || (op.DoneEvidence != nil) == tc.optional {
				t.Errorf("prerequisites %v, done evidence %v", op.Prerequisites, op.DoneEvidence)
			}
			if !reflect.DeepEqual(c.Operations["clean"], home().Operations["clean"]) {
				t.Errorf("the catalog was changed")
			}
		})
	}
}

func TestFindRoom(t *testing.T) {
	for _, tc := range []struct {
		name       string
		want       RoomID // "" where none is found
		candidates []string
	}{
		{"kitchen", "kitchen", nil}, {"KITCHEN", "kitchen", nil}, {"부 엌", "kitchen", nil}, {"living-room", "living_room", nil}, {" Living  Room ", "living_room", nil},
		{"아이방", "kids_room", nil}, {"kids’ room", "kids_room", nil}, {"kids room", "kids_room", nil}, {"다락", "attic", nil},
		{"거슬", "", []string{"거실", "주방", "아이 방"}}, {"kichen", "", []string{"주방"}}, {"", "", []string{"거실"}}, {strings.Repeat("방", 10000), "", nil},
	} {
		room, ok, candidates := home().FindRoom(tc.name)
		if room.ID != tc.want || ok != (tc.want != "") || len(candidates) < len(tc.candidates) || !slices.Equal(candidates[:len(tc.candidates)], tc.candidates) {
			t.Errorf("%.20q: room %q, ok %v, candidates %v; want %q, %v", tc.name, room.ID, ok, candidates, tc.want, tc.candidates)
		}
		if slices.Contains(candidates, "다락") || len(candidates) > 3 {
			t.Errorf("%.20q: candidates %v hold what cannot be reached, or are too many", tc.name, candidates)
		}
	}
}

func TestFindRoomAmbiguous(t *testing.T) {
	c := home().WithRooms([]Room{{ID: "a", Name: "방", Reachable: true}, {ID: "b", Name: "작은 방", Aliases: []string{"방"}, Reachable: true}, {ID: "c", Name: "다른 방", Reachable: true}}, "other")
	if room, ok, candidates := c.FindRoom("방"); ok || !slices.Equal(candidates, []string{"방", "작은 방"}) {
		t.Fatalf("room %v, ok %v, candidates %v", room, ok, candidates)
	}
	if c.RoomsEtag != "other" || c.Etag != "e" || len(home().Rooms) != 4 {
		t.Fatalf("etags %q and %q", c.Etag, c.RoomsEtag)
	}
	if room, ok, _ := c.FindRoom("a"); !ok || room.ID != "a" {
		t.Fatalf("an exact id does not win: %v", room)
	}
}

func TestRef(t *testing.T) {
	args := map[string]condition.Value{"position": map[string]any{"room_id": "kitchen", "name": "주방"}, "level": 3.0}
	for _, tc := range []struct {
		in, want condition.Value
		ok       bool
	}{
		{"$level", 3.0, true}, {"$position.room_id", "kitchen", true}, {"$position.name", "주방", true}, {"$mute", nil, false},
		{"$position.floor", nil, false}, {"$level.x", nil, false}, {"level", "level", true}, {5.0, 5.0, true}, {nil, nil, true}, {"", "", true},
	} {
		if got, ok := Ref(tc.in, args); ok != tc.ok || !condition.Equal(got, tc.want) {
			t.Errorf("Ref(%v) = %v, %v; want %v, %v", tc.in, got, ok, tc.want, tc.ok)
		}
	}
}

func TestDurationFor(t *testing.T) {
	args := map[string]condition.Value{"minutes": 20.0, "mode": "all"}
	for _, tc := range []struct {
		d    Duration
		want int64
	}{
		{Duration{}, 0}, {Duration{PlusMS: 5}, 5}, {Duration{Per: "minutes", PerMS: 60000, PlusMS: 300000}, 1500000},
		{Duration{Per: "absent", PerMS: 60000, PlusMS: 7}, 7}, {Duration{Per: "mode", PerMS: 60000, PlusMS: 7}, 7},
	} {
		if got := tc.d.For(args); got != tc.want {
			t.Errorf("%+v: %d ms, want %d", tc.d, got, tc.want)
		}
	}
}

func TestProviders(t *testing.T) {
	c := home()
	for effect, want := range map[EffectID][]Method{"active": {"clean"}, "completed": {"clean"}, "silent": {"clean"}, "there": {"move"}, "nothing": nil} {
		if got := c.Providers(effect); !slices.Equal(got, want) {
			t.Errorf("providers of %s: %v, want %v", effect, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"거실", "거실", 0}, {"거슬", "거실", 1}, {"안방", "안박", 1}, {"kichen", "kitchen", 1}, {"abc", "", 3}, {"주방", "부엌", 4}} {
		if got := distance(letters(tc.a), letters(tc.b)); got != tc.want || distance(letters(tc.b), letters(tc.a)) != got {
			t.Errorf("distance(%q, %q) = %d, want %d, both ways", tc.a, tc.b, got, tc.want)
		}
	}
}
