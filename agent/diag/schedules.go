package diag

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// ScheduleRow is one plan that is kept and begun at its occurrences.
type ScheduleRow struct {
	ID       string `json:"id"`
	PlanID   string `json:"plan_id"`
	Revision int64  `json:"revision"`
	When     string `json:"when"` // in one line
	Goal     string `json:"goal"`
	NextAt   string `json:"next_at"`              // wall time of the next occurrence, or why there is none
	Next     string `json:"next_id,omitempty"`    // the workflow that it will be
	InMS     *int64 `json:"next_in_ms"`           // null: not known
	Last     string `json:"last_id,omitempty"`    // the latest occurrence that was begun or left out
	LastIs   string `json:"last_state,omitempty"` // where it is still in memory
}

func (s *server) schedules(r *http.Request) (reply, *Problem) {
	return s.looked(r, func(v view) (any, *Problem) {
		rows := []ScheduleRow{}
		for _, t := range v.s.TemplatesByRank() {
			rows = append(rows, v.schedule(t))
		}
		return rows, nil
	})
}

func (v view) schedule(t *core.Template) ScheduleRow {
	p := t.Plan
	row := ScheduleRow{ID: string(p.Workflow), PlanID: string(p.ID), Revision: p.Revision, When: p.Schedule.String(), Goal: v.goalOf(p), NextAt: "not known: the clock cannot be trusted"}
	if n := len(t.Fired); n > 0 {
		row.Last = row.ID + "@" + t.Fired[n-1]
		if wf := v.s.Workflows[core.WorkflowID(row.Last)]; wf != nil {
			row.LastIs = string(wf.State)
		}
	}
	if !v.now.Trusted {
		return row
	}
	d, err := taskmanager.ReckonDues(t, v.now.WallMS)
	next := d.Next
	if d.Due != nil {
		next = d.Due
	}
	switch {
	case err != nil:
		row.NextAt = err.Error()
	case next == nil:
		row.NextAt = "never again"
	default:
		in := max(0, next.AtMS-v.now.WallMS)
		row.NextAt, row.Next, row.InMS = v.wall(next.AtMS), row.ID+"@"+next.Stamp, &in
	}
	return row
}

// goalOf is what was said, or else what is done.
func (v view) goalOf(p *core.Plan) string {
	if said := cmp.Or(p.Utterance, v.words(p.Workflow)); said != "" {
		return said
	}
	var methods []string
	for i := range p.Steps {
		if m := string(p.Steps[i].Method); m != "" && !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	return strings.Join(methods, ", ")
}
