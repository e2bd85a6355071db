package agent

import (
	"context"

	"deviceagent/executors/dbus"
)

// runBus reaches the services on D-Bus until ctx ends. Where there are none it only waits: a robot without a bus needs none.
func (a *Agent) runBus(ctx context.Context) error {
	services := dbus.ServicesOf(a.o.Catalog)
	if len(services) == 0 {
		<-ctx.Done()
		return nil
	}
	return dbus.New(dbus.Options{Address: a.o.Config.Executor.Bus, Dial: a.o.Bus, Services: services, Registry: a.execs, Rooms: a.rooms.take, Sink: a.manager.Send, Log: a.component("dbus")}).Run(ctx)
}
