package running

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// status answers what is being done and whether it has ended, from what the device has said, and changes nothing.
func (r *Runner) status(in turn.Input) (turn.Decision, bool) {
	if in.Around.Link == "" {
		return turn.Decision{}, false // nobody has looked: there is nothing to answer from
	}
	text := tidy(in.Text)
	if _, ok := match(say.Status, text); ok {
		return r.whatNow(in), true
	}
	if _, ok := match(say.Where, text); ok {
		return r.whereNow(in), true
	}
	if _, ok := match(say.Past, text); ok {
		return r.before(in), true
	}
	for _, q := range []struct {
		all []pattern
		ask question
	}{{say.During, during}, {say.Arrived, arrived}, {say.Ended, ended}} {
		for _, p := range q.all {
			m, ok := match([]pattern{p}, text)
			if !ok {
				continue
			}
			if m["x"] == "" {
				return r.allEnded(in), true
			}
			s := r.subjectOf(in, m["x"])
			if q.ask == arrived && !s.named || s.nothing() {
				continue
			}
			return r.about(in, bare(m["x"]), s, q.ask), true
		}
	}
	return turn.Decision{}, false
}

// question is what is asked about one thing.
type question int

const (
	ended   question = iota // has it ended
	during                  // is it being done
	arrived                 // is the robot there
)

// whatNow tells how each open plan stands, and what is being told.
func (r *Runner) whatNow(in turn.Input) turn.Decision {
	var parts []string
	d := decided(in, "status", "", "progress")
	if in.Around.Link == "link_lost" {
		parts = append(parts, say1(in, "link_lost"))
	}
	for _, w := range inOrder(in.Around) {
		parts = append(parts, r.stands(in, w)...)
		d.Evidence = append(d.Evidence, proofs(w)...)
	}
	for _, s := range in.Around.Sessions {
		if name, ok := sentences["kind_"+s.Kind]; ok && s.State == "active" {
			parts = append(parts, say1(in, "session", name.in(in)))
		} else if s.State == "active" {
			parts = append(parts, say1(in, "session_any"))
		}
		d.Evidence = append(d.Evidence, turn.Evidence{Kind: "session", ID: s.SessionID, Span: s.State})
	}
	if len(in.Around.Workflows)+len(in.Around.Sessions)+len(r.goingOn(in)) == 0 {
		parts = append(parts, say1(in, "nothing"))
	}
	for _, w := range in.Around.Ended { // what a plan has begun and not ended outlives it
		for _, q := range w.Plan.Requests {
			if r.goesOn(in, w, q) && w.AgeMS < r.lasts(q) {
				parts = append(parts, say1(in, "begun", r.called(in, q)))
				d.Evidence = append(d.Evidence, proofs(turn.Workflow{WorkflowID: w.WorkflowID, Steps: []turn.StepNow{stepNow(w, q.CloudStepID)}})...)
			}
		}
	}
	d.TTSResponse = strings.Join(parts, " ")
	return d
}

func (s sentence) in(in turn.Input) string {
	if english(in.Text) {
		return s.En
	}
	return s.Ko
}

// proofs are what the device has said of the steps of a plan, as evidence of an answer.
func proofs(w turn.Workflow) (out []turn.Evidence) {
	for _, s := range w.Steps {
		out = append(out, turn.Evidence{Kind: "step", ID: w.WorkflowID + "/" + s.ID, Span: fmt.Sprintf("%s by %s, %d ms ago", s.State, s.Evidence, s.AgeMS)})
	}
	return out
}

// The parts of a plan, by the states of its steps. What is in no list is not known.
var (
	acting  = []string{"dispatching", "running", "verifying", "cancelling"}
	waiting = []string{"queued", "blocked", "retry_wait"}
	ahead   = []string{"pending", "waiting"}
	halted  = []string{"paused"}
	broken  = []string{"failed", "timed_out", "outcome_unknown"}
)

// stands says how one plan stands: what is done, what is being done, what is left. Of what nobody has reported it says that.
func (r *Runner) stands(in turn.Input, w turn.Workflow) (parts []string) {
	if len(w.Steps) == 0 {
		return []string{say1(in, untold(w.Status), r.asked(in, w))}
	}
	age := oldest(w.Steps)
	stale := age >= staleMS
	if stale {
		parts = append(parts, say1(in, "as_of", ageText(in, age)))
	}
	parts = append(parts, r.givenUp(in, w)...)
	lists := map[string][]string{}
	for _, q := range w.Plan.Requests {
		s := stepNow(w, q.CloudStepID)
		if q.Skill != "" && slices.Contains(done, s.State) {
			continue // its step is done when it begins: the session says how it goes
		}
		if s.State == "blocked" && s.ReasonCode != "" {
			parts = append(parts, r.reason(in, q, s.ReasonCode))
			continue
		}
		group := groupOf(s.State)
		if group == "finished" && r.goesOn(in, w, q) {
			group = "begun"
		}
		if group != "" {
			lists[group] = append(lists[group], r.called(in, q))
		}
	}
	for _, group := range []string{"finished", "begun", "failed", "now", "paused", "waiting", "left", "unknown"} {
		if names := lists[group]; len(names) > 0 {
			if group == "now" && stale {
				group = "now_then"
			}
			parts = append(parts, say1(in, group, strings.Join(names, ", ")))
		}
	}
	return parts
}

// untold names the sentence for a plan of whose steps nothing is known, by how far it has come on its way to the device.
func untold(status string) string {
	switch status {
	case "queued":
		return "not_sent"
	case "sent":
		return "not_acked"
	}
	return "no_report"
}

// staleMS is from when on it is said how old knowledge is: a moment later a robot may stand elsewhere.
const staleMS = 5000

// oldest is the age of what is known latest of a plan: one message tells of all its steps at once, or of one that is over for good.
func oldest(steps []turn.StepNow) int64 {
	age := steps[0].AgeMS
	for _, s := range steps {
		age = min(age, s.AgeMS)
	}
	return age
}

func groupOf(state string) string {
	switch {
	case slices.Contains(done, state):
		return "finished"
	case slices.Contains(acting, state):
		return "now"
	case slices.Contains(halted, state):
		return "paused"
	case slices.Contains(waiting, state):
		return "waiting"
	case slices.Contains(ahead, state):
		return "left"
	case slices.Contains(broken, state):
		return "failed"
	case state == "":
		return "unknown"
	}
	return "" // cancelled or skipped: it belongs to the plan no more
}

// stepNow is what is known of a step; its state is empty where nothing is.
func stepNow(w turn.Workflow, id string) turn.StepNow {
	for _, s := range w.Steps {
		if s.ID == id {
			return s
		}
	}
	return turn.StepNow{ID: id}
}

// asked is what a plan was asked for: the steps in their order.
func (r *Runner) asked(in turn.Input, w turn.Workflow) string {
	var names []string
	for _, q := range w.Plan.Requests {
		names = append(names, r.called(in, q))
	}
	return strings.Join(names, ", ")
}

// reason is why a step does not go on, in the words of the catalog for its reason_code.
func (r *Runner) reason(in turn.Input, q wire.Request, code string) string {
	text, ok := r.cat.Reasons[code]
	if !ok {
		text = r.cat.Questions["failed"]
	}
	words := text.In(localeOf(in))
	for _, name := range catalog.Placeholders(words) {
		fill := ""
		if name == "step" {
			fill = r.called(in, q)
		}
		words = strings.ReplaceAll(words, "{"+name+"}", fill)
	}
	return capital(strings.Join(strings.Fields(words), " "))
}

// capital begins a sentence, where its letters have capitals.
func capital(text string) string {
	letters := []rune(text)
	if len(letters) > 0 {
		letters[0] = unicode.ToUpper(letters[0])
	}
	return string(letters)
}

// ageText is a time that has passed, in the largest unit that it fills.
func ageText(in turn.Input, ms int64) string {
	units := []struct {
		ms     int64
		ko, en string
	}{{3_600_000, "시간", "h"}, {60_000, "분", "min"}, {1000, "초", "s"}}
	for _, u := range units {
		if n := ms / u.ms; n > 0 {
			if english(in.Text) {
				return fmt.Sprintf("%d %s", n, u.en)
			}
			return fmt.Sprintf("%d%s", n, u.ko)
		}
	}
	return ""
}

// lasts is how long the work of a step goes on by itself, at most.
func (r *Runner) lasts(q wire.Request) int64 {
	resolved, faults := r.cat.Resolve(catalog.Method(q.TaskMethod), q.Params.Map())
	if len(faults) > 0 {
		return 0
	}
	op := r.cat.Operations[catalog.Method(q.TaskMethod)]
	minutes, _ := resolved.Args["duration_min"].(float64)
	return max(op.ExpectedMS.For(resolved.Args), int64(minutes)*60_000)
}
