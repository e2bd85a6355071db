package robot

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"deviceagent/taskmanager/core"
	"deviceagent/testbed/home"
)

// command is one thing that a person or a test does to the robot. do says false where the robot cannot.
type command struct {
	usage string
	args  int // at least so many words; the last takes the rest of the line
	do    func(h *home.Home, now time.Duration, args []string) (bool, error)
}

var commands = map[string]command{
	"press": {"press BUTTON", 1, func(h *home.Home, now time.Duration, a []string) (bool, error) { return h.Press(now, a[0]), nil }},
	"vital": {"vital complete|cancel", 1, vital},
	"air": {"air ROOM PM25", 2, func(h *home.Home, now time.Duration, a []string) (bool, error) {
		pm25, err := strconv.ParseFloat(a[1], 64)
		return err != nil || h.SetAir(now, a[0], pm25), err
	}},
	"battery": {"battery PERCENT", 1, func(h *home.Home, now time.Duration, a []string) (bool, error) {
		percent, err := strconv.ParseFloat(a[0], 64)
		if err == nil {
			h.SetBattery(now, percent)
		}
		return true, err
	}},
	"move":  {"move ROOM", 1, func(h *home.Home, now time.Duration, a []string) (bool, error) { return h.MoveByHand(now, a[0]), nil }},
	"turn":  {"turn screen|mute|night|manner|quiet on|off", 2, turn},
	"lift":  {"lift", 0, func(h *home.Home, now time.Duration, _ []string) (bool, error) { h.Lift(now); return true, nil }},
	"place": {"place ROOM", 1, func(h *home.Home, now time.Duration, a []string) (bool, error) { return h.Place(now, a[0]), nil }},
	"say":   {"say WORDS", 1, func(h *home.Home, now time.Duration, a []string) (bool, error) { h.Say(now, a[0]); return true, nil }},
	"answer": {"answer OPTION", 1, func(h *home.Home, now time.Duration, a []string) (bool, error) {
		h.Answer(now, a[0])
		return true, nil
	}},
	"consent": {"consent granted|denied|revoked NAME", 2, func(h *home.Home, now time.Duration, a []string) (bool, error) {
		return h.Consent(now, a[1], a[0]), nil
	}},
	"fault": {"fault WORDS", 1, func(h *home.Home, now time.Duration, a []string) (bool, error) { return true, h.AddFault(now, a[0]) }},
	"mend": {"mend", 0, func(h *home.Home, now time.Duration, _ []string) (bool, error) {
		h.SetFaults(now, home.Faults{})
		h.ClearFault(now)
		return true, nil
	}},
	"breakdown": {"breakdown CODE minor|critical", 2, func(h *home.Home, now time.Duration, a []string) (bool, error) {
		h.Fault(now, a[0], a[1])
		return true, nil
	}},
}

func vital(h *home.Home, now time.Duration, a []string) (bool, error) {
	switch a[0] {
	case "complete":
		return h.CompleteVital(now), nil
	case "cancel":
		return h.CancelVital(now), nil
	}
	return false, nil
}

func turn(h *home.Home, now time.Duration, a []string) (bool, error) {
	on := a[1] == "on"
	return (on || a[1] == "off") && h.Turn(now, a[0], on), nil
}

// Commands is the usage of every command, one a line.
func Commands() string {
	lines := []string{"cut", "flood NUMBER", "restart [SERVICE] [forget]"}
	for _, c := range commands {
		lines = append(lines, c.usage)
	}
	slices.Sort(lines)
	method, whole := home.FaultWords()
	return strings.Join(lines, "\n") + "\nbuttons: " + strings.Join(home.Buttons(), " ") +
		"\nfaults of a method (METHOD:word=value,…): " + strings.Join(method, " ") + "\nfaults of the home: " + strings.Join(whole, " ")
}

// Command carries out one line, as [Commands] lists them: "press cancel", "air living_room 80", "move kitchen". An empty line
// does nothing. The error says what the robot cannot do.
func (r *Robot) Command(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	switch name := words[0]; name {
	case "help":
		r.out.printf("commands:\n%s", Commands())
	case "cut":
		r.Cut()
	case "restart":
		return r.restart(words[1:])
	case "flood":
		return r.flood(words[1:])
	default:
		return r.carryOut(name, words[1:])
	}
	return nil
}

// flood says so many signs of life of the task that was asked for last, as fast as the connection takes them.
func (r *Robot) flood(words []string) error {
	n, err := 0, error(nil)
	if len(words) == 1 {
		n, err = strconv.Atoi(words[0])
	}
	r.mu.Lock()
	task, there := r.last, r.session != nil && r.last != ""
	r.mu.Unlock()
	if err != nil || n <= 0 || !there {
		return fmt.Errorf("cannot flood %s: want a number, an agent, and a task that was asked for", strings.Join(words, " "))
	}
	for i := range n {
		r.mu.Lock() // for each alone: it floods, and does its work meanwhile
		if r.session != nil {
			_ = r.session.Progress(core.TaskProgress{Task: task, Percent: float64(i % 100)}) // a session that has ended is made anew
		}
		r.mu.Unlock()
	}
	return nil
}

// restart restarts all, or one service on the bus.
func (r *Robot) restart(words []string) error {
	forget := len(words) > 0 && words[len(words)-1] == "forget"
	if forget {
		words = words[:len(words)-1]
	}
	switch {
	case len(words) == 0:
		r.Restart(forget)
	case len(words) > 1 || !r.RestartPart(words[0], forget):
		return fmt.Errorf("cannot restart %s: that is no service of this robot on a bus", strings.Join(words, " "))
	}
	return nil
}

func (r *Robot) carryOut(name string, args []string) error {
	c, known := commands[name]
	if !known {
		return fmt.Errorf("cannot %s: known are %s", name, strings.Join(slices.Sorted(maps.Keys(commands)), " "))
	}
	if len(args) < c.args {
		return fmt.Errorf("cannot %s: usage: %s", name, c.usage)
	}
	if c.args > 0 {
		args = append(slices.Clone(args[:c.args-1]), strings.Join(args[c.args-1:], " "))
	}
	ok, err := false, error(nil)
	r.Do(func(h *home.Home, now time.Duration) { ok, err = c.do(h, now, args) })
	switch {
	case err != nil:
		return fmt.Errorf("cannot %s: %w", name, err)
	case !ok:
		return fmt.Errorf("cannot %s %s now: usage: %s", name, strings.Join(args, " "), c.usage)
	}
	return nil
}
