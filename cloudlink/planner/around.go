package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// Bounds of what a turn is told about what is around it.
const (
	historyTurns  = 6 // of the device, where the caller tells none
	historyFor    = 10 * time.Minute
	openTold      = 20 // open workflows
	endedTold     = 10
	endedFor      = 12 * time.Hour   // a workflow that has ended is still talked about
	telemetryTold = 10 * time.Minute // older telemetry is of another time; younger is told with its age
	controlsTold  = 20               // controls of everything
)

// around is what the planner knows beside the words: what the caller says of it, and of the rest what stands in the store.
func (s *Server) around(ctx context.Context, ask turnRequest) (a turn.Around, err error) {
	a = turn.Around{Voice: ask.VoiceContext, History: ask.history(), Device: ask.DeviceContext}
	err = s.opt.Store.View(ctx, func(tx *store.Tx) error {
		a.Link, a.Tier = linkOf(tx, ask.DeviceID), tierOf(tx, ask.DeviceID)
		if ask.HistoryContext == nil {
			if a.History, err = s.said(tx, ask.DeviceID); err != nil {
				return err
			}
		}
		if err := s.addWorkflows(tx, ask, &a); err != nil {
			return err
		}
		return s.addKept(tx, ask, &a)
	})
	if err != nil {
		return a, fmt.Errorf("cannot read what is under way on device %s: %w", ask.DeviceID, err)
	}
	return a, nil
}

// said are the last turns of a device: what was said and answered, oldest first, each with its age.
func (s *Server) said(tx *store.Tx, device string) (out []turn.Said, err error) {
	now := s.opt.Now()
	rows, err := tx.TurnsOf(device, ms(now.Add(-historyFor)), historyTurns)
	for _, row := range slices.Backward(rows) {
		var old turnAnswer
		if json.Unmarshal(row.Answer, &old) != nil {
			continue // of another form of this program
		}
		age := ms(now) - row.CreatedAt
		out = append(out, turn.Said{By: "user", Text: old.RecognizedText, Family: old.Decision.OwnerSelection, AgeMS: age},
			turn.Said{By: "robot", Text: old.TTSResponse, Family: old.Decision.OwnerSelection, AgeMS: age})
	}
	return out, err
}

// addWorkflows tells what is open and what has ended lately, the sessions and questions of what is open, and which one is meant where
// none is named: that of the caller, else the latest.
func (s *Server) addWorkflows(tx *store.Tx, ask turnRequest, a *turn.Around) error {
	open, err := tx.OpenWorkflowsOf(ask.DeviceID, openTold)
	if err != nil {
		return err
	}
	for _, row := range open {
		if err := s.addOpen(tx, ask, row, a); err != nil {
			return err
		}
	}
	slices.SortStableFunc(a.Questions, func(x, y turn.Question) int { return int(y.LeftMS - x.LeftMS) })
	ended, err := tx.EndedWorkflowsOf(ask.DeviceID, ms(s.opt.Now().Add(-endedFor)), endedTold)
	if err != nil {
		return err
	}
	for _, row := range ended {
		w, err := s.workflowNow(tx, row)
		if err != nil {
			return err
		}
		a.Ended = append(a.Ended, w)
		if err := s.addTold(tx, w, row.DeviceID, a); err != nil {
			return err
		}
	}
	if a.PausedBy, a.AllCancelledMS, err = allHeld(tx, ask.DeviceID, ms(s.opt.Now())); err != nil {
		return err
	}
	if len(a.Workflows) > 0 {
		a.Foreground = a.Workflows[0].WorkflowID
	}
	if c := ask.WorkflowContext; c != nil && slices.ContainsFunc(a.Workflows, func(w turn.Workflow) bool { return w.WorkflowID == c.Foreground }) {
		a.Foreground = c.Foreground // else it has ended meanwhile
	}
	return nil
}

// addTold adds the sessions of a workflow that has ended: its step is done when the telling begins.
func (s *Server) addTold(tx *store.Tx, w turn.Workflow, device string, a *turn.Around) error {
	if !slices.ContainsFunc(w.Plan.Requests, func(r wire.Request) bool { return r.Skill != "" }) {
		return nil
	}
	rows, err := tx.MessagesOf(device, w.WorkflowID, messagesCounted)
	for _, m := range rows {
		if env, err := wire.Decode(m.Payload, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Up}); err == nil {
			a.Sessions = sessionTold(a.Sessions, env, w.Plan)
		}
	}
	return err
}

func (s *Server) addOpen(tx *store.Tx, ask turnRequest, row store.Workflow, a *turn.Around) error {
	if c := ask.WorkflowContext; c != nil && c.Workflows != nil && !slices.Contains(*c.Workflows, row.ID) {
		return nil
	}
	w, err := s.workflowNow(tx, row)
	if err != nil || w.Plan.Workflow.Schedule != nil || len(w.Plan.Requests) == 0 {
		return err // a template is no work under way; it stands among the schedules
	}
	rows, err := tx.MessagesOf(row.DeviceID, row.ID, messagesCounted)
	if err != nil {
		return err
	}
	for _, m := range rows {
		env, err := wire.Decode(m.Payload, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Up})
		if err == nil { // else: quarantined when it came
			told(env, ms(s.opt.Now())-m.ReceivedAt, &w)
			a.Sessions = sessionTold(a.Sessions, env, w.Plan)
		}
	}
	s.monitors.tell(row.DeviceID, &w)
	a.Workflows = append(a.Workflows, w)
	questions, err := s.questionsOf(tx, row.DeviceID, row.ID)
	for _, q := range questions {
		if q.State != "open" || q.Answer != nil {
			continue
		}
		t := turn.Question{WorkflowID: row.ID, QuestionID: q.QuestionID, Text: q.Text, LeftMS: q.until - ms(s.opt.Now())}
		for _, o := range q.Options {
			t.Options = append(t.Options, turn.Option{ID: o.ID, Text: o.Text})
		}
		a.Questions = append(a.Questions, t)
	}
	return err
}

// workflowNow is what is known of a workflow by what went down to the device, and by its result.
func (s *Server) workflowNow(tx *store.Tx, row store.Workflow) (turn.Workflow, error) {
	w := turn.Workflow{WorkflowID: row.ID, PlanID: row.PlanID, Result: row.Status, AgeMS: ms(s.opt.Now()) - row.CreatedAt}
	rows, err := tx.DownOf(row.ID)
	if err != nil {
		return w, err
	}
	for _, d := range rows {
		env, err := wire.Decode(d.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
		if err != nil {
			return w, fmt.Errorf("cannot read stored message %s: %w", d.ID, err)
		}
		sentDown(d, env, &w)
	}
	if w.Plan.Workflow.Origin != nil {
		w.Utterance = w.Plan.Workflow.Origin.Utterance
	}
	if w.Plan.Experience != nil {
		w.GoalID = w.Plan.Experience.GoalID
	}
	if row.Status != "" {
		closedBy(row, ms(s.opt.Now()), &w)
	}
	t, err := tx.Turn(row.TurnID)
	var old struct {
		Decision struct {
			Owner turn.Family `json:"owner_selection"`
		} `json:"decision"`
	}
	if err == nil && json.Unmarshal(t.Answer, &old) == nil {
		w.Owner = old.Decision.Owner
	}
	if errors.Is(err, store.ErrNotFound) {
		err = nil // a raw plan
	}
	return w, err
}

// sentDown notes what a message to the device means for a workflow: its plan is that of the highest revision that was not refused.
func sentDown(d store.Down, env wire.Envelope, w *turn.Workflow) {
	plan := env.Plan
	if env.Decision != nil {
		plan = env.Decision.Plan
	}
	lives := d.State != store.Refused && d.State != store.Expired
	if plan != nil && lives && (len(w.Plan.Requests) == 0 || plan.Workflow.Revision >= w.Revision) {
		w.TakenOut = takenOut(append(w.TakenOut, w.Plan.Requests...), *plan)
		if env.Decision != nil {
			w.GivenUp = append(w.GivenUp, plan.Workflow.CancelSteps...)
		}
		w.Plan, w.Revision, w.Status = *plan, plan.Workflow.Revision, string(d.State)
	}
	if c := env.Control; c != nil && lives && c.Scope == "workflow" {
		holder := c.RequestedBy
		w.PausedBy = slices.DeleteFunc(w.PausedBy, func(by string) bool { return by == holder })
		if c.Verb == "pause" {
			w.PausedBy = append(w.PausedBy, holder)
		}
	}
}

// takenOut are the steps of earlier revisions that a plan does not name.
func takenOut(earlier []wire.Request, plan wire.Plan) []wire.Request {
	return slices.DeleteFunc(earlier, func(r wire.Request) bool {
		return slices.ContainsFunc(plan.Requests, func(have wire.Request) bool { return have.CloudStepID == r.CloudStepID })
	})
}

// allHeld says for whom everything on a device was paused from here and not let go since, and how long ago everything was cancelled.
func allHeld(tx *store.Tx, device string, now int64) (by []string, cancelled *int64, err error) {
	rows, err := tx.ControlsOf(device, controlsTold)
	for _, row := range slices.Backward(rows) {
		env, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read stored message %s: %w", row.ID, err)
		}
		c := env.Control
		if c.Scope != "all" || row.State == store.Refused || row.State == store.Expired {
			continue
		}
		by = slices.DeleteFunc(by, func(who string) bool { return who == c.RequestedBy })
		switch c.Verb {
		case "pause":
			by = append(by, c.RequestedBy)
		case "cancel":
			age := now - row.CreatedAt
			cancelled = &age
		}
	}
	return by, cancelled, err
}

// closedBy reads the result of a closed workflow.
func closedBy(row store.Workflow, now int64, w *turn.Workflow) {
	var r wire.Result
	if json.Unmarshal(row.Result, &r) != nil {
		return // it was written by us
	}
	w.ReasonCode, w.AgeMS = r.ReasonCode, now-row.ResultAt
	for _, step := range r.Steps {
		w.Steps = append(w.Steps, turn.StepNow{ID: step.CloudStepID, Method: methodOf(w.Plan, step.CloudStepID), State: step.State,
			ReasonCode: step.ReasonCode, Evidence: "result", AgeMS: w.AgeMS})
	}
}

// told notes what a message of the device proves about the steps of its workflow. A cloud step that is due has all that it waits for
// by success behind it; a question is asked by a step that is stuck.
func told(env wire.Envelope, age int64, w *turn.Workflow) {
	note := func(id, state, reason, by string) {
		w.Steps = slices.DeleteFunc(w.Steps, func(old turn.StepNow) bool { return old.ID == id })
		w.Steps = append(w.Steps, turn.StepNow{ID: id, Method: methodOf(w.Plan, id), State: state, ReasonCode: reason, Evidence: by, AgeMS: age})
	}
	switch {
	case env.StepDue != nil:
		for _, r := range w.Plan.Requests {
			if r.CloudStepID != env.StepDue.CloudStepID {
				continue
			}
			for _, d := range r.DependsOn {
				if proved(w.Plan, d) {
					note(d.Step, "completed", "", "step_due")
				}
			}
			note(r.CloudStepID, "running", "", "step_due")
		}
	case env.Escalation != nil:
		note(env.Corr.StepID, "blocked", env.Escalation.ReasonCode, "escalation")
	}
}

// proved says whether a dependency that is met proves that its step has completed.
func proved(plan wire.Plan, d wire.Dependency) bool {
	i := slices.IndexFunc(plan.Requests, func(r wire.Request) bool { return r.CloudStepID == d.Step })
	if i < 0 || d.On != "" && d.On != "success" {
		return false
	}
	r := plan.Requests[i]
	return (r.WaitPolicy == "" || r.WaitPolicy == "completed") && r.When == nil // one with a condition may have been skipped
}

func methodOf(plan wire.Plan, step string) string {
	for _, r := range plan.Requests {
		if r.CloudStepID == step {
			return r.TaskMethod
		}
	}
	return ""
}

// sessionTold follows the content sessions: due is starting, and its end takes it out.
func sessionTold(all []turn.Session, env wire.Envelope, plan wire.Plan) []turn.Session {
	if d := env.StepDue; d != nil && d.SessionID != "" {
		session := turn.Session{SessionID: d.SessionID, WorkflowID: env.Corr.WorkflowID, StepID: d.CloudStepID, Skill: d.Skill, State: "starting"}
		for _, r := range plan.Requests {
			if r.CloudStepID != d.CloudStepID {
				continue
			}
			if session.Kind, _ = r.Params["kind"].V.(string); session.Skill == "" {
				session.Skill = r.Skill
			}
		}
		return append(all, session)
	}
	c := env.Content
	if c == nil {
		return all
	}
	state := c.State
	if after, ok := map[string]string{"started": "active", "resumed": "active", "paused": "paused", "completed": "completed",
		"cancelled": "cancelled", "failed": "failed"}[c.Event]; ok {
		state = after
	}
	if slices.Contains([]string{"completed", "cancelled", "failed"}, state) {
		return slices.DeleteFunc(all, func(s turn.Session) bool { return s.SessionID == c.SessionID })
	}
	for i := range all {
		if all[i].SessionID == c.SessionID && state != "" {
			all[i].State = state
		}
	}
	return all
}
