package home

// Reasons that the robot gives. Those that the agent's own table has are spelled as there; the rest are the robot's words.
const (
	ReasonBusy            = "executor_busy"      // the resource is in use
	ReasonUnknownLocation = "unknown_location"   // no such room
	ReasonBatteryLow      = "battery_low"        // below what the robot needs to get home
	ReasonSafety          = "safety_stopped"     // the safety controller holds the body
	ReasonRobotFault      = "robot_fault"        // a critical fault is active
	ReasonSealed          = "sealed"             // a Query or Cancel for this task id came before it
	ReasonUnknownMethod   = "unknown_method"     // no such operation here
	ReasonBadParams       = "bad_params"         // a parameter is missing or out of range
	ReasonUnreachable     = "unreachable"        // no way leads there
	ReasonUnknownTask     = "unknown_task"       // never heard of it
	ReasonAlreadyEnded    = "already_ended"      // terminal is terminal
	ReasonNotSupported    = "not_supported"      // this task cannot be paused
	ReasonLifted          = "lifted"             // a person holds it in the air
	ReasonExternalStop    = "external_stop"      // a person stopped or moved it
	ReasonStopped         = "stopped"            // a stop operation ended it
	ReasonTaskKnown       = "task_known"         // the same task id once more
	ReasonNoReading       = "no_reading"         // the sensor gives nothing
	ReasonRestarted       = "executor_restarted" // the robot's service restarted under it
)
