package eval

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// admissionRow is a line of testbed/admission.jsonl: what a fair judge says of a sentence, by the rule in docs/admission.md.
type admissionRow struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Family   string   `json:"family"`
	Admitted *bool    `json:"admitted"`
	Axes     []string `json:"axes"`
	Note     string   `json:"note"`
}

// TestAdmissionRows keeps the shape of the set that admission is measured on: 100 sentences that ask for more than orders, and 40 of
// each of five families that only sound like it, half of them with a word that such requests use.
func TestAdmissionRows(t *testing.T) {
	data, err := os.ReadFile("../../../testbed/admission.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	axes := []string{"delegated_result", "lasting", "several_providers", "temporal_or_condition", "observation_or_consent"}
	lures := []string{"도와줘", "편하게", "끝나면"}
	ids, texts := map[string]bool{}, map[string]bool{}
	admitted, refused, lured, held := 0, map[string]int{}, map[string]int{}, map[string]bool{}
	for line := range bytes.Lines(data) {
		var r admissionRow
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		plain := strings.Join(strings.Fields(r.Text), "")
		if r.ID == "" || r.Text == "" || r.Family == "" || r.Admitted == nil || r.Note == "" || ids[r.ID] || texts[plain] {
			t.Errorf("%s: a field is missing, or stands there twice", line)
			continue
		}
		ids[r.ID], texts[plain] = true, true
		if !*r.Admitted {
			refused[r.Family]++
			if slices.ContainsFunc(lures, func(w string) bool { return strings.Contains(r.Text, w) }) {
				lured[r.Family]++
			}
			if len(r.Axes) != 0 {
				t.Errorf("%s is not admitted and has axes", r.ID)
			}
			continue
		}
		admitted++
		if len(r.Axes) < 2 {
			t.Errorf("%s is admitted on less than two axes", r.ID)
		}
		for _, a := range r.Axes {
			held[a] = true
			if !slices.Contains(axes, a) {
				t.Errorf("%s: axis %q is not one of %v", r.ID, a, axes)
			}
		}
	}
	if admitted != 100 {
		t.Errorf("%d sentences are admitted, want 100", admitted)
	}
	for _, f := range []string{"DEF", "FRG", "DQR", "ODL", "SCH"} {
		if refused[f] != 40 || lured[f] != 20 {
			t.Errorf("%s: %d are not admitted, %d of them with %v; want 40 and 20", f, refused[f], lured[f], lures)
		}
	}
	if len(refused) != 5 || len(held) != len(axes) {
		t.Errorf("families %v, axes %v: want five of each", refused, held)
	}
}
