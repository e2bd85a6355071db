package diag

import (
	"maps"
	"slices"

	"deviceagent/taskmanager/core"
)

// holders lists who holds what: everything first, then open plans by rank.
func (v view) holders() []Holder {
	out := []Holder{}
	for _, h := range v.s.Holders() {
		out = append(out, Holder{ID: h.ID(), Kind: string(h.Kind), Scope: string(h.Scope), Target: h.Target, Cause: h.Cause, Resume: string(h.Resume),
			By: h.By, Why: h.Why, Since: v.moment(h.Since), LeftMS: v.left(h.Until)})
	}
	return out
}

// cleanUp lists the tasks that are being stopped, with their steps, in the order of their workflows' ids.
func (v view) cleanUp() []CleanUp {
	out := []CleanUp{}
	for _, id := range slices.Sorted(maps.Keys(v.s.Workflows)) {
		wf := v.s.Workflows[id]
		for i := range wf.Attempts {
			a := &wf.Attempts[i]
			if a.State != core.Stopping {
				continue
			}
			c := CleanUp{Workflow: string(id), Step: string(wf.Steps[a.Step].ID), StepState: string(wf.Steps[a.Step].State),
				Method: string(wf.Plan.Steps[a.Step].Method), Task: string(a.Task), Resources: []string{}, StopCalls: a.StopCalls}
			for _, res := range a.Resources {
				c.Resources = append(c.Resources, string(res))
			}
			out = append(out, c)
		}
	}
	return out
}
