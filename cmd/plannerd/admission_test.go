package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"deviceagent/testbed/modelserver"
)

// admissionReport is what is promised of it.
type admissionReport struct {
	Precision struct{ Value float64 } `json:"admission_precision"`
	Recall    struct{ Value float64 } `json:"admission_recall"`
	Owners    int                     `json:"owner_changes"`

	Interference struct {
		Rate struct {
			Value       float64
			Denominator int
		} `json:"non_interference"`
		NotAdmitted struct{ With, Without asked } `json:"not_admitted"`
	}
}

type asked struct {
	Calls  int64 `json:"model_calls"`
	Tokens int64
}

// TestAdmissionAsItServes: the figures that docs/admission.md promises, without a model and with one.
func TestAdmissionAsItServes(t *testing.T) {
	fake := modelserver.New()
	server := httptest.NewServer(fake)
	t.Cleanup(func() { fake.Close(); server.Close() })
	for _, tc := range []struct {
		name string
		args []string
	}{
		{"rules", nil},
		{"a model", []string{"--model-provider", "openai", "--model-url", server.URL + "/v1", "--model-name", "fake", "--model-use", "always"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, bad bytes.Buffer
			if code := run(t.Context(), append([]string{"eval", "../../testbed/admission.jsonl", "-o", "json"}, tc.args...), &out, &bad); code != 0 {
				t.Fatalf("exit %d: %s", code, bad.String())
			}
			var rep admissionReport
			if err := json.Unmarshal(out.Bytes(), &rep); err != nil {
				t.Fatal(err)
			}
			if rep.Precision.Value < 0.98 || rep.Recall.Value < 0.90 || rep.Owners != 0 {
				t.Errorf("precision %v, recall %v, owners changed %d", rep.Precision.Value, rep.Recall.Value, rep.Owners)
			}
			if x := rep.Interference; x.Rate.Value < 0.99 || x.Rate.Denominator < 100 {
				t.Errorf("non-interference %+v", x.Rate)
			}
			if c := rep.Interference.NotAdmitted; c.With != c.Without || (tc.args != nil) != (c.With.Calls > 0) {
				t.Errorf("model calls and tokens %+v with, %+v without", c.With, c.Without)
			}
		})
	}
}
