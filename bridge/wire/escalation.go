package wire

import "fmt"

// Escalation is the body of up/escalation: a question that is open until its deadline. Source: docs/contract.md, escalation.
type Escalation struct {
	EscalationID     string            `json:"escalation_id" rule:"ref"`
	ReasonCode       string            `json:"reason_code" rule:"ref"`
	Recoverable      bool              `json:"recoverable"`
	PlanRevision     int64             `json:"plan_revision"`
	AllowedActions   []string          `json:"allowed_actions" rule:"ref"`
	DefaultAction    string            `json:"default_action" rule:"ref"`
	DeadlineMS       int64             `json:"deadline_ms"` // from the opening of the question
	Budget           Budget            `json:"budget"`
	RemainingEffects []RemainingEffect `json:"remaining_effects,omitempty"`
	Context          []ContextSeen     `json:"context,omitempty"`
	ContextEtag      string            `json:"context_etag,omitempty" rule:"text"`
	LastEvents       []LastEvent       `json:"last_events,omitempty"`
}

// Budget is what the workflow may still ask for, the present question not counted.
type Budget struct {
	DecisionsLeft int64 `json:"decisions_left"`
	ReplansLeft   int64 `json:"replans_left"`
	QuestionsLeft int64 `json:"questions_left"`
}

// RemainingEffect is an effect that the plan still owes, with the operations that could bring it about.
type RemainingEffect struct {
	EffectID    string   `json:"effect_id" rule:"ref"`
	CloudStepID string   `json:"cloud_step_id" rule:"ref"`
	State       string   `json:"state" rule:"ref"`
	Providers   []string `json:"providers,omitempty" rule:"ref"`
}

// ContextSeen is one value that the step reads, as the device has it.
type ContextSeen struct {
	Key          string `json:"key" rule:"text"`
	Value        Value  `json:"value,omitzero"`
	Availability string `json:"availability" rule:"ref"` // fresh, stale, missing, unavailable, conflict
	AgeMS        int64  `json:"age_ms,omitempty"`
	Source       string `json:"source,omitempty" rule:"text"`
}

// LastEvent is one thing that happened to the step.
type LastEvent struct {
	Event      string `json:"event" rule:"ref"` // dispatched, the outcome of a task, or an event or key that was accepted as evidence
	TaskID     string `json:"task_id,omitempty" rule:"ref"`
	ReasonCode string `json:"reason_code,omitempty" rule:"ref"`
	AgeMS      int64  `json:"age_ms,omitempty"`
	Value      Value  `json:"value,omitzero"`
}

// Decision is the body of down/decision: the answer to an escalation.
type Decision struct {
	EscalationID string   `json:"escalation_id" rule:"ref"`
	Action       string   `json:"action" rule:"enum=retry_local|substitute|replan_cloud|return_to_station|cancel|replan|suspend|abort|ask_user|ask"` // one of allowed_actions, or another word for one: see ActionOf
	PlanRevision int64    `json:"plan_revision"`                                                                                                     // of the plan that the question is about
	Plan         *Plan    `json:"plan,omitempty"`                                                                                                    // for replan_cloud and substitute
	Reason       string   `json:"reason,omitempty" rule:"text"`
	Usage        *Usage   `json:"usage,omitempty"`
	Question     *UserAsk `json:"question,omitempty"` // for ask_user
}

// Usage is what a decision cost where it was made.
type Usage struct {
	Model        string `json:"model,omitempty" rule:"text"`
	InputTokens  int64  `json:"input_tokens,omitempty"`
	OutputTokens int64  `json:"output_tokens,omitempty"`
	LatencyMS    int64  `json:"latency_ms,omitempty"`
}

// aliases are other words for an action. What they mean has to be offered like any other.
var aliases = map[string]string{"ask": "ask_user", "replan": "replan_cloud", "suspend": "pause", "abort": "cancel"}

// ActionOf gives the name of an action from what a decision says.
func ActionOf(said string) string {
	if name, ok := aliases[said]; ok {
		return name
	}
	return said
}

// crossDecision: an action that changes the plan comes with the plan, and no other one does.
func crossDecision(w *walker, d *Decision) {
	action := ActionOf(d.Action)
	changes := action == "replan_cloud" || action == "substitute"
	switch {
	case changes && d.Plan == nil:
		w.faultAt("plan", ReasonMissingField, fmt.Sprintf("is needed for %s: the next revision of the workflow", d.Action))
	case !changes && d.Plan != nil:
		w.faultAt("plan", ReasonBadValue, "belongs to replan_cloud and substitute")
	case d.Plan != nil:
		crossPlan(w, d.Plan, "plan.")
	}
	crossAsk(w, d)
}
