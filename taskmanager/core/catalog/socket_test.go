package catalog

import (
	"fmt"
	"strings"
	"testing"
)

// guarded is a catalog in which lidar claims what it says, lamp claims nothing, and display claims a key only.
func guarded() *Catalog {
	bound := func(name string, s *Socket) Operation {
		return Operation{Binding: Binding{Kind: "socket", Name: name, Socket: s}}
	}
	return &Catalog{
		Operations: map[Method]Operation{
			"a": bound("lidar", &Socket{User: "lidar", Keys: []ContextKey{"movement.location"}, Events: []EventName{"movement.arrived"}}),
			"b": bound("lidar", nil), "c": bound("lamp", nil), "d": bound("display", &Socket{Keys: []ContextKey{"display.brightness"}}),
		},
	}
}

func TestWhatTheCatalogLeavesToAService(t *testing.T) {
	c := guarded()
	for _, tc := range []struct {
		service    string
		key        ContextKey
		event      EventName
		speak, say bool
	}{
		{"lidar", "movement.location", "movement.arrived", true, true},
		{"lidar", "battery.level", "station.docked", false, false}, // it has a list, and this is not on it
		{"lamp", "movement.location", "movement.arrived", false, false},
		{"lamp", "battery.level", "station.docked", true, true},
		{"display", "battery.level", "movement.arrived", false, false}, // no list of events is no list of none
		{"display", "display.brightness", "station.docked", true, true},
		{"nobody", "movement.location", "movement.arrived", false, false},
		{"nobody", "battery.level", "station.docked", true, true},
	} {
		if got := c.MaySpeak(tc.service, tc.key); got != tc.speak {
			t.Errorf("%s of %s: %v", tc.service, tc.key, got)
		}
		if got := c.MayReport(tc.service, tc.event); got != tc.say {
			t.Errorf("%s reports %s: %v", tc.service, tc.event, got)
		}
	}
	if s := c.SocketOf("lidar"); s == nil || s.User != "lidar" {
		t.Errorf("what is said at one operation holds for the service: %+v", s)
	}
}

func TestFaultsOfASocketBinding(t *testing.T) {
	for _, tc := range []struct {
		name, fault string
		change      func(*Catalog)
	}{
		{"of another kind", "this is kind dbus", func(c *Catalog) {
			c.Operations["x"] = Operation{Method: "x", Binding: Binding{Kind: "dbus", Name: "y", Socket: &Socket{User: "a"}}}
		}},
		{"said twice", "say it once", func(c *Catalog) {
			c.Operations["x"] = Operation{Method: "x", Binding: Binding{Kind: "socket", Name: "lidar", Socket: &Socket{User: "root"}}}
		}},
		{"no name", "no name of a user", func(c *Catalog) {
			c.Operations["x"] = Operation{Method: "x", Binding: Binding{Kind: "socket", Name: "y", Socket: &Socket{User: "a:b"}}}
		}},
		{"no group", "no name of a user", func(c *Catalog) {
			c.Operations["x"] = Operation{Method: "x", Binding: Binding{Kind: "socket", Name: "y", Socket: &Socket{Group: "-g"}}}
		}},
		{"unknown key", `"lamp.level" does not exist`, func(c *Catalog) {
			c.Operations["x"] = Operation{Method: "x", Binding: Binding{Kind: "socket", Name: "y", Socket: &Socket{Keys: []ContextKey{"lamp.level"}}}}
		}},
		{"unknown event", `"lamp.broke" does not exist`, func(c *Catalog) {
			c.Operations["x"] = Operation{Method: "x", Binding: Binding{Kind: "socket", Name: "y", Socket: &Socket{Events: []EventName{"lamp.broke"}}}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := guarded()
			tc.change(c)
			k := &checker{c: c}
			k.socket(c.Operations["x"])
			if len(k.faults) != 1 || !strings.Contains(fmt.Sprint(k.faults[0]), tc.fault) {
				t.Fatalf("faults %v, want one with %q", k.faults, tc.fault)
			}
		})
	}
	c := guarded()
	k := &checker{c: c}
	k.c.Context = map[ContextKey]Key{"movement.location": {}, "display.brightness": {}}
	k.c.Events = map[EventName]Event{"movement.arrived": {}}
	for _, op := range c.Operations {
		k.socket(op)
	}
	if len(k.faults) > 0 {
		t.Errorf("faults in a good catalog: %v", k.faults)
	}
}
