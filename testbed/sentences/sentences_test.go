package sentences

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

func load1(t *testing.T) (*catalog.Catalog, catalogfile.Planner) {
	t.Helper()
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	return cat, words
}

func TestSameSeedSameSentences(t *testing.T) {
	cat, _ := load1(t)
	one, err := Compose(cat, 7, 50)
	if err != nil {
		t.Fatal(err)
	}
	two, _ := Compose(cat, 7, 50)
	other, _ := Compose(cat, 8, 50)
	same := func(a, b []Case) bool {
		return slices.EqualFunc(a, b, func(x, y Case) bool { return x.Text == y.Text && x.Want == y.Want })
	}
	if !same(one, two) || same(one, other) {
		t.Errorf("seed 7 twice the same: %v, seeds 7 and 8 the same: %v", same(one, two), same(one, other))
	}
}

// TestWanted: the plan that is wanted of parts, computed by hand.
func TestWanted(t *testing.T) {
	cat, _ := load1(t)
	v, err := load(cat)
	if err != nil {
		t.Fatal(err)
	}
	get := func(list []operation, id string) operation {
		at := slices.IndexFunc(list, func(o operation) bool { return o.ID == id })
		return list[at]
	}
	op := func(id string) operation { return get(v.Operations, id) }
	move := func(room string, l link) part {
		return part{op: op("move"), room: room, params: map[string]any{"position": room}, link: l}
	}
	clean := func(l link) part { return part{op: op("clean"), link: l} }
	started := clean(linkSeq)
	started.starts = true
	quiz := part{op: get(v.Skills, "quiz"), skill: true, params: map[string]any{"kind": "quiz"}}
	later := func(p part) part { p.delayMS = 30_000; return p }
	bad := &condition{Reads: "air_state"}
	if got := wanted(cat, []part{move("거실", linkChain), clean(linkSeq), move("안방", "")}); got !=
		"1 setMoveTo(position=거실); 2 startBasicAirClear() after 1 until air_cleaning_completed; 3 setMoveTo(position=안방) after 2" {
		t.Error(got)
	}
	for name, tc := range map[string]struct {
		parts []part
		want  string
	}{
		"two lanes":              {[]part{move("거실", linkChain), clean(linkWith), quiz}, "1 setMoveTo(position=거실); 2 startBasicAirClear() after 1; 3 content_session(kind=quiz) after 1"},
		"its start is enough":    {[]part{started, quiz}, "1 startBasicAirClear() starts; 2 content_session(kind=quiz) after 1"},
		"the robot would leave":  {[]part{started, move("안방", "")}, "1 startBasicAirClear() until air_cleaning_completed; 2 setMoveTo(position=안방) after 1"},
		"it leaves later":        {[]part{started, later(move("안방", ""))}, "1 startBasicAirClear() starts; 2 setMoveTo(position=안방) after 1 +30s"},
		"the rest goes on":       {[]part{{refused: "티비", link: linkSeq}, move("안방", "")}, "1 setMoveTo(position=안방); refuses 티비"},
		"other work comes first": {[]part{func() part { p := move("안방", ""); p.afterWork = true; return p }()}, "1 setMoveTo(position=안방) anchor cleaning.completed"},
		"condition of one": {[]part{move("거실", linkChain), {op: op("clean"), cond: bad, condIs: "bad", link: linkSeq}, {op: op("return")}},
			"1 setMoveTo(position=거실); 2 getAirQuality() after 1 as air_state; 3 startBasicAirClear() after 2 if bad until air_cleaning_completed; 4 returnToStation() after 3"},
		"condition of all": {[]part{{op: op("clean"), cond: bad, condIs: "bad", link: linkSeq}, {op: op("return")}},
			"1 getAirQuality() as air_state; 2 startBasicAirClear() after 1 if bad until air_cleaning_completed; 3 returnToStation() after 1+2 if bad"},
		"one question for the cloud": {[]part{{op: get(v.Skills, "news"), skill: true}}, "answered by FRG"},
	} {
		if got := wanted(cat, tc.parts); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}

func TestRulesReadWhatIsComposed(t *testing.T) {
	cat, words := load1(t)
	p := pipeline.New(rules.New(cat, words), cat, words)
	for seed := range uint64(3) {
		r, err := Judge(t.Context(), p, cat, seed+1, 200)
		if err != nil {
			t.Fatal(err)
		}
		if r.Share < 0.98 {
			t.Errorf("seed %d: %d of %d: %+v", r.Seed, r.Exact, r.Count, r.Misses)
		}
		for _, f := range []string{"connective", "parallel", "delay", "condition", "unsupported clause", "cloud step", "after existing work", "question", "no spaces"} {
			if r.Features[f].Count == 0 {
				t.Errorf("seed %d has no sentence with %q", r.Seed, f)
			}
		}
	}
}

// liar does what no planner should.
type liar struct{ p Planner }

func (l liar) Plan(ctx context.Context, in turn.Input) (turn.Decision, error) {
	d, err := l.p.Plan(ctx, in)
	switch {
	case strings.HasSuffix(in.Text, "?"):
		d.Steps = []turn.Step{{ID: "step_1", TaskMethod: "setMoveTo", Params: wire.Object{"position": {V: "거실"}}}}
	case len(d.Steps) > 1:
		last := &d.Steps[len(d.Steps)-1]
		last.DependsOn, last.DelayMS = nil, last.DelayMS+1000
	case len(d.Steps) == 1:
		d.Steps[0].DelayMS += 1000
	}
	return d, err
}

func TestAWrongPlanIsNoticed(t *testing.T) {
	cat, words := load1(t)
	r, err := Judge(t.Context(), liar{rules.New(cat, words)}, cat, 1, 200)
	if err != nil {
		t.Fatal(err)
	}
	for text, right := range map[string]int{"question": r.Features["question"].Exact, "connective": r.Features["connective"].Exact, "delay": r.Features["delay"].Exact} {
		if right > 0 {
			t.Errorf("%s: %d wrong plans pass for right", text, right)
		}
	}
}

// TestTheDeviceWouldTakeThem: every plan of composed sentences compiles, and passes the device's own check.
func TestTheDeviceWouldTakeThem(t *testing.T) {
	cat, words := load1(t)
	p := pipeline.New(rules.New(cat, words), cat, words)
	cases, err := Compose(cat, 11, 300)
	if err != nil {
		t.Fatal(err)
	}
	plans := 0
	for _, c := range cases {
		in := turn.Input{TurnID: "tn_1", Text: c.Text, Locale: "ko-KR", Now: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}
		d, err := p.Plan(t.Context(), in)
		if err != nil || len(d.Steps) == 0 {
			continue
		}
		plan, err := compile.Plan(cat, in, d, compile.IDs{WorkflowID: "wf_1", PlanID: "pl_1"})
		if err != nil {
			t.Errorf("%s: %v", c.Text, err)
			continue
		}
		plans++
		if _, faults := bridge.CheckPlan(cat, &plan); len(faults) > 0 {
			t.Errorf("%s: the device would refuse it: %v", c.Text, faults)
		}
	}
	if plans < 200 {
		t.Errorf("only %d plans", plans)
	}
}
