package conform

// ID names a check for ever: reports, --skip and docs/conformance.md use it.
type ID string

// The checks.
const (
	Introspection ID = "introspection"
	Health        ID = "health"
	Read          ID = "read"
	Accepts       ID = "accepts"
	Refuses       ID = "refuses"
	Answers       ID = "answers"
	Duplicate     ID = "duplicate"
	Early         ID = "early-result"
	Ends          ID = "result"
	Once          ID = "one-result"
	AfterEnd      ID = "after-end"
	Query         ID = "query"
	Seal          ID = "seal"
	Proof         ID = "proof"
	Events        ID = "events"
	Cancel        ID = "cancel"
	Stopped       ID = "stopped"
	Pause         ID = "pause"
	Rests         ID = "pause-rest"
	Resume        ID = "resume"
	Restart       ID = "restart"
	Memory        ID = "restart-memory"
	Types         ID = "types"
	Flood         ID = "flood"
)

// about is what people read of a check. The order is that of the report.
type about struct {
	id    ID
	title string // what has to hold
	mend  string // what to change in the service where it does not
}

var checks = []about{
	{Introspection, "introspection gives the whole interface",
		"Export org.deviceagent.Executor1 with the members and signatures of executor1.xml at the path that the catalog names, and answer Introspect there."},
	{Health, "Health is one word", "Give the property Health of type s: \"ok\", or one word without spaces that says why not."},
	{Read, "Read gives the keys that were asked for and leaves out what has no value",
		"Answer Read with an entry for each key that has a value now, and with no others; a key that you do not know is left out, it is no error."},
	{Accepts, "Invoke is accepted in time",
		"Answer Invoke as soon as it is clear whether the task will run, before the work begins; do the work elsewhere than in the handler of the call."},
	{Refuses, "bad input is refused and does not run",
		"Check method and params before anything moves, and answer accepted false with a reason such as input_invalid."},
	{Answers, "each call is answered in its time",
		"Let no call wait for the work or for a lock that the work holds; answer each on its own, also while a task runs."},
	{Duplicate, "a task id runs once, for ever",
		"Keep every task id; answer an Invoke with one that is known with accepted false, reason task_known, and do nothing."},
	{Early, "a Result before its reply agrees with the reply",
		"A task whose Result was said was accepted: reply accepted true, and say the Result once. A refused task has no Result."},
	{Ends, "an accepted task ends with a Result",
		"Say Result for each accepted task, whatever becomes of it: outcome done, failed or cancelled, within the operation's timeout."},
	{Once, "a task has one Result", "Let one place in the code end a task and say Result; whoever comes second finds it ended."},
	{AfterEnd, "nothing is said of a task after its Result",
		"Stop timers and worker of a task before its Result is said; no Feedback, Held or Event of it may follow."},
	{Query, "Query tells what the signals tell",
		"Write down the end of a task before its Result is said, and answer Query from that: running while it runs, then ended with the same outcome."},
	{Seal, "a Query of an unknown id seals it",
		"Keep the id when a Query does not know it, answer unknown with sealed true, and refuse a later Invoke with it: the agent sends the work again under another id."},
	{Proof, "done is seen in the home",
		"Say done only after the sensor has seen it, and give what it saw: the event with the task's id, and the context value by Read."},
	{Events, "events bear the task's id, a class, a number and typed data",
		"Put task_id of the task that brought the event about, source_class (independent where a sensor saw it), seq counting up, and data by the catalog's types."},
	{Cancel, "a cancelled task stops in time",
		"Stop what moves as soon as Cancel comes, and say Result cancelled when it rests, within stop_ms."},
	{Stopped, "what was cancelled rests",
		"Say Result cancelled only after the motor has stopped, and end the task's worker: nothing of the task may go on."},
	{Pause, "a paused task says that it rests", "After an accepted Pause bring the work to rest and say Held true, within pause_ms; Query then says running with paused true."},
	{Rests, "a paused task rests until it is resumed", "Hold motor, timers and signals of the task between Held true and Resume."},
	{Resume, "a resumed task goes on to its end", "After an accepted Resume say Held false and go on with the same task and its arguments, to one Result."},
	{Restart, "after a restart in the middle of a task Query is truthful",
		"Write down each task before it begins; at start stop what may still move, mark what ran as failed, and answer Query by that (or unknown with sealed true). Do not go on in silence."},
	{Memory, "after a restart old ids are known, or sealed when asked for",
		"Keep ids and outcomes in a file that is synced before the answer leaves; where the catalog says probe durable, nothing of it may be lost."},
	{Types, "all that is said has the documented types",
		"Use the signatures of executor1.xml and the field types of docs/dbus-executor.md; a signal that cannot be read is dropped by the agent."},
	{Flood, "signals come at a rate that can be read",
		"Say Feedback and Context when something has changed that matters, some times a second at most; the agent treats a flood as a restart of the service."},
}

func aboutOf(id ID) about {
	for _, c := range checks {
		if c.id == id {
			return c
		}
	}
	panic("internal error: no check " + string(id))
}

// IDs are all checks in the order of the report.
func IDs() []ID {
	ids := make([]ID, len(checks))
	for i, c := range checks {
		ids[i] = c.id
	}
	return ids
}
