package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Origin says where a value in force came from.
type Origin struct {
	Layer string // "built in", "file", "environment", "flag", "systemd"
	Place string // "built in", "/etc/deviceagent/agent.toml:12", "environment DEVICEAGENT_HOLD", "flag --hold"
}

// Origins is the origin of every key.
type Origins map[string]Origin

// builtIn is the origin of what nobody set.
var builtIn = Origin{Layer: "built in", Place: "built in"}

// Sources are what is laid over the defaults, the later over the earlier.
type Sources struct {
	Files   []File            // in order
	Environ []string          // as from os.Environ; only DEVICEAGENT_* is looked at
	Flags   map[string]string // by key name, only those that were given
}

// File is one file of settings.
type File struct {
	Path  string
	Must  bool // a missing file is a fault
	Maker bool // the maker's, for all robots of one kind: what was provisioned for this robot lies over it
}

// Provisioned is the file of what `deviceagentctl provision` has set for this robot.
func Provisioned(stateDir string) string {
	return filepath.Join(stateDir, "identity", "current", "agent.toml")
}

// provisioned are the keys that may stand there. The agent's own user may write the file: it must not move its own walls with it.
var provisioned = []string{"device_id", "trusted_keys_file", "require_signed", "broker.url", "broker.ca_file", "broker.cert_file", "broker.key_file"}

const envPrefix = "DEVICEAGENT_"

// notSettings are variables of the family that other programs read.
var notSettings = []string{"DEVICEAGENT_SOCKET", "DEVICEAGENT_CONFIG"}

// DefaultFiles lists the files of an installed agent under root ("/" on a robot): the vendor's, the administrator's, conf.d in
// order of name, and what was set for this boot only.
func DefaultFiles(root string) ([]File, error) {
	at := func(path string) string { return filepath.Join(root, path) }
	files := []File{{Path: at("/usr/lib/deviceagent/agent.toml"), Maker: true}, {Path: at("/etc/deviceagent/agent.toml")}}
	dir := at("/etc/deviceagent/conf.d")
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil && !os.IsNotExist(err) {
		return nil, Faults{{Place: dir, Message: "cannot read the directory: " + reason(err)}}
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".toml") && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, File{Path: filepath.Join(dir, e.Name()), Must: true})
		}
	}
	return append(files, File{Path: at("/run/deviceagent/agent.toml")}), nil
}

// Load lays the sources over the defaults: the maker's files, what was provisioned, other files, environment, flags. The error is [Faults];
// the settings are then not to be used.
func Load(src Sources) (Config, Origins, error) {
	l := lay(src, Provisioned(StateDir(src)))
	l.follow()
	l.judge()
	if len(l.faults) > 0 {
		l.faults.order(l.places)
		return Config{}, nil, l.faults
	}
	return l.c, l.origins, nil
}

// StateDir is the state_dir of the sources, whatever else is wrong with them. What is provisioned lies in it, and cannot set it.
func StateDir(src Sources) string { return lay(src, "").c.StateDir }

// lay reads all sources; of which path the provisioned file is, "" for none.
func lay(src Sources, path string) *loader {
	l := &loader{c: Default(), origins: Origins{}}
	for _, k := range keys {
		l.origins[k.Name] = builtIn
	}
	owed := path != ""
	for _, f := range src.Files {
		if owed && !f.Maker {
			l.provisioned(path)
			owed = false
		}
		l.file(f)
	}
	if owed {
		l.provisioned(path)
	}
	l.environment(src.Environ)
	l.flags(src.Flags)
	return l
}

func (l *loader) provisioned(path string) {
	l.may = provisioned
	l.file(File{Path: path})
	l.may = nil
}

type loader struct {
	may     []string // the keys that may stand in the file that is read; nil: all
	c       Config
	origins Origins
	faults  Faults
	bad     map[string]bool // keys that already have a fault
	places  []string        // in order of laying
}

func (l *loader) fault(key, value, place, message string) {
	if l.bad == nil {
		l.bad = map[string]bool{}
	}
	l.bad[key] = true
	l.faults = append(l.faults, Fault{Key: key, Value: value, Place: place, Message: message})
}

func (l *loader) environment(environ []string) {
	l.places = append(l.places, "environment ")
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(notSettings, name) {
			continue
		}
		place := "environment " + name
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Env == name })
		if i < 0 {
			l.fault(name, "", place, "there is no such setting")
			continue
		}
		l.text(keys[i], text, Origin{Layer: "environment", Place: place})
	}
}

func (l *loader) flags(given map[string]string) {
	l.places = append(l.places, "flag ")
	for name := range given {
		if _, ok := find(name); !ok {
			l.fault(name, "", "flag --"+name, "there is no such setting")
		}
	}
	for _, k := range keys {
		if text, ok := given[k.Name]; ok {
			l.text(k, text, Origin{Layer: "flag", Place: "flag --" + k.Flag})
		}
	}
}

func (l *loader) text(k Key, text string, from Origin) {
	if err := k.setText(&l.c, text); err != nil {
		l.fault(k.Name, fmt.Sprintf("%q", text), from.Place, err.Error())
		return
	}
	l.origins[k.Name] = from
	delete(l.bad, k.Name)
}

// follow moves what nobody has placed into run_dir: who tries an agent in a folder of their own names the folder once.
func (l *loader) follow() {
	from := l.origins["run_dir"]
	if from == builtIn || absolute(l.c.RunDir) != "" { // one fault is enough
		return
	}
	for _, name := range []string{"diag.read_socket", "diag.control_socket", "executor.socket"} {
		if k, _ := find(name); l.origins[name] == builtIn && !l.bad[name] {
			k.field(&l.c).SetString(filepath.Join(l.c.RunDir, filepath.Base(k.field(&l.c).String())))
			l.origins[name] = Origin{Layer: from.Layer, Place: from.Place + " (run_dir)"}
		}
	}
}

// judge validates what is in force. A key that could not be read has its fault already; its old value proves nothing.
func (l *loader) judge() {
	for _, p := range l.c.problems() {
		if l.bad[p.key] {
			continue
		}
		k, _ := find(p.key)
		l.fault(p.key, k.literal(&l.c), l.origins[p.key].Place, p.message)
	}
}

// Setting is one line of `config show`.
type Setting struct {
	Key    string
	Value  string // as written in a file
	Origin Origin
}

// Show lists what is in force, in the order of the reference. No secret can be in it: settings name files.
func Show(c Config, o Origins) []Setting {
	out := make([]Setting, len(keys))
	for i, k := range keys {
		out[i] = Setting{Key: k.Name, Value: k.literal(&c), Origin: o[k.Name]}
	}
	return out
}

func reason(err error) string {
	if pe, ok := err.(*os.PathError); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
