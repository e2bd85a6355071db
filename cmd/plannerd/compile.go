package main

import (
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// compiler turns the steps of a decision into requests.
func compiler(cat *catalog.Catalog) func(turn.Input, turn.Decision, planner.IDs) (*wire.Plan, error) {
	return func(in turn.Input, d turn.Decision, ids planner.IDs) (*wire.Plan, error) {
		plan := &wire.Plan{Workflow: wire.Workflow{CloudWorkflowID: ids.WorkflowID, PlanID: ids.PlanID, CatalogEtag: cat.Etag,
			Origin: &wire.Origin{TurnID: in.TurnID, Utterance: in.Text, Locale: in.Locale}}}
		for _, s := range d.Steps {
			r := wire.Request{CloudStepID: s.ID, ExecutionTarget: s.ExecutionTarget, TaskMethod: s.TaskMethod, Params: s.Params,
				DependsOn: s.DependsOn, WaitPolicy: s.WaitPolicy, TemporalRelation: s.TemporalRelation, TemporalAnchorID: s.TemporalAnchorID,
				DelayMS: s.DelayMS, OutputKey: s.OutputKey, InputFrom: s.InputFrom, When: s.When}
			for _, e := range s.RequiredEffects {
				r.RequiredEffects = append(r.RequiredEffects, wire.RequiredEffect{EffectID: e})
			}
			plan.Requests = append(plan.Requests, r)
		}
		return plan, nil
	}
}
