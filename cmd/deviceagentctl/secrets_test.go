package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/testbed/authority"
)

// archived is all that is in an archive, names included.
func archived(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(strings.TrimSpace(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "\n== %s\n", h.Name)
		if _, err := io.Copy(&all, r); err != nil {
			t.Fatal(err)
		}
	}
}

// The day on which an agent does not start, since somebody wrote the password where it does not belong.
func TestSecretsThatStandInTheWrongPlaceDoNotLeave(t *testing.T) {
	l := newLine(t)
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pem := string(authority.Block("PRIVATE KEY", der))
	body := strings.Split(pem, "\n")[1]
	const password = `pa"ss wörd-51`
	passwordFile, keyFile := write(t, l.dir, "password", password+"\n"), write(t, l.dir, "key.pem", pem)
	etc := filepath.Join(installedRoot, "etc", "deviceagent")
	if err := os.MkdirAll(etc, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, etc, "agent.toml", fmt.Sprintf("device_id = \"rb-1\"\n# it was %s once\n# mqtts://rb:other-pa55@broker.example\n[broker]\nurl = \"mqtts://broker.example\"\ncert_file = %q\nkey_file = %q\npassword_file = %q\n", password, keyFile, keyFile, passwordFile))
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "journalctl"), []byte("#!/bin/sh\nprintf '%s\\n' 'the agent ended' 'key: "+body+"' 'token=abcd-efgh'\ncat '"+keyFile+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	for _, person := range []string{"--with-person-data", "--with-person-data=false"} {
		out, code := l.run("bundle", "--dir", t.TempDir(), person)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, out.stderr)
		}
		all := archived(t, out.stdout)
		for _, no := range []string{password, escaped(password), "other-pa55", "abcd-efgh", body} {
			if strings.Contains(all, no) {
				t.Errorf("%s: %q leaves with\n%s", person, no, all)
			}
		}
		for _, yes := range []string{"the agent ended", "it was [secret] once", passwordFile, `"secrets_taken_out": `} {
			if !strings.Contains(all, yes) {
				t.Errorf("%s: %q is missing in\n%s", person, yes, all)
			}
		}
	}
}

func TestASecretThatCannotBeReadIsNamed(t *testing.T) {
	l := newLine(t)
	etc := filepath.Join(installedRoot, "etc", "deviceagent")
	if err := os.MkdirAll(etc, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, etc, "agent.toml", fmt.Sprintf("device_id = \"rb-1\"\n[broker]\nurl = \"mqtts://broker.example\"\npassword_file = %q\n", filepath.Join(l.dir, "nowhere")))
	out, code := l.run("bundle", "--list", "-o", "json")
	if code != 0 || !strings.Contains(out.stdout, "broker.password_file was not searched for") {
		t.Errorf("exit %d: %s%s", code, out.stdout, out.stderr)
	}
}

func TestABundleTellsPlansWithTheirEvidence(t *testing.T) {
	r := newRobot(t)
	r.scene("ended")
	for _, person := range []bool{false, true} {
		out, code := r.run("bundle", "--dir", t.TempDir(), fmt.Sprintf("--with-person-data=%v", person))
		if code != 0 {
			t.Fatalf("exit %d: %s", code, out.stderr)
		}
		all := archived(t, out.stdout)
		for _, yes := range []string{"plan-details.jsonl", "evidence_timeout", "movement.arrived"} {
			if !strings.Contains(all, yes) {
				t.Errorf("%q is missing in\n%s", yes, all)
			}
		}
		if strings.Contains(all, "거실로 가서 청정해") != person || strings.Contains(all, `"output":{"room_id"`) != person {
			t.Errorf("with person data %v:\n%s", person, all)
		}
	}
}

// F63: the agent's own user may turn a folder in state_dir into a link. Root, who makes the archive, is not led by it to what only root may read.
func TestF63_AFolderInStateDirLeadsRootNowhere(t *testing.T) {
	root := os.Geteuid() == 0
	l := newLine(t)
	hidden := filepath.Join(t.TempDir(), "hidden")
	if err := os.MkdirAll(filepath.Join(hidden, "current"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(hidden, "current"), "agent.toml", "canary of root")
	if err := os.Symlink(hidden, filepath.Join(l.state, "identity")); err != nil {
		t.Fatal(err)
	}
	for at := l.state; at != os.TempDir() && at != "/"; at = filepath.Dir(at) { // another user has to reach it
		if err := os.Chmod(at, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if root { // another user's folder; who is not root has no more than its own, and the kernel keeps what is hidden
		if err := os.Chown(l.state, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	} else if err := os.Chmod(hidden, 0); err != nil {
		t.Fatal(err)
	} else {
		t.Cleanup(func() { _ = os.Chmod(hidden, 0o700) })
	}
	etc := filepath.Join(installedRoot, "etc", "deviceagent")
	if err := os.MkdirAll(etc, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, etc, "agent.toml", fmt.Sprintf("device_id = \"rb-1\"\nstate_dir = %q\n", l.state))
	out, code := l.run("bundle", "--dir", t.TempDir())
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out.stderr)
	}
	if all := archived(t, out.stdout); strings.Contains(all, "canary of root") {
		t.Errorf("root was led out:\n%s", all)
	}
}
