package wire

// Version is the contract version that every envelope and every request carries.
const Version = "a2a-task-orchestration-v1"

// Type names the body that an envelope carries. It is the last part of the topic: "plan" travels on down/plan.
type Type string

// The bodies of this form of the contract. Source: docs/contract.md, sections 1 and 4.
const (
	TypePlan       Type = "plan"
	TypeControl    Type = "control"
	TypeStepResult Type = "step_result"
	TypeReceipt    Type = "receipt"
	TypeAck        Type = "ack"
	TypeResult     Type = "result"
	TypeStepDue    Type = "step_due"
	TypeStatus     Type = "status"
	TypeDecision   Type = "decision"
	TypeEscalation Type = "escalation"
	TypeMonitor    Type = "monitor"
	TypeTelemetry  Type = "telemetry"
	TypeQuestion   Type = "question"
	TypeAnswer     Type = "answer"
	TypeContent    Type = "content" // both ways
)

// Corr are the correlation ids of a message. What does not apply is left out.
type Corr struct {
	TurnID       string `json:"turn_id,omitempty" rule:"ref"`
	ExperienceID string `json:"experience_id,omitempty" rule:"ref"`
	WorkflowID   string `json:"workflow_id,omitempty" rule:"ref"`
	PlanID       string `json:"plan_id,omitempty" rule:"ref"`
	StepID       string `json:"step_id,omitempty" rule:"ref"`
	TaskID       string `json:"task_id,omitempty" rule:"ref"`
	EscalationID string `json:"escalation_id,omitempty" rule:"ref"`
}

// Envelope is one message. Exactly one body is set, the one that Type names.
type Envelope struct {
	V          string `json:"v" rule:"const=a2a-task-orchestration-v1"`
	Type       Type   `json:"type" rule:"enum=plan|control|step_result|receipt|ack|result|step_due|status|decision|escalation|monitor|telemetry|question|answer|content"`
	ID         string `json:"id" rule:"uuid7"`     // UUIDv7, kept by a re-send
	DeviceID   string `json:"device_id" rule:"id"` // the robot it is for or from
	SentAt     string `json:"sent_at" rule:"time"` // RFC 3339 with milliseconds, UTC; informative only, nothing is ordered by it
	StoreEpoch string `json:"store_epoch,omitempty" rule:"ref"`
	Seq        int64  `json:"seq,omitempty"`       // up: outbox sequence; down: the planner's counter per device
	FloorSeq   int64  `json:"floor_seq,omitempty"` // up only: the lowest sequence that is not receipted
	Corr       Corr   `json:"corr,omitzero"`

	Plan       *Plan       `json:"-"`
	Control    *Control    `json:"-"`
	StepResult *StepResult `json:"-"`
	Receipt    *Receipt    `json:"-"`
	Ack        *Ack        `json:"-"`
	Result     *Result     `json:"-"`
	StepDue    *StepDue    `json:"-"`
	Status     *Status     `json:"-"`
	Decision   *Decision   `json:"-"`
	Escalation *Escalation `json:"-"`
	Monitor    *Monitor    `json:"-"`
	Telemetry  *Telemetry  `json:"-"`
	Question   *Question   `json:"-"`
	Answer     *Answer     `json:"-"`
	Content    *Content    `json:"-"`
}

// Plan is the body of down/plan.
type Plan struct {
	Workflow   Workflow    `json:"workflow"`
	Requests   []Request   `json:"device_task_requests" rule:"max=steps"`
	Experience *Experience `json:"experience,omitempty"`
	Prefetch   []Part      `json:"content_prefetch,omitempty"` // of a plan with a schedule
}

// Part is one part of what is told at an occurrence where the planner cannot be reached: a chapter of a story.
type Part struct {
	Part     string `json:"part" rule:"id"`
	Position int64  `json:"position" rule:"int=1:1000000"` // its place: the parts come in rising order
	Text     string `json:"text" rule:"some"`
}

// Experience is the goal that a plan serves: contract experience.v1. It dispatches nothing: each of its effects is that of a step.
type Experience struct {
	ContractVersion string            `json:"contract_version" rule:"const=experience.v1"`
	ExperienceID    string            `json:"experience_id" rule:"id"`
	GoalID          string            `json:"goal_id" rule:"id"`
	Summary         string            `json:"summary,omitempty" rule:"text"`
	Effects         []GoalEffect      `json:"effects" rule:"min=1"`
	Constraints     []string          `json:"constraints,omitempty" rule:"enum=safety_policy_first|user_can_cancel_anytime|respect_quiet_hours"`
	Temporal        []GoalTemporal    `json:"temporal,omitempty"`
	Consent         map[string]string `json:"consent,omitempty" rule:"enum=ask"` // by the key that the catalog gives an operation
	Budget          *GoalBudget       `json:"budget,omitempty"`
	Tier            string            `json:"tier,omitempty" rule:"enum=shadow|content_only|restricted|full"`
}

// GoalEffect names an effect of the goal and the step that brings it about. At least one is required.
type GoalEffect struct {
	EffectID string `json:"effect_id" rule:"id"`
	StepID   string `json:"step_id" rule:"id"`
	Required bool   `json:"required"`
}

// GoalTemporal repeats what a step waits for, for those who read the goal alone. It has to agree with the step.
type GoalTemporal struct {
	TemporalRelation string `json:"temporal_relation" rule:"enum=after_planned_step|after_existing_event|at_time"`
	AnchorEvent      string `json:"anchor_event,omitempty" rule:"id"`
	StepID           string `json:"step_id" rule:"id"`
}

// GoalBudget bounds what is done for the goal without a person.
type GoalBudget struct {
	MaxDecisions     int64  `json:"max_decisions" rule:"int=0:20"`       // of the cloud
	MaxReplans       int64  `json:"max_replans" rule:"int=0:20"`         // among them those that change the plan
	DeadlineMS       int64  `json:"deadline_ms" rule:"int=1:7776000000"` // from acceptance
	Fallback         string `json:"fallback" rule:"enum=ask_or_stop"`    // where no decision comes, or none is left
	AutomaticRetries int64  `json:"automatic_retries" rule:"int=0:20"`   // declared retries of all steps together
	UserQuestions    int64  `json:"user_questions" rule:"int=0:20"`      // at most so many are asked
}

// Workflow is the head of a plan.
type Workflow struct {
	CloudWorkflowID string    `json:"cloud_workflow_id" rule:"id"`
	PlanID          string    `json:"plan_id" rule:"id"`
	Revision        int64     `json:"revision"`
	TTLMS           int64     `json:"ttl_ms,omitempty" rule:"int=1:7776000000"`
	ExpiresAt       string    `json:"expires_at,omitempty" rule:"time"` // RFC 3339
	DeadlineMS      int64     `json:"deadline_ms,omitempty" rule:"int=1:7776000000"`
	CatalogEtag     string    `json:"catalog_etag,omitempty" rule:"text"`
	Origin          *Origin   `json:"origin,omitempty"`
	Priority        string    `json:"priority,omitempty" rule:"enum=safety|user|background"` // safety, user (default), background
	CancelSteps     []string  `json:"cancel_steps,omitempty" rule:"id"`
	Schedule        *Schedule `json:"schedule,omitempty"`
}

// Schedule makes a plan a template: the device keeps it and begins it anew at each occurrence. It has Days or On.
type Schedule struct {
	Days  []string `json:"days,omitempty" rule:"enum=mon|tue|wed|thu|fri|sat|sun"`
	On    string   `json:"on,omitempty" rule:"text"`     // one date: 2026-12-24
	At    string   `json:"at" rule:"text"`               // 18:00
	EndAt string   `json:"end_at,omitempty" rule:"text"` // 19:00; not later than At: on the day after
	TZ    string   `json:"tz" rule:"text"`               // Asia/Seoul
	Until *string  `json:"until,omitempty" rule:"text"`  // the last day, or a moment with its zone
}

// Origin says which words of a person the plan comes from.
type Origin struct {
	TurnID    string `json:"turn_id,omitempty" rule:"id"`
	Utterance string `json:"utterance,omitempty" rule:"text"`
	Locale    string `json:"locale,omitempty" rule:"text"`
}

// Request is one step of a plan: an entry of device_task_requests.
type Request struct {
	ContractVersion   string           `json:"contract_version,omitempty" rule:"const=a2a-task-orchestration-v1"`
	CloudWorkflowID   string           `json:"cloud_workflow_id,omitempty" rule:"id"`
	CloudStepID       string           `json:"cloud_step_id" rule:"id"`
	ExecutionTarget   string           `json:"execution_target,omitempty" rule:"enum=device|cloud"` // device (default) or cloud
	TaskMethod        string           `json:"taskMethod,omitempty" rule:"id"`
	Params            Object           `json:"params,omitempty"`
	TokenText         string           `json:"token_text,omitempty" rule:"some"`
	Skill             string           `json:"skill,omitempty" rule:"id"`
	ExecutionMode     string           `json:"executionMode,omitempty" rule:"enum=queued_wait|immediate"` // queued_wait (default) or immediate
	DependsOn         []Dependency     `json:"depends_on,omitempty"`
	WaitPolicy        string           `json:"wait_policy,omitempty" rule:"enum=submitted|completed|event"` // submitted, completed (default), event
	WaitEvent         *WaitEvent       `json:"wait_event,omitempty"`
	TemporalRelation  string           `json:"temporal_relation,omitempty" rule:"enum=after_planned_step|after_existing_event|at_time"`
	TemporalAnchorID  string           `json:"temporal_anchor_id,omitempty" rule:"id"`
	DelayMS           int64            `json:"delay_ms,omitempty" rule:"int=0:2592000000"`
	AnchorEvent       string           `json:"anchor_event,omitempty" rule:"id"`                    // of other work that is under way
	AnchorSeenAt      string           `json:"anchor_seen_at,omitempty" rule:"time"`                // when it was under way: default the plan's sent_at
	AnchorTimeoutMS   int64            `json:"anchor_timeout_ms,omitempty" rule:"int=1:2592000000"` // of the wait for it
	NotBefore         string           `json:"not_before,omitempty" rule:"time"`                    // wall time with its zone
	OnOverdue         string           `json:"on_overdue,omitempty" rule:"enum=run|skip|fail"`      // run (default), skip, fail
	InputFrom         *InputFrom       `json:"input_from,omitempty"`
	OutputKey         string           `json:"output_key,omitempty" rule:"id"`
	When              *Condition       `json:"when,omitempty"`
	TimeoutMS         int64            `json:"timeout_ms,omitempty" rule:"int=1:2592000000"`
	EvidenceTimeoutMS int64            `json:"evidence_timeout_ms,omitempty" rule:"int=1:2592000000"`
	HoldMS            int64            `json:"hold_ms,omitempty" rule:"int=1:2592000000"`
	Retry             *Retry           `json:"retry,omitempty"`
	OnFailure         string           `json:"on_failure,omitempty" rule:"enum=escalate|continue|abort"` // escalate (default), continue, abort
	RequiredEffects   []RequiredEffect `json:"required_effects,omitempty"`
}

// Dependency is a step id, or {"step":"x","on":"success|done|failure"}. On the wire a plain success is the bare id.
type Dependency struct {
	Step string `json:"step" rule:"id"`
	On   string `json:"on,omitempty" rule:"enum=success|done|failure"`
}

// WaitEvent names the event that releases dependants under wait_policy "event".
type WaitEvent struct {
	Event string `json:"event" rule:"id"`
	Match Object `json:"match,omitempty"`
}

// InputFrom is {"param":"output_key.path"} (a parameter from an output) or ["output_key"] (visible to when). One of the two is set.
type InputFrom struct {
	Params  map[string]string
	Visible []string
}

// Retry is a declared local retry.
type Retry struct {
	MaxAttempts int64 `json:"max_attempts" rule:"int=1:100"`
	BackoffMS   int64 `json:"backoff_ms,omitempty" rule:"int=0:2592000000"`
}

// RequiredEffect is an effect id, or {"effect_id":…,"kind":"maintain","until":…}. On the wire a plain achieve is the bare id.
type RequiredEffect struct {
	EffectID string `json:"effect_id" rule:"id"`
	Kind     string `json:"kind,omitempty" rule:"enum=achieve|maintain"`
	Until    string `json:"until,omitempty" rule:"id"`
}

// Condition is a typed condition: exactly one of All, Any, Not, or a leaf (Ref and Op).
type Condition struct {
	All      []Condition `json:"all,omitempty" rule:"min=1"`
	Any      []Condition `json:"any,omitempty" rule:"min=1"`
	Not      *Condition  `json:"not,omitempty"`
	Ref      string      `json:"ref,omitempty" rule:"id"`
	Op       string      `json:"op,omitempty" rule:"enum=eq|ne|lt|le|gt|ge|in|exists"`
	Value    Value       `json:"value,omitzero"`
	MaxAgeMS int64       `json:"max_age_ms,omitempty" rule:"int=1:2592000000"`
}

// Control is the body of down/control.
type Control struct {
	Verb        string `json:"verb" rule:"enum=cancel|pause|resume|kill|set_mode|set_tier|disable_experience"`
	Scope       string `json:"scope" rule:"enum=workflow|step|schedule|experience|session|all"` // of set_tier and disable_experience: experience, all
	Target      string `json:"target,omitempty" rule:"target"`
	Holder      string `json:"holder,omitempty" rule:"enum=pui|voice|app|operator|safety|battery|policy|cloud"`
	RequestedBy string `json:"requested_by,omitempty" rule:"text"`
	Reason      string `json:"reason,omitempty" rule:"text"`
}

// StepResult is the body of down/step_result: the outcome of a cloud step.
type StepResult struct {
	CloudStepID string `json:"cloud_step_id" rule:"ref"`
	TaskID      string `json:"task_id" rule:"ref"`
	Status      string `json:"status" rule:"enum=completed|failed"` // completed or failed
	Output      Object `json:"output,omitempty"`
	ReasonCode  string `json:"reason_code,omitempty" rule:"ref"`
}

// Receipt is the body of down/receipt: what the planner has stored.
type Receipt struct {
	Refs        []string `json:"refs,omitempty" rule:"ref"` // message ids of up rows
	Nonce       string   `json:"nonce,omitempty" rule:"ref"`
	PlannerTime string   `json:"planner_time,omitempty" rule:"time"` // RFC 3339
	Close       []string `json:"close,omitempty" rule:"ref"`
}

// Fault is one thing that is wrong with a message.
type Fault struct {
	Path       string `json:"path" rule:"text"` // as in device_task_requests[0].params.position
	ReasonCode string `json:"reason_code" rule:"ref"`
	Message    string `json:"message" rule:"text"`
}

// Ack is the body of up/ack. Accepted never means done.
type Ack struct {
	RefID       string   `json:"ref_id,omitempty" rule:"ref"`
	RefSHA256   string   `json:"ref_sha256,omitempty" rule:"sha256"` // of an unreadable message, hex
	Accepted    bool     `json:"accepted"`
	ReasonCode  string   `json:"reason_code,omitempty" rule:"ref"`
	Errors      []Fault  `json:"errors,omitempty"`
	State       string   `json:"state,omitempty" rule:"text"`
	Stopping    []string `json:"stopping,omitempty" rule:"ref"`
	HoldersLeft []string `json:"holders_left,omitempty" rule:"text"`
	Steps       []string `json:"steps,omitempty" rule:"text"`
	CatalogEtag string   `json:"catalog_etag,omitempty" rule:"text"`
}

// Content is the body of content, both ways. Down: a verb for a session. Up: the answer to a verb (ref_id, verb, accepted), or an event of
// the session.
type Content struct {
	SessionID  string          `json:"session_id" rule:"ref"` // as step_due named it
	Verb       string          `json:"verb,omitempty" rule:"enum=start|say|show|pause|resume|stop"`
	Text       string          `json:"text,omitempty" rule:"text"`
	SpeechAct  string          `json:"speech_act,omitempty" rule:"enum=ack|progress|question|done|failed"` // down
	Payload    *ContentPayload `json:"payload,omitempty"`                                                  // down
	RefID      string          `json:"ref_id,omitempty" rule:"ref"`                                        // up, as all below
	Accepted   *bool           `json:"accepted,omitempty"`
	ReasonCode string          `json:"reason_code,omitempty" rule:"ref"`
	State      string          `json:"state,omitempty" rule:"enum=starting|active|paused|completed|cancelled|failed"`
	Event      string          `json:"event,omitempty" rule:"enum=started|paused|resumed|completed|cancelled|failed|silent|user_response"`
	Position   int64           `json:"position,omitempty"` // words that were heard to their end
}

// ContentPayload is what a verb says beside its text.
type ContentPayload struct {
	Last        bool   `json:"last,omitempty"`                     // these are the last words of the session
	RetrievedAt string `json:"retrieved_at,omitempty" rule:"time"` // RFC 3339: when what they tell was looked up
}

// StepDue is the body of up/step_due.
type StepDue struct {
	CloudStepID string     `json:"cloud_step_id" rule:"ref"`
	TaskID      string     `json:"task_id" rule:"ref"`
	Skill       string     `json:"skill,omitempty" rule:"ref"`
	SessionID   string     `json:"session_id,omitempty" rule:"ref"` // a content session is open for what the step tells
	Inputs      Object     `json:"inputs,omitempty"`
	Evidence    []Evidence `json:"evidence,omitempty"`
}

// Evidence is what was accepted as proof of an effect.
type Evidence struct {
	EffectID    string `json:"effect_id" rule:"ref"`
	Event       string `json:"event,omitempty" rule:"ref"`
	Key         string `json:"key,omitempty" rule:"text"`
	Value       Value  `json:"value,omitzero"`
	Source      string `json:"source" rule:"text"`
	Class       string `json:"class" rule:"text"`
	Seq         int64  `json:"seq"` // journal sequence of its intake
	AgeMS       int64  `json:"age_ms"`
	Correlation string `json:"correlation" rule:"text"` // task_id or window
	Recovered   bool   `json:"recovered,omitempty"`
}

// StepReport is one step of a result.
type StepReport struct {
	CloudStepID string         `json:"cloud_step_id" rule:"ref"`
	State       string         `json:"state" rule:"ref"`
	Attempts    int64          `json:"attempts"`
	ReasonCode  string         `json:"reason_code,omitempty" rule:"ref"`
	Evidence    []Evidence     `json:"evidence,omitempty"`
	Effects     []EffectReport `json:"effects,omitempty"`
	StartedMS   int64          `json:"started_ms,omitempty"` // since the workflow was accepted
	EndedMS     int64          `json:"ended_ms,omitempty"`
}

// GoalReport says how the goal of a plan ended.
type GoalReport struct {
	ExperienceID string             `json:"experience_id" rule:"ref"`
	GoalID       string             `json:"goal_id" rule:"ref"`
	Status       string             `json:"status" rule:"enum=completed|failed|cancelled|safely_ended"`
	ReasonCode   string             `json:"reason_code,omitempty" rule:"ref"`
	Effects      []GoalEffectReport `json:"effects"`
	Trace        []TraceEntry       `json:"trace,omitempty"`
}

// GoalEffectReport is the closure of one effect of a goal.
type GoalEffectReport struct {
	EffectID string `json:"effect_id" rule:"ref"`
	StepID   string `json:"step_id" rule:"ref"`
	Required bool   `json:"required"`
	State    string `json:"state" rule:"ref"`
}

// EffectReport is the closure of one effect.
type EffectReport struct {
	EffectID string `json:"effect_id" rule:"ref"`
	State    string `json:"state" rule:"ref"`
}

// Counters are what the workflow cost.
type Counters struct {
	UplinkMessages int64 `json:"uplink_messages"`
	Decisions      int64 `json:"decisions"`
	Replans        int64 `json:"replans"`
	ModelCalls     int64 `json:"model_calls"`
}

// Result is the body of up/result.
type Result struct {
	Status     string       `json:"status" rule:"enum=completed|partial|failed|cancelled|expired"` // completed partial failed cancelled expired
	ReasonCode string       `json:"reason_code,omitempty" rule:"ref"`
	Steps      []StepReport `json:"steps"`
	Experience *GoalReport  `json:"experience,omitempty"`
	Counters   Counters     `json:"counters"`
	ElapsedMS  int64        `json:"elapsed_ms"`
	Truncated  bool         `json:"truncated,omitempty"`
}

// OpenWorkflow is one line of a status.
type OpenWorkflow struct {
	WorkflowID string `json:"workflow_id" rule:"ref"`
	State      string `json:"state" rule:"ref"`
	Revision   int64  `json:"revision"`
}

// Room is a place that the robot knows, as reported in a status.
type Room struct {
	ID        string   `json:"id" rule:"text"`
	Name      string   `json:"name" rule:"text"`
	Aliases   []string `json:"aliases,omitempty" rule:"text"`
	Reachable bool     `json:"reachable"`
}

// Limits are what the device enforces before decoding.
type Limits struct {
	MessageBytes int64 `json:"message_bytes"`
	Steps        int64 `json:"steps"`
	Nesting      int64 `json:"nesting"`
	StringBytes  int64 `json:"string_bytes"`
	IDChars      int64 `json:"id_chars"`
}

// ModeChange is one change of the device's mode.
type ModeChange struct {
	N    int64  `json:"n"`
	Mode string `json:"mode" rule:"text"`
	By   string `json:"by,omitempty" rule:"text"`
	Why  string `json:"why,omitempty" rule:"text"`
	At   string `json:"at,omitempty" rule:"time"`
}

// Status is the body of up/status: retained presence and hello.
type Status struct {
	Online        bool           `json:"online"`
	ConnNo        string         `json:"conn_no,omitempty" rule:"ref"` // "<start>.<connection>", both decimal
	StoreEpoch    string         `json:"store_epoch,omitempty" rule:"ref"`
	Nonce         string         `json:"nonce,omitempty" rule:"ref"`
	LastReceipt   string         `json:"last_receipt,omitempty" rule:"ref"`
	AgentVersion  string         `json:"agent_version,omitempty" rule:"text"`
	Contract      string         `json:"contract,omitempty" rule:"text"`
	CatalogEtag   string         `json:"catalog_etag,omitempty" rule:"text"`
	RoomsEtag     string         `json:"rooms_etag,omitempty" rule:"text"`
	Rooms         []Room         `json:"rooms,omitempty"`
	Tier          string         `json:"tier,omitempty" rule:"text"`
	Mode          string         `json:"mode,omitempty" rule:"text"`
	Modes         []ModeChange   `json:"modes,omitempty"`
	Holders       []string       `json:"holders,omitempty" rule:"text"`
	OpenCount     int64          `json:"open_count,omitempty"`
	OpenWorkflows []OpenWorkflow `json:"open_workflows,omitempty"`
	Limits        *Limits        `json:"limits,omitempty"`
	OutboxDropped int64          `json:"outbox_dropped,omitempty"`
}
