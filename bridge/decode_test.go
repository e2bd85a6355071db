package bridge_test

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// TestExamplesBecomeEvents holds what each example of the contract and of its seed documents becomes. testdata/plans has the messages
// as the planner sends them, and beside each the event: the plan with everything grounded, or the refusal with its faults.
func TestExamplesBecomeEvents(t *testing.T) {
	files, err := filepath.Glob("testdata/plans/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	codec := codecOf(t, "")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasSuffix(name, ".event") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ev := codec.Decode(text, false)
			golden(t, "plans/"+name+".event.json", indented(t, map[string]any{"kind": core.KindOf(ev), "event": ev}))
			e, err := wire.Decode(text, wire.Options{AllowJSON: true})
			if err != nil {
				t.Fatal(err)
			}
			inCBOR, err := wire.Encode(e, wire.CBOR)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := indented(t, ev), indented(t, codec.Decode(inCBOR, false)); a != b {
				t.Errorf("in CBOR it becomes\n%s", b)
			}
		})
	}
}

func TestExpiry(t *testing.T) {
	codec := codecOf(t, "")
	for _, tc := range []struct {
		name, head string
		want       int64 // after sent_at, in ms; 0: never
	}{
		{"says nothing", ``, 0},
		{"says nothing of a turn", `"origin":{"utterance":"x"}`, 0},
		{"of a turn: 300 s", `"origin":{"turn_id":"tn_1"}`, 300_000},
		{"of a turn with its own", `"origin":{"turn_id":"tn_1"},"ttl_ms":900000`, 900_000},
		{"of a turn with a moment", `"origin":{"turn_id":"tn_1"},"expires_at":"2026-11-30T10:00:00Z"`, 3_600_000},
		{"age", `"ttl_ms":1`, 1},
		{"moment in another zone", `"expires_at":"2026-11-30T18:00:01+09:00"`, 1000},
		{"both, the age first", `"ttl_ms":500,"expires_at":"2026-11-30T09:00:01Z"`, 500},
		{"both, the moment first", `"ttl_ms":5000,"expires_at":"2026-11-30T09:00:01Z"`, 1000},
		{"a moment long ago", `"expires_at":"1970-01-01T00:00:00Z"`, 1 - sentMS},
		{"a moment longer ago", `"expires_at":"1960-01-01T00:00:00Z"`, 1 - sentMS},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ev, ok := codec.Decode(message("plan", planBody(tc.head, air)), false).(core.PlanSubmitted)
			if !ok || ev.SentMS != sentMS {
				t.Fatalf("event %+v", ev)
			}
			want := tc.want
			if want != 0 {
				want += sentMS
			}
			if ev.ExpireMS != want {
				t.Errorf("expires at %d, want %d", ev.ExpireMS, want)
			}
		})
	}
}

func TestWhoMayNameAnOperation(t *testing.T) {
	codec := codecOf(t, "")
	lab := message("plan", planBody("", `{"cloud_step_id":"a","taskMethod":"setMoving","params":{"direction":"forward","distance_cm":30}}`))
	internal := message("plan", planBody("", `{"cloud_step_id":"a","taskMethod":"setConfig","params":{"key":"a","value":"b"}}`))
	safety := message("plan", planBody(`"priority":"safety"`, `{"cloud_step_id":"a","taskMethod":"getAirQuality"}`))
	for _, tc := range []struct {
		name    string
		message []byte
		local   bool
		want    core.Reason
	}{
		{"lab from the cloud", lab, false, bridge.ReasonNotForPlans},
		{"lab on the robot", lab, true, ""},
		{"internal from the cloud", internal, false, bridge.ReasonNotForPlans},
		{"internal on the robot", internal, true, bridge.ReasonNotForPlans},
		{"priority safety from the cloud", safety, false, bridge.ReasonNotForPlans},
		{"priority safety on the robot", safety, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got core.Reason
			switch ev := codec.Decode(tc.message, tc.local).(type) {
			case core.Refused:
				got = ev.Answer.Reason
			case core.PlanSubmitted:
				if ev.Local != tc.local || ev.Plan.Local != tc.local {
					t.Errorf("local %v, plan %v", ev.Local, ev.Plan.Local)
				}
			}
			if got != tc.want {
				t.Errorf("reason %q, want %q", got, tc.want)
			}
		})
	}
}

// What is handed in on the robot comes through a door of its own, and needs no signature.
func TestLocalMessagesNeedNoSignature(t *testing.T) {
	signed := bridge.New(bridge.Options{DeviceID: deviceID, Catalog: fixed(t), Signed: true, NewID: func() string { return "" }})
	if ev, ok := signed.Decode(message("plan", planBody("", air)), true).(core.Refused); ok {
		t.Fatalf("refused: %+v", ev.Answer)
	}
}

// F32: where signatures are required, the signed bytes have to say for which store they are. Without that, a message that somebody kept
// would be good again after the loss of the store. What only stops or holds is taken for any store.
func TestF32_ASignedMessageNamesTheStoreThatItIsFor(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	keys := wire.NewKeys(key.Public().(ed25519.PublicKey))
	codec := bridge.New(bridge.Options{DeviceID: deviceID, Catalog: fixed(t), AllowJSON: true, Signed: true, Keys: func() wire.Keys { return keys },
		NewID: func() string { return "" }})
	control := func(verb string) string { return `{"verb":"` + verb + `","scope":"all","requested_by":"user"}` }
	for _, tc := range []struct {
		name, kind, body string
		halts            bool
	}{
		{"plan", "plan", planBody("", air), false},
		{"decision", "decision", `{"escalation_id":"e-1","action":"retry_local","plan_revision":0}`, false},
		{"outcome of a cloud step", "step_result", `{"cloud_step_id":"s","task_id":"t","status":"completed"}`, false},
		{"resume", "control", control("resume"), false},
		{"cancel", "control", control("cancel"), true},
		{"kill", "control", control("kill"), true},
		{"pause", "control", control("pause"), true},
	} {
		for _, epoch := range []string{"", "e-1"} {
			e, err := wire.Decode(message(tc.kind, tc.body), wire.Options{AllowJSON: true})
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			e.StoreEpoch = epoch
			plain, err := wire.Encode(e, wire.CBOR)
			if err != nil {
				t.Fatal(err)
			}
			signed, err := wire.Sign(plain, key)
			if err != nil {
				t.Fatal(err)
			}
			refused, is := codec.Decode(signed, false).(core.Refused)
			if taken := epoch != "" || tc.halts; is == taken || is && refused.Answer.Reason != core.ReasonWrongEpoch {
				t.Errorf("%s for the store %q became %+v", tc.name, epoch, refused.Answer)
			}
			if refused, is := codec.Decode(plain, true).(core.Refused); is {
				t.Errorf("%s, handed in on the robot, is refused: %+v", tc.name, refused.Answer)
			}
		}
	}
}

func TestRefusedBeforeTheCatalogIsAsked(t *testing.T) {
	strict := bridge.New(bridge.Options{DeviceID: deviceID, Catalog: fixed(t), NewID: func() string { return "" }})
	signed := bridge.New(bridge.Options{DeviceID: deviceID, Catalog: fixed(t), AllowJSON: true, Signed: true, NewID: func() string { return "" }})
	good := string(message("plan", planBody("", air)))
	seen := map[core.Reason]bool{}
	for _, tc := range []struct {
		name, message, want, ref string
		codec                    *bridge.Codec
	}{
		{name: "no message", message: "hello", want: "malformed"},
		{name: "JSON where it is off", message: good, want: "unsupported", ref: "0193a000-0000-7000-8000-000000000001", codec: strict},
		{name: "no signature where there has to be one", message: good, want: "bad_signature", codec: signed},
		{name: "another device", message: strings.Replace(good, deviceID, "rb-0002", 1), want: "device_id wrong_device", ref: "0193a000-0000-7000-8000-000000000001"},
		{name: "two steps with one id", message: string(message("plan", planBody("", air+","+air))), want: "device_task_requests[1].cloud_step_id duplicate_step_id"},
		{name: "schedule", message: string(message("plan", planBody(`"schedule":{}`, air))), want: "workflow.schedule.at missing_field\nworkflow.schedule.tz missing_field"},
		{name: "experience", message: string(message("plan", strings.TrimSuffix(planBody("", air), "}")+`,"experience":{"contract_version":"experience.v1","experience_id":"e","goal_id":"g","effects":[],"consent":{"pause_cleaning":"ask"}}}`)),
			want: "experience.effects bad_value"},
		{name: "unknown, wrong, missing, bad at once", message: string(message("control", `{"verb":5,"colour":"red","scope":"world"}`)),
			want: "verb wrong_type\nscope bad_value\ncolour unknown_field"},
		{name: "no target", message: string(message("control", `{"verb":"cancel","scope":"workflow"}`)), want: "target missing_field"},
		{name: "too large", message: `{"v":"` + strings.Repeat("x", 300<<10), want: "too_large"},
		{name: "receipt, which is the link's", message: string(message("receipt", `{}`)), want: "type unsupported"},
		{name: "set_tier to nothing", message: string(message("control", `{"verb":"set_tier","scope":"all"}`)), want: "target bad_value"},
		{name: "set_tier of one without the tier", message: string(message("control", `{"verb":"set_tier","scope":"experience","target":"exp_1"}`)), want: "target bad_value"},
		{name: "set_tier of a workflow", message: string(message("control", `{"verb":"set_tier","scope":"workflow","target":"wf_1"}`)), want: "scope bad_value"},
		{name: "set_tier to what is none", message: string(message("control", `{"verb":"set_tier","scope":"all","target":"godlike"}`)), want: "target bad_value"},
		{name: "disable_experience of a step", message: string(message("control", `{"verb":"disable_experience","scope":"step","target":"wf_1/a"}`)), want: "scope bad_value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			codec := tc.codec
			if codec == nil {
				codec = codecOf(t, "")
			}
			ev, ok := codec.Decode([]byte(tc.message), false).(core.Refused)
			if !ok {
				t.Fatal("it was let in")
			}
			if got := faultLines(ev.Answer.Faults); got != tc.want {
				t.Fatalf("faults\n%s\nwant\n%s", got, tc.want)
			}
			if ev.Answer.Accepted || ev.Answer.Reason != ev.Answer.Faults[0].Reason || ev.Answer.Ref != ev.Msg {
				t.Errorf("answer %+v", ev.Answer)
			}
			if tc.ref != "" && string(ev.Answer.Ref) != tc.ref {
				t.Errorf("answers %q, want %q", ev.Answer.Ref, tc.ref)
			}
			if (ev.Answer.Ref == "") == (ev.Answer.RefSHA256 == "") {
				t.Errorf("it has to be answered by id or by hash: %+v", ev.Answer)
			}
			for _, f := range ev.Answer.Faults {
				seen[f.Reason] = true
			}
		})
	}
	for _, r := range bridge.Refusals {
		if r.Decode && !seen[r.Code] {
			t.Errorf("no message of the test is refused with %s", r.Code)
		}
	}
}

func TestRefusedPlanNamesItsWorkflow(t *testing.T) {
	ev, ok := codecOf(t, "").Decode(message("plan", planBody("", `{"cloud_step_id":"a","taskMethod":"playMusic"}`)), false).(core.Refused)
	if !ok || ev.Answer.Workflow != "wf_1" || ev.Answer.Plan != "pl_1" || ev.Answer.CatalogEtag != "etag-1" || ev.Hash == "" {
		t.Fatalf("%+v", ev)
	}
}

func TestControlAndStepResult(t *testing.T) {
	codec := codecOf(t, "")
	for _, tc := range []struct {
		name, kind, body string
		want             core.Event
	}{
		{"cancel a workflow", "control", `{"verb":"cancel","scope":"workflow","target":"wf_1","requested_by":"user","reason":"그만"}`,
			core.ControlReceived{Verb: "cancel", Scope: "workflow", Target: "wf_1", By: "user", Why: "그만"}},
		{"cancel a step", "control", `{"verb":"cancel","scope":"step","target":"wf_1/step_2"}`, core.ControlReceived{Verb: "cancel", Scope: "step", Target: "wf_1/step_2"}},
		{"cancel all", "control", `{"verb":"cancel","scope":"all"}`, core.ControlReceived{Verb: "cancel", Scope: "all"}},
		{"done", "step_result", `{"cloud_step_id":"s","task_id":"t","status":"completed","output":{"n":1}}`, core.StepResult{Step: "s", Task: "t", Done: true, Output: core.Values{"n": 1.0}}},
		{"failed", "step_result", `{"cloud_step_id":"s","task_id":"t","status":"failed","reason_code":"no_source"}`, core.StepResult{Step: "s", Task: "t", Reason: "no_source"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ev := codec.Decode(message(tc.kind, tc.body), true)
			switch e := ev.(type) {
			case core.ControlReceived:
				if e.Hash == "" || !e.Local || e.SentMS != sentMS {
					t.Errorf("head %+v", e.Head)
				}
				e.Head = core.Head{}
				ev = e
			case core.StepResult:
				e.Head = core.Head{}
				ev = e
			}
			if got, want := indented(t, ev), indented(t, tc.want); got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}
