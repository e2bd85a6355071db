package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// part is one thing that a program is made of: a module, or the standard library.
type part struct {
	name, version, sum string
	licence
}

const standardLibrary = "std"

// account writes what a package is made of: the bill of materials for machines and the licences for people. Both are read out of the
// programs that go in, not out of go.mod, which names what tests and tools need, too.
func (s stage) account(p product, a arch) error {
	programs, parts, err := s.parts(p, a)
	if err != nil {
		return err
	}
	bill, err := json.MarshalIndent(billOf(p, s.release, programs, parts), "", " ")
	if err != nil {
		return err
	}
	head, err := os.ReadFile(filepath.Join(s.root, "packaging/copyright"))
	if err != nil {
		return err
	}
	dir := a.name + "/" + p.name
	if err := s.write(dir+"/sbom.cdx.json", append(bill, '\n')); err != nil {
		return err
	}
	return s.write(dir+"/copyright", []byte(licences(string(head), parts)))
}

// program is one file with what is in it.
type program struct {
	name, digest string // SHA-256, hex
	refs         []string
}

func (s stage) parts(p product, a arch) (programs []program, parts []part, err error) {
	seen := map[string]bool{}
	for _, name := range p.programs {
		at := filepath.Join(s.dir, "bin", a.name, name)
		info, err := buildinfo.ReadFile(at)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read what %s is made of: %w", name, err)
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return nil, nil, err
		}
		sum := sha256.Sum256(text)
		one := program{name: name, digest: hex.EncodeToString(sum[:])}
		for _, part := range linked(info) {
			one.refs = append(one.refs, part.ref())
			if !seen[part.name] {
				seen[part.name] = true
				parts = append(parts, part)
			}
		}
		programs = append(programs, one)
	}
	slices.SortFunc(parts, func(x, y part) int { return strings.Compare(x.name, y.name) })
	return programs, parts, s.addLicences(parts)
}

// linked lists the modules of a program and the standard library.
func linked(info *debug.BuildInfo) []part {
	out := []part{{name: standardLibrary, version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		out = append(out, part{name: m.Path, version: m.Version, sum: m.Sum})
	}
	return out
}

func (p part) ref() string { return "pkg:golang/" + p.name + "@" + p.version }

// addLicences finds the source of each part where the tool chain keeps it.
func (s stage) addLicences(parts []part) error {
	args := []string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
	for _, p := range parts {
		if p.name != standardLibrary {
			args = append(args, p.name)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = s.root, append(os.Environ(), "GOFLAGS=-mod=readonly")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot find the sources of the modules: %w", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[name] = dir
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("cannot find the standard library: %w", err)
	}
	dirs[standardLibrary] = strings.TrimSpace(string(root))
	for i := range parts {
		if parts[i].licence, err = licenceOf(parts[i].name, dirs[parts[i].name]); err != nil {
			return err
		}
	}
	return nil
}

// licences is the copyright file of a package.
func licences(head string, parts []part) string {
	var b strings.Builder
	b.WriteString(head)
	for _, p := range parts {
		name := p.name
		if name == standardLibrary {
			name = "The Go standard library"
		}
		fmt.Fprintf(&b, "\n%s\n%s %s\nLicence: %s\n\n%s", strings.Repeat("=", 78), name, p.version, p.id, p.text)
	}
	return b.String()
}

// The forms of CycloneDX 1.5, as far as we use them.
type (
	bill struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     billMetadata `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	billMetadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string              `json:"type"`
		Ref        string              `json:"bom-ref"`
		Name       string              `json:"name"`
		Version    string              `json:"version"`
		PURL       string              `json:"purl,omitempty"`
		Hashes     []map[string]string `json:"hashes,omitempty"`
		Licences   []map[string]string `json:"licenses,omitempty"`
		Properties []map[string]string `json:"properties,omitempty"`
	}
	dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

func billOf(p product, r release, programs []program, parts []part) bill {
	b := bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: billMetadata{Timestamp: r.at.Format(time.RFC3339),
		Component: component{Type: "application", Ref: p.name, Name: p.name, Version: r.version}}}
	whole := dependency{Ref: p.name}
	for _, one := range programs {
		ref := "file:/usr/bin/" + one.name
		whole.On = append(whole.On, ref)
		b.Components = append(b.Components, component{Type: "application", Ref: ref, Name: one.name, Version: r.version,
			Hashes: []map[string]string{{"alg": "SHA-256", "content": one.digest}}})
		b.Dependencies = append(b.Dependencies, dependency{Ref: ref, On: one.refs})
	}
	b.Dependencies = append([]dependency{whole}, b.Dependencies...)
	for _, one := range parts {
		c := component{Type: "library", Ref: one.ref(), Name: one.name, Version: one.version, PURL: one.ref(), Licences: []map[string]string{{"expression": one.id}}}
		if one.sum != "" { // of the module as the Go tools count it, which is no plain hash of a file
			c.Properties = []map[string]string{{"name": "go:h1", "value": one.sum}}
		}
		b.Components = append(b.Components, c)
	}
	return b
}
