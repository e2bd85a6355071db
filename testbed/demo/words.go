package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/home"
)

// phrases say in English what an operation is for. {name} is replaced by that parameter.
var phrases = map[string]string{
	"setMoveTo":          "go to {position}",
	"stopMovement":       "stop moving",
	"returnToStation":    "go back to the charging station",
	"startBasicAirClear": "clean the air for {duration_min} minutes",
	"stopCleaning":       "stop cleaning",
	"getAirQuality":      "read the air quality",
	"getBatteryStatus":   "read the battery",
	"startVitalSign":     "measure vital signs",
	"setScreen":          "turn the screen {on}",
	"setVolume":          "set the volume to {level}",
	"setNightMode":       "turn night mode {on}",
	"setMannerMode":      "turn manner mode {on}",
	"setMoving":          "move a little {direction}",
	"setLlmTts":          "say {text}",
}

// sayStep is a step of a plan in plain words, with the operation and its parameters as they are sent.
func sayStep(r wire.Request) string {
	text := cmp.Or(phrases[r.TaskMethod], "do "+cmp.Or(r.TaskMethod, r.TokenText, "a step of the cloud"))
	for name, v := range r.Params {
		text = strings.ReplaceAll(text, "{"+name+"}", sayValue(name, v.V))
	}
	if cut := strings.Index(text, "{"); cut >= 0 {
		text = strings.TrimRight(text[:cut], " :") // a parameter that was not said has its default
	}
	text += fmt.Sprintf("  (%s%s)", cmp.Or(r.TaskMethod, "token_text"), compact(r.Params.Map()))
	if len(r.DependsOn) > 0 {
		text += ", after " + dependencies(r)
	}
	return text
}

// sayValue adds the English name of a room, and says on and off.
func sayValue(name string, v any) string {
	if on, ok := v.(bool); ok {
		return map[bool]string{true: "on", false: "off"}[on]
	}
	text := fmt.Sprint(v)
	if room, ok := home.Flat().Find(text); ok && name == "position" && room.ID != text {
		return text + ", the " + strings.ReplaceAll(room.ID, "_", " ")
	}
	return text
}

func dependencies(r wire.Request) string {
	var ids []string
	for _, d := range r.DependsOn {
		ids = append(ids, d.Step)
	}
	text := strings.Join(ids, " and ")
	if r.DelayMS > 0 {
		text += " and " + (time.Duration(r.DelayMS) * time.Millisecond).String()
	}
	return text
}

func compact(m map[string]any) string {
	if len(m) == 0 {
		return ""
	}
	data, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return " " + string(data)
}

// stepWords tell a newcomer what a step's new state means. States without words pass too quickly to be told.
var stepWords = map[string]string{
	"waiting":         "the planned delay, counted on the robot",
	"queued":          "",
	"dispatching":     "",
	"pending":         "",
	"running":         "the robot took the task; nothing is proved yet",
	"verifying":       "the robot says done; waits for the evidence",
	"outcome_unknown": "nobody knows yet whether it was done: asks the robot instead of repeating it",
	"completed":       "proved by evidence",
	"satisfied":       "was true already: nothing to do",
	"skipped":         "not needed",
	"blocked":         "cannot go on",
	"cancelling":      "stops",
	"cancelled":       "stopped",
	"failed":          "failed",
	"timed_out":       "no answer in time",
}

func sayState(a agentLine) string {
	words, known := stepWords[a.To]
	if known && words == "" {
		return ""
	}
	text := a.To
	if words != "" {
		text += ": " + words
	}
	if a.ReasonCode != "" && a.ReasonCode != a.To {
		text += " [" + a.ReasonCode + "]"
	}
	return text
}

// quiet events are left out: they come often and prove nothing.
var quiet = map[string]bool{"movement.progress": true, "cleaning.progress": true, "battery.changed": true}

// sayRobot is what the body does or says, from its own log; empty: not worth a line.
func sayRobot(e home.Entry) string {
	switch e.Kind {
	case home.KindMotionStart:
		return "wheels turn: drives to " + e.Room
	case home.KindMotionEnd:
		return "wheels at rest in " + e.Room + " (" + e.Reason + ")"
	case home.KindCleaningStart:
		return "fan on in " + e.Room
	case home.KindCleaningEnd:
		return "fan off (" + e.Reason + ")"
	case home.KindSpoken:
		return fmt.Sprintf("says aloud %q", e.Text)
	case home.KindSetting:
		return "set: " + e.Method + compact(e.Params)
	case home.KindQuery:
		return "is asked what became of " + e.TaskID
	case home.KindRefused:
		return "refuses " + e.Method + ": " + e.Reason
	case home.KindEvent:
		if e.TaskID != "" && !quiet[e.Event] {
			return "reports " + e.Event + compact(e.Data)
		}
	}
	return ""
}

// sayProof is one observation as a table row.
func sayProof(e Evidence) string {
	what := e.Event
	switch {
	case what == "":
		what = e.Key + " read as " + plain(e.Value)
	case e.Value != nil:
		what += " " + plain(e.Value)
	}
	text := fmt.Sprintf("%s, from %s, journal no. %d", what, e.Source, e.Seq)
	if e.Recovered {
		text += ", recovered"
	}
	return text
}

func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
