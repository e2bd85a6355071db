package core_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// planned is what the model knows of a step: what a plan said of it, and whether it may still be changed.
type planned struct {
	id, said string // said: the request without its dependencies
	deps     []string
	cut      []string // of deps: taken out while it stayed. One that comes back is another step to it
	begun    bool
}

func (p planned) content() string { return p.said + fmt.Sprint(slices.Sorted(slices.Values(p.deps))) }

func (p planned) request() string {
	deps, _ := json.Marshal(p.deps)
	if p.deps == nil {
		deps = []byte("[]")
	}
	return fmt.Sprintf(`{"cloud_step_id":%q,%s,"depends_on":%s}`, p.id, p.said, deps)
}

// ledger is a second, simple idea of what revisions do: lists of ids, nothing else.
type ledger struct {
	steps []planned
	gone  map[string]string // id → content
}

func (l *ledger) find(id string) int {
	return slices.IndexFunc(l.steps, func(p planned) bool { return p.id == id })
}

// faults counts what is wrong with a revision.
func (l *ledger) faults(next []planned, stops []string) (n int) {
	for _, p := range next {
		i := l.find(p.id)
		old, was := l.gone[p.id]
		if i >= 0 && l.steps[i].begun && l.steps[i].content() != p.content() || i < 0 && was && old != p.content() {
			n++
		}
	}
	for _, id := range stops {
		if _, was := l.gone[id]; l.find(id) < 0 && !was {
			n++
		}
	}
	return n
}

func (l *ledger) take(next []planned, stops []string) {
	var out []planned
	for _, p := range l.steps {
		switch named := slices.ContainsFunc(next, func(q planned) bool { return q.id == p.id }); {
		case named:
		case p.begun || slices.Contains(stops, p.id):
			out = append(out, p)
		default:
			l.gone[p.id] = p.content()
		}
	}
	for _, p := range next {
		if i := l.find(p.id); i >= 0 {
			p.begun = l.steps[i].begun
			if p.content() == l.steps[i].content() {
				p.cut = l.steps[i].cut
			}
		}
		delete(l.gone, p.id)
		out = append(out, p)
	}
	l.steps = out
	for i := range out {
		for _, d := range out[i].deps {
			if l.find(d) < 0 && !slices.Contains(out[i].cut, d) {
				out[i].cut = append(slices.Clone(out[i].cut), d)
			}
		}
	}
}

var sayings = []string{`"taskMethod":"setMoveTo","params":{"position":"거실"}`, `"taskMethod":"setMoveTo","params":{"position":"주방"}`,
	`"taskMethod":"setVolume","params":{"level":40}`, `"taskMethod":"setVolume","params":{"level":60}`, `"taskMethod":"startVitalSign"`,
	`"taskMethod":"setScreen","params":{"brightness":70},"wait_policy":"submitted"`}

// drawPlan makes the requests of a revision: some steps of before as they were, some changed, some new, in any order.
func drawPlan(t *rapid.T, l *ledger) (next []planned, stops []string) {
	ids := map[string]bool{}
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 6, rapid.ID[int]).Draw(t, "ids") {
		p := planned{id: fmt.Sprintf("s%d", i)}
		at := l.find(p.id)
		if at >= 0 && rapid.IntRange(0, 3).Draw(t, "again") > 0 && !slices.ContainsFunc(l.steps[at].deps, func(d string) bool { return !ids[d] }) {
			p = l.steps[at]
			p.begun = false
		} else {
			p.said = rapid.SampledFrom(sayings).Draw(t, "said")
			for _, q := range next {
				if rapid.IntRange(0, 2).Draw(t, "dep") == 0 {
					p.deps = append(p.deps, q.id)
				}
			}
		}
		ids[p.id] = true
		next = append(next, p)
	}
	for i := range 11 {
		if id := fmt.Sprintf("s%d", i); !ids[id] && rapid.IntRange(0, 5).Draw(t, "stop") == 0 && (i < 10 || rapid.IntRange(0, 9).Draw(t, "unknown") == 0) {
			stops = append(stops, id)
		}
	}
	return next, stops
}

// disk keeps what the Manager would write, and reads it back as a start would.
type disk struct {
	rows map[[2]string][]byte
	soft taskmanager.Rows
}

func (d *disk) do(r *rig, evs ...core.Event) core.Change {
	c := core.Reduce(r.s, r.now, evs)
	if c.Must {
		for _, rec := range d.soft.Of(c, r.s) {
			d.rows[[2]string{rec.Workflow, rec.Item}] = rec.Body
		}
		d.soft.Clear()
	} else {
		d.soft.Add(c)
	}
	r.now.Seq += int64(len(evs))
	r.log = append(append(r.log, c.Now...), c.Outputs...)
	r.out = append(r.out, c.Outbox...)
	r.s = r.s.With(c)
	return c
}

func (d *disk) load(t *rapid.T) *core.Workflow {
	var recs []taskmanager.Record
	for k, body := range d.rows {
		recs = append(recs, taskmanager.Record{Workflow: k[0], Item: k[1], Body: body})
	}
	dec := taskmanager.DecodeRecords(recs)
	if len(dec.SetAside) > 0 || len(dec.Workflows) != 1 {
		t.Fatalf("the records cannot be read: %v, %d workflows", dec.SetAside, len(dec.Workflows))
	}
	return dec.Workflows[0]
}

func asJSON(v any) string { b, _ := json.Marshal(v); return string(b) }

// Random plans, played on at random, revised at random: what becomes of them is what the ledger says, on disk as in memory.
func TestRandomRevisions(t *testing.T) {
	defaultCatalog(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.elsewhere()
		d := &disk{rows: map[[2]string][]byte{}}
		l := &ledger{gone: map[string]string{}}
		answered := map[core.TaskID]bool{}
		owner := map[core.TaskID]core.StepID{}
		for revision := range int64(rapid.IntRange(1, 6).Draw(rt, "revisions")) {
			next, stops := drawPlan(rt, l)
			head := ""
			if revision > 0 && len(stops) > 0 {
				head = `"cancel_steps":` + asJSON(stops)
			} else {
				stops = nil
			}
			var requests []string
			for _, p := range next {
				requests = append(requests, p.request())
			}
			var before *core.Workflow
			if revision > 0 {
				before = r.wf("wf_1")
				for i := range l.steps {
					st := r.step(l.steps[i].id)
					l.steps[i].begun = st.Attempts > 0 || st.State.Terminal()
				}
			}
			ans := d.do(r, r.revision(revision, head, "["+strings.Join(requests, ",")+"]")).Answers[0]
			if before != nil && before.State.Terminal() {
				if ans.Reason != core.ReasonAlreadyTerminal {
					rt.Fatalf("answer %+v of an ended plan", ans)
				}
				return
			}
			wrong := l.faults(next, stops)
			if ans.Accepted != (wrong == 0) || len(ans.Faults) != wrong {
				rt.Fatalf("answer %+v, the ledger finds %d faults", ans, wrong)
			}
			if wrong == 0 {
				l.take(next, stops)
			}
			compare(rt, r, l, before, stops, wrong == 0)
			if got, want := asJSON(d.load(rt)), asJSON(r.wf("wf_1")); got != want {
				rt.Fatalf("the head on disk is\n%s\nin memory\n%s", got, want)
			}
			for _, part := range []func(*core.Workflow) any{func(w *core.Workflow) any { return w.Plan }, func(w *core.Workflow) any { return w.Steps }, func(w *core.Workflow) any { return w.Attempts }} {
				if got, want := asJSON(part(d.load(rt))), asJSON(part(r.wf("wf_1"))); got != want {
					rt.Fatalf("on disk is\n%s\nin memory\n%s", got, want)
				}
			}
			wf := r.wf("wf_1")
			for _, a := range wf.Attempts {
				if id, known := owner[a.Task]; known && id != wf.Steps[a.Step].ID {
					rt.Fatalf("task %s was of %s and is of %s", a.Task, id, wf.Steps[a.Step].ID)
				}
				owner[a.Task] = wf.Steps[a.Step].ID
			}
			for range rapid.IntRange(0, 5).Draw(rt, "events") {
				playOn(rt, r, d, answered)
			}
		}
		times := map[core.StepID]int{}
		for _, a := range r.wf("wf_1").Attempts {
			if times[r.wf("wf_1").Steps[a.Step].ID]++; times[r.wf("wf_1").Steps[a.Step].ID] > 1 {
				rt.Fatalf("%s was dispatched twice", r.wf("wf_1").Steps[a.Step].ID)
			}
		}
	})
}

// compare holds the merged plan to the ledger, and what had begun to what it was.
func compare(rt *rapid.T, r *rig, l *ledger, before *core.Workflow, stops []string, accepted bool) {
	wf := r.wf("wf_1")
	if len(wf.Plan.Steps) != len(l.steps) || len(wf.Steps) != len(l.steps) || len(wf.Gone) != len(l.gone) {
		rt.Fatalf("%d specs, %d steps, %d gone; the ledger has %d and %d", len(wf.Plan.Steps), len(wf.Steps), len(wf.Gone), len(l.steps), len(l.gone))
	}
	for i, p := range l.steps {
		spec, st := &wf.Plan.Steps[i], &wf.Steps[i]
		if string(spec.ID) != p.id || string(st.ID) != p.id {
			rt.Fatalf("place %d is %s and %s, want %s", i, spec.ID, st.ID, p.id)
		}
		var deps, want []string
		for _, d := range spec.Deps {
			deps = append(deps, string(wf.Plan.Steps[d.Step].ID))
		}
		for _, d := range p.deps {
			if !slices.Contains(p.cut, d) {
				want = append(want, d)
			}
		}
		if slices.Sort(deps); !slices.Equal(deps, slices.Sorted(slices.Values(want))) {
			rt.Fatalf("%s waits for %v, want %v", p.id, deps, want)
		}
		if !strings.Contains(p.said, string(spec.Method)) {
			rt.Fatalf("%s is %s, want %s", p.id, spec.Method, p.said)
		}
		if before == nil || !p.begun {
			continue
		}
		old := before.Steps[before.Plan.Lookup(spec.ID)]
		stopped := accepted && slices.Contains(stops, p.id) && !old.State.Terminal()
		asks := old.State == core.Blocked // about what it had tried: it asks anew, or ends where no question is left
		if st.Attempts != old.Attempts || st.Task != old.Task || st.State != old.State && !stopped && !asks {
			rt.Fatalf("%s had begun: it was %s (%s) and is %s (%s)", p.id, old.State, old.Task, st.State, st.Task)
		}
		if stopped && st.State != core.Cancelling && st.State != core.Cancelled {
			rt.Fatalf("%s was to be stopped and is %s", p.id, st.State)
		}
	}
}

// playOn lets one thing happen to what was dispatched, or some time pass.
func playOn(rt *rapid.T, r *rig, d *disk, answered map[core.TaskID]bool) {
	all := r.dispatches()
	if len(all) == 0 || rapid.IntRange(0, 4).Draw(rt, "what") == 0 {
		r.now.Boot += 500
		values := []core.ContextValue{{Key: "movement.is_moving", Value: false, Available: true}, {Key: "movement.location", Value: "study", Available: true},
			{Key: "sound.volume", Value: 50.0, Available: true}, {Key: "display.brightness", Value: 80.0, Available: true}, {Key: "battery.level", Value: 80.0, Available: true}}
		d.do(r, core.Tick{}, core.ContextRead{Source: "home", Values: values})
		return
	}
	out := rapid.SampledFrom(all).Draw(rt, "task")
	if !answered[out.Task] {
		answered[out.Task] = true
		d.do(r, core.TaskAnswered{Task: out.Task, Accepted: rapid.IntRange(0, 5).Draw(rt, "accepted") > 0, Instance: "run-1"})
		return
	}
	proof := map[catalog.Method]core.Observed{
		"setVolume": {Event: "sound.changed", Data: core.Values{"level": out.Params["level"], "muted": false}}, "setScreen": {Event: "display.changed", Data: core.Values{"brightness": out.Params["brightness"]}},
		"startVitalSign": {Event: "vital.completed"}}[out.Method]
	evs := []core.Event{core.TaskEnded{Task: out.Task, Outcome: core.OutcomeDone}}
	if proof.Event != "" {
		proof.Task, proof.Source = out.Task, "home"
		evs = append(evs, proof)
	}
	d.do(r, evs...)
}

// A row that waits for company may be of a step that a revision takes out before the company comes.
func TestRevisionTakesOutWhatWaitsToBeWritten(t *testing.T) {
	r := newRig(t)
	d := &disk{rows: map[[2]string][]byte{}}
	d.do(r, r.revision(0, "", toKitchen))
	low := d.do(r, core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "battery.level", Value: 10.0, Available: true}}})
	if r.want("step_1", "blocked/battery_low"); low.Must {
		t.Fatal("this change does not wait for company: the test is about nothing")
	}
	d.do(r, r.revision(1, "", `[`+thenFree+`]`))
	if len(r.wf("wf_1").Steps) != 1 {
		t.Fatalf("%d steps", len(r.wf("wf_1").Steps))
	}
}
