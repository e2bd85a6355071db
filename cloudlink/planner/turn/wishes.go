package turn

import "deviceagent/bridge/wire"

// ScheduleWish is what somebody wants of the schedules of a device.
type ScheduleWish struct {
	Verb     string         `json:"verb"`               // create, change, cancel, list
	Targets  []string       `json:"targets,omitempty"`  // workflow ids of the schedules that are meant, of change and cancel
	Schedule *wire.Schedule `json:"schedule,omitempty"` // of create and change. The steps of the decision are what is done then
	Function string         `json:"schedule_function,omitempty"`
	What     string         `json:"what,omitempty"` // what is done then, in words for people
}

// Slots is a schedule that is not whole yet: what has been said of it over the turns. The names are those of docs/planner.md, schedules.
type Slots struct {
	Function  string   `json:"schedule_function"`     // what is to be done: an operation of the catalog, or reminder
	Operation string   `json:"operation"`             // create, change, cancel, list
	Days      []string `json:"repeat_days,omitempty"` // mon … sun
	On        string   `json:"on,omitempty"`          // one date: 2026-12-24
	From      string   `json:"from,omitempty"`        // the first day of those that come again
	Until     string   `json:"until,omitempty"`       // the last one
	Start     string   `json:"start_time,omitempty"`  // 18:00
	End       string   `json:"end_time,omitempty"`
	Location  string   `json:"location,omitempty"`    // room id
	Text      string   `json:"text,omitempty"`        // of a reminder: what to say
	Request   string   `json:"request,omitempty"`     // the words that say what is to be done, to be read again when the rest is known
	Part      string   `json:"part_of_day,omitempty"` // am, pm, noon, night: said without an hour, or left open with one
	Open      []string `json:"open_halves,omitempty"` // start_time, end_time: nothing tells the half of the day yet
	Shift     int      `json:"shift_min,omitempty"`   // of a change: so many minutes later than it is
	Targets   []string `json:"targets,omitempty"`     // as in ScheduleWish
	Missing   []string `json:"missing_slots,omitempty"`
	TurnID    string   `json:"turn_id,omitempty"` // that began it
	AskedAtMS int64    `json:"asked_at_ms,omitempty"`
}

// Revises names the workflow whose plan the steps replace. What is done stays done.
type Revises struct {
	WorkflowID  string   `json:"workflow_id"`
	PlanID      string   `json:"plan_id"`
	Revision    int64    `json:"revision"` // the new one
	CancelSteps []string `json:"cancel_steps,omitempty"`
	How         string   `json:"how"` // smallest_change, rebuilt
	// Plan is the revision as it is sent: what is not changed stands in it as it was sent before, so that it is adopted.
	Plan wire.Plan `json:"-"`
}

// Answers is an answer to a question that the device asks its user.
type Answers struct {
	WorkflowID string `json:"workflow_id"`
	QuestionID string `json:"question_id"`
	Option     string `json:"option"`
}

// Admission says whether words are more than a single order.
type Admission string

// The states of an admission. Only activated ones go to the device.
const (
	NotAdmitted Admission = "not_admitted"
	Candidate   Admission = "candidate"
	Activated   Admission = "activated"
	Blocked     Admission = "blocked"
)

// ExperienceRequest is the sidecar of a decision: what is meant by the words as a whole. It never changes owner, route or steps.
type ExperienceRequest struct {
	Admission       Admission        `json:"admission"`
	ReasonCode      string           `json:"reason_code"`
	Axes            []string         `json:"axes,omitempty"`     // semantic axes that hold
	Evidence        []Evidence       `json:"evidence,omitempty"` // the words for each of them
	DispatchAllowed bool             `json:"dispatch_allowed"`   // always false: a goal moves nothing
	Goal            *wire.Experience `json:"goal,omitempty"`     // of candidate, blocked and activated, with the effects that steps bring about; experience_id is given when the plan is made
}

// Kept is a schedule that a device keeps.
type Kept struct {
	WorkflowID string        `json:"workflow_id"`
	State      string        `json:"state"` // of the submission: queued, sent, accepted
	Utterance  string        `json:"utterance,omitempty"`
	Function   string        `json:"schedule_function"` // operation of its first step, or reminder
	What       string        `json:"what,omitempty"`    // what is done then, in words for people
	Location   string        `json:"location,omitempty"`
	Schedule   wire.Schedule `json:"schedule"`
}
