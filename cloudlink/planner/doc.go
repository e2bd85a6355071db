// Package planner is the cloud endpoint: HTTP in front, MQTT towards the robots, a store behind. Run's goroutine owns every
// change: handlers of paho and of HTTP only hand over and wait.
//
// It promises that an up message is receipted only after it is on disk, that a repeated one changes nothing, that what goes down
// keeps its id and its order until the device has answered it, and that a workflow is closed by its device alone: presence loss
// is shown beside the state (link_lost) and never changes it. It understands no language and knows no catalog: both come in as
// functions. It is never linked into the device binary. Contract: docs/contract.md; HTTP: docs/planner-api.md.
package planner
