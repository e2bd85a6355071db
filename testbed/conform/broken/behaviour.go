package broken

import (
	"math"
	"slices"
	"strings"
	"time"

	godbus "github.com/godbus/dbus/v5"
)

// Behaviour is one way to be wrong.
type Behaviour struct {
	Name  string
	What  string // what the service does
	Check string // the check of the kit that must name it; "": none, the service is honest
	set   func(*faults)
}

// faults are the places at which a service departs from what it should do. Zero is honest.
type faults struct {
	atOnce bool // honest: each task ends before the reply to its Invoke

	// Of Invoke.
	answerLate   time.Duration
	feedbackPath string // behind the path of its object
	sentence     string // instead of a reason
	refuseAll    bool
	takeAll      bool     // any method, any arguments
	runRefused   bool     // says no, and runs it
	errorInstead string   // refuses by this error
	twiceRuns    bool     // a known id is accepted and runs once more
	twiceYes     bool     // a known id is accepted, and does not run
	endedYes     bool     // the same, only after its end
	earlyNo      bool     // Result, then a reply that refuses
	silent       []string // calls that are never answered
	crashes      bool     // in the middle of each task, and is started anew
	bare         bool     // honest: can neither pause nor be cancelled, and says so
	blocks       bool     // no call is answered while a task runs

	// Of the end.
	noResult   bool
	again      string // outcome of a second Result
	afterEnd   bool   // Feedback after the Result
	lies       bool   // done at once, and nothing happens
	noContext  bool   // done and the event, and the context stays
	otherTurns bool   // the event says another number
	noEvent    bool

	// Of events and types.
	eventTask func(id string) string
	class     string
	seqBack   bool
	alter     func(member string, body []any) []any // a signal before it is sent
	replies   map[string]any                        // methods that answer in another form
	values    map[string]godbus.Variant             // beside the context
	beside    func(s *Service)                      // says something beside each Event
	percent   float64
	flood     int // signals at each tick

	// Of stop and pause.
	cancelIgnored bool
	cancelRefused bool
	cancelSlow    time.Duration
	cancelDone    bool // says done instead of cancelled
	cancelGoesOn  bool // Feedback after cancelled
	cancelSpins   bool // the wheel spins on, silently
	pauseMute     bool // no Held true
	pauseUntold   bool // Query does not say paused
	pauseRefused  bool
	pausedUnknown bool
	pauseSpins    bool // rests by its word only
	pauseGoesOn   bool
	resumeMute    bool
	resumeFails   bool
	resumeRefused bool

	// Of Query.
	queryUnknown  bool // of what runs
	queryOther    bool // another outcome
	queryOpen     bool // unknown, and not sealed
	sealForgotten bool // says sealed, and runs it

	// Of the restart.
	restartRuns    bool // says running for ever
	restartGoesOn  bool // says failed, and goes on
	restartForgets bool // everything
	restartAlters  bool // says failed of what was done
	restartUnseals bool
	restartRefuses bool // takes no task any more
	restartTakes   bool // takes the task that was cut off once more
	restartRepeats bool // takes what was done once more
	restartSpins   bool // the wheel spins on

	// Of what is asked beside.
	xml       func(string) string
	health    any
	readError bool
	readMore  bool
}

// All are the behaviours, the honest ones first.
func All() []Behaviour { return slices.Clone(all) }

// Find gives a behaviour by its name.
func Find(name string) (Behaviour, bool) {
	i := slices.IndexFunc(all, func(b Behaviour) bool { return b.Name == name })
	if i < 0 {
		return Behaviour{}, false
	}
	return all[i], true
}

var all = []Behaviour{
	{"honest", "does what it says", "", func(*faults) {}},
	{"ends-at-once", "each task ends before the reply to its Invoke", "", func(f *faults) { f.atOnce = true }},

	{"bare", "can neither pause nor be cancelled, and says so", "", func(f *faults) { f.bare = true }},

	{"answers-late", "accepts after the ack deadline", "accepts", func(f *faults) { f.answerLate = 6 * time.Second }},
	{"refuses-good", "refuses what is right", "accepts", func(f *faults) { f.refuseAll = true }},

	{"takes-anything", "accepts any method and any arguments", "refuses", func(f *faults) { f.takeAll = true }},
	{"refuses-and-runs", "refuses bad input, and runs it", "refuses", func(f *faults) { f.runRefused = true }},
	{"refuses-by-odd-error", "refuses by an error of its own, after which nobody knows", "refuses", func(f *faults) { f.errorInstead = "com.example.Error.Bad" }},

	{"runs-twice", "runs a known task id once more", "duplicate", func(f *faults) { f.twiceRuns = true }},
	{"accepts-twice", "accepts a known task id, and does not run it", "duplicate", func(f *faults) { f.twiceYes = true }},
	{"accepts-after-end", "accepts a task id that has ended", "duplicate", func(f *faults) { f.endedYes = true }},

	{"result-then-refused", "says Result, and then refuses the task in the reply", "early-result", func(f *faults) { f.atOnce, f.earlyNo = true, true }},
	{"result-before-and-after", "says Result before the reply, and once more after it", "one-result", func(f *faults) { f.atOnce, f.again = true, "done" }},

	{"silent-invoke", "never answers Invoke", "answers", silent("Invoke")},
	{"silent-query", "never answers Query", "answers", silent("Query")},
	{"silent-cancel", "never answers Cancel", "answers", silent("Cancel")},
	{"silent-pause", "never answers Pause", "answers", silent("Pause")},
	{"silent-read", "never answers Read", "answers", silent("Read")},
	{"dead", "answers no call of the interface", "answers", silent("Invoke", "Query", "Cancel", "Pause", "Resume", "Read")},
	{"blocks", "answers no call while a task runs", "answers", func(f *faults) { f.blocks = true }},
	{"crashes", "leaves the bus in the middle of a task, and is started anew", "answers", func(f *faults) { f.crashes = true }},
	{"no-result", "never says how a task ended", "result", func(f *faults) { f.noResult = true }},

	{"two-results", "says the same Result twice", "one-result", func(f *faults) { f.again = "done" }},
	{"done-then-failed", "says done, then failed", "one-result", func(f *faults) { f.again = "failed" }},
	{"feedback-after-end", "reports progress after the Result", "after-end", func(f *faults) { f.afterEnd = true }},

	{"query-unknown", "does not know by Query what it runs", "query", func(f *faults) { f.queryUnknown = true }},
	{"query-other-outcome", "says another outcome by Query than by Result", "query", func(f *faults) { f.queryOther = true }},
	{"query-unsealed", "does not seal what it does not know", "seal", func(f *faults) { f.queryOpen = true }},
	{"seal-forgotten", "says sealed, and runs the task later", "seal", func(f *faults) { f.sealForgotten = true }},

	{"lies-done", "says done, and nothing has happened", "proof", func(f *faults) { f.lies = true }},
	{"done-unseen", "says done and sends the event, and the context says otherwise", "proof", func(f *faults) { f.noContext = true }},
	{"done-elsewhere", "says done, and its own event says another number", "proof", func(f *faults) { f.otherTurns = true }},
	{"done-without-event", "says done without the event", "proof", func(f *faults) { f.noEvent = true }},

	{"event-without-task", "names no task in its events", "events", func(f *faults) { f.eventTask = func(string) string { return "" } }},
	{"event-of-another-task", "names another task in its events", "events", func(f *faults) { f.eventTask = func(id string) string { return id + ".x" } }},
	{"event-echo", "calls its events an echo of the command", "events", func(f *faults) { f.class = "echo" }},
	{"event-number-stands", "does not count its events up", "events", func(f *faults) { f.seqBack = true }},

	{"cancel-ignored", "accepts a cancel, and goes on to its end", "cancel", func(f *faults) { f.cancelIgnored = true }},
	{"cancel-refused", "refuses a cancel", "cancel", func(f *faults) { f.cancelRefused = true }},
	{"cancel-slow", "stops long after stop_ms", "cancel", func(f *faults) { f.cancelSlow = 9 * time.Second }},
	{"cancelled-says-done", "says done of a task that was cancelled", "cancel", func(f *faults) { f.cancelDone = true }},
	{"cancelled-goes-on", "says cancelled, and reports progress", "stopped", func(f *faults) { f.cancelGoesOn = true }},
	{"cancelled-spins", "says cancelled, and the wheel spins on", "stopped", func(f *faults) { f.cancelSpins = true }},

	{"pause-refused", "refuses a pause that its catalog promises", "pause", func(f *faults) { f.pauseRefused = true }},
	{"paused-unknown", "does not know by Query what it has paused", "query", func(f *faults) { f.pausedUnknown = true }},
	{"pause-without-held", "accepts a pause, and never says that it rests", "pause", func(f *faults) { f.pauseMute = true }},
	{"pause-untold", "does not say by Query that it rests", "pause", func(f *faults) { f.pauseUntold = true }},
	{"paused-goes-on", "says that it rests, and goes on", "pause-rest", func(f *faults) { f.pauseGoesOn = true }},
	{"paused-spins", "says that it rests, and the wheel spins on", "pause-rest", func(f *faults) { f.pauseSpins = true }},
	{"resume-without-held", "goes on, and does not say so", "resume", func(f *faults) { f.resumeMute = true }},
	{"resume-fails", "accepts a resume, and fails the task", "resume", func(f *faults) { f.resumeFails = true }},
	{"resume-refused", "refuses a resume", "resume", func(f *faults) { f.resumeRefused = true }},

	{"restart-running", "says after a restart that the task runs, and it never ends", "restart", func(f *faults) { f.restartRuns = true }},
	{"restart-goes-on", "says after a restart that the task failed, and goes on with it", "restart", func(f *faults) { f.restartGoesOn = true }},
	{"restart-takes-again", "says after a restart that the task failed, and takes its id again", "restart", func(f *faults) { f.restartTakes = true }},
	{"restart-repeats", "takes after a restart the id of what was done", "restart-memory", func(f *faults) { f.restartRepeats = true }},
	{"restart-spins", "says after a restart that the task failed, and the wheel spins on", "restart", func(f *faults) { f.restartSpins = true }},
	{"restart-refuses", "takes no task after a restart", "restart", func(f *faults) { f.restartRefuses = true }},
	{"restart-forgets", "has forgotten after a restart what had ended", "restart-memory", func(f *faults) { f.restartForgets = true }},
	{"restart-alters", "says after a restart failed of what was done", "restart-memory", func(f *faults) { f.restartAlters = true }},
	{"restart-unseals", "runs after a restart what was sealed", "restart-memory", func(f *faults) { f.restartUnseals = true }},

	{"no-introspection", "gives another interface by introspection", "introspection", func(f *faults) { f.xml = cutFrom(`<method name="Pause">`, `<method name="Resume">`) }},
	{"odd-introspection", "gives another signature by introspection", "introspection", func(f *faults) { f.xml = replaced(`name="percent" type="d"`, `name="percent" type="i"`) }},
	{"health-sentence", "says a sentence as its Health", "health", func(f *faults) { f.health = "all is well" }},
	{"health-number", "says a number as its Health", "health", func(f *faults) { f.health = int32(0) }},
	{"read-error", "answers Read of an unknown key by an error", "read", func(f *faults) { f.readError = true }},
	{"read-more", "answers Read with keys that nobody asked for", "read", func(f *faults) { f.readMore = true }},

	{"result-short", "says Result without its output", "types", func(f *faults) { f.alter = onMember("Result", func(b []any) []any { return b[:3] }) }},
	{"result-odd-word", "says Result with another word than done", "types", func(f *faults) {
		f.alter = onMember("Result", func(b []any) []any { return []any{b[0], b[1], "All is well!", b[3]} })
	}},
	{"percent-text", "says the percent of Feedback as a text", "types", func(f *faults) {
		f.alter = onMember("Feedback", func(b []any) []any { return []any{b[0], "50 %", b[2]} })
	}},
	{"percent-nan", "says a percent that is no number", "types", func(f *faults) { f.percent = math.NaN() }},
	{"seq-text", "counts its events by texts", "types", func(f *faults) {
		f.alter = onMember("Event", func(b []any) []any {
			b[1].(map[string]godbus.Variant)["seq"] = godbus.MakeVariant("7")
			return b
		})
	}},
	{"context-text", "gives a number of the context as a text", "types", func(f *faults) {
		f.values = map[string]godbus.Variant{"wheel.grip": godbus.MakeVariant("much")}
	}},
	{"pause-answer-short", "answers Pause without a reason", "types", func(f *faults) {
		f.replies = map[string]any{"Pause": func(s *Service) any {
			return func(id string) (bool, *godbus.Error) {
				ok, _, fail := s.Pause(id)
				return ok, fail
			}
		}}
	}},
	{"known-odd-word", "says another word than running by Query", "types", func(f *faults) {
		f.replies = map[string]any{"Query": func(s *Service) any {
			return func(id string) (string, map[string]godbus.Variant, *godbus.Error) {
				known, details, fail := s.Query(id)
				return strings.Replace(known, "running", "busy", 1), details, fail
			}
		}}
	}},
	{"class-odd-word", "says another class than there are", "types", beside("wheel.spun", "source_class", "sensor")},
	{"data-text", "says a number of an event as a text", "types", beside("wheel.spun", "data", map[string]godbus.Variant{"grip": godbus.MakeVariant("much")})},
	{"event-unknown", "says an event that the catalog does not have", "types", beside("wheel.greased", "reason", "")},
	{"reason-sentence", "refuses by a sentence", "types", func(f *faults) { f.sentence = "No, I will not." }},
	{"other-object", "says Feedback from another object", "types", func(f *faults) { f.feedbackPath = "/other" }},
	{"feedback-of-nobody", "reports progress of a task that nobody gave", "events", func(f *faults) { f.beside = func(s *Service) { s.emit("Feedback", "nobody", 1.0, "") } }},
	{"floods", "says hundreds of signals a second", "flood", func(f *faults) { f.flood = 200 }},
}

// beside says a second event without a task, which differs in one field.
func beside(name, field string, value any) func(*faults) {
	return func(f *faults) {
		f.beside = func(s *Service) {
			s.emit("Event", name, map[string]godbus.Variant{"source": godbus.MakeVariant("wheel_other"), field: godbus.MakeVariant(value)})
		}
	}
}

func silent(calls ...string) func(*faults) { return func(f *faults) { f.silent = calls } }

func onMember(name string, do func([]any) []any) func(string, []any) []any {
	return func(member string, body []any) []any {
		if member == name {
			return do(body)
		}
		return body
	}
}
