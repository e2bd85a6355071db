package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"deviceagent/agent/config"
)

var update = flag.Bool("update", false, "add what is new to testdata/shipped.txt and docs/packages.md")

const shippedFile = "testdata/shipped.txt"

// shippedNow is everything that somebody's scripts or fingers may know by its name: paths, settings, commands, units.
func shippedNow(t *testing.T) (out []string) {
	for _, p := range products {
		list, err := expand(root, p.contents, "deb")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range paths(list) {
			if !strings.HasPrefix(at, "/usr/share/doc/") { // nothing hangs on a page
				out = append(out, "path "+at)
			}
		}
	}
	for _, k := range config.Keys() {
		out = append(out, "setting "+k.Name, "variable "+k.Env)
	}
	_, table, _ := strings.Cut(read(t, "docs/cli.md"), "<!-- generated: commands -->")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+(?: [a-z]+)?)").FindAllStringSubmatch(table, -1) {
		out = append(out, "command deviceagentctl "+m[1])
	}
	return out
}

// gone lists what was shipped once and is neither here nor has another name here ("old => new").
func gone(shipped string, now []string) (faults []string) {
	for line := range strings.Lines(shipped) {
		name, alias, renamed := strings.Cut(strings.TrimSpace(line), " => ")
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if slices.Contains(now, name) && !renamed {
			continue
		}
		if !renamed || !slices.Contains(now, alias) || !slices.Contains(now, name) {
			faults = append(faults, name+" was shipped and is gone: an upgrade breaks whoever uses it. Keep it, also beside a new name")
		}
	}
	return faults
}

// TestH6_NothingEverShippedLosesItsName: fleets broke over an upgrade that renamed a command. The list only grows; -update adds.
func TestH6_NothingEverShippedLosesItsName(t *testing.T) {
	text, err := os.ReadFile(shippedFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	now := shippedNow(t)
	if len(now) < 100 {
		t.Fatalf("only %d names: not all were found", len(now))
	}
	for _, fault := range gone(string(text), now) {
		t.Error(fault)
	}
	var lacks []string
	for _, name := range now {
		if !slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == name || strings.HasPrefix(line, name+" => ") }) {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) == 0 {
		return
	}
	if !*update {
		t.Fatalf("new names, which go test ./packaging/pack -update adds: %q", lacks)
	}
	if len(text) == 0 {
		text = []byte("# What was ever shipped under this name. Lines are added (go test ./packaging/pack -update) and never taken away;\n# \"old => new\": it has a new name, and the old one still works.\n")
	}
	if err := os.WriteFile(shippedFile, append(text, strings.Join(lacks, "\n")+"\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsGoneIsFound(t *testing.T) {
	now := []string{"path /usr/bin/a", "path /usr/bin/b", "setting x"}
	for shipped, want := range map[string]int{
		"# a comment\n\npath /usr/bin/a\nsetting x\n":  0,
		"path /usr/bin/c\n":                            1,
		"setting y\npath /usr/bin/c\n":                 2,
		"path /usr/bin/a => path /usr/bin/b\n":         0,
		"path /usr/bin/a => path /usr/bin/elsewhere\n": 1,
		"path /usr/bin/old => path /usr/bin/b\n":       1,
	} {
		if got := gone(shipped, now); len(got) != want {
			t.Errorf("%q: %q, want %d", shipped, got, want)
		}
	}
}

// TestContentsAreInTheSource: each thing is there, goes to one place, and is said what it is.
func TestContentsAreInTheSource(t *testing.T) {
	for _, p := range products {
		for _, format := range formats {
			list, err := expand(root, p.contents, format)
			if err != nil {
				t.Fatal(err)
			}
			all := paths(list)
			if len(slices.Compact(slices.Clone(all))) != len(all) {
				t.Errorf("%s: two things go to one place in the %s", p.name, format)
			}
			for _, c := range list {
				if c.kind == folder || strings.HasPrefix(c.from, "@") {
					continue
				}
				if _, err := os.Stat(root + "/" + c.from); err != nil {
					t.Error(err)
				}
			}
		}
		if p.contents[0].what == "" {
			t.Errorf("%s: the first thing does not say what it is", p.name)
		}
	}
}

// TestUnitsStartWhatIsInstalled: what a unit names has to be in the package with it.
func TestUnitsStartWhatIsInstalled(t *testing.T) {
	all := paths(agentProduct.contents)
	for _, unit := range []string{"deviceagent.service", "deviceagent-read.socket", "deviceagent-control.socket", "deviceagent-executor.socket"} {
		text := read(t, "packaging/systemd/"+unit)
		for _, m := range regexp.MustCompile(`(?m)^ExecStart=(\S+)`).FindAllStringSubmatch(text, -1) {
			if !slices.Contains(all, m[1]) {
				t.Errorf("%s starts %s, which is not in the package", unit, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`man:(\S+)\((\d)\)`).FindAllStringSubmatch(text, -1) {
			if page := fmt.Sprintf("/usr/share/man/man%s/%s.%s.gz", m[2], m[1], m[2]); !slices.Contains(all, page) {
				t.Errorf("%s names %s, which is not in the package", unit, page)
			}
		}
	}
}

// TestTheTableOfContents holds docs/packages.md to the list.
func TestTheTableOfContents(t *testing.T) {
	const path = root + "/docs/packages.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, p := range products {
		begin, end := "<!-- generated: "+p.name+" -->\n", "<!-- end -->"
		_, rest, ok := strings.Cut(text, begin)
		have, _, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("docs/packages.md has no place for %s", p.name)
		}
		want := table(p)
		if have != want && !*update {
			t.Errorf("%s in docs/packages.md differs; go test ./packaging/pack -update writes it", p.name)
		}
		text = strings.Replace(text, begin+have+end, begin+want+end, 1)
	}
	if *update && text != string(raw) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// table puts what belongs together into one row.
func table(p product) string {
	var b strings.Builder
	b.WriteString("| path | what |\n| --- | --- |\n")
	for i, c := range p.contents {
		at := "`" + c.to + "`"
		if c.what == "" && i > 0 {
			fmt.Fprintf(&b, "<br>%s", at)
			continue
		}
		if i > 0 {
			fmt.Fprintf(&b, " | %s |\n", lastWhat(p.contents[:i]))
		}
		fmt.Fprintf(&b, "| %s", at)
	}
	fmt.Fprintf(&b, " | %s |\n", lastWhat(p.contents))
	return b.String()
}

func lastWhat(list []content) string {
	for _, c := range slices.Backward(list) {
		if c.what != "" {
			return c.what
		}
	}
	return ""
}
