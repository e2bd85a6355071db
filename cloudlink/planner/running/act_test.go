package running

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// TestCompletionIsHeard: A18, A20. How it is said that something is done, and how it is not said.
func TestCompletionIsHeard(t *testing.T) {
	for _, text := range []string{"청정을 켰어요.", "거실에 도착했습니다.", "다 됐어요", "네, 갔어요. 이제 청정할게요.", "청정 완료", "볼륨을 30으로 맞췄어요.", "예약했어요!", "I have cleaned the living room.",
		"The cleaning is finished.", "All done.", "Done.", "I've arrived.", "The screen is now off."} {
		if Completed(text) == "" {
			t.Errorf("%q is not heard as done", text)
		}
	}
	for _, text := range []string{"거실로 이동한 뒤 청정하고 안방으로 갈게요.", "네, 하던 일을 모두 취소할게요.", "청정을 하지 못했어요.", "아직 결과를 받지 못했어요.", "끝났어요?", "청정을 할 수 있어요.", "시작하지 않았어요.",
		"확인해 보겠어요.", "OK, I will clean the air.", "It could not be done.", "I have no result yet.", "I did not catch that.", "Is it done?", "그건 제가 할 수 없는 일이에요."} {
		if said := Completed(text); said != "" {
			t.Errorf("%q is heard as done", said)
		}
	}
}

// TestA18_ASpeechActIsJudgedByItsEvidence: A18. A model's text and a progress report alike need a message of the device behind "done".
func TestA18_ASpeechActIsJudgedByItsEvidence(t *testing.T) {
	proof := []turn.Evidence{{Kind: "step", ID: "wf/s1", Span: "completed by telemetry, 3 ms ago"}}
	running := []turn.Evidence{{Kind: "step", ID: "wf/s1", Span: "running by telemetry, 3 ms ago"}}
	for _, tc := range []struct {
		name string
		d    turn.Decision
		ok   bool
	}{
		{"done without evidence", turn.Decision{OwnerSelection: turn.ODL, SpeechAct: Done, TTSResponse: "네."}, false},
		{"done with evidence", turn.Decision{OwnerSelection: turn.ODL, SpeechAct: Done, TTSResponse: "끝났어요.", Evidence: proof}, true},
		{"done, but it runs", turn.Decision{OwnerSelection: turn.ODL, SpeechAct: Done, TTSResponse: "끝났어요.", Evidence: running}, false},
		{"an acknowledgement that reports", turn.Decision{OwnerSelection: turn.ODL, TTSResponse: "거실로 갔어요."}, false},
		{"progress that reports more than is known", turn.Decision{OwnerSelection: turn.ODL, SpeechAct: Progress, TTSResponse: "청정이 끝났어요.", Evidence: running}, false},
		{"a failure that was reported", turn.Decision{OwnerSelection: turn.ODL, SpeechAct: Failed, TTSResponse: "시간 안에 끝나지 않아 멈췄어요.", Evidence: []turn.Evidence{{Kind: "step", Span: "timed_out by result, 9 ms ago"}}}, true},
		{"an act of its own", turn.Decision{OwnerSelection: turn.ODL, SpeechAct: "boast", TTSResponse: "네."}, false},
		{"a story", turn.Decision{OwnerSelection: turn.STM, TTSResponse: "토끼가 거북이를 이겼어요."}, true},
		{"a talk beside steps", turn.Decision{OwnerSelection: turn.DEF, TTSResponse: "거실을 청정했어요.", Steps: []turn.Step{{ID: "s1"}}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if fault := Fault(tc.d); (fault == "") != tc.ok {
				t.Errorf("fault %q", fault)
			}
		})
	}
}

// TestA18_NoReplyOfThePlannerReports: A18, A20. Over every sentence of the admission set and of the scenarios: what the planner says of a wish
// is never that it is done.
func TestA18_NoReplyOfThePlannerReports(t *testing.T) {
	r := newRig(t)
	var texts []string
	for _, l := range lines(t, "../../../testbed/admission.jsonl") {
		if _, rest, ok := strings.Cut(l, `"text":"`); ok {
			text, _, _ := strings.Cut(rest, `"`)
			texts = append(texts, text)
		}
	}
	files, err := filepath.Glob("../../../testbed/scenarios/*.scn")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, l := range lines(t, f) {
			if _, rest, ok := strings.Cut(l, `say "`); ok {
				text, _, _ := strings.Cut(rest, `"`)
				texts = append(texts, text)
			}
		}
	}
	if len(texts) < 300 {
		t.Fatalf("%d sentences were found", len(texts))
	}
	for _, text := range texts {
		d := r.Runner.words.Read(turn.Input{Text: text, Locale: "ko-KR"})
		if fault := Fault(d); fault != "" {
			t.Errorf("%q is answered %q: %s", text, d.TTSResponse, fault)
		}
	}
}

func lines(t *testing.T, path string) (out []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	for s.Scan() {
		out = append(out, s.Text())
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

// TestTheWordsOfTheDeviceReportNoEnd: S33. Of the sentences for what has come to grief only those of an end tell an end: a stop, a refusal, a
// newer plan. None of the others sounds as if something were done, in either language.
func TestTheWordsOfTheDeviceReportNoEnd(t *testing.T) {
	r := newRig(t)
	ends := []string{"external_stop", "superseded", "user_cancelled", "pui_cancelled", "experience_disabled", "executor_refused", "step_timeout", "deadline_exceeded", "outcome_unknown",
		"dependency_failed", "branch_not_taken", "wait_event_missing", "condition_false", "overdue_skipped", "no_decision", "robot_fault", "store_lost"}
	for code, s := range r.cat.Reasons {
		for _, text := range []string{s.Ko, s.En} {
			plain := strings.NewReplacer("{step}", "", "{done}", "", "{left}", "", "{choice}", "").Replace(text)
			if said := Completed(plain); said != "" && !slices.Contains(ends, code) {
				t.Errorf("%s sounds as if it were done: %q", code, said)
			}
		}
	}
}
