// Package diagtest is an agent for tests of the diagnostic API and its tool: the real core over the installed catalog, driven by
// hand, with a clock that stands still until it is told to go on. It promises that the same calls give the same documents. It has
// no store, no link and no executors, and must not be linked into a program.
package diagtest

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"deviceagent/agent/diag"
	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Agent is the test's agent.
type Agent struct {
	mu       sync.Mutex
	state    *core.State
	now      core.Now
	codec    *bridge.Codec
	watchers map[chan core.Move]*int
	facts    diag.Facts
	last     core.TaskID
	methods  []catalog.Method

	Fail    error         // what Receive and Inspect answer, if set
	Block   chan struct{} // Inspect waits for it, if set
	Inboxes [][]byte      // messages that Receive took
	resets  []string
}

// Started is the wall clock of a new Agent: 2026-11-30 14:00:00 +09:00.
const Started = 1_796_014_800_000

// installed is the installed catalog. It is read once: nobody writes into a catalog, and a suite makes hundreds of agents.
var installed = sync.OnceValues(func() (*catalog.Catalog, error) {
	cat, _, err := catalogfile.Load(defaults.Files)
	return cat, err
})

// New makes an agent that has been up for 10 s, whose one service is there and whose robot rests in the study.
func New() (*Agent, error) {
	cat, err := installed()
	if err != nil {
		return nil, err
	}
	a := &Agent{now: core.Now{Boot: 1_000_000, BootID: "boot-1", WallMS: Started, Trusted: true, Seq: 48_000}, watchers: map[chan core.Move]*int{}}
	a.state = core.NewState(cat, core.Device{Epoch: "epoch-1"})
	a.codec = bridge.New(bridge.Options{DeviceID: "rb-7f21", Catalog: cat, AllowJSON: true, NewID: uuid.NewString, Experiences: bridge.Experiences{Tier: core.TierFull}})
	a.facts = diag.Facts{
		Phase: diag.Running, Tier: "restricted", Version: "0.4.0", Commit: "1a2b3c4", Contract: wire.Version, DeviceID: "rb-7f21", StartedMS: Started - 10_000, StartNo: 7, StartCause: "watchdog",
		Link:   diag.Link{State: "online", Broker: "broker.example:8883", SinceMS: new(int64(9_000)), LastDownMS: new(int64(4_100))},
		Outbox: diag.Outbox{Unsent: new(int64(0)), Awaiting: new(int64(3)), OldestMS: new(int64(1_200)), Bound: new(int64(4096))},
		Store:  diag.Store{Path: "/var/lib/deviceagent/state.db", Epoch: "epoch-1", UsedBytes: new(int64(13_002_342)), BoundBytes: new(int64(64 << 20))},
		Settings: []diag.Setting{{Key: "device_id", Value: "rb-7f21", Origin: "/etc/deviceagent/agent.toml:1"},
			{Key: "limits.steps", Value: "128", Origin: "built-in"}},
	}
	a.Do(core.Started{StartNo: 7})
	for m := range cat.Operations {
		a.methods = append(a.methods, m)
	}
	a.Up("home")
	for key, v := range map[string]any{"battery.level": 80.0, "cleaning.is_running": false, "movement.is_moving": false, "movement.location": "study"} {
		a.Read(key, v)
	}
	a.now.Seq = 48_120
	return a, nil
}

// Up brings a service up.
func (a *Agent) Up(service string) {
	a.Do(core.ExecutorUp{Service: core.ServiceID(service), Instance: "run-1", Methods: a.methods})
}

// Do lets events happen.
func (a *Agent) Do(evs ...core.Event) []*core.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := core.Reduce(a.state, a.now, evs)
	a.now.Seq += int64(len(evs))
	a.state = a.state.With(c)
	for _, out := range append(append([]core.Output{}, c.Now...), c.Outputs...) {
		if d, ok := out.(core.Dispatch); ok {
			a.last = d.Task
		}
	}
	a.tell(c.Moves)
	return c.Answers
}

func (a *Agent) tell(moves []core.Move) {
	for ch, missed := range a.watchers {
		for _, mv := range moves {
			select {
			case ch <- mv:
			default:
				*missed++
			}
		}
	}
}

// Tell lets moves be seen without anything happening: for floods.
func (a *Agent) Tell(moves ...core.Move) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, mv := range moves {
		a.now.Seq = max(a.now.Seq, mv.Seq+1)
	}
	a.tell(moves)
}

// Read gives a value of the context.
func (a *Agent) Read(key string, v any) {
	a.Do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: catalog.ContextKey(key), Value: v, Available: true}}})
}

// Event lets a sensor report.
func (a *Agent) Event(name string, task core.TaskID, data core.Values) {
	a.Do(core.Observed{Event: catalog.EventName(name), Task: task, Source: "home", Class: catalog.Independent, Data: data})
}

// Decide answers the open question of a workflow.
func (a *Agent) Decide(wf core.WorkflowID, action core.Action, cost core.Usage) {
	a.mu.Lock()
	ev := core.DecisionReceived{Head: core.Head{Msg: "d-1", Hash: "h-1"}, Action: action, Usage: &cost}
	for _, e := range a.state.Workflows[wf].Escalations {
		if e.State == core.EscOpen {
			ev.Escalation, ev.PlanRevision = e.ID, e.Revision
		}
	}
	a.mu.Unlock()
	a.Do(ev)
}

// Last is the task that was dispatched last.
func (a *Agent) Last() core.TaskID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// Pass lets time go by, with the wake-ups that the core asks for.
func (a *Agent) Pass(ms int64) {
	_, now := a.due()
	end := now + core.Instant(ms)
	for {
		wake, now := a.due()
		if wake == 0 || wake > end {
			break
		}
		a.step(max(wake, now))
		a.Do(core.Tick{})
		if again, _ := a.due(); again == wake {
			break
		}
	}
	a.step(end)
}

// due is when time moves something next, and what time it is.
func (a *Agent) due() (wake, now core.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state.NextWake(), a.now.Boot
}

func (a *Agent) step(to core.Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now.WallMS += int64(to - a.now.Boot)
	a.now.Boot = to
}

// Submit hands in a plan as the cloud would.
func (a *Agent) Submit(plan string) core.Answer {
	id := uuid.Must(uuid.NewV7())
	for i := range 6 { // of the agent's clock: by that of the machine it may come from the future
		id[i] = byte(a.now.WallMS >> (8 * (5 - i)))
	}
	msg := `{"v":"` + wire.Version + `","type":"plan","id":"` + id.String() + `","device_id":"rb-7f21","sent_at":"2026-11-30T05:00:00.000Z","body":` + plan + `}`
	return *a.Do(a.codec.Decode([]byte(msg), false))[0]
}

// Settle reads a value until it counts as stable.
func (a *Agent) Settle(key string, v any) {
	for range 8 {
		a.Read(key, v)
		a.Pass(500)
	}
}

// Arrive plays the present move to its honest end in a room.
func (a *Agent) Arrive(room string) {
	task := a.Last()
	a.Do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	a.Pass(30_000)
	a.Read("battery.level", 79.0)
	a.Event("movement.arrived", task, core.Values{"room_id": room})
	a.Do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	a.Settle("movement.location", room)
}

// Facts lets a test change what Status says.
func (a *Agent) Facts(f func(*diag.Facts)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&a.facts)
}

// Trust says whether the wall clock is to be believed.
func (a *Agent) Trust(trusted bool, wallMS int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now.Trusted, a.now.WallMS = trusted, wallMS
}

// Inspect is part of diag.Agent.
func (a *Agent) Inspect(ctx context.Context, f func(*core.State, core.Now)) error {
	if a.Block != nil {
		select {
		case <-a.Block:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if a.Fail != nil {
		return a.Fail
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a.state, a.now)
	return nil
}

// Receive is part of diag.Agent.
func (a *Agent) Receive(_ context.Context, payload []byte, from taskmanager.Source) (core.Answer, error) {
	if a.Fail != nil {
		return core.Answer{}, a.Fail
	}
	a.mu.Lock()
	a.Inboxes = append(a.Inboxes, payload)
	a.mu.Unlock()
	return *a.Do(a.codec.Decode(payload, from == taskmanager.FromLocal))[0], nil
}

// Finished is part of diag.Agent: this agent forgets nothing, so nothing is in its store alone.
func (a *Agent) Finished(context.Context, core.WorkflowID) (*core.Workflow, bool, error) {
	return nil, false, nil
}

// Words is part of diag.Agent: this agent keeps them with the plan.
func (a *Agent) Words(core.WorkflowID) string { return "" }

// ErasePersonData is part of diag.Agent.
func (a *Agent) ErasePersonData(context.Context) (diag.Erasure, error) {
	return diag.Erasure{Workflows: 2, JournalRows: 41, Copies: []string{}}, nil
}

// Check is part of diag.Agent.
func (a *Agent) Check(payload []byte) core.Answer {
	switch ev := a.codec.Decode(payload, true).(type) {
	case core.Refused:
		return ev.Answer
	case core.PlanSubmitted:
		if len(ev.GoalFaults) > 0 {
			return core.Answer{Ref: ev.Msg, Reason: ev.GoalFaults[0].Reason, Faults: ev.GoalFaults}
		}
		return core.Answer{Ref: ev.Msg, Workflow: ev.Plan.Workflow, Plan: ev.Plan.ID, Accepted: true}
	}
	return core.Answer{Accepted: true}
}

// Watch is part of diag.Agent.
func (a *Agent) Watch() (diag.Feed, func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ch, missed := make(chan core.Move, 256), new(int)
	a.watchers[ch] = missed
	return diag.Feed{C: ch, Missed: func() int {
			a.mu.Lock()
			defer a.mu.Unlock()
			n := *missed
			*missed = 0
			return n
		}}, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			delete(a.watchers, ch)
		}
}

// Status is part of diag.Agent.
func (a *Agent) Status() diag.Facts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.facts
}
