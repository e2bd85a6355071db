package wire

// Monitor is the body of down/monitor: somebody wants to look on for a while. Neither it nor its ack is stored.
type Monitor struct {
	LeaseID       string `json:"lease_id" rule:"id"`
	TTLS          int64  `json:"ttl_s" rule:"int=0:900"`                        // seconds of the boot clock; 0 ends the lease
	MinIntervalMS int64  `json:"min_interval_ms,omitempty" rule:"int=0:900000"` // between two messages; the agent has a floor of its own
}

// Telemetry is the body of up/telemetry: how the work stands, the latest only. What happened in between is not told.
type Telemetry struct {
	LeaseID    string         `json:"lease_id" rule:"ref"`
	N          int64          `json:"n"`       // counts those that were made under this lease, from 1; one that is missing was replaced or lost
	LeftMS     int64          `json:"left_ms"` // of the lease
	Mode       string         `json:"mode" rule:"text"`
	Holders    []string       `json:"holders,omitempty" rule:"text"`
	OpenCount  int64          `json:"open_count"` // open workflows, also those that are cut
	OutboxRows int64          `json:"outbox_rows"`
	Workflows  []WorkflowSeen `json:"workflows,omitempty"`
	Truncated  bool           `json:"truncated,omitempty"`
}

// WorkflowSeen is one open workflow of a telemetry.
type WorkflowSeen struct {
	WorkflowID string     `json:"workflow_id" rule:"ref"`
	State      string     `json:"state" rule:"ref"`
	Revision   int64      `json:"revision"`
	Steps      []StepSeen `json:"steps,omitempty"`
}

// StepSeen is one step of it.
type StepSeen struct {
	CloudStepID string `json:"cloud_step_id" rule:"ref"`
	State       string `json:"state" rule:"ref"`
	ReasonCode  string `json:"reason_code,omitempty" rule:"ref"`
	Attempts    int64  `json:"attempts,omitempty"`
	SinceMS     int64  `json:"since_ms"` // how long it has been in this state
}
