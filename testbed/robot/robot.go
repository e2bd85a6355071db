// Package robot runs the simulated home as a program of its own: it registers on the agent's executor socket as the service that
// serves every operation, in real time or faster, and is pressed and pushed through commands. It lives on when the agent dies,
// connects again by itself and says its context anew; what it says meanwhile is lost, as on a real bus. Its log says what the body
// did, whoever listened. It uses package time only, so it runs in a synctest bubble over in-memory pipes. It knows nothing of plans
// and must not import the task manager's decisions.
package robot

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"deviceagent/executors/dbus"
	"deviceagent/executors/socket"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/home"
)

// Service is the name that the shipped catalog binds all operations to.
const Service = "home"

// Options set a robot up. The zero value needs Socket or Dial; all else has a default.
type Options struct {
	Socket   string                                  // path of the agent's executor socket
	Dial     func(context.Context) (net.Conn, error) // instead of Socket
	Bus      string                                  // address of a D-Bus: the robot is several services there, instead of one on the socket
	BusDial  dbus.Dial                               // instead of Bus
	Vendor   bool                                    // on a bus: as a robot of another maker, with interfaces of its own
	Services []string                                // on a bus: only these of [Services]; nil: all
	Service  core.ServiceID                          // Service
	Instance string                                  // a new UUID; a restart of the service adds ".2", ".3", …
	Speed    float64                                 // simulated seconds a real second: 1
	Plan     home.FloorPlan                          // home.Flat()
	Home     home.Options                            // start room, battery, air, faults …; its Log is called beside LogPath
	LogPath  string                                  // the robot's own log as JSON lines, appended to; empty: no file
	Commands io.Reader                               // one command a line, see [Robot.Command]; nil: none
	Out      io.Writer                               // what happens, for people; nil: nothing
	Lost     func(err error, pause time.Duration)    // hears why a session ended; nil: a line on Out
}

// Robot is one running robot. Its methods may be called from any goroutine.
type Robot struct {
	opt   Options
	out   *lines
	log   *home.Log
	file  io.Closer
	start time.Time
	wake  chan struct{} // holds a token when the pump must look at the clock again

	mu       sync.Mutex // guards what follows, and with it the order of answers and events
	home     *home.Home
	session  session
	parts    []part                         // on a bus
	asked    map[core.TaskID]core.ServiceID // on a bus: which service was asked for a task
	last     core.TaskID                    // that was asked for
	late     []lateAnswer
	restarts int
	renew    context.CancelCauseFunc // ends the current registration in favour of a new instance
}

// session is a connection to the agent, on its socket or on a bus.
type session interface {
	Event(core.Observed) error
	Context([]core.ContextValue) error
	Progress(core.TaskProgress) error
	Paused(core.TaskID) error
	Resumed(core.TaskID) error
	Result(core.TaskEnded) error
	Cut()
}

// lateAnswer is an answer that a fault holds back.
type lateAnswer struct {
	at     time.Duration
	answer func()
}

var errRestart = errors.New("the robot's service restarts")

// Run makes a robot and runs it until ctx ends. It returns nil then, and an error only where the log cannot be opened or
// written.
func Run(ctx context.Context, opt Options) error {
	r, err := New(opt)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// New makes a robot whose simulated time begins now. It opens the log; [Robot.Run] closes it.
func New(opt Options) (*Robot, error) {
	if opt.Dial == nil {
		path := opt.Socket
		opt.Dial = func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}
	}
	if opt.Service == "" {
		opt.Service = Service
	}
	if opt.Instance == "" {
		opt.Instance = uuid.NewString()
	}
	if opt.Speed <= 0 {
		opt.Speed = 1
	}
	if len(opt.Plan.Rooms) == 0 {
		opt.Plan = home.Flat()
	}
	r := &Robot{opt: opt, out: &lines{w: opt.Out}, start: time.Now(), wake: make(chan struct{}, 1),
		asked: map[core.TaskID]core.ServiceID{}}
	var err error
	if r.parts, err = served(opt.Vendor, opt.Services); err != nil {
		return nil, err
	}
	if opt.LogPath != "" {
		f, err := os.OpenFile(opt.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, fmt.Errorf("cannot open the robot's log: %w", err)
		}
		r.log, r.file = home.NewLog(f), f
	}
	model := opt.Home
	model.Log = r.noted(opt.Home.Log)
	r.home = home.New(opt.Plan, model)
	return r, nil
}

// noted sends each entry to the file, to the caller's own log and to people.
func (r *Robot) noted(also func(home.Entry)) func(home.Entry) {
	return func(e home.Entry) {
		if r.log != nil {
			r.log.Add(e)
		}
		if also != nil {
			also(e)
		}
		r.out.entry(e)
		r.pressed(e)
	}
}

// Run serves until ctx ends. It may be called once. A blocked read of Commands is not waited for.
func (r *Robot) Run(ctx context.Context) error {
	if r.file != nil {
		defer r.file.Close()
	}
	if r.opt.Commands != nil {
		go r.readCommands(ctx) // ends with the reader: nobody can interrupt a read of a terminal
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { r.pump(ctx) })
	for ctx.Err() == nil {
		r.serve(ctx)
	}
	if r.log != nil {
		return r.log.Err()
	}
	return nil
}

// serve keeps one instance registered until ctx ends or the service restarts.
func (r *Robot) serve(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.mu.Lock()
	r.renew = cancel
	instance := r.opt.Instance
	if r.restarts > 0 {
		instance = fmt.Sprintf("%s.%d", instance, r.restarts+1)
	}
	r.mu.Unlock()
	if r.opt.Bus != "" || r.opt.BusDial != nil {
		r.onBus(ctx)
		return
	}
	reg := socket.Registration{Service: r.opt.Service, Instance: instance}
	for _, m := range home.Methods() {
		reg.Methods = append(reg.Methods, catalog.Method(m))
	}
	for _, k := range home.Keys() {
		reg.Keys = append(reg.Keys, catalog.ContextKey(k))
	}
	lost := r.opt.Lost
	if lost == nil {
		lost = func(err error, pause time.Duration) {
			r.out.printf("no agent: %v; next attempt in %v", err, pause.Round(time.Millisecond))
		}
	}
	d := socket.Dialer{Open: r.opt.Dial, Reg: reg, Lost: lost}
	_ = d.Run(ctx, program{r}) // it ends with ctx only
}

// Do gives the model to do at the present simulated moment, with nothing else in between, and says what follows from it.
func (r *Robot) Do(do func(h *home.Home, now time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.act(do)
}

// act is Do under the lock. What happened before is said before.
func (r *Robot) act(do func(h *home.Home, now time.Duration)) {
	now := r.now()
	r.say(r.home.Advance(now))
	do(r.home, now)
	r.say(r.home.Advance(now))
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Robot) now() time.Duration {
	return time.Duration(float64(time.Since(r.start)) * r.opt.Speed)
}

// Cut breaks the connection, as a crash of a bus would; the robot connects again.
func (r *Robot) Cut() {
	r.mu.Lock()
	s := r.session
	r.session = nil
	r.mu.Unlock()
	if s != nil {
		s.Cut()
	}
}

// Restart ends all work of the service without a word and registers it as a new instance. The memory of task ids stays, unless
// forget.
func (r *Robot) Restart(forget bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = nil // whatever the end of the work says is not heard
	r.act(func(h *home.Home, now time.Duration) { h.Restart(now, forget) })
	r.late = nil
	r.restarts++
	if r.renew != nil {
		r.renew(errRestart)
	}
}

// pump lets simulated time pass: it sleeps to the next change and says what it brought.
func (r *Robot) pump(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		timer.Reset(r.pass())
	}
}

// forever is the sleep when nothing will change by itself.
const forever = time.Hour

// pass brings the model to the present and returns how long nothing will change, in real time.
func (r *Robot) pass() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.say(r.home.Advance(now))
	next, ok := r.home.NextChange()
	later := r.late[:0]
	for _, l := range r.late {
		switch {
		case l.at <= now:
			l.answer()
		default:
			later = append(later, l)
			if !ok || l.at < next {
				next, ok = l.at, true
			}
		}
	}
	r.late = later
	if !ok {
		return forever
	}
	// Rounded up: waking before the change would only lead back here.
	return min(max(time.Duration(math.Ceil(float64(next-now)/r.opt.Speed)), 0), forever)
}

func (r *Robot) readCommands(ctx context.Context) {
	in := bufio.NewScanner(r.opt.Commands)
	for in.Scan() && ctx.Err() == nil {
		if err := r.Command(in.Text()); err != nil {
			r.out.printf("%v", err)
		}
	}
}
