package taskmanager

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// A link keeps a picture of the outbox. One that is not told of a receipt sends the row again a minute later.
func TestOutboxTellsOfEveryChange(t *testing.T) {
	var o outbox
	o.init(nil)
	told := func() bool {
		select {
		case <-o.changed:
			return true
		default:
			return false
		}
	}
	o.add([]OutboxRow{{Seq: 1, ID: "m-1"}}, nil)
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
