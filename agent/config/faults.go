package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Fault is one thing that is wrong with the settings.
type Fault struct {
	Key     string // "broker.keepalive"; "" where a whole file is meant
	Value   string // as it was given
	Place   string // "/etc/deviceagent/agent.toml:12", "environment DEVICEAGENT_HOLD", "flag --hold", "built in"
	Message string // what it must be
}

// String is the fault in one line.
func (f Fault) String() string {
	out := f.Place + ": "
	if f.Key != "" {
		out += f.Key
		if f.Value != "" {
			out += " = " + f.Value
		}
		out += ": "
	}
	return out + f.Message
}

// Faults is everything that is wrong. The caller prints it and exits with status 2.
type Faults []Fault

// Error has one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// order sorts by source as laid, and in a file by line.
func (f Faults) order(places []string) {
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(rank(places, a.Place)-rank(places, b.Place), line(a.Place)-line(b.Place))
	})
}

func line(place string) int {
	n, err := strconv.Atoi(place[strings.LastIndexByte(place, ':')+1:])
	if err != nil {
		return 0
	}
	return n
}

func rank(places []string, place string) int {
	return slices.IndexFunc(places, func(p string) bool { return strings.HasPrefix(place, p) })
}
