package planner

import (
	"net/http"
	"testing"

	"deviceagent/bridge/wire"
)

// A pause and a resume go down one after the other, each for whom it was asked, and neither stands in for a cancel.
func TestPauseAndResume(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	path := "/v1/workflows/" + id
	r.must(http.StatusAccepted, "POST", path+"/pause", `{"requested_by":"app","reason":"phone call"}`)
	pause := d.next(wire.TypeControl)
	if c := pause.Control; c.Verb != "pause" || c.Scope != "workflow" || c.Target != id || c.RequestedBy != "app" || c.Reason != "phone call" {
		t.Errorf("control is %+v", *c)
	}
	r.must(http.StatusAccepted, "POST", path+"/resume", `{"requested_by":"app"}`) // the pause has no answer yet
	resume := d.next(wire.TypeControl)
	if resume.Control.Verb != "resume" || resume.Seq <= pause.Seq {
		t.Errorf("control is %+v, seq %d after %d", *resume.Control, resume.Seq, pause.Seq)
	}
	r.must(http.StatusAccepted, "POST", path+"/cancel", `{}`)
	if c := d.next(wire.TypeControl); c.Control.Verb != "cancel" {
		t.Errorf("a pause stood in for the cancel: %+v", *c.Control)
	}
	d.say(d.result(id, "cancelled", "cancelled"))
	p := r.must(http.StatusConflict, "POST", path+"/pause", `{}`)
	want(t, p, "code", "already_terminal")
	r.must(http.StatusNotFound, "POST", "/v1/workflows/none/pause", `{}`)
}
