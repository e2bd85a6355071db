package pipeline

import (
	"slices"

	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Withhold keeps back what a decision would do where a voice front end knows that the words were not said to the robot, or not to their
// end. Nothing is moved, kept, asked or said then. What stops something is done all the same: whoever says "stop" near a robot that moves
// means it soon enough.
func Withhold(cat *catalog.Catalog, agents *registry.Registry, in turn.Input, d turn.Decision) turn.Decision {
	scope := in.Around.Voice.Withheld()
	if scope == "" || halts(cat, d) {
		return d
	}
	null := turn.Decision{TurnMode: "singleton", SelectedRoutes: []turn.Family{turn.STTNull}, FamilyConfidence: "high", RunnerUpFamily: d.OwnerSelection,
		STTNullSubtype: "STT_NULL_HARD", STTNullScope: scope, STTNullRecovery: "unrecoverable", Structure: d.Structure, Evidence: d.Evidence, ModelCalls: d.ModelCalls, Model: d.Model,
		Slots: in.Around.Slots} // what is being talked about stays open
	if f, ok := agents.Owner(turn.STTNull); ok {
		f.Own(&null)
	}
	return null
}

// halts says whether all that a decision does is to stop something.
func halts(cat *catalog.Catalog, d turn.Decision) bool {
	stopping := d.Control != nil && slices.Contains([]string{"cancel", "kill", "pause"}, d.Control.Verb)
	all := !slices.ContainsFunc(d.Steps, func(s turn.Step) bool { return len(cat.Operations[catalog.Method(s.TaskMethod)].Stops) == 0 })
	return all && (stopping || len(d.Steps) > 0) && d.Schedule == nil && d.Revises == nil
}
