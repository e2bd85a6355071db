package doctest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// shell is the one terminal in which a page's commands are typed: variables, the folder and background programs of one block are
// there in the next. Commands have no standard input.
type shell struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	ends    chan struct{} // one for each block that has ended; closed when the shell is gone
	scratch string        // outside the folder: scripts and their output
	mark    string        // in the environment of all that it starts
	n       int
}

// A failure is noted where it happens, and the block goes on, as at a terminal.
const preamble = `set -o pipefail
trap 'printf "%s %s %s\n" "$?" "$LINENO" "${BASH_COMMAND//$'\''\n'\''/ }" >>"$doctest_failed"' ERR
`

// openShell starts a shell in dir. bin is put before the PATH, repo is the variable REPO.
func openShell(dir, scratch, bin, repo string) (*shell, error) {
	// An answer that tells of a fault is a fault; curl alone would end with 0.
	if err := os.WriteFile(filepath.Join(scratch, ".curlrc"), []byte("fail-with-body\n"), 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the settings of curl: %w", err)
	}
	s := &shell{scratch: scratch, mark: "DOCTEST_MARK=" + scratch, ends: make(chan struct{}, 1)}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer w.Close()
	s.cmd = exec.Command("bash", "--noprofile", "--norc")
	s.cmd.Dir, s.cmd.ExtraFiles = dir, []*os.File{w}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// /usr/sbin and /sbin: Debian keeps mosquitto there.
	s.cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + scratch, "LANG=C.UTF-8", "TZ=UTC", "TERM=dumb", "USER=" + os.Getenv("USER"), "REPO=" + repo, s.mark}
	if s.stdin, err = s.cmd.StdinPipe(); err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("cannot start bash: %w", err)
	}
	go func() {
		defer r.Close()
		defer close(s.ends)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			s.ends <- struct{}{}
		}
	}()
	_, err = io.WriteString(s.stdin, preamble)
	return s, err
}

// outcome is how a block went.
type outcome struct {
	output   string
	failures []failure
	gone     bool // the shell ended with it
	late     bool // it did not end in time
}

// failure is a command that did not end with 0.
type failure struct{ code, line, command string }

// run types one block and waits for its end.
func (s *shell) run(ctx context.Context, text string, ctrlC, limit time.Duration) (outcome, error) {
	s.n++
	base := filepath.Join(s.scratch, fmt.Sprint(s.n))
	script, out, failed := base+".sh", base+".out", base+".failed"
	err := os.WriteFile(script, []byte(strings.TrimRight(text, "\n")+"\n:\n"), 0o600)
	if err != nil {
		return outcome{}, fmt.Errorf("cannot write the commands: %w", err)
	}
	before := children(s.cmd.Process.Pid)
	// Descriptor 3 is the shell's own: a program in the background must not keep it open.
	if _, err := fmt.Fprintf(s.stdin, "doctest_failed='%s'; source '%s' </dev/null >'%s' 2>&1 3>&-; echo end >&3\n", failed, script, out); err != nil {
		return outcome{gone: true}, nil
	}
	res := s.wait(ctx, before, ctrlC, limit)
	res.failures, err = readFailures(failed, script)
	if err != nil {
		return res, err
	}
	res.output, err = s.output()
	return res, err
}

// output is what the last block has shown so far: a program that it left in the background may still speak.
func (s *shell) output() (string, error) {
	text, err := os.ReadFile(filepath.Join(s.scratch, fmt.Sprint(s.n)) + ".out")
	if err != nil {
		return "", fmt.Errorf("cannot read the output: %w", err)
	}
	return string(text), nil
}

// wait waits for the end of a block. Ctrl-C reaches what the block has in the foreground, as at a terminal.
func (s *shell) wait(ctx context.Context, before map[int]bool, ctrlC, limit time.Duration) (res outcome) {
	var press <-chan time.Time
	if ctrlC > 0 {
		press = time.After(ctrlC)
	}
	late := time.After(limit)
	for {
		select {
		case _, there := <-s.ends:
			res.gone = !there
			return res
		case <-press:
			for pid := range children(s.cmd.Process.Pid) {
				if !before[pid] {
					_ = syscall.Kill(pid, syscall.SIGINT) // it may have ended by itself
				}
			}
		case <-late:
			res.late = true
			return res
		case <-ctx.Done():
			res.late = true
			return res
		}
	}
}

// readFailures reads what the trap has noted. A syntax error has the command that read the script.
func readFailures(path, script string) (out []failure, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("cannot read what failed: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		code, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, command, _ := strings.Cut(rest, " ")
		if strings.Contains(command, script) {
			at, command = "0", "the block as a whole: bash cannot read it"
		}
		out = append(out, failure{code, at, command})
	}
	return out, nil
}

// close ends the shell and all that it left behind, wherever that has gone.
func (s *shell) close() {
	_ = s.stdin.Close()
	signalAll(s.mark, syscall.SIGTERM)
	for began := time.Now(); len(marked(s.mark)) > 0 && time.Since(began) < stopLimit; {
		time.Sleep(20 * time.Millisecond)
	}
	signalAll(s.mark, syscall.SIGKILL)
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // what has emptied its environment is still of the shell's group
	_ = s.cmd.Wait()
	for range s.ends { // until it is closed
	}
}

const stopLimit = 5 * time.Second // from SIGTERM to SIGKILL
