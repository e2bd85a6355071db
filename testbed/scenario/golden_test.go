package scenario_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"deviceagent/testbed/home"
)

var record = flag.Bool("record", false, "write the dispatch log of each scenario that has none yet; what is there stays")

// dispatchDir holds what the agent asked of the robot in each scenario before there was any code for experiences: a plan without one
// has to be carried out as it was then. A log is never written anew: who has to change one deletes it, and says why. Scenarios that came
// later have none.
const dispatchDir = "testdata/dispatch"

// asked are the entries of the robot's log that the agent caused.
var asked = []home.Kind{home.KindInvoke, home.KindCancel, home.KindPause, home.KindResume}

// How far the moments of two runs may lie apart. Almost all are the same to the millisecond; a service that was cut off dials again
// with jitter.
const slackMS = 1000

var jitterMS = map[string]int64{"S21-arrival": 20000}

// plainOf names the scenario without an experience that has the same steps: in shadow, and where experiences are off, the device has
// to ask for the very same, and a goal that meets no trouble changes nothing either.
var plainOf = map[string]string{"goal": "S02", "goal-off": "S02", "goal-shadow": "S02",
	"S06-goal-complete": "S06", "S06-goal-cancel": "S06-cancel", "S25-goal": "S25", "S26-goal": "S26", "S24-disabled": "S02", "S24-one": "S02"}

// dispatches picks what the agent asked for. Task ids are left out: they count what else the store has seen.
func dispatches(log []home.Entry) (out []home.Entry) {
	for _, e := range log {
		if slices.Contains(asked, e.Kind) {
			out = append(out, home.Entry{TMS: e.TMS, Kind: e.Kind, Method: e.Method, Params: e.Params})
		}
	}
	return out
}

// same compares two calls, and their moments with a tolerance.
func same(slack int64) func(a, b home.Entry) bool {
	return func(a, b home.Entry) bool {
		apart := max(a.TMS-b.TMS, b.TMS-a.TMS)
		a.TMS, b.TMS = 0, 0
		return apart <= slack && reflect.DeepEqual(a, b)
	}
}

// sameDispatches compares the log of a run with the one that was recorded.
func sameDispatches(t *testing.T, id string, log []home.Entry) {
	t.Helper()
	path := filepath.Join(dispatchDir, cmp.Or(plainOf[id], id)+".jsonl")
	got := lines(t, dispatches(log))
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !*record {
			return
		}
		raw, err = []byte(got), os.WriteFile(path, []byte(got), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(entries(t, got), entries(t, string(raw)), same(max(slackMS, jitterMS[id]))) {
		t.Errorf("the agent asked the robot for something else than recorded in %s\nwas:\n%s\nis:\n%s", path, raw, got)
	}
}

func lines(t *testing.T, list []home.Entry) string {
	t.Helper()
	var b strings.Builder
	for _, e := range list {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func entries(t *testing.T, text string) (out []home.Entry) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e home.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// The comparison notices another call, another argument, another order, and another time.
func TestDispatchesThatDifferAreNoticed(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(dispatchDir, "S02.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func([]home.Entry) []home.Entry{
		"one less":      func(l []home.Entry) []home.Entry { return l[1:] },
		"another order": func(l []home.Entry) []home.Entry { l[0], l[1] = l[1], l[0]; return l },
		"another call":  func(l []home.Entry) []home.Entry { l[0].Method = "stopMovement"; return l },
		"another room":  func(l []home.Entry) []home.Entry { l[0].Params["position"] = "kitchen"; return l },
		"ten seconds":   func(l []home.Entry) []home.Entry { l[1].TMS += 10000; return l },
	} {
		if slices.EqualFunc(entries(t, string(raw)), change(entries(t, string(raw))), same(slackMS)) {
			t.Errorf("not noticed: %s", what)
		}
	}
}
