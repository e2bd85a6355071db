package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge/wire"
)

// result makes a step for each effect state; "skipped:bound" is one of a skipped step.
func result(status string, effects ...string) *wire.Result {
	r := &wire.Result{Status: status}
	for _, state := range effects {
		step := "completed"
		if before, after, ok := strings.Cut(state, ":"); ok {
			step, state = before, after
		}
		r.Steps = append(r.Steps, wire.StepReport{CloudStepID: "step_1", State: step,
			Evidence: []wire.Evidence{{EffectID: "there", Event: "movement.arrived", Value: wire.ValueOf(map[string]any{}), Source: "movement_manager", Seq: 29}},
			Effects:  []wire.EffectReport{{EffectID: "there", State: state}}})
	}
	return r
}

func TestSuccessNeedsEveryEffect(t *testing.T) {
	for _, tc := range []struct {
		name   string
		result *wire.Result
		crash  *Crash
		faults []string
	}{
		{"all observed", result("completed", "observed", "observed"), nil, nil},
		{"not completed", result("partial", "observed"), nil, []string{"the workflow ended partial, not completed"}},
		{"one of two expired, first", result("completed", "expired", "observed"), nil, []string{"effect there of step_1 (completed) is expired, not observed"}},
		{"a branch that was not needed", result("completed", "observed", "skipped:bound"), nil, nil},
		{"a completion without evidence", result("completed", "bound"), nil, []string{"effect there of step_1 (completed) is bound, not observed"}},
		{"one of two expired, last", result("completed", "observed", "expired"), nil, []string{"effect there of step_1 (completed) is expired, not observed"}},
		{"moved twice", result("completed", "observed"), &Crash{Faults: []string{"twice"}}, []string{"twice"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Summary{Effects: map[string]string{}, Crash: tc.crash}
			s.take(tc.result)
			if got := s.faults(); !slices.Equal(got, tc.faults) {
				t.Errorf("faults %q, want %q", got, tc.faults)
			}
		})
	}
	if got := new(Summary).faults(); got != nil {
		t.Errorf("an answer without a plan has faults %q", got)
	}
}

func TestSummaryAsOneLine(t *testing.T) {
	s := Summary{Utterance: "거실로 가", Steps: []Step{}, Effects: map[string]string{}}
	line, err := json.Marshal(s)
	const want = `{"utterance":"거실로 가","answer":"","workflow_id":null,"workflow":null,"steps":[],"effects":{},"uplink_publishes":0,"model_calls":0,"elapsed_ms":0}`
	if err != nil || string(line) != want {
		t.Errorf("%s %v, want %s", line, err, want)
	}
	s.take(result("completed", "observed"))
	line, err = json.Marshal(s.Steps)
	const step = `[{"id":"step_1","state":"completed","evidence":[{"effect":"there","event":"movement.arrived","source":"movement_manager","seq":29}]}]`
	if err != nil || string(line) != step {
		t.Errorf("%s %v, want %s", line, err, step)
	}
}

func TestTallyCountsWhatAnOutsiderSees(t *testing.T) {
	var heard tally
	for _, p := range []publish{
		{"status", "m0", ""}, {"status", "m0", "wf"}, {"ack", "m1", "wf"}, {"ack", "m1", "wf"}, {"result", "m2", "wf"}, {"result", "m3", "other"},
	} {
		heard.add(p)
	}
	c := heard.of("wf")
	if c.Total != 3 || c.Repeats != 1 || c.ByKind["ack"] != 2 || c.ByKind["result"] != 1 || len(c.ByKind) != 2 {
		t.Errorf("%+v", c)
	}
}

func TestReadPublish(t *testing.T) {
	env := wire.Envelope{V: wire.Version, Type: wire.TypeAck, ID: "01a22d26-c234-7169-a1d5-45bb013d2db6", DeviceID: "rb-1", SentAt: "2026-11-30T15:50:44.531Z",
		StoreEpoch: "e", Seq: 1, FloorSeq: 1, Corr: wire.Corr{WorkflowID: "wf"}, Ack: &wire.Ack{RefID: "01a22d26-c234-7169-a1d5-45bb013d2db7", Accepted: true}}
	body, err := wire.Encode(env, wire.CBOR)
	if err != nil {
		t.Fatal(err)
	}
	if got := readPublish("deviceagent/v1/rb-1/up/ack", body); got != (publish{"ack", env.ID, "wf"}) {
		t.Errorf("%+v", got)
	}
	if got := readPublish("deviceagent/v1/rb-1/up/ack", []byte("nonsense")); got != (publish{kind: "ack"}) {
		t.Errorf("%+v", got)
	}
}

func TestWhatPeopleRead(t *testing.T) {
	delayed := wire.Request{TaskMethod: "setScreen", Params: wire.ObjectOf(map[string]any{"on": false}), DependsOn: []wire.Dependency{{Step: "step_1"}}, DelayMS: 30_000}
	for _, tc := range []struct{ got, want string }{
		{sayStep(wire.Request{TaskMethod: "setMoveTo", Params: wire.ObjectOf(map[string]any{"position": "거실"})}),
			`go to 거실, the living room  (setMoveTo {"position":"거실"})`},
		{sayStep(delayed), `turn the screen off  (setScreen {"on":false}), after step_1 and 30s`},
		{sayStep(wire.Request{TaskMethod: "setVolume"}), `set the volume to  (setVolume)`},
		{sayStep(wire.Request{TaskMethod: "fly"}), `do fly  (fly)`},
		{sayState(agentLine{To: "dispatching"}), ""},
		{sayState(agentLine{To: "completed"}), "completed: proved by evidence"},
		{sayState(agentLine{To: "blocked", ReasonCode: "context_missing"}), "blocked: cannot go on [context_missing]"},
		{sayState(agentLine{To: "new_state"}), "new_state"},
		{sayProof(Evidence{Event: "movement.arrived", Value: map[string]any{"room_id": "kitchen"}, Source: "m", Seq: 7}),
			`movement.arrived {"room_id":"kitchen"}, from m, journal no. 7`},
		{sayProof(Evidence{Key: "screen.on", Value: false, Source: "home", Seq: 8, Recovered: true}),
			`screen.on read as false, from home, journal no. 8, recovered`},
	} {
		if strings.TrimSpace(tc.got) != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
}
