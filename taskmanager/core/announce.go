package core

import "slices"

// RestartAnnounced says that the robot is about to be restarted. Where nothing is in hand that a restart would cut off, everything is held
// from now on, for ForMS or until the restart; else nothing changes. Whoever sent it looks at the holders afterwards.
type RestartAnnounced struct {
	By    string `json:"by,omitempty"`
	Why   string `json:"why,omitempty"`
	ForMS int64  `json:"for_ms,omitempty"` // 0: it is called off
}

// KindRestartAnnounced names the event in the journal.
const KindRestartAnnounced EventKind = "restart_announced"

func (RestartAnnounced) eventKind() EventKind { return KindRestartAnnounced }

// causeRestart is the cause of the hold of a restart. It ends by time, by a word and by any start of the agent: what held a robot before its
// restart must not hold it afterwards.
const causeRestart = "restart"

func (h Hold) isRestart() bool { return h.Kind == HeldByPolicy && h.Cause == causeRestart }

// restartAnnounced holds everything for a restart, or lets it go.
func (w *work) restartAnnounced(ev RestartAnnounced) {
	w.touched = true
	switch {
	case ev.ForMS <= 0:
		w.releaseIf(Hold{Scope: HoldAll}, Hold.isRestart)
	case !slices.ContainsFunc(w.everyone(), func(id WorkflowID) bool { return w.peek(id).InHand() }):
		w.hold(Hold{Kind: HeldByPolicy, Scope: HoldAll, Cause: causeRestart, Resume: ResumeAfter, AfterMS: ev.ForMS, By: ev.By, Why: ev.Why})
	}
}

// InHand says whether a restart of the robot would cut something off: a task that may be under way, or the wait for what proves one that is
// done by its executor's word. What the cloud does goes on without the robot.
func (wf *Workflow) InHand() bool {
	return slices.ContainsFunc(wf.Attempts, func(a Attempt) bool { return a.State != Ended && !a.Cloud }) ||
		slices.ContainsFunc(wf.Steps, func(st Step) bool { return st.State == Verifying })
}
