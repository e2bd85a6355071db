package scenario

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/testbed/home"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func entryOf(kind home.Kind) home.Entry {
	e := home.Entry{Kind: kind}
	if kind == home.KindMotionEnd {
		e.Reason = "arrived"
	}
	return e
}

func play(t *testing.T, text string) *Result {
	t.Helper()
	s, err := Parse("x.scn", text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	return r.Run(t, s)
}

const head = "scenario X\ntitle x\ntier restricted\nrobot living_room\n"

func TestRunShowsWhatIsNotListed(t *testing.T) {
	res := play(t, head+"when\n  say \"주방으로 가\"\nthen\n  turn ODL sends 1 steps, model calls 0\n")
	if res.Passed() || res.Err != nil {
		t.Fatalf("passed: %v, error %v", res.Passed(), res.Err)
	}
	var got []string
	for _, m := range res.Failures {
		got = append(got, m.Got)
	}
	for _, want := range []string{"dispatch setMoveTo position=kitchen +0s", "drives to kitchen", "arrived in kitchen", "up result 1", "workflow w1 completed"} {
		if !slices.Contains(got, want) {
			t.Errorf("not shown: %s", want)
		}
	}
	for _, m := range res.Failures {
		if text := m.In("x.scn"); !strings.Contains(text, "not in the file") {
			t.Error(text)
		}
	}
}

func TestRunTellsWhatCannotBeDone(t *testing.T) {
	for name, line := range map[string]string{
		"command": "dance", "event that never comes": "after cleaning.completed wait", "moment that has passed": "+1m wait\n  at 30s wait",
		"session": "tell w1.s say {}", "session that no step opens": "plan {\"workflow\":{\"cloud_workflow_id\":\"wf_1\",\"plan_id\":\"p\",\"revision\":0},\"device_task_requests\":[{\"cloud_step_id\":\"s\",\"taskMethod\":\"getBatteryStatus\"}]}\n  tell w1.s say {}",
		"workflow": "cancel w1", "link": "link sideways", "body": "submit {", "off": "restart agent soon",
	} {
		res := play(t, head+"when\n  "+line+"\nthen\n  up status 1\n")
		if res.Err == nil || !strings.Contains(res.Err.Error(), "x.scn:") {
			t.Errorf("%s: error %v", name, res.Err)
		}
	}
}

func TestRunHoldsTheDeviceToItsTier(t *testing.T) {
	res := play(t, strings.Replace(head, "restricted", "full", 1)+"when\n  wait\nthen\n  up status 1\n  down receipt 1\n  cost model calls 0, decisions 0, replans 0\n")
	if len(res.Failures) != 0 || res.Err != nil {
		t.Errorf("failures %+v, error %v", res.Failures, res.Err)
	}
	h := &house{device: &device{}}
	says := message{up: true, typ: "status", env: wire.Envelope{Status: &wire.Status{Online: true, Tier: "restricted"}}}
	if got := h.wrong(&Scenario{Tier: "full"}, nil, []message{says}, nil); len(got) != 1 || !strings.Contains(got[0].Text, "reports tier restricted") {
		t.Errorf("got %v", got)
	}
}

// What the device says is held against the robot's own log.
func TestEvidenceThatTheRobotNeverSaid(t *testing.T) {
	h := &house{device: &device{}}
	results := map[core.WorkflowID]*wire.Result{"wf": {Steps: []wire.StepReport{{CloudStepID: "go", State: "completed",
		Evidence: []wire.Evidence{{EffectID: "e", Event: "movement.arrived"}}}}}}
	if got := h.wrong(&Scenario{}, nil, nil, results); len(got) != 1 || !strings.Contains(got[0].Text, "never said") {
		t.Errorf("got %v", got)
	}
	twice := []home.Entry{{Kind: home.KindEvent, Event: "movement.arrived"}, {Kind: home.KindMotionStart, TaskID: "t"}, {Kind: home.KindMotionEnd, TaskID: "t"},
		{Kind: home.KindMotionStart, TaskID: "t"}}
	if got := h.wrong(&Scenario{}, twice, nil, results); len(got) != 1 || !strings.Contains(got[0].Text, "robot's log") {
		t.Errorf("got %v", got)
	}
}

// What a session of content does is told by the device, of what the robot's own voice has done.
func TestContentRestsOnTheRobotsVoice(t *testing.T) {
	h := &house{device: &device{}, named: []core.WorkflowID{"wf"}}
	results := map[core.WorkflowID]*wire.Result{"wf": {Steps: []wire.StepReport{{CloudStepID: "s", State: "completed",
		Evidence: []wire.Evidence{{EffectID: "e", Event: "content.started"}}}}}}
	if got := h.wrong(&Scenario{}, nil, nil, results); len(got) != 1 || !strings.Contains(got[0].Text, "never said") {
		t.Errorf("got %v", got)
	}
	if got := h.wrong(&Scenario{}, []home.Entry{{Kind: home.KindEvent, Event: "speech.started"}}, nil, results); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	facts := []Fact{{"dispatch", "setLlmTts session_id=t-1-1-1 text=a"}}
	h.nameSessions(facts, []message{{typ: "step_due", env: wire.Envelope{Corr: wire.Corr{WorkflowID: "wf"}, StepDue: &wire.StepDue{CloudStepID: "s", SessionID: "t-1-1-1"}}}})
	if facts[0].Text != "setLlmTts session_id=w1.s text=a" {
		t.Errorf("got %v", facts)
	}
}

func TestTwoResultsOfOneWorkflow(t *testing.T) {
	h := &house{device: &device{}}
	say := func(status string) message {
		return message{up: true, typ: "result", env: wire.Envelope{Corr: wire.Corr{WorkflowID: "wf"}, Result: &wire.Result{Status: status}}}
	}
	if got := h.wrong(&Scenario{}, nil, []message{say("completed"), say("completed")}, nil); len(got) != 0 {
		t.Errorf("a repeat is wrong: %v", got)
	}
	if got := h.wrong(&Scenario{}, nil, []message{say("completed"), say("failed")}, nil); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestCoverageNamesWhatIsLeft(t *testing.T) {
	r, err := NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	o := &Observation{Methods: map[string]bool{"setMoveTo": true}, Effects: map[string]bool{"target_location_reached": true, "station_docked": false}}
	c := Cover(r.Catalog(), []*Observation{o})
	if c.Methods != 1 || c.Effects != 1 || slices.Contains(c.UntouchedMethods, "setMoveTo") || !slices.Contains(c.UntouchedMethods, "stopMovement") ||
		!slices.Contains(c.UnprovedEffects, "station_docked") {
		t.Errorf("%+v", c)
	}
}
