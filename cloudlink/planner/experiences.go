package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// experienceView is a goal as HTTP shows it: what was asked for, and what the device has reported of it. What it has not reported is named in
// Missing; nothing is concluded from an earlier state.
type experienceView struct {
	ExperienceID string            `json:"experience_id"`
	GoalID       string            `json:"goal_id"`
	Summary      string            `json:"summary"`
	DeviceID     string            `json:"device_id"`
	WorkflowID   string            `json:"workflow_id"`
	TurnID       string            `json:"turn_id,omitempty"`
	CreatedAt    string            `json:"created_at"`
	Link         string            `json:"link"`        // overlay: online, link_lost, unknown
	Revision     int64             `json:"revision"`    // of the plan that carries it
	Submission   string            `json:"submission"`  // of that plan
	Status       string            `json:"status"`      // as the device has reported: completed, failed, cancelled, safely_ended; missing
	ReasonCode   string            `json:"reason_code"` // of the status
	Effects      []effectNow       `json:"effects"`
	Budget       *wire.GoalBudget  `json:"budget,omitempty"` // that it began with
	BudgetLeft   *wire.Budget      `json:"budget_left,omitempty"`
	Decisions    []escalationView  `json:"decisions"` // what the device asked, and what it was answered
	Questions    []questionView    `json:"questions"` // what it asked its user about this goal
	Usage        usageView         `json:"usage"`
	Trace        []wire.TraceEntry `json:"trace"`   // as the device has reported; empty: see missing
	Missing      []string          `json:"missing"` // what nobody has reported: status, trace, effects
	Plan         *wire.Experience  `json:"experience"`
}

// effectNow is one effect of a goal with the latest that the device has said of it.
type effectNow struct {
	EffectID string `json:"effect_id"`
	StepID   string `json:"step_id"`
	Required bool   `json:"required"`
	State    string `json:"state"`  // as the device names it; missing: it has said nothing
	Source   string `json:"source"` // the message that says so: result, escalation; empty
	At       string `json:"at,omitempty"`
}

// usageView adds up what the decisions about a goal took. A number that no model reported is null, which is not 0.
type usageView struct {
	Decisions    int64  `json:"decisions"` // that were sent
	Replans      int64  `json:"replans"`   // of these, those that changed the plan
	ModelCalls   int64  `json:"model_calls"`
	InputTokens  *int64 `json:"input_tokens"`
	OutputTokens *int64 `json:"output_tokens"`
	LatencyMS    int64  `json:"latency_ms"` // of the models
}

const missing = "missing"

func (s *Server) getExperience(req *http.Request) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	var v experienceView
	err = s.opt.Store.View(req.Context(), func(tx *store.Tx) (err error) {
		v, err = s.viewExperience(tx, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil, notFound("experience", id)
	}
	return http.StatusOK, v, err
}

func (s *Server) viewExperience(tx *store.Tx, id string) (experienceView, error) {
	row, err := tx.Experience(id)
	if err != nil {
		return experienceView{}, err
	}
	wf, err := s.viewWorkflow(tx, row.WorkflowID)
	if err != nil {
		return experienceView{}, err
	}
	stored, err := tx.Workflow(row.WorkflowID)
	if err != nil {
		return experienceView{}, err
	}
	now, err := s.workflowNow(tx, stored)
	if err != nil {
		return experienceView{}, err
	}
	v := experienceView{ExperienceID: id, DeviceID: wf.DeviceID, WorkflowID: wf.WorkflowID, TurnID: wf.TurnID, CreatedAt: stampMS(row.CreatedAt), Link: wf.Link,
		Revision: now.Revision, Submission: string(wf.Submission), Status: missing, Decisions: nonNil(wf.Escalations), Questions: []questionView{},
		Trace: []wire.TraceEntry{}, Effects: []effectNow{}, Missing: []string{}, Plan: now.Plan.Experience}
	for _, q := range wf.Questions {
		if q.ExperienceID == "" || q.ExperienceID == id {
			v.Questions = append(v.Questions, q)
		}
	}
	if g := v.Plan; g != nil {
		v.GoalID, v.Summary, v.Budget = g.GoalID, g.Summary, g.Budget
		for _, e := range g.Effects {
			v.Effects = append(v.Effects, effectNow{EffectID: e.EffectID, StepID: e.StepID, Required: e.Required, State: missing})
		}
	}
	v.addUsage()
	if err := v.addOwed(s, tx); err != nil {
		return v, err
	}
	return v, v.addReport(wf)
}

func (v *experienceView) addUsage() {
	u := &v.Usage
	for _, e := range v.Decisions {
		if e.Action == "" {
			continue
		}
		if u.Decisions++; needsPlan(e.Action) || e.Action == "return_to_station" {
			u.Replans++
		}
		if e.Usage == nil || e.Usage.Model == "" {
			continue
		}
		u.ModelCalls++
		u.LatencyMS += e.Usage.LatencyMS
		u.InputTokens, u.OutputTokens = reported(u.InputTokens, e.Usage.InputTokens), reported(u.OutputTokens, e.Usage.OutputTokens)
	}
}

// reported adds a number of tokens; on the wire 0 is "not reported".
func reported(sum *int64, n int64) *int64 {
	if n == 0 {
		return sum
	}
	if sum != nil {
		n += *sum
	}
	return &n
}

// addOwed takes from the latest question of the device what its plan still owes, and what is left of the budget.
func (v *experienceView) addOwed(s *Server, tx *store.Tx) error {
	asked, err := s.escalationsOf(tx, v.DeviceID, v.WorkflowID)
	if err != nil || len(asked) == 0 {
		return err
	}
	last := asked[len(asked)-1]
	left := last.Escalation.Budget
	v.BudgetLeft = &left
	for i := range v.Effects {
		for _, owed := range last.Escalation.RemainingEffects {
			if e := &v.Effects[i]; owed.EffectID == e.EffectID && owed.CloudStepID == e.StepID {
				e.State, e.Source, e.At = owed.State, "escalation", last.SentAt
			}
		}
	}
	return nil
}

// addReport takes what the result says of the goal, which is the last word; and names what nobody has said.
func (v *experienceView) addReport(wf workflowView) error {
	var r wire.Result
	if len(wf.Result) > 0 {
		if err := json.Unmarshal(wf.Result, &r); err != nil {
			return fmt.Errorf("cannot read kept result: %w", err)
		}
	}
	if g := r.Experience; g != nil && g.ExperienceID == v.ExperienceID {
		v.Status, v.ReasonCode, v.Trace = g.Status, g.ReasonCode, nonNil(g.Trace)
		for _, e := range g.Effects {
			v.report(effectNow{EffectID: e.EffectID, StepID: e.StepID, Required: e.Required, State: e.State, Source: "result", At: wf.ClosedAt})
		}
	}
	if v.Status == missing {
		v.Missing = append(v.Missing, "status")
	}
	if len(v.Trace) == 0 {
		v.Missing = append(v.Missing, "trace")
	}
	for _, e := range v.Effects {
		if e.State == missing {
			v.Missing = append(v.Missing, "effects."+e.EffectID)
		}
	}
	return nil
}

// report puts what the device says of an effect in the place of what was known; one that the plan as it is now does not name was of an
// earlier revision, and is shown too.
func (v *experienceView) report(e effectNow) {
	for i := range v.Effects {
		if v.Effects[i].EffectID == e.EffectID && v.Effects[i].StepID == e.StepID {
			v.Effects[i] = e
			return
		}
	}
	v.Effects = append(v.Effects, e)
}

// tellGoal tells those who watch that something about the goal of a workflow has changed; without a goal nothing is told.
func (s *Server) tellGoal(tx *store.Tx, workflow, device, what string, a *aftermath) error {
	id, err := tx.ExperienceOf(workflow)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot find experience of workflow %s: %w", workflow, err)
	}
	a.events = append(a.events, event{Kind: "experience", ID: id, DeviceID: device, What: what})
	return nil
}
