package machine

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestScriptsAreReadByBash: a job is read inside the machine only, minutes after it was changed.
func TestScriptsAreReadByBash(t *testing.T) {
	var scripts []string
	for _, pattern := range []string{"*.sh", "guest/*.sh", "jobs/*.sh"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, found...)
	}
	if len(scripts) < 15 {
		t.Fatalf("only %d scripts: they are somewhere else now", len(scripts))
	}
	for _, path := range scripts {
		if out, err := exec.Command("bash", "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
}
