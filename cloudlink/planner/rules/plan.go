package rules

import (
	"fmt"
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// planning makes the steps of the intents: the order is by evidence, so each step depends on the one before, unless the words say
// "at the same time".
type planning struct {
	cat   *catalog.Catalog
	lang  language
	steps []turn.Step
	moves map[string]bool // step id: moves the body
	start map[string]bool // step id: asked to be started, not to be brought to its end
	// deps are the steps that the next one waits for; base are those that the current simultaneous group began from.
	deps, base []string
	group      bool
	ids        []string          // the step of each intent
	gives      map[string]string // step id: the output that a look-up gives, where nobody is told
}

func stepsOf(cat *catalog.Catalog, lang language, frames map[string]*frame, intents []intent) []turn.Step {
	pl := &planning{cat: cat, lang: lang, moves: map[string]bool{}, start: map[string]bool{}, gives: map[string]string{}}
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
	if in.after > 0 {
		before = []string{pl.ids[in.after-1]}
	}
	deps, delay, when := before, in.delayMS, in.when
	if in.room != "" && in.frame.RoomParam == "" {
		move := frames["move"]
		if move == nil {
			return
		}
		go_ := intent{frame: move, act: "go", method: move.Method, params: wire.Object{move.RoomParam: wire.Value{V: in.room}}, span: in.span, room: in.room, said: in.said, anchor: in.anchor}
		deps = []string{pl.append(go_, deps, delay, when, in.visible)}
		delay, in.anchor = 0, ""
	}
	id := pl.append(in, deps, delay, when, in.visible)
	pl.ids = append(pl.ids, id)
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
	if in.frame.Skill != "" {
		s.Route, s.ExecutionTarget, s.TaskMethod, s.Skill = in.frame.Route, "cloud", "", in.frame.Skill
	}
	if in.frame.Metric != nil && in.frame.Skill != "" && in.silent {
		pl.gives[s.ID] = in.frame.Metric.OutputKey
	}
	if s.OutputKey = in.gives; in.takes {
		from := pl.steps[len(pl.steps)-1].OutputKey
		s.InputFrom = &wire.InputFrom{Params: map[string]string{"query": from + ".text"}}
	}
	if in.anchor != "" {
		s.TemporalRelation, s.AnchorEvent, s.DelayMS = "after_existing_event", in.anchor, delayMS
	} else if delayMS > 0 {
		s.TemporalRelation, s.DelayMS = "after_planned_step", delayMS // where the words name no earlier step: from now
		if len(deps) > 0 {
			s.TemporalAnchorID = deps[len(deps)-1]
		}
	}
	if s.When = when; when != nil && visible != "" {
		pl.publish(visible, &s)
	}
	op := pl.cat.Operations[in.method]
	pl.moves[s.ID] = op.MovesBody
	pl.steps = append(pl.steps, s)
	return s.ID
}

// publish gives the last step that measures an output its key, and makes the reader depend on it and read it under this key: a later
// reading of the same thing is another output.
func (pl *planning) publish(key string, by *turn.Step) {
	field := strings.TrimPrefix(by.When.Ref, key+".")
	for i := range slices.Backward(pl.steps) {
		s := &pl.steps[i]
		if _, measures := pl.cat.Operations[catalog.Method(s.TaskMethod)].Output[field]; !measures && pl.gives[s.ID] != key {
			continue
		}
		if s.OutputKey == "" {
			s.OutputKey = pl.freeKey(key)
		}
		when := *by.When
		when.Ref = s.OutputKey + "." + field
		by.When, by.InputFrom = &when, &wire.InputFrom{Visible: []string{s.OutputKey}}
		if !slices.ContainsFunc(by.DependsOn, func(d wire.Dependency) bool { return d.Step == s.ID }) {
			by.DependsOn = append(by.DependsOn, wire.Dependency{Step: s.ID})
		}
		return
	}
}

// freeKey is the key, or with a number behind it where an earlier step has it: "air_state_2".
func (pl *planning) freeKey(key string) string {
	for n, free := 2, key; ; n++ {
		if !slices.ContainsFunc(pl.steps, func(s turn.Step) bool { return s.OutputKey == free }) {
			return free
		}
		free = fmt.Sprintf("%s_%d", key, n)
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
