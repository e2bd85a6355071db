package model

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/modelserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	canaryKey = "sk-CANARY-key-9f31"
	turnLimit = 15 * time.Second       // no test waits for it: a busy machine must not look like a slow model
	shortTurn = 400 * time.Millisecond // where a test waits for the deadline itself
	slack     = 10 * time.Second       // of a busy machine; what hangs does so for ever
)

var loaded = sync.OnceValues(func() (*catalog.Catalog, catalogfile.Planner) {
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		panic(err)
	}
	return cat, words
})

var byRules = sync.OnceValue(func() *rules.Planner { return rules.New(loaded()) })

// rig is a planner with a fake model behind it.
type rig struct {
	t     *testing.T
	fake  *modelserver.Server
	rules *rules.Planner
	opt   Options
	log   *lockedLog
}

type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newRig(t *testing.T, provider string) *rig {
	t.Helper()
	fake := modelserver.New()
	server := httptest.NewServer(fake)
	t.Cleanup(func() { fake.Close(); server.CloseClientConnections(); server.Close() })
	cat, words := loaded()
	r := &rig{t: t, fake: fake, rules: byRules(), log: &lockedLog{}}
	r.opt = Options{Rules: r.rules, Catalog: cat, Words: words, Log: zerolog.New(r.log), Config: Config{
		Provider: provider, URL: server.URL + "/v1", Model: "tiny", Key: canaryKey, Use: Always, Deadline: turnLimit, PromptTokens: 16_000, OutputTokens: 2_000}}
	return r
}

func (r *rig) planner() *Planner {
	r.t.Helper()
	p, err := New(r.opt)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func (r *rig) behave(name string) {
	r.t.Helper()
	if err := r.fake.Behave(name); err != nil {
		r.t.Fatal(err)
	}
}

// turn plans, and holds what every turn is held to.
func (r *rig) turn(p *Planner, said string) turn.Decision {
	r.t.Helper()
	before, began := len(r.fake.Asked()), time.Now()
	d, err := p.Plan(context.Background(), turn.Input{TurnID: "tn_1", Text: said, Locale: "ko-KR"})
	if err != nil {
		r.t.Fatalf("%q: %v", said, err)
	}
	if took := time.Since(began); took > r.opt.Deadline+slack {
		r.t.Fatalf("%q took %s, the deadline is %s", said, took, r.opt.Deadline)
	}
	if came := int64(len(r.fake.Asked()) - before); d.ModelCalls != came {
		r.t.Errorf("%q: %d requests are counted, %d came", said, d.ModelCalls, came)
	}
	purposes := map[string]int{}
	if d.Model != nil {
		for _, c := range d.Model.Calls {
			purposes[c.Purpose]++
		}
	}
	if purposes["main"] > 1 || purposes["repair"] > 1 || purposes["second_pass"] > 1 {
		r.t.Errorf("%q: %v", said, purposes)
	}
	return d
}

func (r *rig) draft(said string) turn.Decision {
	r.t.Helper()
	d, err := r.rules.Plan(context.Background(), turn.Input{TurnID: "tn_1", Text: said, Locale: "ko-KR"})
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// answer scripts what the model says to an utterance: the honest echo with changes.
func (r *rig) answer(said string, change map[string]any) {
	r.t.Helper()
	m := map[string]any{
		"turn_mode": "singleton", "contrary_evidence": []any{}, "steps": []any{}, "missing_slots": []any{}, "family_confidence": "high", "runner_up_family": "none",
		"needs_second_pass": false, "ambiguity_reason": "", "stt_null_subtype": "none", "stt_null_target_scope": "none", "stt_null_recoverability": "none",
		"ask_follow_up": false, "tts_response": "",
	}
	for k, v := range change {
		m[k] = v
	}
	family := m["owner_selection"].(string)
	for _, f := range registry.Default().Flows() {
		if owner, _ := registry.Default().Owner(f.Family); string(f.Family) == family && owner == f {
			m["selected_routes"], m["selected_flow_id"], m["selected_agent"], m["selected_skill"] = []string{family}, f.ID(), f.Agent, f.Skill
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		r.t.Fatal(err)
	}
	r.fake.Answer(said, out)
}

// does is a step of an answer: method, span, then parameters as name and value.
func does(id, method, span string, params ...string) map[string]any {
	list := []any{}
	for i := 0; i+1 < len(params); i += 2 {
		list = append(list, map[string]any{"name": params[i], "value": params[i+1]})
	}
	return map[string]any{"id": id, "route": "ODL", "purpose": method, "span": span, "execution_target": "device",
		"device_task": map[string]any{"taskMethod": method, "params": list}, "depends_on": []any{}, "input_from": []any{}, "output_key": "", "wait_policy": "completed",
		"temporal_relation": "none", "temporal_anchor_id": "", "delay_ms": 0, "when": []any{}, "required_effects": []any{}}
}

func text64(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}
