package eval

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
)

// answers is a planner that was told what to say.
type answers map[string]turn.Decision

func (a answers) Plan(_ context.Context, in turn.Input) (turn.Decision, error) {
	return a[in.Text], nil
}

// TestFamilyFigures holds each figure to a count by hand.
func TestFamilyFigures(t *testing.T) {
	rows, kind, err := Read(strings.NewReader(`
{"id":"1","text":"a","source":"x","family":"ODL","note":"tier=A; basis=b"}
{"id":"2","text":"b","source":"x","family":"ODL","note":"tier=B; basis=b; accept=UNS,FRG"}
{"id":"3","text":"c","source":"y","family":"DEF","note":"tier=A; basis=b"}
{"id":"4","text":"d","source":"y","family":"UNS","note":"tier=B; basis=b; accept=ODL"}
{"id":"5","text":"e","source":"y","family":"SCH","note":"tier=B"}
`))
	if err != nil || kind != Families {
		t.Fatal(kind, err)
	}
	rep, err := MeasureFamilies(t.Context(), answers{
		"a": {OwnerSelection: turn.ODL, Steps: []turn.Step{{}}}, "b": {OwnerSelection: turn.FRG, ModelCalls: 2},
		"c": {OwnerSelection: turn.ODL, Steps: []turn.Step{{}}}, "d": {OwnerSelection: turn.ODL}, "e": {OwnerSelection: turn.SCH},
	}, rows)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]Ratio{
		"strict": {rep.Strict, Ratio{2, 5}}, "lenient": {rep.Lenient, Ratio{4, 5}}, "tier A": {rep.TierA, Ratio{1, 2}}, "tier B": {rep.TierB, Ratio{1, 3}},
		"false ODL": {rep.FalseODL, Ratio{1, 2}}, "source": {*rep.PerSource["y"], Ratio{1, 3}},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %s, want %s", name, pair[0], pair[1])
		}
	}
	if odl := *rep.PerFamily["ODL"]; odl != (Score{Hits: 1, Decided: 3, Labelled: 2}) || rep.StrayActs != 1 || rep.ModelCalls != 2 || rep.Confusion["DEF"]["ODL"] != 1 {
		t.Errorf("ODL %+v, stray acts %d, model calls %d, confusion %v", odl, rep.StrayActs, rep.ModelCalls, rep.Confusion)
	}
	data, err := json.Marshal(rep)
	if err != nil || !strings.Contains(string(data), `"strict":0.4000`) || !strings.Contains(string(data), `"false_odl":0.5000`) {
		t.Errorf("%s (%v)", data, err)
	}
}

func TestNothingMeasuredIsNoFigure(t *testing.T) {
	if data, err := json.Marshal(Ratio{}); err != nil || string(data) != "null" {
		t.Errorf("%s (%v), want null", data, err)
	}
}

func TestBadRows(t *testing.T) {
	for rows, want := range map[string]string{
		"":                      "no rows",
		`{"id":"1","text":"a"}`: "no label",
		`{"id":"1"`:             "line 1",
		"{\"family\":\"ODL\"}\n{\"structure\":[\"single\"]}": "about structures",
	} {
		if _, _, err := Read(strings.NewReader(rows)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", rows, err, want)
		}
	}
}

// ours are a few rows of our own, so that the rules are held to the families without outside data.
const ours = `
{"id":"1","text":"서재로 가 줘","family":"ODL"}
{"id":"2","text":"배터리 알려 줘","family":"ODL"}
{"id":"3","text":"청정 좀 켜 볼래","family":"ODL"}
{"id":"4","text":"화면 어둡게 해 줘","family":"ODL"}
{"id":"5","text":"냉장고 문 열어 줘","family":"UNS"}
{"id":"6","text":"넷플릭스 켜","family":"UNS"}
{"id":"7","text":"주말에 부산 날씨 어떤지 알려 줘","family":"FRG"}
{"id":"8","text":"요즘 너무 외로워","family":"DEF"}
{"id":"9","text":"내일 회의 일정 추가해 줘","family":"SCH"}
{"id":"10","text":"이름이 뭐니","family":"DQR"}
{"id":"11","text":"에어컨 한 시간 뒤에 꺼 줘","family":"UNS"}
{"id":"12","text":"조명 켜고 커튼 닫아 줘","family":"UNS"}
`

func ourRules(t *testing.T) Planner {
	t.Helper()
	cat, said, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	return rules.New(cat, said)
}

func TestRulesOnOurRows(t *testing.T) {
	rows, _, err := Read(strings.NewReader(ours))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := MeasureFamilies(t.Context(), ourRules(t), rows)
	if err != nil || rep.Strict.Right != len(rows) || rep.StrayActs+rep.FalseODL.Right > 0 {
		t.Errorf("strict %s, stray acts %d, false ODL %s, wrong %v (%v)", rep.Strict, rep.StrayActs, rep.FalseODL, rep.Wrong, err)
	}
}
