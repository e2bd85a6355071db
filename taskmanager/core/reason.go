package core

import "slices"

// Reason is a reason_code: sent, stored and shown.
type Reason string

// ReasonClass says what kind of trouble a reason is.
type ReasonClass string

// The classes. Only transient reasons may be retried; a transient refusal of a message is not remembered.
const (
	Transient ReasonClass = "transient"
	Permanent ReasonClass = "permanent"
	Safety    ReasonClass = "safety"
	User      ReasonClass = "user"
	Uncertain ReasonClass = "unknown"
)

// The reason codes that the core itself uses. What an executor says goes through unchanged and is classed as [Permanent] unless
// the table below knows it.
const (
	ReasonNone              Reason = ""
	ReasonExecutorUnavail   Reason = "executor_unavailable"
	ReasonExecutorBusy      Reason = "executor_busy"
	ReasonExecutorRefused   Reason = "executor_refused"
	ReasonExecutorFailed    Reason = "executor_failed"
	ReasonAckTimeout        Reason = "ack_timeout"
	ReasonOutcomeUnknown    Reason = "outcome_unknown"
	ReasonStepTimeout       Reason = "step_timeout"
	ReasonEvidenceTimeout   Reason = "evidence_timeout"
	ReasonContradicts       Reason = "evidence_contradicts"
	ReasonPrerequisite      Reason = "prerequisite_unmet"
	ReasonBatteryLow        Reason = "battery_low"
	ReasonContextMissing    Reason = "context_missing"
	ReasonContextStale      Reason = "context_stale"
	ReasonContextConflict   Reason = "context_conflict"
	ReasonConsentRequired   Reason = "consent_required"
	ReasonConsentDenied     Reason = "consent_denied"
	ReasonInputInvalid      Reason = "input_invalid"
	ReasonResourceBusy      Reason = "resource_busy"
	ReasonExternalStop      Reason = "external_stop"
	ReasonUserCancelled     Reason = "user_cancelled"
	ReasonPUICancelled      Reason = "pui_cancelled"
	ReasonCancelUnconfirmed Reason = "cancel_unconfirmed"
	ReasonCancelRefused     Reason = "cancel_refused"
	ReasonDependencyFailed  Reason = "dependency_failed"
	ReasonBranchNotTaken    Reason = "branch_not_taken"
	ReasonWaitEventMissing  Reason = "wait_event_missing"
	ReasonConditionFalse    Reason = "condition_false"
	ReasonScheduleOver      Reason = "schedule_over"
	ReasonScheduleEnd       Reason = "schedule_end"
	ReasonAnchorNotRunning  Reason = "anchor_not_running"
	ReasonAnchorFailed      Reason = "anchor_failed"
	ReasonAnchorUnknown     Reason = "anchor_unknown"
	ReasonAnchorTimeout     Reason = "anchor_timeout"
	ReasonOverdueSkipped    Reason = "overdue_skipped"
	ReasonOverdue           Reason = "overdue"
	ReasonDeadlineExceeded  Reason = "deadline_exceeded"
	ReasonDeadlineTooShort  Reason = "deadline_too_short"
	ReasonNoDecision        Reason = "no_decision"
	ReasonBudgetExhausted   Reason = "budget_exhausted"
	ReasonTierBlocked       Reason = "tier_blocked"
	ReasonPolicyBlocked     Reason = "policy_blocked"
	ReasonStepLate          Reason = "step_late"

	ReasonExperienceDisabled Reason = "experience_disabled"
	ReasonContentOffline     Reason = "content_unavailable_offline"
	ReasonContentSilent      Reason = "content_silent"

	ReasonAborted          Reason = "plan_aborted"
	ReasonExpired          Reason = "expired"
	ReasonClockUntrusted   Reason = "clock_untrusted"
	ReasonClockSkew        Reason = "clock_skew"
	ReasonWrongEpoch       Reason = "wrong_epoch"
	ReasonStoreLost        Reason = "store_lost"
	ReasonStorageError     Reason = "storage_error"
	ReasonQuarantined      Reason = "quarantined"
	ReasonSameRevision     Reason = "same_revision_other_content"
	ReasonOutdatedRevision Reason = "outdated_revision"
	ReasonDuplicateStep    Reason = "duplicate_step_id"
	ReasonAfterCancel      Reason = "revision_after_cancel"
	ReasonAlreadyTerminal  Reason = "already_terminal"
	ReasonIDReused         Reason = "id_reused"
	ReasonSuperseded       Reason = "superseded"
	ReasonUnknownTarget    Reason = "unknown_target"
	ReasonNotAutomatic     Reason = "mode_not_automatic"
	ReasonRobotFault       Reason = "robot_fault"
	ReasonCancelledBefore  Reason = "cancelled_before_arrival"
	ReasonDecisionStale    Reason = "decision_stale"
	ReasonNotAllowed       Reason = "decision_not_allowed"
	ReasonStale            Reason = "stale"
	ReasonUnsupported      Reason = "unsupported"
	ReasonLimit            Reason = "limit_reached"
	ReasonWrongDevice      Reason = "wrong_device"
	ReasonHeld             Reason = "held"
	ReasonStoppedByHold    Reason = "stopped_by_hold"
	ReasonNotYours         Reason = "not_your_hold"
)

// ReasonInfo is what the table says of one reason.
type ReasonInfo struct {
	Code        Reason
	Class       ReasonClass
	Recoverable bool // something can still be done about it
	NeedsCloud  bool // requires_cloud_decision
	Text        string
}

// Reasons is the one table, in the order in which it is printed into the docs.
var Reasons = []ReasonInfo{
	{ReasonExecutorUnavail, Transient, true, true, "the service of this operation is not there"},
	{ReasonExecutorBusy, Transient, true, true, "the service is busy"},
	{ReasonExecutorRefused, Permanent, true, true, "the service refused the call"},
	{ReasonExecutorFailed, Permanent, true, true, "the service says that it failed"},
	{ReasonAckTimeout, Uncertain, true, true, "no answer within the ack deadline"},
	{ReasonOutcomeUnknown, Uncertain, true, true, "dispatched, and neither done nor not done is known"},
	{ReasonStepTimeout, Permanent, true, true, "the task ran longer than the step allows"},
	{ReasonEvidenceTimeout, Permanent, true, true, "no proof of the effect within its time"},
	{ReasonContradicts, Permanent, true, true, "what was observed is the opposite of the effect"},
	{ReasonPrerequisite, Transient, true, true, "a prerequisite of the operation does not hold"},
	{ReasonBatteryLow, Safety, true, true, "the battery is too low for this operation"},
	{ReasonContextMissing, Transient, true, true, "a needed value has never been read"},
	{ReasonContextStale, Transient, true, true, "a needed value is too old"},
	{ReasonContextConflict, Transient, true, true, "two sources disagree about a needed value"},
	{ReasonConsentRequired, User, true, true, "a person has to agree first"},
	{ReasonConsentDenied, User, false, false, "a person does not agree, or not any more"},
	{ReasonInputInvalid, Permanent, true, true, "an input taken from another step does not fit the operation"},
	{ReasonResourceBusy, Transient, true, true, "another task uses the resource"},
	{ReasonExternalStop, User, true, true, "it was stopped from outside"},
	{ReasonUserCancelled, User, false, false, "cancelled by a person or the cloud"},
	{ReasonPUICancelled, User, false, false, "cancelled by a button on the robot"},
	{ReasonCancelUnconfirmed, Safety, true, true, "stop was asked for, and nothing confirmed it"},
	{ReasonCancelRefused, Permanent, true, false, "the service refuses to stop"},
	{ReasonDependencyFailed, Permanent, false, false, "a step that this one waits for did not succeed"},
	{ReasonBranchNotTaken, Permanent, false, false, "this branch is for a failure that did not happen"},
	{ReasonWaitEventMissing, Permanent, true, true, "the step ended without the event that its dependants wait for"},
	{ReasonConditionFalse, Permanent, false, false, "its condition is false"},
	{ReasonScheduleOver, Permanent, false, false, "the schedule has no next time"},
	{ReasonScheduleEnd, Permanent, false, false, "the end of its schedule's occurrence has come"},
	{ReasonAnchorNotRunning, Permanent, true, true, "nothing was under way that would give the event that it waits for"},
	{ReasonAnchorFailed, Permanent, true, true, "the run that it waits for failed or was stopped"},
	{ReasonAnchorUnknown, Uncertain, true, true, "how the run ended that it waits for cannot be told"},
	{ReasonAnchorTimeout, Permanent, true, true, "the event that it waits for did not come in its time"},
	{ReasonOverdueSkipped, Permanent, false, false, "its moment passed while the device could not see it, and then it was to be left out"},
	{ReasonOverdue, Permanent, true, true, "its moment passed while the device could not see it, and then it was to fail"},
	{ReasonDeadlineExceeded, Permanent, false, false, "the deadline of the plan has passed"},
	{ReasonDeadlineTooShort, Permanent, false, false, "the deadline is shorter than the delays and durations of the plan"},
	{ReasonNoDecision, Permanent, false, false, "nobody decided in time, and the goal was ended safely"},
	{ReasonBudgetExhausted, Permanent, false, false, "no decision is left to ask for, and the goal was ended safely"},
	{ReasonTierBlocked, Permanent, false, false, "the tier of this device, or of the plan's experience, does not allow it"},
	{ReasonPolicyBlocked, Transient, true, true, "a constraint of its goal is against it now: it makes noise, and these are quiet hours"},
	{ReasonStepLate, Permanent, true, false, "it runs longer than the catalog expects"},
	{ReasonExperienceDisabled, Permanent, false, false, "this device evaluates no experiences: the steps run as a plain plan"},
	{ReasonContentOffline, Transient, true, true, "the planner sent no content, and none is left of what came with the schedule"},
	{ReasonContentSilent, Permanent, true, true, "a session of content had nothing to say for too long"},
	{ReasonAborted, Permanent, false, false, "another step of the plan failed with on_failure abort"},
	{ReasonExpired, Permanent, false, false, "the message came too late"},
	{ReasonClockUntrusted, Transient, true, false, "the clock cannot be trusted: an age, a moment or the time off cannot be judged"},
	{ReasonClockSkew, Permanent, false, false, "the id is from the future"},
	{ReasonWrongEpoch, Permanent, false, false, "the message is for an earlier store of this device"},
	{ReasonStoreLost, Permanent, false, false, "the device has lost its store, and with it the workflow"},
	{ReasonStorageError, Transient, true, false, "the device cannot store it now"},
	{ReasonQuarantined, Permanent, true, true, "its record cannot be read or made the agent fail, and was set aside"},
	{ReasonSameRevision, Permanent, false, false, "this revision was already given with other content"},
	{ReasonOutdatedRevision, Permanent, false, false, "a higher revision is known"},
	{ReasonDuplicateStep, Permanent, false, false, "the id of a step that has started, or was taken out, with other content"},
	{ReasonAfterCancel, User, false, false, "the workflow was cancelled"},
	{ReasonAlreadyTerminal, Permanent, false, false, "the workflow has ended"},
	{ReasonIDReused, Permanent, false, false, "the same key with other content"},
	{ReasonSuperseded, Permanent, false, false, "a later message about the same target was applied, or a revision stopped it"},
	{ReasonUnknownTarget, Permanent, false, false, "no workflow or step with this id"},
	{ReasonNotAutomatic, Transient, true, false, "an operator has the robot: its mode is manual or service"},
	{ReasonRobotFault, Permanent, true, true, "the robot has a fault"},
	{ReasonCancelledBefore, User, false, false, "everything was cancelled after this plan was sent"},
	{ReasonDecisionStale, Permanent, false, false, "the question was answered or has closed, or the decision is about another revision of the plan"},
	{ReasonNotAllowed, Permanent, false, false, "this action was not offered; the question stays open"},
	{ReasonStale, Permanent, false, false, "it is about a task that has ended or was replaced"},
	{ReasonUnsupported, Permanent, false, false, "this form of the agent cannot do it"},
	{ReasonLimit, Transient, true, false, "the device holds as much as it may"},
	{ReasonWrongDevice, Permanent, false, false, "the message is for another device"},
	{ReasonHeld, User, true, false, "somebody holds it back; why names them"},
	{ReasonNotYours, User, false, false, "this hold is for another to release; why names who may"},
	{ReasonStoppedByHold, User, true, true, "a holder made it stop, and its operation may not be sent again"},
}

// InfoOf gives the table's entry; a code that an executor invented counts as permanent and recoverable by decision.
func InfoOf(r Reason) ReasonInfo {
	i := slices.IndexFunc(Reasons, func(in ReasonInfo) bool { return in.Code == r })
	if i < 0 {
		return ReasonInfo{Code: r, Class: Permanent, Recoverable: true, NeedsCloud: true, Text: "said by the executor"}
	}
	return Reasons[i]
}

// ofUser says whether a person, or somebody for them, is the reason.
func (r Reason) ofUser() bool { return r != ReasonNone && InfoOf(r).Class == User }
