package catalogfile

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
)

var fence = regexp.MustCompile("(?s)```json (\\w+)\n(.*?)```")

// What the guide shows must work: its example entries, put into the default files, load without a fault.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	var changes []change
	for _, block := range fence.FindAllSubmatch(guide, -1) {
		kind := string(block[1])
		var value any
		if err := json.Unmarshal(block[2], &value); err != nil {
			t.Fatalf("the block %s: %v", kind, err)
		}
		switch kind {
		case "operations":
			for _, op := range value.([]any) {
				changes = append(changes, ops("+", op))
			}
		case "stop":
			changes = append(changes, ops("stopMovement", value))
		default:
			file := kind + ".json"
			if kind == "standing" {
				file = opsFile
			}
			for name, entry := range value.(map[string]any) {
				changes = append(changes, change{file, kind + " " + name, entry})
			}
		}
	}
	c, _ := mustLoad(t, edited(t, changes...))
	if len(c.Operations) != 24 || len(c.Effects) != 17 || len(c.Standing["return"]) != 3 {
		t.Fatalf("%d operations, %d effects: the guide's blocks were not all used", len(c.Operations), len(c.Effects))
	}
	scan, faults := c.Resolve("startPatrol", map[string]any{"room": "거실", "mode": "scan", "rounds": 2.0})
	if len(faults) > 0 || len(scan.Operation.Resources) != 2 || scan.Operation.Timeout.For(scan.Args) != 300000 {
		t.Fatalf("startPatrol: %+v, faults %v", scan.Operation, faults)
	}
}
