package agent

import (
	"context"
	"fmt"

	"deviceagent/agent/firmware"
	"deviceagent/taskmanager"
)

// runFirmware serves the robot's own programs on D-Bus, and keeps the machine awake while the body moves, until ctx ends.
func (a *Agent) runFirmware(ctx context.Context) error {
	cfg := a.o.Config.Firmware
	if cfg.Bus == "off" {
		<-ctx.Done()
		return nil
	}
	sources, err := firmware.ParseSources(cfg.Sources)
	if err != nil {
		return fmt.Errorf("cannot use firmware.sources: %w", err)
	}
	return firmware.New(firmware.Options{Address: cfg.Bus, Agent: insider{a.manager, a}, Read: cfg.ReadGroup, Control: cfg.ControlGroup,
		Bound: cfg.Bus == a.o.Config.Executor.Bus, Sources: sources, Log: a.component("firmware")}).Run(ctx)
}

// insider lets programs on the bus look at the agent.
type insider struct {
	*taskmanager.Manager
	a *Agent
}

// Watch tells what happens.
func (i insider) Watch() (firmware.Feed, func()) {
	w, end := i.Manager.Watch()
	return firmware.Feed{Moves: w.C, Turned: w.Turned, Missed: w.Missed}, end
}

// Facts says what the agent knows outside the state.
func (i insider) Facts() firmware.Facts {
	return firmware.Facts{DeviceID: i.a.o.Config.DeviceID, Version: Version, Rooms: i.a.rooms.now().RoomsEtag, Ready: i.a.phase() == "running", Link: i.a.linkFacts().State}
}
