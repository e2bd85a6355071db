package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// write makes a file and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads one file and fails the test on a fault.
func load(t *testing.T, text string) Config {
	t.Helper()
	c, _, err := Load(Sources{Files: []File{{Path: write(t, t.TempDir(), "agent.toml", text), Must: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// faultsOf reads one file and returns its faults, one a line, without the directory.
func faultsOf(t *testing.T, text string) []string {
	t.Helper()
	dir := t.TempDir()
	_, _, err := Load(Sources{Files: []File{{Path: write(t, dir, "agent.toml", text), Must: true}}})
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[Faults](err); !ok {
		t.Fatalf("the error is a %T", err)
	}
	return strings.Split(strings.ReplaceAll(err.Error(), dir+"/", ""), "\n")
}

func TestDefaultLacksOnlyTheDeviceID(t *testing.T) {
	c := Default()
	faults, _ := errors.AsType[Faults](c.Validate())
	if len(faults) != 1 || faults[0].Key != "device_id" {
		t.Fatalf("the defaults have the faults %v", faults)
	}
	c.DeviceID = "rb-0001"
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestEveryKindOfValueIsRead(t *testing.T) {
	c := load(t, `
device_id = "rb-0001"
hold = true
broker = { url = "mqtts://cloud.example:8883", keepalive = "1m30s" }
[limits]
steps = 1024
store_quota = "1GiB"
[time]
boot_id = "7f19faed-6192-4d7b-b909-86b9d5b927fb"
`)
	want := Default()
	want.DeviceID, want.Hold = "rb-0001", true
	want.Broker.URL, want.Broker.Keepalive = "mqtts://cloud.example:8883", Duration(90*time.Second)
	want.Limits.Steps, want.Limits.StoreQuota = 1024, GiB
	want.Time.BootID = "7f19faed-6192-4d7b-b909-86b9d5b927fb"
	if c != want {
		t.Fatalf("got  %+v\nwant %+v", c, want)
	}
}

func TestSocketsFollowTheRunDirUnlessTheyArePlaced(t *testing.T) {
	path := write(t, t.TempDir(), "agent.toml", "device_id = \"a\"\nrun_dir = \"/lab/run\"\n[diag]\ncontrol_socket = \"/lab/c.sock\"\n")
	c, o, err := Load(Sources{Files: []File{{Path: path}}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Diag.ReadSocket != "/lab/run/diag.sock" || c.Executor.Socket != "/lab/run/executor.sock" || c.Diag.ControlSocket != "/lab/c.sock" {
		t.Fatalf("got %+v, %+v", c.Diag, c.Executor)
	}
	if got := o["executor.socket"].Place; got != path+":2 (run_dir)" {
		t.Errorf("its origin is %q", got)
	}
	_, _, err = Load(Sources{Flags: map[string]string{"device_id": "a", "run_dir": "lab"}})
	if err == nil || strings.Count(err.Error(), "absolute") != 1 {
		t.Errorf("a folder that is no path: %v", err)
	}
	c, _, err = Load(Sources{Flags: map[string]string{"device_id": "a"}})
	if err != nil || c != (func() Config { d := Default(); d.DeviceID = "a"; return d })() {
		t.Errorf("the defaults have moved: %+v (%v)", c, err)
	}
}

func TestFaultsNameFileLineKeyAndValue(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"a typo", "device_id = \"a\"\n[broker]\nkeep_alive = \"45s\"", []string{
			`agent.toml:3: broker.keep_alive: there is no such setting`}},
		{"a typo in a section's name", "device_id = \"a\"\n[brocker]\nurl = \"tcp://a\"", []string{
			`agent.toml:3: brocker.url: there is no such setting`}},
		{"a typo in an inline table", "device_id = \"a\"\nbroker = { url = \"tcp://a\",  uri = 1 }", []string{
			`agent.toml:2: broker.uri: there is no such setting`}},
		{"an empty unknown section", "device_id = \"a\"\n\n[brocker]", []string{
			`agent.toml:3: brocker: there is no such setting`}},
		{"wrong types, all of them", "device_id = 7\nhold = \"yes\"\n[limits]\nsteps = \"128\"\nplan_bytes = 5\n[broker]\nkeepalive = 45", []string{
			`agent.toml:1: device_id = 7: must be text in quotes`,
			`agent.toml:2: hold = "yes": must be true or false, without quotes`,
			`agent.toml:4: limits.steps = "128": must be a whole number, without quotes`,
			`agent.toml:5: limits.plan_bytes = 5: must be a size as text, for example "256KiB"`,
			`agent.toml:7: broker.keepalive = 45: must be a duration as text, for example "45s"`}},
		{"types, typos and ranges at once", "device_id = \"a b\"\nhodl = true\n[limits]\nsteps = 0\nplan_bytes = \"1MiB\"\n[log]\nlevel = 3", []string{
			`agent.toml:1: device_id = "a b": must be 1 to 128 of A-Z a-z 0-9 . _ : -`,
			`agent.toml:2: hodl: there is no such setting`,
			`agent.toml:4: limits.steps = 0: must be 1 to 1024`,
			`agent.toml:5: limits.plan_bytes = "1MiB": must be 4KiB to 256KiB`,
			`agent.toml:7: log.level = 3: must be text in quotes`}},
		{"a section as a value", "device_id = \"a\"\nbroker = \"tcp://a\"", []string{
			`agent.toml:2: broker = "tcp://a": is a section: write [broker] and its settings below`}},
		{"a value as a section", "[device_id]\nx = 1", []string{
			`agent.toml:1: device_id = {...}: must be text in quotes`}},
		{"a list", "device_id = [\"a\"]", []string{`agent.toml:1: device_id = [a]: must be text in quotes`}},
		{"nothing at all", "", []string{`built in: device_id = "": must be set: it is the robot's name towards the cloud`}},
		{"two values that do not go together", "device_id = \"a\"\n[broker]\nencoding = \"json\"\nkey_file = \"/k\"", []string{
			`agent.toml:3: broker.encoding = "json": json needs allow_json = true`,
			`agent.toml:4: broker.key_file = "/k": cert_file and key_file must be set together`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := faultsOf(t, tc.text); !slices.Equal(got, tc.want) {
				t.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(tc.want, "\n  "))
			}
		})
	}
}

func TestBrokenSyntaxNamesTheLine(t *testing.T) {
	for _, text := range []string{"device_id = \"a\"\nhold = tru\n", "device_id = \"a\"\ndevice_id = \"b\"\n"} {
		got := faultsOf(t, text)
		if len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "agent.toml:2: cannot read the file: ") {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestFilesAreBounded(t *testing.T) {
	if got := faultsOf(t, "device_id = \"a\"\n"+strings.Repeat("#", fileCap)); len(got) != 2 || !strings.Contains(got[1], "at most") {
		t.Fatalf("got %q", got)
	}
}

func TestValuesOutOfRange(t *testing.T) {
	for _, tc := range []struct{ key, value string }{
		{"device_id", ""}, {"device_id", strings.Repeat("a", 129)}, {"device_id", "a/b"},
		{"state_dir", ""}, {"run_dir", "run"}, {"catalog_dir", "catalog"},
		{"broker.url", "http://a"}, {"broker.url", "tcp://"}, {"broker.url", "tcp://u:p@a"}, {"broker.url", "tcp://a/path"}, {"broker.url", "a:1883"},
		{"broker.encoding", "xml"}, {"broker.encoding", "json"},
		{"broker.keepalive", "4s"}, {"broker.keepalive", "21m"}, {"broker.keepalive", "5500ms"}, {"broker.keepalive", "0"},
		{"broker.username_file", "u"}, {"broker.username_file", "/u"}, {"broker.password_file", "p"}, {"broker.ca_file", "c"},
		{"broker.cert_file", "c"}, {"broker.cert_file", "/c"}, {"broker.key_file", "k"}, {"broker.key_file", "/k"},
		{"diag.read_socket", "s"}, {"diag.read_socket", "/" + strings.Repeat("a", 107)}, {"diag.control_socket", ""},
		{"diag.control_socket", "/run/deviceagent/diag.sock"}, {"executor.socket", "s"}, {"executor.socket", "/run/deviceagent/diag.sock"},
		{"firmware.bus", "system"}, {"firmware.read_group", "A B"}, {"firmware.control_group", "-"}, {"firmware.sources", "com.example.Buttons"},
		{"firmware.sources", "com.example.Buttons=*"}, {"firmware.sources", "Buttons=pui.*"}, {"broker.password_file", "credential:"}, {"broker.password_file", "credential:../x"}, {"broker.key_file", "secret"}, {"log.level", "trace"}, {"limits.steps", "0"}, {"limits.steps", "1025"}, {"limits.plan_bytes", "4095"}, {"limits.plan_bytes", "257KiB"},
		{"limits.store_quota", "7MiB"}, {"limits.store_quota", "17GiB"}, {"time.boot_id", "x"},
	} {
		flags := map[string]string{"device_id": "rb-0001", tc.key: tc.value}
		_, _, err := Load(Sources{Flags: flags})
		faults, _ := errors.AsType[Faults](err)
		if !slices.ContainsFunc(faults, func(f Fault) bool { return f.Key == tc.key && strings.HasPrefix(f.Place, "flag --") }) {
			t.Errorf("%s = %q: got %v", tc.key, tc.value, err)
		}
	}
}

// Each key has a rule, or a stated reason to have none: its kind allows no wrong value.
func TestEveryKeyHasARule(t *testing.T) {
	for _, k := range keys {
		rule, ok := rules[k.Name]
		if !ok || (rule == nil) != (k.Kind == "true/false") {
			t.Errorf("%s (%s): there is no rule for it", k.Name, k.Kind)
		}
	}
	if len(rules) != len(keys) {
		t.Errorf("%d rules for %d keys", len(rules), len(keys))
	}
}

func TestLayersAndOrigins(t *testing.T) {
	root := t.TempDir()
	vendor := write(t, root, "usr/lib/deviceagent/agent.toml", "device_id = \"vendor\"\nhold = true\n[limits]\nsteps = 10\n")
	admin := write(t, root, "etc/deviceagent/agent.toml", "device_id = \"admin\"\n[log]\nlevel = \"debug\"\n")
	write(t, root, "etc/deviceagent/conf.d/20-b.toml", "run_dir = \"/second\"\n")
	late := filepath.Join(root, "etc/deviceagent/conf.d/20-b.toml")
	write(t, root, "etc/deviceagent/conf.d/10-a.toml", "run_dir = \"/first\"\n")
	write(t, root, "etc/deviceagent/conf.d/readme", "not read")
	write(t, root, "etc/deviceagent/conf.d/.hidden.toml", "not read")
	boot := write(t, root, "run/deviceagent/agent.toml", "allow_inject = true\n")
	files, err := DefaultFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	c, origins, err := Load(Sources{
		Files:   files,
		Environ: []string{"PATH=/bin", "DEVICEAGENT_HOLD=false", "DEVICEAGENT_BROKER_KEEPALIVE=45s", "DEVICEAGENT_SOCKET=/x", "DEVICEAGENT_LOG_LEVEL=warn"},
		Flags:   map[string]string{"log.level": "error"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.DeviceID != "admin" || c.Hold || c.Limits.Steps != 10 || c.RunDir != "/second" || !c.AllowInject || c.Log.Level != "error" {
		t.Fatalf("in force: %+v", c)
	}
	for key, want := range map[string]Origin{
		"device_id":        {"file", admin + ":1"},
		"limits.steps":     {"file", vendor + ":4"},
		"run_dir":          {"file", late + ":1"},
		"allow_inject":     {"file", boot + ":1"},
		"hold":             {"environment", "environment DEVICEAGENT_HOLD"},
		"broker.keepalive": {"environment", "environment DEVICEAGENT_BROKER_KEEPALIVE"},
		"log.level":        {"flag", "flag --log-level"},
		"state_dir":        builtIn,
	} {
		if origins[key] != want {
			t.Errorf("%s comes from %+v, want %+v", key, origins[key], want)
		}
	}
	lines := Show(c, origins)
	if len(lines) != len(keys) || lines[0] != (Setting{"device_id", `"admin"`, origins["device_id"]}) {
		t.Errorf("shown: %+v", lines)
	}
}

func TestFaultsOfEverySourceComeInTheOrderOfTheSources(t *testing.T) {
	dir := t.TempDir()
	a, b := write(t, dir, "a.toml", "hodl = 1\n"), write(t, dir, "b.toml", "hold = 1\n")
	_, _, err := Load(Sources{
		Files:   []File{{Path: b}, {Path: a}, {Path: filepath.Join(dir, "missing"), Must: true}, {Path: filepath.Join(dir, "may be missing")}},
		Environ: []string{"DEVICEAGENT_HODL=true", "DEVICEAGENT_HOLD=1"},
		Flags:   map[string]string{"limits.steps": "many", "nosuch": "x"},
	})
	want := []string{
		`built in: device_id = "": must be set: it is the robot's name towards the cloud`,
		b + `:1: hold = 1: must be true or false, without quotes`,
		a + `:1: hodl: there is no such setting`,
		filepath.Join(dir, "missing") + `: cannot read the file: no such file or directory`,
		`environment DEVICEAGENT_HODL: DEVICEAGENT_HODL: there is no such setting`,
		`environment DEVICEAGENT_HOLD: hold = "1": must be true or false`,
		`flag --nosuch: nosuch: there is no such setting`,
		`flag --limits-steps: limits.steps = "many": must be a whole number`,
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestValuesReadBackAsWritten(t *testing.T) {
	for _, text := range []string{"45s", "1m", "1m30s", "1h", "1h0m5s"} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.String() != text {
			t.Errorf("duration %q reads back as %q (%v)", text, d, err)
		}
	}
	for text, want := range map[string]Size{"0": 0, "512": 512, "1KiB": KiB, "1023KiB": 1023 * KiB, "64MiB": 64 * MiB, "2GiB": 2 * GiB} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want || s.String() != text {
			t.Errorf("size %q is %d and reads back as %q (%v)", text, s, s, err)
		}
	}
	for _, bad := range []string{"", "KiB", "1 KiB", "-1", "1KB", "1.5GiB", "99999999999GiB", "+1"} {
		var s Size
		if err := s.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("size %q is read as %d", bad, s)
		}
	}
}

// No setting may hold a secret: whatever sounds like one must be the path of a file.
func TestSecretsAreOnlyNamed(t *testing.T) {
	for _, k := range keys {
		for _, word := range []string{"password", "secret", "token", "key", "cert", "username"} {
			if strings.Contains(k.Name, word) && !strings.HasSuffix(k.Name, "_file") {
				t.Errorf("%s sounds like a secret and is no path", k.Name)
			}
		}
	}
}

func TestNamesOfFlagsAndVariablesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Keys() {
		for _, name := range []string{k.Env, k.Flag} {
			if seen[name] {
				t.Errorf("%s is used twice", name)
			}
			seen[name] = true
		}
		if k.Doc == "" || k.Allowed == "" {
			t.Errorf("%s is not documented", k.Name)
		}
		def := Default()
		if err := k.setText(&def, strings.Trim(k.Default, `"`)); err != nil || !reflect.DeepEqual(def, Default()) {
			t.Errorf("the default %s of %s does not read back: %v", k.Default, k.Name, err)
		}
	}
}

func TestACredentialIsAFileThatSystemdHandsOver(t *testing.T) {
	for _, value := range []string{"/etc/x", ""} {
		if got, err := SecretPath(value); got != value || err != nil {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if _, err := SecretPath("credential:pw"); err == nil || !strings.Contains(err.Error(), "LoadCredential=") {
		t.Errorf("without credentials: %v", err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "/run/credentials/deviceagent.service")
	if got, err := SecretPath("credential:pw"); got != "/run/credentials/deviceagent.service/pw" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	c := Default()
	c.DeviceID, c.Broker.PasswordFile = "a", "credential:deviceagent.broker-password"
	if err := c.Validate(); err != nil {
		t.Errorf("a credential is no fault before it is needed: %v", err)
	}
}

func TestAPasswordInTheWrongPlaceIsNotRepeated(t *testing.T) {
	const password = "canary-p@ss/w0rd"
	for name, src := range map[string]Sources{
		"in the address":             {Flags: map[string]string{"device_id": "rb-1", "broker.url": "mqtts://robot:" + password + "@broker.example"}},
		"in place of its file":       {Flags: map[string]string{"device_id": "rb-1", "broker.password_file": "canary-password"}},
		"in the address, by a drop":  {Environ: []string{"DEVICEAGENT_BROKER_URL=mqtts://" + password + "@broker.example"}},
		"in place of the key's file": {Environ: []string{"DEVICEAGENT_BROKER_KEY_FILE=canary-key"}},
	} {
		_, _, err := Load(src)
		if err == nil || !strings.Contains(err.Error(), "broker.") || !strings.Contains(err.Error(), "not shown") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "w0rd")) {
			t.Errorf("%s: the fault repeats it: %v", name, err)
		}
	}
	long := Faults{{Key: "broker.url", Value: shown("mqtts://robot:" + strings.Repeat("canary", 30) + "@broker.example"), Message: "is nothing that is provisioned"}}
	if strings.Contains(long.Error(), "canary") {
		t.Errorf("a long address is cut in its password: %v", long)
	}
	if plain := (Fault{Key: "broker.url", Value: `"ftp://broker"`, Message: "…"}).String(); !strings.Contains(plain, "ftp://broker") {
		t.Errorf("what is no secret is not shown: %s", plain)
	}
}
