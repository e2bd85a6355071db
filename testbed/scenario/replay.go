package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/replay"
)

// replayed runs the journal of the device once more, over all its lives: every state has to come out the same.
func replayed(dir string, cat *catalog.Catalog) error {
	if done, err := replay.Run(context.Background(), lastStore(dir), cat); err != nil {
		return fmt.Errorf("the journal, replayed (%d commits): %w", done.Commits, err)
	}
	return nil
}

// lastStore is the store of the device's last life.
func lastStore(dir string) (last string) {
	for n := 0; ; n++ {
		path := filepath.Join(dir, "state-"+strconv.Itoa(n), "agent.db")
		if _, err := os.Stat(path); err != nil {
			return last
		}
		last = path
	}
}
