package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/settings.md anew")

const settingsDoc = "../../docs/settings.md"

// docs/settings.md is made from the struct: go test ./agent/config -update
func TestSettingsReference(t *testing.T) {
	want := reference()
	if *update {
		if err := os.WriteFile(settingsDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(settingsDoc)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Fatal("docs/settings.md is not what the settings say; run: go test ./agent/config -update")
	}
}

func reference() string {
	var b strings.Builder
	b.WriteString(`<!-- Made from agent/config by "go test ./agent/config -update". Do not edit. -->

# Settings

The agent reads its settings once, at the start. Later sources win over earlier ones, value by value:

1. built in
2. ` + "`/usr/lib/deviceagent/agent.toml`" + ` (the vendor's)
3. what ` + "`deviceagentctl provision`" + ` has set for this robot, in ` + "`state_dir`" + `: name, broker, keys ([provisioning.md](provisioning.md))
4. ` + "`/etc/deviceagent/agent.toml`" + ` (yours)
5. ` + "`/etc/deviceagent/conf.d/*.toml`" + `, in order of name
6. ` + "`/run/deviceagent/agent.toml`" + ` (until the next reboot)
7. environment variables ` + "`DEVICEAGENT_…`" + `
8. flags ` + "`--…`" + `

` + "`deviceagentctl config show`" + ` prints what is in force and where each value came from. A typo, a wrong type or a value out of range stops the start: every
fault is printed with file and line, key and value, and the exit status is 2. Files are TOML; durations (` + "`\"45s\"`, `\"1m30s\"`" + `) and sizes (` + "`\"256KiB\"`, `\"64MiB\"`" + `) are
written as text. Secrets are never settings: a setting names the file that holds one.

`)
	last := "?"
	for _, k := range Keys() {
		section, name := "", k.Name
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			section, name = name[:i], name[i+1:]
		}
		if section != last {
			title := "## At the top of the file"
			if section != "" {
				title = "\n## `[" + section + "]`"
			}
			fmt.Fprintf(&b, "%s\n\n| key | default | allowed | meaning | variable | flag |\n| --- | --- | --- | --- | --- | --- |\n", title)
			last = section
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | `%s` | `--%s` |\n", name, k.Default, k.Allowed, k.Doc, k.Env, k.Flag)
	}
	return b.String()
}
