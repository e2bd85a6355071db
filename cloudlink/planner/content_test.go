package planner

import (
	"net/http"
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// A word to a session goes down in the order in which it was asked, is answered by content up and not by an ack, and what a session says is
// no report of its workflow.
func TestContentGoesDownInOrderAndIsAnsweredByContent(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	path := "/v1/devices/rb-1/content"
	r.must(http.StatusAccepted, "POST", path, `{"session_id":"t-1","verb":"start","text":"a"}`)
	a := r.must(http.StatusAccepted, "POST", path, `{"session_id":"t-1","verb":"say","text":"b","payload":{"last":true,"retrieved_at":"2026-11-30T09:00:00Z"}}`)
	first, second := d.next(wire.TypeContent), d.next(wire.TypeContent)
	if first.Content.Text != "a" || second.Content.Text != "b" || !second.Content.Payload.Last || second.Seq <= first.Seq {
		t.Errorf("went down: %+v %d, %+v %d", *first.Content, first.Seq, *second.Content, second.Seq)
	}
	yes := true
	answer := d.envelope(wire.TypeContent)
	answer.Corr.WorkflowID = id
	answer.Content = &wire.Content{SessionID: "t-1", Verb: "say", RefID: second.ID, Accepted: &yes, State: "active"}
	d.say(answer)
	err := r.store.View(t.Context(), func(tx *store.Tx) error {
		row, err := tx.Down(a["message_id"].(string))
		if row.State != store.Accepted || row.AnsweredAt == 0 {
			t.Errorf("the word is %s, answered at %d", row.State, row.AnsweredAt)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, r.workflow(id), "uplink.messages", 1.0)
	r.must(http.StatusUnprocessableEntity, "POST", path, `{"session_id":"t-1","verb":"say"}`)
	r.must(http.StatusUnprocessableEntity, "POST", path, `{"session_id":"t-1","verb":"shout","text":"a"}`)
	r.must(http.StatusNotFound, "POST", "/v1/devices/rb-none/content", `{"session_id":"t-1","verb":"start"}`)
}
