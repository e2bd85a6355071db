package core_test

import (
	"encoding/json"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// TestAPlanIsHeldToTheRoomsThatItWasAcceptedWith: the map service is outside the core. A step whose room comes from an earlier step resolves
// it in the rooms that came with its plan, which are durable: after a start, and in a replay, the same place comes out.
func TestAPlanIsHeldToTheRoomsThatItWasAcceptedWith(t *testing.T) {
	cat := defaultCatalog(t).WithRooms(defaultCatalog(t).Rooms, defaultCatalog(t).RoomsEtag)
	cat.Operations = map[catalog.Method]catalog.Operation{}
	for m, op := range defaultCatalog(t).Operations {
		if m == "getBatteryStatus" {
			op.Output = map[string]catalog.Param{"level": op.Output["level"], "charging": op.Output["charging"], "value": {Type: catalog.String}}
		}
		cat.Operations[m] = op
	}
	list := []catalog.Room{{ID: "attic", Name: "attic", Aliases: []string{"다락방"}, Reachable: true}}
	now := cat
	codec := bridge.New(bridge.Options{DeviceID: "rb-1", Catalog: cat, AllowJSON: true, Limits: wire.DefaultLimits(), NewID: func() string { return "" },
		Rooms: func() *catalog.Catalog { return now }})
	decode := func(requests string) *core.Plan {
		t.Helper()
		ev := codec.Decode([]byte(`{"v":"`+wire.Version+`","type":"plan","id":"0193a000-0000-7000-8000-000000000001","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z",
 "body":{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},"device_task_requests":`+requests+`}}`), true)
		p, ok := ev.(core.PlanSubmitted)
		if !ok {
			t.Fatalf("%+v", ev)
		}
		return p.Plan
	}
	const asked = `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus","output_key":"c"},
 {"cloud_step_id":"step_2","taskMethod":"setMoveTo","depends_on":["step_1"],"input_from":{"position":"c.value"}}]`
	if p := decode(asked); p.Rooms != nil {
		t.Errorf("a plan carries the rooms of the catalog: %v", p.Rooms)
	}
	now = cat.WithRooms(list, catalogfile.RoomsEtag(list))
	if p := decode(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"다락방"}}]`); p.Rooms != nil || p.Steps[0].Call["position"] != "attic" {
		t.Errorf("a plan whose places are known carries rooms: %+v", p)
	}
	plan := decode(asked)
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var kept core.Plan
	if err := json.Unmarshal(data, &kept); err != nil || len(kept.Rooms) != 1 {
		t.Fatalf("the rooms are not durable: %s (%v)", data, err)
	}
	now = cat // and the map service has others by now
	r := newRigOf(t, cat)
	r.do(core.PlanSubmitted{Head: core.Head{Msg: "m-1"}, Plan: &kept})
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone, Output: core.Values{"level": 40.0, "charging": false, "value": "다락방"}})
	r.read("battery.level", 40.0)
	for i := 0; i < 10 && len(r.dispatches()) < 2; i++ {
		r.read("movement.is_moving", false)
		r.read("movement.location", "study")
		r.read("battery.level", 40.0)
		r.pass(500)
	}
	r.want("step_1", "completed", "step_2", "dispatching")
	if d := r.last(); d.Method != "setMoveTo" || d.Params["position"] != "attic" {
		t.Errorf("dispatched %+v", d)
	}
}
