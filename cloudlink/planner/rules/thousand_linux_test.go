package rules_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/packaging/catalog"
)

const turns = 1000

// BenchmarkThousandTurns plans a thousand sentences of our own, each as a whole turn with all stages and its trace, and tells how long one
// takes: the median, the slowest hundredth, and their ratio, of the quietest round and in processor time (what else runs on the machine is not the planner's); and what the word lists take of memory, once for all turns. It judges nothing.
func BenchmarkThousandTurns(b *testing.B) {
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		b.Fatal(err)
	}
	before := heap()
	p := pipeline.New(rules.New(cat, words), cat, words)
	lists := heap() - before
	said := rules.Sentences()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p50, p99 := time.Hour, time.Hour
	took := make([]time.Duration, 0, turns)
	for b.Loop() {
		took = took[:0]
		for i := range turns {
			begin := processor(b)
			if _, err := p.Plan(b.Context(), turn.Input{TurnID: "t", Text: said[i%len(said)]}); err != nil {
				b.Fatal(err)
			}
			took = append(took, processor(b)-begin)
		}
		slices.Sort(took)
		if slow := took[len(took)*99/100]; slow < p99 {
			p50, p99 = took[len(took)/2], slow
		}
	}
	b.ReportMetric(p50.Seconds()*1000, "ms-p50")
	b.ReportMetric(p99.Seconds()*1000, "ms-p99")
	b.ReportMetric(p99.Seconds()/p50.Seconds(), "p99/p50")
	b.ReportMetric(float64(lists)/(1<<20), "MiB-of-words")
	b.ReportMetric(float64(min(len(said), turns)), "sentences")
	runtime.KeepAlive(p)
}

// processor is how long this thread has had a processor.
func processor(b *testing.B) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		b.Fatal(err)
	}
	return time.Duration(at.Nano())
}

// TestTheWordsFitIntoMemory: a second list of all verbs in all their forms was once made beside the first, and nobody saw it.
func TestTheWordsFitIntoMemory(t *testing.T) {
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	p := pipeline.New(rules.New(cat, words), cat, words)
	if used := heap() - before; used > 20_000_000 {
		t.Errorf("the word lists take %d bytes, over 20 MB", used)
	}
	runtime.KeepAlive(p)
}

// heap is what is in use after everything that nobody needs has gone.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
