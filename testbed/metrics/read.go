package metrics

import (
	"context"
	"fmt"

	"deviceagent/testbed/replay"
)

// Read adds the store at path; name leads the ids. It works on a copy.
func (t *Tally) Read(ctx context.Context, name, path string) error {
	all, aside, err := replay.Workflows(ctx, path)
	if err != nil {
		return fmt.Errorf("cannot measure %s: %w", path, err)
	}
	t.Store(name, all, aside)
	return nil
}
