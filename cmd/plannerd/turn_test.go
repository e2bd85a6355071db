package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTurn: one sentence of either language, planned and explained.
func TestTurn(t *testing.T) {
	dir := t.TempDir()
	around, broken := filepath.Join(dir, "around.json"), filepath.Join(dir, "broken.json")
	if err := os.WriteFile(around, []byte(`{"voice_context":{"addressed":false},"history_context":[{"by":"robot","text":"몇 시에 할까요?"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, []byte(`{"voice":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"a plan with a condition", []string{"거실로 가서 공기 상태 확인하고 필요하면 청정하고 30초 뒤에 복귀해 줘"}, 0, []string{"belongs to     ODL: something of this robot", "steps (nothing is sent)", "setMoveTo position=거실",
			"“거실로 가서”", "only if air_state.grade in bad,very_bad", "waits 30s", "its family is", "every word is accounted for", "17 cost      0 model calls"}},
		{"English", []string{"go to the kitchen", "--locale", "en-US"}, 0, []string{"setMoveTo position=주방", "“go to the kitchen”", "1 words     4, en"}},
		{"a second look", []string{"나한테 어울리는 말투 추천해줘"}, 0, []string{"belongs to     DEF: conversation", "13 again?    yes", "14 second    DEF, it is about the user's own taste (by rules)", "no steps"}},
		{"without it", []string{"나한테 어울리는 말투 추천해줘", "--without", "second-pass"}, 0, []string{"belongs to     FRG"}},
		{"a part is refused", []string{"청정 켜고 티비도 켜줘"}, 0, []string{"refuses        티비도 켜줘 (", "startBasicAirClear"}},
		{"it asks back", []string{"베란다로 가"}, 0, []string{"asks for       position", "no steps"}},
		{"a goal", []string{"잠깐 편하게 쉬게 도와줘"}, 0, []string{"goal           activated: effects_grounded", "setMannerMode on=true"}},
		{"a goal that is left out", []string{"잠깐 편하게 쉬게 도와줘", "--without", "experience"}, 0, []string{"setMannerMode on=true"}},
		{"all is stopped", []string{"다 그만"}, 0, []string{"control        cancel all"}},
		{"what stands around", []string{"고마워", "--around", around}, 0, []string{"said to somebody else", "history   strong, 몇 시에 할까요?", "belongs to     STT_NULL"}},
		{"around is no such thing", []string{"고마워", "--around", broken}, 2, []string{"unknown field"}},
		{"no sentence", []string{}, 2, []string{"0 sentences: want one, in quotes"}},
		{"words without quotes", []string{"주방으로", "가"}, 2, []string{"2 sentences: want one, in quotes"}},
		{"no moment", []string{"안녕", "--now", "soon"}, 2, []string{`--now "soon": want a moment`}},
		{"no locale", []string{"안녕", "--locale", "fr"}, 2, []string{"want ko-KR or en-US"}},
		{"no zone", []string{"안녕", "--home-tz", "Mars"}, 2, []string{"want a zone"}},
		{"no form", []string{"안녕", "-o", "xml"}, 2, []string{"want text or json"}},
		{"no part", []string{"안녕", "--without", "x"}, 2, []string{"want some of preclassifier"}},
		{"half a model", []string{"안녕", "--model-url", "http://127.0.0.1:1/v1"}, 2, []string{"--model-url needs --model-provider"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, log bytes.Buffer
			code := run(t.Context(), append([]string{"turn"}, tc.args...), &out, &log)
			for _, want := range tc.says {
				if !strings.Contains(out.String()+log.String(), want) {
					t.Errorf("%q is not said:\n%s%s", want, out.String(), log.String())
				}
			}
			if strings.Contains(tc.name, "left out") && strings.Contains(out.String(), "goal ") {
				t.Errorf("%s", out.String())
			}
			if code != tc.code {
				t.Errorf("exit %d, want %d: %s", code, tc.code, log.String())
			}
		})
	}
}

// TestTurnAsJSON: the whole decision with its trace, and what would be sent.
func TestTurnAsJSON(t *testing.T) {
	var out, log bytes.Buffer
	if code := run(t.Context(), []string{"turn", "주방으로 가", "-o", "json", "--now", "2026-12-24T18:30"}, &out, &log); code != 0 {
		t.Fatalf("exit %d: %s", code, log.String())
	}
	var got struct {
		Now      string `json:"now"`
		Decision struct {
			Owner string `json:"owner_selection"`
			Trace struct {
				Main struct {
					Rule string `json:"rule"`
				} `json:"main_planner"`
			} `json:"trace"`
			Evidence []struct{ Kind, ID, Span string } `json:"evidence"`
		} `json:"decision"`
		Requests []struct {
			Method string `json:"taskMethod"`
		} `json:"device_task_requests"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Now != "2026-12-24T18:30:00+09:00" || got.Decision.Owner != "ODL" || got.Decision.Trace.Main.Rule == "" || len(got.Decision.Evidence) < 2 ||
		len(got.Requests) != 1 || got.Requests[0].Method != "setMoveTo" {
		t.Errorf("%+v (%v)\n%s", got, err, out.String())
	}
}
