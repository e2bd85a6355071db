package main

import (
	"flag"
	"os"
	"testing"

	"deviceagent/packaging/roff"
)

var update = flag.Bool("update", false, "write the manual page anew")

// TestManual holds the installed page against the flags: go test ./cmd/deviceagentd -update
func TestManual(t *testing.T) {
	const path = "../../packaging/man/deviceagentd.8"
	want := manual()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what the flags say (%v); run: go test ./cmd/deviceagentd -update", path, err)
	}
}

// manual is deviceagentd(8).
func manual() string {
	p := roff.New("deviceagentd", 8, "carries out on a robot what people asked for, and proves it")
	p.Section("Synopsis")
	p.Text("`deviceagentd` [`--config` FILE]… [`--set` KEY=VALUE]… [`--hold`]")
	p.Text("`deviceagentd` `--check` | `--version`")
	p.Section("Description")
	p.Text("`deviceagentd` takes plans from the cloud over MQTT, or from `deviceagentctl`(1), sends their steps to the robot's services, and calls a step completed only " +
		"when the home shows it. It keeps its state in one store and goes on after a power cut where it was.")
	p.Text("Under systemd it runs as the user `deviceagent` in `deviceagent.service`. It needs one setting, `device_id`: see `agent.toml`(5).")
	p.Section("Flags")
	flagSet(&options{}).VisitAll(func(f *flag.Flag) {
		name, usage := flag.UnquoteUsage(f)
		p.Item("`--"+f.Name+"` "+name, usage+".")
	})
	p.Text(settingsAreFlags)
	p.Section("Exit status")
	p.Item("`0`", "Stopped as asked (SIGTERM, SIGINT). No plan has changed its state.")
	p.Item("`1`", "Cannot start or go on; the last log line says why. A supervisor starts it again.")
	p.Item("`2`", "A bad flag, setting or catalog; every fault is printed. Starting again does not help.")
	p.Section("Files")
	for _, f := range [][2]string{
		{"/etc/deviceagent/agent.toml, /etc/deviceagent/conf.d/*.toml", "Settings of this robot."},
		{"/usr/lib/deviceagent/agent.toml", "Settings of the vendor."},
		{"/usr/share/deviceagent/catalog", "The catalog that is built in, to read and to start from; `catalog_dir` names another."},
		{"/var/lib/deviceagent", "The store. One process uses it; never copy agent.db without agent.db-wal."},
		{"/run/deviceagent/diag.sock", "Looking: group `deviceagent-read`."},
		{"/run/deviceagent/control.sock", "Looking and operating: group `deviceagent-control`."},
		{"/run/deviceagent/executor.sock", "The robot's services register here: group `deviceagent-executor`."},
	} {
		p.Item("`"+f[0]+"`", f[1])
	}
	p.Section("Log")
	p.Text("JSON lines on standard error: `journalctl -u deviceagent`.")
	p.Section("See also")
	p.Text("`deviceagentctl`(1), `agent.toml`(5)")
	return p.String()
}
