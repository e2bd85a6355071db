package turn

import "deviceagent/bridge/wire"

// Around is what the planner knows beside the words: what was said before, what is under way, and what was being talked about. All of it
// is data; what is missing is not known, and is not taken for "nothing".
type Around struct {
	Voice     Voice      `json:"voice_context"`
	History   []Said     `json:"history_context,omitempty"` // oldest first
	Link      string     `json:"link,omitempty"`            // to the device: online, link_lost, unknown (it has never said hello)
	Tier      string     `json:"tier,omitempty"`            // the highest that a plan with a goal may have, as the device has said it; empty: it has not
	Workflows []Workflow `json:"workflows,omitempty"`       // open ones, latest first
	Ended     []Workflow `json:"ended,omitempty"`           // that the device has closed lately, latest first
	PausedBy  []string   `json:"paused_by,omitempty"`       // who asked for a pause of everything from here and has not let go since
	// AllCancelledMS is how long ago everything was cancelled from here; nil: it was not, or the device has refused it.
	AllCancelledMS *int64     `json:"all_cancelled_ms,omitempty"`
	Foreground     string     `json:"foreground,omitempty"` // the workflow that is meant where none is named; empty: none is open
	Sessions       []Session  `json:"sessions,omitempty"`   // content that is being told
	Questions      []Question `json:"questions,omitempty"`  // that the device asks its user now, latest first
	Schedules      []Kept     `json:"schedules,omitempty"`  // that the device keeps
	Refused        []Kept     `json:"refused,omitempty"`    // schedules that the device has not taken, within a day
	Spoken         []string   `json:"spoken_of,omitempty"`  // workflow ids of the schedules that the turn before made or changed
	Slots          *Slots     `json:"slots,omitempty"`      // left open by an earlier turn
	Asked          *Asked     `json:"asked,omitempty"`      // a yes or no that is waited for
	LeftBy         string     `json:"-"`                    // id of the turn that left Spoken, Slots and Asked
	Memos          []Memo     `json:"memos,omitempty"`      // what is kept of the people of the home, by their own yes
	Device         *Device    `json:"device_context,omitempty"`
}

// Voice is what a voice front end knows of the words.
type Voice struct {
	Confidence *float64 `json:"confidence,omitempty"` // of the recognition, 0 to 1; nil: not told
	Partial    bool     `json:"partial,omitempty"`    // the words may go on
	Addressed  *bool    `json:"addressed,omitempty"`  // whether the robot was spoken to; nil: not told
}

// Why words are not acted on at all, as stt_null_target_scope names it.
const (
	NotAddressed = "not_addressed" // they were said to somebody else
	NotFinished  = "not_finished"  // they may go on: half a sentence is another one
)

// Withheld says why words are not for the robot, or not yet; empty: they are, as far as anybody knows.
func (v Voice) Withheld() string {
	switch {
	case v.Addressed != nil && !*v.Addressed:
		return NotAddressed
	case v.Partial:
		return NotFinished
	}
	return ""
}

// Said is one thing that was said earlier in the conversation.
type Said struct {
	By     string `json:"by"` // user, robot
	Text   string `json:"text"`
	Family Family `json:"family,omitempty"` // of the turn, where it is known
	AgeMS  int64  `json:"age_ms,omitempty"` // 0: not told
}

// Workflow is a plan that the device is carrying out, as it has reported it.
type Workflow struct {
	WorkflowID string    `json:"workflow_id"`
	PlanID     string    `json:"plan_id"`
	Revision   int64     `json:"revision"`
	Status     string    `json:"status"` // of the submission: queued, sent, accepted
	Utterance  string    `json:"utterance,omitempty"`
	GoalID     string    `json:"goal_id,omitempty"`
	Owner      Family    `json:"owner,omitempty"`       // of the turn that asked for it
	Result     string    `json:"result,omitempty"`      // of one that the device has closed: completed, partial, failed, cancelled, expired
	ReasonCode string    `json:"reason_code,omitempty"` // of the result
	PausedBy   []string  `json:"paused_by,omitempty"`   // who asked for a pause from here and has not let go since
	AgeMS      int64     `json:"age_ms"`                // since it was said; of a closed one since its result came
	Plan       wire.Plan `json:"-"`                     // as it was sent last
	Steps      []StepNow `json:"steps,omitempty"`       // what is known of its steps; a step that is not here is not known
	// TakenOut are the steps of earlier revisions that are not in the plan any more.
	TakenOut []wire.Request `json:"-"`
	GivenUp  []string       `json:"given_up,omitempty"` // of these, the steps that a replan has left undone: nobody wished them away
}

// StepNow is what the device has said of a step. What it has not said stands nowhere.
type StepNow struct {
	ID         string `json:"id"`
	Method     string `json:"method,omitempty"`
	State      string `json:"state"` // as the device names it
	ReasonCode string `json:"reason_code,omitempty"`
	Evidence   string `json:"evidence,omitempty"` // the message that says so: result, telemetry, step_due, escalation
	AgeMS      int64  `json:"age_ms"`             // of this knowledge
}

// Question is a question that the device asks its user.
type Question struct {
	WorkflowID string   `json:"workflow_id"`
	QuestionID string   `json:"question_id"`
	Text       string   `json:"text"`
	Options    []Option `json:"options"`
	LeftMS     int64    `json:"left_ms"` // until it closes
}

// Option is one of its answers.
type Option struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Session is content that is being told.
type Session struct {
	SessionID  string `json:"session_id"`
	WorkflowID string `json:"workflow_id"`
	StepID     string `json:"step_id"`
	Skill      string `json:"skill"`
	Kind       string `json:"kind,omitempty"` // quiz, story, news
	State      string `json:"state,omitempty"`
}

// Device is what is known of the state of the robot.
type Device struct {
	Etag string         `json:"etag,omitempty"`
	Keys map[string]Key `json:"keys,omitempty"` // by context key of the catalog, such as battery.level
}

// Key is one value. Missing says that somebody looked and there was none.
type Key struct {
	V       any   `json:"value,omitempty"`
	AgeMS   int64 `json:"age_ms"`
	Missing bool  `json:"missing,omitempty"`
}

// Evidence is one thing that speaks for a decision.
type Evidence struct {
	Kind   string  `json:"kind"`             // operation, skill, room, unsupported, condition, schedule, time, topic, public, missing, ending, heard (the ID is what was meant), rule, second_pass
	ID     string  `json:"id"`               // of the registry, or the name of the rule
	Span   string  `json:"span,omitempty"`   // the words, letter by letter
	Margin float64 `json:"margin,omitempty"` // how far ahead of the next reading, 0 to 1; 0: not measured
}
