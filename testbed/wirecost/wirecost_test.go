package wirecost

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/scenario"
)

var update = flag.Bool("update", false, "write the table of docs/link-cost.md anew")

const page = "../../docs/link-cost.md"

// The page holds what is measured, and what is measured holds what is promised: two messages up at any length, in every form.
func TestThePageHoldsWhatIsMeasured(t *testing.T) {
	rows, err := Measure(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(Lengths)*len(Forms) {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Up.Messages != 2 {
			t.Errorf("%d steps in %s cost %d messages up", r.Steps, r.Form, r.Up.Messages)
		}
	}
	if *update {
		if err := Update(page, Table(rows)); err != nil {
			t.Fatal(err)
		}
	}
	shown, err := Shown(page)
	if err != nil {
		t.Fatal(err)
	}
	if want := Table(rows); shown != want {
		t.Fatalf("docs/link-cost.md is not what is measured; run: make build && bin/testbed wirecost -update\nit shows\n%s\nmeasured is\n%s", shown, want)
	}
}

// What would break the promise fails the measurement.
func TestARowThatBreaksThePromiseIsAFault(t *testing.T) {
	packet := func(typ wire.Type, up bool) scenario.Packet {
		return scenario.Packet{Up: up, Type: typ, Topic: "t", Bytes: 100, Workflow: workflow}
	}
	whole := []scenario.Packet{packet(wire.TypePlan, false), packet(wire.TypeAck, true), packet(wire.TypeReceipt, false), packet(wire.TypeResult, true),
		packet(wire.TypeReceipt, false)}
	status := packet(wire.TypeStatus, true)
	status.Workflow = ""
	for _, tc := range []struct {
		name     string
		packets  []scenario.Packet
		dispatch int
		progress int
		want     string
	}{
		{"as promised", append(whole, status), 3, 1, ""},
		{"a message for progress", append(whole, packet("telemetry", true)), 3, 1, "3 messages up"},
		{"no result", whole[:3], 3, 1, "1 messages up"},
		{"a second plan down", append(whole, packet(wire.TypePlan, false)), 3, 1, "4 messages down"},
		{"a step that did not run", whole, 2, 1, "2 operations"},
		{"a robot that says nothing while it works", whole, 3, 0, "no progress"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Row{Steps: 3, Dispatch: tc.dispatch, Progress: tc.progress}
			for _, p := range tc.packets {
				r.count(p)
			}
			err := r.check()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// A packet has its header and topic beside the payload; the remaining length takes one more byte from 128 on, and from 16,384 on.
func TestBytesOfAPublishPacket(t *testing.T) {
	for payload, want := range map[int]int{0: 11, 118: 129, 119: 131, 16374: 16386, 16375: 16388} {
		if got := publishBytes(scenario.Packet{Topic: "topic", Bytes: payload}); got != want {
			t.Errorf("%d bytes of payload are %d of a packet, want %d", payload, got, want)
		}
	}
}

func TestAPageWithoutMarksIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("# A page\n"+end+begin), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Update(path, "table"); err == nil || !strings.Contains(err.Error(), "marks") {
		t.Errorf("Update: %v", err)
	}
	if err := os.WriteFile(path, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Update(path, "new\n"); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	if string(text) != "before\n"+begin+"new\n"+end+"after\n" {
		t.Errorf("the page is %q", text)
	}
}
