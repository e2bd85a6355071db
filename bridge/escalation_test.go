package bridge_test

import (
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// TestTheEtagOfWhatWasSeen is of values and what they are worth; that time has passed alone changes nothing.
func TestTheEtagOfWhatWasSeen(t *testing.T) {
	etag := func(change func(q *core.Question)) string {
		m := upMessages["escalation"]
		q := *m.Escalation
		q.Context = append([]core.Seen(nil), q.Context...)
		change(&q)
		m.Escalation = &q
		e, _ := sent(t, m)
		return e.Escalation.ContextEtag
	}
	base := etag(func(*core.Question) {})
	for name, tc := range map[string]struct {
		change func(q *core.Question)
		same   bool
	}{
		"older":         {func(q *core.Question) { q.Context[0].AgeMS = 90_000 }, true},
		"another value": {func(q *core.Question) { q.Context[0].Value = 79.0 }, false},
		"stale":         {func(q *core.Question) { q.Context[0].Availability = "stale" }, false},
		"one more":      {func(q *core.Question) { q.Context = append(q.Context, core.Seen{Key: "x", Availability: "fresh"}) }, false},
	} {
		if got := etag(tc.change); (got == base) != tc.same {
			t.Errorf("%s: %s, before %s", name, got, base)
		}
	}
}

// TestAQuestionFitsWhateverWasSeen: it gives up values, never that something was seen, nor what may be decided.
func TestAQuestionFitsWhateverWasSeen(t *testing.T) {
	m := upMessages["escalation"]
	q := *m.Escalation
	m.Escalation = &q
	q.Context, q.Events = nil, nil
	for range 32 {
		q.Context = append(q.Context, core.Seen{Key: "k", Value: strings.Repeat("x", 8000), Availability: "fresh"})
	}
	for range 8 {
		q.Events = append(q.Events, core.Happened{Event: "e", Value: strings.Repeat("y", 8000)})
	}
	e, size := sent(t, m)
	if size > 64<<10 || len(e.Escalation.Context) != 32 || len(e.Escalation.LastEvents) != 8 || len(e.Escalation.AllowedActions) != 3 {
		t.Fatalf("%d bytes, %d keys, %d events, %d actions", size, len(e.Escalation.Context), len(e.Escalation.LastEvents), len(e.Escalation.AllowedActions))
	}
}

// TestADecisionBecomesAnEvent: its plan is grounded like any other, and what is wrong with it goes along: the question has to stay open.
func TestADecisionBecomesAnEvent(t *testing.T) {
	plan := func(method, head string) string {
		return `{"escalation_id":"e-1","action":"replan_cloud","plan_revision":2,"plan":` + planBody(head, `{"cloud_step_id":"a","taskMethod":"`+method+`"}`) + `,"usage":{"model":"m","input_tokens":7,"output_tokens":2,"latency_ms":900}}`
	}
	ev, ok := codecOf(t, "").Decode(message("decision", plan("getAirQuality", `"ttl_ms":5000`)), false).(core.DecisionReceived)
	if !ok || ev.Escalation != "e-1" || ev.Action != core.ActReplan || ev.PlanRevision != 2 || ev.Plan == nil || len(ev.Faults) != 0 || ev.ExpireMS != sentMS+5000 || ev.Usage.Model != "m" || ev.Usage.InputTokens != 7 || ev.Hash == "" {
		t.Fatalf("%+v", ev)
	}
	ev = codecOf(t, "").Decode(message("decision", plan("setFlight", "")), false).(core.DecisionReceived)
	if len(ev.Faults) != 1 || ev.Faults[0].Path != "plan.device_task_requests[0].taskMethod" || ev.Faults[0].Reason != "unknown_method" {
		t.Fatalf("faults %+v", ev.Faults)
	}
	ev = codecOf(t, "").Decode(message("decision", `{"escalation_id":"e-1","action":"cancel","plan_revision":0}`), false).(core.DecisionReceived)
	if ev.Plan != nil || ev.ExpireMS != 0 || ev.Usage != nil {
		t.Fatalf("%+v", ev)
	}
	if r, ok := codecOf(t, "").Decode(message("decision", `{"escalation_id":"e-1","action":"complete","plan_revision":0}`), false).(core.Refused); !ok || r.Answer.Reason != "bad_value" {
		t.Fatalf("a word that completes: %+v", r)
	}
}

// Other words for an action mean that action: a plan belongs to one that changes it, and whether it is offered is for the core to say.
func TestOtherWordsForAnAction(t *testing.T) {
	for said, want := range map[string]core.Action{"abort": core.ActCancel, "suspend": "pause", "cancel": core.ActCancel} {
		ev, ok := codecOf(t, "").Decode(message("decision", `{"escalation_id":"e-1","action":"`+said+`","plan_revision":0}`), false).(core.DecisionReceived)
		if !ok || ev.Action != want {
			t.Errorf("%s is %+v", said, ev)
		}
	}
	plan := `,"plan":` + planBody("", `{"cloud_step_id":"a","taskMethod":"getAirQuality"}`)
	if ev, ok := codecOf(t, "").Decode(message("decision", `{"escalation_id":"e-1","action":"replan","plan_revision":0`+plan+`}`), false).(core.DecisionReceived); !ok || ev.Action != core.ActReplan || ev.Plan == nil {
		t.Errorf("replan is %+v", ev)
	}
	if _, ok := codecOf(t, "").Decode(message("decision", `{"escalation_id":"e-1","action":"replan","plan_revision":0}`), false).(core.Refused); !ok {
		t.Error("a replan without a plan is taken")
	}
}
