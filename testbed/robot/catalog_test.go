package robot_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

func shipped(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestServesWhatTheShippedCatalogBindsToIt(t *testing.T) {
	c := shipped(t)
	var want []string
	for m, op := range c.Operations {
		if op.Binding.Kind == "socket" && op.Binding.Name == robot.Service {
			want = append(want, string(m))
		}
	}
	slices.Sort(want)
	if got := home.Methods(); !slices.Equal(got, want) {
		t.Errorf("serves\n%q, the catalog binds\n%q", got, want)
	}
	for _, key := range home.Keys() {
		if _, known := c.Context[catalog.ContextKey(key)]; !known {
			t.Errorf("serves %s, which the catalog does not know", key)
		}
	}
	plan := home.Flat()
	for _, r := range c.Rooms {
		at, ok := plan.Find(string(r.ID))
		if !ok || at.Name != r.Name {
			t.Errorf("room %s (%s) is not on the floor plan", r.ID, r.Name)
		}
		if reached := plan.Route(plan.Dock, string(r.ID)) != nil; reached != r.Reachable {
			t.Errorf("room %s: a way leads there: %v, reachable in the catalog: %v", r.ID, reached, r.Reachable)
		}
	}
}

// Everything that a busy day brings fits the catalog's events, their data and the context's types.
func TestWhatItSaysFitsTheShippedCatalog(t *testing.T) {
	c := shipped(t)
	h := home.New(home.Flat(), home.Options{Battery: 60})
	seen := map[string]bool{}
	now := time.Duration(0)
	check := func() {
		now += 3 * time.Minute
		for _, e := range h.Advance(now) {
			if e.Event != nil {
				seen[e.Event.Name] = true
				checkEvent(t, c, e.Event)
			}
			for _, v := range e.Context {
				checkValue(t, c, v)
			}
		}
	}
	day := []func(){
		func() { h.Invoke(now, "1", "setMoveTo", map[string]any{"position": "study"}) },
		func() { h.Invoke(now, "2", "startBasicAirClear", map[string]any{"mode": "all", "duration_min": 2.0}) },
		func() { h.Invoke(now, "3", "setMoveTo", map[string]any{"position": "balcony"}) },
		func() {
			h.Invoke(now, "4", "startBasicAirClear", nil)
			h.Advance(now + time.Minute)
			h.Press(now+time.Minute, "stop")
		},
		func() { h.Press(now, "unstop") },
		func() { h.Press(now, "clean"); h.Press(now, "home") },
		func() { h.Press(now, "clean_stop") },
		func() { h.Invoke(now, "5", "startBasicAirClear", nil) },
		func() { h.Lift(now) },
		func() { h.Place(now, "kitchen") },
		func() { h.MoveByHand(now, "space_2") },
		func() { h.Invoke(now, "6", "getAirQuality", nil); h.Invoke(now, "7", "getBatteryStatus", nil) },
		func() { h.Invoke(now, "8", "startVitalSign", nil) },
		func() { h.CompleteVital(now) },
		func() { h.Invoke(now, "9", "startVitalSign", nil) },
		func() { h.CancelVital(now) },
		func() { h.Invoke(now, "10", "setNightMode", map[string]any{"on": true}) },
		func() { h.Invoke(now, "11", "setMannerMode", map[string]any{"on": true}) },
		func() {
			h.Invoke(now, "12", "setLlmTts", map[string]any{"text": "안녕하세요", "utterance_id": "u", "first": true})
		},
		func() {
			h.Invoke(now, "13", "setLlmTts", map[string]any{"text": "오늘의 이야기입니다", "session_id": "s"})
			h.Advance(now + time.Second)
			h.Say(now+time.Second, "멈춰")
			h.Invoke(now+time.Second, "14", "stopTts", nil)
		},
		func() { h.Answer(now, "yes"); h.Consent(now, "vital", "granted"); h.Consent(now, "vital", "revoked") },
		func() { h.Consent(now, "vital", "denied"); h.Fault(now, "lamp", "minor"); h.Press(now, "pause") },
		func() { h.Press(now, "resume"); h.Press(now, "takeover"); h.Press(now, "release") },
		func() {
			h.Invoke(now, "15", "returnToStation", nil)
			h.Advance(now + 3*time.Second)
			h.Cancel(now+3*time.Second, "15")
		},
	}
	for _, do := range day {
		do()
		check()
	}
	said := slices.Collect(maps.Keys(c.Events))
	slices.Sort(said)
	notOurs := []catalog.EventName{"content.cancelled", "content.completed", "content.started", "content.user_response", "consent.expired",
		"task.accepted", "task.done", "task.failed", "task.progress"}
	for _, name := range said {
		if !seen[string(name)] && !slices.Contains(notOurs, name) {
			t.Errorf("the day brought no %s", name)
		}
	}
}

func checkEvent(t *testing.T, c *catalog.Catalog, ev *home.Event) {
	t.Helper()
	known, ok := c.Events[catalog.EventName(ev.Name)]
	if !ok {
		t.Errorf("says %s, which the catalog does not know", ev.Name)
		return
	}
	if ev.Class != string(known.Class) || known.Resource != "" && ev.Resource != string(known.Resource) {
		t.Errorf("%s: class %q, resource %q; the catalog has %q, %q", ev.Name, ev.Class, ev.Resource, known.Class, known.Resource)
	}
	for field, v := range ev.Data {
		if p, ok := known.Data[field]; !ok || !fits(p.Type, v) {
			t.Errorf("%s: %s is %v (%T), the catalog wants %q", ev.Name, field, v, v, p.Type)
		}
	}
}

func checkValue(t *testing.T, c *catalog.Catalog, v home.Value) {
	t.Helper()
	key := c.Context[catalog.ContextKey(v.Key)]
	if v.Available && (!fits(key.Type, v.Value) || len(key.Enum) > 0 && !slices.Contains(key.Enum, v.Value)) {
		t.Errorf("%s is %v (%T), the catalog wants %q %v", v.Key, v.Value, v.Value, key.Type, key.Enum)
	}
}

func fits(typ catalog.Type, v any) bool {
	switch v.(type) {
	case string:
		return typ == catalog.String
	case bool:
		return typ == catalog.Boolean
	case float64:
		return typ == catalog.Number || typ == catalog.Integer
	}
	return false
}
