package bridge_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

var update = flag.Bool("update", false, "write golden files and the tables of docs/contract.md anew")

const (
	deviceID = "rb-0001"
	sentAt   = "2026-11-30T09:00:00.000Z"
	sentMS   = 1_796_029_200_000
)

func defaultCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// fixed is the default catalog with an etag that does not change with it, so that golden files do not either.
func fixed(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat := *defaultCatalog(t)
	cat.Etag = "etag-1"
	return &cat
}

func codecOf(t testing.TB, enc wire.Encoding) *bridge.Codec {
	t.Helper()
	return bridge.New(bridge.Options{DeviceID: deviceID, Catalog: fixed(t), AllowJSON: true, Encoding: enc,
		NewID: func() string { return "0193a000-0000-7000-8000-00000000000a" }})
}

// message wraps a body as the planner would.
func message(kind, body string) []byte {
	return []byte(`{"v":"` + wire.Version + `","type":"` + kind + `","id":"0193a000-0000-7000-8000-000000000001","device_id":"` + deviceID +
		`","sent_at":"` + sentAt + `","body":` + body + `}`)
}

// planBody is a plan with these members in its head and these requests.
func planBody(head, requests string) string {
	if head != "" {
		head = "," + head
	}
	return `{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0` + head + `},"device_task_requests":[` + requests + `]}`
}

// readPlan reads a plan without the checks of the wire: the planner checks what it has made itself.
func readPlan(t testing.TB, body string) *wire.Plan {
	t.Helper()
	var p wire.Plan
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return &p
}

// faultLines writes faults as "path reason", one a line.
func faultLines(faults []core.Fault) string {
	var lines []string
	for _, f := range faults {
		lines = append(lines, strings.TrimSpace(f.Path+" "+string(f.Reason)))
	}
	return strings.Join(lines, "\n")
}

// golden holds text to a file of testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	file = "testdata/" + file
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s (%v); run with -update and review the diff\n%s", file, err, got)
	}
}

func indented(t testing.TB, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}
