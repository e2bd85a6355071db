package running

import (
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// halt obeys what stops without a word for what: "그만둬", "stop it", "가지 마", "그거 꺼". It is asked of what is under way; where nothing is,
// only what stops whatever it may be is obeyed, for a stop may never be lost on its way.
func (r *Runner) halt(in turn.Input) (turn.Decision, bool) {
	text := plain(in.Text)
	busy := len(in.Around.Workflows)+len(in.Around.Sessions) > 0
	if _, ok := match(say.Quit, text); ok {
		talk := in.Around.Slots != nil && len(in.Around.Slots.Missing) > 0 || len(in.Around.Spoken) > 0
		return r.cancelAll(in), busy || len(r.goingOn(in)) > 0 || !talk // else it takes back what was just said of a schedule
	}
	if _, ok := match(say.Forbid, text); ok && busy && !(english(text) && strings.HasPrefix(text, "cancel") && len(in.Around.Spoken) > 0) { // which takes back a schedule
		return r.cancelAll(in), true
	}
	if m, ok := match(say.Stay, text); ok && len(in.Around.Workflows) > 0 {
		return r.stay(in, m["x"])
	}
	if _, ok := match(say.Off, text); ok {
		return r.off(in)
	}
	return turn.Decision{}, false
}

func (r *Runner) cancelAll(in turn.Input) turn.Decision {
	d := decided(in, "cancel_all", say1(in, "stopped_everything"), "ack")
	d.Control = &wire.Control{Verb: "cancel", Scope: "all", RequestedBy: "user", Reason: "user_cancelled"}
	return d
}

// stay ends the way that the robot is on, with what was to follow it there; with a room only a way to that room.
func (r *Runner) stay(in turn.Input, x string) (turn.Decision, bool) {
	if x != "" {
		return r.drop(in, x, "dropped")
	}
	for _, w := range inOrder(in.Around) {
		e := begin(r.home(in), w)
		ways := slices.ContainsFunc(e.unfinished(), func(q wire.Request) bool { return e.cat.Operations[methodOf(q)].MovesBody })
		if ways {
			return r.cancelWhole(in, w, say1(in, "stays")), true
		}
	}
	return turn.Decision{}, false
}

// off turns off what is on: one thing by its own way, several all at once.
func (r *Runner) off(in turn.Input) (turn.Decision, bool) {
	on := r.goingOn(in)
	switch {
	case len(in.Around.Workflows)+len(in.Around.Sessions) > 0:
		return r.cancelAll(in), true
	case len(on) == 0:
		return turn.Decision{}, false
	}
	stop := r.stopOf(on[0])
	d := decided(in, "off", say1(in, "stopped_all", r.called(in, on[0])), "ack")
	d.Steps = []turn.Step{{ID: "step_1", Route: turn.ODL, Purpose: r.called(in, wire.Request{TaskMethod: string(stop)}), ExecutionTarget: "device",
		TaskMethod: string(stop), WaitPolicy: "completed", Span: in.Text}}
	return d, true
}
