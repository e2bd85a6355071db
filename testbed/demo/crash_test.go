package demo

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/home"
)

func plan(methods ...string) (out []wire.Request) {
	for _, m := range methods {
		out = append(out, wire.Request{TaskMethod: m})
	}
	return out
}

func TestCrashPoint(t *testing.T) {
	for _, tc := range []struct {
		name  string
		plan  []wire.Request
		at    home.Kind
		speed float64
		ok    bool
	}{
		{"a cleaning lasts long enough at full speed", plan("setMoveTo", "startBasicAirClear"), home.KindCleaningStart, fastSpeed, true},
		{"a movement alone needs a slower home", plan("setScreen", "returnToStation"), home.KindMotionStart, slowSpeed, true},
		{"nothing to interrupt", plan("setScreen"), "", 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at, speed, ok := crashPoint(tc.plan)
			if at != tc.at || speed != tc.speed || ok != tc.ok {
				t.Errorf("crash at %q, speed %g, %v; want %q, %g, %v", at, speed, ok, tc.at, tc.speed, tc.ok)
			}
		})
	}
}

func TestAuditOfTheRobotsLog(t *testing.T) {
	move := func(task string) []home.Entry {
		return []home.Entry{{Kind: home.KindMotionStart, TaskID: task, Room: "kitchen"}, {Kind: home.KindMotionEnd, TaskID: task, Room: "kitchen", Reason: "arrived"}}
	}
	clean := func(task string) []home.Entry {
		return []home.Entry{{Kind: home.KindCleaningStart, TaskID: task}, {Kind: home.KindCleaningEnd, TaskID: task}}
	}
	for _, tc := range []struct {
		name  string
		log   [][]home.Entry
		fault string // a part of one fault; empty: none
	}{
		{"each once", [][]home.Entry{move("t-1"), clean("t-2")}, ""},
		{"a movement that was not needed", [][]home.Entry{clean("t-2")}, ""},
		{"the same task twice", [][]home.Entry{move("t-1"), move("t-1")}, "second motion"},
		{"the same step under another task", [][]home.Entry{move("t-1"), move("t-9")}, "asked for 1 movements, the robot made 2"},
		{"the cleaning again under another task", [][]home.Entry{clean("t-2"), clean("t-3")}, "asked for 1 cleanings, the robot made 2"},
		{"two at once", [][]home.Entry{move("t-1")[:1], move("t-9")}, "begins while"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := audit(slices.Concat(tc.log...), home.KindMotionStart, plan("setMoveTo", "startBasicAirClear"))
			got := strings.Join(c.Faults, "; ")
			if (tc.fault == "") != (got == "") || !strings.Contains(got, tc.fault) {
				t.Errorf("faults %q, want %q", got, tc.fault)
			}
			if c.KilledDuring != "movement" {
				t.Errorf("killed during %q", c.KilledDuring)
			}
		})
	}
}
