package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// A cloud step that is due is kept with the message that says so, and carried out when that is on disk: outside the owner's goroutine, for
// it may have to look something up. What comes of it is written together with the messages that tell it, once: a repeat, a restart before
// that and a second planner find the step answered, or do the looking up again, which nobody hears.

// Agents carry out cloud steps. *agents.Agents is one; see there for what it promises.
type Agents interface {
	Do(ctx context.Context, t agents.Task) agents.Outcome
	Next(t agents.Talk, m agents.Memory, now time.Time, ev agents.Event) (words []agents.Words, next agents.Talk, memory agents.Memory, over bool)
	Hears(t agents.Talk, said string, d turn.Decision) bool
	Answer(ctx context.Context, in turn.Input, d turn.Decision) (said string, did []agents.Did, ok bool)
}

// Bounds of carrying out.
const (
	stepsAtOnce  = 8  // that are carried out at the same time
	stepsWaiting = 64 // that wait beside them in memory; more wait on the disk
	stepDeadline = 20 * time.Second
	stepsLook    = 30 * time.Second
	stepLate     = 5 * time.Second   // a step that was due before that was told from the outbox of a device that had been away
	lateWait     = 3 * time.Second   // in which its end comes behind it, if it has ended
	stepPatience = 300 * time.Second // how long a device waits where its plan is not known. Source: docs/contract.md, timeout_ms
)

// What has become of a cloud step here.
const (
	stepDue      = "due"      // it is being carried out, or will be
	stepTelling  = "telling"  // its words are on their way, and the session goes on
	stepAnswered = "answered" // all that there is to say about it was sent
	stepFailed   = "failed"   // that it could not be done was sent
	stepDropped  = "dropped"  // nobody waits for it any more
)

// stepKey names a step in memory.
type stepKey struct{ device, task string }

// applyStepDue keeps a step that is due. Without agents it stays pending, and the device's own time-out ends it.
func (s *Server) applyStepDue(tx *store.Tx, env wire.Envelope, a *aftermath) error {
	a.events = append(a.events, event{Kind: "workflow", ID: env.Corr.WorkflowID, DeviceID: env.DeviceID, What: string(env.Type)})
	if s.opt.Agents == nil {
		return nil
	}
	d := env.StepDue
	inputs, err := json.Marshal(d.Inputs.Map())
	if err != nil {
		return fmt.Errorf("cannot keep inputs of step %s: %w", d.CloudStepID, err)
	}
	now := ms(s.opt.Now())
	row := store.CloudStep{DeviceID: env.DeviceID, TaskID: d.TaskID, WorkflowID: env.Corr.WorkflowID, StepID: d.CloudStepID, Skill: d.Skill,
		SessionID: d.SessionID, Inputs: inputs, State: stepDue, DueAt: now}
	if err := s.plannedStep(tx, &row); err != nil {
		return err
	}
	if row.State == stepDropped {
		row.EndedAt = now
	}
	fresh, err := tx.AddCloudStep(row)
	a.due, s.stepsOpen = a.due || fresh, s.stepsOpen || fresh
	if sent, bad := time.Parse(time.RFC3339, env.SentAt); fresh && (bad != nil || s.opt.Now().Sub(sent) > stepLate) {
		s.held[stepKey{row.DeviceID, row.TaskID}] = s.opt.Now().Add(s.opt.paced(lateWait))
	}
	return err
}

// plannedStep adds what the plan says of a step: in which language, and for how long the device waits. What a schedule has begun has the
// plan of its template; a plan of others is not known here, and its step is carried out all the same.
func (s *Server) plannedStep(tx *store.Tx, row *store.CloudStep) error {
	row.EndsAt = row.DueAt + stepPatience.Milliseconds()
	template, _, _ := strings.Cut(row.WorkflowID, "@")
	wf, err := tx.Workflow(template)
	if errors.Is(err, store.ErrNotFound) || err == nil && wf.DeviceID != row.DeviceID {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot find workflow %s: %w", template, err)
	}
	if wf.Status != "" && template == row.WorkflowID {
		row.State, row.ReasonCode = stepDropped, "already_terminal"
	}
	rows, err := tx.DownOf(template)
	if err != nil {
		return err
	}
	for _, sent := range rows {
		if sent.Type != string(wire.TypePlan) || sent.State == store.Refused {
			continue
		}
		env, err := wire.Decode(sent.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
		if err != nil {
			return fmt.Errorf("cannot read stored plan %s: %w", sent.ID, err)
		}
		if o := env.Plan.Workflow.Origin; o != nil {
			row.Locale = agents.LocaleOf(o.Utterance, o.Locale)
		}
		for _, r := range env.Plan.Requests {
			if r.CloudStepID == row.StepID && r.TimeoutMS > 0 {
				row.EndsAt = row.DueAt + r.TimeoutMS
			}
		}
	}
	return nil
}

// lookAfterSteps begins what is due and goes on with what is told. Where nothing is open the disk is left alone; only now and then it is asked
// whether another planner on the same store has left something.
func (s *Server) lookAfterSteps(ctx context.Context) error {
	now := s.opt.Now()
	if s.opt.Agents == nil || !s.stepsOpen && now.Sub(s.stepsSeen) < stepsLook {
		return nil
	}
	if err := s.beginSteps(ctx); err != nil {
		return err
	}
	if err := s.wakeTalks(ctx); err != nil {
		return err
	}
	s.stepsSeen = now
	return s.opt.Store.View(ctx, func(tx *store.Tx) (err error) {
		s.stepsOpen, err = tx.CloudStepsOpen()
		return err
	})
}

// beginSteps hands over what is due and not yet under way. The owner never waits for it: what finds no place is looked at again later.
func (s *Server) beginSteps(ctx context.Context) error {
	if s.opt.Agents == nil {
		return nil
	}
	var rows []store.CloudStep
	err := s.opt.Store.View(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.CloudStepsDue(stepsWaiting)
		return err
	})
	if err != nil {
		return err
	}
	now := s.opt.Now()
	maps.DeleteFunc(s.held, func(_ stepKey, until time.Time) bool { return !now.Before(until) })
	for _, row := range rows {
		key := stepKey{row.DeviceID, row.TaskID}
		if s.doing[key] || !s.held[key].IsZero() {
			continue
		}
		select {
		case s.due <- row:
			s.doing[key] = true
		default:
			return nil
		}
	}
	return nil
}

// carrying carries out one step after the other until ctx ends.
func (s *Server) carrying(ctx context.Context) {
	for {
		select {
		case row := <-s.due:
			if err := s.carryOutStep(ctx, row); err != nil && ctx.Err() == nil && !errors.Is(err, errStopping) {
				s.opt.Log.Warn().Str(keyDevice, row.DeviceID).Str(keyStep, row.StepID).Err(err).Msg("cloud step not carried out, will try again")
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) carryOutStep(ctx context.Context, row store.CloudStep) error {
	out, err := s.outcomeOf(ctx, row)
	if ctx.Err() != nil {
		return nil // it is still due, and the next run begins it anew
	}
	return s.change(ctx, row.DeviceID, func(tx *store.Tx) error {
		delete(s.doing, stepKey{row.DeviceID, row.TaskID}) // the owner runs this
		if err != nil {                                    // trying again would not help
			s.opt.Log.Error().Str(keyDevice, row.DeviceID).Str(keyStep, row.StepID).Err(err).Msg("cloud step cannot be read")
			return s.endTalk(tx, row, stepFailed, "unreadable")
		}
		return s.finishStep(tx, row, out)
	})
}

// outcomeOf asks the agents. A step for which it has become too late is not looked up any more.
func (s *Server) outcomeOf(ctx context.Context, row store.CloudStep) (agents.Outcome, error) {
	now := s.opt.Now()
	if row.EndsAt != 0 && ms(now) >= row.EndsAt {
		return agents.Outcome{Reason: agents.ReasonLate}, nil
	}
	t := agents.Task{Skill: row.Skill, Locale: row.Locale, Now: now.In(s.opt.Home), Tells: row.SessionID != ""}
	if err := json.Unmarshal(row.Inputs, &t.Inputs); err != nil {
		return agents.Outcome{}, fmt.Errorf("cannot read inputs of step %s: %w", row.StepID, err)
	}
	err := s.opt.Store.View(ctx, func(tx *store.Tx) (err error) {
		if t.Memory, err = memoryOf(tx, row.DeviceID); err != nil {
			return err
		}
		t.Likes, err = likesOf(tx, row.DeviceID)
		return err
	})
	if err != nil {
		return agents.Outcome{}, err
	}
	doing, cancel := context.WithTimeout(ctx, stepDeadline)
	defer cancel()
	return s.opt.Agents.Do(doing, t), nil
}

func memoryOf(tx *store.Tx, device string) (m agents.Memory, err error) {
	kept, err := tx.AgentMemory(device)
	if err != nil || kept == nil {
		return m, err
	}
	if err := json.Unmarshal(kept, &m); err != nil {
		return m, fmt.Errorf("cannot read agent memory of device %s: %w", device, err)
	}
	return m, nil
}

// likesOf are the preferences that people of a home have agreed to have kept, the latest first.
func likesOf(tx *store.Tx, device string) (out []string, err error) {
	memos, err := memosOf(tx, device)
	for _, m := range memos {
		if m.Kind == turn.MemoPreference {
			out = append([]string{m.Text}, out...)
		}
	}
	return out, err
}

func (s *Server) remember(tx *store.Tx, device string, m agents.Memory) error {
	kept, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("cannot keep agent memory of device %s: %w", device, err)
	}
	return tx.PutAgentMemory(device, kept)
}

// finishStep writes what came of a step with the messages that tell it. While it was carried out, its workflow may have ended.
func (s *Server) finishStep(tx *store.Tx, row store.CloudStep, out agents.Outcome) error {
	row, err := tx.CloudStep(row.DeviceID, row.TaskID)
	if err != nil || row.State != stepDue {
		return err
	}
	wf, err := tx.Workflow(row.WorkflowID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("cannot find workflow %s: %w", row.WorkflowID, err)
	}
	now := ms(s.opt.Now())
	if wf.Status != "" || row.EndsAt != 0 && now >= row.EndsAt {
		row.State, row.ReasonCode, row.EndedAt = stepDropped, "nobody_waits", now
		return tx.PutCloudStep(row)
	}
	if row.SessionID == "" {
		return s.answerStep(tx, row, out.Reason, out.Output)
	}
	talk := agents.Talk{Kind: agents.KindTold, Reason: out.Reason, Ended: true}
	if out.Talk != nil {
		talk = *out.Talk
	}
	if out.Memory != nil {
		if err := s.remember(tx, row.DeviceID, *out.Memory); err != nil {
			return err
		}
	}
	looked := out.RetrievedAt
	if out.Reason != "" {
		looked = time.Time{}
	}
	row.State = stepTelling
	return s.tellOn(tx, row, talk, out.Words, looked, true)
}

// answerStep sends the outcome of a step. It is sent until the device has answered it: the device's own time-out ends the step if that is
// too late.
func (s *Server) answerStep(tx *store.Tx, row store.CloudStep, reason string, output map[string]any) error {
	row.State, row.ReasonCode, row.EndedAt, row.WakeAt = stepAnswered, reason, ms(s.opt.Now()), 0
	env := s.stepEnvelope(row, wire.TypeStepResult)
	env.StepResult = &wire.StepResult{CloudStepID: row.StepID, TaskID: row.TaskID, Status: "completed", Output: wire.ObjectOf(output)}
	if reason != "" {
		row.State = stepFailed
		env.StepResult.Status, env.StepResult.ReasonCode, env.StepResult.Output = "failed", reason, nil
	}
	if unsent, err := s.queueStep(tx, env, 0); err != nil || unsent != "" {
		row.State, row.ReasonCode = stepFailed, unsent
		return errors.Join(err, tx.PutCloudStep(row))
	}
	return tx.PutCloudStep(row)
}

// queueStep queues a message about a step. What cannot be sent, and says so, is the end of the step and not of the server, which takes in what
// devices say while it answers it.
func (s *Server) queueStep(tx *store.Tx, env wire.Envelope, expires int64) (unsent string, err error) {
	err = s.queue(tx, env, expires)
	if p, ok := errors.AsType[*problem](err); ok {
		s.opt.Log.Warn().Str(keyDevice, env.DeviceID).Str(keyStep, env.Corr.StepID).Err(err).Msg("answer to a cloud step cannot be sent")
		return p.Code, nil
	}
	return "", err
}

// stepEnvelope is a message about a step. It names no workflow: what a schedule has begun has none of its own here.
func (s *Server) stepEnvelope(row store.CloudStep, t wire.Type) wire.Envelope {
	env := s.envelope(row.DeviceID, t)
	env.Corr = wire.Corr{StepID: row.StepID, TaskID: row.TaskID}
	return env
}

// tellOn sends the next words of a session and keeps how far it is. Words that are not sent in their time are dropped: much later they are
// worse than none.
func (s *Server) tellOn(tx *store.Tx, row store.CloudStep, talk agents.Talk, words []agents.Words, looked time.Time, first bool) error {
	kept, err := json.Marshal(talk)
	if err != nil {
		return fmt.Errorf("cannot keep talk of step %s: %w", row.StepID, err)
	}
	now := s.opt.Now()
	row.Talk, row.WakeAt = kept, 0
	if talk.Wait > 0 {
		row.WakeAt = ms(now) + talk.Wait
	}
	for i, w := range words {
		env := s.stepEnvelope(row, wire.TypeContent)
		env.Content = &wire.Content{SessionID: row.SessionID, Verb: verbOf(w, first && i == 0), Text: w.Text, SpeechAct: w.Act}
		if w.Last || !looked.IsZero() {
			env.Content.Payload = &wire.ContentPayload{Last: w.Last}
		}
		if !looked.IsZero() {
			env.Content.Payload.RetrievedAt = stamp(looked)
		}
		if unsent, err := s.queueStep(tx, env, ms(now.Add(defaultTTL))); err != nil || unsent != "" {
			return errors.Join(err, s.endTalk(tx, row, stepFailed, unsent))
		}
	}
	return tx.PutCloudStep(row)
}

func verbOf(w agents.Words, first bool) string {
	switch {
	case w.Verb != "":
		return w.Verb
	case first:
		return "start"
	}
	return "say"
}
