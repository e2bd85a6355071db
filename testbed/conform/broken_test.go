package conform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/conform"
	"deviceagent/testbed/conform/broken"
)

// atATime is how many services are checked side by side: they wait most of the time.
const atATime = 100

// wheelCatalog says of the small service what a catalog would.
func wheelCatalog(name string) *catalog.Catalog {
	one, hundred := 1.0, 100.0
	context := func(key catalog.ContextKey, v any) catalog.Expr {
		return catalog.Expr{Leaf: &catalog.Leaf{Context: key, Op: "eq", Value: v}}
	}
	spun := catalog.Expr{Leaf: &catalog.Leaf{Event: "wheel.spun", Match: map[string]any{"turns": "$turns"}, Correlate: "task_id"}}
	rest := context("wheel.spinning", false)
	return &catalog.Catalog{
		Operations: map[catalog.Method]catalog.Operation{broken.Method: {Method: broken.Method, Params: map[string]catalog.Param{
			"turns": {Type: catalog.Integer, Required: true, Minimum: &one, Maximum: &hundred}}, Resources: []catalog.ResourceID{"wheel"},
			Effects: []catalog.EffectID{"wheel_spun"}, Probe: catalog.ProbeDurable, Pause: true, Cancel: true,
			Binding: catalog.Binding{Kind: "dbus", Name: "wheel", DBus: &catalog.DBus{Service: name, Path: "/" + strings.ReplaceAll(name, ".", "/"),
				Keys: []catalog.ContextKey{"wheel.turns", "wheel.spinning", "wheel.grip"}}}}},
		Effects: map[catalog.EffectID]catalog.Effect{"wheel_spun": {Terminal: catalog.Expr{All: []catalog.Expr{spun, context("wheel.turns", "$turns")}},
			Contradicted: []catalog.Leaf{{Event: "wheel.spun", MatchNot: map[string]any{"turns": "$turns"}}},
			Confidence:   catalog.Confidence{Accept: []catalog.Class{catalog.Independent}}}},
		Events:    map[catalog.EventName]catalog.Event{"wheel.spun": {Class: catalog.Independent, Resource: "wheel", Data: map[string]catalog.Param{"turns": {Type: catalog.Number}, "grip": {Type: catalog.Number}}}},
		Context:   map[catalog.ContextKey]catalog.Key{"wheel.turns": {Type: catalog.Number}, "wheel.spinning": {Type: catalog.Boolean}, "wheel.grip": {Type: catalog.Number}},
		Resources: map[catalog.ResourceID]catalog.Resource{"wheel": {AtRest: &rest}},
	}
}

// tried is what the kit says of one behaviour.
type tried struct {
	b   broken.Behaviour
	rep *conform.Report
	err error
}

// tryAll checks every behaviour, many at a time.
func tryAll(ctx context.Context, address string) []tried {
	all := broken.All()
	out := make([]tried, len(all))
	slots := make(chan struct{}, atATime)
	var wg sync.WaitGroup
	for i, b := range all {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			out[i].b = b
			out[i].rep, out[i].err = try(ctx, address, fmt.Sprintf("com.example.Wheel%d", i), b)
		})
	}
	wg.Wait()
	return out
}

func try(ctx context.Context, address, name string, b broken.Behaviour) (*conform.Report, error) {
	s, err := broken.Serve(address, name, b)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	cat := wheelCatalog(name)
	if b.Name == "bare" {
		op := cat.Operations[broken.Method]
		op.Cancel, op.Pause = false, false
		cat.Operations[broken.Method] = op
	}
	return conform.Run(ctx, conform.Options{Bus: address, Service: name, Catalog: cat, Ack: 4 * time.Second, Answer: 4 * time.Second, Stop: 5 * time.Second,
		Hold: 5 * time.Second, Timeout: 9 * time.Second, Evidence: 3 * time.Second, Settle: 500 * time.Millisecond, RestartTime: 20 * time.Second,
		Restart: func(context.Context) error { return s.Restart() }})
}

// honestNotRun is what cannot be tried on the honest services: nobody can cut off what has ended.
var honestNotRun = map[string][]conform.ID{"honest": nil, "bare": nil,
	"ends-at-once": {conform.Cancel, conform.Stopped, conform.Pause, conform.Rests, conform.Resume, conform.Restart}}

// TestEachBrokenServiceIsNamed: of each service that is wrong in one way the kit names that way, and no other; of the honest ones
// nothing.
func TestEachBrokenServiceIsNamed(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute)
	defer stop()
	named := map[conform.ID]bool{}
	for _, got := range tryAll(ctx, startBus(t)) {
		t.Run(got.b.Name, func(t *testing.T) {
			if got.err != nil {
				t.Fatal(got.err)
			}
			var want []conform.ID
			if got.b.Check != "" {
				want = []conform.ID{conform.ID(got.b.Check)}
				named[want[0]] = true
			}
			if failed := got.rep.Failed(); !slices.Equal(failed, want) {
				var text bytes.Buffer
				_ = got.rep.WriteText(&text)
				t.Errorf("%s: the kit names %v, want %v\n%s", got.b.What, failed, want, text.String())
			}
			t.Logf("%s: named %v in %.1f s", got.b.What, got.rep.Failed(), float64(got.rep.TookMS)/1000)
			checkForm(t, got.rep)
			if notRun, known := honestNotRun[got.b.Name]; known && !slices.Equal(got.rep.NotRun(), notRun) {
				t.Errorf("not run %v, want %v", got.rep.NotRun(), notRun)
			}
		})
	}
	for _, id := range conform.IDs() {
		if !named[id] {
			t.Errorf("no broken service is named by the check %s: nobody knows whether it can fail", id)
		}
	}
}

// checkForm: a failure says what was done, expected, seen and to be changed; what was not run says why.
func checkForm(t *testing.T, rep *conform.Report) {
	t.Helper()
	var text bytes.Buffer
	if err := rep.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var again conform.Report
	if err := json.Unmarshal(text.Bytes(), &again); err != nil || again.Schema != conform.Schema || len(again.Checks) != len(conform.IDs()) {
		t.Fatalf("the JSON report does not hold: %v", err)
	}
	for _, c := range again.Checks {
		bad := slices.ContainsFunc(c.Steps, func(s conform.Step) bool { return !s.OK })
		switch {
		case c.Status == conform.Failed && (!bad || c.Change == ""):
			t.Errorf("%s failed, and does not say what was seen and what to change: %+v", c.ID, c)
		case c.Status == conform.Passed && (bad || len(c.Steps) == 0):
			t.Errorf("%s passed with %+v", c.ID, c.Steps)
		case (c.Status == conform.NotRun || c.Status == conform.NotApplicable) && c.Reason == "":
			t.Errorf("%s does not say why it was not run", c.ID)
		}
		for _, s := range c.Steps {
			if s.Did == "" || s.Expected == "" || s.Seen == "" {
				t.Errorf("%s has a step that does not say all: %+v", c.ID, s)
			}
		}
	}
}
