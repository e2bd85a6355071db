package catalogfile

import (
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

// file is one catalog file and its sections. A list section names its entries by the member id.
type file struct {
	name     string
	sections []string
	id       string
}

const plannerFile = "planner.json"

var files = []file{
	{"operations.json", []string{"operations", "standing", "guards", "voice", "services"}, "taskMethod"},
	{"effects.json", []string{"effects"}, ""},
	{"context.json", []string{"context"}, ""},
	{"events.json", []string{"events"}, ""},
	{"resources.json", []string{"resources"}, ""},
	{"rooms.json", []string{"rooms"}, "id"},
	{"tokens.json", []string{"tokens"}, ""},
	{"skills.json", []string{"skills"}, ""},
	{plannerFile, []string{"unsupported_request_categories", "device_qna_topics", "product_identity_anchors", "classification_hints", "router_hints", "reasons", "questions"}, ""},
}

// Load reads all nine catalog files at the root of fsys. A fault in any of them gives an [*Error] with every fault of every file,
// and no catalog.
func Load(fsys fs.FS) (*catalog.Catalog, Planner, error) {
	s := read(fsys)
	if !s.fatal { // with a file missing, every reference into it would be one more fault
		s.decode()
		s.check()
	}
	if len(s.faults) > 0 {
		return nil, Planner{}, &Error{sorted(s.faults)}
	}
	return s.finish(), s.planner, nil
}

// LoadLenient reads like [Load], but disables a bad entry and what depends on it, and gives the faults as warnings; the rest is a
// catalog without faults. A file that cannot be read, or that is wrong outside its entries, gives an [*Error].
func LoadLenient(fsys fs.FS) (*catalog.Catalog, Planner, []Fault, error) {
	s := read(fsys)
	if s.fatal {
		return nil, Planner{}, nil, &Error{sorted(s.faults)}
	}
	s.dropBad()
	s.decode()
	for !s.fatal { // each round drops what depended on the last
		if s.check(); len(s.bad) == 0 {
			break
		}
		s.dropBad()
		s.decode()
	}
	if s.fatal {
		return nil, Planner{}, nil, &Error{sorted(s.faults)}
	}
	return s.finish(), s.planner, sorted(s.faults), nil
}

// entry names one entry of one section.
type entry struct{ section, name string }

// set is all that was read. sections holds each entry's tree under the entry's name.
type set struct {
	sections map[string]map[string]*node
	order    map[string][]string // names of list sections as written
	file     map[string]string   // section → file
	faults   []Fault
	bad      map[entry]bool
	decoded  map[entry]any // typed entries, so that a further round decodes nothing again
	fatal    bool          // a fault outside every entry

	catalog catalog.Catalog
	planner Planner
}

// read gives the trees of all files, checked against their schemas.
func read(fsys fs.FS) *set {
	s := &set{sections: map[string]map[string]*node{}, order: map[string][]string{}, file: map[string]string{}, bad: map[entry]bool{}, decoded: map[entry]any{}}
	for _, f := range files {
		for _, section := range f.sections {
			s.sections[section], s.file[section] = map[string]*node{}, f.name
		}
		root, twice, fault := readFile(fsys, f.name)
		if fault != nil {
			s.faults, s.fatal = append(s.faults, *fault), true
			continue
		}
		all := append(twice, breaches(f.name, root)...)
		if len(all) > MaxFaults {
			all = all[:MaxFaults]
			s.faults, s.fatal = append(s.faults, Fault{File: f.name, Message: fmt.Sprintf("has more than %d faults", MaxFaults)}), true
		}
		for _, b := range all {
			s.breach(f, root, b)
		}
		for _, section := range f.sections {
			s.entries(f, section, root.members[section])
		}
	}
	return s
}

// breach notes a schema fault, and the entry that it makes bad.
func (s *set) breach(f file, root *node, b breach) {
	at := root.find(b.at)
	s.faults = append(s.faults, Fault{File: f.name, Line: at.line, Path: f.path(root, b.at), Message: b.message})
	if len(b.at) < 2 || root.members[b.at[0]] == nil {
		s.fatal = true
		return
	}
	s.bad[entry{b.at[0], f.entryName(root, b.at)}] = true
}

// entryName gives the name of the entry that tokens lead into: its id in a list section, else the member's name.
func (f file) entryName(root *node, tokens []string) string {
	section := root.members[tokens[0]]
	if section == nil || !section.isList {
		return tokens[1]
	}
	if id := section.find(tokens[1:2]).text(f.id); id != "" {
		return id
	}
	return tokens[1]
}

// path writes tokens as catalog.Check writes its paths.
func (f file) path(root *node, tokens []string) string {
	path := ""
	for i, token := range tokens {
		parent := root.find(tokens[:i])
		switch {
		case i == 0:
			path = token
		case i == 1 && !(parent.isList && f.entryName(root, tokens) == token):
			path = catalog.JoinPath(path, f.entryName(root, tokens))
		case parent.isList:
			path += "[" + token + "]"
		default:
			path = catalog.JoinPath(path, token)
		}
	}
	return path
}

// entries files the entries of one section under their names.
func (s *set) entries(f file, section string, n *node) {
	if n == nil {
		return
	}
	for name, member := range n.members {
		s.sections[section][name] = member
	}
	for i, item := range n.items {
		name := item.text(f.id)
		if name == "" {
			name = strconv.Itoa(i) // bad already: the schema requires the id
		}
		if earlier, twice := s.sections[section][name]; twice {
			s.report(section, Fault{Line: item.line, Path: catalog.JoinPath(section, name), Message: fmt.Sprintf("is given twice, first in line %d", earlier.line)})
			s.bad[entry{section, name}] = true
			continue
		}
		s.sections[section][name] = item
		s.order[section] = append(s.order[section], name)
	}
}

func (s *set) report(section string, f Fault) {
	f.File = s.file[section]
	s.faults = append(s.faults, f)
}

// check adds what catalog.Check finds, with file and line. An entry that is bad already is not blamed twice.
func (s *set) check() {
	before := maps.Clone(s.bad)
	for _, fault := range s.catalog.Check() {
		section, name := string(fault.Section), fault.Entry
		if before[entry{section, name}] {
			continue
		}
		n := s.sections[section][name]
		if n == nil {
			s.fatal = true
			s.report(section, Fault{Path: fault.Path, Message: fault.Message})
			continue
		}
		rest := strings.TrimPrefix(fault.Path, catalog.EntryPath(fault.Section, name))
		s.report(section, Fault{Line: n.follow(rest).line, Path: fault.Path, Message: fault.Message})
		s.bad[entry{section, name}] = true
	}
}

// follow goes as far down as a path of catalog.Check leads.
func (n *node) follow(path string) *node {
	for path != "" {
		var token string
		switch {
		case strings.HasPrefix(path, "[\""):
			quoted, err := strconv.QuotedPrefix(path[1:])
			if err != nil {
				return n
			}
			token, _ = strconv.Unquote(quoted)
			path = strings.TrimPrefix(path[1+len(quoted):], "]")
		case strings.HasPrefix(path, "["):
			token, path, _ = strings.Cut(path[1:], "]")
		default:
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			token, path = path[:end], path[end:]
		}
		next := n.find([]string{token})
		if next == n {
			return n
		}
		n = next
	}
	return n
}

// dropBad takes the bad entries out of the set.
func (s *set) dropBad() {
	for e := range s.bad {
		delete(s.sections[e.section], e.name)
	}
	s.bad = map[entry]bool{}
}

// finish gives the catalog with its etags.
func (s *set) finish() *catalog.Catalog {
	c := s.catalog
	c.Etag = s.etag()
	c.RoomsEtag = RoomsEtag(c.Rooms)
	return &c
}
