package main

import (
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// compiler compiles decisions by the catalog.
func compiler(cat *catalog.Catalog) func(turn.Input, turn.Decision, planner.IDs) (*wire.Plan, error) {
	return func(in turn.Input, d turn.Decision, ids planner.IDs) (*wire.Plan, error) {
		plan, err := compile.Plan(cat, in, d, compile.IDs(ids))
		if err != nil {
			return nil, err
		}
		return &plan, nil
	}
}
