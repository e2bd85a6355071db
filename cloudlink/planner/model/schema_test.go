package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/turn"
)

// paths lists the fields of a rendered schema, "steps[].device_task.taskMethod", in the order in which they stand.
func paths(t *testing.T, path string, raw json.RawMessage) (out []string) {
	t.Helper()
	var s struct {
		Properties json.RawMessage
		Required   []string
		Ordering   []string `json:"propertyOrdering"`
		Items      json.RawMessage
		More       *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Items) > 0 {
		return paths(t, path+"[]", s.Items)
	}
	if len(s.Properties) == 0 {
		return nil
	}
	props := map[string]json.RawMessage{}
	if err := json.Unmarshal(s.Properties, &props); err != nil {
		t.Fatal(err)
	}
	if len(props) != len(s.Required) {
		t.Errorf("%s: %d fields, of which %d are required", path, len(props), len(s.Required))
	}
	if s.Ordering != nil && !slices.Equal(s.Ordering, s.Required) || s.Ordering == nil && (s.More == nil || *s.More) {
		t.Errorf("%s: order %v, required %v, more fields %v", path, s.Ordering, s.Required, s.More)
	}
	for _, name := range s.Required {
		at := strings.TrimPrefix(path+"."+name, ".")
		inner := paths(t, at, props[name])
		if strings.Contains(string(props[name]), `"items"`) {
			at = strings.TrimSuffix(at, "[]")
		}
		out = append(append(out, at), inner...)
	}
	return out
}

// typePaths lists the fields of the typed answer in the same way.
func typePaths(path string, typ reflect.Type) (out []string) {
	for typ.Kind() == reflect.Slice {
		typ, path = typ.Elem(), path+"[]"
	}
	if typ.Kind() != reflect.Struct {
		return nil
	}
	for i := range typ.NumField() {
		at := strings.TrimPrefix(path+"."+typ.Field(i).Tag.Get("json"), ".")
		out = append(append(out, at), typePaths(at, typ.Field(i).Type)...)
	}
	return out
}

// TestPromptSchemaAndTypeAgree: what the prompt says of the fields, what both protocols are told, and what is decoded, is one shape.
func TestPromptSchemaAndTypeAgree(t *testing.T) {
	p := newRig(t, OpenAI).planner()
	want := typePaths("", reflect.TypeFor[output]())
	slices.Sort(want)
	for name, raw := range map[string]json.RawMessage{"json schema": p.schema.JSONSchema(), "openapi": p.schema.OpenAPI()} {
		got := paths(t, "", raw)
		if !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%s has %v\nthe type %v", name, got, want)
		}
	}
	_, said, _ := strings.Cut(p.system, "\nFields:\n")
	said, _, _ = strings.Cut(said, "\n\n")
	var told []string
	for _, line := range strings.Split(said, "\n") {
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "- "), ":")
		told = append(told, line)
	}
	var plainPaths []string // the prompt marks each list by [], also one of words
	for _, path := range told {
		plainPaths = append(plainPaths, strings.TrimSuffix(path, "[]"))
	}
	if !slices.Equal(slices.Sorted(slices.Values(plainPaths)), want) {
		t.Errorf("the prompt tells of %v\nthe type has %v", plainPaths, want)
	}
	for _, must := range strings.Fields(`turn_mode selected_routes selected_flow_id selected_agent selected_skill owner_selection steps missing_slots family_confidence runner_up_family
		needs_second_pass ambiguity_reason stt_null_subtype stt_null_target_scope stt_null_recoverability ask_follow_up tts_response`) {
		if !slices.Contains(want, must) {
			t.Errorf("%s of docs/planner.md is missing", must)
		}
	}
	if slices.Contains(want, "steps[].token_text") {
		t.Error("a model must not write tokens")
	}
}

// TestSchemasAreOfTheCommonKind: only what every server keeps to. Each of the others has made one refuse the schema, or drop it in silence.
func TestSchemasAreOfTheCommonKind(t *testing.T) {
	p := newRig(t, OpenAI).planner()
	known := strings.Fields("type description enum items properties required additionalProperties propertyOrdering")
	var walk func(v any, schema bool)
	words := 0
	walk = func(v any, schema bool) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				if schema && !slices.Contains(known, name) {
					t.Errorf("keyword %s", name)
				}
				if name == "enum" && schema {
					for _, w := range inner.([]any) {
						words++
						if w == "" {
							t.Error("an empty word in a list: one server refuses it")
						}
					}
				}
				walk(inner, !schema || name != "properties")
			}
		case []any:
			for _, inner := range v {
				walk(inner, schema)
			}
		}
	}
	for _, raw := range []json.RawMessage{p.schema.JSONSchema(), p.schema.OpenAPI()} {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		words = 0
		walk(v, true)
		if words > 300 {
			t.Errorf("%d words in all lists; servers refuse long ones", words)
		}
	}
	if n := tokens(p.system) + tokens(string(p.schema.JSONSchema())); n > 6000 {
		t.Errorf("what is the same for all turns takes about %d tokens", n)
	}
}

// TestOnlyRegisteredIDsAreOffered: operations for people, and no others; the flows that the rules know.
func TestOnlyRegisteredIDsAreOffered(t *testing.T) {
	r := newRig(t, OpenAI)
	p := r.planner()
	raw := string(p.schema.JSONSchema()) + p.system
	for _, internal := range []string{"setConfig", "ampStop", "setLlmTts", "setMoving", "setStatusClean"} {
		if strings.Contains(raw, internal) {
			t.Errorf("%s is offered", internal)
		}
	}
	seen := map[turn.Family]bool{}
	for _, said := range []string{"주방으로 가", "내일 아침 일곱 시에 알람 맞춰 줘", "오늘 날씨 어때", "오늘 좀 힘들었어", "너 이름이 뭐야", "유튜브 틀어줘", "변화의 시작", "퀴즈 내줘"} {
		d := r.draft(said)
		f, ok := p.reg.flow(d.OwnerSelection)
		if seen[d.OwnerSelection] = true; !ok || f.ID() != d.SelectedFlowID || f.Agent != d.SelectedAgent || f.Skill != d.SelectedSkill {
			t.Errorf("%q: the rules say %s, registered is %s", said, d.SelectedFlowID, f.ID())
		}
	}
	for _, f := range registry.Families {
		if !seen[f] && f != turn.ETR { // which the rules never choose
			t.Errorf("the rules gave %v, and not %s", slices.Sorted(maps.Keys(seen)), f)
		}
	}
	for _, f := range registry.Default().Flows() {
		if !strings.Contains(string(p.schema.JSONSchema()), `"`+f.ID()+`"`) || !strings.Contains(p.system, "flow "+f.ID()+":") {
			t.Errorf("%s is not offered", f.ID())
		}
	}
}

// TestStrictDecode: one value, no name twice, bounded depth, and exactly the shape.
func TestStrictDecode(t *testing.T) {
	s := object(field("a", "", oneOf("x", "y")), field("n", "", Schema{Type: "integer"}), field("l", "", list(text())))
	good := `{"a":"x","n":3,"l":["p"]}`
	for answer, fault := range map[string]string{
		good: "", "```json\n" + good + "\n```": "", "```\n" + good + "```": "", "<think>{}</think>" + good: "", "  " + good + "\n": "",
		good + good: "follows", good[:10]: "no JSON", good[:len(good)-1]: "too early", "": "no JSON", "null": "want object", "[]": "want object", `{"a":"x","a":"y","n":1,"l":[]}`: "twice",
		`{"a":"z","n":1,"l":[]}`: "registered", `{"A":"x","n":1,"l":[]}`: "missing", `{"a":"x","n":1.5,"l":[]}`: "want integer", `{"a":"x","n":1e3,"l":[]}`: "want integer",
		`{"a":"x","n":"1","l":[]}`: "want integer", `{"a":"x","n":99999999999999999999,"l":[]}`: "want integer", `{"a":"x","n":1,"l":[1]}`: "l[0]", `{"a":"x","n":1,"l":null}`: "want array",
		`{"a":"x","n":1,"l":[],"CANARY":1}`: "1 fields that nobody", strings.Repeat("[", 50): "deeper", "Sure! " + good: "no JSON", good + "\n```": "follows",
		"```json\n" + good + "\n```\n```json\n{}\n```": "no JSON",
	} {
		var out struct {
			A string
			N int64
			L []string
		}
		faults := strings.Join(read(answer, s, &out), "; ")
		if (fault == "") != (faults == "") || !strings.Contains(faults, fault) || strings.Contains(faults, "CANARY") {
			t.Errorf("%q: %q, want %q", answer, faults, fault)
		}
		if fault == "" && (out.A != "x" || out.N != 3 || out.L[0] != "p") {
			t.Errorf("%q is read as %+v", answer, out)
		}
	}
}

// TestThePromptKeepsToItsBudget: what may be left out is, the last first; what may not, ends in no question at all.
func TestThePromptKeepsToItsBudget(t *testing.T) {
	s := object(field("family", "", text()))
	long := strings.Repeat("말 ", 900)
	r := Request{System: "s", Schema: s, Data: []Data{{"utterance", "짧은 말", true}, {"history", long, false}, {"pages", long, false}}}
	all, ok := r.prompt(5000)
	if !ok || !strings.Contains(all, "pages") {
		t.Errorf("%v %d", ok, len(all))
	}
	some, ok := r.prompt(1500)
	if !ok || strings.Contains(some, "pages") || !strings.Contains(some, "history") || tokens(some) > 1500 {
		t.Errorf("%v %q", ok, some)
	}
	least, ok := r.prompt(200)
	if !ok || least != `{"utterance":"짧은 말"}` {
		t.Errorf("%v %q", ok, least)
	}
	if _, ok := r.prompt(20); ok {
		t.Error("it fits into nothing")
	}
	g := newRig(t, OpenAI)
	g.opt.PromptTokens = tokens(g.planner().system) + tokens(string(g.planner().schema.JSONSchema())) + leastRoom
	if d := g.turn(g.planner(), "주방으로 "+strings.Repeat("아주 ", 800)+"천천히 가"); d.Model.Fault != string(TooLong) || len(g.fake.Asked()) != 0 {
		t.Errorf("%+v, %d requests", d.Model, len(g.fake.Asked()))
	}
	g.opt.PromptTokens--
	if _, err := New(g.opt); err == nil || !strings.Contains(err.Error(), "prompt-tokens") {
		t.Errorf("a budget that is too small for the catalog: %v", err)
	}
}

// TestWrongSettings are all named at once, and no secret with them.
func TestWrongSettings(t *testing.T) {
	err := Config{Provider: "oracle", URL: "http://user:hunter2@host/v1", Model: "a b", Use: "often", Deadline: 1, PromptTokens: 1, OutputTokens: -1, Temperature: 3}.Validate()
	for _, field := range []string{"provider", "url", "name", "use", "deadline", "prompt-tokens", "output-tokens", "temperature"} {
		if err == nil || !regexp.MustCompile(`(?m)^`+field+`: `).MatchString(err.Error()) {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a password is repeated: %v", err)
	}
	good := Config{Provider: Gemini, URL: "https://models.example/v1beta", Model: "m", Key: "k", Use: Unclear, Deadline: mostDeadline, PromptTokens: 9000}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for url, fault := range map[string]string{
		"": "no default", "ftp://h": "want http", "models.example": "want http", "http://models.example/v1": "in clear", "https://h/v1?key=1": "file", "http://127.0.0.1:1/v1": "", "http://[::1]:1": "", "http://localhost:1": "",
	} {
		c := good
		c.URL = url
		if err := c.Validate(); (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: %v, want %q", url, err, fault)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", good, good, good); strings.Contains(text, `"k"`) || strings.Contains(text, "Key:k") {
		t.Errorf("the key prints as %s", text)
	}
	if _, err := New(Options{Config: good}); err == nil || !strings.Contains(err.Error(), "rules") {
		t.Errorf("without rules: %v", err)
	}
}

// TestFaultsSayWhatToDo: each code has its line.
func TestFaultsSayWhatToDo(t *testing.T) {
	for _, c := range []Code{Unreachable, Deadline, Unauthorized, NotFound, Refused, Overloaded, ServerFault, Redirected, NotJSON, TooLarge, CutOff, Blocked, Empty, BadAnswer, TooLong, Resting} {
		if text := (&Fault{Code: c, Op: "ask model m at h"}).Error(); todo[c] == "" || !strings.HasPrefix(text, "cannot ask model m at h: "+string(c)+"; ") {
			t.Errorf("%s: %q", c, text)
		}
	}
	if len(todo) != 16 {
		t.Errorf("%d codes", len(todo))
	}
}

// FuzzAnswer: whatever a model writes, what comes of it is checked, or nothing comes of it.
func FuzzAnswer(f *testing.F) {
	cat, words := loaded()
	said := turn.Input{TurnID: "t", Text: "천천히 주방으로 가서 공기 상태 봐", Locale: "ko-KR"}
	p, err := New(Options{Rules: byRules(), Catalog: cat, Words: words, Config: Config{Provider: OpenAI, URL: "http://127.0.0.1:1", Model: "m", Use: Always, Deadline: turnLimit, PromptTokens: 16_000}})
	if err != nil {
		f.Fatal(err)
	}
	draft, _ := byRules().Plan(f.Context(), said)
	f.Add(`{}`)
	f.Add("```json\n{\"steps\":[]}\n```")
	f.Add(text64(output{OwnerSelection: "ODL", SelectedAgent: "ODL", SelectedFlowID: "ODL.ODL.device_execution_bridge", SelectedSkill: "device_execution_bridge", SelectedRoutes: []string{"ODL"},
		TurnMode: "singleton", ContraryEvidence: []evidence{}, MissingSlots: []string{}, FamilyConfidence: "high", RunnerUpFamily: none, STTNullSubtype: none, STTNullScope: none, STTNullRecovery: none,
		Steps: []step{{ID: "a", Route: "ODL", Span: "주방으로", ExecutionTarget: "device", DeviceTask: task{"setMoveTo", []param{{"position", "주방"}}}, DependsOn: []string{}, InputFrom: []string{},
			WaitPolicy: "completed", TemporalRelation: none, When: []condition{}, RequiredEffects: []string{}}}}))
	f.Fuzz(func(t *testing.T, answer string) {
		var out output
		if len(read(answer, p.schema, &out)) > 0 {
			return
		}
		a := p.accept(said, draft, out)
		if len(a.prop.faults) > 0 {
			return
		}
		d, _ := a.judge()
		if d.TTSResponse == "" {
			t.Fatal("says nothing")
		}
		if len(d.Steps) > 0 {
			if faults := checker(cat)(said, d); len(faults) > 0 || d.AskFollowUp {
				t.Fatalf("a device would refuse: %v", faults)
			}
		}
	})
}
