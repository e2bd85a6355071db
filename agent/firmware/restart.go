package firmware

import (
	"context"
	"slices"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
)

// maxAnnounced bounds how long an announced restart may hold everything. Source: docs/agent-dbus.md, restart. A robot that has not gone
// down within ten minutes does not.
const maxAnnounced = 10 * time.Minute

// restartHold is the hold that stands while a restart is announced.
const restartHold = "policy:all:restart"

// PrepareRestart announces a restart. The core decides in one step whether anything is in hand and holds everything else, so nothing
// can begin between the look and the hold.
func (e exported) PrepareRestart(why string, seconds uint32, from godbus.Sender) (bool, []reason, uint64, *godbus.Error) {
	c, done, fail := e.s.admit(from, "PrepareRestart", control)
	if fail != nil {
		return false, nil, 0, fail
	}
	defer done()
	d := time.Duration(seconds) * time.Second
	if why == "" || len(why) > maxText || d <= 0 || d > maxAnnounced {
		return false, nil, 0, failure("InvalidArgs", "a restart has a reason of at most 200 bytes, and is announced for 1 to 600 seconds")
	}
	now := time.Now()
	snap, err := e.s.look(e.s.conn.Context())
	if err != nil {
		return false, nil, 0, failureOf(err)
	}
	if out, retry := e.s.against(snap, c.name, now); len(out) > 0 {
		return false, out, retry, nil
	}
	if !e.s.leases.shut(c.name, now.Add(d), now) {
		out, retry := e.s.against(snap, c.name, now)
		return false, out, retry, nil
	}
	if snap, err = e.s.announce(core.RestartAnnounced{By: c.String(), Why: why, ForMS: d.Milliseconds()}); err != nil {
		e.s.leases.reopen()
		return false, nil, 0, failureOf(err)
	}
	if !slices.Contains(snap.holderIDs(), restartHold) {
		e.s.leases.reopen()
		out, retry := e.s.against(snap, c.name, now)
		if len(out) == 0 { // what was in hand has just ended, or the disk refuses: it can be asked again at once
			out, retry = []reason{{"changing", "something was in hand a moment ago"}}, minRetryMS
		}
		return false, out, retry, nil
	}
	e.s.o.Log.Warn().Str("reason", why).Dur("for_ms", d).Uint32("uid", c.uid).Uint32("pid", c.pid).Str("sender", c.name).Msg("restart announced, nothing begins")
	return true, []reason{}, 0, nil
}

// CallOffRestart lets work go on.
func (e exported) CallOffRestart(from godbus.Sender) *godbus.Error {
	c, done, fail := e.s.admit(from, "CallOffRestart", control)
	if fail != nil {
		return fail
	}
	defer done()
	e.s.leases.reopen()
	if _, err := e.s.announce(core.RestartAnnounced{By: c.String()}); err != nil {
		return failureOf(err)
	}
	e.s.o.Log.Info().Uint32("uid", c.uid).Uint32("pid", c.pid).Str("sender", c.name).Msg("restart called off")
	return nil
}

// announce hands the event in, and looks at what came of it.
func (s *session) announce(ev core.RestartAnnounced) (snapshot, error) {
	ctx, cancel := context.WithTimeout(s.conn.Context(), lookTime)
	defer cancel()
	if err := s.o.Agent.Send(ctx, ev); err != nil {
		return snapshot{}, err
	}
	return s.look(ctx)
}
