package replay_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/testbed/replay"
)

func TestWhatIsNoJournalIsRefused(t *testing.T) {
	cat, err := replay.Catalog("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"nothing": "", "words": "hello\n"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := replay.Run(context.Background(), path, cat); err == nil || !strings.Contains(err.Error(), "journal") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := replay.Run(context.Background(), filepath.Join(dir, "absent"), cat); err == nil {
		t.Error("a file that is not there was replayed")
	}
	if err := replay.Dump(context.Background(), filepath.Join(dir, "absent"), new(bytes.Buffer)); err == nil {
		t.Error("a file that is not there was dumped")
	}
}
