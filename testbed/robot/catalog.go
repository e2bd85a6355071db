package robot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	defaults "deviceagent/packaging/catalog"
)

// WriteCatalog writes the default catalog to a folder, with every operation bound to the robot's services on a bus instead of the socket.
// All else, and the form of the files, is that of the default.
func WriteCatalog(dir string) error {
	return fs.WalkDir(defaults.Files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := fs.ReadFile(defaults.Files, name)
		if err == nil && name == "operations.json" {
			text, err = rebound(text)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
}

// The two lines of operations.json that matter here.
var (
	methodLine   = regexp.MustCompile(`^\s*"taskMethod": "([^"]+)"`)
	executorLine = regexp.MustCompile(`^(\s*"executor": )\{.*\}(,?)$`)
)

// rebound replaces the executor of each operation, line by line, so that people find the file as they know it.
func rebound(text []byte) ([]byte, error) {
	lines := bytes.Split(text, []byte("\n"))
	method := ""
	for i, line := range lines {
		if m := methodLine.FindSubmatch(line); m != nil {
			method = string(m[1])
		}
		m := executorLine.FindSubmatch(line)
		if m == nil {
			continue
		}
		b := bindingOf(method)
		if b == nil {
			return nil, fmt.Errorf("cannot bind %s: no service of the robot has it", method)
		}
		binding, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		lines[i] = bytes.Join([][]byte{m[1], binding, m[2]}, nil)
	}
	return bytes.Join(lines, []byte("\n")), nil
}
