package eval

import (
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

func TestStructureFigures(t *testing.T) {
	rows, kind, err := Read(strings.NewReader(`
{"id":"1","text":"a","structure":["conditional","sequence"]}
{"id":"2","text":"b","structure":["single"]}
{"id":"3","text":"c","structure":["conditional"]}
`))
	if err != nil || kind != Structures {
		t.Fatal(kind, err)
	}
	rep, err := MeasureStructures(t.Context(), answers{"a": {Structure: []string{turn.Sequence, turn.Conditional}}, "b": {Structure: []string{turn.Conditional}, Steps: []turn.Step{{}}},
		"c": {Structure: []string{turn.Conditional}}}, rows)
	if err != nil {
		t.Fatal(err)
	}
	cond, single := *rep.PerStructure[turn.Conditional], *rep.PerStructure[turn.Single]
	if rep.Exact != (Ratio{2, 3}) || rep.Acts != 1 || cond != (Score{2, 3, 2}) || single != (Score{0, 0, 1}) {
		t.Errorf("exact %s, acts %d, conditional %+v, single %+v", rep.Exact, rep.Acts, cond, single)
	}
	if f1, ok := cond.F1(); !ok || f1 != 0.8 {
		t.Errorf("F1 %v", f1)
	}
}

// TestStructureOfOurRows holds the rules to sentences of our own.
func TestStructureOfOurRows(t *testing.T) {
	rows, _, err := Read(strings.NewReader(`
{"id":"1","text":"비가 그치면 창문 열고 알려 줘","structure":["conditional","sequence"]}
{"id":"2","text":"냉장고 문 좀 닫아 줘","structure":["single"]}
{"id":"3","text":"십오 분 있다가 가스 잠가 줘","structure":["delayed"]}
{"id":"4","text":"월요일마다 화분에 물 주라고 알려 줘","structure":["recurring"]}
{"id":"5","text":"더워서 그러는데 에어컨 켜 줘","structure":["single"]}
{"id":"6","text":"화면 밝기 낮춰 주면 좋겠어","structure":["single"]}
{"id":"7","text":"택배 보고서 열어서 읽어 줘","structure":["sequence"]}
{"id":"8","text":"회의에서 나온 광고 사진 지워","structure":["single"]}
{"id":"9","text":"외출할 때 불 꺼 줘","structure":["conditional"]}
{"id":"10","text":"거실로 가고 싶어","structure":["single"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := MeasureStructures(t.Context(), ourRules(t), rows)
	if err != nil || rep.Exact.Right != len(rows) {
		t.Errorf("exact %s, wrong %v (%v)", rep.Exact, rep.Wrong, err)
	}
}
