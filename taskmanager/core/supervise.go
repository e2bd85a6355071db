package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Observation is what was seen of a plan or a step, in the words of the table of supervision.
type Observation string

// The observations. Source: docs/experience.md, observation to decision.
const (
	ObsQueued        Observation = "QUEUED"
	ObsRunning       Observation = "RUNNING"
	ObsProgress      Observation = "PROGRESS"
	ObsStepCompleted Observation = "STEP_COMPLETED"
	ObsHeartbeat     Observation = "HEARTBEAT"
	ObsDuplicate     Observation = "DUPLICATE"
	ObsPaused        Observation = "PAUSED"
	ObsResumed       Observation = "RESUMED"
	ObsFailed        Observation = "FAILED"
	ObsBlocked       Observation = "BLOCKED"
	ObsTimeout       Observation = "TIMEOUT"
	ObsNeedsUser     Observation = "NEEDS_USER_INPUT"
	ObsStepLate      Observation = "STEP_LATE"
	ObsContradicted  Observation = "EFFECT_CONTRADICTED"
	ObsExpired       Observation = "EFFECT_EXPIRED"
	ObsUserChange    Observation = "USER_CHANGE"
	ObsUserCancel    Observation = "USER_CANCEL"
	ObsContext       Observation = "CONTEXT_CHANGED"
	ObsContentEnded  Observation = "CONTENT_ENDED"
	ObsContentSilent Observation = "CONTENT_SILENT"
	ObsScheduleDue   Observation = "SCHEDULE_DUE"
	ObsMissed        Observation = "DECISION_MISSED"
	ObsDeadline      Observation = "DEADLINE"
	ObsAllObserved   Observation = "ALL_EFFECTS_OBSERVED"
)

// Decision is what is made of an observation.
type Decision string

// The decisions. Those that only an answer can bring (substitute, return_to_station) stand in no cell of the table.
const (
	DecideContinue   Decision = "continue" // as planned: nothing is written
	DecidePause      Decision = "pause"
	DecideResume     Decision = "resume"
	DecideSubstitute Decision = Decision(ActSubstitute)
	DecideAsk        Decision = "ask_user"
	DecideRetry      Decision = Decision(ActRetry)  // a declared retry
	DecideReplan     Decision = Decision(ActReplan) // the cloud is asked; it chooses among what it is offered
	DecideReturn     Decision = Decision(ActReturn)
	DecideComplete   Decision = "complete"
	DecideCancel     Decision = Decision(ActCancel) // the step takes its end, or the plan does
)

// Ruling is one row of the table of supervision: for each kind of goal state the decisions in the order in which they are tried. The
// first that is possible is taken, and the last of a cell always is.
type Ruling struct {
	On    Observation
	Text  string
	Plain []Decision // the plan has no goal, or one that is only written down
	Live  []Decision // the goal is activated, active, waiting or blocked
	Held  []Decision // it is suspended
	Over  []Decision // it has ended, and its plan has not
}

// MayAsk says whether the observation may open the gate to the cloud.
func (r Ruling) MayAsk() bool { return slices.Contains(r.Live, DecideReplan) }

func same(d ...Decision) (cells [4][]Decision) { return [4][]Decision{d, d, d, d} }

func ruling(on Observation, text string, c [4][]Decision) Ruling {
	return Ruling{On: on, Text: text, Plain: c[0], Live: c[1], Held: c[2], Over: c[3]}
}

var (
	goOnAnyhow  = same(DecideContinue)
	retryOrAsk  = same(DecideRetry, DecideReplan, DecideCancel)
	askTheCloud = same(DecideReplan, DecideCancel)
	userThenEnd = [4][]Decision{{DecideCancel}, {DecideAsk, DecideCancel}, {DecideAsk, DecideCancel}, {DecideCancel}}
)

// Rulings is the table of supervision. Nothing else decides what an observation leads to.
var Rulings = []Ruling{
	ruling(ObsQueued, "a step is ready, and waits for its resource", goOnAnyhow),
	ruling(ObsRunning, "its executor has accepted it", goOnAnyhow),
	ruling(ObsProgress, "its executor says how far it is", goOnAnyhow),
	ruling(ObsStepCompleted, "its effects are proven, and others are left", goOnAnyhow),
	ruling(ObsHeartbeat, "a sign of life", goOnAnyhow),
	ruling(ObsDuplicate, "something that was told before, or is about nothing that is under way", goOnAnyhow),
	ruling(ObsPaused, "somebody holds the plan", same(DecidePause)),
	ruling(ObsResumed, "nobody holds it any more", [4][]Decision{{DecideResume}, {DecideContinue}, {DecideResume}, {DecideResume}}),
	ruling(ObsFailed, "a step has failed", retryOrAsk),
	ruling(ObsBlocked, "a step could not go on in its hold_ms: a service, a resource or a value is missing, or a rule is against it", retryOrAsk),
	ruling(ObsTimeout, "a step or its answer did not come in its time, or nobody knows how it stands", askTheCloud),
	ruling(ObsNeedsUser, "a person has to agree first", [4][]Decision{{DecideReplan, DecideCancel}, {DecideAsk, DecideReplan, DecideCancel}, {DecideAsk, DecideReplan, DecideCancel}, {DecideReplan, DecideCancel}}),
	ruling(ObsStepLate, "a step runs longer than the catalog expects", [4][]Decision{{DecideContinue}, {DecideResume, DecideAsk, DecideReplan, DecideContinue}, {DecideContinue}, {DecideContinue}}),
	ruling(ObsContradicted, "the opposite of an effect was observed", askTheCloud),
	ruling(ObsExpired, "the proof of an effect did not come in its time", askTheCloud),
	ruling(ObsUserChange, "a person or another program changed what a step does", askTheCloud),
	ruling(ObsUserCancel, "a person wants it no more", same(DecideCancel)),
	ruling(ObsContext, "a value that the step relies on is not as it has to be", retryOrAsk),
	ruling(ObsContentEnded, "a content session has ended before its step was proven", retryOrAsk),
	ruling(ObsContentSilent, "a content session has been silent for long, and its step is not proven", askTheCloud),
	ruling(ObsScheduleDue, "a moment came, or had passed when it was seen", askTheCloud),
	ruling(ObsMissed, "no decision came in time or none was to be had, and the goal can no more be reached", userThenEnd),
	ruling(ObsDeadline, "the deadline of the goal or of its plan has passed", same(DecideCancel)),
	ruling(ObsAllObserved, "every required effect is observed", [4][]Decision{{DecideContinue}, {DecideComplete}, {DecideComplete}, {DecideContinue}}),
}

// observedBy says which observation a failure with this reason is. What is not listed is FAILED.
var observedBy = map[Reason]Observation{
	ReasonExecutorUnavail: ObsBlocked, ReasonExecutorBusy: ObsBlocked, ReasonResourceBusy: ObsBlocked, ReasonContextMissing: ObsBlocked,
	ReasonContextStale: ObsBlocked, ReasonTierBlocked: ObsBlocked, ReasonPolicyBlocked: ObsBlocked, ReasonStepLate: ObsStepLate,
	ReasonAckTimeout: ObsTimeout, ReasonOutcomeUnknown: ObsTimeout, ReasonStepTimeout: ObsTimeout, ReasonAnchorTimeout: ObsTimeout,
	ReasonContentSilent: ObsContentSilent, ReasonConsentRequired: ObsNeedsUser, ReasonContradicts: ObsContradicted, ReasonEvidenceTimeout: ObsExpired,
	ReasonExternalStop: ObsUserChange, ReasonStoppedByHold: ObsUserChange, ReasonUserCancelled: ObsUserCancel, ReasonPUICancelled: ObsUserCancel,
	ReasonPrerequisite: ObsContext, ReasonBatteryLow: ObsContext, ReasonContextConflict: ObsContext, ReasonOverdue: ObsScheduleDue,
	ReasonNoDecision: ObsMissed, ReasonBudgetExhausted: ObsMissed, ReasonDeadlineExceeded: ObsDeadline,
}

// ObservedBy says which observation a failure with this reason is.
func ObservedBy(reason Reason) Observation {
	if on, ok := observedBy[reason]; ok {
		return on
	}
	return ObsFailed
}

// observedOf is the same for a step: of one that a session tells for, what failed is the session.
func (w *work) observedOf(st *Step, reason Reason) Observation {
	if on := ObservedBy(reason); on != ObsFailed || w.session(st.Task) == nil {
		return on
	}
	return ObsContentEnded
}

// Conjunct is one condition of the gate to the cloud, by the name that says that it was not met.
type Conjunct string

// The conjuncts. Source: docs/experience.md, the gate.
const (
	GateOpen         Conjunct = ""
	RefusedLocal     Conjunct = "local_plan"
	RefusedPolicy    Conjunct = "policy"
	RefusedCancelled Conjunct = "cancelled"
	RefusedNotAsked  Conjunct = "not_required"
	RefusedHopeless  Conjunct = "not_recoverable"
	RefusedSafety    Conjunct = "safety_prohibited"
	RefusedConsent   Conjunct = "consent_prohibited"
	RefusedBudget    Conjunct = "budget_exhausted"
	RefusedStale     Conjunct = "context_stale"
)

// gateQuery is what the gate is asked about.
type gateQuery struct {
	wf     *Workflow
	i      int
	on     Observation
	reason Reason
	policy OnFail
	goal   GoalStatus // of before, where the observation is the change of it; "": as it is now
	retry  bool       // a declared retry comes into question
	read   bool       // stale values were read anew for as long as that may take
	open   bool       // a person was not asked for the consent yet
}

// conjunct is one condition of the gate.
type conjunct struct {
	Refused  Conjunct
	Text     string // what has to hold
	GoalOnly bool   // a plain plan is asked about all the same
	Falls    bool   // a goal that is lost over it is ended by its fallback: nobody but the gate has said what is to become of the step
	holds    func(w *work, q *gateQuery) bool
}

// Gate is the gate to the cloud: all of it has to hold, and the first that does not is named.
var Gate = []conjunct{
	{RefusedLocal, "the plan came from the cloud: one that was handed in on the robot has nobody to ask", false, true,
		func(_ *work, q *gateQuery) bool { return !q.wf.Plan.Local }},
	{RefusedPolicy, "the step says `on_failure: escalate`", false, false,
		func(_ *work, q *gateQuery) bool { return q.policy == FailEscalate }},
	{RefusedCancelled, "nobody has cancelled the plan or the step", false, false,
		func(_ *work, q *gateQuery) bool {
			return q.wf.Cancel == ReasonNone && q.wf.Steps[q.i].Wish == ReasonNone
		}},
	{RefusedNotAsked, "the reason has `requires_cloud_decision`", false, true,
		func(_ *work, q *gateQuery) bool { return InfoOf(q.reason).NeedsCloud }},
	{RefusedHopeless, "the reason is recoverable", false, true,
		func(_ *work, q *gateQuery) bool { return InfoOf(q.reason).Recoverable }},
	{RefusedSafety, "no safety hold stands over the step: while a person has to come to the robot, nobody far away decides", true, true,
		func(w *work, q *gateQuery) bool { return !w.underSafety(q.wf, q.i) }},
	{RefusedConsent, "it is not a person's consent that is missing: no decision of the cloud stands in for that", true, true,
		func(_ *work, q *gateQuery) bool { return q.reason != ReasonConsentRequired }},
	{RefusedBudget, "a decision is left", false, true,
		func(_ *work, q *gateQuery) bool { return q.wf.Left().Decisions > 0 }},
	{RefusedStale, "the values that the step reads are fresh, or were read anew for its `hold_ms`: then the question says how old they are", true, true,
		func(w *work, q *gateQuery) bool { return q.read || len(w.staleKeys(q.wf, q.i)) == 0 }},
}

// gate gives the first conjunct that is not met, or [GateOpen].
func (w *work) gate(q *gateQuery) Conjunct {
	for _, c := range Gate {
		if (!c.GoalOnly || q.wf.supervised()) && !c.holds(w, q) {
			return c.Refused
		}
	}
	return GateOpen
}

// Text says what a conjunct asks for.
func (c Conjunct) Text() string {
	if i := slices.IndexFunc(Gate, func(g conjunct) bool { return g.Refused == c }); i >= 0 {
		return Gate[i].Text
	}
	return ""
}

// falls says whether a goal that is lost over this closed gate is ended by its fallback.
func (c Conjunct) falls() bool {
	return slices.ContainsFunc(Gate, func(g conjunct) bool { return g.Refused == c && g.Falls })
}

// Supervision is one decision: what was seen, what was decided, and which conjunct kept the gate closed where it was tried.
type Supervision struct {
	Workflow WorkflowID
	Step     StepID // "" where it is about the plan as a whole
	On       Observation
	Goal     GoalStatus // as the table was asked; "": no goal that is evaluated
	Decision Decision
	Reason   Reason
	Refused  Conjunct
}

// supervised says whether the plan has a goal by which it is supervised. In shadow it is only written down.
func (wf *Workflow) supervised() bool { return wf.Plan.Goal.kept() }

// cell picks the decisions of a row for the state of a goal; "" is that of a plain plan.
func (r *Ruling) cell(goal GoalStatus) []Decision {
	switch {
	case goal == "":
		return r.Plain
	case goal == GoalSuspended:
		return r.Held
	case goal.Terminal():
		return r.Over
	}
	return r.Live
}

// Ruled looks a cell of the table up.
func Ruled(on Observation, goal GoalStatus) []Decision {
	i := slices.IndexFunc(Rulings, func(r Ruling) bool { return r.On == on })
	if i < 0 {
		panic("internal error: the table of supervision has no row " + string(on))
	}
	return Rulings[i].cell(goal)
}

// supervise looks an observation up and takes the first decision that is possible. It changes nothing of the plan; what it decided is
// told to those who watch, unless everything goes on as planned.
func (w *work) supervise(q *gateQuery) Supervision {
	s := Supervision{Workflow: q.wf.Plan.Workflow, On: q.on, Reason: q.reason, Decision: DecideContinue}
	if q.i >= 0 {
		s.Step = q.wf.Steps[q.i].ID
	}
	if q.wf.supervised() {
		if s.Goal = q.goal; s.Goal == "" {
			s.Goal = q.wf.GoalStatus()
		}
	}
	cell := Ruled(q.on, s.Goal)
	for k, d := range cell {
		ok, refused := w.possible(d, q)
		if refused != GateOpen {
			s.Refused = refused
		}
		if s.Decision = d; ok || k == len(cell)-1 {
			break
		}
		if refused == RefusedStale { // it is not decided before they are read
			s.Decision = DecideContinue
			return s
		}
	}
	w.traceRuling(q.wf, s)
	w.decided(s)
	return s
}

// decided tells those who watch what was decided.
func (w *work) decided(s Supervision) {
	if s.Goal != "" && s.Decision != DecideContinue {
		w.ch.Decided = append(w.ch.Decided, s)
	}
}

// possible says whether a decision can be taken now, and which conjunct keeps the gate closed where it is the cloud's.
func (w *work) possible(d Decision, q *gateQuery) (bool, Conjunct) {
	switch d {
	case DecideRetry:
		return q.retry && w.mayRetry(q.wf, q.i, q.reason), GateOpen
	case DecideReplan:
		refused := w.gate(q)
		return refused == GateOpen, refused
	case DecideAsk:
		if q.on == ObsNeedsUser { // it spends no question, and is asked once
			return q.open, GateOpen
		}
		asks := q.on == ObsMissed || q.on == ObsStepLate && len(q.wf.behind(q.i)) > 0
		return asks && q.i >= 0 && w.mayAsk(q.wf), GateOpen
	case DecideResume:
		return q.on != ObsStepLate || len(q.wf.startable(q.i)) > 0, GateOpen
	}
	return true, GateOpen
}

// underSafety says whether a safety hold whose cause stands reaches the step.
func (w *work) underSafety(wf *Workflow, i int) bool {
	return slices.ContainsFunc(w.dev.Holds, func(h Hold) bool { return h.Kind == HeldBySafety && h.Stands && h.reaches(wf, i) })
}

// staleKeys lists the values that the step reads and that are too old, or were never read. What a source says it has not is no older
// for being asked again.
func (w *work) staleKeys(wf *Workflow, i int) (keys []catalog.ContextKey) {
	for _, key := range w.keysOf(wf, i) {
		if _, av := w.availability(key, 0); av == condition.Stale || av == condition.Missing {
			keys = append(keys, key)
		}
	}
	return keys
}

// readFirst blocks an exhausted step while the values that it reads are read anew, for at most its hold_ms: nobody decides, and nothing
// is repeated, on what was true once.
func (w *work) readFirst(wf *Workflow, i int, to StepState, reason Reason) {
	st := &wf.Steps[i]
	detail := st.Detail
	if st.State != Blocked {
		w.move(wf, i, Blocked, reason)
	}
	w.note(wf, i, reason, detail)
	st.Fate, st.Due, st.recheck, st.dirty = &Fate{End: to, Reads: true}, w.now.Boot+Instant(wf.Plan.Steps[i].HoldMS), 0, true
	w.readStale(wf, i)
	w.ch.Must = true
}

// readStale asks for the stale values, at the pace of the looks.
func (w *work) readStale(wf *Workflow, i int) {
	if st := &wf.Steps[i]; st.recheck <= w.now.Boot {
		w.read(w.staleKeys(wf, i)...)
		st.recheck = w.now.Boot + rereadMS
	}
}

// fallReason is why a goal ends by its fallback when the gate stayed closed over a step that failed with this reason.
func (s Supervision) fallReason() Reason {
	switch {
	case s.Refused == RefusedBudget:
		return ReasonBudgetExhausted
	case s.Reason == ReasonTierBlocked:
		return s.Reason
	}
	return ReasonNoDecision
}
