package firmware

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// holds calls Hold or Release and gives what it says.
func (g *guest) holds(method string, in ...any) (accepted bool, code string, holders []string) {
	g.t.Helper()
	if fail := g.asks(method, in, &accepted, &code, &holders); fail != "" {
		g.t.Fatalf("%s%v: %s", method, in, fail)
	}
	return accepted, code, holders
}

// Every holder holds for itself, whoever else does, and lets go of its own alone.
func TestHoldAndReleaseOnTheBus(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.listen()
	for _, tc := range []struct{ holder, id, mode string }{
		{"pui", "pui:all", "automatic"}, {"takeover", "pui:all:takeover", "intervened"}, {"operator", "operator:all", "automatic"},
		{"manual", "operator:all:manual", "manual"}, {"service", "operator:all:service", "service"},
	} {
		if ok, code, holders := g.holds("Hold", tc.holder, "a test"); !ok || !slices.Contains(holders, tc.id) {
			t.Fatalf("hold %s: %v %s %v", tc.holder, ok, code, holders)
		}
		g.hears("Held[" + tc.id + " ")
		if mode := g.property("Mode"); mode != tc.mode {
			t.Errorf("under %s the mode is %v", tc.holder, mode)
		}
		if ok, code, holders := g.holds("Release", tc.holder); !ok || len(holders) != 0 {
			t.Fatalf("release %s: %v %s %v", tc.holder, ok, code, holders)
		}
		g.hears("Released[" + tc.id + "]")
		if ok, _, holders := g.holds("Release", tc.holder); !ok || len(holders) != 0 {
			t.Errorf("releasing %s twice: %v %v", tc.holder, ok, holders)
		}
	}
	g.holds("Hold", "pui", "button")
	g.holds("Hold", "operator", "updater")
	if ok, _, holders := g.holds("Release", "operator"); !ok || !slices.Equal(holders, []string{"pui:all"}) {
		t.Errorf("after one of two has let go: %v %v", ok, holders)
	}
	if ok, _, holders := g.holds("Release", "pui"); !ok || len(holders) != 0 {
		t.Errorf("after both: %v %v", ok, holders)
	}
	for _, in := range [][]any{{"safety", "x"}, {"cloud", "x"}, {"", "x"}, {"pui", ""}} {
		var ok bool
		var code string
		var holders []string
		if fail := g.asks("Hold", in, &ok, &code, &holders); fail != busError+"InvalidArgs" {
			t.Errorf("Hold%q: %q", in, fail)
		}
	}
}

// Who releases what they held must not let a robot drive on which somebody else has put into service.
func TestAModeIsNotEndedByAnotherHoldersRelease(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.holds("Hold", "operator", "updater")
	g.holds("Hold", "service", "hands in the robot")
	if ok, code, _ := g.holds("Release", "operator"); ok || code != string(core.ReasonNotAutomatic) {
		t.Fatalf("%v %s", ok, code)
	}
	if ok, _, holders := g.holds("Release", "manual"); !ok || !slices.Contains(holders, "operator:all:service") {
		t.Fatalf("a release of another mode: %v %v", ok, holders)
	}
	if mode := g.property("Mode"); mode != "service" {
		t.Fatalf("the mode is %v", mode)
	}
	if ok, _, holders := g.holds("Release", "service"); !ok || !slices.Equal(holders, []string{"operator:all"}) {
		t.Fatalf("%v %v", ok, holders)
	}
	if ok, _, holders := g.holds("Release", "operator"); !ok || len(holders) != 0 {
		t.Fatalf("%v %v", ok, holders)
	}
}

// A safety hold is no matter of Release: its own button lets it go, once its cause has passed.
func TestSafetyIsReleasedByItsButtonAlone(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	r.home.does(func() { r.home.Event("robot.lifted", "", nil) })
	if ok, _, holders := g.holds("Release", "pui"); !ok || !slices.Contains(holders, "safety:all:lifted") {
		t.Fatalf("while it is lifted: %v %v", ok, holders)
	}
	if ok, _, holders := g.holds("Release", "operator"); !ok || !slices.Contains(holders, "safety:all:lifted") {
		t.Fatalf("by an operator's program: %v %v", ok, holders)
	}
	r.home.does(func() { r.home.Event("robot.placed", "", nil) })
	if ok, _, holders := g.holds("Release", "pui"); !ok || len(holders) != 0 {
		t.Fatalf("after it was put down: %v %v", ok, holders)
	}
}

// A question of the agent can be answered at the robot, with what was offered and nothing else.
func TestAQuestionIsAnsweredOnTheBus(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.listen()
	r.home.does(func() { // of a plan from the cloud: nobody is asked about one that was made here
		r.home.Submit(movePlan)
		r.home.Do(core.TaskAnswered{Task: r.home.Last(), Accepted: true, Instance: "run-1"})
		r.home.Do(core.TaskEnded{Task: r.home.Last(), Outcome: core.OutcomeFailed, Reason: "stuck"})
		r.home.Settle("movement.is_moving", false)
	})
	asked := g.hears("QuestionAsked[")
	id := strings.Fields(strings.TrimPrefix(asked, "QuestionAsked["))[0]
	if !strings.Contains(asked, "wf_1") || !strings.Contains(asked, "cancel") || strings.Contains(asked, "replan_cloud") {
		t.Errorf("the question: %s", asked)
	}
	var ok bool
	var code string
	for option, want := range map[string]core.Reason{"complete": core.ReasonNotAllowed, "replan_cloud": core.ReasonNotAllowed} {
		if fail := g.asks("Answer", args(id, option), &ok, &code); fail != "" || ok || code != string(want) {
			t.Errorf("%s: %s %v %s", option, fail, ok, code)
		}
	}
	if fail := g.asks("Answer", args("no-such-question", "cancel"), &ok, &code); fail != "" || ok || code != string(core.ReasonUnknownTarget) {
		t.Errorf("an unknown question: %s %v %s", fail, ok, code)
	}
	if fail := g.asks("Answer", args(id, "cancel"), &ok, &code); fail != "" || !ok {
		t.Fatalf("%s %v %s", fail, ok, code)
	}
	g.hears("QuestionClosed[" + id + "]")
	g.hears("GoalChanged[wf_1 failed")
	if fail := g.asks("Answer", args(id, "cancel"), &ok, &code); fail != "" || ok {
		t.Errorf("answered twice: %s %v %s", fail, ok, code)
	}
}

// What the user is asked can be answered on the bus, once, with what the robot said.
func TestTheUserIsAnsweredForOnTheBus(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.listen()
	r.home.does(func() {
		r.home.Submit(`{"workflow":{"cloud_workflow_id":"wf_asks","plan_id":"pl_asks","revision":0},"device_task_requests":[{"cloud_step_id":"vital","taskMethod":"startVitalSign"}],
  "experience":{"contract_version":"experience.v1","experience_id":"exp_a","goal_id":"g_a","effects":[{"effect_id":"vital_interaction_ended","step_id":"vital","required":true}],"tier":"full"}}`)
	})
	asked := g.hears("QuestionAsked[")
	id := strings.Fields(strings.TrimPrefix(asked, "QuestionAsked["))[0]
	if !strings.Contains(asked, "wf_asks") || !strings.Contains(asked, "yes") {
		t.Errorf("the question: %s", asked)
	}
	var ok bool
	var code string
	for _, tc := range []struct {
		id, option string
		want       core.Reason
	}{{id, "maybe", core.ReasonNotAllowed}, {"q-9", "yes", core.ReasonUnknownTarget}, {id, "yes", ""}, {id, "no", core.ReasonDecisionStale}} {
		if fail := g.asks("Answer", args(tc.id, tc.option), &ok, &code); fail != "" || ok != (tc.want == "") || code != string(tc.want) {
			t.Errorf("%s %s: %s %v %s", tc.id, tc.option, fail, ok, code)
		}
	}
	g.hears("QuestionClosed[" + id + "]")
}
