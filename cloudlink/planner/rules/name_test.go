package rules

import (
	"testing"

	"deviceagent/bridge/wire"
)

// TestAStepHasAName: every operation for people is called something, in both languages, by what it was given.
func TestAStepHasAName(t *testing.T) {
	p := planner(t)
	for _, tc := range []struct {
		method string
		params wire.Object
		ko, en string
	}{
		{"setMoveTo", wire.Object{"position": {V: "안방"}}, "안방으로 이동", "go to the 안방"},
		{"startBasicAirClear", nil, "청정", "clean the air"},
		{"stopCleaning", nil, "청정 정지", "stop cleaning the air"},
		{"setScreen", wire.Object{"on": {V: true}}, "화면 켜기", "turn on the screen"},
		{"setScreen", wire.Object{"brightness": {V: 30.0}}, "화면 밝기 30으로 설정", "set the brightness to 30"},
		{"returnToStation", nil, "충전대로 복귀", "return to the charging station"},
		{"nothing", nil, "", ""},
	} {
		if ko, en := p.Name(tc.method, tc.params, "ko-KR"), p.Name(tc.method, tc.params, "en-US"); ko != tc.ko || en != tc.en {
			t.Errorf("%s %v is called %q, %q, want %q, %q", tc.method, tc.params, ko, en, tc.ko, tc.en)
		}
	}
}
