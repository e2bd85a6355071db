package planner

import (
	"context"
	"time"

	"deviceagent/cloudlink/planner/turn"
)

const (
	lookFor  = 800 * time.Millisecond // that a turn waits for the device to say how it stands
	lookTTLS = 1
)

// looker says of which turns the device knows more than the planner.
type looker interface{ Looks(turn.Input) bool }

// look asks a device how its work stands, by a short lease, where the words are about that work and it could tell; it says whether there may
// be something new. Nothing hangs on it: what does not come in time is not known. Somebody who looks on already has the latest state, and
// his lease is not taken from him.
func (s *Server) look(ctx context.Context, in turn.Input) bool {
	p, can := s.opt.Planner.(looker)
	if !can || len(in.Around.Workflows) == 0 || in.Around.Link != "online" || !s.linkOpen.Load() || s.monitors.live(in.DeviceID) || !p.Looks(in) {
		return false
	}
	if _, _, err := s.askLease(ctx, in.DeviceID, monitorRequest{TTLS: lookTTLS, MinIntervalMS: leaseMS}); err != nil {
		s.opt.Log.Debug().Str(keyDevice, in.DeviceID).Err(err).Msg("device not asked how it stands")
		return false
	}
	t := time.NewTimer(s.opt.paced(lookFor))
	defer t.Stop()
	select {
	case <-s.monitors.first(in.DeviceID):
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// live says whether somebody looks on at a device, and has seen something.
func (m *monitors) live(device string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.of[device]
	return v != nil && v.State == "live" && v.Received > 0 && m.now().Before(m.end[device])
}

// first is closed when the lease of a device has brought something, or never will.
func (m *monitors) first(device string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.of[device]; v != nil {
		return v.first
	}
	gone := make(chan struct{})
	close(gone)
	return gone
}

// tell adds what the latest telemetry says of a workflow, unless it is too old to say anything of now. Under a live lease a device tells each
// change within the interval of the lease: what it said last is no older than that.
func (m *monitors) tell(device string, w *turn.Workflow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.of[device]
	if v == nil || v.seen == nil {
		return
	}
	age := m.now().Sub(v.seenAt).Milliseconds()
	if v.State == "live" && v.Received > 0 && m.now().Before(m.end[device]) {
		age = min(age, v.MinIntervalMS)
	}
	if age > telemetryTold.Milliseconds() {
		return
	}
	for _, seen := range v.seen.Workflows {
		if seen.WorkflowID != w.WorkflowID {
			continue
		}
		for _, step := range seen.Steps {
			w.Steps = newer(w.Steps, turn.StepNow{ID: step.CloudStepID, Method: methodOf(w.Plan, step.CloudStepID), State: step.State,
				ReasonCode: step.ReasonCode, Evidence: "telemetry", AgeMS: age})
		}
	}
}

// newer puts what is known of a step in the place of what was known before, if that is older.
func newer(all []turn.StepNow, s turn.StepNow) []turn.StepNow {
	for i := range all {
		if all[i].ID == s.ID {
			if all[i].AgeMS >= s.AgeMS {
				all[i] = s
			}
			return all
		}
	}
	return append(all, s)
}
