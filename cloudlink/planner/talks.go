package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// pausePatience is how long a session that waits for its listener may be paused: longer than a robot keeps a silent one.
const pausePatience = 15 * time.Minute

// A session that an agent has opened is steered by what the robot says of it: its own voice, its listener, and who stops it.

// steerTalk takes what a device says of a session that is told from here. Sessions of others go their own way.
func (s *Server) steerTalk(tx *store.Tx, env wire.Envelope) error {
	c := env.Content
	if s.opt.Agents == nil {
		return nil
	}
	row, err := tx.CloudStep(env.DeviceID, c.SessionID)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.State != stepTelling {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot find cloud step %s: %w", c.SessionID, err)
	}
	if c.RefID != "" {
		if c.Accepted != nil && !*c.Accepted { // it has ended there, or takes no more: nothing that follows would be heard
			return s.endTalk(tx, row, stepDropped, c.ReasonCode)
		}
		return nil
	}
	return s.talkOn(tx, row, agents.Event{What: c.Event, Text: c.Text, Position: c.Position})
}

// talkOn lets the agent answer an event.
func (s *Server) talkOn(tx *store.Tx, row store.CloudStep, ev agents.Event) error {
	var talk agents.Talk
	if err := json.Unmarshal(row.Talk, &talk); err != nil {
		return fmt.Errorf("cannot read talk of step %s: %w", row.StepID, err)
	}
	switch ev.What {
	case "paused": // who talks over it is not waited for; but a robot that never says that it goes on is not there any more
		if talk.Wait > 0 {
			row.WakeAt = ms(s.opt.Now().Add(pausePatience))
		}
		return tx.PutCloudStep(row)
	case "resumed":
		if talk.Wait > 0 {
			row.WakeAt = ms(s.opt.Now()) + talk.Wait
		}
		return tx.PutCloudStep(row)
	}
	memory, err := memoryOf(tx, row.DeviceID)
	if err != nil {
		return err
	}
	words, next, memory, over := s.opt.Agents.Next(talk, memory, s.opt.Now(), ev)
	if err := s.remember(tx, row.DeviceID, memory); err != nil {
		return err
	}
	switch {
	case over && ev.What == "completed" && talk.Reason != "": // it was heard why not
		return s.answerStep(tx, row, talk.Reason, nil)
	case over:
		return s.endTalk(tx, row, stepAnswered, reasonOfEnd(ev.What))
	case len(words) == 0:
		return nil
	}
	return s.tellOn(tx, row, next, words, time.Time{}, false)
}

// reasonOfEnd is how a session ended, where it was not completed.
func reasonOfEnd(event string) string {
	if event == "completed" {
		return ""
	}
	return event
}

func (s *Server) endTalk(tx *store.Tx, row store.CloudStep, state, reason string) error {
	row.State, row.ReasonCode, row.EndedAt, row.WakeAt = state, reason, ms(s.opt.Now()), 0
	return tx.PutCloudStep(row)
}

// wakeTalks goes on where nobody has answered for long.
func (s *Server) wakeTalks(ctx context.Context) error {
	if s.opt.Agents == nil {
		return nil
	}
	var rows []store.CloudStep
	now := ms(s.opt.Now())
	err := s.opt.Store.View(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.CloudStepsAwake(now, stepsWaiting)
		return err
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	touched := map[string]bool{}
	err = s.opt.Store.Update(ctx, func(tx *store.Tx) error {
		for _, row := range rows {
			touched[row.DeviceID] = false
			if err := s.talkOn(tx, row, agents.Event{What: agents.Waited}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot go on with sessions: %w", err)
	}
	return s.follow(ctx, touched)
}

// dropSteps ends what is still to be looked up for a workflow that has ended. What is being told goes on until its session ends.
func (s *Server) dropSteps(tx *store.Tx, device, workflow string) error {
	rows, err := tx.CloudStepsOf(device, workflow)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.State == stepDue {
			if err := s.endTalk(tx, row, stepDropped, "already_terminal"); err != nil {
				return err
			}
		}
	}
	return nil
}

// heardBySession finds the session that waits for what was said: the latest one that is told from here. It answers by the robot's voice, so
// the turn itself says nothing.
func (s *Server) heardBySession(ctx context.Context, in turn.Input, a *turnAnswer) (bool, error) {
	if s.opt.Agents == nil || in.Around.Voice.Withheld() != "" {
		return false, nil
	}
	var rows []store.CloudStep
	err := s.opt.Store.View(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.SessionsOf(in.DeviceID, 1)
		return err
	})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	var talk agents.Talk
	if err := json.Unmarshal(rows[0].Talk, &talk); err != nil {
		return false, fmt.Errorf("cannot read talk of step %s: %w", rows[0].StepID, err)
	}
	if !s.opt.Agents.Hears(talk, in.Text, a.Decision) {
		return false, nil
	}
	d := &a.Decision
	d.SelectedRoutes, d.OwnerSelection, d.SelectedAgent, d.SelectedSkill = []turn.Family{turn.STM}, turn.STM, string(turn.STM), agents.SkillContent
	d.SelectedFlowID, d.TurnMode = "STM.STM."+agents.SkillContent, "multi_turn"
	d.AskFollowUp, d.NeedsSecondPass, d.MissingSlots, d.TTSResponse, d.STTNullSubtype = false, false, nil, "", ""
	d.Asks, d.AmbiguityReason = nil, "" // nobody says that question aloud, so the next yes must not answer it
	d.Evidence = append(d.Evidence, turn.Evidence{Kind: "session", ID: rows[0].SessionID, Span: in.Text})
	a.TTSResponse, a.SessionID = "", rows[0].SessionID
	return true, nil
}

// answerSession hands what was said to the session, unless that has ended since.
func (s *Server) answerSession(tx *store.Tx, device string, a turnAnswer) error {
	row, err := tx.CloudStep(device, a.SessionID)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.State != stepTelling {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot find cloud step %s: %w", a.SessionID, err)
	}
	return s.talkOn(tx, row, agents.Event{What: "user_response", Text: a.RecognizedText})
}
