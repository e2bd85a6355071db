package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sumsOf is the SHA-256 of each finished package in a folder, by name.
func sumsOf(out string) (map[string]string, error) {
	found, err := filepath.Glob(filepath.Join(out, "deviceagent*"))
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, at := range found {
		text, err := os.ReadFile(at)
		if err != nil {
			return nil, err
		}
		sums[filepath.Base(at)] = digest(text)
	}
	return sums, nil
}

// tell prints what was made and leaves it in SHA256SUMS, in the form of sha256sum.
func tell(o options, sums map[string]string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		info, err := os.Stat(filepath.Join(o.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
		fmt.Printf("%.12s…  %5.1f MB  %s\n", sums[name], float64(info.Size())/1e6, name)
	}
	return os.WriteFile(filepath.Join(o.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}

// again makes everything once more from a copy of the source and compares. What may not matter is another there: the folder, the zone,
// the mask, the home, the language; one architecture is compiled without the cache of the first time, which would only prove itself.
func again(o options, r release, first map[string]string) error {
	dir, err := os.MkdirTemp("", "packed-once-more-in-a-folder-with-a-longer-name-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	source := filepath.Join(dir, "source")
	if err := copySource(o.root, source); err != nil {
		return err
	}
	if err := runElsewhere(o, r, source, filepath.Join(dir, "out")); err != nil {
		return err
	}
	second, err := sumsOf(filepath.Join(dir, "out"))
	if err != nil {
		return err
	}
	faults := differences(first, second)
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	fmt.Printf("made twice, with equal hashes: %d packages (the second time from a copy, %s compiled from nothing)\n", len(first), freshArch(o))
	return nil
}

// differences names each package that is not the same twice. None at all is a fault, too.
func differences(first, second map[string]string) (faults []error) {
	if len(first) == 0 {
		faults = append(faults, errors.New("there is no package to compare"))
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if first[name] != second[name] {
			faults = append(faults, fmt.Errorf("%s is %.12s… at first and %.12s… the second time", name, first[name], second[name]))
		}
	}
	for name := range second {
		if first[name] == "" {
			faults = append(faults, fmt.Errorf("%s is there the second time only", name))
		}
	}
	return faults
}

// freshArch is the first of those that are packed.
func freshArch(o options) string {
	which, err := chosen(o.arches)
	if err != nil || len(which) == 0 {
		return ""
	}
	return which[0].name
}

// runElsewhere calls this very program on the copy.
func runElsewhere(o options, r release, source, out string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	goEnv, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		return fmt.Errorf("cannot ask go for its folders: %w", err)
	}
	at := strings.Fields(string(goEnv))
	if len(at) != 3 {
		return fmt.Errorf("cannot read the folders of go: %q", goEnv)
	}
	cmd := exec.Command("sh", "-c", `umask 077; exec "$@"`, "sh", self, "-root", source, "-out", out, "-nfpm", o.nfpm, "-arch", o.arches, "-format", o.formats, "-fresh", freshArch(o))
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "VERSION="+r.version, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()), "TZ=Asia/Seoul", "LC_ALL=C", "HOME="+filepath.Dir(source),
		"GOCACHE="+at[0], "GOMODCACHE="+at[1], "GOPATH="+at[2])
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot make the packages once more: %w\n%s", err, text)
	}
	return nil
}

// copySource copies what belongs to the source; what git ignores stays behind.
func copySource(root, to string) error {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("cannot list the source: %w", err)
	}
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
