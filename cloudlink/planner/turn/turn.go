// Package turn holds what goes into and comes out of one turn of the planner: typed, decoded and checked. It decides nothing.
// Contract: docs/planner.md.
package turn

import (
	"time"

	"deviceagent/bridge/wire"
)

// Family is a route family: who owns the turn.
type Family string

// The families. Source: docs/planner.md.
const (
	ODL     Family = "ODL"      // device action, state or setting
	SCH     Family = "SCH"      // schedules, alarms, reservations
	FRG     Family = "FRG"      // fresh or outside information
	DEF     Family = "DEF"      // conversation
	DQR     Family = "DQR"      // questions about the device and product
	UNS     Family = "UNS"      // a request for what this device cannot do
	STTNull Family = "STT_NULL" // no live reply target
	STM     Family = "STM"      // stories and quizzes
	ETR     Family = "ETR"      // other entertainment talk
)

// The shapes of a command, as [Decision.Structure] lists them.
const (
	Single      = "single"
	Sequence    = "sequence"    // one thing after another
	Conditional = "conditional" // if, or when
	Delayed     = "delayed"     // after some time
	Recurring   = "recurring"
)

// Input is one utterance with what the planner knows around it.
type Input struct {
	TurnID   string
	DeviceID string
	Text     string      // as recognized
	Locale   string      // ko-KR (default), en-US
	Rooms    []wire.Room // as the device reported them; nil: the catalog's
	Now      time.Time   // when it was said, in the zone of the home; zero: nobody knows, and no time of day can be planned
	Around   Around
	Heard    Heard  // what the rules have made of the words already; nil: nobody has looked at them
	Before   *Trace // what the stages before the main planner have found; nil: there were none
}

// Heard is what a planner has made of the words for itself; who did not make it does not look into it.
type Heard interface {
	Of() string  // the words
	Bare() Heard // the same without what word lists point at
}

// Step is one step of the plan in the planner's words. Compile turns it into a wire.Request by the catalog only.
type Step struct {
	ID               string            `json:"id"`
	Route            Family            `json:"route"`
	Purpose          string            `json:"purpose"`
	ExecutionTarget  string            `json:"execution_target"` // device, cloud
	TaskMethod       string            `json:"task_method,omitempty"`
	Params           wire.Object       `json:"params,omitempty"`
	DependsOn        []wire.Dependency `json:"depends_on,omitempty"`
	WaitPolicy       string            `json:"wait_policy,omitempty"`
	TemporalRelation string            `json:"temporal_relation,omitempty"`
	TemporalAnchorID string            `json:"temporal_anchor_id,omitempty"`
	DelayMS          int64             `json:"delay_ms,omitempty"`
	OutputKey        string            `json:"output_key,omitempty"`
	InputFrom        *wire.InputFrom   `json:"input_from,omitempty"`
	When             *wire.Condition   `json:"when,omitempty"`
	RequiredEffects  []string          `json:"required_effects,omitempty"`
	Span             string            `json:"span,omitempty"` // the words that ask for this step
	// Skill is what a cloud step does, of skills.json; only where ExecutionTarget is cloud. Its Params are what the skill needs to know, such as topic.
	Skill string `json:"skill,omitempty"`
	// AnchorEvent is what other work, that is under way, is waited for with (cleaning.completed); with TemporalRelation after_existing_event.
	AnchorEvent string `json:"anchor_event,omitempty"`
	TimeoutMS   int64  `json:"timeout_ms,omitempty"` // 0: the catalog's
	OnFailure   string `json:"on_failure,omitempty"` // as in the plan; empty: the contract's default
}

// Decision is what the main planner says. Names follow docs/planner.md.
type Decision struct {
	TurnMode         string   `json:"turn_mode"`           // singleton multi_turn multi_step parallel
	Structure        []string `json:"structure,omitempty"` // how the words are built, also where nothing is planned; Korean only
	SelectedRoutes   []Family `json:"selected_routes"`
	SelectedFlowID   string   `json:"selected_flow_id"`
	SelectedAgent    string   `json:"selected_agent"`
	SelectedSkill    string   `json:"selected_skill"`
	OwnerSelection   Family   `json:"owner_selection"`
	Steps            []Step   `json:"steps,omitempty"`
	MissingSlots     []string `json:"missing_slots,omitempty"`
	FamilyConfidence string   `json:"family_confidence"` // high medium low
	RunnerUpFamily   Family   `json:"runner_up_family,omitempty"`
	NeedsSecondPass  bool     `json:"needs_second_pass,omitempty"`
	AmbiguityReason  string   `json:"ambiguity_reason,omitempty"`
	STTNullSubtype   string   `json:"stt_null_subtype,omitempty"`
	STTNullScope     string   `json:"stt_null_target_scope,omitempty"`
	STTNullRecovery  string   `json:"stt_null_recoverability,omitempty"`
	// UnsupportedCategory names what was refused, as unsupported_request_categories of planner.json does. Empty: nothing was, or nobody knows a name.
	UnsupportedCategory string `json:"unsupported_category,omitempty"`
	AskFollowUp         bool   `json:"ask_follow_up,omitempty"`
	TTSResponse         string `json:"tts_response"`
	// SpeechAct is what saying TTSResponse does: ack, progress, question, done, failed. The endpoint fills in what a planner leaves out.
	SpeechAct string `json:"speech_act,omitempty"`
	// Refused are the clauses that ask for what the robot does not do, beside steps for the rest.
	Refused []Refusal `json:"refused,omitempty"`
	// Control is a wish that is no plan: "다 그만" cancels at once. It is sent before the steps, if there are any.
	Control *wire.Control `json:"control,omitempty"`
	// ControlOf is the workflow that the control is about, where it is about one.
	ControlOf string `json:"control_of,omitempty"`
	// Answers is the answer to a question of the device that the words are.
	Answers *Answers `json:"answers,omitempty"`
	// Schedule is a wish about what happens at set times. It is carried out by the endpoint, and is done when the device has it.
	Schedule *ScheduleWish `json:"schedule,omitempty"`
	// Slots is what the next turn may fill: the schedule that is being talked about. Nil: nothing is left open.
	Slots *Slots `json:"slots,omitempty"`
	// Asks is a question of yes or no that the next turn may answer, and Memo what is to be kept or erased of the people of the home.
	Asks *Asked    `json:"asks,omitempty"`
	Memo *MemoWish `json:"memo,omitempty"`
	// Revises says that the steps are the whole plan of a workflow that is under way, anew.
	Revises *Revises `json:"revises,omitempty"`
	// Experience is the goal that the words ask for beside the steps. It moves nothing, and the steps are the same without it.
	Experience *ExperienceRequest `json:"experience_request,omitempty"`
	// Evidence is what the decision rests on, in the order of the words.
	Evidence   []Evidence `json:"evidence,omitempty"`
	ModelCalls int64      `json:"model_calls"`
	// Trace says what each stage found. Nil: the main planner was asked alone.
	Trace *Trace `json:"trace,omitempty"`
	// Model says what a language model had to do with it. Nil: none is attached, or none was needed.
	Model *ModelTrace `json:"model,omitempty"`
}

// ModelTrace is how a language model took part in a decision, and what that cost.
type ModelTrace struct {
	Verdict     string      `json:"verdict"`         // model, agreed, kept_draft, asked_back, fallback: docs/planner.md, models
	Fault       string      `json:"fault,omitempty"` // why the rules' decision stands, of fallback
	DraftFamily Family      `json:"draft_family"`    // what the rules had decided
	SecondPass  string      `json:"second_pass,omitempty"`
	Calls       []ModelCall `json:"calls"`
}

// ModelCall is one question to a model with all that was sent for it.
type ModelCall struct {
	Purpose      string `json:"purpose"` // main, repair, second_pass
	Model        string `json:"model"`
	Fault        string `json:"fault,omitempty"`
	Requests     int64  `json:"requests"`      // that reached the server, with those that were tried again
	InputTokens  *int64 `json:"input_tokens"`  // null: the server did not report it, which is not 0
	OutputTokens *int64 `json:"output_tokens"` // null: as above
	LatencyMS    int64  `json:"latency_ms"`
}

// Refusal is a clause that was refused by name.
type Refusal struct {
	Span     string `json:"span"`     // its words
	Category string `json:"category"` // as UnsupportedCategory
}

// Mode names the shape of a plan: singleton, parallel where two steps wait for none, else multi_step.
func Mode(steps []Step) string {
	roots := 0
	for _, s := range steps {
		if len(s.DependsOn) == 0 {
			roots++
		}
	}
	switch {
	case len(steps) < 2:
		return "singleton"
	case roots > 1:
		return "parallel"
	}
	return "multi_step"
}
