package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEval(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := `{"id":"1","text":"거실로 가 줘","family":"ODL","source":"own","note":"tier=A"}
{"id":"2","text":"에어컨 켜 줘","family":"ODL","source":"own","note":"tier=B; accept=UNS"}
`
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	if code := run(t.Context(), []string{"eval", file, "-o", "json"}, &out, &log); code != 0 {
		t.Fatalf("exit %d: %s", code, log.String())
	}
	var got struct {
		Rows       int                        `json:"rows"`
		Strict     float64                    `json:"strict"`
		Lenient    float64                    `json:"lenient"`
		TierA      float64                    `json:"tier_a"`
		TierB      float64                    `json:"tier_b"`
		FalseODL   *float64                   `json:"false_odl"`
		Compiled   float64                    `json:"compiled"`
		PerFamily  map[string]json.RawMessage `json:"per_family"`
		ModelCalls *int64                     `json:"model_calls"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Rows != 2 || got.Strict != 0.5 || got.Lenient != 1 || got.TierA != 1 || got.TierB != 0 || got.FalseODL != nil || got.Compiled != 1 ||
		got.PerFamily["UNS"] == nil || got.ModelCalls == nil || *got.ModelCalls != 0 {
		t.Errorf("%s: %+v (%v)", out.String(), got, err)
	}
	out.Reset()
	if code := run(t.Context(), []string{"eval", file, "--wrong"}, &out, &log); code != 0 || !strings.Contains(out.String(), "에어컨 켜 줘") || !strings.Contains(out.String(), "strict    1/2") {
		t.Errorf("exit %d: %s", code, out.String())
	}
}

// TestEvalWithoutAPart: the figures are of the rest, and what the part has changed is told beside them.
func TestEvalWithoutAPart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := `{"id":"1","text":"거실로 가 줘","family":"ODL"}
{"id":"2","text":"오늘 날씨 어때","family":"FRG"}
{"id":"3","text":"나한테 어울리는 말투 추천해줘","family":"DEF"}
`
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]string{
		"":              `"strict":1.0000`,
		"preclassifier": `"strict":0.6667`, // the command stands on its own reading, and conversation is what is left of the taste
		"second-pass":   `"strict":0.6667`,
		"ranked-flow":   `"strict":1.0000`,
		"experience":    `"strict":1.0000`,
	} {
		args := []string{"eval", file, "-o", "json"}
		if part != "" {
			args = append(args, "--without", part)
		}
		var out, log bytes.Buffer
		if code := run(t.Context(), args, &out, &log); code != 0 || !strings.Contains(out.String(), want) || strings.Contains(out.String(), `"difference":{"without":["`+part) != (part != "") ||
			!strings.Contains(out.String(), `"intervals":{`) {
			t.Errorf("without %q: exit %d, %s%s", part, code, out.String(), log.String())
		}
	}
	var out, log bytes.Buffer
	if code := run(t.Context(), []string{"eval", file, "--without", "thinking"}, &out, &log); code != 2 || !strings.Contains(log.String(), "want some of preclassifier") {
		t.Errorf("exit %d, %s", code, log.String())
	}
}

func TestEvalOfDialogs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	row := `{"id":"1","messages":[{"role":"user","content":"내일 식당 예약해 줘"}],"tools":[{"name":"book_restaurant","description":"식당을 예약한다.","required":["date","number_of_people"]}],"expect":"slot","reference":"몇 명이에요?"}`
	if err := os.WriteFile(file, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	if code := run(t.Context(), []string{"eval", file, "-o", "json"}, &out, &log); code != 0 || !strings.Contains(out.String(), `"slot_asked":1.0000`) {
		t.Errorf("exit %d: %s%s", code, out.String(), log.String())
	}
}

func TestEvalThatCannotWork(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		code int
		text string
	}{
		{"no file named", []string{"eval"}, 2, "accepts 1 arg"},
		{"no such file", []string{"eval", filepath.Join(t.TempDir(), "none")}, 1, "cannot open rows"},
		{"no rows", []string{"eval", empty}, 1, "no rows"},
		{"output", []string{"eval", empty, "-o", "xml"}, 2, "want text or json"},
	} {
		var out, log bytes.Buffer
		if code := run(t.Context(), tc.args, &out, &log); code != tc.code || !strings.Contains(log.String(), tc.text) {
			t.Errorf("%s: exit %d with %q, want %d with %q", tc.name, code, log.String(), tc.code, tc.text)
		}
	}
}
