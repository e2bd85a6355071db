package core

// Head is what every message from outside carries into the core.
type Head struct {
	Msg         MessageID `json:"msg"`
	Hash        string    `json:"hash,omitempty"`  // of type, device and body: another content under the same key is found by it
	Local       bool      `json:"local,omitempty"` // from a local socket: answered there, no up/ack
	Epoch       string    `json:"epoch,omitempty"` // store_epoch that the sender had in mind
	Seq         int64     `json:"seq,omitempty"`   // the planner's counter
	SentMS      int64     `json:"sent_ms,omitempty"`
	ExpireMS    int64     `json:"expire_ms,omitempty"`    // wall clock; 0: does not expire
	Before      *Answer   `json:"before,omitempty"`       // the answer that this key was given earlier, from the id memory
	HashThen    string    `json:"hash_then,omitempty"`    // the content that it was given to
	IDMS        int64     `json:"id_ms,omitempty"`        // when the id was made, by the sender's clock; 0: the id does not say
	ForgottenMS int64     `json:"forgotten_ms,omitempty"` // wall clock: of the newest message that the id memory has forgotten; 0: it has forgotten none
	Past        *Past     `json:"past,omitempty"`         // of the workflow that it is about, where that ended and only the store still has it
}

// Past is what the store keeps of a workflow that has ended.
type Past struct {
	State  WorkflowState `json:"state"`
	Result *Result       `json:"result"`
}

// PastOf makes the Past of a terminal workflow.
func PastOf(wf *Workflow) *Past { return &Past{wf.State, resultOf(wf)} }

// PlanSubmitted hands in a plan that the bridge has checked.
type PlanSubmitted struct {
	Head
	Plan   *Plan `json:"plan"`
	NoNext bool  `json:"no_next,omitempty"` // its schedule has no next time, by a clock that can be trusted

	GoalFaults []Fault `json:"goal_faults,omitempty"` // that the bridge found in its goal: they refuse it, unless no goal is evaluated here
}

// ControlReceived is a wish of a person or the planner.
type ControlReceived struct {
	Head
	Verb   string     `json:"verb"`  // cancel, kill, pause, resume, set_mode, set_tier, disable_experience
	Scope  string     `json:"scope"` // workflow, step, schedule, experience, all
	Target string     `json:"target,omitempty"`
	By     string     `json:"by,omitempty"`
	Why    string     `json:"why,omitempty"`
	Holder HolderKind `json:"holder,omitempty"` // of a resume: whose hold it is to end; "": that of who asks, and what waits to be asked
}

// StepResult is the outcome of a cloud step.
type StepResult struct {
	Head
	Step   StepID `json:"step"`
	Task   TaskID `json:"task"`
	Done   bool   `json:"done"`
	Output Values `json:"output,omitempty"`
	Reason Reason `json:"reason,omitempty"`
}

// Receipted says which up messages the planner has stored.
type Receipted struct {
	Refs []MessageID `json:"refs"`
}

// Refused is a message that the bridge could not let in. It changes nothing but that it is answered.
type Refused struct {
	Head
	Answer Answer `json:"answer"`
}

func (PlanSubmitted) eventKind() EventKind    { return KindPlanSubmitted }
func (DecisionReceived) eventKind() EventKind { return KindDecision }
func (ControlReceived) eventKind() EventKind  { return KindControlReceived }
func (StepResult) eventKind() EventKind       { return KindStepResult }
func (Receipted) eventKind() EventKind        { return KindReceived }
func (Refused) eventKind() EventKind          { return KindRefused }

// Fault is one thing that is wrong with a message.
type Fault struct {
	Path    string `json:"path"`
	Reason  Reason `json:"reason_code"`
	Message string `json:"message"`
}

// Answer is what a message is told. Accepted never means done.
type Answer struct {
	Ref         MessageID  `json:"ref_id,omitempty"`
	RefSHA256   string     `json:"ref_sha256,omitempty"`
	Workflow    WorkflowID `json:"workflow,omitempty"`
	Plan        PlanID     `json:"plan,omitempty"`
	Accepted    bool       `json:"accepted"`
	Reason      Reason     `json:"reason_code,omitempty"`
	Faults      []Fault    `json:"errors,omitempty"`
	State       string     `json:"state,omitempty"`
	Stopping    []string   `json:"stopping,omitempty"`     // resources whose tasks are being stopped
	Steps       []string   `json:"steps,omitempty"`        // of a pause or resume: what its holders do to each step that is under way, as in "wf_1/step_1 pausing"
	Holders     []string   `json:"holders_left,omitempty"` // of a pause or resume: who holds the target now
	CatalogEtag string     `json:"catalog_etag,omitempty"`
}
