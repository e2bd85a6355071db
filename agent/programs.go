package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"deviceagent/executors/process"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// programs finds what the catalog binds to programs of their own, by service.
func (a *Agent) programs() map[core.ServiceID]map[catalog.Method]process.Program {
	out := map[core.ServiceID]map[catalog.Method]process.Program{}
	for m, op := range a.o.Catalog.Operations {
		if op.Binding.Kind != "process" || op.Binding.Process == nil {
			continue
		}
		id := core.ServiceID(op.Binding.Name)
		if out[id] == nil {
			out[id] = map[catalog.Method]process.Program{}
		}
		out[id][m] = process.Program{Process: *op.Binding.Process, Stop: time.Duration(op.StopMS) * time.Millisecond}
	}
	return out
}

// runPrograms keeps the services of programs in the registry until ctx ends, and then kills what runs: a stop says nothing of it.
func (a *Agent) runPrograms(ctx context.Context) error {
	bound := a.programs()
	instance := fmt.Sprintf("%s.%d", a.manager.Epoch(), a.manager.StartNo()) // the tasks of an earlier start are not known to this one
	for _, id := range slices.Sorted(maps.Keys(bound)) {
		s := process.New(process.Options{Service: id, Instance: instance, Programs: bound[id], Sink: a.manager.Send, Log: a.component("process")})
		defer s.Close()
		a.execs.Add(id, instance, s.Methods(), s.Keys(), s)
	}
	<-ctx.Done()
	return nil
}
