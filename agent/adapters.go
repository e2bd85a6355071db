package agent

import (
	"context"
	"time"

	"deviceagent/agent/monitor"
	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// codec lets the Manager use the bridge.
type codec struct{ *bridge.Codec }

func (c codec) Decode(payload []byte, from taskmanager.Source) core.Event {
	return c.Codec.Decode(payload, from == taskmanager.FromLocal)
}

func (c codec) Encode(m core.Message, about taskmanager.Envelope) (string, []byte, error) {
	return c.Codec.Encode(m, bridge.About(about))
}

// uplink lets the link drain the Manager's outbox.
type uplink struct{ *taskmanager.Manager }

func (u uplink) Pending(n int) []cloudlink.Row {
	rows := u.Manager.Pending(n)
	out := make([]cloudlink.Row, len(rows))
	for i, r := range rows {
		out[i] = cloudlink.Row{Seq: r.Seq, ID: r.ID, Type: r.Type, Body: r.Body}
	}
	return out
}

// onlooker lets the link carry monitor leases and telemetry.
type onlooker struct{ *monitor.Room }

func (o onlooker) Take(payload []byte) (cloudlink.Loose, error) {
	m, err := o.Room.Take(payload)
	return looseOf(m), err
}

func (o onlooker) Next() (cloudlink.Loose, bool) {
	m, ok := o.Room.Next()
	return looseOf(m), ok
}

func looseOf(m monitor.Message) cloudlink.Loose {
	return cloudlink.Loose{ID: m.ID, Type: string(m.Type), Body: m.Body}
}

// downlink hands what the link received to the Manager.
type downlink struct {
	m *taskmanager.Manager
	a *Agent
}

// Receive returns when the answer is durable. What the store did not take is not acknowledged: the broker sends it again.
func (d downlink) Receive(ctx context.Context, payload []byte) error {
	ans, err := d.m.Receive(ctx, payload, taskmanager.FromCloud)
	if err == nil {
		d.a.refused.note(ans, payload)
	}
	return err
}

func (d downlink) Receipted(ctx context.Context, r wire.Receipt) error {
	ids := make([]core.MessageID, len(r.Refs))
	for i, id := range r.Refs {
		ids[i] = core.MessageID(id)
	}
	if err := d.m.Receipted(ctx, ids); err != nil || r.Nonce == "" {
		return err
	}
	return d.m.HelloAnswered(ctx, plannerMS(r.PlannerTime), workflowIDs(r.Close))
}

func workflowIDs(ids []string) []core.WorkflowID {
	out := make([]core.WorkflowID, len(ids))
	for i, id := range ids {
		out[i] = core.WorkflowID(id)
	}
	return out
}

// plannerMS is the time of a receipt in Unix ms; 0: it says none, or one that a clock which nobody has set would show.
func plannerMS(text string) int64 {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return max(0, at.UnixMilli())
}

// maxListed bounds the open workflows of a hello. Source: docs/contract.md, envelope (200).
const maxListed = 200

// maxHolders bounds the holders of a hello, maxWords the words of a change of the mode. Source: docs/contract.md, status.
const (
	maxHolders = 64
	maxWords   = 200
)

func modesOf(changes []core.ModeChange) (out []wire.ModeChange) {
	for _, c := range changes {
		m := wire.ModeChange{N: c.N, Mode: string(c.Mode), By: clip(c.By), Why: clip(c.Why)}
		if c.WallMS != 0 {
			m.At = time.UnixMilli(c.WallMS).UTC().Format("2006-01-02T15:04:05.000Z")
		}
		out = append(out, m)
	}
	return out
}

// clip shortens what people wrote.
func clip(text string) string {
	if runes := []rune(text); len(runes) > maxWords {
		return string(runes[:maxWords]) + "…"
	}
	return text
}

// tierOff is reported where experiences are not evaluated: plans run without their goals, and nobody is asked what a goal would ask.
const tierOff = "off"

// Status is the hello: who this is, what it can do, what is open.
func (d downlink) Status() wire.Status {
	cat, limits := d.a.rooms.now(), wire.DefaultLimits()
	st := wire.Status{Online: true, StoreEpoch: d.m.Epoch(), AgentVersion: Version, Contract: wire.Version, CatalogEtag: cat.Etag,
		RoomsEtag: cat.RoomsEtag, Tier: d.a.o.Config.Goal.Tier, Limits: &limits,
		OutboxDropped: d.m.OutboxFacts().Dropped}
	limits.Steps = d.a.o.Config.Limits.Steps
	for _, r := range cat.Rooms {
		st.Rooms = append(st.Rooms, wire.Room{ID: string(r.ID), Name: r.Name, Aliases: r.Aliases, Reachable: r.Reachable})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	// A Manager that does not answer leaves the list out; the watchdog, not the hello, deals with it.
	_ = d.m.Inspect(ctx, func(s *core.State, _ core.Now) {
		st.Tier = string(core.Tier(st.Tier).Lower(s.Device.TierCap))
		if s.Device.NoGoals || !d.a.o.Config.Goal.Enabled {
			st.Tier = tierOff
		}
		st.Mode, st.Modes = string(s.Mode()), modesOf(s.Device.Modes)
		for _, h := range s.Holders() {
			if len(st.Holders) < maxHolders {
				st.Holders = append(st.Holders, h.ID())
			}
		}
		st.OpenCount = int64(len(s.Open()))
		for _, id := range s.LatestOpen(maxListed) {
			wf := s.Workflows[id]
			st.OpenWorkflows = append(st.OpenWorkflows, wire.OpenWorkflow{WorkflowID: string(id), State: string(wf.State), Revision: wf.Plan.Revision})
		}
	})
	return st
}
