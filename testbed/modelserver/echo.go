package modelserver

import (
	"fmt"
	"strings"
)

var skills = map[string]string{
	"ODL": "device_execution_bridge", "SCH": "schedule_reminder_create", "FRG": "freshness_answer_composition", "DEF": "default_conversation",
	"DQR": "device_qna_answer", "UNS": "unsupported_request_refusal", "STT_NULL": "stt_null_repair", "STM": "content_session",
}

// narrow is the one field of a narrow question: a schema that asks for a word and no more.
func narrow(a Asked) (field string, ok bool) {
	if strings.Contains(string(a.Schema), "owner_selection") {
		return "", false
	}
	for _, field := range []string{"family", "flow_id", "object_type", "replyability"} {
		if strings.Contains(string(a.Schema), `"`+field+`":`) {
			return field, true
		}
	}
	return "", false
}

// echo says the draft back in the form that is asked for.
func echo(a Asked) string {
	field, small := narrow(a)
	switch {
	case small:
		return `{"` + field + `":"` + enumOf(a.Schema)[0] + `"}`
	case !strings.Contains(string(a.Schema), "owner_selection"):
		return `{"action":"` + enumOf(a.Schema)[0] + `","reason":"the first that is offered"}`
	}
	draft, _ := a.Said["draft"].(map[string]any)
	m := map[string]any{
		"turn_mode": "singleton", "contrary_evidence": []any{}, "steps": []any{}, "missing_slots": orList(draft["missing_slots"]), "family_confidence": "medium",
		"runner_up_family": "none", "needs_second_pass": false, "ambiguity_reason": "", "stt_null_subtype": "none", "stt_null_target_scope": "none",
		"stt_null_recoverability": "none", "ask_follow_up": draft["ask_follow_up"] == true, "tts_response": "그렇군요. 더 들려주세요.",
	}
	family, _ := draft["owner_selection"].(string)
	if skills[family] == "" {
		family = "DEF"
	}
	own(m, family, skills[family])
	var steps []any
	list, _ := draft["steps"].([]any)
	for i, one := range list {
		d, _ := one.(map[string]any)
		method, _ := d["taskMethod"].(string)
		span, _ := d["span"].(string)
		var after []string
		if i > 0 {
			after = []string{fmt.Sprintf("step_%d", i)}
		}
		s := stepOf(fmt.Sprintf("step_%d", i+1), method, span, after)
		params, _ := d["params"].(map[string]any)
		var said []any
		for name, v := range params {
			said = append(said, map[string]any{"name": name, "value": fmt.Sprint(v)})
		}
		s["device_task"].(map[string]any)["params"] = orList(said)
		steps = append(steps, s)
	}
	m["steps"] = orList(steps)
	if family == "ODL" && len(steps) == 0 {
		m["ask_follow_up"] = true
	}
	return string(mustJSON(m))
}

func orList(v any) any {
	if list, ok := v.([]any); ok && list != nil {
		return list
	}
	return []any{}
}

// stepOf is a step in the form of the planner's schema.
func stepOf(id, method, span string, after []string) map[string]any {
	if after == nil {
		after = []string{}
	}
	return map[string]any{
		"id": id, "route": "ODL", "purpose": method, "span": span, "execution_target": "device",
		"device_task": map[string]any{"taskMethod": method, "params": []any{}}, "depends_on": after, "input_from": []any{}, "output_key": "",
		"wait_policy": "completed", "temporal_relation": "none", "temporal_anchor_id": "", "delay_ms": 0, "when": []any{}, "required_effects": []any{},
	}
}

// enumOf is the first list of words in a schema.
func enumOf(schema []byte) []string {
	_, rest, ok := strings.Cut(string(schema), `"enum":["`)
	body, _, closed := strings.Cut(rest, `"]`)
	if !ok || !closed {
		return []string{""}
	}
	return strings.Split(body, `","`)
}
