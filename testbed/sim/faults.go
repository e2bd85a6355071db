package sim

// Fault names one kind of thing that goes wrong, or that people do in the middle of it. The names are those of the table that a run
// prints.
type Fault string

// What happens to the agent's process, its machine and its disk.
const (
	CutBeforeCommit  Fault = "cut_before_commit"
	CutAfterCommit   Fault = "cut_after_commit"
	CutAmongOutputs  Fault = "cut_among_outputs"
	CutAnytime       Fault = "cut_anytime"
	Reboot           Fault = "reboot"             // with a cut: the boot clock starts anew
	DiskFull         Fault = "disk_full"          // commits are refused for a while
	DiskErrorWritten Fault = "disk_error_written" // a commit fails though it was written
	DiskSlow         Fault = "disk_slow"
	ClockUntrusted   Fault = "clock_untrusted"
	ClockJump        Fault = "clock_jump"
	Suspend          Fault = "suspend"
)

// What executors do with a call.
const (
	CallRefused    Fault = "call_refused"
	CallLost       Fault = "call_lost"
	CallLate       Fault = "call_late"
	CallNotSent    Fault = "call_not_sent"
	CallUnclear    Fault = "call_unclear" // an error after it was sent: did it run?
	AnswerLost     Fault = "answer_lost"
	AnswerLate     Fault = "answer_late"
	AnswerTwice    Fault = "answer_twice"
	LiesDone       Fault = "lies_done" // says done, and does nothing
	LiesRoom       Fault = "lies_room" // goes elsewhere, and says done
	TaskFails      Fault = "task_fails"
	TaskHangs      Fault = "task_hangs" // goes on for ever
	StopLost       Fault = "stop_lost"
	StopRefused    Fault = "stop_refused"
	StopIgnored    Fault = "stop_ignored" // says yes, and goes on
	QueryLost      Fault = "query_lost"
	ServiceGone    Fault = "service_gone"    // the line breaks
	ServiceRestart Fault = "service_restart" // it comes back and knows nothing
	ServiceHangs   Fault = "service_hangs"   // answers nothing for a while
	ServiceForgets Fault = "service_forgets" // the same instance does not know a task that it accepted
)

// What becomes of callbacks and readings.
const (
	EventLost      Fault = "event_lost"
	EventMute      Fault = "event_without_task"
	EventTwice     Fault = "event_twice"
	EventLate      Fault = "event_late"
	EventAfterEnd  Fault = "event_after_end" // reordered
	EndLost        Fault = "end_lost"
	EndTwice       Fault = "end_twice"
	EndContradicts Fault = "end_contradicts" // a second end says the opposite
	Foreign        Fault = "foreign_callback"
	Confused       Fault = "callback_out_of_place"
	ReadingGone    Fault = "reading_unavailable"
	ReadingSilent  Fault = "reading_unanswered"
	External       Fault = "external_motion"
)

// What becomes of messages, and what people do.
const (
	MessageLost        Fault = "message_lost"
	MessageTwice       Fault = "message_twice"
	MessageLate        Fault = "message_late"
	MessageAltered     Fault = "message_altered" // the same id with other content
	ReportLost         Fault = "report_lost"     // of the device, on its way up
	ReceiptLost        Fault = "receipt_lost"
	LinkDown           Fault = "link_down"
	ResultLost         Fault = "cloud_result_lost"
	ResultStale        Fault = "cloud_result_stale"
	CancelPlan         Fault = "cancel_plan"
	CancelStep         Fault = "cancel_step"
	CancelAll          Fault = "cancel_all"
	CancelUnknown      Fault = "cancel_unknown"
	CancelLate         Fault = "cancel_late" // of what has ended
	Button             Fault = "button_cancel"
	Held               Fault = "hold"
	HeldByButton       Fault = "hold_by_button"
	PausedByItself     Fault = "paused_by_itself"
	PauseLost          Fault = "pause_lost"
	PauseRefused       Fault = "pause_refused"
	PauseIgnored       Fault = "pause_ignored" // says yes, and goes on
	ResumeLost         Fault = "resume_lost"
	ResumeRefused      Fault = "resume_refused"
	Alarm              Fault = "safety_alarm"
	BatteryFalls       Fault = "battery_falls"
	Killed             Fault = "kill_plan"
	Unanswered         Fault = "question_unanswered"
	DecisionLate       Fault = "decision_late"
	DecisionTwice      Fault = "decision_twice"
	DecisionNotAllowed Fault = "decision_not_allowed"
	DecisionStale      Fault = "decision_stale" // about another revision
	Revision           Fault = "revision"
	RevisionOutdated   Fault = "revision_outdated"
	RevisionLate       Fault = "revision_late" // of what has ended or was cancelled
)

// Faults lists all kinds in the order of the table.
var Faults = []Fault{CutBeforeCommit, CutAfterCommit, CutAmongOutputs, CutAnytime, Reboot, DiskFull, DiskErrorWritten, DiskSlow, ClockUntrusted, ClockJump, Suspend,
	CallRefused, CallLost, CallLate, CallNotSent, CallUnclear, AnswerLost, AnswerLate, AnswerTwice, LiesDone, LiesRoom, TaskFails, TaskHangs,
	StopLost, StopRefused, StopIgnored, QueryLost, ServiceGone, ServiceRestart, ServiceHangs, ServiceForgets,
	EventLost, EventMute, EventTwice, EventLate, EventAfterEnd, EndLost, EndTwice, EndContradicts, Foreign, Confused, ReadingGone, ReadingSilent, External,
	MessageLost, MessageTwice, MessageLate, MessageAltered, ReportLost, ReceiptLost, LinkDown, ResultLost, ResultStale,
	CancelPlan, CancelStep, CancelAll, CancelUnknown, CancelLate, Button,
	Held, HeldByButton, PausedByItself, PauseLost, PauseRefused, PauseIgnored, ResumeLost, ResumeRefused, Alarm, BatteryFalls, Killed,
	Unanswered, DecisionLate, DecisionTwice, DecisionNotAllowed, DecisionStale, Revision, RevisionOutdated, RevisionLate}

// trouble is a fault in force: from the moment at which it happens until it is healed. An event counts as one under a fault only
// while there is trouble in its home. What that means for each kind:
//
//   - a cut, a lost line, a restarted service: until the agent is up, the service is there, and nothing that was under way then is
//     still of unknown outcome;
//   - what happened to a call or a callback: until the agent knows how the task ended, and its step has ended or gone on to another;
//   - a full or slow disk, a suspend, a hanging service, missing readings, a link that is down: while it lasts;
//   - a message that is lost, late or repeated: until it is answered, has come, or has come again;
//   - a cancel: until all that it covers has ended; of what is not there or has ended, a minute;
//   - a question that is badly answered: until it is closed; a revision: ten seconds;
//   - external motion: until it stops, and the tasks that it disturbed have ended.
//
// An untrusted clock and a clock that jumps are counted as faults, and never make an event count: they may last for hours in which
// nothing depends on them.
type trouble struct {
	until int64       // it heals at this moment at the latest, or not before over; 0: only over decides
	over  func() bool // nil: time alone heals it
}

// hit counts a fault and puts it in force.
func (m *home) hit(f Fault, until int64, over func() bool) {
	m.tally.Faults[f]++
	m.note("!! %s", f)
	if f != ClockUntrusted && f != ClockJump {
		m.troubles = append(m.troubles, trouble{until, over})
	}
}

// troubled says whether a fault is in force now.
func (m *home) troubled() bool {
	kept := m.troubles[:0]
	for _, t := range m.troubles {
		if m.T < t.until || t.over != nil && !t.over() {
			kept = append(kept, t)
		}
	}
	m.troubles = kept
	return len(kept) > 0
}

// settled says that the agent is up and done with a task: it holds nothing, and its step has ended or goes on with another one.
func (m *home) settled(j *job) func() bool {
	return func() bool {
		if !m.up {
			return false
		}
		at, ok := m.judge.owner[j.task]
		if !ok {
			return j.over
		}
		wf := m.s.Workflows[at.wf]
		if wf == nil {
			return true
		}
		for i := range wf.Attempts {
			if a := &wf.Attempts[i]; a.Task == j.task {
				st := &wf.Steps[a.Step]
				return a.State == "ended" && (st.Task != a.Task || st.State.Terminal())
			}
		}
		return true
	}
}

// recovered says that the agent is up, the robot's service is there, and nothing is of unknown outcome.
func (m *home) recovered() bool {
	if !m.up || !m.robot.there {
		return false
	}
	for _, id := range m.s.Open() {
		wf := m.s.Workflows[id]
		for i := range wf.Attempts {
			if wf.Attempts[i].State == "lost" {
				return false
			}
		}
	}
	return true
}

// endedWith says that nothing of a workflow is under way any more.
func (m *home) endedWith(ids ...string) func() bool {
	return func() bool {
		if !m.up {
			return false
		}
		for _, id := range ids {
			wf := m.s.Workflows[wfID(id)]
			if wf == nil {
				continue
			}
			if !wf.State.Terminal() {
				return false
			}
			for i := range wf.Attempts {
				if wf.Attempts[i].State != "ended" {
					return false
				}
			}
		}
		return true
	}
}
