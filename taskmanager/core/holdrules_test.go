package core

import (
	"testing"

	"deviceagent/taskmanager/core/catalog"
)

// holding is a work over one open workflow, wf_1, of one step that waits for a value, and an empty catalog.
func holding(p Priority) *work {
	s := NewState(&catalog.Catalog{}, Device{BootID: "b", Boot: 1000})
	plan := &Plan{Workflow: "wf_1", ID: "pl_1", Priority: p, Steps: []StepSpec{{ID: "step_1", Method: "setMoveTo", HoldMS: 60_000}}}
	s.Adopt(&Workflow{Plan: plan, State: WfQueued, Rank: 1, Steps: []Step{{ID: "step_1", State: Blocked, Since: 1000}}})
	return newWork(s, Now{Boot: 1000, BootID: "b"})
}

// TestWhoReleasesWhat goes through every policy and every kind that may ask.
func TestWhoReleasesWhat(t *testing.T) {
	all := []HolderKind{HeldByPUI, HeldByVoice, HeldByApp, HeldByOperator, HeldBySafety, HeldByBattery, HeldByPolicy, HeldByCloud}
	for _, tc := range []struct {
		kind   HolderKind
		resume ResumePolicy
		by     []HolderKind // beside its own kind and an operator
	}{
		{HeldByPolicy, ResumeAuto, nil}, {HeldByBattery, ResumeAfter, nil}, {HeldByApp, ResumeNever, nil},
		{HeldByBattery, ResumeAsk, []HolderKind{HeldByPUI, HeldByVoice, HeldByApp, HeldByCloud}},
		{HeldByPUI, ResumeAsk, []HolderKind{HeldByVoice, HeldByApp, HeldByCloud}},
	} {
		for _, by := range all {
			w := holding(PriorityUser)
			if !w.hold(Hold{Kind: tc.kind, Scope: HoldAll, Resume: tc.resume, AfterMS: 5000}) {
				t.Fatal("not held")
			}
			want := by == tc.kind || by == HeldByOperator
			for _, k := range tc.by {
				want = want || k == by
			}
			if n := w.release(tc.kind, HoldAll, "", "", by); (n == 1) != want {
				t.Errorf("%s %s: %s ends %d of it", tc.kind, tc.resume, by, n)
			}
		}
	}
}

// Kind, scope, target and cause tell holds apart; each is released alone, and all causes of one kind together where none is named.
func TestHoldsAreToldApart(t *testing.T) {
	w := holding(PriorityUser)
	for _, h := range []Hold{
		{Kind: HeldByPolicy, Scope: HoldAll, Cause: "lifted", Resume: ResumeAsk}, {Kind: HeldByPolicy, Scope: HoldAll, Cause: "fault", Resume: ResumeAsk},
		{Kind: HeldByPolicy, Scope: HoldWorkflow, Target: "wf_1", Cause: "lifted", Resume: ResumeAsk}, {Kind: HeldByApp, Scope: HoldStep, Target: "wf_1/step_1", Resume: ResumeNever},
	} {
		for range 2 { // who asks again asks for the same
			if !w.hold(h) {
				t.Fatalf("%s was not taken", h.ID())
			}
		}
	}
	left := func() (ids string) {
		for _, h := range w.cur.held(&w.dev, w.peek("wf_1"), 0) {
			ids += h.ID() + " "
		}
		return ids
	}
	const step = "app:step:wf_1/step_1 "
	if got, want := left(), "policy:all:lifted policy:all:fault policy:workflow:wf_1:lifted "+step; got != want {
		t.Fatalf("held by %q, want %q", got, want)
	}
	if n := w.release(HeldByPolicy, HoldAll, "", "lifted", HeldByPolicy); n != 1 || left() != "policy:all:fault policy:workflow:wf_1:lifted "+step {
		t.Fatalf("%d released, left %q", n, left())
	}
	if n := w.release(HeldByPolicy, HoldAll, "", "", HeldByPolicy); n != 1 || left() != "policy:workflow:wf_1:lifted "+step {
		t.Fatalf("%d released, left %q", n, left())
	}
	if n := w.release(HeldByApp, HoldWorkflow, "wf_1", "", HeldByApp); n != 0 {
		t.Fatalf("%d holds of a step ended with those of its workflow", n)
	}
	if n := w.release(HeldByVoice, HoldStep, "wf_1/step_1", "", HeldByVoice); n != 0 {
		t.Fatalf("voice released %d of others", n)
	}
}

// Time ends an auto_after hold, counted from when it was last asked for, also over a reboot; and wakes the core for it.
func TestTimeEndsAHold(t *testing.T) {
	for _, scope := range []Hold{{Kind: HeldByPolicy, Scope: HoldAll}, {Kind: HeldByPolicy, Scope: HoldWorkflow, Target: "wf_1"}} {
		w := holding(PriorityUser)
		h := scope
		h.Resume, h.AfterMS = ResumeAfter, 5000
		w.hold(h)
		w.now.Boot = 3000
		w.hold(h)
		s := w.cur.With(w.finish())
		if got := s.NextWake(); got != 8000 {
			t.Fatalf("%s: it wakes at %d", h.ID(), got)
		}
		s = s.With(Reduce(s, Now{Boot: 7999, BootID: "b", Seq: 5}, []Event{Tick{}}))
		if len(s.Holders()) != 1 || s.Holders()[0].Since != 1000 {
			t.Fatalf("%s: %+v", h.ID(), s.Holders())
		}
		s = s.With(Reduce(s, Now{Boot: 100, BootID: "b2", Seq: 6}, []Event{Started{StartNo: 2}})) // nobody knows how long it was off
		if got := s.Holders()[0].Until; got != 101 {
			t.Fatalf("%s: after the reboot it ends at %d", h.ID(), got)
		}
		s = s.With(Reduce(s, Now{Boot: 101, BootID: "b2", Seq: 7}, []Event{Tick{}}))
		if len(s.Holders()) != 0 {
			t.Fatalf("%s: %+v", h.ID(), s.Holders())
		}
	}
}

// Experiences and sessions are bounded; a hold of everything is never refused for that.
func TestHoldsAreBounded(t *testing.T) {
	w := holding(PriorityUser)
	for i := range maxHolds {
		if !w.hold(Hold{Kind: HeldByCloud, Scope: HoldSession, Target: string(rune('A' + i)), Resume: ResumeNever}) {
			t.Fatalf("hold %d was not taken", i)
		}
	}
	if w.hold(Hold{Kind: HeldByCloud, Scope: HoldSession, Target: "one more", Resume: ResumeNever}) {
		t.Error("one more was taken")
	}
	if !w.hold(Hold{Kind: HeldByPUI, Scope: HoldAll, Resume: ResumeNever}) {
		t.Error("the button was refused")
	}
}
