package process

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// run is one program under way.
type run struct {
	s       *Service
	task    core.TaskID
	program Program
	cmd     *exec.Cmd
	out     *os.File         // read end of its standard output
	answer  chan core.Reason // one: "" for accepted, else why it was refused
	log     zerolog.Logger

	mu       sync.Mutex
	answered bool
	accepted bool
	gone     bool // the group is: its number may be another's
	stopped  bool // we asked for its end
	flooded  bool
	hard     *time.Timer
	result   *line
	bad      int
}

// drainTime bounds how long the last words of a program are waited for once its group is gone: whoever left the group may hold the
// pipe open for ever.
const drainTime = time.Second

// start runs a program: no shell, nothing of the agent's environment, a process group of its own.
func start(s *Service, d core.Dispatch, p Program, args []string) (*run, error) {
	input, err := orderOf(d)
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r := &run{s: s, task: d.Task, program: p, out: out, answer: make(chan core.Reason, 1),
		log: s.o.Log.With().Str("service", string(s.o.Service)).Str("task_id", string(d.Task)).Logger()}
	r.cmd = &exec.Cmd{
		Path: args[0], Args: args, Dir: "/", Env: environment(d, p), Stdin: bytes.NewReader(input), Stdout: in,
		Stderr: &errorLog{log: r.log, left: maxErrors}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, WaitDelay: drainTime,
	}
	if err := r.cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	return r, nil
}

// environment is all that a program sees: where programs are, a language, its task, and what the catalog says.
func environment(d core.Dispatch, p Program) []string {
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TASK_ID=" + string(d.Task)}
	for k, v := range p.Env {
		env = append(env, k+"="+v)
	}
	return env
}

// watch reads what the program says, waits for its end, clears its group away and reports.
func (r *run) watch() {
	read := make(chan struct{})
	go func() { defer close(read); r.read() }()
	_ = r.cmd.Wait() // how it ended is in its state
	r.mu.Lock()
	r.clear()
	r.gone = true
	if r.hard != nil {
		r.hard.Stop()
	}
	r.mu.Unlock()
	_ = r.out.SetReadDeadline(time.Now().Add(drainTime))
	<-read
	r.out.Close()
	if r.s.life.Err() != nil {
		return
	}
	end := r.ending()
	if r.program.Accept == catalog.AcceptByLine && !r.taken(end) {
		r.s.forget(r)
		return
	}
	r.s.over(r, end)
}

// clear ends what the program left behind in its group, and waits until it is gone: a killed process runs until it is next looked at.
func (r *run) clear() {
	group := -r.cmd.Process.Pid
	for end := time.Now().Add(drainTime); syscall.Kill(group, syscall.SIGKILL) == nil && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
}

// taken says whether the program had accepted its task. One that ended without a word has refused it by that.
func (r *run) taken(end core.TaskEnded) bool {
	why := end.Reason
	if why == core.ReasonNone {
		why = core.ReasonExecutorFailed
	}
	r.reply(why)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// reply answers the dispatch, once.
func (r *run) reply(why core.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.answered {
		r.answered, r.accepted = true, why == core.ReasonNone
		r.answer <- why
	}
}

// read takes lines until the program's output ends, is too much, or the agent stops.
func (r *run) read() {
	in := bufio.NewReaderSize(io.LimitReader(r.out, maxOutput+1), maxLine)
	total := 0
	for {
		text, err := in.ReadSlice('\n')
		if total += len(text); total > maxOutput || errors.Is(err, bufio.ErrBufferFull) {
			r.mu.Lock()
			r.flooded = true
			r.mu.Unlock()
			r.log.Warn().Int("bytes", total).Msg("program says too much, killed")
			r.kill()
			return
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			r.take(text)
		}
		if err != nil {
			return
		}
	}
}

// maxBad bounds the lines that are logged as unreadable.
const maxBad = 8

func (r *run) take(text []byte) {
	l, err := parse(text)
	var ev core.Event
	if err == nil {
		ev, err = r.heed(l)
	}
	if err != nil {
		if r.bad++; r.bad <= maxBad {
			r.log.Warn().Err(err).Str("line", string(text[:min(len(text), 120)])).Msg("line of a program ignored")
		}
		return
	}
	if ev != nil {
		r.s.say(ev)
	}
}

// heed takes what a line says to us, and gives what it says to the core.
func (r *run) heed(l line) (core.Event, error) {
	switch l.Type {
	case "accepted":
		r.reply("")
		return nil, nil
	case "refused":
		if r.program.Accept != catalog.AcceptByLine {
			return nil, errors.New("the catalog says that this program accepts by starting")
		}
		r.reply(reason(l.Reason, core.ReasonExecutorRefused))
		r.kill()
		return nil, nil
	case "result":
		if o := core.Outcome(l.Outcome); o != core.OutcomeDone && o != core.OutcomeFailed && o != core.OutcomeCancelled {
			return nil, errors.New("outcome is none of done, failed, cancelled")
		}
		r.mu.Lock()
		if r.result == nil { // the first stands
			r.result = &l
		}
		r.mu.Unlock()
		return nil, nil
	}
	return l.event(r.s.o.Service, r.task, r.program.Keys)
}

// ending says how the task ended. The exit code decides whether it may count as done; a result line adds the output and, where it says
// that the task failed or was cancelled, why.
func (r *run) ending() core.TaskEnded {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := core.TaskEnded{Task: r.task, Source: string(r.s.o.Service)}
	end.Outcome, end.Reason = r.byExit()
	if r.result == nil || r.flooded {
		return end
	}
	end.Output = r.result.Output
	switch o := core.Outcome(r.result.Outcome); o {
	case core.OutcomeFailed:
		end.Outcome, end.Reason = o, reason(r.result.Reason, core.ReasonExecutorFailed)
	case core.OutcomeCancelled:
		end.Outcome, end.Reason = o, reason(r.result.Reason, core.ReasonNone)
	}
	return end
}

// byExit is what the end of the process alone says.
func (r *run) byExit() (core.Outcome, core.Reason) {
	code, signalled := exitOf(r.cmd.ProcessState)
	said := r.program.Exit[strconv.Itoa(code)]
	switch {
	case r.flooded:
		return core.OutcomeFailed, reasonFlood
	case signalled && r.stopped:
		return core.OutcomeCancelled, core.ReasonNone
	case signalled:
		return core.OutcomeFailed, reasonSignal
	case said == string(core.OutcomeDone) || said == "" && code == 0:
		return core.OutcomeDone, core.ReasonNone
	case said == string(core.OutcomeCancelled):
		return core.OutcomeCancelled, core.ReasonNone
	}
	return core.OutcomeFailed, reason(said, core.ReasonExecutorFailed)
}

// exitOf gives the exit code, or that a signal ended it.
func exitOf(st *os.ProcessState) (code int, signalled bool) {
	if st == nil {
		return -1, false
	}
	ws, ok := st.Sys().(syscall.WaitStatus)
	return st.ExitCode(), ok && ws.Signaled()
}

// stop asks the group to end, and kills it after grace.
func (r *run) stop(grace time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	if r.gone || r.hard != nil {
		return
	}
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGTERM)
	r.hard = time.AfterFunc(grace, r.kill)
}

// kill ends the whole group at once.
func (r *run) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.gone {
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// errorLog writes what a program says on its standard error into the log, up to a bound.
type errorLog struct {
	log  zerolog.Logger
	left int
}

func (e *errorLog) Write(p []byte) (int, error) {
	if n := min(len(p), e.left); n > 0 {
		e.left -= n
		e.log.Info().Str("stderr", string(bytes.TrimSpace(p[:n]))).Msg("program says")
	}
	return len(p), nil
}
