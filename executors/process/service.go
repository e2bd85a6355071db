package process

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Program is how a method of the catalog is run.
type Program struct {
	catalog.Process
	Stop time.Duration // the operation's stop time; 0: 4 s
}

// Options are the parts of a [Service].
type Options struct {
	Service  core.ServiceID
	Instance string // of this start of the agent: a program of an earlier start is gone
	Programs map[catalog.Method]Program
	Sink     executors.Sink
	Log      zerolog.Logger
}

// Bounds. A robot's SoC has little memory, and a program that floods must not take it.
const (
	maxRunning = 16      // tasks at once
	maxEnded   = 256     // ended tasks that a Query still knows
	maxSealed  = 4096    // ids that a Query has refused for ever
	maxLine    = 1 << 16 // bytes of one line
	maxOutput  = 4 << 20 // bytes of standard output of one task
	maxErrors  = 1 << 16 // bytes of standard error that are logged
)

// The reasons that a Service itself gives.
const (
	reasonKnown   core.Reason = "task_known"       // a second Dispatch with the same id
	reasonSealed  core.Reason = "task_sealed"      // a Dispatch with an id that a Query has sealed
	reasonUnknown core.Reason = "task_unknown"     // a Cancel of no task that runs
	reasonFlood   core.Reason = "output_too_large" // it said more than is read, and was killed
	reasonSignal  core.Reason = "killed"           // it ended by a signal that we did not send
	reasonNoPause core.Reason = "unsupported"
)

// Service is a Binding over programs. What it remembers of tasks lives as long as the agent's process.
type Service struct {
	o    Options
	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	running map[core.TaskID]*run
	ended   map[core.TaskID]core.TaskEnded
	order   []core.TaskID // of ended, oldest first
	sealed  map[core.TaskID]bool
	seals   []core.TaskID
}

var _ executors.Binding = (*Service)(nil)

// New makes a service that runs nothing yet. [Service.Close] kills what runs then.
func New(o Options) *Service {
	if err := keepToOurselves(); err != nil {
		o.Log.Warn().Err(err).Msg("programs may inherit open files of the agent")
	}
	life, end := context.WithCancel(context.Background())
	return &Service{o: o, life: life, end: end, running: map[core.TaskID]*run{}, ended: map[core.TaskID]core.TaskEnded{}, sealed: map[core.TaskID]bool{}}
}

// Close kills every program with its group and returns when they are gone. Nothing of it is said to the core: a stop of the agent
// changes no task's state.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.end()
	for _, r := range s.running {
		r.kill()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// Start runs the program of a method. An answer without an error says whether the program runs: a program that cannot be run is a
// refusal that names why in the log.
func (s *Service) Start(ctx context.Context, d core.Dispatch) (core.TaskAnswered, error) {
	refuse := func(why core.Reason) (core.TaskAnswered, error) {
		return core.TaskAnswered{Task: d.Task, Reason: why, Instance: s.o.Instance}, nil
	}
	p, ok := s.o.Programs[d.Method]
	if !ok {
		return refuse(core.ReasonExecutorUnavail)
	}
	args, err := argv(p.Argv, d.Params)
	if err != nil {
		s.o.Log.Warn().Err(err).Str("task_id", string(d.Task)).Msg("program not run")
		return refuse(core.ReasonInputInvalid)
	}
	r, why, err := s.begin(d, p, args)
	if why != "" {
		if err != nil {
			s.o.Log.Error().Err(err).Str("task_id", string(d.Task)).Strs("argv", args).Msg("program cannot be run")
		}
		return refuse(why)
	}
	if p.Accept != catalog.AcceptByLine {
		return core.TaskAnswered{Task: d.Task, Accepted: true, Instance: s.o.Instance}, nil
	}
	select {
	case why := <-r.answer:
		return core.TaskAnswered{Task: d.Task, Accepted: why == "", Reason: why, Instance: s.o.Instance}, nil
	case <-ctx.Done():
		return core.TaskAnswered{}, context.Cause(ctx)
	}
}

// begin starts the process and enters it, under one lock: a Query or Close that comes meanwhile finds it or comes before it.
func (s *Service) begin(d core.Dispatch, p Program, args []string) (*run, core.Reason, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, over := s.ended[d.Task]
	switch {
	case s.closed:
		return nil, core.ReasonExecutorUnavail, nil
	case s.running[d.Task] != nil || over:
		return nil, reasonKnown, nil
	case s.sealed[d.Task]:
		return nil, reasonSealed, nil
	case len(s.running) >= maxRunning:
		return nil, core.ReasonExecutorBusy, nil
	}
	r, err := start(s, d, p, args)
	if err != nil {
		return nil, core.ReasonExecutorUnavail, err
	}
	s.running[d.Task] = r
	s.wg.Go(r.watch)
	return r, "", nil
}

// over enters the end of a task, and reports it unless the agent stops.
func (s *Service) over(r *run, end core.TaskEnded) {
	s.mu.Lock()
	delete(s.running, r.task)
	s.ended[r.task] = end
	s.order = append(s.order, r.task)
	if len(s.order) > maxEnded {
		delete(s.ended, s.order[0])
		s.order = s.order[1:]
	}
	s.mu.Unlock()
	s.say(end)
}

// forget drops a task that was never accepted: a Query does not know it.
func (s *Service) forget(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, r.task)
	s.seal(r.task)
}

// say hands an event to the core. It waits while the core is busy, and with it waits the program that spoke.
func (s *Service) say(ev core.Event) {
	if err := s.o.Sink(s.life, ev); err != nil && s.life.Err() == nil {
		s.o.Log.Error().Err(err).Str("event", string(core.KindOf(ev))).Msg("event lost")
	}
}

// Query tells what is known of a task, and seals an id that is not.
func (s *Service) Query(_ context.Context, task core.TaskID) (core.TaskStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := core.TaskStatus{Task: task, Instance: s.o.Instance}
	end, over := s.ended[task]
	switch {
	case s.running[task] != nil:
		st.Known = core.KnownRunning
	case over:
		st.Known, st.Ended = core.KnownEnded, &end
	default:
		st.Known, st.Sealed = core.KnownNot, true
		s.seal(task)
	}
	return st, nil
}

func (s *Service) seal(task core.TaskID) {
	if s.sealed[task] {
		return
	}
	s.sealed[task] = true
	s.seals = append(s.seals, task)
	if len(s.seals) > maxSealed {
		delete(s.sealed, s.seals[0])
		s.seals = s.seals[1:]
	}
}

// Cancel asks the program to end (SIGTERM to its group), and kills the group after half of its stop time, so that the end is
// confirmed within that.
func (s *Service) Cancel(_ context.Context, o core.Stop) (core.StopAnswered, error) {
	s.mu.Lock()
	r := s.running[o.Task]
	s.mu.Unlock()
	if r == nil {
		return core.StopAnswered{Task: o.Task, Refused: true, Reason: reasonUnknown}, nil
	}
	r.stop(cmp.Or(r.program.Stop, 4*time.Second) / 2)
	return core.StopAnswered{Task: o.Task, Accepted: true}, nil
}

// Pause and Resume are refused: a program that is halted says nothing of what it has set in motion.
func (s *Service) Pause(_ context.Context, task core.TaskID) (core.StopAnswered, error) {
	return core.StopAnswered{Task: task, Refused: true, Reason: reasonNoPause}, nil
}

// Resume is refused like [Service.Pause].
func (s *Service) Resume(ctx context.Context, task core.TaskID) (core.StopAnswered, error) {
	return s.Pause(ctx, task)
}

var _ executors.Teller = (*Service)(nil)

// TellsOnly makes it an [executors.Teller]: a program says its values while it runs.
func (s *Service) TellsOnly() {}

// Read has nothing to give, and is not called for that.
func (s *Service) Read(context.Context, []catalog.ContextKey) ([]core.ContextValue, error) {
	return nil, nil
}

// Methods and Keys are what the service serves, by name.
func (s *Service) Methods() []catalog.Method { return slices.Sorted(maps.Keys(s.o.Programs)) }

// Keys are the context keys that its programs may speak of.
func (s *Service) Keys() (out []catalog.ContextKey) {
	for _, p := range s.o.Programs {
		out = append(out, p.Keys...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
