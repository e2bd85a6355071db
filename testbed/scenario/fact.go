package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"deviceagent/testbed/home"
)

// Fact is one thing that was seen. Its text is canonical, so that an expectation matches by being equal.
type Fact struct {
	Kind string
	Text string
}

func (f Fact) String() string { return strings.TrimSpace(f.Kind + " " + f.Text) }

// channel is a group of kinds whose facts have one order among them, or none.
type channel struct {
	name    string
	kinds   []string
	ordered bool
}

// channels are all kinds of facts, in the order in which a file is best read.
var channels = []channel{
	{"what was answered", []string{"turn", "grey", "null", "reply", "refused", "answer", "looked"}, true},
	{"what was looked up outside", []string{"fetched"}, true},
	{"what the robot's own log says", []string{"dispatch", "refuses", "again", "stops", "pauses", "resumes", "queries", "drives", "halts", "rolls",
		"arrived", "stopped", "failed", "cleans", "cleaned", "sets", "spoken", "shown"}, true},
	{"what the device answered to messages", []string{"ack"}, true},
	{"what the device asked, and what it was told", []string{"asks", "told", "asked"}, true},
	{"what the device said of content", []string{"content"}, true},
	{"how work ended", []string{"workflow", "goal", "step", "effect"}, true},
	{"what the planner knows", []string{"cloud"}, true},
	{"publishes of the device, as an outside subscriber counted them", []string{"up"}, false},
	{"publishes to the device, as an outside subscriber counted them", []string{"down"}, false},
	{"cost", []string{"cost"}, false},
	{"what must never be", []string{"wrong"}, true},
}

// kinds are all kinds.
var kinds = func() (all []string) {
	for _, c := range channels {
		all = append(all, c.kinds...)
	}
	return all
}()

func channelOf(kind string) *channel {
	for i := range channels {
		if slices.Contains(channels[i].kinds, kind) {
			return &channels[i]
		}
	}
	return nil
}

// told translates what the robot's log says of itself. What it does not list is either a person's doing, or what the robot said
// (which proves nothing here: evidence is compared with it elsewhere).
var told = map[home.Kind]func(e home.Entry) Fact{
	home.KindInvoke:        func(e home.Entry) Fact { return Fact{"dispatch", call(e)} },
	home.KindRefused:       func(e home.Entry) Fact { return Fact{"refuses", e.Method + " " + e.Reason} },
	home.KindRepeat:        func(e home.Entry) Fact { return Fact{"again", e.Method} },
	home.KindCancel:        func(e home.Entry) Fact { return Fact{"stops", e.Method} },
	home.KindPause:         func(e home.Entry) Fact { return Fact{"pauses", e.Method} },
	home.KindResume:        func(e home.Entry) Fact { return Fact{"resumes", e.Method} },
	home.KindQuery:         func(e home.Entry) Fact { return Fact{"queries", e.Method} },
	home.KindMotionStart:   func(e home.Entry) Fact { return Fact{"drives", "to " + e.Room + nobody(e)} },
	home.KindMotionPause:   func(e home.Entry) Fact { return Fact{"halts", "in " + e.Room} },
	home.KindMotionResume:  func(e home.Entry) Fact { return Fact{"rolls", "on"} },
	home.KindMotionEnd:     func(e home.Entry) Fact { return Fact{e.Reason, "in " + e.Room} }, // arrived, stopped, failed
	home.KindCleaningStart: func(e home.Entry) Fact { return Fact{"cleans", e.Room + nobody(e)} },
	home.KindCleaningPause: func(e home.Entry) Fact { return Fact{"halts", "the cleaning"} },
	home.KindCleaningGoOn:  func(e home.Entry) Fact { return Fact{"rolls", "the cleaning"} },
	home.KindCleaningEnd:   func(e home.Entry) Fact { return Fact{"cleaned", ended(e)} },
	home.KindSetting:       func(e home.Entry) Fact { return Fact{"sets", call(e)} },
	home.KindSpoken:        func(e home.Entry) Fact { return Fact{"spoken", fmt.Sprintf("%q", e.Text)} },
	home.KindShown:         func(e home.Entry) Fact { return Fact{"shown", fmt.Sprintf("%q", e.Text)} },
}

func nobody(e home.Entry) string {
	if e.TaskID == "" {
		return " (no task)"
	}
	return ""
}

func ended(e home.Entry) string {
	if e.Reason == "completed" {
		return e.Room
	}
	return e.Room + " " + e.Reason
}

func call(e home.Entry) string { return strings.TrimSpace(e.Method + " " + pairs(e.Params)) }

// pairs shows named values in the order of their names.
func pairs(values map[string]any) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == "question_id" { // made of the store's epoch, which is another one in each run
			continue
		}
		out = append(out, name+"="+show(values[name]))
	}
	return strings.Join(out, " ")
}

// show writes a value short: a place is its room.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		if room, ok := v["room_id"]; ok {
			return show(room)
		}
		return "{" + pairs(v) + "}"
	case string:
		if strings.ContainsAny(v, " =\"") || v == "" {
			return fmt.Sprintf("%q", v)
		}
		return v
	}
	return fmt.Sprint(v)
}

// promptly is how soon a stop that was asked for has to be called. Source: docs/scenarios.md, S35 and S36.
const promptly = 100 * time.Millisecond

// robotFacts is the robot's log. A dispatch shows how long after the line before it came, to a tenth of a second; so does a stop
// that did not follow promptly from what was done. side has the lines whose order within one instant counts where there is any; nil: each
// order is as the robot saw it.
func robotFacts(log []home.Entry, start time.Duration, done []time.Duration, side []Line) (out []Fact) {
	var lines []logLine
	methods := map[string]string{}
	for _, e := range log {
		if e.Kind == home.KindInvoke {
			methods[e.TaskID] = e.Method
		}
		if e.Method == "" {
			e.Method = methods[e.TaskID]
		}
		tell, ours := told[e.Kind]
		if !ours {
			continue
		}
		prompt := func(at time.Duration) bool {
			after := time.Duration(e.TMS)*time.Millisecond - at
			return after >= 0 && after <= promptly
		}
		f := tell(e)
		f.Text = plain(f.Text)
		lines = append(lines, logLine{f, e.TMS, e.Kind == home.KindInvoke || e.Kind == home.KindCancel && !slices.ContainsFunc(done, prompt), 0})
	}
	last := start.Milliseconds()
	for _, l := range sideBySide(lines, side) {
		if l.since {
			l.fact.Text = plain(l.fact.Text + " +" + (time.Duration(l.at-last) * time.Millisecond).Round(100*time.Millisecond).String())
		}
		last = l.at
		out = append(out, l.fact)
	}
	return out
}

// logLine is one line of the robot's log, before it is told how long it came after the one before.
type logLine struct {
	fact  Fact
	at    int64 // ms
	since bool  // it is told
	place int   // in the file, by which lines of one instant are put in order
}

// sideBySide puts lines of one instant into the order of the file. Calls to two services on a bus, or two calls to one, travel side by
// side: who of them comes first within one millisecond is nobody's promise. Lines of different instants keep their order, and what the
// file does not have stays behind what it has. For the same reason a task that is asked for twice within one instant counts as asked for
// once: a question changes nothing, and how often answers and signals of one moment cross is nobody's promise either.
func sideBySide(lines []logLine, file []Line) []logLine {
	if file == nil {
		return lines
	}
	used := make([]bool, len(file))
	place := func(l logLine) int {
		for i, want := range file {
			text, _, _ := strings.Cut(want.Text, " +")
			if !used[i] && want.Kind == l.fact.Kind && text == l.fact.Text {
				used[i] = true
				return i
			}
		}
		return len(file)
	}
	var out []logLine
	for from, to := 0, 0; from < len(lines); from = to {
		for to < len(lines) && lines[to].at == lines[from].at {
			lines[to].place = place(lines[to])
			to++
		}
		slices.SortStableFunc(lines[from:to], func(a, b logLine) int { return a.place - b.place })
		for i, l := range lines[from:to] {
			again := slices.ContainsFunc(lines[from:from+i], func(b logLine) bool { return b.fact == l.fact })
			if l.fact.Kind != "queries" || !again {
				out = append(out, l)
			}
		}
	}
	return out
}

// Format writes what was seen as the block "then" of a file would say it.
func (o *Observation) Format() string {
	var b strings.Builder
	for _, c := range channels {
		head := false
		for _, f := range o.Facts {
			if !slices.Contains(c.kinds, f.Kind) {
				continue
			}
			if !head {
				fmt.Fprintf(&b, "  # %s\n", c.name)
				head = true
			}
			text := strings.ReplaceAll(strings.ReplaceAll(f.Text, ": movement", ":\n      movement"), " + ", " +\n      ")
			fmt.Fprintf(&b, "  %-8s %s\n", f.Kind, strings.ReplaceAll(text, "; ", ";\n      "))
		}
	}
	return b.String()
}
