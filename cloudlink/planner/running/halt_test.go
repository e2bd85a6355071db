package running

import (
	"fmt"
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

func quiz(a turn.Around, kind string) turn.Around {
	a.Sessions = []turn.Session{{SessionID: "cs_1", WorkflowID: "wf_9", StepID: "step_1", Skill: "content_session", Kind: kind, State: "active"}}
	return a
}

// TestAStopWithoutAWordForWhatIsObeyed: F14. Each way of saying it ends what is under way; where nothing is, what is only forbidden is no control, and
// what leaves a question about a schedule is left to it.
func TestAStopWithoutAWordForWhatIsObeyed(t *testing.T) {
	r := newRig(t)
	moving := open(r.under("안방으로 가", "running"))
	cleans := turn.Around{Ended: []turn.Workflow{r.under("청정해줘", "completed")}}
	asked := turn.Around{Slots: &turn.Slots{Operation: "create", Missing: []string{"start_time"}}}
	const all, one, session, off = "cancel all", "cancel workflow", "cancel session", "stopCleaning"
	for _, tc := range []struct {
		said string
		a    turn.Around
		want string
	}{
		{"아 됐어 그만둬", moving, all}, {"그만두라고!", moving, all}, {"멈추라니까", moving, all}, {"ok stop it now", moving, all}, {"that's enough", moving, all},
		{"everything off", moving, all}, {"그만둬", turn.Around{}, all}, {"그만둬", asked, ""},
		{"하지마", moving, all}, {"actually, don't", moving, all}, {"하지마", turn.Around{}, ""},
		{"아냐 가지 마 거기", moving, one}, {"가지 마세요", moving, one}, {"거기 가만히 있어", moving, ""}, {"가만히 있어", moving, one}, {"don't move", moving, one}, {"안방에는 가지 마", moving, one},
		{"주방으로 가지 마", moving, ""}, {"가지 마", cleans, ""},
		{"꺼줘", moving, all}, {"그거 꺼", cleans, off}, {"끄라고", cleans, off}, {"turn it off", cleans, off}, {"꺼", turn.Around{}, ""},
		{"이야기 그만", quiz(moving, "story"), session}, {"동화 그만 읽어줘", quiz(turn.Around{}, "story"), session}, {"please stop the story", quiz(turn.Around{}, "story"), session},
		{"퀴즈 이제 그만하자", quiz(turn.Around{}, "quiz"), session}, {"퀴즈 멈추고 충전하러 가", quiz(turn.Around{}, "quiz"), session}, {"stop the story and come back", quiz(turn.Around{}, "story"), session}, {"cancel that", quiz(moving, "quiz"), all}, {"no more quiz", quiz(turn.Around{}, "quiz"), session}, {"이야기 그만", quiz(turn.Around{}, "quiz"), ""},
	} {
		d, _ := r.say(tc.said, tc.a)
		got := ""
		if c := d.Control; c != nil {
			got = c.Verb + " " + c.Scope
		} else if len(d.Steps) > 0 {
			got = d.Steps[0].TaskMethod
		}
		if got != tc.want {
			t.Errorf("%q: %q, want %q (%s)", tc.said, got, tc.want, d.TTSResponse)
		}
		if fault := Fault(d); d.TTSResponse != "" && fault != "" {
			t.Errorf("%q: %s", tc.said, fault)
		}
	}
}

// TestWhatWasOnlyStartedIsNotSaidToBeFinished: A20. A plan that is complete by the start of the cleaning is no proof of its end: it goes on until it was
// stopped, everything was cancelled, or its time is over.
func TestWhatWasOnlyStartedIsNotSaidToBeFinished(t *testing.T) {
	r := newRig(t)
	ago := func(text string, ms int64) turn.Workflow {
		w := r.under(text, "completed")
		w.WorkflowID, w.Result, w.AgeMS = fmt.Sprint("wf_", ms), "completed", ms
		for i := range w.Steps {
			w.Steps[i].AgeMS = ms
		}
		return w
	}
	minute := int64(60_000)
	cleans := turn.Around{Ended: []turn.Workflow{ago("20분 청정해줘", minute)}}
	stopped := turn.Around{Ended: []turn.Workflow{ago("청정 꺼줘", 1000), ago("20분 청정해줘", minute)}}
	over := turn.Around{Ended: []turn.Workflow{ago("20분 청정해줘", 40*minute)}}
	again := turn.Around{Ended: []turn.Workflow{ago("20분 청정해줘", minute), ago("청정 꺼줘", 2*minute)}}
	cancelled := cleans
	now := int64(500)
	cancelled.AllCancelledMS = &now
	const goesOn, nothing = "청정은 시작했고, 그 뒤로 끝났다는 보고는 아직 없어요.", "제가 맡아서 하고 있는 일은 없어요."
	for _, tc := range []struct {
		said string
		a    turn.Around
		want string
	}{
		{"지금 뭐 해?", cleans, goesOn}, {"다 했어?", cleans, goesOn}, {"청정 끝났어?", cleans, goesOn}, {"아직 청정하고 있어?", cleans, goesOn}, {"지금 뭐 해?", again, goesOn},
		{"지금 뭐 해?", stopped, nothing}, {"지금 뭐 해?", over, nothing}, {"지금 뭐 해?", cancelled, nothing},
	} {
		d, _ := r.say(tc.said, tc.a)
		if d.TTSResponse != tc.want || d.SpeechAct != Progress {
			t.Errorf("%q: %q (%s), want %q", tc.said, d.TTSResponse, d.SpeechAct, tc.want)
		}
		unchanged(t, d)
	}
	w := ago("20분 청정해줘", minute)
	w.Plan.Requests[0].RequiredEffects = []wire.RequiredEffect{{EffectID: "air_cleaning_completed"}}
	if d, _ := r.say("청정 끝났어?", turn.Around{Ended: []turn.Workflow{w}}); d.SpeechAct != Done {
		t.Errorf("its end was proven: %q", d.TTSResponse)
	}
}
