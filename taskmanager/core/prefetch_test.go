package core_test

import (
	"fmt"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

const storyStep = `[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"content_session","hold_ms":60000,"on_failure":"continue"}]`

// night is a rig with a schedule of stories; parts are told in their order.
func night(t *testing.T, parts ...string) *teller {
	t.Helper()
	r := &teller{rig: newRig(t)}
	r.ok(r.keepStories(parts...))
	r.pass(hourMS)
	return r
}

func (r *teller) keepStories(parts ...string) core.Answer {
	return *r.do(r.stories("tp", parts...)).Answers[0]
}

func (r *teller) stories(id string, parts ...string) core.PlanSubmitted {
	r.t.Helper()
	ev := r.scheduled(id, 0, strings.Replace(everyEvening, `"end_at":"19:00",`, "", 1), storyStep)
	for i, text := range parts {
		ev.Plan.Prefetch = append(ev.Plan.Prefetch, core.Part{Name: fmt.Sprint("p", i+1), At: int64(i + 1), Text: text})
	}
	return ev
}

func TestAStoryGoesOnTheNextNight(t *testing.T) {
	r := night(t, "하나", "둘", "셋")
	r.due("n1", 0)
	r.pass(9_000)
	r.wantSaid()
	r.pass(2_000)
	r.wantSaid("하나")
	r.speaks()
	r.wantSaid("하나", "둘")
	r.refused(r.content(core.ContentStart, "zu spät"), core.ReasonSuperseded)
	r.begins()
	r.do(core.ControlReceived{Head: core.Head{Msg: "k", Hash: "x"}, Verb: "cancel", Scope: "session", Target: string(r.session().ID)})
	r.do(core.TaskEnded{Task: r.voice().Task, Outcome: core.OutcomeCancelled})
	r.do(core.Started{StartNo: 2}) // the place is kept
	r.up("run-2")
	r.due("n2", 0)
	r.pass(11_000)
	r.wantSaid("하나", "둘", "둘") // it was not heard to its end
	r.speaks()
	r.speaks()
	r.wantSession(core.SessionCompleted, "")
	r.wantOf("tp@n2", "step_1", "completed")
	if at := r.s.Device.Heard["tp"]; at != 3 {
		t.Errorf("the place is %d", at)
	}
	r.due("n3", 0)
	r.pass(11_000)
	r.wantOf("tp@n3", "step_1", "blocked/content_unavailable_offline")
	if n := len(r.said()); n != 5 || !strings.Contains(r.said()[4], "연결") {
		t.Errorf("said %q", r.said())
	}
	r.pass(60_000)
	r.wantOf("tp@n3", "step_1", "failed/content_unavailable_offline")
	r.wantSession(core.SessionFailed, core.ReasonContentOffline)
	if n := len(r.rig.sent(core.MsgStepDue)); n != 3 {
		t.Errorf("the planner was asked %d times, want once a night", n)
	}
}

func TestWhatThePlannerSendsInTimeGoesFirst(t *testing.T) {
	r := night(t, "하나")
	r.due("n1", 0)
	r.pass(5_000)
	r.ok(r.content(core.ContentStart, "neu"))
	r.speaks()
	r.pass(60_000)
	r.wantSaid("neu")
}

func TestContentThatComesLateTakesABlockedStepOn(t *testing.T) {
	r := night(t)
	r.due("n1", 0)
	r.pass(11_000)
	r.wantOf("tp@n1", "step_1", "blocked/content_unavailable_offline")
	r.event("pui.paused", "", nil) // a hold in between sends it to nobody a second time
	r.event("pui.resumed", "", nil)
	r.speaks() // the notice
	r.ok(r.content(core.ContentStart, "spät"))
	r.wantOf("tp@n1", "step_1", "running")
	r.speaks()
	r.wantOf("tp@n1", "step_1", "completed")
}

func TestStoriesAreBounded(t *testing.T) {
	r := &teller{rig: newRig(t)}
	big := strings.Repeat("x", 8<<10)
	parts := func(n int) (out []string) {
		for range n {
			out = append(out, big)
		}
		return out
	}
	r.refused(r.keepStories(parts(17)...), core.ReasonLimit)
	for i := range 32 {
		r.ok(*r.do(r.stories(fmt.Sprintf("t%d", i), parts(16)...)).Answers[0])
	}
	r.refused(*r.do(r.stories("one-more", "x")).Answers[0], core.ReasonLimit)
	if len(r.s.Templates) != 32 {
		t.Errorf("%d schedules", len(r.s.Templates))
	}
}

func TestAGoneScheduleForgetsItsPlace(t *testing.T) {
	r := night(t, "하나", "둘")
	r.due("n1", 0)
	r.pass(11_000)
	r.speaks()
	if r.s.Device.Heard["tp"] != 1 {
		t.Fatalf("the place is %v", r.s.Device.Heard)
	}
	r.do(core.ControlReceived{Head: core.Head{Msg: "k", Hash: "x"}, Verb: "cancel", Scope: "schedule", Target: "tp"})
	if len(r.s.Device.Heard) != 0 {
		t.Errorf("kept: %v", r.s.Device.Heard)
	}
}
