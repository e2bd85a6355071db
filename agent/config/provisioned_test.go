package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// provision writes what stands provisioned below a folder and gives the folder.
func provision(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	path := Provisioned(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What was provisioned lies over the maker's settings and under the administrator's, wherever state_dir was set.
func TestWhatWasProvisionedIsALayer(t *testing.T) {
	dir := provision(t, "device_id = \"rb-1\"\n[broker]\nurl = \"mqtts://here\"\nca_file = \"/ca\"\n")
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("/usr/lib/deviceagent/agent.toml", "[broker]\nurl = \"mqtts://maker\"\nca_file = \"/maker\"\nkeepalive = \"20s\"\n")
	write("/etc/deviceagent/agent.toml", "[broker]\nca_file = \"/administrator\"\n")
	files, err := DefaultFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []Sources{
		{Files: files, Flags: map[string]string{"state_dir": dir}},
		{Files: files, Environ: []string{"DEVICEAGENT_STATE_DIR=" + dir}},
	} {
		c, o, err := Load(from)
		if err != nil {
			t.Fatal(err)
		}
		if c.DeviceID != "rb-1" || c.Broker.URL != "mqtts://here" || c.Broker.CAFile != "/administrator" || c.Broker.Keepalive.String() != "20s" {
			t.Errorf("%+v", c)
		}
		if want := Provisioned(dir) + ":1"; o["device_id"].Place != want {
			t.Errorf("device_id is said to be from %s, want %s", o["device_id"].Place, want)
		}
		if StateDir(from) != dir {
			t.Errorf("state_dir %s", StateDir(from))
		}
	}
}

// The agent may write the file itself; its own limits and doors are no matter of it.
func TestOnlyTheIdentityIsProvisioned(t *testing.T) {
	for _, text := range []string{"state_dir = \"/other\"", "allow_json = true", "[diag]\ncontrol_socket = \"/run/x\""} {
		dir := provision(t, "device_id = \"rb-1\"\n"+text+"\n")
		if _, _, err := Load(Sources{Flags: map[string]string{"state_dir": dir}}); err == nil || !strings.Contains(err.Error(), "nothing that is provisioned") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
