package wire

// TraceEntry is one record of how a goal was kept. One that has Missing stands for so many entries that are not there, and has
// nothing else but the sequence of the last of them. Source: docs/experience.md, the trace.
type TraceEntry struct {
	Seq        int64        `json:"seq"`   // journal sequence of the event that it happened at
	AtMS       int64        `json:"at_ms"` // since the plan was accepted
	Stage      string       `json:"stage,omitempty" rule:"ref"`
	What       string       `json:"what,omitempty" rule:"ref"`
	StepID     string       `json:"step_id,omitempty" rule:"ref"`
	EffectID   string       `json:"effect_id,omitempty" rule:"ref"`
	ReasonCode string       `json:"reason_code,omitempty" rule:"ref"`
	Seen       string       `json:"seen,omitempty" rule:"text"`  // event or context key
	Basis      string       `json:"basis,omitempty" rule:"text"` // task, question, message, or the sequence of the evidence
	Refused    string       `json:"refused,omitempty" rule:"ref"`
	Before     *TraceBudget `json:"before,omitempty"`
	After      *TraceBudget `json:"after,omitempty"`
	Diff       *PlanDiff    `json:"diff,omitempty"`
	Usage      *Usage       `json:"usage,omitempty"`
	Missing    int64        `json:"missing,omitempty"`
}

// TraceBudget is what was left for the goal.
type TraceBudget struct {
	Decisions int64 `json:"decisions"`
	Replans   int64 `json:"replans"`
	Retries   int64 `json:"retries"`
	Questions int64 `json:"questions"`
}

// PlanDiff is what a revision did to the steps of a plan, by their ids.
type PlanDiff struct {
	From    int64    `json:"from"` // revisions
	To      int64    `json:"to"`
	Added   []string `json:"added,omitempty" rule:"ref"`
	Removed []string `json:"removed,omitempty" rule:"ref"`
	Changed []string `json:"changed,omitempty" rule:"ref"`
	Stopped []string `json:"stopped,omitempty" rule:"ref"`
	More    int64    `json:"more,omitempty"` // ids that are not listed
}
