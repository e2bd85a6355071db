package running

import (
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

func methodOf(q wire.Request) catalog.Method { return catalog.Method(q.TaskMethod) }

// goingOn are the steps of plans that have ended whose work may go on still, the latest first, each operation once.
func (r *Runner) goingOn(in turn.Input) (out []wire.Request) {
	for _, w := range in.Around.Ended {
		for _, q := range w.Plan.Requests {
			same := func(have wire.Request) bool { return have.TaskMethod == q.TaskMethod }
			if r.goesOn(in, w, q) && w.AgeMS < r.lasts(q) && !slices.ContainsFunc(out, same) {
				out = append(out, q)
			}
		}
	}
	return out
}

// stopOf is the operation that ends one; empty: there is none.
func (r *Runner) stopOf(q wire.Request) catalog.Method {
	var found []catalog.Method
	for m, op := range r.cat.Operations {
		ends := slices.ContainsFunc(r.cat.Operations[methodOf(q)].Resources, func(x catalog.ResourceID) bool { return slices.Contains(op.Stops, x) })
		if ends && (op.Visibility == "" || op.Visibility == "public") {
			found = append(found, m)
		}
	}
	slices.Sort(found)
	if len(found) == 0 {
		return ""
	}
	return found[0]
}
