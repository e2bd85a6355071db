package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const maintainer = "DeviceAgent maintainers <maintainers@deviceagent.example>"

// order is what nfpm is told. It reads YAML, of which JSON is a part.
type order struct {
	Name          string            `json:"name"`
	Arch          string            `json:"arch"`
	Platform      string            `json:"platform"`
	Version       string            `json:"version"`
	VersionSchema string            `json:"version_schema"`
	Section       string            `json:"section"`
	Priority      string            `json:"priority"`
	Maintainer    string            `json:"maintainer"`
	Description   string            `json:"description"`
	License       string            `json:"license"`
	MTime         string            `json:"mtime"`
	NoGlobbing    bool              `json:"disable_globbing"`
	Depends       []string          `json:"depends,omitempty"`
	Recommends    []string          `json:"recommends,omitempty"`
	Contents      []orderContent    `json:"contents"`
	Scripts       map[string]string `json:"scripts,omitempty"`
	RPM           map[string]string `json:"rpm"`
	APK           map[string]any    `json:"apk,omitempty"`
}

type orderContent struct {
	Src  string    `json:"src,omitempty"`
	Dst  string    `json:"dst"`
	Type string    `json:"type,omitempty"`
	Info orderInfo `json:"file_info"`
}

type orderInfo struct {
	Mode  uint32 `json:"mode"`
	Owner string `json:"owner"`
	Group string `json:"group"`
	MTime string `json:"mtime"`
}

// orderFor writes down one package.
func (s stage) orderFor(p product, a arch, format string) (order, error) {
	list, err := expand(s.root, p.contents, format)
	if err != nil {
		return order{}, err
	}
	moment := s.at.Format(time.RFC3339)
	o := order{
		Name: p.name, Arch: a.named[format], Platform: "linux", Version: s.in(format), VersionSchema: "none", Section: "misc", Priority: "optional",
		Maintainer: maintainer, Description: p.summary + "\n" + p.text, License: "LicenseRef-DeviceAgent", MTime: moment, NoGlobbing: true,
		Depends: p.depends[format], Recommends: p.wishes[format], RPM: map[string]string{"buildhost": "deviceagent", "summary": p.summary},
	}
	for _, c := range list {
		one := orderContent{Dst: strings.TrimSuffix(c.to, "/"), Info: orderInfo{Mode: uint32(c.mode), Owner: "root", Group: "root", MTime: moment}}
		switch c.kind {
		case folder:
			one.Type, one.Info.Mode = string(folder), 0o755
		case settings:
			one.Type, one.Src = string(settings), s.source(c, a)
		default:
			one.Src = s.source(c, a)
		}
		o.Contents = append(o.Contents, one)
	}
	if p.scripts {
		s.orderScripts(&o, format)
	}
	return o, nil
}

func (s stage) orderScripts(o *order, format string) {
	o.Scripts = map[string]string{}
	for _, hook := range hooks {
		o.Scripts[hook] = filepath.Join(s.dir, "scripts", format, hook)
	}
	if format == "apk" { // it has names of its own for what happens on an upgrade
		o.APK = map[string]any{"scripts": map[string]string{"postupgrade": o.Scripts["postinstall"]}}
	}
}

// pack makes one package in out.
func (s stage) pack(nfpm, out string, p product, a arch, format string) error {
	o, err := s.orderFor(p, a, format)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		return err
	}
	name := fmt.Sprintf("order/%s.%s.%s.json", p.name, a.name, format)
	if err := s.write(name, text); err != nil {
		return err
	}
	at := filepath.Join(out, s.fileName(p, a, format))
	cmd := exec.Command(nfpm, "package", "--config", filepath.Join(s.dir, name), "--packager", format, "--target", at)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", s.at.Unix()))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot make the %s of %s for %s: %w\n%s", format, p.name, a.name, err, text)
	}
	if format == "apk" {
		return settleApk(at, s.at)
	}
	return nil
}
