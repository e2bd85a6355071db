package core_test

import (
	"strconv"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// mill drives plans of the kinds of S01 to S04 through the core, one event a reduction, with a robot that always does what it is
// told. It counts events and those that changed nothing.
type mill struct {
	s       *core.State
	now     core.Now
	waiting []core.Event
	plans   []core.PlanSubmitted
	place   string
	started int
	events  int
	ignored int
	ended   int
}

// millPlans are the plans of S01 to S04 as the planner sends them.
var millPlans = []string{
	`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}]`,
	chain,
	`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}},
	 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","depends_on":["step_1"],"output_key":"air_state"},
	 {"cloud_step_id":"step_3","taskMethod":"startBasicAirClear","depends_on":["step_2"],"input_from":["air_state"],"when":{"ref":"air_state.grade","op":"in","value":["bad","very_bad"]}}]`,
	`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"공간1"}},
	 {"cloud_step_id":"step_2","taskMethod":"startVitalSign","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":30000}]`,
}

func newMill(t testing.TB) *mill {
	cat := defaultCatalog(t)
	m := &mill{now: core.Now{Boot: 1_000_000, BootID: "boot-1", WallMS: 1_800_000_000_000, Trusted: true, Seq: 1}, place: "dock"}
	m.s = core.NewState(cat, core.Device{Epoch: "epoch-1"})
	codec := bridge.New(bridge.Options{DeviceID: "rb-1", Catalog: cat, AllowJSON: true, NewID: func() string { return "" }})
	for i, requests := range millPlans {
		text := `{"v":"` + wire.Version + `","type":"plan","id":"0190a000-0000-7000-8000-00000000000` + strconv.Itoa(i) + `","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":` + planHead + requests + `}}`
		m.plans = append(m.plans, codec.Decode([]byte(text), false).(core.PlanSubmitted))
	}
	var methods []catalog.Method
	for id := range cat.Operations {
		methods = append(methods, id)
	}
	m.one(core.Started{StartNo: 1})
	m.one(core.ExecutorUp{Service: "home", Instance: "run-1", Methods: methods})
	m.events, m.ignored = 0, 0
	return m
}

// run feeds n events.
func (m *mill) run(n int) {
	for m.events < n {
		switch {
		case len(m.waiting) > 0:
			ev := m.waiting[0]
			m.waiting = m.waiting[1:]
			m.one(ev)
		case len(m.s.Open()) > 0 && m.s.NextWake() != 0:
			m.now.Boot = max(m.now.Boot, m.s.NextWake())
			m.one(core.Tick{})
		default:
			m.submit()
		}
	}
}

// submit hands in the next plan under ids of its own.
func (m *mill) submit() {
	m.started++
	ev := m.plans[m.started%len(m.plans)]
	p := *ev.Plan
	p.Workflow, p.ID = core.WorkflowID("wf-"+strconv.Itoa(m.started)), core.PlanID("pl-"+strconv.Itoa(m.started))
	ev.Plan, ev.Msg = &p, core.MessageID("m-"+strconv.Itoa(m.started))
	m.one(ev)
}

func (m *mill) one(ev core.Event) {
	c := core.Reduce(m.s, m.now, []core.Event{ev})
	m.events++
	m.now.Seq++
	m.ignored += c.Ignored
	m.s = m.s.With(c)
	for _, msg := range c.Outbox {
		if msg.Type == core.MsgResult && msg.Result.Status == core.WfCompleted {
			m.ended++
		}
	}
	for _, out := range append(c.Now, c.Outputs...) {
		m.answer(out)
	}
}

func (m *mill) answer(out core.Output) {
	switch out := out.(type) {
	case core.Dispatch:
		m.now.Boot += 5
		m.waiting = append(m.waiting, core.TaskAnswered{Task: out.Task, Accepted: true, Instance: "run-1"}, core.TaskProgress{Task: out.Task, Percent: 50})
		m.waiting = append(m.waiting, m.does(out)...)
	case core.Read:
		ev := core.ContextRead{Source: "home"}
		for _, k := range out.Keys {
			ev.Values = append(ev.Values, core.ContextValue{Key: k, Value: m.value(k), Class: catalog.Independent, Available: true})
		}
		m.waiting = append(m.waiting, ev)
	}
}

func (m *mill) value(k catalog.ContextKey) any {
	switch k {
	case "movement.location":
		return m.place
	case "battery.level":
		return 80.0
	case "display.brightness", "sound.volume":
		return 60.0
	}
	return false
}

// does is what an honest robot reports of a task.
func (m *mill) does(d core.Dispatch) []core.Event {
	say := func(name string, data core.Values) core.Event {
		return core.Observed{Event: catalog.EventName(name), Task: d.Task, Source: "home", Class: catalog.Independent, Data: data}
	}
	done := core.TaskEnded{Task: d.Task, Outcome: core.OutcomeDone}
	switch d.Method {
	case "setMoveTo":
		m.place = d.Params["position"].(string)
		return []core.Event{say("movement.arrived", core.Values{"room_id": m.place}), done}
	case "startBasicAirClear":
		return []core.Event{say("cleaning.started", nil), say("cleaning.completed", nil), done}
	case "getAirQuality":
		done.Output = core.Values{"pm25": 90.0, "grade": "bad"}
		return []core.Event{say("air.measured", done.Output), done}
	case "startVitalSign":
		return []core.Event{say("vital.completed", nil), done}
	}
	return []core.Event{done}
}

// BenchmarkReduceEvents is the core's cost of one event of plans like S01 to S04. make bench runs a million of them.
func BenchmarkReduceEvents(b *testing.B) {
	m := newMill(b)
	b.ReportAllocs()
	b.ResetTimer()
	m.run(b.N)
	b.StopTimer()
	b.ReportMetric(100*float64(m.ignored)/float64(m.events), "ignored%")
	b.ReportMetric(float64(m.ended), "plans")
	b.ReportMetric(float64(m.events)/b.Elapsed().Seconds(), "events/s")
	if b.N > 1000 && m.ignored*100 >= m.events {
		b.Fatalf("%d of %d events were ignored, want less than 1 %%", m.ignored, m.events)
	}
}

// TestMillCompletesItsPlans shows that the benchmark measures work: nearly all plans end completed, nearly no event is ignored.
func TestMillCompletesItsPlans(t *testing.T) {
	m := newMill(t)
	m.run(20_000)
	if m.ended < m.started*95/100 || m.ignored*100 >= m.events {
		t.Fatalf("%d of %d plans completed, %d of %d events ignored", m.ended, m.started, m.ignored, m.events)
	}
}
