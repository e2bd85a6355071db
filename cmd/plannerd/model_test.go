package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/testbed/modelserver"
)

const modelKey = "sk-CANARY-plannerd"

// given are the settings of a command line.
func given(t *testing.T, args ...string) settings {
	t.Helper()
	var s settings
	f := pflag.NewFlagSet("plannerd", pflag.ContinueOnError)
	s.flags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSettingsOfAModel: nothing of a model without a provider, and all faults of one at once, by flag.
func TestSettingsOfAModel(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want []string // none: fine
	}{
		{nil, nil},
		{[]string{"--model-provider", "none"}, nil},
		{[]string{"--model-url", "http://127.0.0.1:1"}, []string{"--model-url needs --model-provider"}},
		{[]string{"--model-deadline", "2s"}, []string{"--model-deadline needs --model-provider"}},
		{[]string{"--model-provider", "openai"}, []string{"--model-url: is missing", "--model-name: "}},
		{[]string{"--model-provider", "gemini", "--model-name", "m"}, []string{"--model-url: is missing"}},
		{[]string{"--model-provider", "oracle", "--model-url", "ftp://h", "--model-name", "a b", "--model-use", "x", "--model-deadline", "1h", "--model-prompt-tokens", "1", "--model-output-tokens", "-1"},
			[]string{"--model-provider: ", "--model-url: ", "--model-name: ", "--model-use: ", "--model-deadline: ", "--model-prompt-tokens: ", "--model-output-tokens: "}},
		{[]string{"--model-provider", "openai", "--model-url", "http://192.0.2.1/v1", "--model-name", "m", "--model-key-file", "k"}, []string{"--model-url: a key would go over the network in clear"}},
		{[]string{"--model-provider", "openai", "--model-url", "http://192.0.2.1/v1", "--model-name", "m"}, nil},
	} {
		s := given(t, tc.args...)
		err := s.validate()
		if (err == nil) != (tc.want == nil) {
			t.Errorf("%v: %v", tc.args, err)
		}
		for _, text := range tc.want {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v: %v lacks %q", tc.args, err, text)
			}
		}
	}
}

// TestWithoutAModelNothingChanges: the rules planner itself plans, and where a model is attached, what the rules are certain of
// becomes the same plan, byte for byte, without a question to anybody.
func TestWithoutAModelNothingChanges(t *testing.T) {
	plain, err := parts(given(t), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if main := plain.Planner.(*pipeline.Planner).Main; reflect.TypeOf(main) != reflect.TypeFor[*rules.Planner]() {
		t.Fatalf("the main planner is %T", main)
	}
	fake := modelserver.New()
	server := httptest.NewServer(fake)
	defer server.Close()
	attached, err := parts(given(t, "--model-provider", "openai", "--model-url", server.URL, "--model-name", "m"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	bytesOf := func(opt planner.Options, said string) string {
		in := turn.Input{TurnID: "t", Text: said, Locale: "ko-KR"}
		d, err := opt.Planner.Plan(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Steps) == 0 {
			return string(out)
		}
		plan, err := opt.Compile(in, d, planner.IDs{WorkflowID: "wf", PlanID: "pl"})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		return string(out) + string(text)
	}
	for _, said := range []string{"거실로 가서 청정하고 안방으로 가", "공기 나쁘면 청정해줘", "다 그만", "유튜브 틀어줘", "매일 오후 여섯 시에 고정청정 예약해 줘", "볼륨 30으로", "배터리 얼마나 남았어?"} {
		got, want := bytesOf(attached, said), bytesOf(plain, said)
		if got != want || strings.Contains(want, `"model":`) {
			t.Errorf("%q:\n%s\nwithout a model:\n%s", said, got, want)
		}
	}
	if n := len(fake.Asked()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestFromWordsToPlanWithAModel runs the program beside a fake model: over HTTP a turn is an answer, whatever the model does; its key
// is in no answer and in no log.
func TestFromWordsToPlanWithAModel(t *testing.T) {
	fake := modelserver.New()
	server := httptest.NewServer(fake)
	defer func() { fake.Close(); server.CloseClientConnections(); server.Close() }()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(modelKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fake.Answer("천천히 주방으로 가", json.RawMessage(`{"turn_mode":"singleton","selected_routes":["ODL"],"selected_flow_id":"ODL.ODL.device_execution_bridge","selected_agent":"ODL",
		"selected_skill":"device_execution_bridge","owner_selection":"ODL","contrary_evidence":[],"missing_slots":[],"family_confidence":"high","runner_up_family":"none","needs_second_pass":false,
		"ambiguity_reason":"","stt_null_subtype":"none","stt_null_target_scope":"none","stt_null_recoverability":"none","ask_follow_up":false,"tts_response":"",
		"steps":[{"id":"step_1","route":"ODL","purpose":"주방으로 이동","span":"주방으로 가","execution_target":"device","device_task":{"taskMethod":"setMoveTo","params":[{"name":"position","value":"주방"}]},
		"depends_on":[],"input_from":[],"output_key":"","wait_policy":"completed","temporal_relation":"none","temporal_anchor_id":"","delay_ms":0,"when":[],"required_effects":[]}]}`))
	ctx, stop := context.WithCancel(t.Context())
	line, lines := io.Pipe()
	ended := make(chan int, 1)
	var log bytes.Buffer // of run's own goroutines: read after its end
	go func() {
		ended <- run(ctx, []string{"--listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "--db", filepath.Join(dir, "p.db"), "--log-level", "debug",
			"--model-provider", "gemini", "--model-url", server.URL + "/v1beta", "--model-name", "m", "--model-key-file", key, "--model-deadline", "3s"}, lines, &log)
		_ = lines.Close()
	}()
	buf := make([]byte, 256)
	n, err := line.Read(buf)
	if err != nil {
		t.Fatalf("no ready line: %v", err)
	}
	url := "http://" + strings.TrimPrefix(strings.Fields(string(buf[:n]))[1], "http=")
	type answer struct {
		Dispatched bool          `json:"dispatched"`
		Decision   turn.Decision `json:"decision"`
		TTS        string        `json:"tts_response"`
		ModelCalls int           `json:"model_calls"`
	}
	for _, tc := range []struct {
		behaviour, verdict string
		dispatched         bool
	}{{"honest", "model", true}, {"stall", "fallback", false}, {"prose", "fallback", false}, {"unauthorized", "fallback", false}} {
		if err := fake.Behave(tc.behaviour); err != nil {
			t.Fatal(err)
		}
		before := len(fake.Asked())
		body := strings.NewReader(`{"device_id":"rb-0001","recognized_text":"천천히 주방으로 가"}`)
		req, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/turns", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var a answer
		if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(raw, &a) != nil {
			t.Fatalf("%s: status %d, %v: %s", tc.behaviour, resp.StatusCode, err, raw)
		}
		if a.Decision.Model == nil || a.Decision.Model.Verdict != tc.verdict || a.Dispatched != tc.dispatched || a.TTS == "" || !tc.dispatched && !a.Decision.AskFollowUp {
			t.Errorf("%s: %s", tc.behaviour, raw)
		}
		if came := len(fake.Asked()) - before; came != a.ModelCalls {
			t.Errorf("%s: %d requests are counted, %d came", tc.behaviour, a.ModelCalls, came)
		}
		if strings.Contains(string(raw), "CANARY") {
			t.Errorf("%s: a canary is in the answer: %s", tc.behaviour, raw)
		}
	}
	if got := fake.Asked()[0].Key; got != modelKey {
		t.Errorf("the key came as %q", got)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d", code)
	}
	if text := log.String(); strings.Contains(text, "CANARY") || strings.Contains(text, "천천히") || !strings.Contains(text, `"code":"unauthorized"`) || !strings.Contains(text, "check the key file") {
		t.Errorf("the log says %s", text)
	}
}
