package planner

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// monitorRequest asks to look on. The body may be empty: a minute, once a second.
type monitorRequest struct {
	TTLS          int64 `json:"ttl_s"`           // 0: look on no longer
	MinIntervalMS int64 `json:"min_interval_ms"` // between two messages; a device has a floor of its own
}

// leaseView is a monitor lease as HTTP shows it, with the latest that came under it.
type leaseView struct {
	DeviceID      string          `json:"device_id"`
	LeaseID       string          `json:"lease_id"`
	MessageID     string          `json:"message_id"`
	State         string          `json:"state"` // asked, live, refused, ended
	ReasonCode    string          `json:"reason_code,omitempty"`
	AskedAt       string          `json:"asked_at"`
	EndsAt        string          `json:"ends_at"`
	MinIntervalMS int64           `json:"min_interval_ms"`
	Received      int64           `json:"received"` // telemetry under this lease
	TelemetryAt   string          `json:"telemetry_at,omitempty"`
	Telemetry     json.RawMessage `json:"telemetry,omitempty"` // the latest, as the device sent it

	seen   *wire.Telemetry // the latest, also of an earlier lease
	seenAt time.Time
	first  chan struct{} // closed when the first has come, or the lease was refused
}

// Bounds of leases.
const (
	leaseTTLS  = 60
	leaseMS    = 1000
	leaseShown = 10 * time.Minute // after its end
)

// monitors holds at most one lease of each device, in memory only: a lease of an earlier run ends by itself.
type monitors struct {
	mu  sync.Mutex
	now func() time.Time
	of  map[string]*leaseView
	end map[string]time.Time
}

func newMonitors(now func() time.Time) *monitors {
	return &monitors{now: now, of: map[string]*leaseView{}, end: map[string]time.Time{}}
}

func (m *monitors) ask(v leaseView, ends time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.of[v.DeviceID]; old != nil {
		v.seen, v.seenAt = old.seen, old.seenAt // still what is known, until something newer comes
	}
	m.of[v.DeviceID], m.end[v.DeviceID] = &v, ends
}

// view shows the lease of a device; false: nobody has asked for one, or it ended long ago.
func (m *monitors) view(device string) (leaseView, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.of[device]
	if v == nil {
		return leaseView{}, false
	}
	out := *v
	if out.State != "refused" && !m.now().Before(m.end[device]) {
		out.State = "ended"
	}
	return out, true
}

// take takes what comes up under a lease: telemetry, and the ack of the lease itself. It says whether that was all: neither is stored
// nor receipted. Telemetry of no lease that is known here is dropped; the lease ends by itself.
func (m *monitors) take(env wire.Envelope) (taken bool, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.of[env.DeviceID]
	switch {
	case env.Type == wire.TypeTelemetry:
		if v == nil || v.LeaseID != env.Telemetry.LeaseID {
			return true, ""
		}
		body, err := json.Marshal(env.Telemetry)
		if err != nil {
			return true, ""
		}
		v.State, v.Telemetry, v.TelemetryAt = "live", body, stamp(m.now())
		v.seen, v.seenAt = env.Telemetry, m.now()
		v.came()
		v.Received++
		return true, "telemetry"
	case env.Ack != nil && v != nil && env.Ack.RefID == v.MessageID:
		v.State, v.ReasonCode = "live", env.Ack.ReasonCode
		if !env.Ack.Accepted {
			v.State = "refused"
			v.came()
		}
		return true, v.State
	}
	return false, ""
}

// came says that there is something to look at, or never will be.
func (v *leaseView) came() {
	select {
	case <-v.first:
	default:
		close(v.first)
	}
}

// prune forgets leases that ended long ago.
func (m *monitors) prune() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for device, ends := range m.end {
		if m.now().Sub(ends) > leaseShown {
			delete(m.of, device)
			delete(m.end, device)
		}
	}
}

// postMonitor asks a device for a lease. Nothing of it is stored: a device that is not there is not asked later.
func (s *Server) postMonitor(req *http.Request) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	ask := monitorRequest{TTLS: leaseTTLS, MinIntervalMS: leaseMS}
	if err := readBody(req, controlBytes, &ask); err != nil {
		return 0, nil, err
	}
	return s.askLease(req.Context(), id, ask)
}

// askLease sends the wish to look on.
func (s *Server) askLease(ctx context.Context, id string, ask monitorRequest) (int, any, error) {
	env := s.envelope(id, wire.TypeMonitor)
	env.Monitor = &wire.Monitor{LeaseID: s.opt.NewID(), TTLS: ask.TTLS, MinIntervalMS: ask.MinIntervalMS}
	err := s.change(ctx, id, func(tx *store.Tx) error {
		d, err := tx.Device(id)
		if errors.Is(err, store.ErrNotFound) {
			return notFound("device", id)
		}
		if err != nil {
			return err
		}
		if !d.Online || !s.linkOpen.Load() {
			return &problem{Status: http.StatusConflict, Code: "device_offline", Title: "the device is not online", Hint: "nobody can look on now; ask again"}
		}
		env.StoreEpoch = d.Epoch
		env.Seq, err = tx.NextSeq(id, ms(s.opt.Now()))
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return s.lease(env)
}

func (s *Server) lease(env wire.Envelope) (int, any, error) {
	data, err := wire.Encode(env, s.opt.Encoding)
	if err == nil {
		_, err = wire.Decode(data, wire.Options{AllowJSON: true, Direction: wire.Down})
	}
	if err != nil {
		return 0, nil, &problem{Status: http.StatusUnprocessableEntity, Code: "bad_monitor", Title: "this lease cannot be asked for", Detail: err.Error(),
			Hint: "ttl_s is 0 to 900"}
	}
	now, m := s.opt.Now(), env.Monitor
	ends := now.Add(time.Duration(m.TTLS) * time.Second)
	s.monitors.ask(leaseView{DeviceID: env.DeviceID, LeaseID: m.LeaseID, MessageID: env.ID, State: "asked", AskedAt: stamp(now), EndsAt: stamp(ends),
		MinIntervalMS: m.MinIntervalMS, first: make(chan struct{})}, ends)
	if !s.link.send(downTopic(env.DeviceID, env.Type), data) {
		return 0, nil, &problem{Status: http.StatusServiceUnavailable, Code: "busy", Title: "the link takes no more now", Hint: "try again"}
	}
	v, _ := s.monitors.view(env.DeviceID)
	return http.StatusAccepted, v, nil
}

func (s *Server) getMonitor(req *http.Request) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	v, ok := s.monitors.view(id)
	if !ok {
		return 0, nil, notFound("monitor lease of device", id)
	}
	return http.StatusOK, v, nil
}
