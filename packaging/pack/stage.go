package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// stage is the folder in which everything is made that is not in the source as it is installed.
type stage struct {
	root  string // the source
	dir   string
	tags  string // build tags: of tests only
	fresh string // name of the architecture that is compiled from nothing, without the tool chain's cache
	release
}

// fill makes all that the packages of these architectures need, but for the packages.
func (s stage) fill(which []arch) error {
	for _, a := range which {
		if err := s.compile(a); err != nil {
			return err
		}
		for _, p := range products {
			if err := s.account(p, a); err != nil {
				return err
			}
		}
	}
	if err := s.manuals(); err != nil {
		return err
	}
	if err := s.pressed("CHANGELOG.md", "doc/changelog.gz"); err != nil {
		return err
	}
	if err := s.completions(); err != nil {
		return err
	}
	return s.scripts()
}

// compile builds the programs of all packages. What differs from machine to machine is taken out: paths, the state of git, build ids,
// flags from the environment.
func (s stage) compile(a arch) error {
	out := filepath.Join(s.dir, "bin", a.name) + string(filepath.Separator)
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", s.tags, "-ldflags", s.linkerFlags(), "-o", out}
	for _, p := range products {
		for _, name := range p.programs {
			args = append(args, "./cmd/"+name)
		}
	}
	env := append(slices.Clone(a.env), "GOOS=linux", "CGO_ENABLED=0")
	if a.name == s.fresh {
		env = append(env, "GOCACHE="+filepath.Join(s.dir, "cache"))
	}
	return s.goTool(env, args...)
}

func (s stage) linkerFlags() string {
	return "-s -w -buildid= -X deviceagent/agent.Version=" + s.version + " -X main.version=" + s.version
}

// goTool calls go in the source.
func (s stage) goTool(env []string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOEXPERIMENT=")
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot run go %s for %s: %w\n%s", args[0], strings.Join(env, " "), err, out)
	}
	return nil
}

func (s stage) manuals() error {
	pages, err := filepath.Glob(filepath.Join(s.root, "packaging/man/*.[1-8]"))
	if err != nil || len(pages) == 0 {
		return fmt.Errorf("cannot find the manual pages: %v", err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if err := s.pressed("packaging/man/"+name, "man/"+name+".gz"); err != nil {
			return err
		}
	}
	return nil
}

// pressed puts a file of the source into the stage, gzipped, without name and time.
func (s stage) pressed(from, to string) error {
	text, err := os.ReadFile(filepath.Join(s.root, from))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return s.write(to, b.Bytes())
}

// completions lets the field tool itself write them: built for this machine, since the robot's cannot run here.
func (s stage) completions() error {
	tool := filepath.Join(s.dir, "tool", "deviceagentctl")
	if err := s.goTool([]string{"GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH, "CGO_ENABLED=0"},
		"build", "-trimpath", "-buildvcs=false", "-ldflags", s.linkerFlags(), "-o", tool, "./cmd/deviceagentctl"); err != nil {
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, err := exec.Command(tool, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("cannot write the completion for %s: %w", shell, err)
		}
		if err := s.write("completion/"+shell, text); err != nil {
			return err
		}
	}
	return nil
}

// hooks are the scripts of a package, by the names that nfpm gives them.
var hooks = []string{"preinstall", "postinstall", "preremove", "postremove"}

// scripts writes each hook for each format: the format's name, what they share, and the hook itself. A package's script must not call
// anything of the package: while it runs, the package may be half there.
func (s stage) scripts() error {
	shared, err := os.ReadFile(filepath.Join(s.root, "packaging/scripts/shared.sh"))
	if err != nil {
		return err
	}
	for _, format := range formats {
		for _, hook := range hooks {
			body, err := os.ReadFile(filepath.Join(s.root, "packaging/scripts", hook+".sh"))
			if err != nil {
				return err
			}
			text := fmt.Sprintf("#!/bin/sh\nset -e\nformat=%s\n%s\n%s", format, shared, body)
			if err := s.write("scripts/"+format+"/"+hook, []byte(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s stage) write(name string, text []byte) error {
	at := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, text, 0o644)
}

// source is the file behind a content.
func (s stage) source(c content, a arch) string {
	if below, ok := strings.CutPrefix(c.from, "@"); ok {
		return filepath.Join(s.dir, strings.ReplaceAll(below, "$ARCH", a.name))
	}
	return filepath.Join(s.root, c.from)
}
