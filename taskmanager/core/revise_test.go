package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// revision makes the event of a revision of pl_1, with more members in its head.
func (r *rig) revision(revision int64, head, requests string) core.PlanSubmitted {
	r.t.Helper()
	if head != "" {
		head = "," + head
	}
	ev, ok := r.planText(fmt.Sprintf(`{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":%d%s},"device_task_requests":%s}`, revision, head, requests)).(core.PlanSubmitted)
	if !ok {
		r.t.Fatalf("the bridge refuses revision %d", revision)
	}
	return ev
}

// revise hands in a revision.
func (r *rig) revise(revision int64, head, requests string) core.Answer {
	r.t.Helper()
	return *r.do(r.revision(revision, head, requests)).Answers[0]
}

// taken hands in a revision that has to be accepted.
func (r *rig) taken(revision int64, head, requests string) core.Answer {
	r.t.Helper()
	a := r.revise(revision, head, requests)
	if !a.Accepted {
		r.t.Fatalf("revision %d is refused: %s %+v", revision, a.Reason, a.Faults)
	}
	return a
}

func faultsOf(a core.Answer) string {
	var lines []string
	for _, f := range a.Faults {
		lines = append(lines, f.Path+" "+string(f.Reason))
	}
	return strings.Join(lines, "\n")
}

// The plan of these tests: to the living room, then to the bedroom; the revision says the kitchen instead of the bedroom.
const (
	toLiving   = `{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}}`
	thenBed    = `{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"안방"},"depends_on":["step_1"]}`
	bedIsNow   = `{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_1"]}`
	thenCook   = `{"cloud_step_id":"step_3","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_1"]}`
	livingBed  = `[` + toLiving + `,` + thenBed + `]`
	livingCook = `[` + toLiving + `,` + thenCook + `]`
)

// A step that has not started may be changed under its id, or taken out; what runs goes on untouched.
func TestRevisionBeforeTheStepBegins(t *testing.T) {
	for _, tc := range []struct{ name, requests, last, room string }{
		{"changed", `[` + toLiving + `,` + bedIsNow + `]`, "step_2", "kitchen"},
		{"taken out, another instead", livingCook, "step_3", "kitchen"},
		{"the same in other words", `[` + thenBed + `,{"cloud_step_id":"step_1","token_text":"<sk_move>(position=living_room)<sk_end>","wait_policy":"completed","on_failure":"escalate"}]`, "step_2", "master_bedroom"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(livingBed)
			first := r.last().Task
			a := r.taken(1, "", tc.requests)
			if a.State != string(core.WfActive) || len(r.dispatches()) != 1 {
				t.Fatalf("answer %+v, %d dispatches", a, len(r.dispatches()))
			}
			r.arrive(first, "living_room")
			if d := r.last(); d.Task == first || d.Params["position"] != tc.room {
				t.Fatalf("dispatched %+v, want a move to %s", d, tc.room)
			}
			r.arrive(r.last().Task, tc.room)
			r.want("step_1", "completed", tc.last, "completed")
			r.wantWorkflow(core.WfCompleted)
			if n := len(r.wf("wf_1").Steps); n != 2 {
				t.Fatalf("%d steps are left, want 2", n)
			}
			if n := len(r.sent(core.MsgResult)); n != 1 {
				t.Fatalf("%d results", n)
			}
		})
	}
}

// What has begun and is left out stays as it is; only cancel_steps stops it, and what is new waits for its resource.
func TestRevisionOfARunningStep(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(livingBed)
	r.arrive(r.last().Task, "living_room")
	bed := r.last().Task
	r.accept(bed)

	r.taken(1, "", livingCook)
	r.want("step_1", "completed", "step_2", "running", "step_3", "queued/resource_busy")
	if n := count[core.Stop](r); n != 0 {
		t.Fatalf("%d stops: nobody asked for one", n)
	}
	a := r.taken(2, `"cancel_steps":["step_2"]`, livingCook)
	r.want("step_2", "cancelling/superseded", "step_3", "queued/resource_busy")
	if !slices.Equal(a.Stopping, []string{"base"}) || a.State != string(core.WfActive) || count[core.Stop](r) != 1 {
		t.Fatalf("answer %+v, %d stops", a, count[core.Stop](r))
	}
	r.do(core.TaskEnded{Task: bed, Outcome: core.OutcomeCancelled})
	r.elsewhere()
	r.want("step_2", "cancelled/superseded", "step_3", "dispatching")
	r.arrive(r.last().Task, "kitchen")
	r.want("step_1", "completed", "step_3", "completed")
	r.wantWorkflow(core.WfCompleted)
	if res := r.sent(core.MsgResult)[0].Result; res.Status != core.WfCompleted || res.Reason != core.ReasonNone || len(res.Steps) != 3 {
		t.Fatalf("result %+v", res)
	}
	if n := len(r.dispatches()); n != 3 {
		t.Fatalf("%d dispatches, want each move once", n)
	}
}

func TestE11_AStepIDIsNeverReused(t *testing.T) {
	other := `{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}`
	r := newRig(t)
	r.elsewhere()
	r.submit(livingBed)
	r.accept(r.last().Task)
	hash := r.wf("wf_1").Hash
	if a := r.revise(1, "", `[`+other+`]`); a.Reason != core.ReasonDuplicateStep || faultsOf(a) != "device_task_requests[0].cloud_step_id duplicate_step_id" {
		t.Fatalf("a step that runs with other content: %+v", a)
	}
	if r.wf("wf_1").Plan.Revision != 0 || r.wf("wf_1").Hash != hash {
		t.Fatal("a refused revision left a trace")
	}
	r.taken(2, "", `[`+toLiving+`]`) // step_2 is taken out
	if a := r.revise(3, "", `[`+toLiving+`,`+bedIsNow+`]`); faultsOf(a) != "device_task_requests[1].cloud_step_id duplicate_step_id" {
		t.Fatalf("a step that was taken out with other content: %+v", a)
	}
	r.restart("run-1")
	if a := r.revise(4, "", `[`+toLiving+`,`+bedIsNow+`]`); a.Reason != core.ReasonDuplicateStep {
		t.Fatalf("the same after a restart: %+v", a)
	}
	r.taken(5, "", livingBed) // with its own content it may come back
	r.want("step_2", "pending")
}

func TestRevisionsThatAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name           string
		head, requests string
		want           string
	}{
		{"a step to stop that never was", `"cancel_steps":["step_1","nobody"]`, `[` + thenFree + `]`, "workflow.cancel_steps[1] unknown_target"},
		{"a deadline that has passed", `"deadline_ms":1000`, livingBed, "workflow.deadline_ms deadline_too_short"},
		{"several at once", `"cancel_steps":["nobody"]`, `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"},"on_failure":"abort"}]`,
			"device_task_requests[0].cloud_step_id duplicate_step_id\nworkflow.cancel_steps[0] unknown_target"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(livingBed)
			r.accept(r.last().Task)
			r.pass(2000)
			if a := r.revise(1, tc.head, tc.requests); a.Accepted || faultsOf(a) != tc.want {
				t.Fatalf("answer %+v", a)
			}
			r.want("step_1", "running", "step_2", "pending")
			if count[core.Stop](r) != 0 {
				t.Fatal("a refused revision stopped something")
			}
		})
	}
}

const thenFree = `{"cloud_step_id":"step_9","taskMethod":"setMoveTo","params":{"position":"주방"}}`

// Whatever a revision refers to is led by id: the plan may come in another order.
func TestRevisionInAnotherOrder(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	delayed := `{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"안방"},"temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":60000}`
	r.submit(`[` + toLiving + `,` + delayed + `]`)
	r.arrive(r.last().Task, "living_room")
	r.pass(20_000)
	r.taken(1, "", `[{"cloud_step_id":"step_3","taskMethod":"setMoveTo","params":{"position":"주방"},"temporal_relation":"after_planned_step","temporal_anchor_id":"step_2","delay_ms":5000},`+delayed+`,`+toLiving+`]`)
	r.want("step_1", "completed", "step_2", "waiting", "step_3", "pending")
	left := r.step("step_2").Due - r.now.Boot
	if left < 35_000 || left > 40_000 {
		t.Fatalf("%d ms are left of the delay: it counts from the anchor's evidence", left)
	}
	if p := r.wf("wf_1").Plan; p.Steps[0].Anchor != 2 || p.Steps[1].Anchor != 3 {
		t.Fatalf("anchors %d and %d", p.Steps[0].Anchor, p.Steps[1].Anchor)
	}
}

// A delay that counts from nothing else counts from the acceptance of the revision that brought it.
func TestDelayOfANewStep(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[` + toLiving + `]`)
	r.pass(20_000)
	r.taken(1, "", `[`+toLiving+`,{"cloud_step_id":"step_2","taskMethod":"setVolume","params":{"level":30},"temporal_relation":"after_planned_step","delay_ms":10000}]`)
	r.want("step_2", "waiting")
	if left := r.step("step_2").Due - r.now.Boot; left != 10_000 {
		t.Fatalf("%d ms are left", left)
	}
}

func TestDeadlineOfARevision(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	start := r.now.Boot
	r.taken(0, `"deadline_ms":300000`, livingBed)
	r.pass(60_000)
	r.taken(1, `"deadline_ms":600000`, livingBed)
	if d := r.wf("wf_1").Deadline; d != start+600_000 {
		t.Fatalf("the deadline is %d ms after the first acceptance", d-start)
	}
	r.taken(2, "", livingBed)
	if d := r.wf("wf_1").Deadline; d != 0 {
		t.Fatalf("a revision without a deadline leaves %d", d)
	}
}

// A step that ended before all that it waited for had begun keeps its content when that is taken out.
func TestRevisionTakesOutWhatASkippedStepWaitedFor(t *testing.T) {
	first := `{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"주방"},"on_failure":"continue"}`
	later := `{"cloud_step_id":"b","taskMethod":"setVolume","params":{"level":30},"temporal_relation":"after_planned_step","delay_ms":600000}`
	both := `{"cloud_step_id":"c","taskMethod":"setVolume","params":{"level":40},"depends_on":["a","b"]}`
	r := newRig(t)
	r.elsewhere()
	r.submit(`[` + first + `,` + later + `,` + both + `]`)
	r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused})
	r.want("a", "failed", "b", "waiting", "c", "skipped/dependency_failed")
	r.taken(1, "", `[{"cloud_step_id":"d","taskMethod":"setVolume","params":{"level":50},"temporal_relation":"after_planned_step","delay_ms":600000}]`)
	if deps := r.wf("wf_1").Plan.Steps[1].Deps; len(deps) != 1 || deps[0].Step != 0 {
		t.Fatalf("c waits for %+v", deps)
	}
	r.taken(2, "", `[`+first+`,`+later+`,`+both+`]`)
	if a := r.revise(3, "", `[`+first+`,`+strings.Replace(both, `"a","b"`, `"a"`, 1)+`]`); a.Reason != core.ReasonDuplicateStep {
		t.Fatalf("answer %+v", a)
	}
}

// A revision may move the plan in the queue, and keeps the turn that it came from where it names none.
func TestRevisionOfTheHead(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.taken(0, `"origin":{"turn_id":"tn_1","utterance":"가"},"ttl_ms":7776000000`, livingBed)
	r.offer("wf_2", "pl_2", livingBed)
	for i, tc := range []struct {
		priority string
		first    core.WorkflowID
	}{{"user", "wf_1"}, {"background", "wf_2"}, {"user", "wf_1"}} {
		r.taken(int64(i)+1, `"priority":"`+tc.priority+`"`, livingBed)
		if got := r.s.Open(); len(got) != 2 || got[0] != tc.first {
			t.Fatalf("with priority %s the order is %v", tc.priority, got)
		}
	}
	if p := r.wf("wf_1").Plan; p.TurnID != "tn_1" || p.Utterance != "가" {
		t.Fatalf("turn %q %q", p.TurnID, p.Utterance)
	}
}

// Revision after revision must not make a record without end.
func TestIDsOfAPlanAreBounded(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[` + toLiving + `]`)
	for revision := range int64(9) {
		var steps []string
		for i := range 127 {
			steps = append(steps, fmt.Sprintf(`{"cloud_step_id":"s%d_%d","taskMethod":"setVolume","params":{"level":30},"depends_on":["step_1"]}`, revision, i))
		}
		a := r.revise(revision+1, "", `[`+toLiving+`,`+strings.Join(steps, ",")+`]`)
		if want := revision < 8; a.Accepted != want {
			t.Fatalf("revision %d: %+v", revision+1, a)
		}
		if !a.Accepted && (a.Reason != core.ReasonLimit || faultsOf(a) != "device_task_requests limit_reached") {
			t.Fatalf("answer %+v", a)
		}
	}
	r.taken(20, "", `[`+toLiving+`]`)
}

// What is asked is about a plan that is no more. What is still blocked asks anew.
func TestRevisionClosesQuestions(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(livingBed)
	r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused})
	r.want("step_1", "blocked/executor_refused")
	r.taken(1, "", livingBed)
	if e := r.wf("wf_1").Escalations; len(e) != 2 || e[0].State != core.EscSuperseded || e[1].State != core.EscOpen || e[1].Revision != 1 {
		t.Fatalf("escalations %+v", e)
	}
	r.taken(2, `"cancel_steps":["step_1"]`, `[`+thenFree+`]`)
	if e := r.wf("wf_1").Escalations; len(e) != 2 || e[1].State != core.EscSuperseded {
		t.Fatalf("escalations %+v", e)
	}
	r.want("step_1", "cancelled/superseded")
}

// A step that a revision stops is not sent again, and its end says nothing of the plan, however it comes.
func TestASupersededStepThatRefusesToStop(t *testing.T) {
	screen := `{"cloud_step_id":"a","taskMethod":"setScreen","params":{"brightness":70},"retry":{"max_attempts":3},"on_failure":"abort"}`
	other := `{"cloud_step_id":"b","taskMethod":"setVolume","params":{"level":40}}`
	r := newRig(t)
	r.submit(`[` + screen + `]`)
	task := r.last().Task
	r.accept(task)
	r.taken(1, `"cancel_steps":["a"]`, `[`+other+`]`)
	vol := r.last().Task
	r.accept(vol)
	r.do(core.StopAnswered{Task: task, Refused: true})
	r.want("a", "running/cancel_refused")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: core.ReasonExecutorBusy}) // something that passes
	r.want("a", "failed/executor_busy", "b", "running")
	r.do(core.TaskEnded{Task: vol, Outcome: core.OutcomeDone}, core.Observed{Event: "sound.changed", Task: vol, Source: "home", Data: core.Values{"level": 40.0}})
	r.wantWorkflow(core.WfCompleted)
}

// A stop waits for nothing: what a revision stops is told so beside the commit under way, if the revision will be taken.
func TestUrgentStopsOfARevision(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(livingBed)
	task := r.last().Task
	r.accept(task)
	stops := func(ev core.PlanSubmitted) []core.Output {
		if !core.StopsSomething(ev) {
			t.Fatal("it stops something")
		}
		return core.UrgentStops(r.s, r.now, ev)
	}
	good := r.revision(1, `"cancel_steps":["step_1"]`, `[`+thenFree+`]`)
	if got := stops(good); len(got) != 1 || got[0].(core.Stop).Task != task {
		t.Fatalf("outputs %+v", got)
	}
	late, foreign := good, good
	late.ExpireMS, foreign.Epoch = r.now.WallMS-1, "epoch-0"
	for name, ev := range map[string]core.PlanSubmitted{"too late": late, "for another store": foreign,
		"refused": r.revision(1, `"cancel_steps":["step_1","nobody"]`, `[`+thenFree+`]`)} {
		if got := stops(ev); len(got) != 0 {
			t.Errorf("%s: outputs %+v", name, got)
		}
	}
	r.want("step_1", "running")
}

// A revision that comes before what it revises is the plan; what it stops never was.
func TestF25_ARevisionMayComeFirst(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.taken(1, `"cancel_steps":["step_2"]`, livingCook)
	if a := r.revise(0, "", livingBed); a.Reason != core.ReasonOutdatedRevision {
		t.Fatalf("answer %+v", a)
	}
	r.arrive(r.last().Task, "living_room")
	r.arrive(r.last().Task, "kitchen")
	r.wantWorkflow(core.WfCompleted)
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches", n)
	}
}

// A cancel and a revision in one batch: the order of their arrival decides, and nothing moves after the cancel.
func TestF26_CancelAgainstRevision(t *testing.T) {
	for _, cancelFirst := range []bool{true, false} {
		r := newRig(t)
		r.elsewhere()
		r.submit(livingBed)
		r.accept(r.last().Task)
		evs := []core.Event{r.revision(1, "", livingCook), cancel("wf_1")}
		if cancelFirst {
			slices.Reverse(evs)
		}
		answers := r.do(evs...).Answers
		plan := answers[slices.IndexFunc(evs, func(ev core.Event) bool { _, ok := ev.(core.PlanSubmitted); return ok })]
		if plan.Accepted == cancelFirst || cancelFirst && plan.Reason != core.ReasonAfterCancel {
			t.Fatalf("cancel first: %v: %+v", cancelFirst, plan)
		}
		r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeCancelled})
		r.wantWorkflow(core.WfCancelled)
		if n := len(r.dispatches()); n != 1 {
			t.Fatalf("%d dispatches", n)
		}
	}
}

// What a new plan wants and holds already is satisfied, what is completed under its id is adopted: nothing is done twice.
func TestCaseF14_ARevisionRepeatsNothing(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(livingBed)
	r.arrive(r.last().Task, "living_room")
	r.accept(r.last().Task)
	bed := r.last().Task
	r.taken(1, `"cancel_steps":["step_2"]`, `[`+toLiving+`,{"cloud_step_id":"again","taskMethod":"setMoveTo","params":{"position":"거실"},"depends_on":["step_1"]}]`)
	r.do(core.TaskEnded{Task: bed, Outcome: core.OutcomeCancelled})
	for range 4 {
		r.pass(500)
		r.read("movement.is_moving", false)
		r.read("movement.location", "living_room")
	}
	r.want("step_1", "completed", "again", "satisfied")
	r.wantWorkflow(core.WfCompleted)
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches", n)
	}
}
