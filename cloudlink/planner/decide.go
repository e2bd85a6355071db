package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/running"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// Asked is a question of a device, with what the planner knows beside it.
type Asked struct {
	DeviceID, WorkflowID, PlanID, StepID string
	wire.Escalation
	Before int // questions that this step has asked before
	// Offer is a plan that could be sent with replan_cloud or substitute; nil: there is none of use.
	Offer *running.Replan
}

// policy is the table by which a question is answered: the first line whose reason and action fit. Source: docs/planner.md, escalations.
var policy = []struct {
	reasons []string // empty: any
	once    bool     // only the first time that a step asks
	action  string
}{
	{[]string{"executor_unavailable", "executor_busy", "prerequisite_unmet", "context_missing", "context_stale", "context_conflict", "resource_busy"}, true, "retry_local"},
	// a plan that goes on without what has failed is better than none: what the person asked for besides is still of use
	{nil, false, "substitute"},
	{nil, false, "replan_cloud"},
	{nil, false, "cancel"},
}

// DecideByPolicy answers without a model: what passes by itself is tried once more, everything else takes its end at once, so that
// nobody waits for a deadline that nobody will use.
func DecideByPolicy(q Asked) (wire.Decision, bool) {
	for _, line := range policy {
		fits := len(line.reasons) == 0 || slices.Contains(line.reasons, q.ReasonCode)
		if !fits || line.once && q.Before > 0 || !slices.Contains(q.AllowedActions, line.action) {
			continue
		}
		if !needsPlan(line.action) {
			return wire.Decision{Action: line.action, Reason: "policy"}, true
		}
		if q.Offer != nil && q.Offer.Action == line.action {
			plan := q.Offer.Plan
			return wire.Decision{Action: line.action, Plan: &plan, Reason: "policy: " + q.Offer.Why()}, true
		}
	}
	return wire.Decision{}, false
}

// needsPlan says whether an action changes the plan by one that comes with it.
func needsPlan(action string) bool { return action == "replan_cloud" || action == "substitute" }

// replanner makes the plan that goes on without what has failed. Planners that can are asked; it is pure, and quick.
type replanner interface {
	Replan(running.Stuck, func(wire.Plan) bool) (running.Replan, bool)
}

// replanFor makes such a plan where the device would take one. It is a revision of the very plan that the question is about: where another has
// gone down since, the question is out of date.
func (s *Server) replanFor(tx *store.Tx, wf store.Workflow, q Asked) (*running.Replan, error) {
	p, can := s.opt.Planner.(replanner)
	if !can || !slices.ContainsFunc(q.AllowedActions, needsPlan) {
		return nil, nil
	}
	now, err := s.workflowNow(tx, wf)
	if err != nil || now.Revision != q.PlanRevision || len(now.Plan.Requests) == 0 {
		return nil, err
	}
	d, err := tx.Device(wf.DeviceID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("cannot read rooms of device %s: %w", wf.DeviceID, err)
	}
	stuck := running.Stuck{Workflow: now, StepID: q.StepID, ReasonCode: q.ReasonCode, Owed: q.RemainingEffects, Rooms: statusOf(d).Rooms, Locale: localeOf(now)}
	made, ok := p.Replan(stuck, func(plan wire.Plan) bool { return len(s.check(plan, stuck.Rooms)) == 0 })
	if !ok || !slices.Contains(q.AllowedActions, made.Action) {
		return nil, nil
	}
	return &made, nil
}

func localeOf(w turn.Workflow) string {
	if o := w.Plan.Workflow.Origin; o != nil && o.Locale != "" {
		return o.Locale
	}
	return locales[0]
}

// clockSet is the earliest moment that a device's clock is believed to say: before that it counts from its start.
var clockSet = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// applyEscalation answers a question, once: the message is new, and its answer is kept with it. What is over already is not answered:
// the device would refuse it.
func (s *Server) applyEscalation(tx *store.Tx, env wire.Envelope, a *aftermath) error {
	a.events = append(a.events, event{Kind: "workflow", ID: env.Corr.WorkflowID, DeviceID: env.DeviceID, What: "escalation " + env.Escalation.ReasonCode})
	wf, err := tx.Workflow(env.Corr.WorkflowID)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && wf.DeviceID != env.DeviceID:
		return nil // of another planner: the message is kept, and its device goes on by the default
	case err != nil:
		return fmt.Errorf("cannot find workflow %s: %w", env.Corr.WorkflowID, err)
	case wf.Status != "" || s.late(env):
		return nil
	}
	if err := s.tellGoal(tx, wf.ID, env.DeviceID, "escalation "+env.Escalation.ReasonCode, a); err != nil {
		return err
	}
	before, err := s.askedBefore(tx, env)
	if err != nil {
		return err
	}
	decide := s.opt.Decide
	if decide == nil {
		decide = DecideByPolicy
	}
	ask := Asked{DeviceID: env.DeviceID, WorkflowID: wf.ID, PlanID: wf.PlanID, StepID: env.Corr.StepID, Escalation: *env.Escalation, Before: before}
	if ask.Offer, err = s.replanFor(tx, wf, ask); err != nil {
		return err
	}
	answer, ok := decide(ask)
	if !ok {
		a.open = append(a.open, open{env, ask})
		return nil
	}
	return s.queueDecision(tx, env, answer, a)
}

// late says that the deadline of a question has passed by the device's own clock.
func (s *Server) late(env wire.Envelope) bool {
	sent, err := time.Parse(time.RFC3339, env.SentAt)
	return err == nil && sent.After(clockSet) && s.opt.Now().After(sent.Add(time.Duration(env.Escalation.DeadlineMS)*time.Millisecond))
}

func (s *Server) queueDecision(tx *store.Tx, asked wire.Envelope, answer wire.Decision, a *aftermath) error {
	env := s.envelope(asked.DeviceID, wire.TypeDecision)
	answer.EscalationID, answer.PlanRevision = asked.Escalation.EscalationID, asked.Escalation.PlanRevision
	env.Decision = &answer
	env.Corr = wire.Corr{WorkflowID: asked.Corr.WorkflowID, PlanID: asked.Corr.PlanID, StepID: asked.Corr.StepID, EscalationID: answer.EscalationID}
	err := s.queue(tx, env, ms(s.opt.Now())+asked.Escalation.DeadlineMS)
	var full *problem
	if errors.As(err, &full) {
		s.opt.Log.Warn().Str(keyDevice, asked.DeviceID).Str(keyMessage, asked.ID).Err(err).Msg("escalation not answered, its default will be taken")
		return nil
	}
	if err != nil {
		return err
	}
	a.touch(asked.DeviceID, false)
	return s.tellGoal(tx, asked.Corr.WorkflowID, asked.DeviceID, "decision "+answer.Action, a)
}

// askedBefore counts the questions that the same step asked earlier.
func (s *Server) askedBefore(tx *store.Tx, env wire.Envelope) (n int, err error) {
	all, err := s.escalationsOf(tx, env.DeviceID, env.Corr.WorkflowID)
	for _, other := range all {
		if other.ID != env.ID && other.Corr.StepID == env.Corr.StepID {
			n++
		}
	}
	return n, err
}

// escalationsOf reads the questions about a workflow, oldest first.
func (s *Server) escalationsOf(tx *store.Tx, device, workflow string) (out []wire.Envelope, err error) {
	rows, err := tx.MessagesOf(device, workflow, messagesCounted)
	if err != nil {
		return nil, err
	}
	for _, m := range rows {
		if m.Type != string(wire.TypeEscalation) {
			continue
		}
		env, err := wire.Decode(m.Payload, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Up})
		if err == nil && env.Escalation != nil { // else: quarantined when it came
			out = append(out, env)
		}
	}
	return out, nil
}

// escalationView is a question and its answer as HTTP shows them.
type escalationView struct {
	EscalationID   string      `json:"escalation_id"`
	CloudStepID    string      `json:"cloud_step_id"`
	ReasonCode     string      `json:"reason_code"`
	AllowedActions []string    `json:"allowed_actions"`
	DefaultAction  string      `json:"default_action"`
	DeadlineMS     int64       `json:"deadline_ms"`
	DecisionsLeft  int64       `json:"decisions_left"`
	ReplansLeft    int64       `json:"replans_left"`
	AskedAt        string      `json:"asked_at"`
	Action         string      `json:"action"`        // of the decision; empty: none was sent
	How            string      `json:"how,omitempty"` // of one that changes the plan: smallest_change or rebuilt, and what it changes
	Decision       *downView   `json:"decision,omitempty"`
	Usage          *wire.Usage `json:"usage,omitempty"` // of the model that decided; none: the table did
}

// addEscalations lists the questions of the device with what was answered.
func (v *workflowView) addEscalations(s *Server, tx *store.Tx) error {
	asked, err := s.escalationsOf(tx, v.DeviceID, v.WorkflowID)
	if err != nil {
		return err
	}
	rows, err := tx.DownOf(v.WorkflowID)
	if err != nil {
		return err
	}
	for _, env := range asked {
		q := env.Escalation
		e := escalationView{EscalationID: q.EscalationID, CloudStepID: env.Corr.StepID, ReasonCode: q.ReasonCode, AllowedActions: q.AllowedActions,
			DefaultAction: q.DefaultAction, DeadlineMS: q.DeadlineMS, DecisionsLeft: q.Budget.DecisionsLeft, ReplansLeft: q.Budget.ReplansLeft, AskedAt: env.SentAt}
		for _, row := range rows {
			if row.Type != string(wire.TypeDecision) {
				continue
			}
			d, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
			if err != nil {
				return fmt.Errorf("cannot read stored decision %s: %w", row.ID, err)
			}
			if d.Decision.EscalationID == q.EscalationID {
				view := viewDown(row)
				e.Action, e.Decision, e.Usage = d.Decision.Action, &view, d.Decision.Usage
				if needsPlan(e.Action) {
					e.How = strings.TrimPrefix(d.Decision.Reason, "policy: ")
				}
			}
		}
		v.Escalations = append(v.Escalations, e)
	}
	return nil
}
