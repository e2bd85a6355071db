package running

import (
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// revise changes a plan that is under way: "안방 말고 주방으로 가", "아니 주방으로 가", "청정은 빼고". Where no open plan has what is meant the words
// stay what they are for the main planner: a new wish.
func (r *Runner) revise(in turn.Input) (turn.Decision, bool) {
	if len(in.Around.Workflows) == 0 {
		return turn.Decision{}, false
	}
	text := tidy(in.Text)
	if m, ok := match(say.Replace, text); ok {
		if d, ok := r.replace(in, m["x"], m["y"]); ok {
			return d, true
		}
	}
	if m, ok := match(say.Instead, text); ok {
		if d, ok := r.instead(in, m["y"]); ok {
			return d, true
		}
	}
	if m, ok := match(say.Drop, text); ok {
		return r.drop(in, m["x"], "dropped")
	}
	return r.chosenWay(in)
}

// chosenWay takes a room as the answer to "어디 대신 갈까요?", which was asked a moment ago about the words before it.
func (r *Runner) chosenWay(in turn.Input) (turn.Decision, bool) {
	n := len(in.Around.History)
	if n < 2 || in.Around.History[n-1].By != "robot" {
		return turn.Decision{}, false
	}
	m, ok := match(say.Instead, tidy(in.Around.History[n-2].Text))
	if s := r.subjectOf(in, tidy(in.Text)); !ok || !s.named || len(s.method) > 0 {
		return turn.Decision{}, false
	}
	before := in
	before.Text = in.Around.History[n-2].Text
	if d, asked := r.instead(before, m["y"]); !asked || d.TTSResponse != in.Around.History[n-1].Text {
		return turn.Decision{}, false
	}
	return r.replace(in, tidy(in.Text), m["y"])
}

// wish is what is wanted in place of something: a room, steps, or both.
type wish struct {
	room  catalog.Room
	named bool
	steps []turn.Step // beside the way there
}

// wishOf reads what is wanted: "주방으로 가", "주방으로", "안방 청정해줘". false: it is not understood whole.
func (r *Runner) wishOf(in turn.Input, y string) (w wish, ok bool) {
	if s := r.subjectOf(in, y); s.named && len(s.method) == 0 {
		return wish{room: s.room, named: true}, s.room.Reachable
	}
	d := r.words.Read(with(in, y))
	if d.OwnerSelection != turn.ODL || d.AskFollowUp || d.Control != nil || len(d.Steps) == 0 || len(d.Refused) > 0 {
		return w, false
	}
	for _, step := range d.Steps {
		name := roomParam(r.cat, step.TaskMethod)
		if name == "" {
			w.steps = append(w.steps, step)
			continue
		}
		said, _ := step.Params[name].V.(string)
		if w.named { // a way through two rooms is a new plan
			return w, false
		}
		if w.room, w.named, _ = r.home(in).FindRoom(said); !w.named {
			return w, false
		}
	}
	return w, true
}

// replace puts one thing in the place of another: a room for a room, or one operation for another.
func (r *Runner) replace(in turn.Input, x, y string) (turn.Decision, bool) {
	old, want := r.subjectOf(in, x), wish{}
	want, ok := r.wishOf(in, y)
	if !ok || old.nothing() {
		return turn.Decision{}, false
	}
	for _, w := range inOrder(in.Around) {
		e := begin(r.home(in), w)
		var fits bool
		switch {
		case old.named && want.named && len(old.method) == 0:
			fits = e.elsewhere(old.room, want)
		case len(old.method) > 0 && len(want.steps) == 1 && !want.named:
			fits = e.other(old, want.steps[0])
		}
		if d, ok := r.revision(in, w, e, fits, say1(in, "replaced", r.wished(in, want))); ok {
			return d, true
		}
	}
	return turn.Decision{}, false
}

// instead leads to another room than the one that was meant a moment ago. Where the plan has several ways still before it, it is asked which.
func (r *Runner) instead(in turn.Input, y string) (turn.Decision, bool) {
	want, ok := r.wishOf(in, y)
	if !ok || !want.named || len(want.steps) > 0 {
		return turn.Decision{}, false
	}
	for _, w := range inOrder(in.Around) {
		e := begin(r.home(in), w)
		var ways []wire.Request
		for _, q := range e.unfinished() {
			if to := goesTo(e.cat, q); to != "" && to != want.room.ID {
				ways = append(ways, q)
			}
		}
		if len(ways) > 1 {
			d := decided(in, "which_way", say1(in, "which_way", r.roomsOf(in, ways)), "question")
			d.AskFollowUp, d.MissingSlots, d.AmbiguityReason = true, []string{"position"}, "several_ways"
			return d, true
		}
		if len(ways) == 1 {
			e.redirect(ways[0], want.room)
		}
		if d, ok := r.revision(in, w, e, len(ways) == 1, say1(in, "replaced", r.wished(in, want))); ok {
			return d, true
		}
	}
	return turn.Decision{}, false
}

// drop takes something out of a plan, and lets the rest go on. Where nothing is left of it the plan is cancelled.
func (r *Runner) drop(in turn.Input, x, sentence string) (turn.Decision, bool) {
	old := r.subjectOf(in, x)
	if old.nothing() || old.kind != "" {
		return turn.Decision{}, false
	}
	for _, w := range inOrder(in.Around) {
		e := begin(r.home(in), w)
		gone := e.meant(old)
		if len(gone) == 0 {
			continue
		}
		for _, q := range gone {
			e.swap(q.CloudStepID)
		}
		if e.fault != "" {
			return decided(in, "needed_later", say1(in, "needed_later", r.nameOf(in, e.plan, e.fault)), "failed"), true
		}
		if e.idle() {
			return r.cancelWhole(in, w, say1(in, sentence+"_all", bare(x))), true
		}
		return r.revision(in, w, e, true, say1(in, sentence, bare(x)))
	}
	return turn.Decision{}, false
}

// revision is the decision for a change of a plan.
func (r *Runner) revision(in turn.Input, w turn.Workflow, e *edit, fits bool, said string) (turn.Decision, bool) {
	plan, ok := e.end()
	if !fits || !ok {
		return turn.Decision{}, false
	}
	plan.Workflow.Origin = &wire.Origin{TurnID: in.TurnID, Utterance: in.Text, Locale: in.Locale}
	d := decided(in, "revise", said, "ack")
	d.Steps = r.stepsOf(in, plan)
	for i := range d.Steps { // each step cites the words that asked for it
		if d.Steps[i].Span = in.Text; slices.ContainsFunc(w.Plan.Requests, func(q wire.Request) bool { return q.CloudStepID == d.Steps[i].ID }) {
			d.Steps[i].Span = w.Utterance
		}
	}
	d.TurnMode = turn.Mode(d.Steps)
	d.Revises = &turn.Revises{WorkflowID: w.WorkflowID, PlanID: w.PlanID, Revision: plan.Workflow.Revision, CancelSteps: plan.Workflow.CancelSteps,
		How: SmallestChange, Plan: plan}
	return d, true
}

// The ways in which a plan is made anew.
const (
	SmallestChange = "smallest_change"
	Rebuilt        = "rebuilt"
)

// meant are the unfinished steps that words name: those of an operation, in a room if one is named with it; else all that is done in that
// room, with the way there.
func (e *edit) meant(s subject) (out []wire.Request) {
	for _, q := range e.unfinished() {
		moves := roomParam(e.cat, q.TaskMethod) != ""
		there := e.place(q) == s.room.ID
		if moves {
			there = goesTo(e.cat, q) == s.room.ID
		}
		switch {
		case s.moves:
			if moves {
				out = append(out, q)
			}
		case len(s.method) > 0:
			if slices.Contains(s.method, q.TaskMethod) && (!s.named || there) {
				out = append(out, q)
			}
		case s.named && there:
			out = append(out, q)
		}
	}
	return out
}

// elsewhere leads from one room to another: the way there, if it is still before the robot; else, where something is named that is done in
// that room and has not ended, a way to the other room and the same there.
func (e *edit) elsewhere(from catalog.Room, want wish) bool {
	if from.ID == want.room.ID {
		return false
	}
	var found bool
	for _, q := range e.unfinished() {
		if goesTo(e.cat, q) == from.ID {
			e.redirect(q, want.room)
			found = true
		}
	}
	if found {
		return len(want.steps) == 0 || e.does(want.steps)
	}
	for _, q := range e.unfinished() {
		if e.place(q) != from.ID || !slices.ContainsFunc(want.steps, func(s turn.Step) bool { return s.TaskMethod == q.TaskMethod }) {
			continue
		}
		way, ok := e.wayTo(want.room)
		if !ok {
			return false
		}
		again := q
		again.CloudStepID = e.fresh(q.CloudStepID)
		e.swap(q.CloudStepID, way, again)
		found = true
	}
	return found
}

// does says whether the rest of the plan has what is named beside a room: "거실 말고 안방 청정해줘" of a plan without cleaning is a new wish.
func (e *edit) does(steps []turn.Step) bool {
	left := e.unfinished()
	return !slices.ContainsFunc(steps, func(s turn.Step) bool {
		return !slices.ContainsFunc(left, func(q wire.Request) bool { return q.TaskMethod == s.TaskMethod })
	})
}

// redirect leads a way to another room.
func (e *edit) redirect(q wire.Request, room catalog.Room) {
	other := q
	other.CloudStepID = e.fresh(q.CloudStepID)
	other.Params = wire.Object{}
	for name, v := range q.Params {
		other.Params[name] = v
	}
	other.Params[roomParam(e.cat, q.TaskMethod)] = wire.Value{V: room.Name}
	e.swap(q.CloudStepID, other)
}

// wayTo is a step to a room, by the operation that the plan or the catalog goes with.
func (e *edit) wayTo(room catalog.Room) (wire.Request, bool) {
	for _, q := range e.plan.Requests {
		if name := roomParam(e.cat, q.TaskMethod); name != "" {
			return wire.Request{CloudStepID: e.fresh(q.CloudStepID), ExecutionTarget: "device", TaskMethod: q.TaskMethod,
				Params: wire.Object{name: {V: room.Name}}, ExecutionMode: "queued_wait", WaitPolicy: "completed"}, true
		}
	}
	return wire.Request{}, false
}

// other puts another operation in the place of one.
func (e *edit) other(old subject, want turn.Step) bool {
	gone := e.meant(old)
	if len(gone) != 1 || gone[0].TaskMethod == want.TaskMethod && len(want.Params) == 0 {
		return false
	}
	q := gone[0]
	other := wire.Request{CloudStepID: e.fresh(q.CloudStepID), ExecutionTarget: "device", TaskMethod: want.TaskMethod, Params: want.Params,
		ExecutionMode: "queued_wait", WaitPolicy: want.WaitPolicy}
	if e.awaited(q.CloudStepID) { // what follows waits for its end, and not for its start alone
		for _, effect := range e.cat.Operations[catalog.Method(want.TaskMethod)].MoreEffects {
			other.RequiredEffects = append(other.RequiredEffects, wire.RequiredEffect{EffectID: string(effect)})
		}
	}
	e.swap(q.CloudStepID, other)
	return true
}

func (e *edit) awaited(id string) bool {
	return slices.ContainsFunc(e.plan.Requests, func(r wire.Request) bool {
		return slices.ContainsFunc(r.DependsOn, func(d wire.Dependency) bool { return d.Step == id })
	})
}
