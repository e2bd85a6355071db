package robot

import (
	"context"
	"time"

	"deviceagent/executors/dbus"
)

// Where the robot is on a bus.
const (
	BusName = "org.deviceagent.testbed.Home"
	BusPath = "/org/deviceagent/testbed/Home"
)

// onBus keeps the robot on the bus until ctx ends, the service restarts or the connection is lost.
func (r *Robot) onBus(ctx context.Context) {
	h, err := dbus.Serve(ctx, r.opt.Bus, BusName, BusPath, program{r})
	if err != nil {
		if ctx.Err() == nil {
			r.out.printf("no bus: %v; next attempt in 1s", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		return
	}
	defer h.Close()
	program{r}.connected(onBus{h})
	select {
	case <-ctx.Done():
	case <-h.Done():
	}
}

type onBus struct{ *dbus.Host }

// Cut breaks the connection.
func (b onBus) Cut() { b.Close() }
