package diag

import (
	"net/http"

	"deviceagent/taskmanager/core"
)

// Erasure is what an erasure of person data has removed, and what it has left.
type Erasure struct {
	Workflows   int64    `json:"workflows"`    // that had ended, with their records
	JournalRows int64    `json:"journal_rows"` // of what had happened
	Copies      []string `json:"copies"`       // of damaged stores
	Open        []string `json:"open"`         // workflows that go on, and keep what they need
	Schedules   []string `json:"schedules"`    // the same
}

// erase takes the name of the device along, as a factory reset does.
func (s *server) erase(r *http.Request) (reply, *Problem) {
	var b struct {
		DeviceID string `json:"device_id"`
		What     string `json:"what"`
		Reason   string `json:"reason"`
	}
	const form = `{"device_id":"rb-0001","what":"person_data","reason":"…"}`
	if p := s.strict(r, &b, form); p != nil {
		return reply{}, p
	}
	if own := s.agent.Status().DeviceID; b.DeviceID != own {
		return reply{}, NewProblem(CodeBadValue, "device_id has to be that of this robot, "+own, form)
	}
	if b.What != "person_data" {
		return reply{}, NewProblem(CodeBadValue, "what can be erased is person_data", form)
	}
	done, err := s.agent.ErasePersonData(r.Context())
	s.told(r, "erase person data", err)
	if err != nil {
		return reply{}, NewProblem(CodeStorage, err.Error(), "deviceagentctl status")
	}
	return s.looked(r, func(v view) (any, *Problem) {
		done.Open, done.Schedules = names(v.s.Open()), []string{}
		for _, t := range v.s.TemplatesByRank() {
			done.Schedules = append(done.Schedules, string(t.Plan.Workflow))
		}
		return done, nil
	})
}

func names(ids []core.WorkflowID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}
