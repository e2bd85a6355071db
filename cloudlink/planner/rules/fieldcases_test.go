package rules

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// TestCaseA3_ABulkRequestForWhatIsNotHereIsRefusedByName: no plan, a category, and not a word that anything was done.
func TestCaseA3_ABulkRequestForWhatIsNotHereIsRefusedByName(t *testing.T) {
	p := planner(t)
	for _, tc := range []struct {
		said   string
		family turn.Family
	}{
		{"커튼 전부 다 열어 줘", turn.UNS}, {"집 안 불 모두 꺼 줘", turn.UNS}, {"블라인드 다 내려 줘", turn.UNS}, {"창문이랑 문 다 닫아 줘", turn.UNS},
		{"모든 가전제품 꺼 줘", turn.UNS}, {"에어컨이랑 티비랑 조명 전부 꺼", turn.UNS}, {"거실하고 안방 불 다 켜 줘", turn.UNS}, {"모든 방 다 쓸고 닦아 줘", turn.ODL},
		{"open all the curtains", turn.UNS}, {"turn off all the lights", turn.UNS}, {"close every window", turn.UNS},
	} {
		d := plan(t, p, tc.said)
		if len(d.Steps) > 0 || d.Control != nil || d.Schedule != nil || d.OwnerSelection != tc.family || d.UnsupportedCategory == "" {
			t.Errorf("%s: %s, family %s, category %q", tc.said, short(d), d.OwnerSelection, d.UnsupportedCategory)
		}
		for _, done := range []string{"했어요", "열었", "껐", "닫았", "완료", "done", "opened", "closed", "turned"} {
			if strings.Contains(d.TTSResponse, done) {
				t.Errorf("%s: says %q", tc.said, d.TTSResponse)
			}
		}
	}
}

// TestCaseF13_EveryStepThatChangesSomethingCitesItsWords: the words that a step cites were said, and name what it does: its thing, its verb or
// its room. A wish is cited whole.
func TestCaseF13_EveryStepThatChangesSomethingCitesItsWords(t *testing.T) {
	p := planner(t)
	rows := slices.Concat(mission, paraphrases)
	for _, g := range groups {
		rows = append(rows, g.rows...)
	}
	acting := 0
	for _, row := range rows {
		d := plan(t, p, row.said)
		if slices.ContainsFunc(d.Evidence, func(e turn.Evidence) bool { return e.Kind == "wish" }) {
			continue
		}
		for _, s := range d.Steps {
			op := p.cat.Operations[catalog.Method(s.TaskMethod)]
			if s.Skill != "" || op.ReadOnly {
				continue
			}
			acting++
			if s.Span == "" || !strings.Contains(strings.Join(strings.Fields(row.said), " "), s.Span) {
				t.Errorf("%s: step %s cites %q, which was not said", row.said, s.TaskMethod, s.Span)
				continue
			}
			lang := korean
			if isEnglish(s.Span, "") {
				lang = english
			}
			named := slices.ContainsFunc(p.readers[lang].parse(s.Span).items, func(it item) bool {
				return slices.Contains([]kind{kindThing, kindVerb, kindActNoun, kindRoom, kindQuit, kindPurify}, it.kind)
			})
			if !named {
				t.Errorf("%s: %s cites %q, which names nothing that it does", row.said, s.TaskMethod, s.Span)
			}
		}
	}
	if acting < 200 {
		t.Errorf("only %d steps were looked at", acting)
	}
}
