package core_test

import (
	"testing"

	"pgregory.net/rapid"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Random things happen to a plan that keeps an effect: it always comes to an end, everything on the way has an answer and something
// that moves it, and what is told at the end follows from what was seen.
func TestRandomKeptEffects(t *testing.T) {
	defaultCatalog(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.elsewhere()
		until := rapid.SampledFrom([]string{"step_2", "voice.session_ended", "cleaning.completed"}).Draw(rt, "until")
		ends := rapid.SampledFrom([]string{"", `,"on_failure":"continue"`, `,"on_failure":"abort"`}).Draw(rt, "on_failure")
		r.taken(0, `"deadline_ms":600000`, cleanKept(until, ends+moveAfter))
		saw := seen{}
		state := core.EffectBound
		check := func() {
			wf := r.wf("wf_1")
			if stuck := core.Audit(r.s, r.now); len(stuck) != 0 {
				rt.Fatalf("stuck: %v", stuck)
			}
			for i := range wf.Steps {
				if len(core.Why(r.s, r.now, wf, i)) == 0 {
					rt.Fatalf("%s has no answer", wf.Steps[i].ID)
				}
			}
			st := &wf.Steps[0]
			e := st.Effects[0]
			if over := state == core.EffectContradicted || state == core.EffectWaived; over && e.State != state && e.Kept != nil {
				rt.Fatalf("the effect went from %s to %s", state, e.State)
			}
			state = e.State
			if st.Keeping() && wf.State.Terminal() {
				rt.Fatalf("the plan is %s and keeps an effect", wf.State)
			}
		}
		for range rapid.IntRange(1, 25).Draw(rt, "events") {
			saw.happen(rt, r)
			check()
		}
		r.pass(20 * 60_000)
		check()
		wf := r.wf("wf_1")
		if !wf.State.Terminal() {
			rt.Fatalf("the plan is %s after its deadline: %v", wf.State, core.Why(r.s, r.now, wf, 0))
		}
		e := wf.Steps[0].Effects[0]
		kept := e.Kept != nil && e.Kept.Since != 0
		switch {
		case kept && e.State == core.EffectContradicted && !saw.against:
			rt.Fatal("contradicted, and nothing ever spoke against it")
		case kept && e.State == core.EffectContradicted && wf.State == core.WfCompleted:
			rt.Fatal("completed with an effect that was not kept")
		case kept && e.State == core.EffectWaived && !saw.person && !saw.cancel && wf.Steps[1].State != core.Failed && wf.Steps[1].State != core.TimedOut:
			rt.Fatal("waived, and no person was near")
		case kept && e.State == core.EffectObserved && wf.State == core.WfCompleted && e.Kept.Until == 0:
			rt.Fatal("kept, and its end never came")
		}
		if n := len(r.sent(core.MsgResult)); n != 1 {
			rt.Fatalf("%d results", n)
		}
	})
}

// seen is what the test let happen.
type seen struct{ against, person, cancel bool }

func (s *seen) happen(rt *rapid.T, r *rig) {
	task := func(method catalog.Method) (id core.TaskID) {
		for _, d := range r.dispatches() {
			if d.Method == method {
				id = d.Task
			}
		}
		return id
	}
	clean, move := task("startBasicAirClear"), task("setMoveTo")
	if !rapid.Bool().Draw(rt, "named") && r.wf("wf_1").Steps[0].State == core.Completed {
		clean = ""
	}
	switch rapid.IntRange(0, 17).Draw(rt, "what") {
	case 0, 1:
		r.do(core.TaskAnswered{Task: task("startBasicAirClear"), Accepted: true, Instance: "run-1"})
	case 2, 3:
		r.event("cleaning.started", task("startBasicAirClear"), nil)
	case 4, 5:
		r.read("cleaning.is_running", true)
	case 6:
		s.against = true
		r.read("cleaning.is_running", false)
	case 7:
		r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "cleaning.is_running"}}})
	case 8:
		s.against = true
		r.event(rapid.SampledFrom([]string{"cleaning.failed", "cleaning.stopped"}).Draw(rt, "opposite"), clean, nil)
	case 9:
		r.event(rapid.SampledFrom([]string{"voice.session_ended", "cleaning.completed"}).Draw(rt, "end"), "", nil)
	case 10:
		s.person = true
		r.do(core.Observed{Event: "external_stop", Resource: "cleaner", Source: "home"})
	case 11:
		r.do(core.TaskEnded{Task: task("startBasicAirClear"), Outcome: core.OutcomeDone})
	case 12:
		r.elsewhere()
	case 13:
		if move != "" {
			r.arrive(move, "kitchen")
		}
	case 14:
		r.do(core.TaskAnswered{Task: move, Reason: core.ReasonExecutorRefused})
	case 15:
		r.restart(rapid.SampledFrom([]string{"run-1", "run-2"}).Draw(rt, "instance"))
	case 16:
		r.now.Boot, r.now.BootID = 5_000, r.now.BootID+"x"
		r.restart("run-2")
	case 17:
		if rapid.IntRange(0, 5).Draw(rt, "cancel") == 0 {
			s.cancel = true
			r.do(cancel("wf_1"))
		}
	}
	r.pass(int64(rapid.SampledFrom([]int{0, 100, 700, 1500, 12_000, 70_000}).Draw(rt, "ms")))
}
