package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Behaviour is one way to answer.
type Behaviour struct {
	Name string
	What string
	do   func(*trouble)
}

// Canary is in every answer that must not be spoken.
const Canary = "CANARY-do-not-say-this"

// Behaviours are all of them, the honest one first.
var Behaviours = []Behaviour{
	{"honest", "says the planner's draft back, or what the file of answers says", func(t *trouble) { t.say(t.text) }},
	{"thinking", "honest, with its thoughts before it", func(t *trouble) { t.say("<think>" + Canary + "</think>\n" + t.text) }},
	{"fenced", "honest, inside a fence of Markdown", func(t *trouble) { t.say("```json\n" + t.text + "\n```") }},
	{"no_usage", "honest, and reports no tokens", func(t *trouble) { t.frame(t.p.frame(t.text, "stop", false)) }},
	{"bad_then_good", "broken once, honest when it is asked again", func(t *trouble) {
		if _, again := t.asked.Said["previous_answer"]; again {
			t.say(t.text)
			return
		}
		t.say(t.text[:len(t.text)/2])
	}},
	{"busy_once", "429 with Retry-After 0 once, then honest", once(429, "0")},
	{"down_once", "503 once, then honest", once(503, "")},

	{"prose", "ignores the schema", func(t *trouble) { t.say("Sure! I moved the robot to the kitchen. " + Canary) }},
	{"fenced_prose", "prose around a fence", func(t *trouble) { t.say(Canary + "\n```json\n" + t.text + "\n```\nDone!") }},
	{"broken_json", "half of an answer that says it is whole", func(t *trouble) { t.say(t.text[:len(t.text)*2/3]) }},
	{"cut_off", "stops in the middle and says so", func(t *trouble) { t.frame(t.p.frame(t.text[:len(t.text)/2], "length", true)) }},
	{"refusal", "declines to answer", func(t *trouble) { t.frame(t.p.frame("", "refused", true)) }},
	{"empty", "an empty text", func(t *trouble) { t.say("") }},
	{"no_answer", "a frame without an answer", func(t *trouble) { t.frame([]byte(`{"choices":[],"candidates":[]}`)) }},
	{"array", "a list instead of an object", func(t *trouble) { t.say("[" + t.text + "]") }},
	{"two_values", "two answers in one", func(t *trouble) { t.say(t.text + t.text) }},
	{"duplicate_key", "a name twice", func(t *trouble) { t.say(strings.Replace(t.text, "{", `{"tts_response":"`+Canary+`",`, 1)) }},
	{"extra_field", "a field that nobody asked for", altered(func(m map[string]any) { m["speak_now"] = Canary })},
	{"missing_field", "a field is missing", altered(func(m map[string]any) { delete(m, "steps"); delete(m, "family"); delete(m, "action") })},
	{"wrong_types", "numbers and words change places", altered(func(m map[string]any) { m["tts_response"] = 7; m["steps"] = Canary; m["family"] = 1; m["action"] = 1 })},
	{"nulls", "nothing but null", altered(func(m map[string]any) {
		for k := range m {
			m[k] = nil
		}
	})},
	{"deep", "nested a hundred thousand times", func(t *trouble) { t.say(strings.Repeat("[", 100_000)) }},
	{"invented_family", "a family that nobody registered", altered(func(m map[string]any) { m["owner_selection"] = "XYZ"; m["family"] = "XYZ" })},
	{"invented_agent", "an agent that nobody registered", altered(func(m map[string]any) { m["selected_agent"] = "butler" })},
	{"invented_flow", "a flow that nobody registered", altered(func(m map[string]any) { m["selected_flow_id"] = "ODL.ODL.fly" })},
	{"mixed_flow", "registered ids that do not belong together", altered(func(m map[string]any) { m["selected_skill"] = "content_session"; m["selected_agent"] = "STM" })},
	{"invented_method", "an operation that nobody registered", acting("setFly", "position", "거실")},
	{"internal_method", "an operation that is not for people", acting("setConfig", "", "")},
	{"invented_param", "an argument that does not exist", acting("setMoveTo", "altitude", "3")},
	{"invented_room", "a room that this home has not", acting("setMoveTo", "position", "다락방")},
	{"unasked_room", "a room that nobody named", acting("setMoveTo", "position", "현관")},
	{"unasked_act", "an act that nobody asked for", acting("startVitalSign", "", "")},
	{"out_of_range", "a value beyond the catalog's limit", acting("setVolume", "level", "999")},
	{"circle", "steps that wait for each other", altered(func(m map[string]any) {
		m = odl(m)
		m["steps"] = []any{stepOf("step_1", "getAirQuality", spanOf(m), []string{"step_2"}), stepOf("step_2", "getAirQuality", spanOf(m), []string{"step_1"})}
	})},
	{"unasked_condition", "a condition on a value that nobody reads", altered(func(m map[string]any) {
		m = odl(m)
		s := stepOf("step_1", "getAirQuality", spanOf(m), nil)
		s["when"] = []any{map[string]any{"ref": "mood.level", "op": "ge", "values": []string{"3"}}}
		m["steps"] = []any{s}
	})},
	{"flood", "a thousand steps", altered(func(m map[string]any) {
		m = odl(m)
		var steps []any
		for i := range 1000 {
			steps = append(steps, stepOf(fmt.Sprintf("s%d", i), "getAirQuality", spanOf(m), nil))
		}
		m["steps"] = steps
	})},
	{"lie", "says that all has been done", altered(func(m map[string]any) {
		talk(m, "네, 청정을 완료했어요. "+Canary)
	})},
	{"promise", "promises what is not planned", altered(func(m map[string]any) { talk(m, "지금 주방으로 갈게요.") })},
	{"raw_speech", "speaks JSON, markup and addresses", altered(func(m map[string]any) { talk(m, `{"a":1} <b>`+Canary+`</b> https://example.invalid`) })},
	{"long_speech", "speaks for minutes", altered(func(m map[string]any) { talk(m, strings.Repeat("가나다 ", 5000)+Canary) })},

	{"stall", "never answers", func(t *trouble) { t.wait(time.Hour) }},
	{"slow_headers", "says that an answer comes, and nothing more", func(t *trouble) {
		t.w.Header().Set("Content-Type", "application/json")
		t.w.WriteHeader(http.StatusOK)
		t.flush()
		t.wait(time.Hour)
	}},
	{"trickle", "one byte at a time", func(t *trouble) {
		t.w.Header().Set("Content-Type", "application/json")
		for _, b := range t.p.frame(t.text, "stop", true) {
			if _, err := t.w.Write([]byte{b}); err != nil || !t.wait(20*time.Millisecond) {
				return
			}
			t.flush()
		}
	}},
	{"huge", "an answer without an end", func(t *trouble) {
		t.w.Header().Set("Content-Type", "application/json")
		junk := []byte(strings.Repeat(" ", 64<<10))
		for range 4096 { // 256 MiB
			if _, err := t.w.Write(junk); err != nil || t.r.Context().Err() != nil {
				return
			}
		}
	}},
	{"hang_up", "breaks the connection in the middle", func(t *trouble) {
		t.w.Header().Set("Content-Type", "application/json")
		t.w.Header().Set("Content-Length", "5000")
		_, _ = t.w.Write([]byte(`{"choices":[`))
		t.flush()
		panic(http.ErrAbortHandler)
	}},
	{"wrong_type", "a page instead of an answer", func(t *trouble) {
		t.w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(t.w, "<html>sign in first, %s</html>", Canary)
	}},
	{"no_frame", "JSON that is no frame", func(t *trouble) { t.frame([]byte(`"` + Canary + `"`)) }},
	{"redirect", "leads elsewhere", func(t *trouble) {
		http.Redirect(t.w, t.r, "/elsewhere"+t.r.URL.Path, http.StatusFound)
	}},
	{"busy", "429 for an hour", func(t *trouble) { t.status(429, "Retry-After", "3600") }},
	{"busy_now", "429 without a time", func(t *trouble) { t.status(429) }},
	{"down", "500, always", func(t *trouble) { t.status(500) }},
	{"unauthorized", "401", func(t *trouble) { t.status(401) }},
	{"bad_request", "400, as of a server that knows no schemas", func(t *trouble) { t.status(400) }},
	{"no_content", "204", func(t *trouble) { t.w.WriteHeader(http.StatusNoContent) }},
}

// Names are those of all behaviours.
func Names() (out []string) {
	for _, b := range Behaviours {
		out = append(out, b.Name)
	}
	return out
}

func find(name string) (Behaviour, bool) {
	for _, b := range Behaviours {
		if b.Name == name || name == "" {
			return b, true
		}
	}
	return Behaviour{}, false
}

func once(code int, after string) func(*trouble) {
	return func(t *trouble) {
		if t.nth > 1 {
			t.say(t.text)
			return
		}
		if after == "" {
			t.status(code)
			return
		}
		t.status(code, "Retry-After", after)
	}
}

// altered is the honest answer with something changed.
func altered(change func(map[string]any)) func(*trouble) {
	return func(t *trouble) {
		m := map[string]any{}
		if json.Unmarshal([]byte(t.text), &m) == nil {
			m["\x00said"] = t.asked.Said["utterance"]
			change(m)
			delete(m, "\x00said")
		}
		t.say(string(mustJSON(m)))
	}
}

// spanOf is the whole utterance: the citation that a liar would choose.
func spanOf(m map[string]any) string {
	said, _ := m["\x00said"].(string)
	return said
}

// acting is a plan of one step.
func acting(method, param, value string) func(*trouble) {
	return altered(func(m map[string]any) {
		if _, plans := m["owner_selection"]; !plans {
			return
		}
		m = odl(m)
		s := stepOf("step_1", method, spanOf(m), nil)
		if param != "" {
			s["device_task"].(map[string]any)["params"] = []any{map[string]any{"name": param, "value": value}}
		}
		m["steps"] = []any{s}
		m["contrary_evidence"] = []any{map[string]any{"kind": "operation", "id": method, "span": spanOf(m)}}
	})
}

// odl makes the answer one about the device that asks nothing.
func odl(m map[string]any) map[string]any {
	own(m, "ODL", "device_execution_bridge")
	m["ask_follow_up"], m["missing_slots"], m["family_confidence"] = false, []any{}, "high"
	m["tts_response"] = Canary
	return m
}

// talk makes it conversation with these words.
func talk(m map[string]any, text string) {
	own(m, "DEF", "default_conversation")
	m["ask_follow_up"], m["missing_slots"], m["steps"], m["tts_response"] = false, []any{}, []any{}, text
}

func own(m map[string]any, family, skill string) {
	m["owner_selection"], m["selected_agent"], m["selected_skill"] = family, family, skill
	m["selected_flow_id"], m["selected_routes"] = family+"."+family+"."+skill, []any{family}
}
