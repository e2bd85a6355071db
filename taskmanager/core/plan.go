package core

import (
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Plan is a plan after every check of the bridge: names resolved, defaults filled in, references valid, steps acyclic. It never
// changes after intake: a revision makes a new one.
type Plan struct {
	Workflow    WorkflowID `json:"workflow"`
	ID          PlanID     `json:"id"`
	Revision    int64      `json:"revision"`
	Priority    Priority   `json:"priority"`
	DeadlineMS  int64      `json:"deadline_ms,omitempty"` // from acceptance, on the boot clock; 0: none
	SentMS      int64      `json:"sent_ms,omitempty"`
	Schedule    *Schedule  `json:"schedule,omitempty"` // it is a template: see Template
	Template    WorkflowID `json:"template,omitempty"` // it is an occurrence of this one
	TurnID      string     `json:"turn_id,omitempty"`
	Utterance   string     `json:"utterance,omitempty"`
	Locale      string     `json:"locale,omitempty"`       // the language that the user is answered in; "": Korean
	Prefetch    []Part     `json:"prefetch,omitempty"`     // of a schedule: what is told where the planner cannot be reached
	CatalogEtag string     `json:"catalog_etag,omitempty"` // of the catalog that the plan was checked against
	Local       bool       `json:"local,omitempty"`        // handed in on the robot: answered there, not by up/ack
	Standing    string     `json:"standing,omitempty"`     // made by the device itself of this standing plan of the catalog
	// Rooms are those of the robot's map service at intake; nil: those of the catalog. Kept only where a step still has to resolve
	// arguments at its dispatch: the plan is held to the rooms that it was accepted with, also in a replay.
	Rooms       []catalog.Room `json:"rooms,omitempty"`
	Goal        *Goal          `json:"goal,omitempty"`         // what the plan is for, where it says so
	NoGoal      bool           `json:"no_goal,omitempty"`      // it said so, and this device evaluates no experiences
	CancelSteps []StepID       `json:"cancel_steps,omitempty"` // what a revision stops; none of them is one of Steps
	Steps       []StepSpec     `json:"steps"`
}

// Priority orders the queue before the order of submission.
type Priority string

// The priorities, highest first.
const (
	PrioritySafety     Priority = "safety"
	PriorityUser       Priority = "user"
	PriorityBackground Priority = "background"
)

func (p Priority) rank() int {
	switch p {
	case PrioritySafety:
		return 0
	case PriorityBackground:
		return 2
	}
	return 1
}

// Target says where a step is carried out.
type Target string

// The targets.
const (
	OnDevice Target = "device"
	OnCloud  Target = "cloud"
)

// WaitPolicy says when dependants are released.
type WaitPolicy string

// The wait policies.
const (
	WaitSubmitted WaitPolicy = "submitted" // the executor accepted
	WaitCompleted WaitPolicy = "completed" // terminal evidence observed
	WaitForEvent  WaitPolicy = "event"     // the wait_event observed
)

// On says which end of a dependency meets it.
type On string

// The ends: success = completed, satisfied or skipped by its own condition; failure = failed or timed out; done = any of these.
const (
	OnSuccess On = "success"
	OnDone    On = "done"
	OnFailure On = "failure"
)

// OnFail says what a failed step does to the rest.
type OnFail string

// The failure policies. Escalate has the default of a plain plan here: dependants are skipped, other branches go on.
const (
	FailEscalate OnFail = "escalate"
	FailContinue OnFail = "continue"
	FailAbort    OnFail = "abort"
)

// Dep is one dependency, by index into the plan's steps.
type Dep struct {
	Step int `json:"step"`
	On   On  `json:"on"`
}

// EventMatch names an event and the data that it must carry.
type EventMatch struct {
	Event catalog.EventName `json:"event"`
	Match Values            `json:"match,omitempty"`
}

// StepSpec is the immutable part of a step.
type StepSpec struct {
	ID     StepID         `json:"id"`
	Target Target         `json:"target"`
	Method catalog.Method `json:"method,omitempty"`
	Skill  string         `json:"skill,omitempty"` // of a cloud step
	Args   Values         `json:"args,omitempty"`  // for $-references of evidence
	Call   Values         `json:"call,omitempty"`  // what is sent

	Immediate bool        `json:"immediate,omitempty"` // refuse where the resource is busy
	Deps      []Dep       `json:"deps,omitempty"`
	Wait      WaitPolicy  `json:"wait"`
	WaitEvent *EventMatch `json:"wait_event,omitempty"`
	Anchor    int         `json:"anchor,omitempty"` // 1 + index of the anchor of Delay; 0: none
	DelayMS   int64       `json:"delay_ms,omitempty"`

	AnchorEvent     catalog.EventName `json:"anchor_event,omitempty"`      // of other work, that the step waits for
	AnchorSeenMS    int64             `json:"anchor_seen_ms,omitempty"`    // wall clock: a run that ended since then counts; 0: since the plan was sent
	AnchorTimeoutMS int64             `json:"anchor_timeout_ms,omitempty"` // of the wait, from the acceptance; 0: a day

	NotBeforeMS int64   `json:"not_before_ms,omitempty"` // moment of the wall clock, Unix ms; 0: none
	GraceMS     int64   `json:"grace_ms,omitempty"`      // how late that may be noticed; 0: a minute. Only what an occurrence begins with has it
	Ends        bool    `json:"ends,omitempty"`          // it ends an occurrence: see endOccurrence
	OnOverdue   Overdue `json:"on_overdue,omitempty"`    // "": run

	InputFrom map[string]string    `json:"input_from,omitempty"` // parameter → output path
	Output    OutputKey            `json:"output,omitempty"`
	When      *condition.Condition `json:"when,omitempty"`

	TimeoutMS  int64  `json:"timeout_ms,omitempty"` // from acceptance; 0 only where human paced
	EvidenceMS int64  `json:"evidence_ms"`
	HoldMS     int64  `json:"hold_ms"`
	OnFailure  OnFail `json:"on_failure"`
	Retry      Retry  `json:"retry,omitzero"`

	Op        Facts                `json:"op"`
	Resources []catalog.ResourceID `json:"resources,omitempty"`
	Stops     []catalog.ResourceID `json:"stops,omitempty"`
	Effects   []catalog.EffectID   `json:"effects,omitempty"`
	Named     bool                 `json:"named,omitempty"` // the plan itself named the effects
	Keeps     []Keep               `json:"keeps,omitempty"` // which of them have to hold on, and until when
	MovesBody bool                 `json:"moves_body,omitempty"`

	Content string `json:"content,omitempty"` // hash of what the plan said, where a revision has taken a part of that away
}

// Facts is what the catalog said of the operation, with these arguments, when the plan was accepted. A catalog that changes later
// does not change what runs.
type Facts struct {
	Service        ServiceID            `json:"service,omitempty"`
	AckMS          int64                `json:"ack_ms,omitempty"`
	StopMS         int64                `json:"stop_ms,omitempty"`
	Redo           catalog.Redo         `json:"redo,omitempty"`
	Probe          catalog.Probe        `json:"probe,omitempty"`
	ReadOnly       bool                 `json:"read_only,omitempty"`
	Cancel         bool                 `json:"cancel,omitempty"`   // the executor takes a Stop
	Pause          bool                 `json:"pause,omitempty"`    // the executor takes a Pause and a Resume
	PauseMS        int64                `json:"pause_ms,omitempty"` // how long either may take to be confirmed
	HasOutput      bool                 `json:"has_output,omitempty"`
	NeedsFull      bool                 `json:"needs_full,omitempty"`  // in the tier full only; written where the plan has a goal
	Consent        string               `json:"consent,omitempty"`     // that a person has to give before it is dispatched; written where the plan has a goal
	Noisy          bool                 `json:"noisy,omitempty"`       // it makes noise; written where the goal respects quiet hours
	ExpectedMS     int64                `json:"expected_ms,omitempty"` // how long it usually runs; written where the plan has a goal; 0: nobody says
	Prerequisites  *condition.Condition `json:"prerequisites,omitempty"`
	DoneEvidence   *catalog.Expr        `json:"done_evidence,omitempty"` // the proof of effect ""
	DoneConfidence catalog.Confidence   `json:"done_confidence,omitzero"`
}

// FactsOf takes from an effective operation what carrying it out needs.
func FactsOf(op catalog.Operation) Facts {
	return Facts{
		Service: ServiceID(op.Binding.Name), AckMS: op.AckMS, StopMS: op.StopMS, Redo: op.Redo, Probe: op.Probe, ReadOnly: op.ReadOnly,
		Cancel: op.Cancel, Pause: op.Pause, PauseMS: op.PauseMS, HasOutput: len(op.Output) > 0, Prerequisites: op.Prerequisites, DoneEvidence: op.DoneEvidence, DoneConfidence: op.DoneConfidence,
	}
}

// EffectsOf lists what proves an effective operation: its effects, or "" where its done_evidence does.
func EffectsOf(op catalog.Operation) []catalog.EffectID {
	if len(op.Effects) == 0 && op.DoneEvidence != nil {
		return []catalog.EffectID{""}
	}
	return op.Effects
}

// Retry is a declared local retry: at most Attempts tries in all, BackoffMS between two. Zero: none.
type Retry struct {
	Attempts  int64 `json:"attempts"`
	BackoffMS int64 `json:"backoff_ms,omitempty"`
}

// Lookup finds the index of a step by id, or -1.
func (p *Plan) Lookup(id StepID) int {
	for i := range p.Steps {
		if p.Steps[i].ID == id {
			return i
		}
	}
	return -1
}
