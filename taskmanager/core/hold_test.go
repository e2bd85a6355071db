package core_test

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// control is a wish of somebody in the cloud; by "" comes from the robot's own socket.
func (r *rig) control(verb, by, scope, target string) core.Answer {
	r.t.Helper()
	head := core.Head{Msg: core.MessageID(verb + by + scope + target + string(rune('a'+r.now.Seq%26))), Hash: "h", Local: by == ""}
	c := r.do(core.ControlReceived{Head: head, Verb: verb, Scope: scope, Target: target, By: by, Why: "test"})
	return *c.Answers[0]
}

func (r *rig) button(event string) { r.event(event, "", nil) }

func (r *rig) wantHolders(ids ...string) {
	r.t.Helper()
	var got []string
	for _, h := range r.s.Holders() {
		got = append(got, h.ID())
	}
	if !slices.Equal(got, ids) {
		r.t.Errorf("holders %q, want %q", got, ids)
	}
}

// Nothing is dispatched while anybody holds it; each holder is independent, and the order of their release does not matter.
func TestEveryHolderHasToRelease(t *testing.T) {
	release := map[string]func(r *rig){
		"pui":      func(r *rig) { r.button("pui.resumed") },
		"app":      func(r *rig) { r.control("resume", "app", "workflow", "wf_1") },
		"voice":    func(r *rig) { r.control("resume", "voice:kitchen", "all", "") },
		"operator": func(r *rig) { r.control("resume", "", "workflow", "wf_1") },
		"cloud":    func(r *rig) { r.control("resume", "planner", "workflow", "wf_1") },
	}
	for _, order := range [][]string{{"pui", "app", "voice", "operator", "cloud"}, {"cloud", "operator", "voice", "app", "pui"}, {"voice", "cloud", "app", "pui", "operator"}} {
		t.Run(strings.Join(order, " "), func(t *testing.T) {
			r := newRig(t)
			r.read("battery.level", 10.0) // blocked, so that nothing is under way yet
			r.submit(toKitchen)
			r.button("pui.paused")
			r.control("pause", "app", "workflow", "wf_1")
			r.control("pause", "voice", "all", "")
			r.control("pause", "", "workflow", "wf_1")
			r.control("pause", "planner", "workflow", "wf_1")
			r.wantHolders("pui:all", "voice:all", "app:workflow:wf_1", "operator:workflow:wf_1", "cloud:workflow:wf_1")
			r.read("battery.level", 80.0)
			r.elsewhere()
			r.wantWorkflow(core.WfHeld)
			for _, kind := range order {
				r.want("step_1", "queued/held")
				if len(r.dispatches()) != 0 {
					t.Fatalf("dispatched while %s holds it", kind)
				}
				r.read("battery.level", 80.0)
				release[kind](r)
			}
			r.elsewhere()
			r.want("step_1", "dispatching")
			r.wantHolders()
		})
	}
}

// Asking twice for the same hold makes one of it, which one release ends.
func TestHoldIsIdempotent(t *testing.T) {
	r := newRig(t)
	r.submit(chain)
	a, b := r.control("pause", "app", "workflow", "wf_1"), r.control("pause", "app", "workflow", "wf_1")
	if !a.Accepted || !b.Accepted || !slices.Equal(b.Holders, []string{"app:workflow:wf_1"}) {
		t.Fatalf("answers %+v %+v", a, b)
	}
	r.wantHolders("app:workflow:wf_1")
	if ans := r.control("resume", "app", "workflow", "wf_1"); !ans.Accepted || len(ans.Holders) != 0 {
		t.Fatalf("resume: %+v", ans)
	}
	r.wantHolders()
}

// One holder does not end what another holds: it is told who is left.
func TestResumeTellsWhoIsLeft(t *testing.T) {
	r := newRig(t)
	r.submit(toKitchen)
	r.button("pui.takeover")
	r.control("pause", "app", "workflow", "wf_1")
	ans := r.control("resume", "voice", "workflow", "wf_1")
	if !ans.Accepted || !slices.Equal(ans.Holders, []string{"pui:all:takeover", "app:workflow:wf_1"}) {
		t.Fatalf("resume by voice: %+v", ans)
	}
	r.button("pui.resumed") // the other button: who drives the robot has not let go of it
	r.wantHolders("pui:all:takeover", "app:workflow:wf_1")
	r.button("pui.released")
	r.wantHolders("app:workflow:wf_1")
}

func TestHoldOfWhatIsNotOpen(t *testing.T) {
	r := newRig(t)
	if ans := r.control("pause", "app", "workflow", "wf_none"); ans.Accepted || ans.Reason != core.ReasonUnknownTarget {
		t.Errorf("pause of nothing: %+v", ans)
	}
	r.elsewhere()
	r.submit(toKitchen)
	if ans := r.control("pause", "app", "step", "wf_1/step_9"); ans.Accepted || ans.Reason != core.ReasonUnknownTarget {
		t.Errorf("pause of no step: %+v", ans)
	}
	r.arrive(r.last().Task, "kitchen")
	if ans := r.control("pause", "app", "workflow", "wf_1"); ans.Accepted || ans.Reason != core.ReasonAlreadyTerminal || ans.State != "completed" {
		t.Errorf("pause of an ended plan: %+v", ans)
	}
}

// A new plan under a hold of everything is taken and queued; what only reads and what stops is never held back.
func TestHoldLetsStopsAndQuestionsThrough(t *testing.T) {
	r := newRig(t)
	r.button("pui.paused")
	r.submit(toKitchen)
	r.want("step_1", "queued/held")
	r.wantWorkflow(core.WfQueued)
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"stopMovement"}]`)
	r.offer("wf_3", "pl_3", `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus"}]`)
	var got []string
	for _, d := range r.dispatches() {
		got = append(got, string(d.Method))
	}
	if !slices.Equal(got, []string{"stopMovement", "getBatteryStatus"}) {
		t.Fatalf("dispatched %q", got)
	}
}

// A hold outlives a reboot, and its times go on.
func TestHoldSurvivesAReboot(t *testing.T) {
	r := newRig(t)
	r.read("battery.level", 10.0)
	r.submit(toKitchen)
	r.button("pui.paused")
	r.control("pause", "app", "workflow", "wf_1")
	since := r.s.Holders()[0].Since
	r.now.Boot, r.now.BootID = 5000, "boot-2"
	r.now.WallMS += 60_000
	r.do(core.Started{StartNo: 2})
	r.up("run-2")
	r.idle()
	r.elsewhere()
	r.want("step_1", "queued/held")
	r.wantHolders("pui:all", "app:workflow:wf_1")
	if got, want := r.s.Holders()[0].Since, since-1_000_000+5000-60_000; got != want {
		t.Errorf("held since %d, want %d", got, want)
	}
}

// Why names the holder, who asked, why, and what would end it.
func TestWhyNamesTheHolder(t *testing.T) {
	r := newRig(t)
	r.read("battery.level", 10.0)
	r.submit(toKitchen)
	r.control("pause", "app:phone", "workflow", "wf_1")
	facts := core.Why(r.s, r.now, r.wf("wf_1"), 0)
	if len(facts) != 1 || facts[0].Kind != "hold" || facts[0].Ref != "app:workflow:wf_1" {
		t.Fatalf("facts %+v", facts)
	}
	for _, word := range []string{"app:phone", `"test"`, "releases it"} {
		if !strings.Contains(facts[0].Text, word) {
			t.Errorf("%q does not say %s", facts[0].Text, word)
		}
	}
}

// A kill ends the step at once; its task keeps the base until it is seen at rest.
func TestKillWaitsForNoCleanUp(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	ans := r.control("kill", "app", "workflow", "wf_1")
	if !ans.Accepted || ans.State != "cancelled" || !slices.Equal(ans.Stopping, []string{"base"}) {
		t.Fatalf("kill: %+v", ans)
	}
	r.want("step_1", "cancelled/cancel_unconfirmed")
	r.offer("wf_2", "pl_2", toKitchen)
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches: the base was taken while the task may move", n)
	}
	r.settleAt("movement.is_moving", false)
	r.pass(2500)
	r.settleAt("movement.is_moving", false)
	r.read("movement.location", "study")
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches after it came to rest", n)
	}
}
