package firmware

import (
	"context"
	"slices"
	"strings"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// wish is how one kind of holder holds and lets go. Buttons speak by their events, as they would if an executor reported them; all else
// is an operator's wish at the robot.
type wish struct {
	press, lift catalog.EventName // of a button
	mode        core.Mode
	id          string // of the hold that stands then
}

// wishes are the holders that a program may hold by. Safety, battery and policy are the agent's own, app, voice and cloud are those of
// others.
var wishes = map[string]wish{
	"pui":      {press: "pui.paused", lift: "pui.resumed", id: "pui:all"},
	"takeover": {press: "pui.takeover", lift: "pui.released", id: "pui:all:takeover"},
	"operator": {id: "operator:all"},
	"manual":   {mode: core.ModeManual, id: "operator:all:manual"},
	"service":  {mode: core.ModeService, id: "operator:all:service"},
}

var errHolder = failure("InvalidArgs", "a holder is pui, takeover, operator, manual or service")

// Hold holds everything.
func (e exported) Hold(holder, reason string, from godbus.Sender) (bool, string, []string, *godbus.Error) {
	return e.holding(from, "Hold", holder, reason, true)
}

// Release ends a hold.
func (e exported) Release(holder string, from godbus.Sender) (bool, string, []string, *godbus.Error) {
	return e.holding(from, "Release", holder, "released on the bus", false)
}

func (e exported) holding(from godbus.Sender, method, holder, why string, on bool) (bool, string, []string, *godbus.Error) {
	c, done, fail := e.s.admit(from, method, control)
	if fail != nil {
		return false, "", nil, fail
	}
	defer done()
	w, known := wishes[holder]
	switch {
	case !known:
		return false, "", nil, errHolder
	case why == "":
		return false, "", nil, failure("InvalidArgs", "a hold says why")
	}
	var ans core.Answer
	switch {
	case w.press != "":
		ans.Reason, fail = e.s.press(c, w, why, on)
	default:
		ans, fail = e.s.wished(c, w, why, on)
	}
	if fail != nil {
		return false, "", nil, fail
	}
	snap, err := e.s.look(e.s.conn.Context())
	if err != nil {
		return false, "", nil, failureOf(err)
	}
	if w.press != "" {
		ans.Accepted = slices.Contains(snap.holderIDs(), w.id) == on
		if !ans.Accepted && ans.Reason == core.ReasonNone {
			ans.Reason = core.ReasonStorageError // it is kept and tried again; what stands does not show it yet
		}
	}
	return ans.Accepted, string(ans.Reason), snap.holderIDs(), nil
}

// press reports a button, and lets it be decided before anything is said about it.
func (s *session) press(c caller, w wish, why string, on bool) (core.Reason, *godbus.Error) {
	name := w.lift
	if on {
		name = w.press
	}
	ctx, cancel := context.WithTimeout(s.conn.Context(), lookTime)
	defer cancel()
	known := false
	err := s.o.Agent.Inspect(ctx, func(st *core.State, _ core.Now) { _, known = st.Catalog().Events[name] })
	if err == nil && !known {
		return core.ReasonUnsupported, nil
	}
	if err == nil {
		err = s.o.Agent.Send(ctx, core.Observed{Event: name, Source: c.String()})
	}
	if err != nil {
		return core.ReasonNone, failureOf(err)
	}
	s.o.Log.Info().Str("event", string(name)).Str("reason", why).Uint32("uid", c.uid).Uint32("pid", c.pid).Str("sender", c.name).Msg("button pressed on the bus")
	return core.ReasonNone, nil
}

// wished hands in an operator's wish. A mode goes by its own word only: whoever releases what they held must not let a robot drive on
// which somebody else has put into service.
func (s *session) wished(c caller, w wish, why string, on bool) (core.Answer, *godbus.Error) {
	snap, err := s.look(s.conn.Context())
	if err != nil {
		return core.Answer{}, failureOf(err)
	}
	stands := slices.Contains(snap.holderIDs(), w.id)
	switch {
	case on && w.mode != "":
		return s.control(c, wire.Control{Verb: "set_mode", Scope: "all", Target: string(w.mode), Reason: why})
	case on:
		return s.control(c, wire.Control{Verb: "pause", Scope: "all", Reason: why})
	case !stands:
		return core.Answer{Accepted: true}, nil
	case w.mode != "":
		return s.control(c, wire.Control{Verb: "set_mode", Scope: "all", Target: string(core.ModeAutomatic), Reason: why})
	case slices.ContainsFunc(snap.holderIDs(), func(id string) bool { return strings.HasPrefix(id, w.id+":") }):
		return core.Answer{Reason: core.ReasonNotAutomatic}, nil
	}
	return s.control(c, wire.Control{Verb: "resume", Scope: "all", Holder: string(core.HeldByOperator), Reason: why})
}
