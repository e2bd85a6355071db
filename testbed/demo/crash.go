package demo

import (
	"bytes"
	"fmt"
	"os"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/home"
)

// bodyWork says which operations move the body or run the cleaner, and so can be interrupted by a crash and must not be repeated.
var bodyWork = map[string]home.Kind{
	"setMoveTo":          home.KindMotionStart,
	"returnToStation":    home.KindMotionStart,
	"startBasicAirClear": home.KindCleaningStart,
}

var workNames = map[home.Kind]string{home.KindMotionStart: "movement", home.KindCleaningStart: "cleaning"}

// crashPoint chooses in which work the agent is killed: a cleaning where there is one, since it lasts; else a movement, for which
// the home must not be too fast. ok is false where the plan has neither.
func crashPoint(plan []wire.Request) (at home.Kind, speed float64, ok bool) {
	switch n := worksOf(plan); {
	case n[home.KindCleaningStart] > 0:
		return home.KindCleaningStart, fastSpeed, true
	case n[home.KindMotionStart] > 0:
		return home.KindMotionStart, slowSpeed, true
	}
	return "", 0, false
}

func worksOf(plan []wire.Request) map[home.Kind]int {
	n := map[home.Kind]int{}
	for _, r := range plan {
		if kind, ok := bodyWork[r.TaskMethod]; ok {
			n[kind]++
		}
	}
	return n
}

// auditFile checks the robot's own log after a crash.
func auditFile(path string, during home.Kind, plan []wire.Request) (Crash, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Crash{}, fmt.Errorf("cannot read the robot's log: %w", err)
	}
	entries, err := home.ReadLog(bytes.NewReader(data))
	if err != nil {
		return Crash{}, err
	}
	return audit(entries, during, plan), nil
}

// audit compares what the body did with what the plan asked for. A step that is dispatched again under another task id is a second
// movement too, so the movements are counted against the steps and not against the tasks.
func audit(entries []home.Entry, during home.Kind, plan []wire.Request) Crash {
	did := map[home.Kind]int{home.KindMotionStart: len(home.Movements(entries))}
	for _, e := range entries {
		if e.Kind == home.KindCleaningStart {
			did[e.Kind]++
		}
	}
	c := Crash{KilledDuring: workNames[during], Movements: did[home.KindMotionStart], Cleanings: did[home.KindCleaningStart],
		Faults: append([]string{}, home.CheckLog(entries)...)}
	asked := worksOf(plan)
	for _, kind := range []home.Kind{home.KindMotionStart, home.KindCleaningStart} {
		if did[kind] > asked[kind] {
			c.Faults = append(c.Faults, fmt.Sprintf("the plan asked for %d %ss, the robot made %d", asked[kind], workNames[kind], did[kind]))
		}
	}
	return c
}
