package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A name from outside, as that of a device or of a file of settings, cannot lead out of the folder.
func TestF63_NothingInABundleLeadsOut(t *testing.T) {
	for _, name := range []string{"../../etc/passwd", "/etc/shadow", "..", "a/../../b", "rb-1\x00", ".hidden", "니"} {
		if got := safeName(name); strings.ContainsAny(got, "/\x00") || strings.HasPrefix(got, ".") || !filepath.IsLocal("x/"+got) {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	dir := t.TempDir()
	path, err := pack(dir, bundleNote{DeviceID: "../../x", Files: []bundleFile{{Name: "a.json", data: []byte("{}")}}})
	if err != nil || filepath.Dir(path) != dir {
		t.Fatalf("%q %v", path, err)
	}
	if _, err := pack(filepath.Join(dir, "nowhere"), bundleNote{}); err == nil {
		t.Error("written into a folder that is not there")
	}
}

// A link in the place of a file of settings is not followed.
func TestABundleFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	secret, link := filepath.Join(dir, "secret"), filepath.Join(dir, "agent.toml")
	if err := os.WriteFile(secret, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	if data, err := plainFile(link); err == nil {
		t.Errorf("read %q", data)
	}
	if data, err := plainFile(secret); err != nil || string(data) != "key" {
		t.Errorf("%q %v", data, err)
	}
}

func TestWhatABundleWithholds(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(`{"workflows":[{"id":"wf_1","goal":"비밀","state":"completed"}],"mode":{"why":"ich will nicht","mode":"manual"},
		"context":[{"key":"vital.heart_rate","value":77},{"key":"battery.level","value":80},{"key":"vital.state","value":"x"}],"evidence":[{"event":"vital.completed","data":{"bpm":77}}]}`), &v); err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal(withheld(v))
	for _, gone := range []string{"비밀", "nicht", "77"} {
		if strings.Contains(string(data), gone) {
			t.Errorf("%q is in %s", gone, data)
		}
	}
	for _, kept := range []string{"wf_1", "completed", `"value":80`, "manual"} {
		if !strings.Contains(string(data), kept) {
			t.Errorf("%q is not in %s", kept, data)
		}
	}
}

// Without an agent there is a bundle all the same, and it says that there is none.
func TestABundleWithoutAnAgent(t *testing.T) {
	r := newRobot(t)
	r.stop()
	out, code := r.run("bundle", "--dir", t.TempDir(), "-o", "json")
	if code != 0 || !strings.Contains(out.stdout, "deviceagent-unnamed") || strings.Contains(out.stdout, `"agent":"running"`) {
		t.Errorf("exit %d: %s", code, out)
	}
	if out, code := r.run("bundle", "--list"); code != 0 || !strings.Contains(out.stdout, "status.json") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestEraseAsksFirst(t *testing.T) {
	r := newRobot(t)
	if out, code := r.run("erase"); code != 2 {
		t.Errorf("exit %d: %s", code, out)
	}
	if out, code := r.run("erase", "--person-data"); code != 7 && code != 2 {
		t.Errorf("nobody was asked, exit %d: %s", code, out)
	}
	if out, code := r.run("erase", "--person-data", "--yes"); code != 0 || !strings.Contains(out.stdout, "2 ended plans") {
		t.Errorf("exit %d: %s", code, out)
	}
}
