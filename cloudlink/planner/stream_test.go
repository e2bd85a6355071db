package planner

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge/wire"
)

func TestStreamTellsChangesInOrder(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resp, err := http.DefaultTransport.RoundTrip(r.request("GET", "/v1/stream", "").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Scan() // ": open": from here on nothing is missed
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	d.say(d.result(id, "completed", ""))
	var told []string
	for !slices.Contains(told, "result completed") && lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if e.Kind == "workflow" && e.ID == id && e.DeviceID == "rb-1" {
			told = append(told, e.What)
		}
	}
	if wanted := []string{"plan sent", "plan accepted", "result completed"}; !slices.Equal(told, wanted) {
		t.Errorf("told %q, want %q (%v)", told, wanted, lines.Err())
	}
}
