package running

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// shape writes a plan on one line: what each step does and waits for, and what is stopped.
func shape(p wire.Plan) string {
	var parts []string
	for _, q := range p.Requests {
		room, _ := q.Params["position"].V.(string)
		var deps []string
		for _, d := range q.DependsOn {
			deps = append(deps, d.Step)
		}
		text := q.CloudStepID + " " + q.TaskMethod
		if room != "" {
			text += " " + room
		}
		if len(deps) > 0 {
			text += " after " + strings.Join(deps, " ")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ") + " | stops " + strings.Join(p.Workflow.CancelSteps, " ")
}

const s02 = "거실로 가서 청정하고 안방으로 가"

// TestCaseF14_ARevisionKeepsWhatIsDone: S31, F14. The same plan, the smallest change; what is done keeps its id and its content; what is replaced is stopped by
// its name and what takes its place has a new one.
func TestCaseF14_ARevisionKeepsWhatIsDone(t *testing.T) {
	r := newRig(t)
	const toKitchen = "step_1 setMoveTo 거실; step_2 startBasicAirClear after step_1; step_3_r1 setMoveTo 주방 after step_2 | stops step_3"
	const noCleaning = "step_1 setMoveTo 거실; step_3 setMoveTo 안방 after step_1 | stops step_2"
	cleaning := []string{"completed", "running", "pending"}
	driving := []string{"running", "pending", "pending"}
	for _, tc := range []struct {
		said   string
		states []string
		want   string // of the plan
		reply  string
	}{
		{"안방 말고 주방으로 가", cleaning, toKitchen, "네, 주방으로 바꿀게요."},
		{"안방 말고 주방으로 가", nil, toKitchen, ""}, // nobody knows how far it is: it is right all the same
		{"안방 말고 주방으로", cleaning, toKitchen, ""},
		{"안방말고 주방", cleaning, toKitchen, ""},
		{"아니, 안방 말고 부엌으로 가 줘", cleaning, toKitchen, ""},
		{"아니 주방으로 가", cleaning, toKitchen, ""},
		{"아니야, 주방으로 가 줘", cleaning, toKitchen, ""},
		{"안방 대신 주방으로 가줘", cleaning, toKitchen, ""},
		{"go to the kitchen instead of the master bedroom", cleaning, toKitchen, "OK, kitchen instead."},
		{"not the master bedroom, the kitchen", cleaning, toKitchen, ""},
		{"no, go to the kitchen", cleaning, toKitchen, ""},
		{"거실 말고 서재로 가", driving, "step_1_r1 setMoveTo 서재; step_2 startBasicAirClear after step_1_r1; step_3 setMoveTo 안방 after step_2 | stops step_1", ""},
		{"거실 말고 서재 청정해줘", driving, "step_1_r1 setMoveTo 서재; step_2 startBasicAirClear after step_1_r1; step_3 setMoveTo 안방 after step_2 | stops step_1", ""},
		{"거실 말고 서재 청정해줘", cleaning, "step_1 setMoveTo 거실; step_1_r1 setMoveTo 서재 after step_1; step_2_r1 startBasicAirClear after step_1_r1; step_3 setMoveTo 안방 after step_2_r1 | stops step_2", ""},
		// nobody knows how far it is: what hangs on the change may have begun, and gets an id of its own
		{"거실 말고 서재로 가", nil, "step_1_r1 setMoveTo 서재; step_2_r1 startBasicAirClear after step_1_r1; step_3_r1 setMoveTo 안방 after step_2_r1 | stops step_1 step_2 step_3", ""},
		{"청정은 빼고", nil, "step_1 setMoveTo 거실; step_3_r1 setMoveTo 안방 after step_1 | stops step_2 step_3", ""},
		{"청정은 빼고", driving, noCleaning, "네, 청정은 빼고 할게요."},
		{"청정 빼고 해줘", driving, noCleaning, ""},
		{"청정하지 마", cleaning, noCleaning, ""},
		{"청정만 그만", cleaning, noCleaning, "네, 청정은 그만하고 나머지는 계속할게요."},
		{"skip the cleaning", driving, noCleaning, "OK, I will leave out cleaning."},
		{"stop only the cleaning", cleaning, noCleaning, ""},
		{"안방은 빼고", cleaning, "step_1 setMoveTo 거실; step_2 startBasicAirClear after step_1 | stops step_3", ""},
		{"거실은 빼고", driving, "step_3 setMoveTo 안방 | stops step_1 step_2", ""},
		{"청정 말고 공기 확인해줘", driving, "step_1 setMoveTo 거실; step_2_r1 getAirQuality after step_1; step_3 setMoveTo 안방 after step_2_r1 | stops step_2", ""},
	} {
		t.Run(fmt.Sprint(tc.said, tc.states), func(t *testing.T) {
			w := r.under(s02, tc.states...)
			d, by := r.say(tc.said, open(w))
			if d.Revises == nil {
				t.Fatalf("answered by %q: %s", by, d.TTSResponse)
			}
			got := d.Revises
			if s := shape(got.Plan); s != tc.want {
				t.Errorf("%s\n want %s", s, tc.want)
			}
			if got.WorkflowID != "wf_1" || got.PlanID != "pl_1" || got.Revision != 1 || got.How != SmallestChange || got.Plan.Workflow.Revision != 1 || got.Plan.Workflow.PlanID != "pl_1" {
				t.Errorf("revises %+v", got)
			}
			if tc.reply != "" && d.TTSResponse != tc.reply {
				t.Errorf("says %q, want %q", d.TTSResponse, tc.reply)
			}
			sound(t, r, w.Plan, d)
		})
	}
}

// sound holds for every revision: the device takes it, what is kept is what was sent, and nothing is both asked for and stopped.
func sound(t *testing.T, r *rig, before wire.Plan, d turn.Decision) {
	t.Helper()
	next := d.Revises.Plan
	if _, faults := bridge.CheckPlan(r.cat, &next); len(faults) > 0 {
		t.Errorf("the device would refuse it: %+v", faults)
	}
	for _, q := range next.Requests {
		i := slices.IndexFunc(before.Requests, func(old wire.Request) bool { return old.CloudStepID == q.CloudStepID })
		if i < 0 {
			continue
		}
		old := before.Requests[i]
		old.DependsOn, q.DependsOn = nil, nil // of a step that has not begun they may change
		a, _ := json.Marshal(old)
		b, _ := json.Marshal(q)
		if string(a) != string(b) {
			t.Errorf("step %s was %s and is %s", q.CloudStepID, a, b)
		}
	}
	if fault := Fault(d); fault != "" {
		t.Error(fault)
	}
	for _, s := range d.Steps { // F13: nothing is planned that no words ask for
		if s.Span == "" {
			t.Errorf("step %s cites no words", s.ID)
		}
	}
	if len(d.Steps) != len(next.Requests) || d.TurnMode != turn.Mode(d.Steps) {
		t.Errorf("%d steps are shown as %s", len(d.Steps), d.TurnMode)
	}
}

// TestWhatFitsNoPlanIsANewWish: where nothing that is under way has what is meant, the words are left to the main planner.
func TestWhatFitsNoPlanIsANewWish(t *testing.T) {
	r := newRig(t)
	cleaning := open(r.under(s02, "completed", "running", "pending"))
	for _, tc := range []struct {
		said string
		a    turn.Around
	}{
		{"안방 말고 주방으로 가", turn.Around{}},
		{"서재 말고 주방으로 가", cleaning},
		{"거실 말고 서재로 가", cleaning}, // that way is behind it
		{"안방 말고 아무 데나 가", cleaning},
		{"안방 말고 티비 켜", cleaning},
		{"아니 오늘 날씨 어때", cleaning},
		{"안방 말고 베란다로 가", cleaning}, // it cannot be reached: the main planner says so
		{"안방 말고 안방으로 가", cleaning},
		{"커피 말고 주스 마셔", cleaning},
		{"설거지는 빼고", cleaning},
		{"다 그만", cleaning},
		{"멈춰", cleaning},
		{"그만해", cleaning},
	} {
		if d, by := r.say(tc.said, tc.a); by != "" {
			t.Errorf("%q is answered by %s: %q", tc.said, by, d.TTSResponse)
		}
	}
}

// TestWhichWayIsAskedAndAnswered: with two ways ahead "아니 주방으로 가" may mean either.
func TestWhichWayIsAskedAndAnswered(t *testing.T) {
	r := newRig(t)
	a := open(r.under(s02, "running", "pending", "pending"))
	d, _ := r.say("아니 주방으로 가", a)
	if !d.AskFollowUp || d.Revises != nil || !slices.Equal(d.MissingSlots, []string{"position"}) || d.TTSResponse != "거실, 안방 중에 어디 대신 갈까요?" {
		t.Fatalf("%+v", d)
	}
	a.History = []turn.Said{{By: "user", Text: "아니 주방으로 가"}, {By: "robot", Text: d.TTSResponse}}
	if d, _ = r.say("안방", a); d.Revises == nil || !strings.Contains(shape(d.Revises.Plan), "step_3_r1 setMoveTo 주방") {
		t.Errorf("%+v", d)
	}
	a.History[1].Text = "네."
	if d, by := r.say("안방", a); by != "" {
		t.Errorf("a room that nobody has asked for is an answer: %+v", d)
	}
}

// TestARevisionOfARevision: ids are for ever, and the goal, the deadline and what hangs on the step go with it.
func TestARevisionOfARevision(t *testing.T) {
	r := newRig(t)
	w := r.under(s02)
	w.AgeMS = 60_000
	w.Plan.Experience = &wire.Experience{ExperienceID: "exp_1", GoalID: "g", Effects: []wire.GoalEffect{{EffectID: "target_location_reached", StepID: "step_3", Required: true}},
		Temporal: []wire.GoalTemporal{{TemporalRelation: "after_planned_step", StepID: "step_3"}}}
	was := w.Plan.Workflow.DeadlineMS
	d, _ := r.say("안방 말고 주방으로 가", open(w))
	w.Plan, w.Revision = d.Revises.Plan, 1
	d, _ = r.say("주방 말고 서재로 가", open(w))
	next := d.Revises.Plan
	if s := shape(next); s != "step_1 setMoveTo 거실; step_2 startBasicAirClear after step_1; step_3_r2 setMoveTo 서재 after step_2 | stops step_3_r1" || next.Workflow.Revision != 2 {
		t.Errorf("revision %d: %s", next.Workflow.Revision, s)
	}
	if g := next.Experience; g.Effects[0].StepID != "step_3_r2" || g.Temporal[0].StepID != "step_3_r2" || next.Workflow.DeadlineMS != was+120_000 {
		t.Errorf("goal %+v, deadline %d after %d", g, next.Workflow.DeadlineMS, was)
	}
	if d, _ = r.say("청정은 빼고", open(w)); d.Revises == nil || len(d.Revises.Plan.Experience.Effects) != 1 {
		t.Errorf("%+v", d.Revises)
	}
}

// TestWhatIsNeededLaterIsNotTakenOut, and a plan of which nothing would be left is cancelled.
func TestWhatIsNeededLaterIsNotTakenOut(t *testing.T) {
	r := newRig(t)
	a := open(r.under("거실로 가서 공기 상태 확인하고 나쁘면 청정해", "running"))
	d, _ := r.say("공기 상태 확인은 빼고", a)
	if d.Revises != nil || d.SpeechAct != Failed || !strings.Contains(d.TTSResponse, "뺄 수 없어요") {
		t.Errorf("%+v", d)
	}
	d, _ = r.say("주방은 빼고", open(r.under("주방으로 가", "running")))
	if c := d.Control; c == nil || c.Verb != "cancel" || c.Scope != "workflow" || c.Target != "wf_1" || d.ControlOf != "wf_1" || d.Revises != nil {
		t.Errorf("%+v", d)
	}
}

// TestTheForegroundIsMeantFirst: of two plans with the same way the one in the foreground is changed.
func TestTheForegroundIsMeantFirst(t *testing.T) {
	r := newRig(t)
	older, newer := r.under("안방으로 가", "running"), r.under("안방으로 가서 공기 상태 확인해", "pending")
	newer.WorkflowID = "wf_2"
	a := turn.Around{Workflows: []turn.Workflow{newer, older}, Foreground: "wf_1"}
	if d, _ := r.say("안방 말고 주방으로 가", a); d.Revises == nil || d.Revises.WorkflowID != "wf_1" {
		t.Errorf("%+v", d.Revises)
	}
}
