package diag

import "deviceagent/taskmanager/core"

// APIVersion is the first part of every path. A path is never removed within it.
const APIVersion = "v1"

// NotKnown stands where a moment or text is not known.
const NotKnown = "not known"

// AsOf says of which moment a document is.
type AsOf struct {
	Seq          int64  `json:"seq"`        // journal sequence of the last event that is in it
	DeviceTime   string `json:"deviceTime"` // RFC 3339 with milliseconds, or "not known"
	ClockTrusted bool   `json:"clockTrusted"`
}

// Moment is a moment in both forms that people ask for.
type Moment struct {
	At    string `json:"at"` // RFC 3339 with milliseconds, or "not known"
	AgeMS int64  `json:"age_ms"`
}

// StatusDocument answers /v1/status.
type StatusDocument struct {
	Facts
	Health    string          `json:"health"` // ok, degraded
	Mode      string          `json:"mode"`   // automatic, intervened, manual, service
	Modes     []ModeChange    `json:"modes"`  // the latest changes of it, oldest first
	Tier      string          `json:"tier"`   // the highest that a plan with an experience may have now; off: experiences are not evaluated
	Started   *Moment         `json:"started"`
	Workflows WorkflowCounts  `json:"workflows"`
	Holders   []Holder        `json:"holders"`  // of everything and of open plans
	Cleaning  []CleanUp       `json:"clean_up"` // tasks that were told to stop and have not been seen to
	Services  []ServiceStatus `json:"executors"`
	Catalog   CatalogStatus   `json:"catalog"`
}

// ModeChange is one change of the mode.
type ModeChange struct {
	N    int64  `json:"n"`
	Mode string `json:"mode"`
	By   string `json:"by,omitempty"`
	Why  string `json:"why,omitempty"`
	At   string `json:"at"` // RFC 3339 with milliseconds, or "not known"
}

// Holder is one who holds work back.
type Holder struct {
	ID     string `json:"id"` // kind:scope:target:cause, as far as there is one
	Kind   string `json:"kind"`
	Scope  string `json:"scope"`
	Target string `json:"target,omitempty"`
	Cause  string `json:"cause,omitempty"`
	Resume string `json:"resume"` // auto, auto_after, ask, never: what ends it
	By     string `json:"by,omitempty"`
	Why    string `json:"why,omitempty"`
	Since  Moment `json:"since"`
	LeftMS *int64 `json:"left_ms"` // until time ends it; null where it does not
}

// CleanUp is a task that was told to stop and has not been seen to: also of a step that has ended.
type CleanUp struct {
	Workflow  string   `json:"workflow_id"`
	Step      string   `json:"step_id"`
	StepState string   `json:"step_state"`
	Method    string   `json:"method"`
	Task      string   `json:"task_id"`
	Resources []string `json:"resources"`
	StopCalls int      `json:"stop_calls"`
}

// WorkflowCounts counts workflows by state.
type WorkflowCounts struct {
	Active     int `json:"active"` // cancelling included
	Queued     int `json:"queued"`
	Held       int `json:"held"`
	InMemory   int `json:"in_memory"` // ended ones that can still be shown
	Tombstones int `json:"tombstones"`
}

// CatalogStatus names the catalog in force.
type CatalogStatus struct {
	Etag       string `json:"etag"`
	RoomsEtag  string `json:"rooms_etag,omitempty"`
	Operations int    `json:"operations"`
}

// ServiceStatus is one service that the catalog or the registry names.
type ServiceStatus struct {
	Service   string   `json:"service"`
	State     string   `json:"state"` // ready, absent
	Instance  string   `json:"instance,omitempty"`
	Methods   []string `json:"methods"`         // that it serves
	Missing   []string `json:"missing_methods"` // that the catalog binds to it and it does not serve
	Since     *Moment  `json:"since"`
	Open      int      `json:"open_calls"`
	Waiting   int      `json:"waiting_calls"`
	LastError string   `json:"last_error,omitempty"`

	Contradicted int64 `json:"contradicted"` // how often it said done and the opposite was observed, since the store is there
	Unproven     int64 `json:"unproven"`     // how often it said done and nothing proved it in its time
}

// Question is one thing that the cloud was asked to decide.
type Question struct {
	ID      string   `json:"escalation_id"`
	Step    string   `json:"step_id"`
	Reason  string   `json:"reason_code"`
	State   string   `json:"state"` // open, decided, defaulted, superseded
	Allowed []string `json:"allowed_actions"`
	Action  string   `json:"action,omitempty"` // that closed it
	Opened  Moment   `json:"opened"`
	LeftMS  *int64   `json:"left_ms"` // until its default is taken; null where it is not open
}

// Ask is one question to the user.
type Ask struct {
	ID      string      `json:"question_id"`
	Step    string      `json:"step_id"`
	Kind    string      `json:"kind"` // decision, fallback, consent
	Consent string      `json:"consent,omitempty"`
	Text    string      `json:"text"`
	Options []AskOption `json:"options"`
	State   string      `json:"state"`            // open, answered, expired, withdrawn
	Option  string      `json:"option,omitempty"` // that was chosen
	By      string      `json:"by,omitempty"`     // who chose it
	Opened  Moment      `json:"opened"`
	LeftMS  *int64      `json:"left_ms"` // until nobody has answered; null where it is not open
}

// AskOption is one answer that it takes.
type AskOption struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Workflow is a row of the list.
type Workflow struct {
	Kind       string  `json:"kind"` // physical
	ID         string  `json:"id"`
	PlanID     string  `json:"plan_id"`
	Revision   int64   `json:"revision"`
	State      string  `json:"state"`
	Reason     string  `json:"reason_code,omitempty"`
	Source     string  `json:"source"` // cloud, local
	Priority   string  `json:"priority"`
	Goal       string  `json:"goal"` // what was said; "not recorded" where the plan does not say
	StepsDone  int     `json:"steps_done"`
	StepsTotal int     `json:"steps_total"`
	Step       string  `json:"step,omitempty"` // the one that it is at; of an ended one that which decided it
	StepState  string  `json:"step_state,omitempty"`
	Waiting    []Fact  `json:"waiting_for"`
	Accepted   Moment  `json:"accepted"`
	Ended      *Moment `json:"ended"`
	ElapsedMS  int64   `json:"elapsed_ms"` // from acceptance to the end or now
}

// WorkflowDocument answers /v1/workflows/{id}.
type WorkflowDocument struct {
	Workflow
	TurnID         string `json:"turn_id,omitempty"`
	CatalogEtag    string `json:"catalog_etag,omitempty"`
	DeadlineLeftMS *int64 `json:"deadline_left_ms"` // null: it has no deadline
	Uplink         int64  `json:"uplink_messages"`
	Moving         bool   `json:"moving"` // a task that moves the body may be under way
	Steps          []Step `json:"steps"`

	DecisionsLeft int64      `json:"decisions_left"`
	ReplansLeft   int64      `json:"replans_left"`
	Questions     []Question `json:"questions"`      // to the cloud, in the order of their opening
	Asks          []Ask      `json:"user_questions"` // to the user, likewise
}

// Step is one step with its proof.
type Step struct {
	ID        string         `json:"id"`
	Target    string         `json:"target"` // device, cloud
	Method    string         `json:"method"` // taskMethod, or the skill of a cloud step
	Params    map[string]any `json:"params"`
	After     []string       `json:"after"` // steps that it depends on
	Wait      string         `json:"wait_policy"`
	State     string         `json:"state"`
	Reason    string         `json:"reason_code,omitempty"`
	Detail    string         `json:"detail,omitempty"`
	Since     Moment         `json:"since"`
	LeftMS    *int64         `json:"left_ms"`    // until time moves it; null: nothing bounds this state
	ElapsedMS *int64         `json:"elapsed_ms"` // from dispatch to the end or now; null: never dispatched
	Attempts  int64          `json:"attempts"`
	Task      string         `json:"task_id,omitempty"`
	TaskState string         `json:"task_state,omitempty"` // calling, live, stopping, lost, ended
	Claim     string         `json:"executor_said,omitempty"`
	StopCalls int            `json:"stop_calls,omitempty"`
	Stop      string         `json:"stop,omitempty"` // confirmed, unconfirmed
	Output    map[string]any `json:"output,omitempty"`
	Effects   []Effect       `json:"effects"`
}

// Effect is one required effect and what was accepted for or against it.
type Effect struct {
	ID       string     `json:"id"` // "done_evidence" for an operation without an effect
	State    string     `json:"state"`
	Evidence []Evidence `json:"evidence"`
}

// Evidence is one thing that counted.
type Evidence struct {
	Event     string `json:"event,omitempty"`
	Key       string `json:"key,omitempty"`
	Value     any    `json:"value"`
	Source    string `json:"source"`
	Class     string `json:"class"`
	Seq       int64  `json:"seq"`
	At        Moment `json:"at"`
	AgeMS     int64  `json:"age_ms"` // how old it was when it was accepted
	By        string `json:"correlation"`
	Against   bool   `json:"against"`
	Recovered bool   `json:"recovered"`
}

// WhyDocument answers /v1/workflows/{id}/why.
type WhyDocument struct {
	Workflow string    `json:"workflow_id"`
	State    string    `json:"state"`
	Reason   string    `json:"reason_code,omitempty"`
	Steps    []WhyStep `json:"steps"`
}

// WhyStep is the chain of facts behind the present state of one step. It is never empty.
type WhyStep struct {
	Step   string `json:"step"`
	State  string `json:"state"`
	Reason string `json:"reason_code,omitempty"`
	Since  Moment `json:"since"`
	Facts  []Fact `json:"facts"`
}

// Fact is one reason why a step is where it is.
type Fact struct {
	Kind     string `json:"kind"` // dependency delay resource context service evidence answer stop time end
	Text     string `json:"text"` // one English sentence
	Ref      string `json:"ref,omitempty"`
	RefKind  string `json:"ref_kind,omitempty"`  // step, task, effect, event, key, output, service, resource
	RefState string `json:"ref_state,omitempty"` // of what Ref names: a state, fresh, stale, missing, unavailable, received, not received, accepted, against, an owner
	Value    any    `json:"value"`               // of a key; null: there is none
	Want     *Want  `json:"want"`                // of a key that is waited for
	Source   string `json:"source,omitempty"`
	AgeMS    *int64 `json:"age_ms"`
	BoundMS  *int64 `json:"bound_ms"` // how old the value may be
	LeftMS   *int64 `json:"left_ms"`  // until time moves the step
}

// Want is the comparison that a key has to meet.
type Want struct {
	Op    string `json:"op"`
	Value any    `json:"value"`
}

// ContextRow is one key of the device context.
type ContextRow struct {
	Key     string `json:"key"`
	Value   any    `json:"value"` // null: there is none
	Source  string `json:"source,omitempty"`
	Class   string `json:"class,omitempty"`
	AgeMS   *int64 `json:"age_ms"`
	BoundMS int64  `json:"bound_ms"`
	Fresh   string `json:"fresh"` // fresh, stale, missing, unavailable, conflict

	OtherSource string `json:"other_source,omitempty"` // who says something else
	OtherValue  any    `json:"other_value,omitempty"`
}

// VersionDocument answers /v1/version.
type VersionDocument struct {
	API      string `json:"api"`
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Contract string `json:"contract"`
	DeviceID string `json:"device_id"`
}

// Answer is what a command was told. Accepted never means done.
type Answer struct {
	Accepted    bool         `json:"accepted"`
	DryRun      bool         `json:"dry_run"`
	Message     string       `json:"message_id"` // the id of the envelope that was made for it
	Workflow    string       `json:"workflow_id,omitempty"`
	PlanID      string       `json:"plan_id,omitempty"`
	State       string       `json:"state,omitempty"` // of the target now
	Stopping    []string     `json:"stopping"`        // resources whose tasks are being stopped
	Holders     []string     `json:"holders_left"`    // of a pause or resume: who holds the target now
	Steps       []string     `json:"steps"`           // of a pause or resume: what its holders do to each step that is under way, as in "wf_1/step_1 pausing"
	CatalogEtag string       `json:"catalog_etag,omitempty"`
	Reason      string       `json:"reason_code,omitempty"`
	Faults      []core.Fault `json:"-"`
}

// Document is what every successful answer of the API is.
type Document struct {
	Data any  `json:"data"`
	AsOf AsOf `json:"asOf"`
}
