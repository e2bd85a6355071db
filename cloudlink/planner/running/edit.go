package running

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// edit is a change of a plan that is under way, as far as it has come. A step that is replaced or taken out is always named in cancel_steps,
// also where it is believed not to have begun: it may begin while the words are on their way, and a revision that only leaves it out would
// let it go on then. What takes its place has an id of its own, for the same reason.
type edit struct {
	cat    *catalog.Catalog
	plan   wire.Plan // the next revision
	state  map[string]string
	ahead  map[string]bool // steps that are surely not begun: the device has said so just now
	cancel []string
	made   []string // ids of this revision
	fault  string   // why the change is not possible; empty: it is
}

// begin makes the next revision of a plan, which is the plan as it is.
func begin(cat *catalog.Catalog, w turn.Workflow) *edit {
	e := &edit{cat: cat, plan: w.Plan, state: map[string]string{}, ahead: map[string]bool{}}
	for _, s := range w.Steps {
		e.state[s.ID] = s.State
		e.ahead[s.ID] = s.AgeMS < staleMS && slices.Contains(ahead, s.State)
	}
	e.plan.Workflow.Revision, e.plan.Workflow.CancelSteps = w.Revision+1, nil
	e.plan.Workflow.ExpiresAt, e.plan.Workflow.TTLMS = "", 0
	if d := e.plan.Workflow.DeadlineMS; d > 0 { // it counts from the beginning: what is new gets the time that the old had
		e.plan.Workflow.DeadlineMS = min(d+w.AgeMS, maxDeadlineMS)
	}
	e.plan.Requests = slices.Clone(w.Plan.Requests)
	if w.Plan.Experience != nil {
		own := *w.Plan.Experience
		own.Effects, own.Temporal = slices.Clone(own.Effects), slices.Clone(own.Temporal)
		e.plan.Experience = &own
	}
	return e
}

// maxDeadlineMS is the contract's.
const maxDeadlineMS int64 = 7_776_000_000

// over are the states of a step that has ended. Source: docs/taskmanager.md, states.
var over = []string{"completed", "satisfied", "failed", "timed_out", "cancelled", "skipped"}

// done are those that say that what the step is for holds.
var done = []string{"completed", "satisfied"}

// unfinished are the steps that have not ended, or of which nobody knows that they have.
func (e *edit) unfinished() (out []wire.Request) {
	for _, r := range e.plan.Requests {
		if !slices.Contains(over, e.state[r.CloudStepID]) {
			out = append(out, r)
		}
	}
	return out
}

var revised = regexp.MustCompile(`_r[0-9]+$`)

// fresh makes an id that the plan never had: ids are for ever, and so is the number of the revision in it.
func (e *edit) fresh(base string) string {
	id := fmt.Sprintf("%s_r%d", revised.ReplaceAllString(base, ""), e.plan.Workflow.Revision)
	for taken := true; taken; {
		taken = slices.ContainsFunc(e.plan.Requests, func(r wire.Request) bool { return r.CloudStepID == id }) || slices.Contains(e.cancel, id)
		if taken {
			id += "x"
		}
	}
	return id
}

// swap puts a chain of steps in the place of one; none takes it out. The first of the chain waits for what the step waited for, what
// waited for the step waits for the last of it.
func (e *edit) swap(old string, chain ...wire.Request) {
	at := e.index(old)
	was := e.plan.Requests[at]
	for i := range chain {
		r := &chain[i]
		if r.ContractVersion, r.CloudWorkflowID = was.ContractVersion, was.CloudWorkflowID; i == 0 {
			r.DependsOn = slices.Clone(was.DependsOn)
			r.TemporalRelation, r.TemporalAnchorID, r.DelayMS, r.When = was.TemporalRelation, was.TemporalAnchorID, was.DelayMS, was.When
			continue
		}
		r.DependsOn = []wire.Dependency{{Step: chain[i-1].CloudStepID}}
		r.TemporalRelation, r.TemporalAnchorID, r.DelayMS, r.When = "", "", 0, nil
	}
	e.plan.Requests = slices.Replace(e.plan.Requests, at, at+1, chain...)
	e.cancel = append(e.cancel, old)
	var changed []string
	for i := range e.plan.Requests {
		if r := &e.plan.Requests[i]; e.relink(r, was, chain) && !e.ahead[r.CloudStepID] {
			changed = append(changed, r.CloudStepID)
		}
	}
	e.regoal(was, chain)
	for _, id := range changed {
		e.renew(id)
	}
}

// renew gives a step that waits for something else now an id of its own: it may have begun, for all that is known, and one that has begun
// cannot be changed under its id. What is new already stays.
func (e *edit) renew(id string) {
	at := e.index(id)
	if at < 0 || e.fault != "" || slices.Contains(e.made, id) {
		return
	}
	again := e.plan.Requests[at]
	again.CloudStepID = e.fresh(id)
	e.made = append(e.made, again.CloudStepID)
	e.swap(id, again)
}

// relink leads what one step says of the old one to what took its place, and says whether it said anything.
func (e *edit) relink(r *wire.Request, was wire.Request, chain []wire.Request) bool {
	old := was.CloudStepID
	if !slices.ContainsFunc(r.DependsOn, func(d wire.Dependency) bool { return d.Step == old }) && r.TemporalAnchorID != old && !reads(*r, was.OutputKey) {
		return false
	}
	if len(chain) == 0 && reads(*r, was.OutputKey) {
		e.fault = r.CloudStepID
		return false
	}
	var deps []wire.Dependency
	add := func(d wire.Dependency) {
		if !slices.ContainsFunc(deps, func(have wire.Dependency) bool { return have.Step == d.Step }) {
			deps = append(deps, d)
		}
	}
	for _, d := range r.DependsOn {
		switch {
		case d.Step != old:
			add(d)
		case len(chain) > 0:
			add(wire.Dependency{Step: chain[len(chain)-1].CloudStepID, On: d.On})
		default:
			for _, before := range was.DependsOn {
				add(before)
			}
		}
	}
	r.DependsOn = deps
	if r.TemporalAnchorID == old {
		switch {
		case len(chain) > 0:
			r.TemporalAnchorID = chain[len(chain)-1].CloudStepID
		case len(was.DependsOn) > 0:
			r.TemporalAnchorID = was.DependsOn[0].Step
		default:
			r.TemporalRelation, r.TemporalAnchorID = "", ""
		}
	}
	return true
}

// reads says whether a step needs an output by its key: as a parameter, or in its condition.
func reads(r wire.Request, key string) bool {
	if key == "" {
		return false
	}
	of := func(path string) bool { return path == key || strings.HasPrefix(path, key+".") }
	if in := r.InputFrom; in != nil {
		if slices.ContainsFunc(in.Visible, of) || slices.ContainsFunc(slices.Collect(maps.Values(in.Params)), of) {
			return true
		}
	}
	return r.When != nil && refers(*r.When, of)
}

func refers(c wire.Condition, of func(string) bool) bool {
	inside := func(c wire.Condition) bool { return refers(c, of) }
	return c.Ref != "" && of(c.Ref) || slices.ContainsFunc(c.All, inside) || slices.ContainsFunc(c.Any, inside) || c.Not != nil && inside(*c.Not)
}

// regoal keeps the goal of the plan with the steps that bring it about.
func (e *edit) regoal(was wire.Request, chain []wire.Request) {
	g := e.plan.Experience
	if g == nil {
		return
	}
	last := ""
	if len(chain) > 0 {
		last = chain[len(chain)-1].CloudStepID
	}
	for i := range g.Effects {
		if g.Effects[i].StepID == was.CloudStepID {
			g.Effects[i].StepID = last
		}
	}
	for i := range g.Temporal {
		if g.Temporal[i].StepID == was.CloudStepID {
			g.Temporal[i].StepID = last
		}
	}
	g.Effects = slices.DeleteFunc(g.Effects, func(x wire.GoalEffect) bool { return x.StepID == "" })
	g.Temporal = slices.DeleteFunc(g.Temporal, func(x wire.GoalTemporal) bool { return x.StepID == "" })
}

func (e *edit) index(id string) int {
	return slices.IndexFunc(e.plan.Requests, func(r wire.Request) bool { return r.CloudStepID == id })
}

// end gives the revision with what it stops; false: the change is not possible.
func (e *edit) end() (wire.Plan, bool) {
	e.plan.Workflow.CancelSteps = e.cancel
	goalless := e.plan.Experience != nil && len(e.plan.Experience.Effects) == 0
	return e.plan, e.fault == "" && len(e.plan.Requests) > 0 && !goalless && len(e.cancel) > 0
}

// idle says whether nothing of the plan is left to do.
func (e *edit) idle() bool { return len(e.unfinished()) == 0 }

// roomParam is the parameter of an operation that names a room to go to; empty: it goes nowhere.
func roomParam(cat *catalog.Catalog, method string) string {
	op := cat.Operations[catalog.Method(method)]
	for _, name := range slices.Sorted(maps.Keys(op.Params)) {
		if op.Params[name].Type == catalog.RoomRef {
			return name
		}
	}
	return ""
}

// goesTo is the room that a step goes to; empty: it goes nowhere, or nobody knows the room.
func goesTo(cat *catalog.Catalog, r wire.Request) catalog.RoomID {
	name, _ := r.Params[roomParam(cat, r.TaskMethod)].V.(string)
	room, ok, _ := cat.FindRoom(name)
	if name == "" || !ok {
		return ""
	}
	return room.ID
}

// place is the room in which a step is done: that of the nearest way before it; empty: wherever the robot is.
func (e *edit) place(r wire.Request) catalog.RoomID {
	for seen := 0; seen <= len(e.plan.Requests); seen++ {
		next := -1
		for _, d := range r.DependsOn {
			next = max(next, e.index(d.Step))
		}
		if next < 0 {
			return ""
		}
		if r = e.plan.Requests[next]; roomParam(e.cat, r.TaskMethod) != "" {
			return goesTo(e.cat, r)
		}
	}
	return ""
}
