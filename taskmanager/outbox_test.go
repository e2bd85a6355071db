package taskmanager

import (
	"strconv"
	"testing"

	"deviceagent/taskmanager/core"
)

// A link keeps a picture of the outbox. One that is not told of a receipt sends the row again a minute later.
func TestOutboxTellsOfEveryChange(t *testing.T) {
	var o outbox
	o.init(nil, 0, 0, nil)
	told := func() bool {
		select {
		case <-o.changed:
			return true
		default:
			return false
		}
	}
	o.add([]OutboxRow{{Seq: 1, ID: "m-1"}}, nil, 0)
	if !told() {
		t.Error("nobody was told of a new row")
	}
	o.drop([]core.MessageID{"m-1"})
	if !told() || len(o.rows) != 0 {
		t.Errorf("nobody was told of a receipted row; left: %v", o.rows)
	}
	o.drop(nil)
	if told() {
		t.Error("told of a change that there was not")
	}
}

// What the planner asked just now is answered however full the outbox is, and bytes bind as rows do.
func TestTheNewestAnswersAreSpared(t *testing.T) {
	rows := make([]OutboxRow, 100)
	for i := range rows {
		rows[i] = OutboxRow{Seq: int64(i + 1), ID: strconv.Itoa(i + 1), Type: "result", Body: make([]byte, 10)}
		if i >= 60 {
			rows[i].Type = "ack"
		}
	}
	for _, bound := range []struct {
		name        string
		rows, bytes int64
		want        int
	}{
		{"no bound is reached", 101, 1010, 0},
		{"one row too many", 100, 1010, 1},
		{"bytes too many", 101, 985, 3},
		{"more than all answers", 40, 1 << 20, 40 - spareAnswers},
	} {
		var o outbox
		o.init(rows, bound.rows, bound.bytes, nil)
		ids := o.excess([]OutboxRow{{Seq: 101, ID: "101", Type: "ack", Body: make([]byte, 10)}}, nil)
		if len(ids) != bound.want || bound.want > 0 && ids[0] != "61" {
			t.Errorf("%s: %v go, want %d from 61 on", bound.name, ids, bound.want)
		}
	}
}

// There is no room for what is new. Who was answered before gets the same answer, and what makes the robot safe is let in.
func TestOnlyNewPlansAreRefusedByAFullOutbox(t *testing.T) {
	m := &Manager{cur: &core.State{Workflows: map[core.WorkflowID]*core.Workflow{"open": {}}}}
	m.outbox.init([]OutboxRow{{ID: "r", Type: "result"}}, 1, 0, nil)
	for name, tc := range map[string]struct {
		ev   core.Event
		want bool
	}{
		"new":             {core.PlanSubmitted{Plan: &core.Plan{Workflow: "wf"}}, true},
		"revision":        {core.PlanSubmitted{Plan: &core.Plan{Workflow: "open", Revision: 1}}, false},
		"answered before": {core.PlanSubmitted{Head: core.Head{Before: &core.Answer{}}, Plan: &core.Plan{Workflow: "wf"}}, false},
		"ended":           {core.PlanSubmitted{Head: core.Head{Past: &core.Past{}}, Plan: &core.Plan{Workflow: "wf"}}, false},
		"safety":          {core.PlanSubmitted{Plan: &core.Plan{Workflow: "wf", Priority: core.PrioritySafety}}, false},
		"cancel":          {core.ControlReceived{Verb: "cancel", Scope: "all"}, false},
	} {
		if _, refused := m.roomless(tc.ev); refused != tc.want {
			t.Errorf("%s: refused %v", name, refused)
		}
	}
}
