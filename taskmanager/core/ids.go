package core

// Ids are text, at most 128 characters of A-Z a-z 0-9 . _ : -, with @ only in ids that the device makes.
type (
	WorkflowID string // cloud_workflow_id
	PlanID     string
	StepID     string // unique in its plan for ever
	TaskID     string // one dispatch of a step; never used again
	MessageID  string // of an envelope
	OutputKey  string
	ServiceID  string // who serves an operation: the name in the catalog's binding

	EscalationID string // one question to the cloud, made by the device
	AskID        string // one question to the user, made by the device
)

// Instant is a moment on the boot clock in milliseconds: it counts suspend, never jumps, and starts anew at each boot.
type Instant int64

// Now is the moment at which a batch is decided. The Manager reads the clocks once per batch; the core reads none.
type Now struct {
	Boot    Instant
	BootID  string
	WallMS  int64 // Unix ms, 0: not known
	Trusted bool  // the wall clock may be believed
	Seq     int64 // journal sequence of the batch's first event; event i has Seq+i

	// Heard are the moments at which the events were heard, where some had to wait for a disk; nil: all now. What was heard in time is
	// in time, however long its commit took, and what time brings about meanwhile is brought about all the same.
	Heard []Instant
}
