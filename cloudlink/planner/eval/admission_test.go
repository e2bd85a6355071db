package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// sayings give what a test wants for each sentence.
type sayings map[string]turn.Decision

func (a sayings) Plan(_ context.Context, in turn.Input) (turn.Decision, error) {
	return a[in.Text], nil
}

func wants(state turn.Admission, axes ...string) *turn.ExperienceRequest {
	return &turn.ExperienceRequest{Admission: state, ReasonCode: "r", Axes: axes}
}

// TestAdmissionIsCounted: precision over what was admitted in any state, recall over what asks for it, each with the ids that it lacks;
// and each difference that is no request is found.
func TestAdmissionIsCounted(t *testing.T) {
	tokens := int64(7)
	without := sayings{
		"a": {OwnerSelection: turn.FRG}, "b": {OwnerSelection: turn.DEF}, "c": {OwnerSelection: turn.ODL},
		"d": {OwnerSelection: turn.DEF, ModelCalls: 1, Model: &turn.ModelTrace{Verdict: "model", Calls: []turn.ModelCall{{Purpose: "main", InputTokens: &tokens, LatencyMS: 5}}}},
		"e": {OwnerSelection: turn.UNS},
	}
	with := sayings{
		"a": {OwnerSelection: turn.FRG, Experience: wants(turn.Activated, "lasting")},
		"b": {OwnerSelection: turn.DEF, Experience: wants(turn.Candidate)},                      // wrongly
		"c": {OwnerSelection: turn.ODL, Experience: wants(turn.NotAdmitted), AskFollowUp: true}, // missed, and changed
		"d": {OwnerSelection: turn.FRG, Experience: wants(turn.NotAdmitted), ModelCalls: 1, Model: &turn.ModelTrace{Verdict: "model", Calls: []turn.ModelCall{{Purpose: "main", InputTokens: &tokens, LatencyMS: 9}}}},
		"e": {OwnerSelection: turn.UNS, Experience: wants(turn.NotAdmitted)},
	}
	rows, kind, err := Read(strings.NewReader(`{"id":"1","text":"a","family":"FRG","admitted":true,"axes":["lasting","several_providers"]}
{"id":"2","text":"b","family":"DEF","admitted":false}
{"id":"3","text":"c","family":"ODL","admitted":true,"axes":["lasting"]}
{"id":"4","text":"d","family":"DEF","admitted":false}
{"id":"5","text":"e","family":"DEF","admitted":false}`))
	if err != nil || kind != Admissions {
		t.Fatalf("kind %s, %v", kind, err)
	}
	rep, err := MeasureAdmission(t.Context(), Pair{With: with, Without: without}, rows)
	if err != nil {
		t.Fatal(err)
	}
	if p, r := rep.Precision.Ratio(), rep.Recall.Ratio(); p != (Ratio{1, 2}) || r != (Ratio{1, 2}) || !slices.Equal(rep.Precision.Not, []string{"2"}) || !slices.Equal(rep.Recall.Not, []string{"3"}) {
		t.Errorf("precision %v not %v, recall %v not %v", p, rep.Precision.Not, r, rep.Recall.Not)
	}
	if rep.False["DEF"] != 1 || rep.States[turn.NotAdmitted] != 3 || *rep.Axes["lasting"] != (AxisReport{1, 1}) || *rep.Axes["several_providers"] != (AxisReport{1, 0}) {
		t.Errorf("false %v, states %v, axes %v", rep.False, rep.States, rep.Axes)
	}
	x := rep.Interference
	if rep.OwnerChanges != 1 || !slices.Equal(x.OwnerChanges, []string{"4"}) || !slices.Equal(x.Changed, []string{"3", "4"}) {
		t.Errorf("owners changed %v, changed %v", x.OwnerChanges, x.Changed)
	}
	if r := x.Rate.Ratio(); r != (Ratio{2, 4}) { // the last was wrong before: it is not in the baseline
		t.Errorf("non-interference %v of %v", r, x.Rate.IDs)
	}
	if c := x.NotAdmitted; c.Turns != 3 || c.Rounds != 1 || c.With.Calls != 1 || c.Without.Calls != 1 || c.With.Tokens != 7 || c.Without.Tokens != 7 {
		t.Errorf("cost %+v", c)
	}
	var out struct {
		Precision struct {
			Numerator, Denominator int
			Value                  float64
			Not                    []string `json:"not_in"`
		} `json:"admission_precision"`
	}
	data, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil || out.Precision.Value != 0.5 || out.Precision.Denominator != 2 || !slices.Equal(out.Precision.Not, []string{"2"}) {
		t.Errorf("as JSON %s: %v", data, err)
	}
	var text bytes.Buffer
	rep.Print(&text, true)
	for _, want := range []string{"admission_precision    1/2 = 50.0 %", "owner changes 1 [4]", "2         candidate"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("not printed: %s in\n%s", want, text.String())
		}
	}
}

// TestNothingAdmittedIsNoFigure: without a denominator there is no value.
func TestNothingAdmittedIsNoFigure(t *testing.T) {
	f := Formula{Name: "admission_precision"}
	data, err := json.Marshal(f)
	if err != nil || string(data) != `{"name":"admission_precision","numerator":0,"denominator":0,"value":null,"ids":[],"not_in":[]}` {
		t.Errorf("%s, %v", data, err)
	}
}
