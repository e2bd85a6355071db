package planner

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// cancelRequest says why. RequestedBy is shown on the device.
type cancelRequest struct {
	Reason      string `json:"reason"`
	RequestedBy string `json:"requested_by"` // default: operator
}

type cancelAnswer struct {
	WorkflowID string `json:"workflow_id"`
	ControlID  string `json:"control_id,omitempty"`
	State      string `json:"state"` // requested: the device will answer; withdrawn: the plan had never been sent
}

const maxReason = 1024 // bytes

func (s *Server) postCancel(req *http.Request) (int, any, error) {
	return s.wish(req, "cancel", s.cancel)
}

// wish hands a person's wish about a workflow on to its device: verb names it, send writes it down in one transaction.
func (s *Server) wish(req *http.Request, verb string, send func(tx *store.Tx, device string, ask cancelRequest, out *cancelAnswer) error) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	ask := cancelRequest{RequestedBy: "operator"}
	if err := readBody(req, controlBytes, &ask); err != nil {
		return 0, nil, err
	}
	if len(ask.Reason) > maxReason || len(ask.RequestedBy) > maxReason {
		return 0, nil, &problem{Status: http.StatusUnprocessableEntity, Code: "bad_" + verb, Title: "the reason is too long"}
	}
	device, err := s.deviceOf(req, id)
	if err != nil {
		return 0, nil, err
	}
	out := cancelAnswer{WorkflowID: id, State: "requested"}
	if err := s.change(req.Context(), device, func(tx *store.Tx) error { return send(tx, device, ask, &out) }); err != nil {
		return 0, nil, err
	}
	s.hub.publish(event{Kind: "workflow", ID: id, DeviceID: device, What: verb + " " + out.State})
	return http.StatusAccepted, out, nil
}

func (s *Server) deviceOf(req *http.Request, workflow string) (device string, err error) {
	err = s.opt.Store.View(req.Context(), func(tx *store.Tx) error {
		w, err := tx.Workflow(workflow)
		device = w.DeviceID
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return "", notFound("workflow", workflow)
	}
	return device, err
}

// cancel withdraws what was surely never sent, and asks the device to stop the rest: a plan and then its cancel would move the
// robot for a moment. One unanswered cancel is enough.
func (s *Server) cancel(tx *store.Tx, device string, ask cancelRequest, out *cancelAnswer) error {
	env := s.envelope(device, wire.TypeControl)
	env.Control = &wire.Control{Verb: "cancel", Scope: "workflow", Target: out.WorkflowID, RequestedBy: ask.RequestedBy, Reason: ask.Reason}
	return s.cancelWith(tx, env, out)
}

// cancelWith does so by a message that is there already.
func (s *Server) cancelWith(tx *store.Tx, env wire.Envelope, out *cancelAnswer) error {
	w, err := tx.Workflow(out.WorkflowID)
	if err != nil {
		return fmt.Errorf("cannot find workflow %s: %w", out.WorkflowID, err)
	}
	if w.Status != "" {
		return &problem{Status: http.StatusConflict, Code: "already_terminal", Title: "the device has closed this workflow", Detail: w.Status}
	}
	rows, err := tx.DownOf(w.ID)
	if err != nil {
		return err
	}
	if id, ok := cancelAmong(rows); ok {
		out.ControlID = id
		return nil
	}
	if err := withdraw(tx, rows); err != nil {
		return err
	}
	if !slices.ContainsFunc(rows, func(d store.Down) bool { return d.FirstSentAt != 0 }) {
		out.State = "withdrawn"
		return nil
	}
	env.Corr.WorkflowID, env.Corr.PlanID = w.ID, w.PlanID
	out.ControlID = env.ID
	return s.queue(tx, env, 0)
}

// withdraw ends the plans among rows that were surely never sent.
func withdraw(tx *store.Tx, rows []store.Down) error {
	for _, row := range rows {
		if row.State != store.Queued || row.Type != string(wire.TypePlan) {
			continue
		}
		row.State, row.ReasonCode = store.Expired, "cancelled_before_sent"
		if err := tx.PutDown(row); err != nil {
			return err
		}
	}
	return nil
}

// queueControl keeps a wish of a turn that is no plan ("다 그만", "퀴즈만 그만"). Like the words it comes from it is not for ever: a cancel of
// everything must not stop what was begun hours later.
func (s *Server) queueControl(tx *store.Tx, env wire.Envelope) error {
	if env.Control.Verb == "cancel" && env.Control.Scope == "all" {
		rows, err := tx.OpenDown(env.DeviceID)
		if err == nil {
			err = withdraw(tx, rows)
		}
		if err != nil {
			return err
		}
	}
	return s.queue(tx, env, ms(s.opt.Now().Add(defaultTTL)))
}
