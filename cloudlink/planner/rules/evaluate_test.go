package rules

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

var dataDir = flag.String("data", "", "folder with dev.jsonl and structure-dev.jsonl, labelled utterances to measure with; empty: the built-in ones")
var showRows = flag.Bool("rows", false, "print each row that was decided otherwise than labelled")

// labelled is one utterance with the family that its source gives it, and others that a fair judge would accept.
type labelled struct {
	Text   string `json:"text"`
	Family string `json:"family"`
	Note   string `json:"note"`
}

func (l labelled) accepts(family string) bool {
	_, others, _ := strings.Cut(l.Note, "accept=")
	return family == l.Family || slices.Contains(strings.Split(others, ","), family)
}

// builtIn is a small set of our own, so that the measure itself is tested without outside data.
var builtIn = []labelled{
	{"서재로 가 줘", "ODL", ""}, {"배터리 알려 줘", "ODL", ""}, {"청정 좀 켜 볼래", "ODL", ""}, {"화면 어둡게 해 줘", "ODL", ""},
	{"냉장고 문 열어 줘", "UNS", ""}, {"넷플릭스 켜", "UNS", ""}, {"주말에 부산 날씨 어떤지 알려 줘", "FRG", ""}, {"요즘 너무 외로워", "DEF", ""},
	{"내일 회의 일정 추가해 줘", "SCH", ""}, {"이름이 뭐니", "DQR", ""},
}

// TestEvaluate prints how the rules do on labelled utterances: precision and recall of ODL, family accuracy, and above all how
// many sentences about other things got a device step. Run: go test ./cloudlink/planner/rules -run TestEvaluate -v -data DIR
func TestEvaluate(t *testing.T) {
	p := planner(t)
	rows, others := builtIn, []labelled{{Text: "에어컨 한 시간 뒤에 꺼 줘"}, {Text: "조명 켜고 커튼 닫아 줘"}}
	if *dataDir != "" {
		rows, others = read(t, "dev.jsonl"), read(t, "structure-dev.jsonl")
	}
	var tp, strictTP, fp, fn, right, fair, steps int
	for _, row := range rows {
		d := plan(t, p, row.Text)
		got := string(d.OwnerSelection)
		odl := row.Family == "ODL"
		switch {
		case got == "ODL" && odl:
			tp++
		case got == "ODL" && !row.accepts(got):
			fp++
		case odl && !row.accepts(got):
			fn++
		}
		if got == row.Family {
			right++
			if odl {
				strictTP++
			}
		}
		if row.accepts(got) {
			fair++
		} else if *showRows {
			t.Logf("%-8s for %-8s %s %s", got, row.Family, row.Text, row.Note)
		}
		if acts(d) && !odl {
			steps++
			t.Logf("device steps for %s: %s → %s", row.Family, row.Text, short(d))
		}
	}
	odl := len(slices.DeleteFunc(slices.Clone(rows), func(l labelled) bool { return l.Family != "ODL" }))
	t.Logf("family: strict %d/%d, accepted %d/%d", right, len(rows), fair, len(rows))
	t.Logf("ODL: precision %d/%d, recall strict %d/%d, recall with accepted families %d/%d", tp, tp+fp, strictTP, odl, odl-fn, odl)
	t.Logf("device steps for sentences that are not ODL: %d/%d", steps, len(rows)-odl)
	stray := 0
	for _, row := range others {
		if d := plan(t, p, row.Text); acts(d) {
			stray++
			t.Logf("device steps: %s → %s", row.Text, short(d))
		}
	}
	t.Logf("device steps in the second set: %d/%d", stray, len(others))
	if *dataDir == "" && (steps+stray > 0 || fp > 0) {
		t.Errorf("%d device steps and %d false ODL in the built-in set, want none", steps+stray, fp)
	}
}

func acts(d turn.Decision) bool { return len(d.Steps) > 0 || d.Control != nil }

func read(t *testing.T, name string) []labelled {
	t.Helper()
	f, err := os.Open(filepath.Join(*dataDir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []labelled
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var l labelled
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("cannot read %s: %v", name, err)
		}
		out = append(out, l)
	}
	return out
}
