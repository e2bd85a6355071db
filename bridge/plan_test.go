package bridge_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const (
	air   = `{"cloud_step_id":"a","taskMethod":"getAirQuality","output_key":"air"}`
	power = `{"cloud_step_id":"b","taskMethod":"getBatteryStatus","output_key":"power"}`
)

// kept is a cleaning that has to go on until something.
func kept(until string) string {
	if until != "" {
		until = `,"until":"` + until + `"`
	}
	return `{"cloud_step_id":"a","taskMethod":"startBasicAirClear","required_effects":[{"effect_id":"air_cleaning_active","kind":"maintain"` + until + `}]}`
}

// refusedPlans says of each plan all that is wrong with it, in order. "§N" stands for device_task_requests[N].
var refusedPlans = []struct {
	name, head, requests, want string
}{
	{"no steps", "", ``, "device_task_requests missing_field"},
	{"steps to cancel of the first revision", `"cancel_steps":["x"]`, air, "workflow.cancel_steps bad_value"},
	{"deadline under the delays", `"deadline_ms":29999`, `{"cloud_step_id":"a","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","delay_ms":30000}`,
		"workflow.deadline_ms deadline_too_short"},
	{"deadline under a declared duration", `"deadline_ms":1199999`, `{"cloud_step_id":"a","taskMethod":"startBasicAirClear","params":{"duration_min":20},"required_effects":["air_cleaning_completed"]}`,
		"workflow.deadline_ms deadline_too_short"},
	{"deadline under a chain", `"deadline_ms":1229999`, `{"cloud_step_id":"a","taskMethod":"startBasicAirClear","params":{"duration_min":20},"required_effects":["air_cleaning_completed"]},
	  {"cloud_step_id":"b","taskMethod":"setScreen","params":{"on":false},"depends_on":["a"],"temporal_relation":"after_planned_step","delay_ms":30000}`,
		"workflow.deadline_ms deadline_too_short"},

	{"other workflow", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","cloud_workflow_id":"wf_2"}`, "§0.cloud_workflow_id bad_value"},
	{"other contract", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","contract_version":"v2"}`, "§0.contract_version unsupported"},
	{"retry of what is never sent again", "", `{"cloud_step_id":"a","taskMethod":"startVitalSign","retry":{"max_attempts":2}}`, "§0.retry bad_value"},
	{"retry of a cloud step", "", `{"cloud_step_id":"a","execution_target":"cloud","skill":"fresh_information_brief","retry":{"max_attempts":2}}`, "§0.retry unsupported"},

	{"nothing to do", "", `{"cloud_step_id":"a"}`, "§0.taskMethod missing_field"},
	{"unknown method", "", `{"cloud_step_id":"a","taskMethod":"playMusic","params":{"x":1}}`, "§0.taskMethod unknown_method"},
	{"internal method", "", `{"cloud_step_id":"a","taskMethod":"setLlmTts","params":{"text":"x"}}`, "§0.taskMethod method_not_for_plans"},
	{"lab method", "", `{"cloud_step_id":"a","taskMethod":"setMoving","params":{"direction":"forward","distance_cm":30}}`, "§0.taskMethod method_not_for_plans"},
	{"content session", "", `{"cloud_step_id":"a","skill":"content_session"}`, "§0.skill unsupported"},
	{"unknown parameter", "", `{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"거실","speed":2}}`, "§0.params.speed unknown_parameter"},
	{"missing parameter", "", `{"cloud_step_id":"a","taskMethod":"setMoveTo"}`, "§0.params.position missing_parameter"},
	{"null is not given", "", `{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":null}}`, "§0.params.position missing_parameter"},
	{"none of several parameters", "", `{"cloud_step_id":"a","taskMethod":"setScreen"}`, "§0.params missing_parameter"},
	{"bad parameter", "", `{"cloud_step_id":"a","taskMethod":"setVolume","params":{"level":101}}`, "§0.params.level bad_parameter"},
	{"unknown room", "", `{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"다락방"}}`, "§0.params.position unknown_location"},
	{"room out of reach, by the parameter's other name", "", `{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"room":"베란다"}}`, "§0.params.room room_unreachable"},

	{"token that cannot be read", "", `{"cloud_step_id":"a","token_text":"<sk_move>(position="}`, "§0.token_text malformed"},
	{"two calls in one token", "", `{"cloud_step_id":"a","token_text":"<sk_move>(position=거실);<sk_air>()<sk_end>"}`, "§0.token_text unsupported"},
	{"unknown token", "", `{"cloud_step_id":"a","token_text":"<sk_dance>()<sk_end>"}`, "§0.token_text unknown_token"},
	{"method name as token", "", `{"cloud_step_id":"a","token_text":"<sk_setMoveTo>(position=거실)<sk_end>"}`, "§0.token_text unknown_token"},
	{"token beside parameters", "", `{"cloud_step_id":"a","token_text":"<sk_move>(position=거실)<sk_end>","params":{"position":"거실"}}`, "§0.params bad_value"},
	{"token with a bad room", "", `{"cloud_step_id":"a","token_text":"<sk_move>(position=다락방)<sk_end>"}`, "§0.token_text unknown_location"},
	{"token number that is none", "", `{"cloud_step_id":"a","token_text":"<sk_volume>(level=20 percent)<sk_end>"}`, "§0.token_text bad_parameter"},
	{"token number in quotes", "", `{"cloud_step_id":"a","token_text":"<sk_volume>(level=\"20\")<sk_end>"}`, "§0.token_text bad_parameter"},
	{"token number in hexadecimal", "", `{"cloud_step_id":"a","token_text":"<sk_volume>(level=0x10)<sk_end>"}`, "§0.token_text bad_parameter"},
	{"token infinity", "", `{"cloud_step_id":"a","token_text":"<sk_volume>(level=inf)<sk_end>"}`, "§0.token_text bad_parameter"},
	{"token boolean that is none", "", `{"cloud_step_id":"a","token_text":"<sk_screen>(on=yes)<sk_end>"}`, "§0.token_text bad_parameter"},
	{"token of another method", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","token_text":"<sk_battery>()<sk_end>"}`, "§0.token_text token_mismatch"},
	{"token of another room", "", `{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"거실"},"token_text":"<sk_move>(position=안방)<sk_end>"}`, "§0.token_text token_mismatch"},
	{"token with a bad room beside a good one", "", `{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"거실"},"token_text":"<sk_move>(position=다락방)<sk_end>"}`, "§0.token_text unknown_location"},
	{"unreadable token beside a bad method", "", `{"cloud_step_id":"a","taskMethod":"setMoveTo","token_text":"?"}`, "§0.token_text malformed\n§0.params.position missing_parameter"},
	{"token that gives what comes from an output", "", power + `,{"cloud_step_id":"c","taskMethod":"setVolume","token_text":"<sk_volume>(level=20)<sk_end>","depends_on":["b"],"input_from":{"level":"power.level"}}`,
		"§1.token_text token_mismatch"},

	{"cloud step without a skill", "", `{"cloud_step_id":"a","execution_target":"cloud"}`, "§0.skill missing_field"},
	{"unknown skill", "", `{"cloud_step_id":"a","execution_target":"cloud","skill":"weather_magic"}`, "§0.skill unknown_skill"},
	{"cloud step with a method", "", `{"cloud_step_id":"a","execution_target":"cloud","skill":"rest_guidance","taskMethod":"getAirQuality"}`, "§0.skill bad_value"},
	{"cloud step with effects", "", `{"cloud_step_id":"a","execution_target":"cloud","skill":"rest_guidance","required_effects":["content_session_started","x",{"effect_id":"rest_guidance_delivered","kind":"maintain","until":"pui.cancelled"}]}`,
		"§0.required_effects[0] effect_not_provided\n§0.required_effects[1] unknown_effect\n§0.required_effects[2] unsupported"},
	{"cloud step with an event", "", `{"cloud_step_id":"a","execution_target":"cloud","skill":"rest_guidance","wait_policy":"event","wait_event":{"event":"speech.finished"}}`, "§0.wait_policy unsupported"},
	{"cloud step with an input twice", "", air + `,{"cloud_step_id":"b","execution_target":"cloud","skill":"rest_guidance","depends_on":["a"],"params":{"g":1},"input_from":{"g":"air.grade"}}`, "§1.input_from.g bad_value"},

	{"unknown dependency", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","depends_on":["b"]}`, "§0.depends_on[0] unknown_step"},
	{"dependency on itself", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","depends_on":["a"]}`, "§0.depends_on[0] bad_dependency"},
	{"one dependency with two ends", "", air + `,{"cloud_step_id":"b","taskMethod":"getBatteryStatus","depends_on":["a",{"step":"a","on":"failure"}]}`, "§1.depends_on[1] bad_dependency"},
	{"circle beside a good step and one behind it", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","depends_on":["b"]},{"cloud_step_id":"b","taskMethod":"getAirQuality","depends_on":["a"]},
	  {"cloud_step_id":"c","taskMethod":"getAirQuality"},{"cloud_step_id":"d","taskMethod":"getAirQuality","depends_on":["c",{"step":"a","on":"done"}]}`, "§0.depends_on cycle\n§1.depends_on cycle\n§3.depends_on cycle"},
	{"circle through an anchor", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","depends_on":["b"]},{"cloud_step_id":"b","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","temporal_anchor_id":"a"}`,
		"§0.depends_on cycle\n§1.depends_on cycle"},

	{"delay without a relation", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","delay_ms":5}`, "§0.temporal_relation missing_field"},
	{"an event of other work without the event", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","temporal_relation":"after_existing_event"}`, "§0.anchor_event missing_field"},
	{"an event of other work that the catalog does not have", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","temporal_relation":"after_existing_event","anchor_event":"tea.ready","temporal_anchor_id":"b"}`,
		"§0.anchor_event unknown_event\n§0.temporal_anchor_id bad_value"},
	{"an event that no run gives", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","temporal_relation":"after_existing_event","anchor_event":"cleaning.progress"}`, "§0.anchor_event bad_value"},
	{"at_time without a time", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","temporal_relation":"at_time"}`, "§0.not_before missing_field"},
	{"a schedule with every kind of fault", `"schedule":{"days":["mon"],"on":"2026-02-30","at":"6pm","end_at":"25:00","tz":"Asia/Soul","until":"soon"},"cancel_steps":["x"]`,
		`{"cloud_step_id":"a","taskMethod":"startVitalSign","temporal_relation":"at_time","not_before":"2026-12-24T18:00:00+09:00"}`,
		"workflow.cancel_steps bad_value\nworkflow.schedule.on bad_value\nworkflow.schedule.on bad_value\nworkflow.schedule.at bad_value\nworkflow.schedule.end_at bad_value\nworkflow.schedule.until bad_value\nworkflow.schedule.tz bad_value\n" +
			"§0.not_before bad_value\n§0.taskMethod not_schedulable"},
	{"a schedule in the place where the machine stands", `"schedule":{"days":["mon"],"at":"18:00","tz":"Local"}`, air, "workflow.schedule.tz bad_value"},
	{"a schedule whose end has nothing to stop", `"schedule":{"on":"2026-12-24","at":"18:00","end_at":"19:00","tz":"Asia/Seoul"}`, air, "workflow.schedule.end_at bad_value"},
	{"overdue without a moment", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","on_overdue":"skip"}`, "§0.on_overdue bad_value"},
	{"a time without a relation", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","not_before":"2026-12-24T18:00:00+09:00","on_overdue":"skip"}`, "§0.temporal_relation missing_field\n§0.on_overdue bad_value"},
	{"at_time with an anchor and a delay", "", air + `,{"cloud_step_id":"b","taskMethod":"getAirQuality","temporal_relation":"at_time","not_before":"2026-12-24T18:00:00+09:00","temporal_anchor_id":"a","delay_ms":5}`,
		"§1.temporal_anchor_id bad_value\n§1.delay_ms bad_value"},
	{"unknown anchor", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","temporal_anchor_id":"b"}`, "§0.temporal_anchor_id unknown_step"},
	{"itself as anchor", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","temporal_anchor_id":"a"}`, "§0.temporal_anchor_id unknown_step"},
	{"neither anchor nor delay", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","temporal_relation":"after_planned_step"}`, "§0.temporal_anchor_id missing_field"},
	{"two dependencies and no anchor", "", air + "," + power + `,{"cloud_step_id":"c","taskMethod":"setScreen","params":{"on":false},"depends_on":["a","b"],"temporal_relation":"after_planned_step","delay_ms":1}`, "§2.temporal_anchor_id missing_field"},
	{"delay over 30 days", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","delay_ms":2592000001}`, "§0.delay_ms bad_value"},

	{"wait_event without its policy", "", `{"cloud_step_id":"a","taskMethod":"startBasicAirClear","wait_event":{"event":"cleaning.started"}}`, "§0.wait_event bad_value"},
	{"policy event without an event", "", `{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"거실"},"wait_policy":"event"}`, "§0.wait_event missing_field"},
	{"unknown event", "", `{"cloud_step_id":"a","taskMethod":"startBasicAirClear","wait_policy":"event","wait_event":{"event":"cleaning.dreamed"}}`, "§0.wait_event.event unknown_event"},
	{"match that never can be", "", `{"cloud_step_id":"a","taskMethod":"startBasicAirClear","wait_policy":"event","wait_event":{"event":"cleaning.progress","match":{"percent":"half","room":"x"}}}`,
		"§0.wait_event.match.percent bad_value\n§0.wait_event.match.room bad_value"},

	{"unknown effect", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","required_effects":["peace"]}`, "§0.required_effects[0] unknown_effect"},
	{"effect of another operation", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","required_effects":["station_docked"]}`, "§0.required_effects[0] effect_not_provided"},
	{"effect of another variant", "", `{"cloud_step_id":"a","taskMethod":"setScreen","params":{"brightness":90},"required_effects":["reduced_visual_stimulation"]}`, "§0.required_effects[0] effect_not_provided"},
	{"kept until nothing that is known", "", kept("x"), "§0.required_effects[0].until unknown_step"},
	{"kept, and nobody says until when", "", kept(""), "§0.required_effects[0].until missing_field"},
	{"kept until its own step", "", kept("a"), "§0.required_effects[0].until bad_value"},
	{"kept until its opposite", `"deadline_ms":60000`, kept("cleaning.stopped"), "§0.required_effects[0].until bad_value"},
	{"kept until an event that may never come", "", kept("voice.session_ended"), "workflow.deadline_ms missing_field"},
	{"kept until a step that comes before", "", `{"cloud_step_id":"b","taskMethod":"getBatteryStatus"},` + strings.Replace(kept("b"), `"cloud_step_id":"a"`, `"cloud_step_id":"a","depends_on":["b"]`, 1),
		"§1.required_effects[0].until bad_value"},
	{"kept twice", "", strings.Replace(kept("b"), `"required_effects":[`, `"required_effects":["air_cleaning_active",`, 1) + `,` + power, "§0.required_effects[1] bad_value"},
	{"kept, and nothing tells that it holds", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","required_effects":[{"effect_id":"air_quality_reported","kind":"maintain","until":"b"}]},` + power,
		"§0.required_effects[0].kind bad_value"},

	{"output_key with a dot", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","output_key":"air.state"}`, "§0.output_key bad_value"},
	{"output_key ctx", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","output_key":"ctx"}`, "§0.output_key bad_value"},
	{"output_key twice", "", air + `,{"cloud_step_id":"b","taskMethod":"getBatteryStatus","output_key":"air"}`, "§1.output_key bad_value"},
	{"unknown output", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","input_from":["air"]}`, "§0.input_from[0] unknown_output"},
	{"output of a step that it does not wait for", "", air + `,{"cloud_step_id":"b","taskMethod":"getBatteryStatus","input_from":["air"]}`, "§1.input_from[0] unknown_output"},
	{"output of a step that only was submitted", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","output_key":"air","wait_policy":"submitted"},{"cloud_step_id":"b","taskMethod":"getBatteryStatus","depends_on":["a"],"input_from":["air"]}`,
		"§1.input_from[0] unknown_output"},
	{"parameter from an unknown output", "", `{"cloud_step_id":"a","taskMethod":"setVolume","input_from":{"level":"power.level"}}`, "§0.input_from.level unknown_output"},
	{"parameter from a step that it does not wait for", "", power + `,{"cloud_step_id":"c","taskMethod":"setVolume","input_from":{"level":"power.level"}}`, "§1.input_from.level unknown_output"},
	{"two parameters from unknown outputs", "", `{"cloud_step_id":"a","taskMethod":"setVolume","input_from":{"mute":"power.on","level":"power.level"}}`, "§0.input_from.level unknown_output\n§0.input_from.mute unknown_output"},
	{"room from a number", "", power + `,{"cloud_step_id":"c","taskMethod":"setMoveTo","depends_on":["b"],"input_from":{"position":"power.level"}}`, "§1.input_from.position bad_parameter"},
	{"field that the output does not have", "", power + `,{"cloud_step_id":"c","taskMethod":"setVolume","depends_on":["b"],"input_from":{"level":"power.volts"}}`, "§1.input_from.level unknown_output"},
	{"field of another type", "", power + `,{"cloud_step_id":"c","taskMethod":"setVolume","depends_on":["b"],"input_from":{"level":"power.charging"}}`, "§1.input_from.level bad_parameter"},
	{"whole output as a parameter", "", power + `,{"cloud_step_id":"c","taskMethod":"setVolume","depends_on":["b"],"input_from":{"level":"power"}}`, "§1.input_from.level bad_parameter"},
	{"input for an unknown parameter", "", power + `,{"cloud_step_id":"c","taskMethod":"setVolume","params":{"mute":true},"depends_on":["b"],"input_from":{"loudness":"power.level"}}`, "§1.input_from.loudness unknown_parameter"},
	{"input for a parameter that is given", "", power + `,{"cloud_step_id":"c","taskMethod":"setVolume","params":{"level":3},"depends_on":["b"],"input_from":{"level":"power.level"}}`, "§1.input_from.level bad_value"},
	{"input for a parameter that is given by its other name", "", `{"cloud_step_id":"a","execution_target":"cloud","skill":"rest_guidance","output_key":"o"},{"cloud_step_id":"c","taskMethod":"setMoveTo","params":{"room":"거실"},"depends_on":["a"],"input_from":{"position":"o.room"}}`,
		"§1.params.room bad_parameter"},

	{"condition on an unknown output", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","when":{"ref":"air.grade","op":"eq","value":"bad"}}`, "§0.when.ref unknown_output"},
	{"condition on an output of a step that it does not wait for", "", air + `,{"cloud_step_id":"b","taskMethod":"getBatteryStatus","when":{"not":{"ref":"air.grade","op":"eq","value":"bad"}}}`, "§1.when.not.ref unknown_output"},
	{"condition on an output of a step that only was submitted", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","output_key":"air","wait_policy":"submitted"},
	  {"cloud_step_id":"b","taskMethod":"getBatteryStatus","depends_on":["a"],"when":{"any":[{"ref":"ctx.battery.level","op":"ge","value":20},{"ref":"air.grade","op":"eq","value":"bad"}]}}`, "§1.when.any[1].ref unknown_output"},
	{"condition with a wrong type", "", air + `,{"cloud_step_id":"b","taskMethod":"getBatteryStatus","depends_on":["a"],"when":{"all":[{"ref":"air.pm25","op":"ge","value":"many"},{"ref":"air.smell","op":"eq","value":1}]}}`,
		"§1.when.all[0].value bad_condition\n§1.when.all[1].ref bad_condition"},
	{"condition on unknown context", "", `{"cloud_step_id":"a","taskMethod":"getAirQuality","when":{"ref":"ctx.mood","op":"eq","value":"good"}}`, "§0.when.ref bad_condition"},
	{"condition on a whole output", "", air + `,{"cloud_step_id":"b","taskMethod":"getBatteryStatus","depends_on":["a"],"when":{"ref":"air","op":"eq","value":"bad"}}`, "§1.when.value bad_condition"},

	{"several at once", `"cancel_steps":["x"]`, `{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"다락방","speed":1},"depends_on":["zz"],"when":{"ref":"air.grade","op":"eq","value":"bad"}},
	  {"cloud_step_id":"b","taskMethod":"setVolume","params":{"level":500},"depends_on":["c"]},{"cloud_step_id":"c","token_text":"<sk_dance>()<sk_end>","depends_on":["b"]}`,
		"workflow.cancel_steps bad_value\n§0.depends_on[0] unknown_step\n§0.params.position unknown_location\n§0.params.speed unknown_parameter\n" +
			"§1.params.level bad_parameter\n§2.token_text unknown_token\n§0.when.ref unknown_output\n§1.depends_on cycle\n§2.depends_on cycle"},
}

func want(short string) string {
	for i := range 10 {
		short = strings.ReplaceAll(short, fmt.Sprintf("§%d", i), fmt.Sprintf("device_task_requests[%d]", i))
	}
	return short
}

func TestPlansAreRefusedWithEveryFault(t *testing.T) {
	cat := defaultCatalog(t)
	for _, tc := range refusedPlans {
		t.Run(tc.name, func(t *testing.T) {
			_, faults := bridge.CheckPlan(cat, readPlan(t, planBody(tc.head, tc.requests)))
			if got := faultLines(faults); got != want(tc.want) {
				t.Fatalf("faults\n%s\nwant\n%s\n%+v", got, want(tc.want), faults)
			}
			for _, f := range faults {
				if f.Message == "" {
					t.Errorf("%s has no message", f.Path)
				}
			}
		})
	}
}

// TestEveryReasonIsInTheTable holds the table of reasons and the tested plans together.
func TestEveryReasonIsInTheTable(t *testing.T) {
	tested := map[string]bool{wire.ReasonTooLarge: true} // by TestFaultsAreBounded
	for _, tc := range refusedPlans {
		for line := range strings.SplitSeq(tc.want, "\n") {
			tested[line[strings.LastIndex(line, " ")+1:]] = true
		}
	}
	listed := map[string]bool{}
	for _, r := range bridge.Refusals {
		if listed[string(r.Code)] = r.Plan; r.Plan && !tested[string(r.Code)] {
			t.Errorf("no plan of the tests is refused with %s", r.Code)
		}
	}
	for code := range tested {
		if !listed[code] {
			t.Errorf("%s is not in Refusals as a reason of plans", code)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	w := readPlan(t, planBody("", air))
	for i := range 200 {
		w.Requests = append(w.Requests, wire.Request{CloudStepID: fmt.Sprint("s", i), TaskMethod: "setMoveTo",
			Params: wire.Object{strings.Repeat("방", 3000): {V: 1.0}, "position": {V: strings.Repeat("x", 8000)}}})
	}
	_, faults := bridge.CheckPlan(defaultCatalog(t), w)
	if len(faults) != 65 || faults[64].Reason != wire.ReasonTooLarge || faults[64].Path != "" {
		t.Fatalf("%d faults, the last %+v; want 64 and one that says so", len(faults), faults[len(faults)-1])
	}
	for _, f := range faults {
		if len(f.Path) > 300 || len(f.Message) > 600 {
			t.Fatalf("a fault with a path of %d and a message of %d bytes", len(f.Path), len(f.Message))
		}
	}
	if _, _, err := codecOf(t, wire.CBOR).Encode(core.Message{Type: core.MsgAck, Ack: &core.Answer{Ref: "m", Faults: faults}}, bridge.About{}); err != nil {
		t.Fatalf("the refusal cannot be sent: %v", err)
	}
}

func TestSamePlanSameAnswer(t *testing.T) {
	cat := defaultCatalog(t)
	for _, tc := range refusedPlans {
		w := readPlan(t, planBody(tc.head, tc.requests))
		plan, faults := bridge.CheckPlan(cat, w)
		for range 20 {
			again, more := bridge.CheckPlan(cat, w)
			if !reflect.DeepEqual(plan, again) || !slices.Equal(faults, more) {
				t.Fatalf("%s: two checks differ\n%+v\n%+v", tc.name, faults, more)
			}
		}
	}
}

// grounded checks one plan that has to pass.
func grounded(t *testing.T, head, requests string) *core.Plan {
	t.Helper()
	plan, faults := bridge.CheckPlan(defaultCatalog(t), readPlan(t, planBody(head, requests)))
	if len(faults) > 0 {
		t.Fatalf("refused: %+v", faults)
	}
	return plan
}

func TestDeadlinesThatCanBeMet(t *testing.T) {
	const clean = `{"cloud_step_id":"a","taskMethod":"startBasicAirClear","params":{"duration_min":20},"required_effects":["air_cleaning_completed"]`
	for _, tc := range []struct{ name, deadline, requests string }{
		{"exactly the duration", "1200000", clean + `}`},
		{"a delay beside the duration", "1200000", clean + `},{"cloud_step_id":"b","taskMethod":"getAirQuality"},
		  {"cloud_step_id":"c","taskMethod":"setScreen","params":{"on":false},"depends_on":["a","b"],"temporal_relation":"after_planned_step","temporal_anchor_id":"b","delay_ms":600000}`},
		{"what was only started", "1200000", clean + `,"wait_policy":"event"},{"cloud_step_id":"b","taskMethod":"setScreen","params":{"on":false},"depends_on":["a"],"temporal_relation":"after_planned_step","temporal_anchor_id":"a","delay_ms":600000}`},
		{"what comes only after a failure", "1200000", clean + `},{"cloud_step_id":"b","taskMethod":"setScreen","params":{"on":false},"depends_on":[{"step":"a","on":"failure"}],"temporal_relation":"after_planned_step","temporal_anchor_id":"a","delay_ms":600000}`},
		{"a duration that nobody waits for", "1000", `{"cloud_step_id":"a","taskMethod":"startBasicAirClear","params":{"duration_min":20}}`},
	} {
		t.Run(tc.name, func(t *testing.T) { grounded(t, `"deadline_ms":`+tc.deadline, tc.requests) })
	}
}

func TestAnchors(t *testing.T) {
	plan := grounded(t, "", air+`,{"cloud_step_id":"now","taskMethod":"setVolume","params":{"level":1},"temporal_relation":"after_planned_step","delay_ms":5},
	 {"cloud_step_id":"one","taskMethod":"setVolume","params":{"level":1},"depends_on":[{"step":"a","on":"done"}],"temporal_relation":"after_planned_step","delay_ms":5},
	 {"cloud_step_id":"named","taskMethod":"setVolume","params":{"level":1},"depends_on":["now"],"temporal_relation":"after_planned_step","temporal_anchor_id":"a","delay_ms":5}`)
	for i, want := range []core.StepSpec{
		{},
		{DelayMS: 5},
		{DelayMS: 5, Anchor: 1, Deps: []core.Dep{{Step: 0, On: core.OnDone}}},
		{DelayMS: 5, Anchor: 1, Deps: []core.Dep{{Step: 1, On: core.OnSuccess}, {Step: 0, On: core.OnSuccess}}},
	} {
		if s := plan.Steps[i]; s.DelayMS != want.DelayMS || s.Anchor != want.Anchor || !slices.Equal(s.Deps, want.Deps) {
			t.Errorf("step %s: delay %d, anchor %d, dependencies %v; want %d, %d, %v", s.ID, s.DelayMS, s.Anchor, s.Deps, want.DelayMS, want.Anchor, want.Deps)
		}
	}
}

func TestInputsStandInUntilTheyAreThere(t *testing.T) {
	const talk = `{"cloud_step_id":"a","execution_target":"cloud","skill":"fresh_information_brief","output_key":"o"}`
	plan := grounded(t, "", talk+`,{"cloud_step_id":"b","taskMethod":"startBasicAirClear","params":{"airflow":"low"},"depends_on":["a"],"input_from":{"duration_min":"o.minutes"}},
	 {"cloud_step_id":"c","taskMethod":"setMoveTo","depends_on":["a"],"input_from":{"room":"o.where.room"}},
	 {"cloud_step_id":"d","taskMethod":"setScreen","depends_on":["a"],"input_from":{"brightness":"o.light"},"required_effects":["reduced_visual_stimulation"]}`)
	clean := plan.Steps[1]
	if _, there := clean.Call["duration_min"]; there || clean.Call["airflow"] != "low" || clean.Call["mode"] != "fixed" {
		t.Errorf("call %v holds a stand-in, or not what was given", clean.Call)
	}
	if want := int64(180*60_000 + 300_000); clean.TimeoutMS != want {
		t.Errorf("time-out %d ms, want %d: that of the longest duration", clean.TimeoutMS, want)
	}
	if move := plan.Steps[2]; len(move.Call) != 0 || len(move.Args) != 0 || move.InputFrom["position"] != "o.where.room" {
		t.Errorf("the input is not under the parameter's own name: %+v", move)
	}
	if screen := plan.Steps[3]; !slices.Equal(screen.Effects, []catalog.EffectID{"reduced_visual_stimulation"}) {
		t.Errorf("effects %v", screen.Effects)
	}
}

func TestTokenMeansItsCall(t *testing.T) {
	plan := grounded(t, "", `{"cloud_step_id":"a","token_text":"<sk_clean>(mode=all, duration_min=20)<sk_end>"},
	 {"cloud_step_id":"b","token_text":"<sk_screen>(on=false)<sk_end>"},
	 {"cloud_step_id":"c","taskMethod":"setMoveTo","params":{"room":"master bedroom"},"token_text":"<sk_move>(position=\"안방\")<sk_end>"}`)
	clean, screen, move := plan.Steps[0], plan.Steps[1], plan.Steps[2]
	if clean.Call["duration_min"] != 20.0 || len(clean.Resources) != 2 || !clean.MovesBody {
		t.Errorf("whole-home cleaning: %+v", clean)
	}
	if screen.Call["on"] != false || len(screen.Effects) != 1 {
		t.Errorf("screen off: %+v", screen)
	}
	if move.Call["position"] != "master_bedroom" {
		t.Errorf("move: %+v", move)
	}
}
