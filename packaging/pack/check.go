package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// check holds a finished package against the list of contents: the same paths and no other, each with its mode, owner and bytes.
func (s stage) check(at string, p product, a arch, format string) (faults []string, err error) {
	u, err := unpack(at, format)
	if err != nil {
		return nil, err
	}
	list, err := expand(s.root, p.contents, format)
	if err != nil {
		return nil, err
	}
	faults = s.contentFaults(u, list, a)
	if p.scripts {
		faults = append(faults, s.scriptFaults(u, format)...)
	} else if len(u.scripts) > 0 {
		faults = append(faults, "it has scripts and should have none")
	}
	for i := range faults {
		faults[i] = at + ": " + faults[i]
	}
	return faults, nil
}

func (s stage) contentFaults(u unpacked, list []content, a arch) (faults []string) {
	want := paths(list)
	for _, name := range u.names() {
		if !slices.Contains(want, name) {
			faults = append(faults, name+" is in it and in no list")
		}
	}
	for _, c := range list {
		got, ok := u.files[strings.TrimSuffix(c.to, "/")]
		if !ok {
			faults = append(faults, c.to+" is missing")
			continue
		}
		faults = append(faults, s.fileFaults(got, c, a)...)
	}
	return faults
}

func (s stage) fileFaults(got installed, c content, a arch) (faults []string) {
	want := installed{mode: c.mode, owner: "root:root", kept: c.kind == settings}
	if c.kind == folder {
		want.mode = fs.ModeDir | 0o755
	} else {
		text, err := os.ReadFile(s.source(c, a))
		if err != nil {
			return []string{err.Error()}
		}
		want.digest = digest(text)
	}
	if got != want {
		faults = append(faults, fmt.Sprintf("%s is %+v, should be %+v", c.to, got, want))
	}
	return faults
}

// hookNames are the hooks as each format calls them, in the order of [hooks].
var hookNames = map[string][]string{
	"deb": {"preinst", "postinst", "prerm", "postrm"},
	"ipk": {"preinst", "postinst", "prerm", "postrm"},
	"apk": {"pre-install", "post-install", "pre-deinstall", "post-deinstall"},
	"rpm": {"preinstall", "postinstall", "preuninstall", "postuninstall"},
}

// scriptFaults finds each hook in the package as it was written, and lets a shell read it: what it cannot read would leave a robot half
// installed.
func (s stage) scriptFaults(u unpacked, format string) (faults []string) {
	for i, hook := range hooks {
		name := hookNames[format][i]
		want, err := os.ReadFile(filepath.Join(s.dir, "scripts", format, hook))
		if err != nil {
			return append(faults, err.Error())
		}
		if got, ok := u.scripts[name]; !ok || bare(got) != bare(string(want)) {
			faults = append(faults, name+" is not the script that was written for it")
		}
		cmd := exec.Command("sh", "-n")
		cmd.Stdin = strings.NewReader(string(want))
		if out, err := cmd.CombinedOutput(); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v: %s", name, err, out))
		}
	}
	if format == "apk" && bare(u.scripts["post-upgrade"]) != bare(u.scripts["post-install"]) {
		faults = append(faults, "an upgrade of the apk does not do what an installation does")
	}
	return faults
}

// bare is a script without what formats add or take away: the first line and blanks around.
func bare(script string) string {
	return strings.TrimSpace(strings.TrimPrefix(script, "#!/bin/sh\n"))
}
