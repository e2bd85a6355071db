package rules

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

// pieces are words that the planner knows, whole and broken, to be thrown together.
var pieces = []string{
	"거실로", "주방", "안방에서", "공간 1", "베란다로", "가", "가서", "가고", "간 뒤", "갔다가", "가지", "마", "말고", "청정", "청정하고", "켜고", "꺼줘", "끄고",
	"멈춰", "복귀해", "30초", "뒤에", "삼십 분", "동안", "볼륨", "오십으로", "화면", "공기", "배터리", "확인하고", "나쁘면", "필요하면", "50", "넘으면", "다", "그만",
	"뉴스", "들려주고", "오늘", "퀴즈 내", "동화", "비 오면", "오면", "챙기라고", "알려줘", "청정", "끝나면", "아니면", "그동안", "동시에", "놔두고", "관리해줘", "찾아보고", "그곳", "정보를", "거실르", "청점해줘", "경우", "때", "쉬게 도와줘",
	"안", "해줘", "어때", "얼마나", "남았어", "유튜브", "매일", "여섯시에", "그리고", "좀", "?", "동안", "모두", "말아", "줄 수", "있어", "텔레비전", "싶어", "로봇아", "끝나면",
	"go", "to", "the", "kitchen", "turn", "off", "screen", "after", "30 seconds", "and", "if", "bad", "not", ",", "don't",
}

// words of the closed set that a plan must never come with.
var forbidding = []string{"유튜브", "텔레비전", "매일", "여섯시에", "싶어"}

func checkDecision(t interface{ Fatalf(string, ...any) }, cat *catalog.Catalog, said string, d turn.Decision) {
	if d.ModelCalls != 0 {
		t.Fatalf("%q: %d model calls", said, d.ModelCalls)
	}
	if d.TTSResponse == "" || d.SelectedFlowID == "" || d.OwnerSelection == "" {
		t.Fatalf("%q: an answer without words or owner: %+v", said, d)
	}
	for _, word := range []string{"했어요", "갔어요", "완료", "됐어요", "마쳤", " done", "finished"} {
		if len(d.Steps) > 0 && strings.Contains(d.TTSResponse, word) {
			t.Fatalf("%q: says %q before any evidence", said, d.TTSResponse)
		}
	}
	if len(d.Steps) > 0 && (d.AskFollowUp || len(d.MissingSlots) > 0) {
		t.Fatalf("%q: acts and asks", said)
	}
	seen := map[string]bool{}
	for _, s := range d.Steps {
		if s.Span == "" || !strings.Contains(strings.Join(strings.Fields(said), " "), s.Span) {
			t.Fatalf("%q: step %s cites %q, which was not said", said, s.ID, s.Span)
		}
		if s.Skill != "" {
			if _, known := cat.Skills[catalog.SkillID(s.Skill)]; !known || s.TaskMethod != "" || s.ExecutionTarget != "cloud" {
				t.Fatalf("%q: step %s is no step of the cloud: %+v", said, s.ID, s)
			}
		} else if _, faults := cat.Resolve(catalog.Method(s.TaskMethod), plain(s.Params)); len(faults) > 0 {
			t.Fatalf("%q: step %s does not fit the catalog: %v", said, s.ID, faults)
		}
		for _, dep := range s.DependsOn {
			if !seen[dep.Step] {
				t.Fatalf("%q: step %s waits for %s, which is not before it", said, s.ID, dep.Step)
			}
		}
		seen[s.ID] = true
	}
}

func TestAnyWords(t *testing.T) {
	cat, said, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	p := New(cat, said)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "parts")
		text := strings.Join(parts, rapid.SampledFrom([]string{" ", " ", " ", ""}).Draw(t, "space"))
		d, err := p.Plan(context.Background(), turn.Input{Text: text})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		checkDecision(t, cat, text, d)
		for _, word := range forbidding {
			wished := word == "싶어" && slices.ContainsFunc(d.Evidence, func(e turn.Evidence) bool { return e.Kind == "wish" })              // "쉬고 싶어"
			refused := slices.ContainsFunc(d.Refused, func(r turn.Refusal) bool { return strings.Contains(" "+r.Span+" ", " "+word+" ") }) // by name, beside what is done
			if !wished && !refused && slices.Contains(parts, word) && len(d.Steps) > 0 && strings.Contains(text, " "+word+" ") {
				t.Fatalf("%q: acts in spite of %q: %s", text, word, short(d))
			}
		}
	})
}

func FuzzPlan(f *testing.F) {
	cat, said, err := catalogfile.Load(defaults.Files)
	if err != nil {
		f.Fatal(err)
	}
	p := New(cat, said)
	for _, s := range []string{"거실로 가", "ㄱㅏ", "\x00", "가\u0301", "go to 30", strings.Repeat("가 ", 400), "이십오십백천", "반반 시간", "%", "'s 1.2.3 시간"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := p.Plan(context.Background(), turn.Input{Text: s})
		if err != nil {
			t.Fatal(err)
		}
		if d.TTSResponse == "" {
			t.Fatalf("%q: no answer", s)
		}
	})
}

// TestEveryWordCounts puts a word that nobody knows into each clause: no row may still act.
func TestEveryWordCounts(t *testing.T) {
	p := planner(t)
	for _, group := range groups {
		for _, row := range group.rows {
			// What a skill looks for may be any word: a title, a name in the news.
			if !strings.Contains(row.want, "(") || group.name == "English" || strings.HasPrefix(row.want, "content_session") || strings.HasPrefix(row.want, "fresh") {
				continue
			}
			for _, text := range []string{"쀼릅 " + row.said, strings.Replace(row.said, " ", " 쀼릅 ", 1)} {
				if !strings.Contains(text, "쀼릅") {
					continue
				}
				if d := plan(t, p, text); len(d.Steps) > 0 {
					t.Errorf("%s: still acts: %s", text, short(d))
				}
			}
		}
	}
}

func TestSameDecisionFromMany(t *testing.T) {
	p := planner(t)
	const said = "거실로 가서 공기 확인하고 나쁘면 20분 청정하고 30초 뒤에 복귀해"
	want := plan(t, p, said)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := plan(t, p, said); !reflect.DeepEqual(got, want) {
				t.Errorf("another decision: %+v", got)
			}
		})
	}
	wg.Wait()
}

func TestRoomsOfTheDevice(t *testing.T) {
	p := planner(t)
	rooms := []wire.Room{
		{ID: "r1", Name: "다락방", Aliases: []string{"attic"}, Reachable: true},
		{ID: "r2", Name: "작업실", Aliases: []string{"공방"}, Reachable: true},
		{ID: "r3", Name: "2층 공방", Aliases: []string{"공방"}, Reachable: true},
		{ID: "r4", Name: "창고", Reachable: false},
	}
	for _, tc := range []sentence{
		{"다락방으로 가", "setMoveTo(position=다락방)"},
		{"go to the attic", "setMoveTo(position=다락방)"},
		{"거실로 가", "ODL ask position"},
		{"공방으로 가", "ODL ask position"},
		{"창고로 가", "ODL ask position"},
	} {
		d, _ := p.Plan(context.Background(), turn.Input{Text: tc.said, Rooms: rooms})
		if got := short(d); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.said, got, tc.want)
		}
	}
	d, _ := p.Plan(context.Background(), turn.Input{Text: "공방으로 가", Rooms: rooms})
	if !strings.Contains(d.TTSResponse, "작업실") || !strings.Contains(d.TTSResponse, "2층 공방") {
		t.Errorf("a name of two rooms is asked about as %q", d.TTSResponse)
	}
}

// TestNewOperationNeedsNoCode: a catalog entry with aliases is understood.
func TestNewOperationNeedsNoCode(t *testing.T) {
	cat, said, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	own := *cat
	own.Operations = maps.Clone(cat.Operations)
	low, high := 0.0, 5.0
	own.Operations["setAroma"] = catalog.Operation{Method: "setAroma", Kind: "settings", Params: map[string]catalog.Param{"on": {Type: catalog.Boolean, Required: true}},
		Aliases: catalog.Aliases{Ko: []string{"향기", "아로마"}, En: []string{"aroma"}}}
	own.Operations["getWaterLevel"] = catalog.Operation{Method: "getWaterLevel", Kind: "state_query", ReadOnly: true, Aliases: catalog.Aliases{Ko: []string{"물통"}}}
	own.Operations["setMoodLight"] = catalog.Operation{Method: "setMoodLight", Kind: "settings",
		Params: map[string]catalog.Param{"level": {Type: catalog.Integer, Minimum: &low, Maximum: &high, Required: true}}, Aliases: catalog.Aliases{Ko: []string{"무드등"}}}
	own.Operations["hidden"] = catalog.Operation{Method: "hidden", Visibility: "internal", Aliases: catalog.Aliases{Ko: []string{"비밀기능"}}}
	delete(own.Operations, "setMannerMode")
	p := New(&own, said)
	for _, tc := range []sentence{
		{"향기 켜 줘", "setAroma(on=true)"},
		{"주방으로 가서 아로마 꺼", "setMoveTo(position=주방); setAroma(on=false)"},
		{"turn on the aroma", "setAroma(on=true)"},
		{"물통 얼마나 남았어?", "getWaterLevel()"},
		{"무드등 3으로 맞춰 줘", "setMoodLight(level=3)"},
		{"무드등 9로 맞춰 줘", "ODL ask level"},
		{"비밀기능 켜 줘", "UNS"},
		{"매너 모드 켜 줘", "UNS"},
	} {
		if got := short(plan(t, p, tc.said)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.said, got, tc.want)
		}
	}
}

func TestWhatIsSaid(t *testing.T) {
	p := planner(t)
	for said, want := range map[string]string{
		"거실로 가서 청정하고 안방으로 가":          "거실로 이동한 뒤 청정하고 안방으로 갈게요.",
		"주방으로 가서 30초 뒤에 화면 꺼줘":        "주방으로 이동한 뒤 30초 뒤에 화면을 끌게요.",
		"거실로 가서 공기 상태 확인하고 필요하면 청정해줘": "거실로 이동한 뒤 공기 상태를 확인하고 필요하면 청정할게요.",
		"공간1로 가":                            "공간1로 갈게요.",
		"볼륨 30으로":                           "볼륨을 30으로 맞출게요.",
		"옷방 청정해 줘":                          "옷방으로 이동해서 청정할게요.",
		"다 그만":                              "네, 하던 일을 모두 취소할게요.",
		"turn off the screen in 90 seconds": "OK, I will turn off the screen after 1 minute 30 seconds.",
	} {
		if got := plan(t, p, said).TTSResponse; got != want {
			t.Errorf("%s: says %q, want %q", said, got, want)
		}
	}
}

// TestOpenNegationKeepsItsPlace: a negation whose verb never comes was a word without a place, and a clause that ended with it could
// not be cited. Nothing may act on such a sentence.
func TestOpenNegationKeepsItsPlace(t *testing.T) {
	cat, said, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	p := New(cat, said)
	for _, text := range []string{"가 볼륨 50 안", "볼륨 50 안", "안 볼륨 50", "거실로 가 안 볼륨 50 안", "볼륨 안 50", "못"} {
		d, err := p.Plan(t.Context(), turn.Input{Text: text})
		if err != nil || len(d.Steps) > 0 {
			t.Errorf("%q: %v %s", text, err, short(d))
		}
	}
}
