package rules

import (
	"fmt"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// planning makes the steps of the intents: the order is by evidence, so each step depends on the one before, unless the words say
// "at the same time".
type planning struct {
	cat    *catalog.Catalog
	lang   language
	steps  []turn.Step
	marker *frame
	moves  map[string]bool // step id: moves the body
	start  map[string]bool // step id: asked to be started, not to be brought to its end
	// deps are the steps that the next one waits for; base are those that the current simultaneous group began from.
	deps, base []string
	group      bool
}

func stepsOf(cat *catalog.Catalog, lang language, frames map[string]*frame, intents []intent) []turn.Step {
	pl := &planning{cat: cat, lang: lang, marker: markerOf(cat, frames), moves: map[string]bool{}, start: map[string]bool{}}
	for _, in := range intents {
		pl.add(in, frames)
	}
	pl.release()
	return pl.steps
}

// add appends the steps of an intent: the way to its room first, where it names one.
func (pl *planning) add(in intent, frames map[string]*frame) {
	before := slices.Clone(pl.deps)
	if pl.group {
		before = slices.Clone(pl.base)
	}
	deps, delay, when := before, in.delayMS, in.when
	if in.room != "" && in.frame.RoomParam == "" {
		move := frames["move"]
		if move == nil {
			return
		}
		go_ := intent{frame: move, act: "go", method: move.Method, params: wire.Object{move.RoomParam: wire.Value{V: in.room}}, span: in.span, room: in.room, said: in.said}
		deps = []string{pl.append(go_, deps, delay, when, in.visible)}
		delay = 0
	}
	id := pl.append(in, deps, delay, when, in.visible)
	pl.start[id] = slices.Contains(in.frame.ReleasedByStart, in.act) && !in.timed
	switch {
	case pl.group:
		pl.deps = append(pl.deps, id)
	default:
		pl.deps = []string{id}
	}
	if in.link == "simul" {
		if !pl.group {
			pl.base = before
			if in.room != "" && in.frame.RoomParam == "" {
				pl.base = deps // what goes on beside it happens there too
			}
		}
		pl.group = true
		return
	}
	pl.group = false
}

func (pl *planning) append(in intent, deps []string, delayMS int64, when *wire.Condition, visible string) string {
	s := turn.Step{ID: fmt.Sprintf("step_%d", len(pl.steps)+1), Route: turn.ODL, ExecutionTarget: "device", TaskMethod: string(in.method), WaitPolicy: "completed", Span: in.span}
	s.Purpose = purpose(pl.lang, in)
	if len(in.params) > 0 {
		s.Params = in.params
	}
	for _, d := range deps {
		s.DependsOn = append(s.DependsOn, wire.Dependency{Step: d})
	}
	if delayMS > 0 {
		if len(deps) == 0 && pl.marker != nil {
			pl.mark(in.span)
			s.ID = fmt.Sprintf("step_%d", len(pl.steps)+1)
			deps = []string{pl.steps[len(pl.steps)-1].ID}
			s.DependsOn = []wire.Dependency{{Step: deps[0], On: "done"}}
		}
		if s.DelayMS = delayMS; len(deps) > 0 {
			s.TemporalRelation, s.TemporalAnchorID = "after_planned_step", deps[len(deps)-1]
		}
	}
	if when != nil {
		s.When = when
		if visible != "" {
			s.InputFrom = &wire.InputFrom{Visible: []string{visible}}
			pl.publish(visible, &s)
		}
	}
	op := pl.cat.Operations[in.method]
	pl.moves[s.ID] = op.MovesBody
	pl.steps = append(pl.steps, s)
	return s.ID
}

// mark adds a read that changes nothing, as the moment that a delay counts from where the words name no earlier step: the contract
// counts a delay from a step only. It counts from the acceptance of the read, and goes on also if the read fails.
func (pl *planning) mark(span string) {
	f := pl.marker
	s := turn.Step{ID: fmt.Sprintf("step_%d", len(pl.steps)+1), Route: turn.ODL, ExecutionTarget: "device", TaskMethod: string(f.Method), WaitPolicy: "submitted", Span: span}
	s.Purpose = purpose(pl.lang, intent{frame: f, method: f.Method})
	pl.steps = append(pl.steps, s)
}

// markerOf is the frame of the reading that serves as a mark: the battery, else the first that needs nothing.
func markerOf(cat *catalog.Catalog, frames map[string]*frame) *frame {
	for _, id := range append([]string{"battery"}, sortedKeys(frames)...) {
		if f := frames[id]; f != nil && cat.Operations[f.Method].ReadOnly && len(cat.Operations[f.Method].Params) == 0 {
			return f
		}
	}
	return nil
}

// publish gives the step that measures an output its key, and makes the reader depend on it.
func (pl *planning) publish(key string, by *turn.Step) {
	for i := range slices.Backward(pl.steps) {
		s := &pl.steps[i]
		if !pl.cat.Operations[catalog.Method(s.TaskMethod)].ReadOnly || s.OutputKey != "" && s.OutputKey != key {
			continue
		}
		s.OutputKey = key
		if !slices.ContainsFunc(by.DependsOn, func(d wire.Dependency) bool { return d.Step == s.ID }) {
			by.DependsOn = append(by.DependsOn, wire.Dependency{Step: s.ID})
		}
		return
	}
}

// release says when what follows a long operation may begin. Cleaning that is followed by something is cleaning to its end; where
// the words ask only to start it ("켜고"), its start releases what follows, unless that takes the robot away.
func (pl *planning) release() {
	for i := range pl.steps {
		s := &pl.steps[i]
		op := pl.cat.Operations[catalog.Method(s.TaskMethod)]
		followed, leaves := false, false
		for _, later := range pl.steps[i+1:] {
			if !dependsOn(later, s.ID) {
				continue
			}
			followed = true
			leaves = leaves || pl.moves[later.ID] && later.DelayMS == 0
		}
		switch {
		case !followed || len(op.MoreEffects) == 0:
		case pl.start[s.ID] && !leaves && op.ReleaseEvent != "":
			s.WaitPolicy = "event"
		default:
			for _, e := range op.MoreEffects {
				s.RequiredEffects = append(s.RequiredEffects, string(e))
			}
		}
	}
}

func dependsOn(s turn.Step, id string) bool {
	return slices.ContainsFunc(s.DependsOn, func(d wire.Dependency) bool { return d.Step == id })
}
