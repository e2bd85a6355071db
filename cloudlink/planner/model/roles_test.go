package model

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/testbed/modelserver"
)

// whole is the pipeline around a planner, as plannerd joins it.
func (r *rig) whole() *pipeline.Planner {
	return pipeline.New(r.planner(), r.opt.Catalog, r.opt.Words)
}

// asked counts the questions that came to the server, by what they ask for.
func (r *rig) asked(from int) map[string]int {
	out := map[string]int{}
	for _, a := range r.fake.Asked()[from:] {
		kind := "other"
		for field, name := range map[string]string{"owner_selection": "main", `"family"`: "second_pass", `"flow_id"`: "selector", `"object_type"`: "typer", `"replyability"`: "judge"} {
			if strings.Contains(string(a.Schema), field) {
				kind = name
			}
		}
		out[kind]++
	}
	return out
}

// TestCallsOfATurnAreBounded: for every combination of the small questions, counted where they arrive. By default there is one main
// question and one second pass at most; each small one that is on adds one at most; a turn that needs no model asks none.
func TestCallsOfATurnAreBounded(t *testing.T) {
	said := []string{"거실로 가서 청정하고 안방으로 가", "멈춰", "청정 끄고 티비도 꺼줘", "다 그만", "천천히 주방으로 가", "유튜브 틀어줘", "요트북 추천해줘", "드래곤 길들이기", "높은 장게", "청정", "오늘 좀 힘들었어", "매일 오후 여섯 시에 고정청정 예약해 줘"}
	none := map[string]bool{"멈춰": true, "청정 끄고 티비도 꺼줘": true, "다 그만": true}
	for _, use := range []string{Unclear, Always} {
		for n := range 8 {
			r := newRig(t, OpenAI)
			r.opt.Use, r.opt.Selector, r.opt.Typer, r.opt.Judge = use, n&1 != 0, n&2 != 0, n&4 != 0
			p := r.whole()
			on := map[string]bool{"main": true, "second_pass": true, "selector": r.opt.Selector, "typer": r.opt.Typer, "judge": r.opt.Judge}
			total := map[string]int{}
			for _, text := range said {
				before := len(r.fake.Asked())
				d, err := p.Plan(t.Context(), turn.Input{TurnID: "t", Text: text, Locale: "ko-KR"})
				if err != nil {
					t.Fatal(err)
				}
				sum := 0
				for kind, count := range r.asked(before) {
					if count > 1 || !on[kind] {
						t.Errorf("%s %+v: %q asked %d of %s", use, on, text, count, kind)
					}
					sum, total[kind] = sum+count, total[kind]+count
				}
				if int64(sum) != d.ModelCalls || d.Trace.Usage.ModelCalls != d.ModelCalls || d.Model != nil && len(d.Model.Calls) != sum {
					t.Errorf("%s %+v: %q asked %d, and counts %d", use, on, text, sum, d.ModelCalls)
				}
				if none[text] && sum > 0 || use == Unclear && text == said[0] && sum > 0 {
					t.Errorf("%s %+v: %q waits for a model", use, on, text)
				}
			}
			for kind := range on {
				if on[kind] != (total[kind] > 0) && kind != "second_pass" {
					t.Errorf("%s %+v: %s was asked %d times", use, on, kind, total[kind])
				}
			}
		}
	}
}

// TestWhatTheSmallQuestionsChange: their answers reach the stages behind them, and nothing else.
func TestWhatTheSmallQuestionsChange(t *testing.T) {
	for _, tc := range []struct {
		role, said, field, answer string
		look                      func(*turn.Trace) string
		then                      string
	}{
		{"selector", "나한테 어울리는 말투 추천해줘", "flow_id", "FRG.FRG.public_recommendation", func(tr *turn.Trace) string {
			return tr.Ranked.PrimaryFlow + " " + tr.Ranked.By + " " + tr.Candidates.AgentIDs[0]
		}, "FRG.FRG.public_recommendation model FRG"},
		{"typer", "드래곤 길들이기", "object_type", "public_entity", func(tr *turn.Trace) string { return tr.Object.Type + " " + tr.Object.By }, "public_entity model"},
		{"judge", "드래곤 길들이기", "replyability", "bounded_reply_now", func(tr *turn.Trace) string { return tr.Reply.Type + " " + tr.Reply.By }, "bounded_reply_now model"},
	} {
		r := newRig(t, OpenAI)
		r.opt.Selector, r.opt.Typer, r.opt.Judge = tc.role == "selector", tc.role == "typer", tc.role == "judge"
		r.fake.Narrow(tc.field, tc.answer)
		d, err := r.whole().Plan(t.Context(), turn.Input{TurnID: "t", Text: tc.said, Locale: "ko-KR"})
		if err != nil {
			t.Fatal(err)
		}
		if got := tc.look(d.Trace); got != tc.then || len(d.Trace.Roles) != 1 {
			t.Errorf("%s: %s by %v, want %s", tc.role, got, d.Trace.Roles, tc.then)
		}
		if hints, ok := r.fake.Asked()[1].Said["hints"].(map[string]any); !ok || len(hints) < 3 {
			t.Errorf("%s: the main question is shown %v", tc.role, r.fake.Asked()[1].Said)
		}
	}
	r := newRig(t, OpenAI)
	r.opt.Selector = true
	r.fake.Narrow("flow_id", "ODL.ODL.fly")
	d, err := r.whole().Plan(t.Context(), turn.Input{TurnID: "t", Text: "나한테 어울리는 말투 추천해줘"})
	if err != nil || d.Trace.Ranked.By != "inline" || d.Model.Calls[0].Fault != string(BadAnswer) {
		t.Errorf("a flow that nobody registered was taken: %+v (%v)", d.Trace.Ranked, err)
	}
}

// TestWhateverAModelDoesToTheSmallQuestions: each way to be wrong, with all of them on. The turn ends in time, in a decision of a registered
// flow that a device would take, and never in raw text.
func TestWhateverAModelDoesToTheSmallQuestions(t *testing.T) {
	for _, b := range modelserver.Behaviours {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Gemini)
			r.behave(b.Name)
			r.opt.Selector, r.opt.Typer, r.opt.Judge = true, true, true
			if faultOf[b.Name] == Deadline || faultOf[b.Name] == ServerFault || b.Name == "busy_now" {
				r.opt.Deadline = shortTurn
			}
			for _, said := range []string{"천천히 주방으로 가", "드래곤 길들이기"} {
				p, before, began := r.whole(), len(r.fake.Asked()), time.Now()
				in := turn.Input{TurnID: "t", Text: said, Locale: "ko-KR"}
				d, err := p.Plan(context.Background(), in)
				if took := time.Since(began); err != nil || took > r.opt.Deadline+slack {
					t.Fatalf("%q: %v after %s", said, err, took)
				}
				f, known := registry.Default().Flow(d.SelectedFlowID)
				if !known || f.Family != d.OwnerSelection || d.TTSResponse == "" || strings.Contains(text64(d), modelserver.Canary) || strings.Contains(text64(d), canaryKey) {
					t.Errorf("%q: %s", said, text64(d))
				}
				if len(d.Steps) > 0 {
					if faults := checker(r.opt.Catalog)(in, d); len(faults) > 0 {
						t.Errorf("%q: a device would refuse: %v", said, faults)
					}
				}
				if came := int64(len(r.fake.Asked()) - before); came != d.ModelCalls {
					t.Errorf("%q: %d requests are counted, %d came", said, d.ModelCalls, came)
				}
				for kind, n := range purposes(d) {
					if n > 1 {
						t.Errorf("%q: %s was asked %d times", said, kind, n)
					}
				}
			}
		})
	}
}

func purposes(d turn.Decision) map[string]int {
	out := map[string]int{}
	if d.Model != nil {
		for _, c := range d.Model.Calls {
			out[c.Purpose]++
		}
	}
	return out
}

// TestASecondPassIsLeftOut: also a model's.
func TestASecondPassIsLeftOut(t *testing.T) {
	r := newRig(t, OpenAI)
	r.answer("드래곤 길들이기", map[string]any{"owner_selection": "STT_NULL", "runner_up_family": "FRG", "needs_second_pass": true, "family_confidence": "low"})
	for without, want := range map[string]int{"": 2, pipeline.SecondPass: 1} {
		before := len(r.fake.Asked())
		d, err := r.whole().Without(strings.Fields(without)...).Plan(t.Context(), turn.Input{TurnID: "t", Text: "드래곤 길들이기"})
		if got := len(r.fake.Asked()) - before; err != nil || got != want || (d.Trace.Second != nil) != (want == 2) || want == 2 && fmt.Sprint(d.Trace.Second.By) != "model" {
			t.Errorf("without %q: %d questions, want %d; second pass %+v (%v)", without, got, want, d.Trace.Second, err)
		}
	}
}

// TestPlansOfRobotAndCloudStand: what the rules have planned with every word accounted for is not talked away, whoever owns it.
func TestPlansOfRobotAndCloudStand(t *testing.T) {
	const said = "청정 끝나면 오늘 주요 뉴스만 요약해줘"
	r := newRig(t, OpenAI)
	if d := r.draft(said); d.OwnerSelection != turn.FRG || len(d.Steps) == 0 || d.FamilyConfidence != "high" {
		t.Fatalf("the rules say %s", text64(d))
	}
	r.answer(said, map[string]any{"owner_selection": "DEF", "tts_response": "뉴스는 나중에 볼까요?"})
	if d := r.turn(r.planner(), said); d.Model.Verdict != KeptDraft || len(d.Steps) == 0 {
		t.Errorf("%s: %s", d.Model.Verdict, text64(d))
	}
}

// TestTwoWhoAgreeAreNotAskedAgain: for the shape of the words alone; where the model itself asks for a second look it is held.
func TestTwoWhoAgreeAreNotAskedAgain(t *testing.T) {
	const said = "높은 장게"
	for needs, want := range map[bool]int{false: 1, true: 2} {
		r := newRig(t, OpenAI)
		r.answer(said, map[string]any{"owner_selection": "STT_NULL", "runner_up_family": "DEF", "needs_second_pass": needs, "family_confidence": "medium"})
		d, err := r.whole().Plan(t.Context(), turn.Input{TurnID: "t", Text: said, Locale: "ko-KR"})
		if got := len(r.fake.Asked()); err != nil || got != want || (d.Trace.Second != nil) != needs {
			t.Errorf("needs %v: %d questions, want %d (%v)", needs, got, want, err)
		}
	}
}
