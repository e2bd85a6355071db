package wire

import (
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	for _, tc := range []struct{ rule, good, bad string }{
		{"id", "aZ09._:-", ""},
		{"id", strings.Repeat("a", 128), strings.Repeat("a", 129)},
		{"id", "a", "a@b"},
		{"id", "a", "거실"},
		{"id", "a", "a\n"},
		{"ref", "wf@20261224T1800", "a/b"},
		{"uuid7", testID, strings.ToUpper(testID)},
		{"uuid7", testID, "01931f2e-7c00-4000-8000-000000000001"},
		{"uuid7", testID, "01931f2e-7c00-7000-c000-000000000001"},
		{"uuid7", testID, "01931f2e07c00-7000-8000-000000000001"},
		{"uuid7", testID, testID + "0"},
		{"sha256", strings.Repeat("0a", 32), strings.Repeat("0a", 31)},
		{"sha256", strings.Repeat("0a", 32), strings.Repeat("0A", 32)},
		{"sha256", strings.Repeat("0a", 32), strings.Repeat("0a", 31) + "-1"},
		{"time", "2026-11-30T09:00:00Z", "2026-11-30T09:00:00"},
		{"time", "2026-11-30T09:00:00.123+09:00", "2026-11-30T09:00:00,123+09:00"},
		{"time", "2024-02-29T00:00:00Z", "2026-02-29T00:00:00Z"},
		{"time", "2026-11-30T23:59:59Z", "2026-11-30T23:59:60Z"},
		{"time", "2026-11-30T09:00:00Z", "2026-11-30 09:00:00Z"},
		{"time", "2026-11-30T09:00:00Z", "2026-11-30T09:00:00." + strings.Repeat("0", 30) + "Z"},
		{"some", "a", ""},
		{"enum=a|b;later=c", "b", "c"},
		{"const=x", "x", "X"},
	} {
		r, err := parseRule(tc.rule)
		if err != nil {
			t.Fatal(err)
		}
		if reason, msg := r.text(tc.good, DefaultLimits()); reason != "" {
			t.Errorf("%s refuses %q: %s", tc.rule, tc.good, msg)
		}
		if reason, msg := r.text(tc.bad, DefaultLimits()); reason == "" || msg == "" {
			t.Errorf("%s accepts %q", tc.rule, tc.bad)
		}
	}
	for _, bad := range []string{"nonsense", "int=a:b", "min=x"} {
		if _, err := parseRule(bad); err == nil {
			t.Errorf("rule %q was read", bad)
		}
	}
}

func TestNamesOfInputsAreBounded(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("n", 129)} {
		text := strings.Replace(planJSON("1"), `"params"`, `"input_from":{"`+name+`":"out.x"},"params"`, 1)
		if e := refusalOf(t, []byte(text), Options{AllowJSON: true}); e.Faults[0].ReasonCode != ReasonBadValue {
			t.Errorf("%+v", e.Faults)
		}
	}
}
