package agent

import (
	"context"
	"maps"
	"slices"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/executors/dbus"
	"deviceagent/taskmanager/core"
)

// onTheBus finds the services that the catalog says are on D-Bus, with what they serve. That all operations of a service name the same
// place the catalog's loader has checked.
func (a *Agent) onTheBus() []dbus.Service {
	byID := map[core.ServiceID]dbus.Service{}
	for _, m := range slices.Sorted(maps.Keys(a.o.Catalog.Operations)) {
		b := a.o.Catalog.Operations[m].Binding
		if b.Kind != "dbus" || b.DBus == nil {
			continue
		}
		id := core.ServiceID(b.Name)
		s := byID[id]
		s.ID, s.Name, s.Path = id, b.DBus.Service, godbus.ObjectPath(b.DBus.Path)
		s.Methods = append(s.Methods, m)
		for _, key := range b.DBus.Keys {
			if !slices.Contains(s.Keys, key) {
				s.Keys = append(s.Keys, key)
			}
		}
		byID[id] = s
	}
	var out []dbus.Service
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, byID[id])
	}
	return out
}

// runBus reaches the services on D-Bus until ctx ends. Where there are none it only waits: a robot without a bus needs none.
func (a *Agent) runBus(ctx context.Context) error {
	services := a.onTheBus()
	if len(services) == 0 {
		<-ctx.Done()
		return nil
	}
	return dbus.New(dbus.Options{Address: a.o.Config.Executor.Bus, Dial: a.o.Bus, Services: services, Registry: a.execs, Sink: a.manager.Send, Log: a.component("dbus")}).Run(ctx)
}
