package planner

import (
	"fmt"
	"net/http"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// postHold asks the device to pause a workflow, or to let it go on: verb is pause or resume. Each is a message of its own: what was asked
// first is answered first. That the device takes it in is not yet a pause; its answer says who holds the workflow then.
func (s *Server) postHold(verb string) func(*http.Request) (int, any, error) {
	return func(req *http.Request) (int, any, error) {
		return s.wish(req, verb, func(tx *store.Tx, device string, ask cancelRequest, out *cancelAnswer) error {
			return s.hold(tx, device, verb, ask, out)
		})
	}
}

func (s *Server) hold(tx *store.Tx, device, verb string, ask cancelRequest, out *cancelAnswer) error {
	w, err := tx.Workflow(out.WorkflowID)
	if err != nil {
		return fmt.Errorf("cannot find workflow %s: %w", out.WorkflowID, err)
	}
	if w.Status != "" {
		return &problem{Status: http.StatusConflict, Code: "already_terminal", Title: "the device has closed this workflow", Detail: w.Status}
	}
	env := s.envelope(device, wire.TypeControl)
	env.Corr = wire.Corr{WorkflowID: w.ID, PlanID: w.PlanID}
	env.Control = &wire.Control{Verb: verb, Scope: "workflow", Target: w.ID, RequestedBy: ask.RequestedBy, Reason: ask.Reason}
	out.ControlID = env.ID
	return s.queue(tx, env, 0)
}

// cancelAmong finds a cancel that has no answer yet among the messages about a workflow.
func cancelAmong(rows []store.Down) (id string, ok bool) {
	i := slices.IndexFunc(rows, func(row store.Down) bool {
		if row.Type != string(wire.TypeControl) || !row.State.Open() {
			return false
		}
		e, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Direction: wire.Down, Limits: wire.DefaultLimits()})
		return err != nil || e.Control.Verb == "cancel" && e.Control.Scope == "workflow"
	})
	if i < 0 {
		return "", false
	}
	return rows[i].ID, true
}
