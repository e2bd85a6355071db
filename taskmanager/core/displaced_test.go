package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// A plan that did something where it had driven the robot waits to be asked once the robot was sent away; one that drives first goes
// on by itself.
func TestS26_APlanThatLostItsPlaceIsAskedFor(t *testing.T) {
	const move, clean = `{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}`,
		`{"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","depends_on":["step_1"]}`
	for _, tc := range []struct {
		name string
		plan string
		held bool
	}{
		{"it cleans where it was brought", move + "," + clean, true},
		{"so it would, a setting later", move + `,{"cloud_step_id":"step_3","taskMethod":"setScreen","params":{"on":false},"depends_on":["step_1"]},` +
			`{"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","depends_on":["step_3"]}`, true},
		{"it drives on before", move + `,{"cloud_step_id":"step_4","taskMethod":"setMoveTo","params":{"position":"안방"},"depends_on":["step_1"]},` +
			`{"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","depends_on":["step_4"]}`, false},
		{"it cleans wherever the robot is", move + `,{"cloud_step_id":"step_2","taskMethod":"startBasicAirClear"}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit("[" + tc.plan + "]")
			for _, d := range r.dispatches() {
				if d.Method == "setMoveTo" {
					r.arrive(d.Task, "kitchen")
				}
			}
			r.want("step_1", "completed")
			r.battery(12, false)
			for i := 0; i < len(r.dispatches()); i++ {
				if d := r.dispatches()[i]; d.Method != "setMoveTo" || i > 0 {
					r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: d.Task, Outcome: core.OutcomeCancelled})
				}
			}
			r.read("station.docked", false)
			if r.last().Method != "returnToStation" {
				t.Fatalf("dispatched %q", r.methods())
			}
			r.event("station.docked", r.last().Task, nil)
			r.battery(31, true)
			if !tc.held {
				r.wantHolders()
				return
			}
			r.wantHolders("policy:workflow:wf_1:displaced")
			r.button("pui.resumed")
			r.wantHolders()
		})
	}
}

// A robot that never left goes on by itself: it was charged where it stands.
func TestAPlanThatKeptItsPlaceGoesOn(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","depends_on":["step_1"]}]`)
	r.arrive(r.last().Task, "kitchen")
	r.button("pui.takeover")
	r.battery(12, false)
	r.battery(31, true)
	r.wantHolders("pui:all:takeover")
}
