package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"deviceagent/testbed/home"
)

// Scenario is one file.
type Scenario struct {
	Path    string
	ID      string
	Title   string
	Tier    string // that the device must report
	Start   string // room where the robot stands; empty: at its station
	Faults  []string
	Given   []string // commands to the robot before anything else
	Off     bool     // the device evaluates no experiences
	JSON    bool     // the device reads JSON from the cloud too
	Outside string   // how the services are that the planner's agents look things up at; empty: there are no agents
	Tail    time.Duration
	Home    home.Faults // Faults, parsed
	Stimul  []Stimulus
	Expect  []Line
}

// Line is one expectation: a fact that the witnesses must have seen.
type Line struct {
	No   int // in the file
	Kind string
	Text string
}

func (l Line) String() string { return strings.TrimSpace(l.Kind + " " + l.Text) }

// tail is how long a scenario goes on after all work has ended, so that a late repeat is seen.
const tail = 2 * time.Minute

// Load reads one file.
func Load(path string) (*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read scenario: %w", err)
	}
	return Parse(path, string(data))
}

// LoadDir reads every file of a folder, by name. All faults of all files are reported.
func LoadDir(dir string) ([]*Scenario, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.scn"))
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(fmt.Errorf("cannot find scenarios: no *.scn in %s", dir), err)
	}
	var all []*Scenario
	var errs []error
	ids := map[string]string{}
	for _, path := range paths {
		s, err := Load(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if other, twice := ids[s.ID]; twice {
			errs = append(errs, fmt.Errorf("%s: id %s is that of %s too", path, s.ID, other))
		}
		ids[s.ID] = path
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Scenario) int { return strings.Compare(a.ID, b.ID) })
	return all, errors.Join(errs...)
}

// LoadDirOver is [LoadDir] for a way to the robot: where the folder has one of the way's name, a file there stands in for the one of the
// same id. Every such file must have one that it stands in for.
func LoadDirOver(dir string, w Way) ([]*Scenario, error) {
	all, err := LoadDir(dir)
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, string(w), "*.scn"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		s, err := Load(path)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(other *Scenario) bool { return other.ID == s.ID })
		if i < 0 {
			return nil, fmt.Errorf("%s: no scenario of %s has the id %s", path, dir, s.ID)
		}
		all[i] = s
	}
	return all, nil
}

// noFolders are the folders within one of scenarios that are not played with it: they need a bus, or stand in for files on a way.
var noFolders = []string{"bus", string(DBus), string(Vendor)}

// LoadTree is [LoadDirOver] with the folders beneath, but for those of a bus. An id must be one file's in all of them.
func LoadTree(dir string, w Way) ([]*Scenario, error) {
	all, err := LoadDirOver(dir, w)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the folder of scenarios: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || slices.Contains(noFolders, e.Name()) {
			continue
		}
		more, err := LoadTree(filepath.Join(dir, e.Name()), w)
		if err != nil {
			return nil, err
		}
		for _, s := range more {
			if i := slices.IndexFunc(all, func(other *Scenario) bool { return other.ID == s.ID }); i >= 0 {
				return nil, fmt.Errorf("%s: id %s is that of %s too", s.Path, s.ID, all[i].Path)
			}
		}
		all = append(all, more...)
	}
	return all, nil
}

// parser reads a file line by line. Its errors name the line.
type parser struct {
	s     *Scenario
	block string // "", "when", "then"
	open  *Line  // a body line that deeper lines continue
	raw   []Line // of the block when
	errs  []error
}

// Parse reads a scenario from text; path is for messages only. The error holds every fault.
func Parse(path, text string) (*Scenario, error) {
	p := &parser{s: &Scenario{Path: path, Tail: tail}}
	for i, line := range strings.Split(text, "\n") {
		p.line(i+1, strings.TrimRight(line, " \t\r"))
	}
	p.close()
	for _, l := range p.raw {
		st, err := parseStimulus(l)
		p.fault(l.No, err)
		p.s.Stimul = append(p.s.Stimul, st)
	}
	p.check()
	return p.s, errors.Join(p.errs...)
}

func (p *parser) fault(no int, err error) {
	if err != nil {
		p.errs = append(p.errs, fmt.Errorf("%s:%d: %w", p.s.Path, no, err))
	}
}

// line takes one line: a header at the left margin, a body line, or the rest of one that is indented deeper.
func (p *parser) line(no int, line string) {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	switch {
	case text == "" || strings.HasPrefix(text, "#"):
	case strings.HasPrefix(text, "\t"):
		p.fault(no, errors.New("indent with spaces"))
	case indent == 0:
		p.close()
		p.header(no, text)
	case indent >= 4 && p.open != nil:
		p.open.Text += " " + strings.TrimSpace(text)
	case p.block == "":
		p.fault(no, errors.New("indented line outside of when and then"))
	default:
		p.close()
		p.open = &Line{No: no, Text: text}
	}
}

// close ends the body line that was being read.
func (p *parser) close() {
	if p.open == nil {
		return
	}
	l := *p.open
	p.open = nil
	if p.block == "when" {
		p.raw = append(p.raw, l)
		return
	}
	l.Kind, l.Text, _ = strings.Cut(l.Text, " ")
	l.Text = plain(l.Text)
	if !slices.Contains(kinds, l.Kind) {
		p.fault(l.No, fmt.Errorf("no expectation %q: known are %s", l.Kind, strings.Join(kinds, " ")))
	}
	p.s.Expect = append(p.s.Expect, l)
}

// plain collapses white space, so that columns may be aligned.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }

// headers are the words at the left margin.
var headers = map[string]func(s *Scenario, value string) error{
	"scenario": func(s *Scenario, v string) error { s.ID = v; return nil },
	"title":    func(s *Scenario, v string) error { s.Title = v; return nil },
	"tier":     func(s *Scenario, v string) error { s.Tier = v; return nil },
	"robot":    func(s *Scenario, v string) error { s.Start = v; return nil },
	"given":    func(s *Scenario, v string) error { s.Given = append(s.Given, v); return nil },
	"off":      func(s *Scenario, v string) error { s.Off = true; return nil },
	"json":     func(s *Scenario, v string) error { s.JSON = true; return nil },
	"outside":  func(s *Scenario, v string) error { s.Outside = v; return knownOutside(v) },
	"fault":    func(s *Scenario, v string) error { s.Faults = append(s.Faults, v); return s.Home.Add(v) },
	"tail":     func(s *Scenario, v string) (err error) { s.Tail, err = time.ParseDuration(v); return err },
}

func (p *parser) header(no int, text string) {
	word, value, _ := strings.Cut(text, " ")
	if word == "when" || word == "then" {
		p.block = word
		return
	}
	set, known := headers[word]
	if !known {
		p.fault(no, fmt.Errorf("no header %q", word))
		return
	}
	p.fault(no, set(p.s, strings.TrimSpace(value)))
}

// check looks at the whole file.
func (p *parser) check() {
	for name, v := range map[string]string{"scenario": p.s.ID, "title": p.s.Title, "tier": p.s.Tier} {
		if v == "" {
			p.fault(1, fmt.Errorf("%s is missing", name))
		}
	}
	if _, ok := home.Flat().Find(p.s.Start); p.s.Start != "" && !ok {
		p.fault(1, fmt.Errorf("no room %q for the robot to start in", p.s.Start))
	}
	if len(p.s.Expect) == 0 {
		p.fault(1, errors.New("nothing is expected"))
	}
}
