package robot_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/executors/socket"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inBubble runs a robot against an agent in virtual time and then stops both.
func inBubble(t *testing.T, opt robot.Options, do func(t *testing.T, a *agent, r *robot.Robot)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := newAgent()
		opt.Dial, opt.Instance = a.dial, "i1"
		r, err := robot.New(opt)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		do(t, a, r)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func dispatch(t *testing.T, a *agent, task core.TaskID, method catalog.Method, params core.Values) core.TaskAnswered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := a.call().Start(ctx, core.Dispatch{Task: task, Service: robot.Service, Method: method, Params: params})
	if err != nil {
		got = core.TaskAnswered{Task: task, Unknown: true}
	}
	return got
}

var kitchen = core.Values{"position": map[string]any{"room_id": "kitchen", "name": "주방"}}

func TestMoveOverTheSocket(t *testing.T) {
	inBubble(t, robot.Options{Home: home.Options{Start: "living_room"}}, func(t *testing.T, a *agent, _ *robot.Robot) {
		if v := a.context("movement.location"); v != "living_room" {
			t.Fatalf("the context of the registration says %v", v)
		}
		if got := dispatch(t, a, "t1", "setMoveTo", kitchen); !got.Accepted {
			t.Fatalf("%+v", got)
		}
		time.Sleep(10*time.Second + 499*time.Millisecond)
		synctest.Wait()
		if a.saw("movement.arrived", "t1") != 0 || a.context("movement.is_moving") != true {
			t.Fatal("arrived too early")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if a.saw("movement.started", "t1") != 1 || a.saw("movement.arrived", "t1") != 1 || !slices.Equal(a.ended("t1"), []core.Outcome{core.OutcomeDone}) {
			t.Fatalf("heard %+v", a.events())
		}
		if a.context("movement.location") != "kitchen" || a.context("movement.is_moving") != false {
			t.Fatal("the context is another")
		}
	})
}

func TestSpeed(t *testing.T) {
	inBubble(t, robot.Options{Speed: 60, Home: home.Options{Start: "kitchen"}}, func(t *testing.T, a *agent, _ *robot.Robot) {
		dispatch(t, a, "t1", "startBasicAirClear", core.Values{"duration_min": 20.0})
		time.Sleep(20*time.Second + 100*time.Millisecond)
		synctest.Wait()
		if a.saw("cleaning.completed", "t1") != 1 {
			t.Fatalf("heard %+v", a.events())
		}
	})
}

func TestLivesOnWithoutAnAgent(t *testing.T) {
	var log []home.Entry
	inBubble(t, robot.Options{Home: home.Options{Start: "living_room", Log: func(e home.Entry) { log = append(log, e) }}}, func(t *testing.T, a *agent, r *robot.Robot) {
		dispatch(t, a, "t1", "setMoveTo", kitchen)
		time.Sleep(3 * time.Second)
		a.setDead(true)
		time.Sleep(time.Minute)
		a.setDead(false)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if !slices.Equal(a.instance, []string{"i1", "i1"}) || a.down != 1 {
			t.Fatalf("registered as %q, down %d times", a.instance, a.down)
		}
		if a.context("movement.location") != "kitchen" || a.saw("movement.arrived", "t1") != 0 {
			t.Fatal("the context was not said anew, or a lost event came back")
		}
		st, err := a.call().Query(t.Context(), "t1")
		if err != nil || st.Known != core.KnownEnded || st.Ended.Outcome != core.OutcomeDone || st.Event == nil || st.Event.Event != "movement.arrived" || st.Event.Data["room_id"] != "kitchen" {
			t.Fatalf("%+v, %v", st, err)
		}
		if got := dispatch(t, a, "t1", "setMoveTo", kitchen); got.Accepted || got.Reason != home.ReasonTaskKnown {
			t.Fatalf("%+v", got)
		}
		time.Sleep(time.Minute)
		r.Do(func(*home.Home, time.Duration) {
			if m := home.Movements(log); len(m) != 1 {
				t.Errorf("%d movements", len(m))
			}
		})
	})
}

func TestRestartIsANewInstanceWithTheOldMemory(t *testing.T) {
	inBubble(t, robot.Options{Home: home.Options{Start: "living_room"}}, func(t *testing.T, a *agent, r *robot.Robot) {
		dispatch(t, a, "t1", "setMoveTo", kitchen)
		time.Sleep(3 * time.Second)
		if err := r.Command("restart"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.Equal(a.instance, []string{"i1", "i1.2"}) {
			t.Fatalf("registered as %q", a.instance)
		}
		st, err := a.call().Query(t.Context(), "t1")
		if err != nil || st.Known != core.KnownEnded || string(st.Ended.Reason) != home.ReasonRestarted {
			t.Fatalf("%+v, %v", st, err)
		}
		if a.saw("movement.failed", "t1") != 0 || len(a.ended("t1")) != 0 {
			t.Fatal("a service that dies says nothing")
		}
		for _, ev := range a.events() {
			if c, ok := ev.(core.ContextRead); ok && len(c.Values) < len(home.Keys()) {
				for _, v := range c.Values {
					if v.Key == "movement.is_moving" && v.Value == false {
						t.Fatal("a service that dies says that the wheels rest")
					}
				}
			}
		}
	})
}

func TestCutConnectionComesBackAsTheSameInstance(t *testing.T) {
	inBubble(t, robot.Options{}, func(t *testing.T, a *agent, r *robot.Robot) {
		if err := r.Command("cut"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.Equal(a.instance, []string{"i1", "i1"}) {
			t.Fatalf("registered as %q", a.instance)
		}
	})
}

func TestStopsAndFaultsOverTheSocket(t *testing.T) {
	inBubble(t, robot.Options{Home: home.Options{Start: "living_room"}}, func(t *testing.T, a *agent, r *robot.Robot) {
		call := func(name string, want core.StopAnswered, do func(context.Context) (core.StopAnswered, error)) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if got, err := do(ctx); err != nil || got != want {
				t.Fatalf("%s: %+v, %v; want %+v", name, got, err, want)
			}
		}
		dispatch(t, a, "t1", "setMoveTo", kitchen)
		time.Sleep(3 * time.Second)
		call("pause", core.StopAnswered{Accepted: true}, func(ctx context.Context) (core.StopAnswered, error) { return a.call().Pause(ctx, "t1") })
		time.Sleep(time.Second)
		call("resume", core.StopAnswered{Accepted: true}, func(ctx context.Context) (core.StopAnswered, error) { return a.call().Resume(ctx, "t1") })
		time.Sleep(time.Second)
		call("cancel", core.StopAnswered{Accepted: true}, func(ctx context.Context) (core.StopAnswered, error) {
			return a.call().Cancel(ctx, core.Stop{Task: "t1", Method: "setMoveTo"})
		})
		time.Sleep(time.Second)
		call("cancel of an ended task", core.StopAnswered{Refused: true, Reason: home.ReasonAlreadyEnded}, func(ctx context.Context) (core.StopAnswered, error) {
			return a.call().Cancel(ctx, core.Stop{Task: "t1", Method: "setMoveTo"})
		})
		if !slices.Equal(a.ended("t1"), []core.Outcome{core.OutcomeCancelled}) || a.saw("movement.stopped", "t1") != 1 {
			t.Fatalf("heard %+v", a.events())
		}

		if err := r.Command("fault setMoveTo:answer_late=7s,times=1"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if got := dispatch(t, a, "t2", "setMoveTo", kitchen); !got.Accepted || time.Since(start) != 7*time.Second {
			t.Fatalf("%+v after %v", got, time.Since(start))
		}
		time.Sleep(time.Minute)
		if err := r.Command("fault deaf"); err != nil {
			t.Fatal(err)
		}
		if got := dispatch(t, a, "t3", "setMoveTo", kitchen); !got.Unknown {
			t.Fatalf("a deaf service answered %+v", got)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if v, err := a.call().Read(short, []catalog.ContextKey{"movement.location"}); err == nil {
			t.Fatalf("a deaf service was read: %+v", v)
		}
		if err := r.Command("mend"); err != nil {
			t.Fatal(err)
		}
		values, err := a.call().Read(t.Context(), []catalog.ContextKey{"movement.location", "no.such"})
		if err != nil || values[0].Value != "kitchen" || values[1].Available {
			t.Fatalf("%+v, %v", values, err)
		}
		if st, err := a.call().Query(t.Context(), "t4"); err != nil || st.Known != core.KnownNot || !st.Sealed {
			t.Fatalf("%+v, %v", st, err)
		}
		if got := dispatch(t, a, "t4", "setMoveTo", kitchen); got.Accepted || got.Reason != home.ReasonSealed {
			t.Fatalf("%+v", got)
		}
	})
}

func TestCommands(t *testing.T) {
	inBubble(t, robot.Options{Home: home.Options{Start: "living_room"}}, func(t *testing.T, a *agent, r *robot.Robot) {
		dispatch(t, a, "v1", "startVitalSign", nil)
		time.Sleep(time.Second)
		for _, line := range []string{"press cancel", "vital complete", "air living_room 80", "battery 50", "say 멈춰", "answer yes",
			"consent granted vital", "lift", "place kitchen", "move study", "breakdown wheel minor", "fault no_reading", "mend", "help", ""} {
			if err := r.Command(line); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
		for _, line := range []string{"press warp", "press", "vital maybe", "air moon 80", "air kitchen much", "battery full", "move moon",
			"place kitchen", "consent eaten vital", "fault nonsense", "dance"} {
			if err := r.Command(line); err == nil {
				t.Errorf("%q was taken", line)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, name := range []catalog.EventName{"pui.cancelled", "user.answered", "consent.granted", "robot.lifted", "robot.placed", "external_start", "external_stop", "robot.fault"} {
			if a.saw(name, "") == 0 {
				t.Errorf("no %s", name)
			}
		}
		if a.saw("vital.completed", "v1") != 1 || a.context("movement.location") != "study" || a.context("battery.level") != 50.0 {
			t.Errorf("heard %+v", a.events())
		}
	})
}

func TestCommandsAreReadFromALineSource(t *testing.T) {
	var out bytes.Buffer
	opt := robot.Options{Commands: strings.NewReader("press takeover\nnonsense\n"), Out: &out}
	inBubble(t, opt, func(t *testing.T, _ *agent, _ *robot.Robot) { time.Sleep(time.Second) })
	if s := out.String(); !strings.Contains(s, "button: takeover") || !strings.Contains(s, "cannot nonsense") {
		t.Fatal(s)
	}
}

func TestTheLogFileTellsWhatMoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robot.jsonl")
	for range 2 { // a second robot appends
		inBubble(t, robot.Options{LogPath: path, Home: home.Options{Start: "living_room"}}, func(t *testing.T, a *agent, _ *robot.Robot) {
			dispatch(t, a, "t1", "setMoveTo", kitchen)
			time.Sleep(time.Minute)
		})
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := home.ReadLog(f)
	if err != nil || len(home.Movements(entries)) != 2 {
		t.Fatalf("%v, %+v", err, home.Movements(entries))
	}
	if _, err := robot.New(robot.Options{LogPath: filepath.Join(t.TempDir(), "no", "such")}); err == nil {
		t.Fatal("a log that cannot be opened")
	}
}

func TestOverARealSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "executor.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := newAgent()
	arrived := make(chan struct{}, 1)
	a.server = socket.NewServer(socket.Options{Registry: a, Log: zerolog.Nop(), Sink: func(_ context.Context, ev core.Event) error {
		if o, ok := ev.(core.Observed); ok && o.Event == "movement.arrived" {
			arrived <- struct{}{}
		}
		if c, ok := ev.(core.ContextRead); ok && len(c.Values) == len(home.Keys()) {
			b := a.call()
			go b.Start(ctx, core.Dispatch{Task: "t1", Method: "setMoveTo", Params: kitchen})
		}
		return nil
	}})
	var wg sync.WaitGroup
	wg.Go(func() { a.server.Serve(ctx, ln) })
	wg.Go(func() {
		if err := robot.Run(ctx, robot.Options{Socket: path, Speed: 1000, Home: home.Options{Start: "living_room"}}); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-arrived:
	case <-time.After(20 * time.Second):
		t.Error("no arrival")
	}
	cancel()
	wg.Wait()
}
