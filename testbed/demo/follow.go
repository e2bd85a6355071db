package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"deviceagent/testbed/home"
)

// follower reads the robot's own log while it is written.
type follower struct {
	path string
	file *os.File
	buf  [32 << 10]byte
	cut  lineWriter
	err  error // of a line
}

func newFollower(path string, entry func(home.Entry)) *follower {
	f := &follower{path: path}
	f.cut.line = func(line string) {
		var e home.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			f.err = errors.Join(f.err, fmt.Errorf("cannot read the robot's log: %w", err))
			return
		}
		entry(e)
	}
	return f
}

// read hands over all whole lines that are new. A file that is not there yet has none.
func (f *follower) read() error {
	if f.file == nil {
		file, err := os.Open(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot follow the robot's log: %w", err)
		}
		f.file = file
	}
	for {
		n, err := f.file.Read(f.buf[:])
		_, _ = f.cut.Write(f.buf[:n]) // cannot fail: there is no file behind it
		switch {
		case errors.Is(err, io.EOF):
			return f.err
		case err != nil:
			return fmt.Errorf("cannot follow the robot's log: %w", err)
		}
	}
}

func (f *follower) close() {
	if f != nil && f.file != nil {
		_ = f.file.Close()
	}
}

// agentLine is one line of the agent's log; what it does not name stays empty.
type agentLine struct {
	Message    string `json:"message"`
	StepID     string `json:"step_id"`
	From       string `json:"from"`
	To         string `json:"to"`
	ReasonCode string `json:"reason_code"`
	StartNo    int64  `json:"start_no"`
}

// Messages of the agent's log that the demo reacts to.
const (
	msgReady    = "agent ready"
	msgExecutor = "executor is there"
	msgStep     = "step moved"
)

func readAgentLine(line string) (a agentLine, ok bool) {
	return a, json.Unmarshal([]byte(line), &a) == nil && a.Message != ""
}
