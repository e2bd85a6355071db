package deviceagent_test

import "strings"

// breach is a made-up file that breaks one rule, or nearly does: where fault is empty the rule must be silent.
type breach struct {
	rule, name string
	path       string
	text       string
	fault      string
}

const (
	planner = module + "/cloudlink/planner"
	pure    = "taskmanager/core/x.go"
)

func importing(names ...string) string {
	text := "package x\n"
	for _, n := range names {
		text += "import _ \"" + n + "\"\n"
	}
	return text
}

var breaches = []breach{
	{"imports", "core sees the Manager", pure, importing(module + "/taskmanager"), "taskmanager/core must not import taskmanager"},
	{"imports", "condition sees its parent", "taskmanager/core/condition/x.go", importing(module + "/taskmanager/core"), "must not import"},
	{"imports", "catalog sees its parent", "taskmanager/core/catalog/x.go", importing(module + "/taskmanager/core"), "must not import"},
	{"imports", "Manager sees its store", "taskmanager/x.go", importing(module + "/taskmanager/store"), "must not import"},
	{"imports", "Manager sees the wire", "taskmanager/x.go", importing(module + "/bridge/wire"), "must not import"},
	{"imports", "store sees executors", "taskmanager/store/x.go", importing(module + "/executors"), "must not import"},
	{"imports", "executors see the link", "executors/x.go", importing(module + "/cloudlink"), "must not import"},
	{"imports", "one binding sees another", "executors/socket/x.go", importing(module + "/executors/fake"), "must not import"},
	{"imports", "a new binding may see executors", "executors/dbus/x.go", importing(module+"/executors", module+"/taskmanager/core"), ""},
	{"imports", "link sees the Manager", "cloudlink/x.go", importing(module + "/taskmanager"), "must not import"},
	{"imports", "link sees the bridge", "cloudlink/x.go", importing(module + "/bridge"), "must not import"},
	{"imports", "link sees the planner", "cloudlink/x.go", importing(planner), "must not import"},
	{"imports", "planner sees the Manager", "cloudlink/planner/x.go", importing(module + "/taskmanager"), "must not import"},
	{"imports", "planner's child sees the core", "cloudlink/planner/rules/x.go", importing(module + "/taskmanager/core"), "must not import"},
	{"imports", "planner's child may see bridge and catalog", "cloudlink/planner/rules/x.go",
		importing(module+"/bridge", module+"/bridge/wire", module+"/taskmanager/core/catalog", planner+"/turn"), ""},
	{"imports", "planner sees the agent", "cloudlink/planner/x.go", importing(module + "/agent"), "must not import"},
	{"imports", "bridge sees the Manager", "bridge/x.go", importing(module + "/taskmanager"), "must not import"},
	{"imports", "bridge sees files", "bridge/x.go", importing(module + "/bridge/catalogfile"), "must not import"},
	{"imports", "wire sees the core", "bridge/wire/x.go", importing(module + "/taskmanager/core"), "must not import"},
	{"imports", "catalogfile may see the schemas", "bridge/catalogfile/x.go", importing(module + "/packaging/catalog"), ""},
	{"imports", "clock sees settings", "agent/clock/x.go", importing(module + "/agent/config"), "must not import"},
	{"imports", "agent sees the planner", "agent/x.go", importing(planner), "must not import"},
	{"imports", "agent sees the testbed", "agent/x.go", importing(module + "/testbed/home"), "must not import"},
	{"imports", "the daemon sees the core", "cmd/deviceagentd/x.go", importing(module + "/taskmanager/core"), "must not import"},
	{"imports", "a room nobody knows", "skills/x.go", importing(), "no room fits"},
	{"imports", "a test may join adapters", "executors/socket/x_test.go", importing(module + "/taskmanager/store"), ""},

	{"libraries", "core reads files", pure, importing("os"), "must not import os"},
	{"libraries", "core knows a library", pure, importing("github.com/google/uuid"), "must not import"},
	{"libraries", "core's child sorts with package sort", "taskmanager/core/catalog/x.go", importing("sort"), "must not import sort"},
	{"libraries", "core as it may be", pure, importing("cmp", "errors", "fmt", "maps", "slices", "strconv", "strings", "time"), ""},
	{"libraries", "Manager knows a database", "taskmanager/x.go", importing("modernc.org/sqlite"), "must not import modernc.org/sqlite"},
	{"libraries", "Manager as it may be", "taskmanager/x.go", importing("context", "sync", "github.com/rs/zerolog", "github.com/fxamacker/cbor/v2"), ""},

	{"purity", "clock", pure, "package core\nimport \"time\"\nvar t = time.Now()", "x.go:3: time.Now"},
	{"purity", "clock, by difference", pure, "package core\nimport \"time\"\nfunc f(t time.Time) any { return time.Since(t) }", "time.Since"},
	{"purity", "clock, as a value", pure, "package core\nimport \"time\"\nvar now = time.Now", "time.Now"},
	{"purity", "timer", pure, "package core\nimport \"time\"\nvar t = time.NewTimer(1)", "time.NewTimer"},
	{"purity", "wait", "taskmanager/core/catalog/x.go", "package catalog\nimport \"time\"\nvar t = time.After(1)", "time.After"},
	{"purity", "the machine's zone", pure, "package core\nimport \"time\"\nvar z = time.Local", "time.Local"},
	{"purity", "zone files", "taskmanager/schedule/x.go", "package schedule\nimport \"time\"\nvar z, _ = time.LoadLocation(\"\")", "time.LoadLocation"},
	{"purity", "renamed clock", pure, "package core\nimport clock \"time\"\nvar t = clock.Now()", "import time"},
	{"purity", "dice", pure, "package core\nimport \"math/rand/v2\"\nvar n = rand.Int()", "math/rand"},
	{"purity", "goroutine", pure, "package core\nfunc f() { go f() }", "a go statement"},
	{"purity", "channel", pure, "package core\nvar c chan int", "a channel"},
	{"purity", "receive", pure, "package core\nfunc f(c C) { <-c }", "a channel"},
	{"purity", "durations and given times are fine", pure, "package core\nimport \"time\"\nfunc f(t time.Time) time.Time { return t.Add(time.Minute) }", ""},
	{"purity", "elsewhere a clock is fine", "agent/x.go", "package agent\nimport \"time\"\nvar t = time.Now()", ""},

	{"package comment", "none", "agent/x.go", "package agent", "no package comment"},
	{"package comment", "one line", "agent/x.go", "// Package agent joins the parts.\npackage agent", "one line"},
	{"package comment", "says nothing", "agent/x.go", "// Package agent contains agent helpers.\n// More.\npackage agent", "says nothing"},
	{"package comment", "of another name", "agent/x.go", "// Package robot joins.\n// More.\npackage agent", "does not begin with Package agent"},
	{"package comment", "command called package", "cmd/plannerd/x.go", "// Package main is\n// a thing.\npackage main", "does not begin with Command plannerd"},
	{"package comment", "good", "agent/x.go", "// Package agent joins the parts.\n// It decides nothing.\npackage agent", ""},

	{"package name", "of the package", "bridge/x/x.go", "package helpers", "has no job"},
	{"package name", "of the folder", "bridge/util/x.go", "package x", "has no job"},

	{"file size", "too large", "agent/x.go", "package agent\n//" + strings.Repeat("x", maxGoFile), "at most 40960"},
	{"file size", "data may be large", "agent/x.json", strings.Repeat("x", maxGoFile+1), ""},

	{"text", "a path of one machine", "docs/x.md", "see /wo" + "rk/main/x", "belongs to one machine"},
	{"text", "a folder for scraps", "Makefile", "out = /tm" + "p/x", "belongs to one machine"},
	{"text", "a neighbour", "docs/x.md", "see ../sha" + "red/spec", "belongs to one machine"},
	{"text", "a registry", ".ci/x", "GOPROXY=https://proxy.gol" + "ang.org", "belongs to one machine"},
	{"text", "binary", "x.db", "\x00/tm" + "p/x", ""},
	{"text", "paths that every robot has", "docs/x.md", "/etc/deviceagent /run/deviceagent app/wo" + "rk/x", ""},
}
