package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// A schedule for one date is gone as soon as that has come; what came with it to be told is told all the same.
func TestWhatComesWithASingleDateIsTold(t *testing.T) {
	r := &teller{rig: newRig(t)}
	ev := r.stories("tp", "약 드실 시간이에요.")
	ev.Plan.Schedule.Days, ev.Plan.Schedule.On = nil, "2026-12-24"
	r.ok(*r.do(ev).Answers[0])
	r.pass(hourMS)
	r.due("n1", 0)
	r.do(core.ScheduleOver{Template: "tp"})
	if len(r.s.Templates) != 0 {
		t.Fatalf("the template is still there: %v", r.s.Templates)
	}
	r.pass(11_000)
	r.wantSaid("약 드실 시간이에요.")
	r.speaks()
	r.wantSession(core.SessionCompleted, "")
	r.wantOf("tp@n1", "step_1", "completed")
	if len(r.s.Device.Heard) != 0 {
		t.Errorf("a place is kept of what is gone: %v", r.s.Device.Heard)
	}
}

// A reminder is told at each occurrence, whatever was told before; where one part has another name, it is a story that goes on.
func TestAReminderIsToldEachTime(t *testing.T) {
	r := &teller{rig: newRig(t)}
	ev := r.stories("tp", "일어날 시간이에요.")
	ev.Plan.Prefetch[0].Name = "reminder"
	r.ok(*r.do(ev).Answers[0])
	r.pass(hourMS)
	for _, night := range []string{"n1", "n2", "n3"} {
		r.due(night, 0)
		r.pass(11_000)
		r.speaks()
		r.wantSession(core.SessionCompleted, "")
	}
	r.wantSaid("일어날 시간이에요.", "일어날 시간이에요.", "일어날 시간이에요.")
	if len(r.s.Device.Heard) != 0 {
		t.Errorf("a place is kept: %v", r.s.Device.Heard)
	}
}

// What a person answers to no question that is open is an answer to what is being told; an answer to a question is not.
func TestAnAnswerToNoQuestionIsHeardByTheSession(t *testing.T) {
	r := night(t, "하나")
	r.due("n1", 0)
	r.pass(11_000)
	r.begins()
	r.wantEvents("started")
	r.event("user.answered", "", core.Values{"answer": "알았어", "question_id": "q-1"})
	r.wantEvents("")
	r.event("user.answered", "", core.Values{"answer": "알았어"})
	r.wantEvents("user_response")
}
