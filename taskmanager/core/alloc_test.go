//go:build !race

package core_test

import (
	"encoding/json"
	"os"
	"runtime"
	"testing"
)

const baselineFile = "testdata/allocations.json"

// baseline is what one event cost when it was last judged good.
type baseline struct {
	AllocsPerEvent float64 `json:"allocs_per_event"`
	BytesPerEvent  float64 `json:"bytes_per_event"`
}

// TestAllocationBaseline fails when an event allocates 5 % more than the committed baseline. Counts, unlike times, are the same on
// every machine. The race detector allocates for itself, so this runs without it.
func TestAllocationBaseline(t *testing.T) {
	const events = 200_000
	m := newMill(t)
	m.run(10_000) // the bounds of what is kept in memory are reached
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m.run(10_000 + events)
	runtime.ReadMemStats(&after)
	got := baseline{float64(after.Mallocs-before.Mallocs) / events, float64(after.TotalAlloc-before.TotalAlloc) / events}
	t.Logf("%.2f allocations, %.0f bytes an event", got.AllocsPerEvent, got.BytesPerEvent)
	if *update {
		b, _ := json.MarshalIndent(got, "", "  ")
		if err := os.WriteFile(baselineFile, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(baselineFile)
	if err != nil {
		t.Fatalf("no baseline: %v; make one with -update", err)
	}
	var want baseline
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if got.AllocsPerEvent > want.AllocsPerEvent*1.05 || got.BytesPerEvent > want.BytesPerEvent*1.05 {
		t.Fatalf("an event costs %.2f allocations and %.0f bytes, the baseline is %.2f and %.0f: more than 5 %% over it", got.AllocsPerEvent, got.BytesPerEvent, want.AllocsPerEvent, want.BytesPerEvent)
	}
}
