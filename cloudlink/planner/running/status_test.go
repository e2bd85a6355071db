package running

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// TestA3_WhatIsUnderWayIsTold: S31, A3, A18, A20. Each answer holds what the device has said and no more, and changes nothing.
func TestA3_WhatIsUnderWayIsTold(t *testing.T) {
	r := newRig(t)
	cleaning := open(r.under(s02, "completed", "running", "pending"))
	unknown := open(r.under(s02))
	lost := unknown
	lost.Link = "link_lost"
	stale := open(r.under(s02, "completed", "running", "pending"))
	stale.Link = "link_lost"
	for i := range stale.Workflows[0].Steps {
		stale.Workflows[0].Steps[i].AgeMS = 180_000
	}
	queued := open(r.under("주방으로 가"))
	queued.Workflows[0].Status = "queued"
	sent := open(r.under("주방으로 가"))
	sent.Workflows[0].Status = "sent"
	for _, tc := range []struct {
		said  string
		a     turn.Around
		reply string
		act   string
	}{
		{"지금 뭐 해?", cleaning, "거실로 이동은 끝났어요. 지금 청정 중이에요. 남은 일은 안방으로 이동이에요.", Progress},
		{"지금 뭐하고 있어?", cleaning, "거실로 이동은 끝났어요. 지금 청정 중이에요. 남은 일은 안방으로 이동이에요.", Progress},
		{"너 뭐 하는 중이야?", cleaning, "거실로 이동은 끝났어요. 지금 청정 중이에요. 남은 일은 안방으로 이동이에요.", Progress},
		{"어디까지 했어?", unknown, "거실로 이동, 청정, 안방으로 이동을 맡았지만, 어디까지 했는지는 아직 보고를 받지 못했어요.", Progress},
		{"어디까지 했어?", lost, "지금은 로봇과 연결되어 있지 않아요. 거실로 이동, 청정, 안방으로 이동을 맡았지만, 어디까지 했는지는 아직 보고를 받지 못했어요.", Progress},
		{"지금 뭐 해?", stale, "지금은 로봇과 연결되어 있지 않아요. 3분 전에 들은 바로는, 거실로 이동은 끝났어요. 그때는 청정 중이었어요. 남은 일은 안방으로 이동이에요.", Progress},
		{"지금 뭐 해?", queued, "주방으로 이동은 아직 로봇에 전하지 못했어요.", Progress},
		{"지금 뭐 해?", sent, "주방으로 이동을 로봇에 보냈지만 아직 받았다는 답이 없어요.", Progress},
		{"지금 뭐 해?", turn.Around{}, "제가 맡아서 하고 있는 일은 없어요.", Progress},
		{"what are you doing?", cleaning, "Finished: go to the living room. Now: clean the air. Still to do: go to the master bedroom.", Progress},
		{"다 했어?", cleaning, "아니요, 아직이에요. 거실로 이동은 끝났어요. 지금 청정 중이에요. 남은 일은 안방으로 이동이에요.", Progress},
		{"are you done?", cleaning, "No, not yet. Finished: go to the living room. Now: clean the air. Still to do: go to the master bedroom.", Progress},
		{"청정 끝났어?", cleaning, "아니요, 아직이에요. 지금 청정 중이에요.", Progress},
		{"청정 끝났어?", unknown, "청정은 아직 결과를 받지 못했어요.", Progress},
		{"청정 끝났어?", stale, "지금은 로봇과 연결되어 있지 않아요. 3분 전에는 청정 중이었고, 그 뒤의 결과는 아직 받지 못했어요.", Progress},
		{"청정 중이야?", cleaning, "네, 지금 청정 중이에요.", Progress},
		{"아직 청정하고 있어?", cleaning, "네, 지금 청정 중이에요.", Progress},
		{"거실에 도착했어?", cleaning, "네, 거실로 이동은 끝났어요.", Done},
		{"안방에 도착했어?", cleaning, "아니요, 아직이에요. 남은 일은 안방으로 이동이에요.", Progress},
		{"have you arrived in the living room?", cleaning, "Yes, go to the living room is finished.", Done},
		{"바이탈 끝났어?", cleaning, "최근에 바이탈을 맡은 기록이 없어요.", Progress},
	} {
		t.Run(tc.said, func(t *testing.T) {
			d, by := r.say(tc.said, tc.a)
			if by != "status" || d.TTSResponse != tc.reply || d.SpeechAct != tc.act {
				t.Errorf("%s says %q (%s), want %q (%s)", by, d.TTSResponse, d.SpeechAct, tc.reply, tc.act)
			}
			unchanged(t, d)
		})
	}
}

// unchanged holds for every answer to a question.
func unchanged(t *testing.T, d turn.Decision) {
	t.Helper()
	if d.Control != nil || d.Revises != nil || d.Answers != nil || len(d.Steps) > 0 || d.Schedule != nil {
		t.Errorf("a question changes something: %+v", d)
	}
	if fault := Fault(d); fault != "" {
		t.Error(fault)
	}
}

// TestA20_HowItEndedIsToldByTheResult: A20. Completed, failed, cancelled, skipped, and taken out on the way.
func TestA20_HowItEndedIsToldByTheResult(t *testing.T) {
	r := newRig(t)
	closed := func(result string, states ...string) turn.Around {
		w := r.under(s02, states...)
		w.Result = result
		for i := range w.Steps {
			w.Steps[i].Evidence = "result"
		}
		return turn.Around{Ended: []turn.Workflow{w}}
	}
	failed := closed("failed", "completed", "timed_out", "skipped")
	failed.Ended[0].Steps[1].ReasonCode, failed.Ended[0].Steps[2].ReasonCode = "step_timeout", "dependency_failed"
	long := closed("completed", "completed", "completed", "completed")
	for i := range long.Ended[0].Steps {
		long.Ended[0].Steps[i].AgeMS = 7_200_000
	}
	out := open(r.under(s02, "completed"))
	out.Workflows[0].TakenOut = out.Workflows[0].Plan.Requests[1:2]
	out.Workflows[0].Plan.Requests = slices.Delete(slices.Clone(out.Workflows[0].Plan.Requests), 1, 2)
	stopped := out
	stopped.Workflows = slices.Clone(out.Workflows)
	stopped.Workflows[0].Steps = append(slices.Clone(out.Workflows[0].Steps), turn.StepNow{ID: "step_2", State: "cancelled", ReasonCode: "superseded", Evidence: "telemetry"})
	for _, tc := range []struct {
		said  string
		a     turn.Around
		reply string
		act   string
	}{
		{"다 했어?", closed("completed", "completed", "completed", "satisfied"), "네, 모두 끝났어요. 거실로 이동, 청정, 안방으로 이동.", Done},
		{"청정 다 됐어?", closed("completed", "completed", "completed", "completed"), "네, 청정은 끝났어요.", Done},
		{"청정 끝났어?", long, "네, 청정은 2시간 전에 끝났어요.", Done},
		{"청정 끝났어?", failed, "청정: 정해진 시간 안에 끝나지 않아 멈췄어요.", Failed},
		{"is the cleaning finished?", failed, "Clean the air: it did not end in its time, so I stopped it.", Failed},
		{"다 했어?", failed, "거실로 이동은 끝났어요. 청정: 정해진 시간 안에 끝나지 않아 멈췄어요. 안방으로 이동: 앞의 단계가 끝나지 않아 건너뛰었어요.", Failed},
		{"안방에 도착했어?", closed("cancelled", "completed", "completed", "cancelled"), "안방으로 이동은 취소되어 끝까지 하지 않았어요.", Failed},
		{"청정 끝났어?", out, "청정은 말씀하신 대로 빼 두었고, 어떻게 끝났는지는 아직 결과를 받지 못했어요.", Progress},
		{"청정 끝났어?", stopped, "청정은 취소되어 끝까지 하지 않았어요.", Failed},
	} {
		t.Run(tc.said, func(t *testing.T) {
			d, _ := r.say(tc.said, tc.a)
			if d.TTSResponse != tc.reply || d.SpeechAct != tc.act {
				t.Errorf("says %q (%s), want %q (%s)", d.TTSResponse, d.SpeechAct, tc.reply, tc.act)
			}
			unchanged(t, d)
		})
	}
}

// TestTheReasonIsThatOfTheCatalog: S33. A step that is stuck is told in the catalog's words for its reason, in the language of the question.
func TestTheReasonIsThatOfTheCatalog(t *testing.T) {
	r := newRig(t)
	for _, code := range []string{"executor_busy", "step_timeout", "policy_blocked", "room_unreachable", "battery_low", "a_reason_of_tomorrow"} {
		a := open(r.under("거실로 가", "blocked"))
		a.Workflows[0].Steps[0].ReasonCode = code
		want, ok := r.cat.Reasons[code]
		if !ok {
			want = r.cat.Questions["failed"]
		}
		for _, tc := range []struct{ said, text, step string }{{"왜 안 움직여?", want.Ko, "거실로 이동"}, {"what are you doing?", want.En, "Go to the living room"}} {
			d, _ := r.say(tc.said, a)
			text := strings.NewReplacer("{step}", tc.step, " {done}", "", " {left}", "", " {choice}", "").Replace(tc.text)
			if d.TTSResponse != text {
				t.Errorf("%s: says %q, want %q", code, d.TTSResponse, text)
			}
			unchanged(t, d)
		}
	}
}

// TestNothingIsAnsweredWhereNobodyHasLooked: without a device behind the words (a measurement of sentences) they are about something else.
func TestNothingIsAnsweredWhereNobodyHasLooked(t *testing.T) {
	r := newRig(t)
	for _, s := range r.Shortcuts() {
		for _, text := range []string{"지금 뭐 해?", "다 했어?", "안방 말고 주방으로 가", "퀴즈만 그만", "잠깐 멈춰", "응"} {
			if _, ok := s.Try(turn.Input{Text: text}); ok {
				t.Errorf("%s answers %q", s.Name, text)
			}
		}
	}
}

// TestContentIsToldApart: S08. A session is told by its own state, stopped alone, and its step is no proof of its end.
func TestContentIsToldApart(t *testing.T) {
	r := newRig(t)
	w := r.under("거실 청정해줘", "completed", "running")
	w.Plan.Requests = append(w.Plan.Requests, wire.Request{CloudStepID: "quiz", ExecutionTarget: "cloud", Skill: "content_session", Params: wire.Object{"kind": {V: "quiz"}}})
	w.Steps = append(w.Steps, turn.StepNow{ID: "quiz", State: "completed", Evidence: "telemetry"})
	a := open(w)
	a.Sessions = []turn.Session{{SessionID: "cs_1", WorkflowID: "wf_1", StepID: "quiz", Skill: "content_session", Kind: "quiz", State: "active"}}
	d, _ := r.say("지금 뭐 해?", a)
	if want := "거실로 이동은 끝났어요. 지금 청정 중이에요. 퀴즈를 들려드리고 있어요."; d.TTSResponse != want {
		t.Errorf("says %q, want %q", d.TTSResponse, want)
	}
	for _, text := range []string{"퀴즈만 그만", "청정은 계속하고 퀴즈만 그만", "퀴즈만 그만해 줘", "stop only the quiz", "keep the cleaning but stop the quiz"} {
		d, _ := r.say(text, a)
		if c := d.Control; c == nil || c.Verb != "cancel" || c.Scope != "session" || c.Target != "cs_1" || d.ControlOf != "wf_1" || d.Revises != nil {
			t.Errorf("%q: %+v", text, d)
		}
	}
	for _, text := range []string{"동화만 그만", "stop only the news"} {
		if d, by := r.say(text, a); by != "stop_part" || d.Control != nil || len(d.Steps) > 0 || d.SpeechAct != Failed {
			t.Errorf("%q: another session is stopped, or told: %+v", text, d)
		}
	}
	if d, _ := r.say("퀴즈 끝났어?", a); d.TTSResponse != "퀴즈를 들려드리고 있어요." {
		t.Errorf("says %q", d.TTSResponse)
	}
}

// TestAPauseIsByVoiceAndForTheVoice: one plan by its name, several all at once; what voice has not paused it does not let go.
func TestAPauseIsByVoiceAndForTheVoice(t *testing.T) {
	r := newRig(t)
	one := r.under("거실로 가", "running")
	other := one
	other.WorkflowID = "wf_2"
	paused, byApp := one, one
	paused.PausedBy, byApp.PausedBy = []string{"voice"}, []string{"app"}
	all := open(one, other)
	all.PausedBy = []string{"voice"}
	for _, tc := range []struct {
		said                string
		a                   turn.Around
		verb, scope, target string
	}{
		{"잠깐 멈춰", open(one), "pause", "workflow", "wf_1"},
		{"잠깐만 기다려 줘", open(one), "pause", "workflow", "wf_1"},
		{"pause", open(one), "pause", "workflow", "wf_1"},
		{"일시정지", open(one, other), "pause", "all", ""},
		{"다시 해", open(paused), "resume", "workflow", "wf_1"},
		{"계속해 줘", open(paused), "resume", "workflow", "wf_1"},
		{"go on", open(paused), "resume", "workflow", "wf_1"},
		{"계속해", all, "resume", "all", ""},
		{"다시 해", open(byApp), "", "", ""},
		{"다시 해", open(one), "", "", ""},
		{"잠깐 멈춰", turn.Around{}, "", "", ""}, // the main planner stops the body
	} {
		d, _ := r.say(tc.said, tc.a)
		switch c := d.Control; {
		case tc.verb == "" && c == nil:
		case c == nil || c.Verb != tc.verb || c.Scope != tc.scope || c.Target != tc.target || c.RequestedBy != "voice" || d.ControlOf != tc.target:
			t.Errorf("%q: %+v", tc.said, d)
		}
	}
}

// TestAnAnswerIsOneAndNothingMore: an option's own words, its number, yes or no, and only while it is asked.
func TestAnAnswerIsOneAndNothingMore(t *testing.T) {
	r := newRig(t)
	consent := []turn.Option{{ID: "yes", Text: "네"}, {ID: "no", Text: "아니요"}}
	choice := []turn.Option{{ID: "retry_local", Text: "다시 해 줘"}, {ID: "return_to_station", Text: "충전대로 돌아가"}, {ID: "cancel", Text: "그만해"}}
	again := []turn.Option{{ID: "again", Text: "다시 가 줘"}, {ID: "no", Text: "그만해"}}
	english := []turn.Option{{ID: "yes", Text: "yes"}, {ID: "no", Text: "no"}}
	for _, tc := range []struct {
		said    string
		options []turn.Option
		want    string
	}{
		{"응", consent, "yes"}, {"네!", consent, "yes"}, {"그래 좋아", consent, ""}, {"좋아", consent, "yes"}, {"아니", consent, "no"}, {"싫어", consent, "no"},
		{"다시 해 줘", choice, "retry_local"}, {"다시해줘", choice, "retry_local"}, {"충전대로 돌아가", choice, "return_to_station"}, {"두 번째", choice, "return_to_station"},
		{"그만해", choice, "cancel"}, {"아니", choice, "cancel"}, {"응", choice, ""}, {"응", again, "again"}, {"yes", english, "yes"}, {"No.", english, "no"},
		{"아니 주방으로 가", consent, ""}, {"다 그만", choice, ""}, {"거실로 가", consent, ""},
	} {
		a := turn.Around{Questions: []turn.Question{{WorkflowID: "wf_1", QuestionID: "q1", Text: "?", Options: tc.options}, {WorkflowID: "wf_0", QuestionID: "q0", Options: consent}}}
		d, _ := r.say(tc.said, a)
		got := ""
		if d.Answers != nil {
			got = d.Answers.Option
			if d.Answers.QuestionID != "q1" || d.Answers.WorkflowID != "wf_1" || d.Control != nil || len(d.Steps) > 0 {
				t.Errorf("%q: %+v", tc.said, d.Answers)
			}
		}
		if got != tc.want {
			t.Errorf("%q chooses %q, want %q", tc.said, got, tc.want)
		}
	}
}

// TestA20_WhatHasOnlyBegunIsNotSaidToHaveEnded: A20. A step of cleaning that nobody waits for is done when the cleaning runs. That it goes on, for all
// that is known, is said as that, also when its plan has ended; and when something has stopped it since, that is said.
func TestA20_WhatHasOnlyBegunIsNotSaidToHaveEnded(t *testing.T) {
	r := newRig(t)
	closed := func(w turn.Workflow, id string, age int64) turn.Workflow {
		w.WorkflowID, w.Result, w.AgeMS = id, "completed", age
		for i := range w.Steps {
			w.Steps[i].Evidence, w.Steps[i].AgeMS = "result", age
		}
		return w
	}
	begun := closed(r.under("거실로 가서 20분 동안 청정해줘", "completed", "completed"), "wf_1", 60_000)
	off := closed(r.under("청정 꺼 줘", "completed"), "wf_2", 1000)
	long := closed(r.under("거실로 가서 20분 동안 청정해줘", "completed", "completed"), "wf_1", 3_600_000)
	open := open(r.under("거실로 가서 20분 동안 청정하면서 화면 켜", "completed", "completed", "running"))
	const still = "청정은 시작했고, 그 뒤로 끝났다는 보고는 아직 없어요."
	for _, tc := range []struct {
		said  string
		a     turn.Around
		reply string
		act   string
	}{
		{"청정 끝났어?", turn.Around{Ended: []turn.Workflow{begun}}, still, Progress},
		{"청정 중이야?", turn.Around{Ended: []turn.Workflow{begun}}, still, Progress},
		{"다 했어?", turn.Around{Ended: []turn.Workflow{begun}}, "거실로 이동은 끝났어요. " + still, Progress},
		{"지금 뭐 해?", turn.Around{Ended: []turn.Workflow{begun}}, still, Progress},
		{"지금 뭐 해?", turn.Around{Ended: []turn.Workflow{long}}, "제가 맡아서 하고 있는 일은 없어요.", Progress},
		{"지금 뭐 해?", open, "거실로 이동은 끝났어요. " + still + " 지금 화면 켜기 중이에요.", Progress},
		{"청정 끝났어?", turn.Around{Ended: []turn.Workflow{off, begun}}, "네, 청정은 멈췄어요.", Done},
		{"지금 뭐 해?", turn.Around{Ended: []turn.Workflow{off, begun}}, "제가 맡아서 하고 있는 일은 없어요.", Progress},
		{"청정 끝났어?", turn.Around{Ended: []turn.Workflow{begun, off}}, still, Progress}, // it was begun anew after the stop
	} {
		d, _ := r.say(tc.said, tc.a)
		if d.TTSResponse != tc.reply || d.SpeechAct != tc.act {
			t.Errorf("%q: says %q (%s), want %q (%s)", tc.said, d.TTSResponse, d.SpeechAct, tc.reply, tc.act)
		}
		unchanged(t, d)
	}
}
