package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// Questions that the table leaves open are put to whoever may be slow, such as a model. They are on disk and receipted by then, so
// nobody waits for the answer but the device, which takes its default at its own deadline.

const (
	consultants = 4  // questions that are thought about at once
	consultWait = 64 // that wait beside them; more are left to their defaults
)

// plain are the actions that need no plan with them, in the order in which they are offered.
var plain = []string{"retry_local", "return_to_station", "cancel"}

// Choices are the actions of a question that can be answered without a plan.
func (q Asked) Choices() (out []string) {
	for _, a := range plain {
		if slices.Contains(q.AllowedActions, a) {
			out = append(out, a)
		}
	}
	return out
}

// DecideWhereClear answers as DecideByPolicy does, and leaves open what only the last line of the table would answer while there is
// something to choose: for Consult.
func DecideWhereClear(q Asked) (wire.Decision, bool) {
	d, ok := DecideByPolicy(q)
	if ok && q.Recoverable && len(q.Choices()) > 1 && d.Action == policy[len(policy)-1].action {
		return wire.Decision{}, false
	}
	return d, ok
}

// open is a question that nobody has answered yet.
type open struct {
	env wire.Envelope
	ask Asked
}

// consult hands a question over. The owner never waits for it.
func (s *Server) consult(o open) {
	select {
	case s.open <- o:
	default:
		s.opt.Log.Warn().Str(keyDevice, o.env.DeviceID).Str(keyMessage, o.env.ID).Msg("too many questions at once, the device takes its default")
	}
}

// consulting thinks about one question after the other until ctx ends.
func (s *Server) consulting(ctx context.Context) {
	for {
		select {
		case o := <-s.open:
			if err := s.answerOpen(ctx, o); err != nil && ctx.Err() == nil && !errors.Is(err, errStopping) {
				s.opt.Log.Warn().Str(keyDevice, o.env.DeviceID).Str(keyMessage, o.env.ID).Err(err).Msg("question not answered, the device takes its default")
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) answerOpen(ctx context.Context, o open) error {
	thinking, cancel := context.WithTimeout(ctx, time.Duration(o.ask.DeadlineMS)*time.Millisecond)
	defer cancel()
	answer, ok := s.opt.Consult(thinking, o.ask)
	if !ok {
		return nil
	}
	if !slices.Contains(o.ask.Choices(), answer.Action) || answer.Plan != nil {
		return fmt.Errorf("cannot send decision %q: it was not offered", answer.Action)
	}
	a := newAftermath() // the device is looked at after each change anyway
	err := s.change(ctx, o.env.DeviceID, func(tx *store.Tx) error {
		still, err := s.stillOpen(tx, o)
		if err != nil || !still {
			return err
		}
		return s.queueDecision(tx, o.env, answer, &a)
	})
	if err == nil {
		for _, e := range a.events {
			s.hub.publish(e)
		}
	}
	return err
}

// stillOpen says whether an answer is still of use: while it was thought about, the workflow may have ended or its deadline passed.
func (s *Server) stillOpen(tx *store.Tx, o open) (bool, error) {
	wf, err := tx.Workflow(o.ask.WorkflowID)
	if err != nil {
		return false, fmt.Errorf("cannot find workflow %s: %w", o.ask.WorkflowID, err)
	}
	return wf.Status == "" && !s.late(o.env), nil
}
