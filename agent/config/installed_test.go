package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/packaging/roff"
)

// What the packages install about settings is made from the struct: go test ./agent/config -update
func TestInstalledSettings(t *testing.T) {
	for path, want := range map[string]string{"../../packaging/man/agent.toml.5": manual(), "../../packaging/etc/agent.toml": template()} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what the settings say (%v); run: go test ./agent/config -update", path, err)
		}
	}
}

// TestTheInstalledFileSaysNothing: as installed it leaves every setting to the layers below it, so that no value of today is frozen
// into a file that upgrades keep; with all its comments taken off it is the defaults, letter by letter, but for the id.
func TestTheInstalledFileSaysNothing(t *testing.T) {
	read := func(text string) Config {
		t.Helper()
		path := filepath.Join(t.TempDir(), "agent.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := Load(Sources{Files: []File{{Path: path, Must: true}}, Flags: map[string]string{"device_id": "rb-1"}})
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	want := Default()
	want.DeviceID = "rb-1"
	if got := read(template()); got != want {
		t.Errorf("as installed: %+v", got)
	}
	var bare strings.Builder
	for line := range strings.Lines(template()) {
		if text, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(text, " ") {
			line = text
		}
		bare.WriteString(line)
	}
	if n := strings.Count(bare.String(), " = "); n < len(Keys()) {
		t.Fatalf("%d settings in the file, there are %d", n, len(Keys()))
	}
	if got := read(bare.String()); got != want {
		t.Errorf("without its comments: %+v", got)
	}
}

// sections calls head before the first key of a section ("" is the top), and each for every key with its name in that section.
func sections(head func(section string), each func(k Key, name string)) {
	last := "?"
	for _, k := range Keys() {
		section, name := "", k.Name
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			section, name = name[:i], name[i+1:]
		}
		if section != last {
			head(section)
			last = section
		}
		each(k, name)
	}
}

// template is /etc/deviceagent/agent.toml as it is installed.
func template() string {
	var b strings.Builder
	b.WriteString(`# Settings of deviceagentd on this robot. Read at the start only. What is commented out has the value shown, unless
# /usr/lib/deviceagent/agent.toml (the vendor's) says otherwise. conf.d/*.toml beside this file is read after it. Upgrades keep
# this file. A typo stops the start and is named with its line:
#   deviceagentd --check
#   deviceagentctl config show
# All of it: man agent.toml
`)
	sections(func(section string) {
		if section != "" {
			fmt.Fprintf(&b, "\n[%s]\n", section)
		}
	}, func(k Key, name string) {
		fmt.Fprintf(&b, "\n# %s\n# %s\n#%s = %s\n", k.Doc, k.Allowed, name, k.Default)
	})
	return b.String()
}

// manual is agent.toml(5).
func manual() string {
	p := roff.New("agent.toml", 5, "settings of deviceagentd")
	p.Section("Description")
	p.Text("`deviceagentd`(8) reads its settings once, at the start. Later sources win over earlier ones, value by value:")
	for i, source := range []string{"built in", "`/usr/lib/deviceagent/agent.toml` (the vendor's)", "what `deviceagentctl provision` has set, in `state_dir`", "`/etc/deviceagent/agent.toml` (yours; upgrades keep it)",
		"`/etc/deviceagent/conf.d/*.toml`, in order of name", "`/run/deviceagent/agent.toml` (until the next reboot)", "environment variables `DEVICEAGENT_`…",
		"flags `--set` KEY=VALUE"} {
		p.Item(fmt.Sprintf("%d.", i+1), source)
	}
	p.Text("A typo, a wrong type or a value out of range stops the start: every fault is printed with file and line, and the exit status is 2. " +
		"`deviceagentd --check` looks without starting; `deviceagentctl config show` prints what is in force and where it came from.")
	p.Text("The files are TOML. Durations (\"45s\", \"1m30s\") and sizes (\"256KiB\") are written as text. Secrets are never settings: a setting names the file that holds one.")
	p.Section("Settings")
	sections(func(section string) {
		if section == "" {
			p.Text("At the top of the file, before any section:")
			return
		}
		p.Sub("[" + section + "]")
	}, func(k Key, name string) {
		p.Item("`"+name+"` = "+k.Default, k.Doc+" Allowed: "+k.Allowed+". Variable: `"+k.Env+"`.")
	})
	p.Section("Examples")
	p.Example("device_id = \"rb-0001\"\n\n[broker]\nurl = \"mqtts://broker.example\"\npassword_file = \"/etc/deviceagent/broker.password\"")
	p.Section("See also")
	p.Text("`deviceagentd`(8), `deviceagentctl`(1)")
	return p.String()
}
