package planner

// Keys of log fields.
const (
	keyDevice   = "device_id"
	keyMessage  = "message_id"
	keyType     = "type"
	keyWorkflow = "workflow_id"
	keyStep     = "cloud_step_id"
	keyTopic    = "topic"
	keyBytes    = "size_bytes"
	keyCount    = "count"
	keyReason   = "reason_code"
	keyWaitMS   = "wait_ms"
	keyClient   = "client"
	keyTurn     = "turn_id"
)
