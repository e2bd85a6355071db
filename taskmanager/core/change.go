package core

import "deviceagent/taskmanager/core/catalog"

// Change is all that a batch decided. The Manager commits Workflows, Device, Outbox, Receipted and Remember in one transaction,
// then gives Answers, then carries out Outputs. Now need not wait for the disk.
type Change struct {
	Workflows []*Workflow // new versions; Dirty tells which rows differ
	Outbox    []Message
	Receipted []MessageID
	Remember  []Remembered
	Tombs     []WorkflowID  // new tombstones
	Withdrawn []int64       // sequences of outbox rows that go, unsent or not: nobody may answer them any more
	Aside     []SetAside    // workflows that are set aside: their rows stay, marked
	Now       []Output      // stops and reads, and dispatches of read_only operations
	Outputs   []Output      // in order, after the commit
	Answers   []*Answer     // per event; nil where nobody waits for one
	Moves     []Move        // what happened to steps, for those who watch
	Decided   []Supervision // of plans with a goal: what was decided beside going on as planned
	Must      bool          // it has to be committed now; otherwise it may ride with the next commit
	Ignored   int           // events about nothing that is under way: stale, repeated, foreign

	device    Device
	known     map[catalog.ContextKey]Known
	services  map[ServiceID]Service
	gone      []ServiceID
	tombs     map[WorkflowID]Reason
	templates map[WorkflowID]*Template // new versions; nil: gone
	mouth     *Mouth                   // nil: as it was
	sessions  map[TaskID]*Session      // new versions; nil: gone
	used      map[catalog.ResourceID]Sample
	foreign   map[catalog.ResourceID]Sample
	gave      map[catalog.EventName]Sample
	forget    bool                        // all context values are missing from now on
	lost      map[catalog.ContextKey]bool // and these
}

// Device is the device's row after the change.
func (c Change) DeviceRow() Device { return c.device }

// TombReason says why a new tombstone was set.
func (c Change) TombReason(id WorkflowID) Reason { return c.tombs[id] }

// Templates are the new versions of templates, by id; nil: it is gone.
func (c Change) Templates() map[WorkflowID]*Template { return c.templates }

// Mouth is the mouth after the change; nil: it is as it was.
func (c Change) Mouth() *Mouth { return c.mouth }

// Sessions are the new versions of sessions, by id; nil: it is forgotten.
func (c Change) Sessions() map[TaskID]*Session { return c.sessions }

// Move is one change of a step, a workflow or an effect, for those who watch. One without a workflow is a change of the device's mode.
type Move struct {
	Seq      int64      `json:"seq"`
	Workflow WorkflowID `json:"workflow_id"`
	Step     StepID     `json:"step_id,omitempty"`
	Effect   string     `json:"effect_id,omitempty"`
	Goal     string     `json:"goal_id,omitempty"`
	From     string     `json:"from,omitempty"`
	To       string     `json:"to"`
	Reason   Reason     `json:"reason_code,omitempty"`
	Task     TaskID     `json:"task_id,omitempty"`
}

// Remembered is an entry for the id memory.
type Remembered struct {
	Key    string
	Hash   string
	Answer Answer
}

// MessageType is the wire type of an up message.
type MessageType string

// The up messages of this form.
const (
	MsgAck     MessageType = "ack"
	MsgResult  MessageType = "result"
	MsgStepDue MessageType = "step_due"

	MsgEscalation MessageType = "escalation"
	MsgQuestion   MessageType = "question"
	MsgContent    MessageType = "content"
)

// Message is one row for the outbox, before the bridge makes bytes of it.
type Message struct {
	Seq      int64
	Type     MessageType
	Workflow WorkflowID
	Plan     PlanID
	Turn     string
	Step     StepID
	Task     TaskID
	Ack      *Answer
	Result   *Result
	StepDue  *StepDue

	Escalation *Question
	Question   *Asking
	Content    *ContentReport
}

// Result is the report of a terminal workflow.
type Result struct {
	Status    WorkflowState
	Reason    Reason
	Steps     []StepReport
	Uplink    int64
	ElapsedMS int64
	Decisions int64
	Replans   int64
	Goal      *GoalReport // nil: the plan has none
}

// StepReport is one step of a Result.
type StepReport struct {
	ID       StepID
	State    StepState
	Attempts int64
	Reason   Reason
	Effects  []Effect
	StartMS  int64 // since acceptance of the plan; 0: never started
	EndMS    int64
}

// StepDue asks the cloud to carry out a step.
type StepDue struct {
	Step   StepID
	Task   TaskID
	Skill  string
	Tells  bool // a session is open for what it tells; its id is Task
	Inputs Values
	Proof  []Effect
}

// Rows tells which rows of a workflow differ from the stored ones.
func (wf *Workflow) Rows() (head, plan bool, steps, attempts []int) {
	for i := range wf.Steps {
		if wf.Steps[i].dirty || wf.isNew {
			steps = append(steps, i)
		}
	}
	for i := range wf.Attempts {
		if wf.Attempts[i].dirty {
			attempts = append(attempts, i)
		}
	}
	return wf.dirty || wf.isNew, wf.isNew || wf.newer, steps, attempts
}
