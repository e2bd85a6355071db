package eval

import (
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// chooser answers by the last message.
type chooser struct {
	answers
	choices map[string]turn.Choice
}

func (c chooser) ChooseTool(_ []turn.Tool, dialog []turn.Message) turn.Choice {
	return c.choices[dialog[len(dialog)-1].Content]
}

func TestDialogFigures(t *testing.T) {
	rows, kind, err := Read(strings.NewReader(`
{"id":"1","messages":[{"role":"user","content":"a"}],"tools":[{"name":"x","required":["p"]}],"expect":"call","reference":[{"function":{"name":"x","arguments":"{}"}}]}
{"id":"2","messages":[{"role":"user","content":"b"}],"tools":[],"expect":"call","reference":[{"function":{"name":"x"}}]}
{"id":"3","messages":[{"role":"user","content":"c"}],"tools":[],"expect":"slot","reference":"which?"}
{"id":"4","messages":[{"role":"user","content":"d"}],"tools":[],"expect":"relevance","reference":"no"}
{"id":"5","messages":[{"role":"user","content":"e"}],"tools":[],"expect":"relevance","reference":"no"}
`))
	if err != nil || kind != Dialogs {
		t.Fatal(kind, err)
	}
	rep, err := MeasureDialogs(chooser{choices: map[string]turn.Choice{"a": {Outcome: turn.Call, Tool: "x"}, "b": {Outcome: turn.Call, Tool: "y"},
		"c": {Outcome: turn.Ask, Tool: "x", Missing: []string{"p"}}, "d": {Outcome: turn.Ask, Tool: "x"}, "e": {Outcome: turn.Call, Tool: "x"}}}, rows)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Called != (Ratio{1, 2}) || rep.SlotAsked != (Ratio{1, 1}) || rep.NoCall != (Ratio{1, 2}) || rep.NoneSaid != (Ratio{0, 2}) || rep.Right != (Ratio{3, 5}) {
		t.Errorf("called %s, asked %s, no call %s (said so %s), right %s", rep.Called, rep.SlotAsked, rep.NoCall, rep.NoneSaid, rep.Right)
	}
	if _, err := MeasureDialogs(answers{}, rows); err == nil {
		t.Error("a planner without tools was measured")
	}
}
