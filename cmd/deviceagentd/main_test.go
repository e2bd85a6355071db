package main

import (
	"maps"
	"testing"

	"deviceagent/agent/config"
)

// TestEachSettingIsAFlag: docs/settings.md and the faults name them.
func TestEachSettingIsAFlag(t *testing.T) {
	for _, k := range config.Keys() {
		args := []string{"--" + k.Flag, "x"}
		if k.Kind == "true/false" {
			args = []string{"--" + k.Flag}
		}
		opt, err := flags(args)
		if _, ok := opt.set[k.Name]; err != nil || !ok {
			t.Errorf("%q: %v, sets %v", args, err, opt.set)
		}
	}
	opt, err := flags([]string{"--device-id=rb-1", "--allow-json=false", "--set", "log.level=debug", "--hold", "--check"})
	want := map[string]string{"device_id": "rb-1", "allow_json": "false", "log.level": "debug", "hold": "true"}
	if err != nil || !opt.check || !maps.Equal(opt.set, want) {
		t.Errorf("got %v, check %t (%v), want %v", opt.set, opt.check, err, want)
	}
	if _, err := flags([]string{"--divice-id=x"}); err == nil {
		t.Error("a flag that is none was taken")
	}
}
