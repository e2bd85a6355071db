package store

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"deviceagent/taskmanager"
)

// BenchmarkCommit is one step of a chain: one journal row, two records, one sync.
func BenchmarkCommit(b *testing.B) { benchCommit(b, 1) }

// BenchmarkCommitBatch100 is the same for a hundred steps that were drained together, in ten workflows.
func BenchmarkCommitBatch100(b *testing.B) { benchCommit(b, 100) }

func benchCommit(b *testing.B, steps int) {
	dir, err := os.MkdirTemp(onDisk, "taskstore")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := mustOpen(b, filepath.Join(dir, "tasks.db"), Options{})
	for s.grown = false; !s.growLog(); {
	}
	seq := int64(0)
	b.ReportAllocs()
	info := s.Info()
	for b.Loop() {
		var batch taskmanager.Batch
		for i := range steps {
			seq++
			one := step(seq)
			for j := range one.Records {
				one.Records[j].Workflow = fmt.Sprintf("w%d", i%10)
			}
			batch.Journal, batch.Records = append(batch.Journal, one.Journal...), append(batch.Records, one.Records...)
		}
		mustCommit(b, s, batch)
	}
	n := float64(s.Info().Commits - info.Commits)
	b.ReportMetric(float64(s.Info().Pages-info.Pages)/n, "pages/commit")
	b.ReportMetric(float64(s.Info().Checkpoints)/n, "checkpoints/commit")
	b.ReportMetric(float64(steps)*n/b.Elapsed().Seconds(), "steps/s")
}
