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
			out += " = " + discreet(f.Key, f.Value)
		}
		out += ": "
	}
	return out + f.Message
}

// discreet is a value as a fault repeats it: what people write into the wrong place are passwords, and faults go to the log and to systemd.
func discreet(key, value string) string {
	if at := strings.LastIndexByte(value, '@'); at >= 0 {
		if begin := strings.Index(value, "://"); begin >= 0 && begin < at {
			return value[:begin+3] + "[not shown]" + value[at:]
		}
	}
	if strings.HasSuffix(key, "_file") && !strings.Contains(value, "/") && !strings.Contains(value, credentialPrefix) {
		return "[not shown: it is no path]"
	}
	return value
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
