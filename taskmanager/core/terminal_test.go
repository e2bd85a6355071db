package core

import "testing"

// What the table of moves does not have is our own bug, and stops the reduction before it is on disk.
func TestNothingFollowsATerminalState(t *testing.T) {
	for _, from := range StepStates {
		if !from.Terminal() {
			continue
		}
		for _, to := range StepStates {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("from %s to %s", from, to)
					}
				}()
				wf := &Workflow{Plan: &Plan{Steps: make([]StepSpec, 1)}, Steps: []Step{{State: from}}}
				newWork(&State{}, Now{}).move(wf, 0, to, ReasonNone)
			}()
		}
	}
}
