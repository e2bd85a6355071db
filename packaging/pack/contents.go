package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// content is one thing that a package installs.
type content struct {
	from string // path in the source, or "@…" below the stage, with $ARCH in it; a pattern stands for all that it matches
	to   string // absolute; ends in "/" where from is a pattern, or where it is a folder
	what string // for the documentation; empty: as the one before
	kind kind
	mode fs.FileMode // of a file; 0: 0644
	only []string    // formats; empty: all
}

type kind string

const (
	file     kind = "file"
	folder   kind = "dir"
	settings kind = "config|noreplace" // kept on upgrade once somebody has changed it
)

// product is one package.
type product struct {
	name     string
	summary  string
	text     string
	programs []string // commands that go in
	scripts  bool     // users, units: packaging/scripts
	depends  map[string][]string
	wishes   map[string][]string // recommended: not needed for a start
	contents []content
}

const unitDir = "/usr/lib/systemd/system/"

// agentProduct is what a robot needs. The recipes in packaging/yocto and packaging/buildroot install the same files.
var agentProduct = product{
	name:     "deviceagent",
	summary:  "carries out on a robot what people asked for, and proves it",
	text:     "DeviceAgent takes plans from the cloud or from a person at the robot, sends their steps to the robot's services, and calls a\nstep completed only when the home shows it. It goes on after a power cut where it was.",
	programs: []string{"deviceagentd", "deviceagentctl"},
	scripts:  true,
	depends:  map[string][]string{"deb": {"systemd | systemd-standalone-sysusers"}},
	wishes:   map[string][]string{"deb": {"dbus", "ca-certificates"}, "rpm": {"dbus", "ca-certificates"}, "ipk": {"dbus", "ca-certificates"}},
	contents: []content{
		{from: "@bin/$ARCH/deviceagentd", to: "/usr/bin/deviceagentd", mode: 0o755, what: "the agent"},
		{from: "@bin/$ARCH/deviceagentctl", to: "/usr/bin/deviceagentctl", mode: 0o755, what: "the field tool: [cli.md](cli.md)"},
		{from: "packaging/systemd/deviceagent.service", to: unitDir + "deviceagent.service", what: "the service, in its sandbox"},
		{from: "packaging/systemd/deviceagent-read.socket", to: unitDir + "deviceagent-read.socket", what: "door of those who look"},
		{from: "packaging/systemd/deviceagent-control.socket", to: unitDir + "deviceagent-control.socket", what: "door of those who operate"},
		{from: "packaging/systemd/deviceagent-executor.socket", to: unitDir + "deviceagent-executor.socket", what: "door of the robot's services"},
		{from: "packaging/sysusers.d/deviceagent.conf", to: "/usr/lib/sysusers.d/deviceagent.conf", what: "the user `deviceagent` and a group for each door"},
		{from: "packaging/tmpfiles.d/deviceagent.conf", to: "/usr/lib/tmpfiles.d/deviceagent.conf", what: "`/run/deviceagent`"},
		{from: "packaging/dbus/org.deviceagent.Agent1.conf", to: "/usr/share/dbus-1/system.d/org.deviceagent.Agent1.conf", what: "who may call the agent on the bus, and what"},
		{from: "packaging/dbus/org.deviceagent.Agent1.xml", to: "/usr/share/dbus-1/interfaces/org.deviceagent.Agent1.xml", what: "what the agent is on the bus"},
		{from: "packaging/polkit/deviceagent.rules", to: "/usr/share/polkit-1/rules.d/deviceagent.rules", what: "lets the agent keep the machine awake while the body moves"},
		{from: "executors/dbus/executor1.xml", to: "/usr/share/dbus-1/interfaces/org.deviceagent.Executor1.xml", what: "what a service implements: [dbus-executor.md](dbus-executor.md)"},
		{from: "packaging/etc/agent.toml", to: "/etc/deviceagent/agent.toml", kind: settings, what: "settings of this robot, all commented out; kept on upgrade"},
		{to: "/etc/deviceagent/conf.d/", kind: folder, what: "more of them"},
		{from: "packaging/lib/agent.toml", to: "/usr/lib/deviceagent/agent.toml", what: "settings of the maker; empty"},
		{from: "packaging/catalog/*.json", to: "/usr/share/deviceagent/catalog/", what: "the built-in catalog, to read and to start from: [catalog.md](catalog.md)"},
		{from: "packaging/catalog/schema/*.json", to: "/usr/share/deviceagent/catalog/schema/", what: "its schemas"},
		{from: "@man/deviceagentd.8.gz", to: "/usr/share/man/man8/deviceagentd.8.gz", what: "manual"},
		{from: "@man/deviceagentctl.1.gz", to: "/usr/share/man/man1/deviceagentctl.1.gz"},
		{from: "@man/agent.toml.5.gz", to: "/usr/share/man/man5/agent.toml.5.gz"},
		{from: "@completion/bash", to: "/usr/share/bash-completion/completions/deviceagentctl", what: "completion for bash, zsh and fish"},
		{from: "@completion/zsh", to: "/usr/share/zsh/vendor-completions/_deviceagentctl", only: []string{"deb"}}, // Debian's own folder for packages
		{from: "@completion/zsh", to: "/usr/share/zsh/site-functions/_deviceagentctl", only: []string{"rpm", "ipk", "apk"}},
		{from: "@completion/fish", to: "/usr/share/fish/vendor_completions.d/deviceagentctl.fish"},
		{from: "@$ARCH/deviceagent/copyright", to: "/usr/share/doc/deviceagent/copyright", what: "licences of all that is linked in, in full"},
		{from: "@$ARCH/deviceagent/sbom.cdx.json", to: "/usr/share/doc/deviceagent/sbom.cdx.json", what: "bill of materials (CycloneDX 1.5), read out of the programs"},
		{from: "@doc/changelog.gz", to: "/usr/share/doc/deviceagent/changelog.gz", what: "what changed"},
		{from: "docs/operations.md", to: "/usr/share/doc/deviceagent/operations.md", what: "the pages for those who install, operate and integrate"},
		{from: "docs/provisioning.md", to: "/usr/share/doc/deviceagent/provisioning.md"},
		{from: "docs/packages.md", to: "/usr/share/doc/deviceagent/packages.md"},
		{from: "docs/settings.md", to: "/usr/share/doc/deviceagent/settings.md"},
		{from: "docs/cli.md", to: "/usr/share/doc/deviceagent/cli.md"},
		{from: "docs/security.md", to: "/usr/share/doc/deviceagent/security.md"},
		{from: "docs/store.md", to: "/usr/share/doc/deviceagent/store.md"},
		{from: "docs/catalog.md", to: "/usr/share/doc/deviceagent/catalog.md"},
		{from: "docs/executor-socket.md", to: "/usr/share/doc/deviceagent/executor-socket.md"},
		{from: "docs/dbus-executor.md", to: "/usr/share/doc/deviceagent/dbus-executor.md"},
		{from: "docs/agent-dbus.md", to: "/usr/share/doc/deviceagent/agent-dbus.md"},
		{from: "docs/process-executor.md", to: "/usr/share/doc/deviceagent/process-executor.md"},
		{from: "packaging/mosquitto/*.*", to: "/usr/share/doc/deviceagent/examples/mosquitto/", what: "for the broker in the cloud: who may read and write what"},
		{from: "packaging/security/example-ca.sh", to: "/usr/share/doc/deviceagent/examples/security/example-ca.sh", mode: 0o755, what: "a small authority for labs: [security.md](security.md#an-authority-for-a-lab)"},
	},
}

// testbedProduct is for benches: a robot that is played, and the checks of a service.
var testbedProduct = product{
	name:     "deviceagent-testbed",
	summary:  "a simulated robot and checks for DeviceAgent, for benches",
	text:     "A simulated home and robot that registers with the agent, and checks for the services of a robot. For benches, not for robots\nthat are delivered.",
	programs: []string{"testbed"},
	contents: []content{
		{from: "@bin/$ARCH/testbed", to: "/usr/bin/testbed", mode: 0o755, what: "`testbed robot` and the rest"},
		{from: "@$ARCH/deviceagent-testbed/copyright", to: "/usr/share/doc/deviceagent-testbed/copyright", what: "licences"},
		{from: "@$ARCH/deviceagent-testbed/sbom.cdx.json", to: "/usr/share/doc/deviceagent-testbed/sbom.cdx.json", what: "bill of materials"},
		{from: "docs/conformance.md", to: "/usr/share/doc/deviceagent-testbed/conformance.md", what: "how to check a service"},
		{from: "executors/dbus/examples/python/*.*", to: "/usr/share/doc/deviceagent-testbed/examples/python/", what: "a service of a robot in Python, and one in C"},
		{from: "executors/dbus/examples/c/*.*", to: "/usr/share/doc/deviceagent-testbed/examples/c/"},
		{from: "executors/dbus/examples/c/Makefile", to: "/usr/share/doc/deviceagent-testbed/examples/c/Makefile"},
		{from: "testbed/scenarios/S0[1-6]*.scn", to: "/usr/share/doc/deviceagent-testbed/examples/", what: "scenarios to play and to start from: [scenarios.md](scenarios.md)"},
	},
}

var products = []product{agentProduct, testbedProduct}

// formats of packages, and how each is named.
var formats = []string{"deb", "rpm", "ipk", "apk"}

// arch is one kind of robot.
type arch struct {
	name  string            // as people and this repository say it
	env   []string          // for the Go tool chain
	nfpm  string            // as nfpm is told
	named map[string]string // as each format says it
}

// The baseline of each is what every robot of that kind has.
var arches = []arch{
	{"arm64", []string{"GOARCH=arm64", "GOARM64=v8.0"}, "arm64", map[string]string{"deb": "arm64", "rpm": "aarch64", "ipk": "arm64", "apk": "aarch64"}},
	{"armv7", []string{"GOARCH=arm", "GOARM=7"}, "arm7", map[string]string{"deb": "armhf", "rpm": "armv7hl", "ipk": "armhf", "apk": "armv7"}},
	{"amd64", []string{"GOARCH=amd64", "GOAMD64=v1"}, "amd64", map[string]string{"deb": "amd64", "rpm": "x86_64", "ipk": "x86_64", "apk": "x86_64"}},
	{"riscv64", []string{"GOARCH=riscv64", "GORISCV64=rva20u64"}, "riscv64", map[string]string{"deb": "riscv64", "rpm": "riscv64", "ipk": "riscv64", "apk": "riscv64"}},
}

// fileName is what a finished package is called.
func (s stage) fileName(p product, a arch, format string) string {
	if format == "rpm" {
		return fmt.Sprintf("%s-%s-1.%s.rpm", p.name, s.in(format), a.named[format])
	}
	return fmt.Sprintf("%s_%s_%s.%s", p.name, s.in(format), a.named[format], format)
}

// expand makes patterns into what they match and leaves out what is not for this format. root is the source.
func expand(root string, list []content, format string) (out []content, err error) {
	for _, c := range list {
		if len(c.only) > 0 && !slices.Contains(c.only, format) {
			continue
		}
		c.kind, c.mode = cmp.Or(c.kind, file), cmp.Or(c.mode, 0o644)
		if !strings.ContainsAny(c.from, "*?[") {
			out = append(out, c)
			continue
		}
		found, err := filepath.Glob(filepath.Join(root, c.from))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("cannot find anything like %s: %v", c.from, err)
		}
		for _, at := range found { // sorted
			one := c
			one.from = path.Join(path.Dir(c.from), filepath.Base(at))
			one.to = c.to + filepath.Base(at)
			out = append(out, one)
		}
	}
	return out, nil
}

// paths are where contents go, sorted.
func paths(list []content) (out []string) {
	for _, c := range list {
		out = append(out, strings.TrimSuffix(c.to, "/"))
	}
	slices.Sort(out)
	return out
}
