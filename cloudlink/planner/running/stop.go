package running

import (
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// voice is for whom the planner pauses and lets go: what a person has said.
const voice = "voice"

// stopPart ends one part of what is under way and lets the rest go on: the content that is being told, or an operation of a plan.
func (r *Runner) stopPart(in turn.Input) (turn.Decision, bool) {
	if m, ok := match(say.EndThen, plain(in.Text)); ok && kindOf(m["x"]) != "" {
		if d, ok := r.stopThen(in, kindOf(m["x"]), m["y"]); ok {
			return d, true
		}
	}
	m, ok := match(say.Stop, tidy(in.Text))
	if ok && kindOf(m["x"]) == "" {
		return r.drop(in, m["x"], "stopped")
	}
	apart := ok // it is said that something goes on
	if !ok {
		m, ok = match(say.Told, tidy(in.Text))
		apart = m["keep"]+m["rest"] != ""
	}
	if !ok {
		m, ok = match(say.End, plain(in.Text))
	}
	kind := kindOf(m["x"])
	if !ok || kind == "" {
		return turn.Decision{}, false
	}
	var told []turn.Session
	for _, s := range in.Around.Sessions {
		if s.Kind == kind || s.Kind == "" {
			told = append(told, s)
		}
	}
	switch {
	case len(told) == 0 && (len(in.Around.Schedules) > 0 || in.Around.Link == ""):
		return turn.Decision{}, false // it may be kept for a time, or nobody has looked
	case len(told) == 0: // else the words for it would begin it
		return decided(in, "not_told", say1(in, "not_told", sentences["kind_"+kind].in(in)), "failed"), true
	}
	s := told[len(told)-1] // the one that began last is the one that is heard
	name := bare(m["x"])
	if known, ok := sentences["kind_"+kind]; ok && english(in.Text) {
		name = known.En
	}
	d := decided(in, "stop_session", say1(in, "stopped", name), "ack")
	if !apart && len(in.Around.Workflows) == 0 && len(in.Around.Sessions) == 1 && len(r.goingOn(in)) == 0 {
		d.TTSResponse = say1(in, "stopped_all", name) // nothing goes on beside it
	}
	d.Control = &wire.Control{Verb: "cancel", Scope: "session", Target: s.SessionID, RequestedBy: voice, Reason: "user_cancelled"}
	d.ControlOf = s.WorkflowID
	d.Evidence = append(d.Evidence, turn.Evidence{Kind: "session", ID: s.SessionID, Span: s.State})
	return d, true
}

// stopThen ends what is being told and does what is ordered behind it: "퀴즈 멈추고 충전하러 가".
func (r *Runner) stopThen(in turn.Input, kind, order string) (turn.Decision, bool) {
	i := slices.IndexFunc(in.Around.Sessions, func(s turn.Session) bool { return s.Kind == kind || s.Kind == "" })
	d := r.words.Read(with(in, order))
	if i < 0 || d.OwnerSelection != turn.ODL || d.AskFollowUp || d.Control != nil || len(d.Steps) == 0 || len(d.Refused) > 0 {
		return turn.Decision{}, false
	}
	s := in.Around.Sessions[i]
	d.Control = &wire.Control{Verb: "cancel", Scope: "session", Target: s.SessionID, RequestedBy: voice, Reason: "user_cancelled"}
	d.ControlOf = s.WorkflowID
	d.Evidence = append(d.Evidence, turn.Evidence{Kind: "rule", ID: "stop_session_and_go_on", Span: in.Text}, turn.Evidence{Kind: "session", ID: s.SessionID, Span: s.State})
	return d, true
}

// cancelWhole cancels a plan of which nothing would be left.
func (r *Runner) cancelWhole(in turn.Input, w turn.Workflow, said string) turn.Decision {
	d := decided(in, "cancel_workflow", said, "ack")
	d.Control = &wire.Control{Verb: "cancel", Scope: "workflow", Target: w.WorkflowID, RequestedBy: voice, Reason: "user_cancelled"}
	d.ControlOf = w.WorkflowID
	return d
}

// hold pauses what is under way, or lets it go on where it was paused by voice: one plan by its name, several all at once.
func (r *Runner) hold(in turn.Input) (turn.Decision, bool) {
	text := tidy(in.Text)
	if _, ok := match(say.Pause, text); ok && len(in.Around.Workflows) > 0 {
		return r.held(in, "pause", in.Around.Workflows), true
	}
	if _, ok := match(say.Resume, text); !ok {
		return turn.Decision{}, false
	}
	var paused []turn.Workflow
	for _, w := range in.Around.Workflows {
		if slices.Contains(w.PausedBy, voice) {
			paused = append(paused, w)
		}
	}
	switch {
	case slices.Contains(in.Around.PausedBy, voice):
		return r.held(in, "resume", in.Around.Workflows), true
	case len(paused) > 0:
		return r.held(in, "resume", paused[:1]), true
	}
	return turn.Decision{}, false
}

func (r *Runner) held(in turn.Input, verb string, all []turn.Workflow) turn.Decision {
	d := decided(in, verb, say1(in, verb), "ack")
	d.Control = &wire.Control{Verb: verb, Scope: "all", RequestedBy: voice, Reason: "user"}
	whole := verb == "resume" && slices.Contains(in.Around.PausedBy, voice)
	if len(all) == 1 && !whole {
		d.Control.Scope, d.Control.Target, d.ControlOf = "workflow", all[0].WorkflowID, all[0].WorkflowID
	}
	return d
}
