package core_test

import (
	"fmt"
	"slices"
	"testing"

	"deviceagent/taskmanager/core"
)

// setMode is an operator at the robot's own socket.
func (r *rig) setMode(mode core.Mode) core.Answer {
	r.t.Helper()
	head := core.Head{Msg: core.MessageID("m-" + string(mode) + string(rune('a'+r.now.Seq%26))), Local: true}
	return *r.do(core.ControlReceived{Head: head, Verb: "set_mode", Scope: "all", Target: string(mode), By: "kim", Why: "test"}).Answers[0]
}

func (r *rig) wantMode(want core.Mode) {
	r.t.Helper()
	if got := r.s.Mode(); got != want {
		r.t.Errorf("mode is %s, want %s", got, want)
	}
}

func TestModesAreDerivedFromTheHolders(t *testing.T) {
	r := newRig(t)
	r.wantMode(core.ModeAutomatic)
	r.button("pui.paused")
	r.wantMode(core.ModeAutomatic)
	r.button("pui.takeover")
	r.wantMode(core.ModeIntervened)
	if a := r.setMode(core.ModeManual); !a.Accepted || a.State != "manual" {
		t.Errorf("answer %+v", a)
	}
	r.wantMode(core.ModeManual)
	r.setMode(core.ModeService)
	r.wantMode(core.ModeService)
	r.wantHolders("pui:all", "pui:all:takeover", "operator:all:service")
	r.control("resume", "", "all", "") // a resume ends no mode
	r.wantMode(core.ModeService)
	r.setMode(core.ModeAutomatic)
	r.wantMode(core.ModeIntervened) // who drives it has not let go
	r.button("pui.released")
	r.wantMode(core.ModeAutomatic)
}

// In manual and service mode open plans are cancelled with that reason, new ones refused for now; what stops is let in.
func TestManualModeCancelsAndRefusesPlans(t *testing.T) {
	for _, mode := range []core.Mode{core.ModeManual, core.ModeService} {
		r := newRig(t)
		task := r.driving()
		head := core.Head{Msg: "m-1", Local: true}
		ask := core.ControlReceived{Head: head, Verb: "set_mode", Scope: "all", Target: string(mode)}
		if now := core.UrgentStops(r.s, r.now, ask); len(now) != 1 {
			t.Errorf("beside a commit: %+v", now)
		}
		a := r.do(ask).Answers[0]
		if !a.Accepted || !slices.Equal(a.Stopping, []string{"base"}) {
			t.Errorf("answer %+v", a)
		}
		r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
		r.want("step_1", "cancelled/mode_not_automatic")
		r.wantWorkflow(core.WfCancelled)
		c := r.do(r.planEvent("wf_2", "pl_2", toKitchen))
		if a := c.Answers[0]; a.Accepted || a.Reason != core.ReasonNotAutomatic {
			t.Errorf("a plan in mode %s: %+v", mode, a)
		}
		if len(c.Remember) != 0 {
			t.Error("the refusal is remembered: the same plan could never come")
		}
		if a := r.offer("wf_3", "pl_3", `[{"cloud_step_id":"step_1","taskMethod":"stopMovement"}]`); !a.Accepted {
			t.Errorf("a stop in mode %s: %+v", mode, a)
		}
		r.setMode(core.ModeAutomatic)
		if a := r.offer("wf_2", "pl_2", toKitchen); !a.Accepted {
			t.Errorf("afterwards: %+v", a)
		}
	}
}

// A takeover by button keeps the plans, and lets new ones queue.
func TestATakeoverKeepsThePlans(t *testing.T) {
	r := newRig(t)
	r.button("pui.takeover")
	r.elsewhere()
	r.submit(toKitchen)
	r.want("step_1", "queued/held")
	r.button("pui.released")
	r.elsewhere()
	r.want("step_1", "dispatching")
}

func TestWhoMaySetAMode(t *testing.T) {
	r := newRig(t)
	ask := core.ControlReceived{Head: core.Head{Msg: "m-1"}, Verb: "set_mode", Scope: "all", Target: "manual", By: "operator"}
	if a := r.do(ask).Answers[0]; a.Accepted || a.Reason != core.ReasonUnsupported {
		t.Errorf("from afar: %+v", a)
	}
	for _, mode := range []core.Mode{"intervened", "", "nonsense"} {
		if a := r.setMode(mode); a.Accepted || a.Reason != core.ReasonUnknownTarget {
			t.Errorf("%q: %+v", mode, a)
		}
	}
	r.wantMode(core.ModeAutomatic)
}

// Each change of the mode has a number of its own: who sees only the last knows that there were others, and what they were.
func TestB10_EachChangeOfTheModeIsAnEventOfItsOwn(t *testing.T) {
	r := newRig(t)
	took, let := core.Observed{Event: "pui.takeover", Source: "home"}, core.Observed{Event: "pui.released", Source: "home"}
	manual := core.ControlReceived{Head: core.Head{Msg: "m-1", Local: true}, Verb: "set_mode", Scope: "all", Target: "manual", By: "kim", Why: "repair"}
	auto := core.ControlReceived{Head: core.Head{Msg: "m-2", Local: true}, Verb: "set_mode", Scope: "all", Target: "automatic", By: "kim"}
	r.do(took, let, manual, auto, took) // between two looks
	var got []string
	for _, c := range r.s.Device.Modes {
		got = append(got, fmt.Sprintf("%d %s %s %s", c.N, c.Mode, c.By, c.Why))
	}
	want := []string{"1 intervened home pui.takeover", "2 automatic  ", "3 manual kim repair", "4 automatic kim ", "5 intervened home pui.takeover"}
	if !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	told := 0
	for _, m := range r.ch.Moves {
		if m.Workflow == "" {
			told++
		}
	}
	if told != 5 {
		t.Errorf("%d changes told to those who watch, want 5", told)
	}
	for range 40 {
		r.button("pui.released")
		r.button("pui.takeover")
	}
	if n := len(r.s.Device.Modes); n != 16 || r.s.Device.Modes[n-1].N != 85 {
		t.Errorf("%d changes kept, the last is %d", n, r.s.Device.Modes[n-1].N)
	}
	r.do(took) // it says the same again
	if n := len(r.s.Device.Modes); r.s.Device.Modes[n-1].N != 85 {
		t.Error("a repeat counts as a change")
	}
}
