package planner

import (
	"net/http"

	"deviceagent/cloudlink/planner/store"
)

// submitted is the answer to a raw plan: it is durable here, and nothing more.
type submitted struct {
	WorkflowID string      `json:"workflow_id"`
	PlanID     string      `json:"plan_id"`
	Revision   int64       `json:"revision"`
	MessageID  string      `json:"message_id"`
	Submission store.State `json:"submission"`
	Link       string      `json:"link"`
	Repeated   bool        `json:"repeated,omitempty"` // the same plan was submitted before; nothing was added
}

func (s *Server) postPlan(req *http.Request) (int, any, error) {
	device, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	checked, err := boolQuery(req, "check", true)
	if err != nil {
		return 0, nil, err
	}
	body, err := readBytes(req, planBytes)
	if err != nil {
		return 0, nil, err
	}
	plan, err := s.rawPlan(device, body)
	if err != nil {
		return 0, nil, err
	}
	rooms, err := s.roomsOf(req.Context(), device)
	if err != nil {
		return 0, nil, err
	}
	if faults := s.check(plan, rooms); checked && len(faults) > 0 {
		return 0, nil, refusedPlan(faults)
	}
	env := s.planEnvelope(device, plan)
	out := submitted{WorkflowID: env.Corr.WorkflowID, PlanID: env.Corr.PlanID, Revision: plan.Workflow.Revision, MessageID: env.ID}
	status := http.StatusAccepted
	err = s.change(req.Context(), device, func(tx *store.Tx) error {
		if checked {
			old, err := repeatOf(tx, env)
			if err != nil {
				return err
			}
			if old != nil {
				out.MessageID, out.Repeated, status = old.ID, true, http.StatusOK
				return nil
			}
		}
		return s.queuePlan(tx, env)
	})
	if err != nil {
		return 0, nil, err
	}
	err = s.opt.Store.View(req.Context(), func(tx *store.Tx) error {
		row, err := tx.Down(out.MessageID)
		out.Submission, out.Link = row.State, linkOf(tx, device)
		return err
	})
	return status, out, err
}

func boolQuery(req *http.Request, name string, unset bool) (bool, error) {
	switch req.URL.Query().Get(name) {
	case "":
		return unset, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, &problem{Status: http.StatusBadRequest, Code: "bad_query", Title: name + " must be true or false"}
}
