package conform

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// audit judges all that was heard during the run, of whichever stage.
func (r *run) audit() {
	log := r.w.all()
	if r.gone() {
		r.saw(false, Answers, nil, "watched who has the name", "the same owner all the time, but for the restart", "it left the bus by itself: has the service crashed? Look into its log")
	}
	for _, t := range r.tasks {
		r.auditTask(t)
	}
	r.strangers(log)
	r.types(log)
	r.elsewhere()
	r.numbers(log)
	r.rate(log)
	if c := r.check(Events); c.Status == NotRun && c.Reason == "" {
		r.notRun("no event of a task was heard, and none was asked for: give --expect-event NAME or --catalog", Events)
	}
}

// auditTask holds a task's Results against its answer and against one another.
func (r *run) auditTask(t *task) {
	said := r.resultsOf(t)
	if t.reply.method != "" && !t.reply.silent {
		first := len(said) > 0 && said[0].order < t.reply.order
		accepted, _, err := t.reply.accepted()
		if first {
			r.saw(err == nil && accepted, Early, t, r.calling("Invoke", t.reply.args)+"; Result came before the reply", "a reply that says accepted true",
				t.reply.String())
		} else if t.ran {
			r.saw(true, Early, t, r.calling("Invoke", t.reply.args), "no Result before the reply, or one that agrees with it", "the reply came first")
		}
		if first && !accepted {
			return // the Result of a refused task: it is named once
		}
	}
	if t.blame != "" || t.twice || len(said) == 0 {
		return
	}
	var outcomes []string
	for _, h := range said {
		outcome, _ := outcomeOf(h)
		outcomes = append(outcomes, outcome)
	}
	r.saw(len(said) == 1, Once, t, "counted the Results of "+t.id, "one", strings.Join(outcomes, ", then "))
	id := AfterEnd
	if outcome, _ := outcomeOf(said[0]); outcome == "cancelled" {
		if id = Stopped; t.why == "cancel" || len(r.after(t)) == 0 {
			return // that task's rest was looked at already
		}
	}
	r.afterEnd(t, id)
}

// afterEnd: evidence may follow done, since a sensor may need a moment. Nothing else may follow the end of a task.
func (r *run) afterEnd(t *task, id ID) {
	outcome, _ := outcomeOf(r.resultsOf(t)[0])
	seen := "nothing"
	for _, h := range r.after(t) {
		if h.member != "Event" || outcome != "done" {
			seen = h.member + "(" + showAll(h.body) + ")"
			break
		}
	}
	r.saw(seen == "nothing", id, t, "listened after Result "+outcome+" of "+t.id, "no Feedback and no Held", seen)
}

// strangers are signals of tasks that the kit did not give.
func (r *run) strangers(log []heard) {
	for _, h := range log {
		if h.member == "Context" || h.task == "" && h.member == "Event" {
			continue
		}
		ours := slices.ContainsFunc(r.tasks, func(t *task) bool { return t.id == h.task })
		if h.member == "Event" || !ours {
			r.saw(ours, Events, nil, "looked whose task "+h.member+"("+showAll(h.body)+") is", "a task of this run (is an agent using the service? stop it meanwhile)",
				fmt.Sprintf("task_id %q", h.task))
		}
	}
}

// signatures are those of executor1.xml.
var (
	answerSignatures = map[string]string{"Invoke": "bs", "Query": "sa{sv}", "Cancel": "bs", "Pause": "bs", "Resume": "bs", "Read": "a{sv}"}
	signalSignatures = map[string]string{"Feedback": "sds", "Held": "sb", "Result": "sssa{sv}", "Event": "sa{sv}", "Context": "a{sv}as"}
)

func (r *run) types(log []heard) {
	for _, a := range r.w.replies {
		want, ours := answerSignatures[a.method]
		if !ours || a.err != nil {
			continue
		}
		fault := ""
		if is := signature(a.body); is != want {
			fault = "signature " + is
		} else {
			fault = r.answerFault(a)
		}
		r.typed(fault, "read the answer of "+r.calling(a.method, a.args), "signature "+want+" and the documented fields")
	}
	for _, h := range log {
		want, ours := signalSignatures[h.member]
		fault := ""
		switch is := signature(h.body); {
		case !ours:
			fault, want = "no signal of this interface", "a signal of executor1.xml"
		case is != want:
			fault = "signature " + is
		default:
			fault = r.signalFault(h)
		}
		r.typed(fault, "read signal "+h.member+"("+showAll(h.body)+")", "signature "+want+" and the documented fields")
	}
}

// elsewhere: signals of our tasks that come from another object of the service are heard by nobody.
func (r *run) elsewhere() {
	for _, h := range r.w.other {
		if slices.ContainsFunc(r.tasks, func(t *task) bool { return t.id == h.task }) {
			r.typed("it comes from object "+string(h.path), "read signal "+h.member+"("+showAll(h.body)+")", "a signal of object "+r.o.Path)
		}
	}
}

// typed notes a fault, and one good step for all that had none.
func (r *run) typed(fault, did, expected string) {
	if fault != "" {
		r.saw(false, Types, nil, did, expected, fault)
	} else if r.check(Types).Status == NotRun {
		r.saw(true, Types, nil, did, expected, "as documented")
	}
}

// knownWords are what Query may say.
var knownWords = []string{"running", "ended", "unknown"}

func (r *run) answerFault(a reply) string {
	switch a.method {
	case "Read":
		return r.valuesFault(a.body[0])
	case "Query":
		details, _ := a.body[1].(map[string]godbus.Variant)
		known, _ := a.body[0].(string)
		if !slices.Contains(knownWords, known) {
			return fmt.Sprintf("known is %q; running, ended and unknown are the words", known)
		}
		fault := fieldFault(details, map[string]string{"sealed": "b", "paused": "b", "outcome": "s", "reason": "s", "output": "a{sv}", "event": "a{sv}"})
		if event, ok := details["event"].Value().(map[string]godbus.Variant); ok && fault == "" {
			fault = fieldFault(event, eventFields)
		}
		return fault
	}
	if accepted, reason, err := a.accepted(); err == nil && !accepted && reason != "" && !isName(reason) {
		return fmt.Sprintf("reason %q is no code; codes look like battery_low", reason)
	}
	return ""
}

func (r *run) signalFault(h heard) string {
	switch h.member {
	case "Feedback":
		if p, _ := h.body[1].(float64); math.IsNaN(p) || p < 0 || p > 100 {
			return fmt.Sprintf("percent is %v, from 0 to 100 it may be", p)
		}
	case "Result":
		outcome, reason := outcomeOf(h)
		if !slices.Contains([]string{"done", "failed", "cancelled"}, outcome) {
			return fmt.Sprintf("outcome is %q; done, failed and cancelled are the words", outcome)
		}
		if reason != "" && !isName(reason) {
			return fmt.Sprintf("reason %q is no code; codes look like battery_low", reason)
		}
		_, err := plain(h.body[3])
		return errText(err)
	case "Event":
		return r.eventFault(h)
	case "Context":
		return r.valuesFault(h.body[0])
	}
	if h.member != "Context" && !isName(h.task) {
		return fmt.Sprintf("task_id %q is no id", h.task)
	}
	return ""
}

var eventFields = map[string]string{"event": "s", "task_id": "s", "resource": "s", "source": "s", "source_class": "s", "occurred_at": "s", "seq": "x", "reason": "s",
	"data": "a{sv}"}

func (r *run) eventFault(h heard) string {
	raw, _ := h.body[1].(map[string]godbus.Variant)
	if fault := fieldFault(raw, eventFields); fault != "" {
		return fault
	}
	name, fields, ok := eventOf(h)
	if _, err := plain(raw); err != nil || !ok {
		return "cannot be read: " + errText(err)
	}
	if class, given := fields["source_class"]; given && !slices.Contains([]any{"independent", "same_path", "echo"}, class) {
		return fmt.Sprintf("source_class is %v; independent, same_path and echo are the words", class)
	}
	if at, _ := fields["occurred_at"].(string); len(at) > 64 {
		return fmt.Sprintf("occurred_at has %d bytes, at most 64", len(at))
	}
	for _, n := range []string{"task_id", "resource", "source", "source_class"} {
		if v, given := fields[n].(string); given && !isName(v) {
			return fmt.Sprintf("%s %q is no name", n, v)
		}
	}
	if r.o.Catalog == nil {
		return ""
	}
	entry, known := r.o.Catalog.Events[catalog.EventName(name)]
	if !known {
		return "the catalog has no event " + name
	}
	data, _ := fields["data"].(map[string]any)
	for field, v := range data {
		if p, declared := entry.Data[field]; declared && p.Type != catalog.RoomRef && !condition.Fits(v, string(p.Type)) {
			return fmt.Sprintf("data %s is %s, the catalog says %s", field, asJSON(v), p.Type)
		}
	}
	return ""
}

// valuesFault looks at context values.
func (r *run) valuesFault(v any) string {
	values, _ := v.(map[string]godbus.Variant)
	for key, raw := range values {
		have, err := plain(raw)
		if err != nil {
			return key + ": " + err.Error()
		}
		if r.o.Catalog == nil {
			continue
		}
		entry, known := r.o.Catalog.Context[catalog.ContextKey(key)]
		if known && !condition.Fits(have, string(entry.Type)) {
			return fmt.Sprintf("%s is %s, the catalog says %s", key, asJSON(have), entry.Type)
		}
	}
	return ""
}

// fieldFault holds the fields that a map has against their types; an integer of another size is read, too.
func fieldFault(m map[string]godbus.Variant, want map[string]string) string {
	for name, sig := range want {
		v, there := m[name]
		if !there {
			continue
		}
		_, integer := whole(v.Value())
		if is := v.Signature().String(); is != sig && !(sig == "x" && integer) {
			return fmt.Sprintf("%s has type %s, not %s", name, is, sig)
		}
	}
	return ""
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// isName is what the contract takes for an id or a name.
func isName(text string) bool {
	return len(text) > 0 && len(text) <= 128 && !strings.ContainsFunc(text, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._:-@", c))
	})
}

// numbers: a source counts its events up, for as long as its service lives.
func (r *run) numbers(log []heard) {
	last := map[string]float64{}
	for _, h := range log {
		_, fields, ok := eventOf(h)
		seq, counted := fields["seq"].(float64)
		if !ok || !counted {
			continue
		}
		source, _ := fields["source"].(string)
		key := h.owner + " " + source
		if was, known := last[key]; known && seq <= was {
			r.saw(false, Events, nil, "compared seq of the events of source "+source, "counting up", fmt.Sprintf("%v after %v", seq, was))
		}
		last[key] = max(last[key], seq)
	}
}

// rate is the most signals in any one second.
func (r *run) rate(log []heard) {
	most, from := 0, 0
	for i, h := range log {
		for h.at.Sub(log[from].at) >= time.Second {
			from++
		}
		most = max(most, i-from+1)
	}
	if len(log) > 0 {
		r.saw(most <= r.o.MaxRate, Flood, nil, fmt.Sprintf("counted the %d signals of the run", len(log)), fmt.Sprintf("at most %d in any second", r.o.MaxRate),
			fmt.Sprintf("%d in the busiest second", most))
	} else {
		r.notRun("no signal was heard", Flood)
	}
}
