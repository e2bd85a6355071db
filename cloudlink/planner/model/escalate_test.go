package model

import (
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/modelserver"
)

func question() Question {
	return Question{StepID: "step_2", Before: 1, Choices: []string{"retry_local", "return_to_station", "cancel"}, Escalation: wire.Escalation{EscalationID: "e1", ReasonCode: "evidence_contradicts",
		Recoverable: true, PlanRevision: 2, AllowedActions: []string{"retry_local", "return_to_station", "replan_cloud", "cancel"}, DefaultAction: "cancel", DeadlineMS: 120_000,
		Context: []wire.ContextSeen{{Key: "battery.level", Value: wire.Value{V: 40.0}, Availability: "stale", AgeMS: 90_000}}}}
}

// TestWhateverAModelDecides: by each behaviour the answer is one of the choices, in time, and the default where the model is of no use.
func TestWhateverAModelDecides(t *testing.T) {
	useful := []string{"honest", "thinking", "fenced", "no_usage", "bad_then_good", "busy_once", "down_once"}
	for _, b := range modelserver.Behaviours {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, Gemini)
			r.behave(b.Name)
			if faultOf[b.Name] == Deadline {
				r.opt.Deadline = shortTurn
			}
			p, q, began := r.planner(), question(), time.Now()
			d := p.Decide(t.Context(), q)
			if took := time.Since(began); took > r.opt.Deadline+slack {
				t.Errorf("took %s", took)
			}
			if !slices.Contains(q.Choices, d.Action) || d.Plan != nil {
				t.Fatalf("decides %+v", d)
			}
			helps := slices.Contains(useful, b.Name)
			if helps && (d.Action != "retry_local" || d.Reason != "model" || d.Usage == nil || d.Usage.Model != "tiny") {
				t.Errorf("decides %+v, %+v", d, d.Usage)
			}
			if !helps && d.Reason != "model" && d.Action != "cancel" {
				t.Errorf("is of no use, and the default is not taken: %+v", d)
			}
			if all := text64(d) + r.log.String(); strings.Contains(all, modelserver.Canary) || strings.Contains(all, canaryKey) {
				t.Errorf("a canary is in %s", all)
			}
			if n := len(r.fake.Asked()); n > 3 {
				t.Errorf("%d requests", n)
			}
			if b.Name == "no_usage" && strings.Contains(text64(d), "tokens") {
				t.Errorf("tokens that nobody reported: %s", text64(d))
			}
		})
	}
}

// TestADecisionIsShownTheCompactState, as data, and offered what needs no plan.
func TestADecisionIsShownTheCompactState(t *testing.T) {
	r := newRig(t, OpenAI)
	r.planner().Decide(t.Context(), question())
	a := r.fake.Asked()
	if len(a) != 1 || a[0].System != escalationRules {
		t.Fatalf("%d requests", len(a))
	}
	if got := text64(a[0].Said); !strings.Contains(got, `"availability":"stale"`) || !strings.Contains(got, `"asked_before":1`) || strings.Contains(string(a[0].Schema), "replan_cloud") {
		t.Errorf("it is shown %s and offered %s", got, a[0].Schema)
	}
	q := question()
	q.DefaultAction = "replan_cloud" // needs a plan that nobody has
	r.behave("prose")
	if d := r.planner().Decide(t.Context(), q); d.Action != "cancel" || d.Reason != "model: bad_answer" {
		t.Errorf("without a default that can be taken: %+v", d)
	}
}
