package core_test

import (
	"flag"
	"strings"
	"sync"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// rig drives the core by hand: the test is executor, home and clock.
type rig struct {
	t   *testing.T
	cat *catalog.Catalog
	s   *core.State
	now core.Now
	log []core.Output  // all outputs, in order
	out []core.Message // all messages for the cloud
	ch  core.Change    // of the last batch

	remembered []core.Remembered // of answers to questions
	wishes     int
}

var update = flag.Bool("update", false, "rewrite the golden files and generated tables of this package")

var loadCatalog = sync.OnceValues(func() (*catalog.Catalog, error) {
	cat, _, err := catalogfile.Load(defaults.Files)
	return cat, err
})

func defaultCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := loadCatalog()
	if err != nil {
		t.Fatalf("default catalog: %v", err)
	}
	return cat
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOf(t, defaultCatalog(t))
}

func newRigOf(t *testing.T, cat *catalog.Catalog) *rig {
	t.Helper()
	r := &rig{t: t, cat: cat, now: core.Now{Boot: 1_000_000, BootID: "boot-1", WallMS: 1_800_000_000_000, Trusted: true, Seq: 1}}
	r.s = core.NewState(cat, core.Device{Epoch: "epoch-1"})
	r.do(core.Started{StartNo: 1})
	r.up("run-1")
	r.idle()
	return r
}

// idle reads what a robot at rest says, but where it is.
func (r *rig) idle() {
	for key, v := range map[string]any{"battery.level": 80.0, "cleaning.is_running": false, "display.brightness": 80.0, "sound.volume": 50.0, "sound.muted": false} {
		r.read(key, v)
	}
}

// up brings the one service of the default catalog up.
func (r *rig) up(instance string) {
	var methods []catalog.Method
	for m := range r.cat.Operations {
		methods = append(methods, m)
	}
	r.do(core.ExecutorUp{Service: "home", Instance: instance, Methods: methods})
}

func (r *rig) do(evs ...core.Event) core.Change {
	c := core.Reduce(r.s, r.now, evs)
	r.now.Seq += int64(len(evs))
	r.log = append(append(r.log, c.Now...), c.Outputs...)
	r.out = append(r.out, c.Outbox...)
	r.s = r.s.With(c)
	r.ch = c
	return c
}

// pass lets time go by in the steps that the core asks for.
func (r *rig) pass(ms int64) {
	end := r.now.Boot + core.Instant(ms)
	for {
		wake := r.s.NextWake()
		if wake == 0 || wake > end {
			break
		}
		r.now.WallMS += int64(max(wake, r.now.Boot) - r.now.Boot)
		r.now.Boot = max(wake, r.now.Boot)
		before := r.now.Boot
		r.do(core.Tick{})
		if r.s.NextWake() == before {
			r.t.Fatalf("the core asks for the same moment for ever: %d", before)
		}
	}
	r.now.WallMS += int64(end - r.now.Boot)
	r.now.Boot = end
}

// undecided lets the question about a failed step run into its deadline: the step takes its terminal state.
func (r *rig) undecided() {
	r.t.Helper()
	open := 0
	for _, wf := range r.s.Workflows {
		for _, e := range wf.Escalations {
			if e.State == core.EscOpen {
				open++
			}
		}
	}
	if open == 0 {
		r.t.Error("no question is open")
	}
	r.pass(120_000)
}

func (r *rig) read(key string, v any) {
	r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: catalog.ContextKey(key), Value: v, Available: true}}})
}

// settleAt reads a value again and again until it counts as stable.
func (r *rig) settleAt(key string, v any) {
	for i := range 3 {
		if i > 0 {
			r.pass(500)
		}
		r.read(key, v)
	}
}

func (r *rig) event(name string, task core.TaskID, data core.Values) {
	r.do(core.Observed{Event: catalog.EventName(name), Task: task, Source: "home", Class: catalog.Independent, Data: data})
}

const planHead = `{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},"device_task_requests":`

// submit hands in requests as the JSON of a plan; it has to be accepted.
func (r *rig) submit(requests string) core.Answer {
	r.t.Helper()
	ans := r.offer("wf_1", "pl_1", requests)
	if !ans.Accepted {
		r.t.Fatalf("plan refused: %s %+v", ans.Reason, ans.Faults)
	}
	return ans
}

func (r *rig) offer(wf, pl, requests string) core.Answer {
	r.t.Helper()
	c := r.do(r.planEvent(wf, pl, requests))
	return *c.Answers[0]
}

func (r *rig) planEvent(wf, pl, requests string) core.Event {
	r.t.Helper()
	return r.planText(strings.NewReplacer("wf_1", wf, "pl_1", pl).Replace(planHead) + requests + `}`)
}

// planText makes the event of a plan message with this body.
func (r *rig) planText(body string) core.Event {
	codec := bridge.New(bridge.Options{DeviceID: "rb-1", Catalog: r.cat, AllowJSON: true, NewID: func() string { return "m-1" }})
	text := `{"v":"` + wire.Version + `","type":"plan","id":"0190a000-0000-7000-8000-000000000001","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":` +
		body + `}`
	return codec.Decode([]byte(text), false)
}

func (r *rig) wf(id string) *core.Workflow {
	r.t.Helper()
	wf := r.s.Workflows[core.WorkflowID(id)]
	if wf == nil {
		r.t.Fatalf("no workflow %s", id)
	}
	return wf
}

func (r *rig) step(id string) core.Step {
	r.t.Helper()
	return r.stepOf("wf_1", id)
}

func (r *rig) stepOf(wf, id string) core.Step {
	r.t.Helper()
	w := r.wf(wf)
	i := w.Plan.Lookup(core.StepID(id))
	if i < 0 {
		r.t.Fatalf("no step %s", id)
	}
	return w.Steps[i]
}

// want checks the states of steps: want("step_1", "completed", "step_2", "failed/evidence_timeout").
func (r *rig) want(pairs ...string) {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		st := r.step(pairs[i])
		got := string(st.State)
		if strings.Contains(pairs[i+1], "/") {
			got += "/" + string(st.Reason)
		}
		if got != pairs[i+1] {
			r.t.Errorf("%s is %s (%s %s), want %s", pairs[i], got, st.Reason, st.Detail, pairs[i+1])
		}
	}
}

func (r *rig) wantWorkflow(state core.WorkflowState) {
	r.t.Helper()
	if wf := r.wf("wf_1"); wf.State != state {
		r.t.Errorf("workflow is %s (%s), want %s", wf.State, wf.Reason, state)
	}
}

// ownStop is the workflow of the standing plan stop, which follows by itself from a stop of the body that nobody confirms.
func (r *rig) ownStop(id core.WorkflowID) bool {
	wf := r.s.Workflows[id]
	return wf != nil && wf.Plan.Standing == "stop"
}

// ownStops are the tasks of those.
func (r *rig) ownStops() map[core.TaskID]bool {
	tasks := map[core.TaskID]bool{}
	for id, wf := range r.s.Workflows {
		for _, a := range wf.Attempts {
			tasks[a.Task] = r.ownStop(id)
		}
	}
	return tasks
}

// dispatches lists the dispatched methods with their task ids, but for those of the standing plan stop and what the mouth says.
func (r *rig) dispatches() (out []core.Dispatch) {
	own := r.ownStops()
	for _, o := range r.log {
		if d, ok := o.(core.Dispatch); ok && !own[d.Task] && !r.mouths(d.Method) {
			out = append(out, d)
		}
	}
	return out
}

func (r *rig) mouths(m catalog.Method) bool {
	for _, voice := range r.cat.Voice {
		if voice == m {
			return true
		}
	}
	return false
}

// heard lists what the mouth was asked to say and to show, in order.
func (r *rig) heard() (out []string) {
	for _, o := range r.log {
		if d, ok := o.(core.Dispatch); ok && r.mouths(d.Method) {
			text, _ := d.Params["text"].(string)
			out = append(out, string(d.Method)+" "+text)
		}
	}
	return out
}

func (r *rig) last() core.Dispatch {
	r.t.Helper()
	all := r.dispatches()
	if len(all) == 0 {
		r.t.Fatal("nothing was dispatched")
	}
	return all[len(all)-1]
}

func count[T core.Output](r *rig) (n int) {
	for _, o := range r.log {
		if _, ok := o.(T); ok {
			n++
		}
	}
	return n
}

func (r *rig) sent(t core.MessageType) (out []core.Message) {
	for _, m := range r.out {
		if m.Type == t && !r.ownStop(m.Workflow) {
			out = append(out, m)
		}
	}
	return out
}

// arrive plays a move to its honest end.
func (r *rig) arrive(task core.TaskID, room string) {
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("movement.arrived", task, core.Values{"room_id": room})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.settleAt("movement.location", room)
}

// elsewhere makes sure that the robot is known to stand in another room, so that a move is dispatched at once.
func (r *rig) elsewhere() {
	r.read("movement.location", "study")
	r.read("movement.is_moving", false)
}
