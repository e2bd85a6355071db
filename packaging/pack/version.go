package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// release is what one run of pack makes: the version as Debian writes it, and the moment that stands in every package.
type release struct {
	version string // "0.1.0", or "0.1.0~git20261130215942.9e6982a" on the way there
	at      time.Time
}

// releaseOf reads the release from packaging/VERSION and git. A commit with the tag v0.1.0 is 0.1.0; each other is on the way there,
// and "~" sorts before it. VERSION and SOURCE_DATE_EPOCH in the environment win: a source without git needs the second.
func releaseOf(root string, env func(string) string) (release, error) {
	base, err := os.ReadFile(filepath.Join(root, "packaging/VERSION"))
	if err != nil {
		return release{}, fmt.Errorf("cannot read the version: %w", err)
	}
	r := release{version: env("VERSION")}
	at, err := strconv.ParseInt(cmp.Or(env("SOURCE_DATE_EPOCH"), git(root, "show", "-s", "--format=%ct", "HEAD")), 10, 64)
	if err != nil {
		return release{}, fmt.Errorf("cannot tell when the source was made: no git here; set SOURCE_DATE_EPOCH (seconds)")
	}
	r.at = time.Unix(at, 0).UTC()
	if r.version == "" {
		r.version = describe(strings.TrimSpace(string(base)), git(root, "tag", "--points-at", "HEAD"), git(root, "rev-parse", "--short=7", "HEAD"),
			git(root, "status", "--porcelain") != "", r.at)
	}
	if !versionForm.MatchString(r.version) {
		return release{}, fmt.Errorf("cannot use the version %q: every format can write 1.2.3 and 1.2.3~git…", r.version)
	}
	return r, nil
}

var versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+(~git\d{14}(\.[0-9a-f]+)?(\.dirty)?)?$`)

func describe(base, tags, commit string, dirty bool, at time.Time) string {
	for tag := range strings.Lines(tags) {
		if strings.TrimSpace(tag) == "v"+base && !dirty {
			return base
		}
	}
	v := base + "~git" + at.Format("20060102150405")
	if commit != "" {
		v += "." + commit
	}
	if dirty {
		v += ".dirty"
	}
	return v
}

// in writes the version as a format can: apk has no "~" and takes digits only behind "_pre", which it sorts before the release.
func (r release) in(format string) string {
	if format != "apk" {
		return r.version
	}
	base, git, ok := strings.Cut(r.version, "~git")
	if !ok {
		return base
	}
	stamp, _, _ := strings.Cut(git, ".")
	return base + "_pre" + stamp
}

func git(root string, args ...string) string {
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
