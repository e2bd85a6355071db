package agent

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strconv"
	"time"

	"deviceagent/agent/config"
	"deviceagent/agent/diag"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// diagnostics opens the two sockets of the diagnostic API: one to look, one to look and operate.
func (a *Agent) diagnostics(ctx context.Context) ([]part, error) {
	read, err := listen(ctx, a.o.Read, a.o.Config.Diag.ReadSocket)
	if err != nil {
		return nil, err
	}
	control, err := listen(ctx, a.o.Control, a.o.Config.Diag.ControlSocket)
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	run := func(ctx context.Context) error {
		return diag.Serve(ctx, read, control, eyes{a.manager, a}, a.component("diag"))
	}
	return []part{{"diag", run}}, nil
}

// eyes lets the diagnostic API look at the agent.
type eyes struct {
	*taskmanager.Manager
	a *Agent
}

// Check grounds a message and changes nothing.
func (e eyes) Check(payload []byte) core.Answer {
	switch ev := e.a.codec.Decode(payload, taskmanager.FromLocal).(type) {
	case core.Refused:
		return ev.Answer
	case core.PlanSubmitted:
		if len(ev.GoalFaults) > 0 {
			return core.Answer{Reason: ev.GoalFaults[0].Reason, Faults: ev.GoalFaults, CatalogEtag: e.a.o.Catalog.Etag}
		}
	}
	return core.Answer{Accepted: true, CatalogEtag: e.a.o.Catalog.Etag}
}

// Watch tells moves.
func (e eyes) Watch() (diag.Feed, func()) {
	w, end := e.Manager.Watch()
	return diag.Feed{C: w.C, Missed: w.Missed}, end
}

// Status says what the agent knows outside the state.
func (e eyes) Status() diag.Facts {
	a, cfg := e.a, e.a.o.Config
	wall, trusted := a.o.Clock.Wall()
	f := diag.Facts{
		Phase: a.phase(), Version: Version, Contract: wire.Version, DeviceID: cfg.DeviceID, Socket: cfg.Diag.ReadSocket, ControlSocket: cfg.Diag.ControlSocket,
		StartedMS: wall - time.Since(a.started).Milliseconds(), StartNo: a.manager.StartNo(), RoomsEtag: a.rooms.now().RoomsEtag, Hold: cfg.Hold, Link: a.linkFacts(), Outbox: a.outboxFacts(), Store: a.storeFacts(),
	}
	if f.Tier = cfg.Goal.Tier; !cfg.Goal.Enabled {
		f.Tier = tierOff
	}
	if trusted {
		f.Clock.Source = "ntp"
	}
	if cfg.Time.AssumeSynced {
		f.Clock.Source = "assumed (time.assume_synced)"
	}
	for _, s := range a.execs.Services() {
		f.Executors = append(f.Executors, diag.Executor{Service: string(s.Service), SinceMS: s.Since.UnixMilli(), Open: s.Open, Waiting: s.Waiting, LastError: s.LastError})
	}
	for _, s := range config.Show(cfg, a.o.Origins) {
		f.Settings = append(f.Settings, diag.Setting{Key: s.Key, Value: s.Value, Origin: s.Origin.Place})
	}
	f.Warnings = a.warnings()
	return f
}

func (a *Agent) phase() string {
	select {
	case <-a.ready:
		return diag.Running
	default:
		return diag.Starting
	}
}

func (a *Agent) warnings() (out []string) {
	if a.o.Note != "" {
		out = append(out, a.o.Note)
	}
	if text := a.endsSoon(); text != "" {
		out = append(out, text)
	}
	out = append(out, strangers(a.o.Catalog)...)
	if a.link != nil {
		if n := a.link.State().SetAside; n > 0 {
			out = append(out, strconv.FormatInt(n, 10)+" messages to the cloud were set aside for an hour: the broker closed the connection over each; see the log")
		}
		if text := a.refused.warning(a.link.State().Dropped); text != "" {
			out = append(out, text)
		}
	}
	if n := a.manager.KeptOut(); n > 0 {
		out = append(out, strconv.Itoa(n)+" messages or events made the agent fail and are refused")
	}
	if n := a.manager.Alarms(); n > 0 {
		out = append(out, "the liveness audit had to heal "+strconv.FormatInt(n, 10)+" times: see the log")
	}
	if from := a.manager.StoreSetAside(); from != "" {
		out = append(out, "a store that is damaged or was copied from another machine was moved to "+from)
	}
	return out
}

func (a *Agent) linkFacts() diag.Link {
	if a.link == nil {
		return diag.Link{State: "not configured"}
	}
	s := a.link.State()
	l := diag.Link{State: string(s.Phase), Reason: string(s.Reason), SinceMS: sinceMS(s.Since), LastUpMS: sinceMS(s.LastUp), LastDownMS: sinceMS(s.LastDown)}
	if u, err := url.Parse(a.o.Config.Broker.URL); err == nil {
		l.Broker = u.Host
	}
	return l
}

// sinceMS is the age of a moment; nil where there was none.
func sinceMS(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := time.Since(t).Milliseconds()
	return &ms
}

func (a *Agent) outboxFacts() diag.Outbox {
	f := a.manager.OutboxFacts()
	return diag.Outbox{Awaiting: &f.Rows, Bound: &f.MaxRows}
}

func (a *Agent) storeFacts() diag.Store {
	bound := int64(a.o.Config.Limits.StoreQuota)
	s := diag.Store{Path: storePath(a.o.Config), Epoch: a.manager.Epoch(), BoundBytes: &bound, SetAside: a.manager.SetAside()}
	if info, err := os.Stat(s.Path); err == nil {
		used := info.Size()
		s.UsedBytes = &used
	}
	return s
}
