package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// envelope makes a message to a device. Its epoch is filled in when it is sent.
func (s *Server) envelope(device string, t wire.Type) wire.Envelope {
	return wire.Envelope{V: wire.Version, Type: t, ID: s.opt.NewID(), DeviceID: device, SentAt: stamp(s.opt.Now())}
}

// planEnvelope makes the message of a plan, with its time to live made explicit: words that a person said must not move a robot
// hours later. What is kept for set times has its own.
func (s *Server) planEnvelope(device string, plan wire.Plan) wire.Envelope {
	w := &plan.Workflow
	if w.Origin != nil && w.Origin.TurnID != "" && w.TTLMS == 0 && w.ExpiresAt == "" && w.Schedule == nil {
		w.TTLMS = defaultTTL.Milliseconds()
	}
	env := s.envelope(device, wire.TypePlan)
	env.Plan = &plan
	env.Corr = wire.Corr{WorkflowID: w.CloudWorkflowID, PlanID: w.PlanID}
	if w.Origin != nil {
		env.Corr.TurnID = w.Origin.TurnID
	}
	return env
}

// expiryOf is the moment (ms) after which a device refuses a plan; 0: never.
func expiryOf(w wire.Workflow, sent time.Time) int64 {
	var at int64
	if w.TTLMS > 0 {
		at = ms(sent) + w.TTLMS
	}
	if t, err := time.Parse(time.RFC3339, w.ExpiresAt); err == nil && (at == 0 || ms(t) < at) {
		at = ms(t)
	}
	return at
}

// queue keeps a message to a device: numbered, and unsent.
func (s *Server) queue(tx *store.Tx, env wire.Envelope, expires int64) error {
	n, err := tx.CountOpenDown(env.DeviceID)
	if err != nil {
		return fmt.Errorf("cannot count open messages: %w", err)
	}
	if n >= openPerDevice {
		return &problem{Status: http.StatusTooManyRequests, Code: "queue_full", Title: "too much waits for this device already",
			Detail: fmt.Sprintf("%d messages are unanswered", n), Hint: "wait until the device is online again"}
	}
	if env.Seq, err = tx.NextSeq(env.DeviceID, ms(s.opt.Now())); err != nil {
		return err
	}
	data, err := wire.Encode(env, wire.JSON)
	if err == nil { // what cannot be read back could never be sent, and would wait for ever
		_, err = wire.Decode(data, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
	}
	if err != nil {
		return &problem{Status: http.StatusUnprocessableEntity, Code: "not_encodable", Title: "this cannot be sent", Detail: err.Error()}
	}
	row := store.Down{ID: env.ID, DeviceID: env.DeviceID, Seq: env.Seq, Type: string(env.Type), WorkflowID: env.Corr.WorkflowID,
		State: store.Queued, CreatedAt: ms(s.opt.Now()), ExpiresAt: expires, Envelope: data}
	if env.Plan != nil {
		row.Revision = env.Plan.Workflow.Revision
	}
	if env.Decision != nil && env.Decision.Plan != nil {
		row.Revision = env.Decision.Plan.Workflow.Revision
	}
	return tx.AddDown(row)
}

// queuePlan keeps a plan and its workflow.
func (s *Server) queuePlan(tx *store.Tx, env wire.Envelope) error {
	w := env.Plan.Workflow
	known, err := tx.Workflow(w.CloudWorkflowID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = tx.AddWorkflow(store.Workflow{ID: w.CloudWorkflowID, DeviceID: env.DeviceID, PlanID: w.PlanID, TurnID: env.Corr.TurnID,
			CreatedAt: ms(s.opt.Now())})
	case err == nil && known.DeviceID != env.DeviceID:
		err = &problem{Status: http.StatusConflict, Code: "workflow_of_other_device", Title: "another device has this workflow",
			Detail: w.CloudWorkflowID}
	}
	if err != nil {
		return err
	}
	if w.Schedule != nil {
		if err := tx.AddSchedule(store.Schedule{WorkflowID: w.CloudWorkflowID, DeviceID: env.DeviceID, CreatedAt: ms(s.opt.Now()),
			OverAt: overAt(*w.Schedule)}); err != nil {
			return err
		}
	}
	if x := env.Plan.Experience; x != nil {
		if err := tx.AddExperience(store.Experience{ID: x.ExperienceID, WorkflowID: w.CloudWorkflowID, CreatedAt: ms(s.opt.Now())}); err != nil {
			return err
		}
	}
	return s.queue(tx, env, expiryOf(w, s.opt.Now()))
}

// repeatOf finds the message that already carried this plan, or says why the plan cannot follow on what is known: a revision may also have
// gone down with the answer to a question. It spares a round trip; the device judges again.
func repeatOf(tx *store.Tx, env wire.Envelope) (*store.Down, error) {
	w := env.Plan.Workflow
	wf, err := tx.Workflow(w.CloudWorkflowID)
	if errors.Is(err, store.ErrNotFound) || err == nil && wf.DeviceID != env.DeviceID {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find workflow %s: %w", w.CloudWorkflowID, err)
	}
	rows, err := tx.DownOf(w.CloudWorkflowID)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		replans := row.Type == string(wire.TypeDecision) && row.Revision > 0
		if row.Type != string(wire.TypePlan) && !replans || row.State == store.Refused || replans && row.State == store.Expired {
			continue
		}
		if row.Revision == w.Revision {
			return sameContent(row, env)
		}
		if row.Revision > w.Revision {
			return nil, &problem{Status: http.StatusConflict, Code: "outdated_revision", Title: "a higher revision was submitted",
				Detail: fmt.Sprintf("revision %d", row.Revision)}
		}
	}
	if wf.Status != "" {
		return nil, &problem{Status: http.StatusConflict, Code: "already_terminal", Title: "the device has closed this workflow",
			Detail: wf.Status}
	}
	return nil, nil
}

func sameContent(row store.Down, env wire.Envelope) (*store.Down, error) {
	old, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
	if err != nil {
		return nil, fmt.Errorf("cannot read stored plan: %w", err)
	}
	a, errA := wire.ContentHash(old)
	b, errB := wire.ContentHash(env)
	if err := errors.Join(errA, errB); err != nil {
		return nil, fmt.Errorf("cannot compare plans: %w", err)
	}
	if a != b {
		return nil, &problem{Status: http.StatusConflict, Code: "same_revision_other_content",
			Title: "this revision was submitted with other content", Hint: "raise revision"}
	}
	return &row, nil
}

// rawPlan is the body of a plan as somebody wrote it.
func (s *Server) rawPlan(device string, body []byte) (wire.Plan, error) {
	if !json.Valid(body) { // also: it cannot close the frame below and go on in it
		return wire.Plan{}, &problem{Status: http.StatusBadRequest, Code: "malformed", Title: "the body is not JSON"}
	}
	frame, err := json.Marshal(map[string]any{"v": wire.Version, "type": wire.TypePlan, "id": s.opt.NewID(), "device_id": device,
		"sent_at": stamp(s.opt.Now()), "seq": 1, "body": json.RawMessage(body)})
	if err != nil {
		return wire.Plan{}, fmt.Errorf("cannot frame plan: %w", err)
	}
	env, err := wire.Decode(frame, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
	var de *wire.DecodeError
	switch {
	case errors.As(err, &de):
		return wire.Plan{}, refusedPlan(de.Faults)
	case err != nil:
		return wire.Plan{}, fmt.Errorf("cannot read plan: %w", err)
	case env.Plan == nil:
		return wire.Plan{}, &problem{Status: http.StatusBadRequest, Code: "malformed", Title: "the body is not a plan"}
	}
	return *env.Plan, nil
}

func refusedPlan(faults []wire.Fault) *problem {
	return &problem{Status: http.StatusUnprocessableEntity, Code: "plan_refused", Title: "the plan has faults", Faults: faults,
		Detail: fmt.Sprintf("%d faults", len(faults)), Hint: "with ?check=false the device judges a well-formed plan instead"}
}

func (s *Server) check(plan wire.Plan, rooms []wire.Room) []wire.Fault {
	if s.opt.Check == nil {
		return nil
	}
	return s.opt.Check(plan, rooms)
}
