package demo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

const stopLimit = 10 * time.Second // from SIGTERM to SIGKILL

// process is one program that the demo started. Its standard error is kept in a file.
type process struct {
	name    string
	logPath string
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	done    chan struct{} // closed when it has ended; err is set then
	err     error
}

// spec says how to start a process. The callbacks get each line of its output, from a goroutine of their own.
type spec struct {
	name, path string
	args       []string
	logPath    string // appended to, so that a second start keeps the story of the first
	out, line  func(line string)
}

// start starts a process in a group of its own, so that Ctrl-C at the terminal reaches the demo alone, which ends the others in
// order. Should the demo itself be killed, the kernel kills them.
func start(s spec) (*process, error) {
	log, err := os.OpenFile(s.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot keep the log of %s: %w", s.name, err)
	}
	p := &process{name: s.name, logPath: s.logPath, cmd: exec.Command(s.path, s.args...), done: make(chan struct{})}
	p.cmd.Env = plainEnv()
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = time.Second
	p.cmd.Stdout = &lineWriter{line: s.out}
	p.cmd.Stderr = &lineWriter{file: log, line: s.line}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %s: %w", s.name, err), log.Close())
	}
	started := make(chan error)
	go p.live(started, log)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", s.name, err)
	}
	return p, nil
}

// live starts the process and waits for its end on one thread: the kernel's promise to kill the child is bound to the thread that
// made it, not to the process.
func (p *process) live(started chan<- error, log io.Closer) {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	defer log.Close()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

// plainEnv keeps settings in the caller's environment away from what is shown.
func plainEnv() (env []string) {
	for _, key := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	return env
}

// stop asks a process to end, and kills it when it does not.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		p.kill()
	}
}

// kill is kill -9: the process can write nothing more.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// fault describes an end that nobody asked for, with the last lines that the process wrote.
func (p *process) fault() error {
	how := "it ended"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s is gone (%s); its last lines:\n%s", p.name, how, lastLines(p.logPath, 5))
}

func lastLines(path string, n int) string {
	data, err := os.ReadFile(path)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return "  (none)"
	}
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	lines = lines[max(0, len(lines)-n):]
	return "  " + string(bytes.Join(lines, []byte("\n  ")))
}

// lineWriter copies bytes to a file and cuts them into lines.
type lineWriter struct {
	file io.Writer
	line func(string)
	rest []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	if w.file != nil {
		if _, err := w.file.Write(b); err != nil {
			return 0, err
		}
	}
	if w.line == nil {
		return len(b), nil
	}
	w.rest = append(w.rest, b...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		w.line(string(line))
		w.rest = rest
	}
}

// program finds a program of ours.
func program(dir, name string) (string, error) {
	if dir == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("cannot find %s: %w", name, err)
		}
		dir = filepath.Dir(self)
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("cannot find %s beside this program: %w; run make build", name, err)
	}
	return path, nil
}
