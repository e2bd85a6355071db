package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Stimulus is one thing that is said or done, and when.
type Stimulus struct {
	No    int
	At    time.Duration // since the start of the scenario; -1: not given
	After string        // name of an event in the robot's log, which must come after the stimulus before
	Plus  time.Duration // later than After, or than the stimulus before
	Verb  string
	Arg   string
}

// parseStimulus reads "at 30s VERB …", "after movement.arrived +10s VERB …", "+10s VERB …" or "VERB …".
func parseStimulus(l Line) (Stimulus, error) {
	st, rest := Stimulus{No: l.No, At: -1}, l.Text
	var err error
	next := func() (word string) {
		word, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
		return word
	}
	word := next()
	switch word {
	case "at":
		if st.At, err = time.ParseDuration(next()); err != nil {
			return st, err
		}
		word = next()
	case "after":
		st.After = next()
		word = next()
	}
	if plus, ok := strings.CutPrefix(word, "+"); ok {
		if st.Plus, err = time.ParseDuration(plus); err != nil {
			return st, err
		}
		word = next()
	}
	st.Verb, st.Arg = word, strings.TrimSpace(rest)
	if st.Verb == "" {
		return st, errors.New("nothing is done")
	}
	return st, nil
}

// verbs are what a file can do beside the robot's own commands (see robot.Commands).
var verbs = map[string]func(h *house, arg string) error{
	"say":     (*house).say,
	"offer":   (*house).offer,
	"plan":    func(h *house, arg string) error { return h.plan(arg, true) },
	"send":    func(h *house, arg string) error { return h.plan(arg, false) },
	"submit":  (*house).submit,
	"publish": (*house).publish,
	"cancel":  (*house).cancel,
	"pause":   func(h *house, arg string) error { return h.hold("pause", arg) },
	"resume":  func(h *house, arg string) error { return h.hold("resume", arg) },
	"local":   (*house).local,
	"control": (*house).control,
	"tell":    (*house).tell,
	"link":    (*house).setLink,
	"broker":  (*house).setBroker,
	"disk":    (*house).setDisk,
	"store":   (*house).loseStore,
	"planner": (*house).setPlanner,
	"outside": func(h *house, arg string) error { return h.outside.set(arg) },
	"decide":  (*house).decide,
	"answers": (*house).answer,
	"clock":   (*house).setClock,
	"suspend": (*house).suspend,
	"restart": func(h *house, arg string) error { return h.restart(arg, false) },
	"reboot":  func(h *house, arg string) error { return h.restart(arg, true) },
	"robot":   func(h *house, arg string) error { return h.robot.Command(arg) },
	"bus":     (*house).onTheBus,
	"look":    (*house).look,
	"wait":    func(*house, string) error { return nil },
}

// do waits until a stimulus is due, and lets everything before it come to rest.
func (h *house) do(st Stimulus) error {
	if err := h.until(st); err != nil {
		return err
	}
	h.rest()
	h.mark = h.log.len()
	h.done = append(h.done, time.Since(h.born))
	if verb, ours := verbs[st.Verb]; ours {
		return verb(h, st.Arg)
	}
	if err := h.robot.Command(strings.TrimSpace(st.Verb + " " + st.Arg)); err != nil {
		return fmt.Errorf("%w (or one of %s)", err, strings.Join(slices.Sorted(maps.Keys(verbs)), " "))
	}
	return nil
}

// patience bounds the wait for an event, in virtual time.
const patience = 6 * time.Hour

func (h *house) until(st Stimulus) error {
	if st.At >= 0 {
		left := time.Until(h.start.Add(st.At))
		if left < 0 {
			return fmt.Errorf("%v has passed: it is %v", st.At, time.Since(h.start))
		}
		time.Sleep(left)
	}
	if st.After != "" && !h.log.await(h.mark, st.After, patience) {
		return fmt.Errorf("no %s within %v", st.After, patience)
	}
	time.Sleep(st.Plus)
	return nil
}
