package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// workflowView is a workflow as HTTP shows it: what was submitted, what the device answered, and how it ended.
type workflowView struct {
	WorkflowID  string          `json:"workflow_id"`
	PlanID      string          `json:"plan_id"`
	DeviceID    string          `json:"device_id"`
	TurnID      string          `json:"turn_id,omitempty"`
	CreatedAt   string          `json:"created_at"`
	Revision    int64           `json:"revision"`
	Submission  store.State     `json:"submission"`  // queued, sent, accepted, refused, expired
	ReasonCode  string          `json:"reason_code"` // of the submission
	Link        string          `json:"link"`        // overlay: online, link_lost, unknown
	Status      string          `json:"status"`      // of the result; empty until the device closed the workflow
	ClosedAt    string          `json:"closed_at,omitempty"`
	Submissions []downView      `json:"submissions"` // one per revision that was sent
	Controls    []downView      `json:"controls"`
	Result      json.RawMessage `json:"result,omitempty"` // with steps, evidence and counters, as the device sent it
	CloudSteps  []cloudStep     `json:"cloud_steps"`

	Escalations []escalationView `json:"escalations"` // what the device asked, and what it was answered
	Questions   []questionView   `json:"questions"`   // what it asked its user
	Uplink      uplink           `json:"uplink"`
	ModelCalls  int64            `json:"model_calls"`
}

// downView is one message to the device and its answer.
type downView struct {
	MessageID   string          `json:"message_id"`
	Type        string          `json:"type"`
	Seq         int64           `json:"seq"`
	Revision    int64           `json:"revision"`
	State       store.State     `json:"state"`
	ReasonCode  string          `json:"reason_code,omitempty"`
	CreatedAt   string          `json:"created_at"`
	FirstSentAt string          `json:"first_sent_at,omitempty"`
	AnsweredAt  string          `json:"answered_at,omitempty"`
	ExpiresAt   string          `json:"expires_at,omitempty"`
	Ack         json.RawMessage `json:"ack,omitempty"` // with errors[], as the device sent it
}

// cloudStep is a step that the device has handed to the cloud, and what became of it.
type cloudStep struct {
	CloudStepID string `json:"cloud_step_id"`
	TaskID      string `json:"task_id"`
	State       string `json:"state"` // pending: nobody carries it out here; due, telling, answered, failed, dropped; closed with its workflow
	ReasonCode  string `json:"reason_code,omitempty"`
	DueAt       string `json:"due_at"`
	EndedAt     string `json:"ended_at,omitempty"`
}

// uplink counts the publishes of the device about this workflow, by message id; repeats are counted apart.
type uplink struct {
	Messages int64            `json:"messages"`
	ByType   map[string]int64 `json:"by_type"`
	Repeats  int64            `json:"repeats"`
}

const messagesCounted = 10_000

func viewDown(d store.Down) downView {
	return downView{MessageID: d.ID, Type: d.Type, Seq: d.Seq, Revision: d.Revision, State: d.State, ReasonCode: d.ReasonCode,
		CreatedAt: stampMS(d.CreatedAt), FirstSentAt: stampMS(d.FirstSentAt), AnsweredAt: stampMS(d.AnsweredAt),
		ExpiresAt: stampMS(d.ExpiresAt), Ack: d.Ack}
}

func (s *Server) getWorkflow(req *http.Request) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	var v workflowView
	err = s.opt.Store.View(req.Context(), func(tx *store.Tx) (err error) {
		v, err = s.viewWorkflow(tx, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil, notFound("workflow", id)
	}
	return http.StatusOK, v, err
}

func (s *Server) viewWorkflow(tx *store.Tx, id string) (workflowView, error) {
	w, err := tx.Workflow(id)
	if err != nil {
		return workflowView{}, err
	}
	v := workflowView{WorkflowID: w.ID, PlanID: w.PlanID, DeviceID: w.DeviceID, TurnID: w.TurnID, CreatedAt: stampMS(w.CreatedAt),
		Link: linkOf(tx, w.DeviceID), Status: w.Status, ClosedAt: stampMS(w.ResultAt), Result: w.Result,
		Submissions: []downView{}, Controls: []downView{}, CloudSteps: []cloudStep{}, Escalations: []escalationView{}}
	if err := v.addDown(tx); err != nil {
		return v, err
	}
	if err := v.addUplink(tx, s.opt.AllowJSON); err != nil {
		return v, err
	}
	if v.Questions, err = s.questionsOf(tx, v.DeviceID, v.WorkflowID); err != nil {
		return v, err
	}
	v.Questions = nonNil(v.Questions)
	if err := v.addEscalations(s, tx); err != nil {
		return v, err
	}
	return v, v.addModelCalls(tx)
}

// addDown lists the messages to the device. The submission is that of the last revision that the device took, and while it took
// none, of the last one: a refused revision does not undo an accepted one.
func (v *workflowView) addDown(tx *store.Tx) error {
	rows, err := tx.DownOf(v.WorkflowID)
	if err != nil {
		return err
	}
	var shown *store.Down
	for _, row := range rows {
		if row.Type == string(wire.TypeDecision) {
			continue // beside its question
		}
		if row.Type != string(wire.TypePlan) {
			v.Controls = append(v.Controls, viewDown(row))
			continue
		}
		v.Submissions = append(v.Submissions, viewDown(row))
		if shown == nil || row.State == store.Accepted || shown.State != store.Accepted {
			shown = &row
		}
	}
	if shown != nil {
		v.Revision, v.Submission, v.ReasonCode = shown.Revision, shown.State, shown.ReasonCode
	}
	for _, row := range rows {
		if row.Type == string(wire.TypeDecision) && row.State == store.Accepted {
			v.Revision = max(v.Revision, row.Revision) // a decision that carried a plan was a revision too
		}
	}
	return nil
}

// addUplink counts what the device sent about the workflow, and finds the cloud steps that are due.
func (v *workflowView) addUplink(tx *store.Tx, allowJSON bool) error {
	v.Uplink.ByType = map[string]int64{}
	rows, err := tx.MessagesOf(v.DeviceID, v.WorkflowID, messagesCounted)
	if err != nil {
		return err
	}
	for _, m := range rows {
		v.Uplink.ByType[m.Type]++
		if m.Type == string(wire.TypeContent) { // counted apart, by robot and planner alike
			continue
		}
		v.Uplink.Messages++
		v.Uplink.Repeats += m.Repeats
		if m.Type != string(wire.TypeStepDue) {
			continue
		}
		env, err := wire.Decode(m.Payload, wire.Options{AllowJSON: allowJSON, Limits: deviceLimits, Direction: wire.Up})
		if err != nil || env.StepDue == nil {
			continue // it was read when it came; the setting for JSON has changed since
		}
		if slices.ContainsFunc(v.CloudSteps, func(c cloudStep) bool { return c.TaskID == env.StepDue.TaskID }) {
			continue // said again
		}
		state := "pending"
		if v.Status != "" {
			state = "closed"
		}
		step := cloudStep{CloudStepID: env.StepDue.CloudStepID, TaskID: env.StepDue.TaskID, State: state, DueAt: stampMS(m.ReceivedAt)}
		if err := step.carried(tx, v.DeviceID); err != nil {
			return err
		}
		v.CloudSteps = append(v.CloudSteps, step)
	}
	return nil
}

// carried adds what has become of it here.
func (c *cloudStep) carried(tx *store.Tx, device string) error {
	row, err := tx.CloudStep(device, c.TaskID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	c.State, c.ReasonCode, c.EndedAt = row.State, row.ReasonCode, stampMS(row.EndedAt)
	return err
}

// addModelCalls adds what planning cost, the decisions that a model made, and what the device counted.
func (v *workflowView) addModelCalls(tx *store.Tx) error {
	for _, e := range v.Escalations {
		if e.Usage != nil && e.Usage.Model != "" {
			v.ModelCalls++
		}
	}
	if v.TurnID != "" {
		t, err := tx.Turn(v.TurnID)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // a raw plan may name a turn of somebody else
			return fmt.Errorf("cannot read turn %s: %w", v.TurnID, err)
		}
		v.ModelCalls += t.ModelCalls
	}
	if len(v.Result) > 0 {
		var r wire.Result
		if err := json.Unmarshal(v.Result, &r); err != nil {
			return fmt.Errorf("cannot read kept result: %w", err)
		}
		v.ModelCalls += r.Counters.ModelCalls
	}
	return nil
}
