package planner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// aftermath is what follows from a batch once it is on disk.
type aftermath struct {
	receipts []wire.Receipt // answers to hellos; Refs of the rest are in refs
	to       []storeOf      // of each
	refs     map[storeOf][]string
	touched  map[string]bool // device → all that is open is to be sent again
	events   []event
	open     []open // questions that were not answered at once
	due      bool   // a cloud step is to be carried out
}

func newAftermath() aftermath {
	return aftermath{refs: map[storeOf][]string{}, touched: map[string]bool{}}
}

func (a *aftermath) touch(device string, resend bool) {
	a.touched[device] = a.touched[device] || resend
}

// intake keeps a batch in one transaction, and only then acks, receipts and goes on. On an error nothing is acked: broker and
// device will bring it again.
func (s *Server) intake(ctx context.Context, batch []upMessage) error {
	var a aftermath
	err := s.opt.Store.Update(ctx, func(tx *store.Tx) error {
		a = newAftermath()
		for _, m := range batch {
			if err := s.take(tx, m, &a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot keep up messages: %w", err)
	}
	for _, m := range batch {
		s.link.ack(m)
	}
	for to, refs := range a.refs {
		s.receipts[to] = append(s.receipts[to], refs...)
	}
	for i, r := range a.receipts {
		s.sendReceipt(a.to[i], r)
	}
	return s.goOn(ctx, a)
}

// goOn tells of what has changed and sends what is due because of it.
func (s *Server) goOn(ctx context.Context, a aftermath) error {
	for _, e := range a.events {
		s.hub.publish(e)
	}
	for _, o := range a.open {
		if s.opt.Consult != nil {
			s.consult(o)
		}
	}
	if err := s.follow(ctx, a.touched); err != nil || !a.due {
		return err
	}
	return s.beginSteps(ctx)
}

func (s *Server) follow(ctx context.Context, touched map[string]bool) error {
	for _, device := range slices.Sorted(maps.Keys(touched)) {
		if err := s.refresh(ctx, device); err != nil {
			return err
		}
		if r := s.robots[device]; r != nil && touched[device] {
			r.forgetSends()
		}
		if err := s.pump(ctx, device); err != nil {
			return err
		}
	}
	return nil
}

// take keeps one message and applies it if it is new. A hello is answered each time it comes: the answer may have been lost.
func (s *Server) take(tx *store.Tx, m upMessage, a *aftermath) error {
	device, kind, ok := parseUp(m.topic)
	if !ok {
		s.opt.Log.Warn().Str(keyTopic, m.topic).Msg("message on a topic that no device has")
		return nil
	}
	if len(m.payload) == 0 {
		return nil // a retained status was cleared
	}
	env, err := s.read(m.payload)
	if err != nil {
		return s.quarantine(tx, device, kind, m, err, a)
	}
	if env.DeviceID != device || string(env.Type) != kind {
		return s.quarantine(tx, device, kind, m, &wire.DecodeError{ID: env.ID, Faults: []wire.Fault{{ReasonCode: "foreign",
			Path: "device_id", Message: fmt.Sprintf("device %s, type %s on topic %s", env.DeviceID, env.Type, m.topic)}}}, a)
	}
	if taken, what := s.monitors.take(env); taken {
		if what != "" {
			a.events = append(a.events, event{Kind: "monitor", ID: device, DeviceID: device, What: what})
		}
		return nil
	}
	workflow, err := s.workflowOf(tx, env)
	if err != nil {
		return err
	}
	kept := store.Message{
		DeviceID: device, ID: env.ID, Type: kind, WorkflowID: workflow, RefID: refOf(env), Epoch: env.StoreEpoch, Seq: env.Seq,
		ReceivedAt: ms(s.opt.Now()), Size: int64(len(m.payload)), Payload: m.payload,
	}
	if env.Type == wire.TypeStatus {
		if _, err := tx.AddMessage(kept); err != nil {
			return err
		}
		return s.takeStatus(tx, env, a)
	}
	to := storeOf{device, env.StoreEpoch}
	a.refs[to] = append(a.refs[to], env.ID)
	return s.takeInOrder(tx, env, kept, a)
}

// read is a message from a device.
func (s *Server) read(payload []byte) (wire.Envelope, error) {
	return wire.Decode(payload, wire.Options{AllowJSON: s.opt.AllowJSON, Limits: deviceLimits, Direction: wire.Up})
}

func (s *Server) apply(tx *store.Tx, env wire.Envelope, a *aftermath) error {
	switch env.Type {
	case wire.TypeAck:
		return s.applyAck(tx, env, a)
	case wire.TypeResult:
		return s.applyResult(tx, env, a)
	case wire.TypeEscalation:
		return s.applyEscalation(tx, env, a)
	case wire.TypeContent:
		return s.applyContent(tx, env, a)
	case wire.TypeQuestion:
		return s.applyQuestion(tx, env, a)
	case wire.TypeStepDue:
		return s.applyStepDue(tx, env, a)
	}
	a.events = append(a.events, event{Kind: "workflow", ID: env.Corr.WorkflowID, DeviceID: env.DeviceID, What: string(env.Type)})
	return nil
}

// sendAgain are the refusals that a device does not remember and that pass by themselves. mode_not_automatic is not among them:
// a robot must not start to move minutes later because somebody has finished his work on it.
var sendAgain = map[string]bool{"clock_untrusted": true, "not_synced": true, "storage_error": true}

// applyAck moves a submission. The first answer stands; acks are one per message, and a device repeats itself word for word.
func (s *Server) applyAck(tx *store.Tx, env wire.Envelope, a *aftermath) error {
	row, err := s.answered(tx, env)
	if errors.Is(err, store.ErrNotFound) {
		s.opt.Log.Warn().Str(keyDevice, env.DeviceID).Str(keyMessage, env.ID).Msg("ack of a message that this device was not sent")
		return nil
	}
	if err != nil {
		return err
	}
	if row.AnsweredAt != 0 {
		return nil
	}
	body, err := json.Marshal(env.Ack)
	if err != nil {
		return fmt.Errorf("cannot keep ack %s: %w", env.ID, err)
	}
	row.Ack, row.ReasonCode = body, env.Ack.ReasonCode
	if env.Ack.Accepted || !sendAgain[env.Ack.ReasonCode] {
		row.AnsweredAt = ms(s.opt.Now())
		row.State = map[bool]store.State{true: store.Accepted, false: store.Refused}[env.Ack.Accepted]
	}
	if err := errors.Join(tx.PutDown(row), s.endSchedule(tx, row)); err != nil {
		return err
	}
	a.touch(env.DeviceID, false)
	a.events = append(a.events, event{Kind: "workflow", ID: row.WorkflowID, DeviceID: env.DeviceID, What: row.Type + " " + string(row.State)})
	return nil
}

// applyResult closes a workflow; the first result stands. It may come before the ack: whoever reports on a plan has accepted it.
func (s *Server) applyResult(tx *store.Tx, env wire.Envelope, a *aftermath) error {
	if err := s.dropSteps(tx, env.DeviceID, env.Corr.WorkflowID); err != nil {
		return err
	}
	wf, err := tx.Workflow(env.Corr.WorkflowID)
	if errors.Is(err, store.ErrNotFound) || err == nil && wf.DeviceID != env.DeviceID {
		return nil // submitted on the device itself, or of another planner: the message is kept, there is nothing to close
	}
	if err != nil {
		return fmt.Errorf("cannot find workflow %s: %w", env.Corr.WorkflowID, err)
	}
	body, err := json.Marshal(env.Result)
	if err != nil {
		return fmt.Errorf("cannot keep result %s: %w", env.ID, err)
	}
	closed, err := tx.CloseWorkflow(wf.ID, env.Result.Status, body, ms(s.opt.Now()))
	if err != nil || !closed {
		return err
	}
	if err := errors.Join(settle(tx, wf.ID, env.Result.ReasonCode), tx.EndSchedule(wf.ID, ms(s.opt.Now()))); err != nil {
		return err
	}
	a.touch(env.DeviceID, false)
	a.events = append(a.events, event{Kind: "workflow", ID: wf.ID, DeviceID: env.DeviceID, What: "result " + env.Result.Status})
	what := "result " + env.Result.Status
	if g := env.Result.Experience; g != nil {
		what = "goal " + g.Status
	}
	return s.tellGoal(tx, wf.ID, env.DeviceID, what, a)
}

// settle ends the wait for acks of a closed workflow's plans. AnsweredAt stays 0, so that an explicit answer still counts.
func settle(tx *store.Tx, workflowID, reason string) error {
	rows, err := tx.DownOf(workflowID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		switch {
		case row.Type != string(wire.TypePlan) || row.AnsweredAt != 0 || row.FirstSentAt == 0 && !row.State.Open():
			continue
		case row.FirstSentAt == 0: // a revision that waited: nobody can have accepted it
			row.State, row.ReasonCode = store.Expired, "already_terminal"
		case reason == "store_lost": // nobody knows whether it had been accepted
			row.State, row.ReasonCode = store.Expired, reason
		default:
			row.State = store.Accepted
		}
		if err := tx.PutDown(row); err != nil {
			return err
		}
	}
	return nil
}

// quarantine keeps what cannot be read as bytes, and receipts it where its id can be read: else it would come back for ever.
func (s *Server) quarantine(tx *store.Tx, device, kind string, m upMessage, cause error, a *aftermath) error {
	var de *wire.DecodeError
	fault, id := "unreadable", ""
	if errors.As(cause, &de) {
		id = de.ID
		if text, err := json.Marshal(de.Faults); err == nil {
			fault = string(text[:min(len(text), 4096)])
		}
	}
	if id != "" {
		to := storeOf{device: device} // of which store cannot be read either
		a.refs[to] = append(a.refs[to], id)
		id = "unreadable:" + id // a good message with this id must still find its place free
	} else {
		sum := sha256.Sum256(m.payload)
		id = "sha256:" + hex.EncodeToString(sum[:])
	}
	log := s.opt.Log.Warn().Str(keyDevice, device).Str(keyMessage, id).Int(keyBytes, len(m.payload)).Err(cause)
	n, err := tx.CountUnreadable(device, s.dayAgo())
	if err != nil {
		return err
	}
	if n >= quarantineADay {
		log.Msg("unreadable message, counted only: enough were kept today")
		return tx.CountUnkept(device)
	}
	log.Msg("unreadable message")
	_, err = tx.AddMessage(store.Message{DeviceID: device, ID: id, Type: kind, ReceivedAt: ms(s.opt.Now()), Fault: fault,
		Size: int64(len(m.payload)), Payload: m.payload[:min(len(m.payload), quarantineCopy)]})
	return err
}

// workflowOf says which workflow a message is about. An ack without the id is about that of the message it answers.
func (s *Server) workflowOf(tx *store.Tx, env wire.Envelope) (string, error) {
	if env.Corr.WorkflowID != "" || env.Ack == nil {
		return env.Corr.WorkflowID, nil
	}
	row, err := s.answered(tx, env)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return row.WorkflowID, err
}

func refOf(env wire.Envelope) string {
	if env.Ack != nil {
		return env.Ack.RefID
	}
	if env.Content != nil {
		return env.Content.RefID
	}
	return ""
}
