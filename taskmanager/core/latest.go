package core

import (
	"cmp"
	"slices"
)

// LatestOpen lists the open workflows that changed last, the latest first, at most n: what a hello has room for.
func (s *State) LatestOpen(n int) []WorkflowID {
	ids := slices.Clone(s.order)
	slices.SortStableFunc(ids, func(a, b WorkflowID) int {
		return cmp.Compare(s.Workflows[b].changed(), s.Workflows[a].changed())
	})
	return ids[:min(n, len(ids))]
}

// changed is when the workflow or a step of it last became something else.
func (wf *Workflow) changed() Instant {
	at := wf.Accepted
	for i := range wf.Steps {
		at = max(at, wf.Steps[i].Since)
	}
	for i := range wf.Escalations {
		at = max(at, wf.Escalations[i].Opened)
	}
	return at
}
