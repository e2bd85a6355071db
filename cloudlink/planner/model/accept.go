package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// maxSteps bounds what one sentence becomes.
const maxSteps = 16

// proposal is what a model's output becomes: a decision, the faults that a repair is told of, or what is asked back in its place.
type proposal struct {
	decision turn.Decision
	faults   []string
	asked    bool // the words do not carry the action: it is asked about
}

// accepting checks one output against registry, catalog and utterance.
type accepting struct {
	*Planner
	in    turn.Input
	draft turn.Decision
	cat   *catalog.Catalog
	out   output
	prop  proposal
	speaker
}

func (p *Planner) accept(in turn.Input, draft turn.Decision, out output) *accepting {
	a := &accepting{Planner: p, in: in, draft: draft, cat: p.cat(in), out: out, speaker: speakerOf(in)}
	a.owner()
	if len(a.prop.faults) == 0 {
		a.act()
	}
	return a
}

func (a *accepting) fault(format string, args ...any) {
	a.prop.faults = append(a.prop.faults, fmt.Sprintf(format, args...))
}

// owner fills in who serves the turn. Flow, agent, skill and routes have to be those of one registered flow.
func (a *accepting) owner() {
	o := a.out
	f, ok := a.reg.agents.Flow(o.SelectedFlowID)
	switch {
	case !ok || string(f.Family) != o.OwnerSelection || f.Agent != o.SelectedAgent || f.Skill != o.SelectedSkill:
		a.fault("selected_flow_id, selected_agent, selected_skill: are not those of owner_selection")
	case len(o.SelectedRoutes) == 0 || o.SelectedRoutes[0] != o.OwnerSelection:
		a.fault("selected_routes: the owner does not come first")
	}
	d := owned(f)
	for _, r := range o.SelectedRoutes {
		if !slices.Contains(d.SelectedRoutes, turn.Family(r)) {
			d.SelectedRoutes = append(d.SelectedRoutes, turn.Family(r))
		}
	}
	d.TurnMode, d.FamilyConfidence = "singleton", o.FamilyConfidence
	if o.RunnerUpFamily != none && o.RunnerUpFamily != o.OwnerSelection {
		d.RunnerUpFamily = turn.Family(o.RunnerUpFamily)
	}
	d.NeedsSecondPass = o.NeedsSecondPass
	if plain(o.AmbiguityReason, mostPurpose) {
		d.AmbiguityReason = o.AmbiguityReason
	}
	if f.Family == turn.STTNull {
		d.STTNullSubtype, d.STTNullScope, d.STTNullRecovery = orEmpty(o.STTNullSubtype), orEmpty(o.STTNullScope), orEmpty(o.STTNullRecovery)
	}
	a.prop.decision = d
}

// owned is a decision of a flow.
func owned(f registry.Flow) turn.Decision {
	return turn.Decision{SelectedRoutes: []turn.Family{f.Family}, OwnerSelection: f.Family, SelectedFlowID: f.ID(), SelectedAgent: f.Agent, SelectedSkill: f.Skill}
}

func orEmpty(word string) string {
	if word == none {
		return ""
	}
	return word
}

// act fills in what is done and said.
func (a *accepting) act() {
	d := &a.prop.decision
	o := a.out
	switch {
	case d.OwnerSelection != turn.ODL && len(o.Steps) > 0:
		a.fault("steps: belong to ODL only")
	case o.AskFollowUp || len(o.MissingSlots) > 0:
		a.ask(o.MissingSlots)
	case d.OwnerSelection != turn.ODL:
		d.TTSResponse = a.spoken()
	case len(o.Steps) == 0:
		a.fault("steps: ODL without steps has to ask: ask_follow_up")
	default:
		a.plan()
	}
}

// ask makes a question of the decision, in the model's words if they are one.
func (a *accepting) ask(slots []string) {
	d := &a.prop.decision
	d.Steps, d.AskFollowUp, d.TurnMode = nil, true, "multi_turn"
	for _, s := range slots {
		if !slices.Contains(d.MissingSlots, s) {
			d.MissingSlots = append(d.MissingSlots, s)
		}
	}
	text, ok := asking(a.out.TTSResponse)
	switch {
	case ok:
		d.TTSResponse = text
	case slices.Contains(d.MissingSlots, "position"):
		d.TTSResponse = a.say("ask_room")
	default:
		d.TTSResponse = a.say("ask")
	}
}

// askBack asks about an action that the words do not carry.
func (a *accepting) askBack(text string) {
	a.out.TTSResponse = ""
	a.ask(nil)
	a.prop.asked, a.prop.decision.TTSResponse, a.prop.decision.FamilyConfidence = true, text, "low"
}

// spoken is what is said where nothing is done. Only conversation is in the model's words: elsewhere they would be facts or promises.
func (a *accepting) spoken() string {
	family := a.prop.decision.OwnerSelection
	if text, ok := reply(a.out.TTSResponse); ok && family == turn.DEF {
		return text
	}
	if family == a.draft.OwnerSelection && a.draft.TTSResponse != "" {
		return a.draft.TTSResponse
	}
	if family == turn.UNS {
		return a.refusal()
	}
	return a.say(string(family))
}

// refusal is that of the category which the model names and the words have.
func (a *accepting) refusal() string {
	for _, e := range a.out.ContraryEvidence {
		if e.Kind == byUnsupported && a.proven(e) {
			a.prop.decision.UnsupportedCategory = e.ID
			refusal := a.reg.words.Unsupported[e.ID].Refusal
			if a.english {
				return refusal.En
			}
			return refusal.Ko
		}
	}
	return a.say(string(turn.UNS))
}

// plan makes the steps and holds them to the compiler and to the device's own check.
func (a *accepting) plan() {
	d := &a.prop.decision
	if len(a.out.Steps) > maxSteps {
		a.fault("steps: are more than %d", maxSteps)
		return
	}
	for i, s := range a.out.Steps {
		d.Steps = append(d.Steps, a.step(fmt.Sprintf("steps[%d]", i), s))
	}
	a.joinReadings()
	if len(a.prop.faults) > 0 {
		return
	}
	d.TurnMode, d.TTSResponse = turn.Mode(d.Steps), a.say("steps")
	if same(a.draft, *d) {
		return // what the rules have found in the words themselves needs no other anchor
	}
	if a.prop.faults = append(a.prop.faults, a.opt.Check(a.in, *d)...); len(a.prop.faults) > 0 {
		return
	}
	a.anchor()
}

// anchor asks back about actions that the words do not carry: a question and a negation start nothing, and behind an action there has to be
// a word of its capability, or the room to which it goes.
func (a *accepting) anchor() {
	acts := false
	for _, s := range a.prop.decision.Steps {
		op := a.cat.Operations[catalog.Method(s.TaskMethod)]
		if op.ReadOnly {
			continue
		}
		acts = true
		if !a.anchored(op, s) {
			a.askBack(a.askAct(op))
			return
		}
	}
	asksOnly := a.reg.isQuestion(a.in.Text) || a.draft.AmbiguityReason == "question_about_an_action"
	if acts && (asksOnly || negates(a.in.Text) || a.prop.decision.FamilyConfidence == "low") {
		a.askBack(a.say("ask"))
	}
}

func (a *accepting) anchored(op catalog.Operation, s turn.Step) bool {
	if hasWord(s.Span, both(op.Aliases)) {
		return true
	}
	if op.Consent != "" || op.Sensitivity != "" {
		return false
	}
	for _, other := range a.cat.Operations {
		if other.Capability == op.Capability && hasWord(s.Span, both(other.Aliases)) {
			return true
		}
	}
	for name, p := range op.Params {
		said, _ := s.Params[name].V.(string)
		if room, ok, _ := a.cat.FindRoom(said); p.Type == catalog.RoomRef && ok && namesRoom(s.Span, room) {
			return true
		}
	}
	return false
}

var stepID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// step types one step by the catalog.
func (a *accepting) step(at string, s step) turn.Step {
	op := a.cat.Operations[catalog.Method(s.DeviceTask.Method)]
	out := turn.Step{ID: s.ID, Route: turn.ODL, Purpose: purpose(s.Purpose, s.DeviceTask.Method), ExecutionTarget: "device", TaskMethod: s.DeviceTask.Method,
		WaitPolicy: s.WaitPolicy, DelayMS: s.DelayMS, RequiredEffects: slices.Clone(s.RequiredEffects), Span: strings.TrimSpace(s.Span)}
	for _, id := range []string{s.ID, s.OutputKey, s.TemporalAnchorID} {
		if id != "" && !stepID.MatchString(id) {
			a.fault("%s: an id is none", at)
		}
	}
	if !cited(a.in.Text, s.Span) {
		a.fault("%s.span: is not in utterance", at)
	}
	out.Params = a.params(at, op, s.DeviceTask.Params)
	for _, id := range s.DependsOn {
		out.DependsOn = append(out.DependsOn, wire.Dependency{Step: id})
	}
	if s.DelayMS != 0 {
		out.TemporalRelation, out.TemporalAnchorID = "after_planned_step", s.TemporalAnchorID
	}
	if out.OutputKey = s.OutputKey; s.OutputKey != "" && len(op.Output) == 0 {
		a.fault("%s.output_key: the operation gives no values", at)
	}
	for _, e := range s.RequiredEffects {
		if !slices.Contains(op.AllEffects(), catalog.EffectID(e)) {
			a.fault("%s.required_effects: the operation does not bring them about", at)
		}
	}
	if len(s.InputFrom) > 0 {
		out.InputFrom = &wire.InputFrom{Visible: slices.Clone(s.InputFrom)}
	}
	out.When = a.when(at, s.When)
	return out
}

// cited says whether a span stands in the utterance, letter by letter but for case and spaces.
func cited(utterance, span string) bool {
	span = folded(span)
	return len([]rune(span)) > 1 && strings.Contains(folded(utterance), span)
}

func (a *accepting) params(at string, op catalog.Operation, said []param) wire.Object {
	out := wire.Object{}
	for _, p := range said {
		spec, ok := op.Params[p.Name]
		v, fits := typed(spec.Type, p.Value)
		_, twice := out[p.Name]
		switch {
		case !ok:
			a.fault("%s.device_task.params: %s is no parameter of this operation", at, p.Name)
		case twice:
			a.fault("%s.device_task.params: %s stands twice", at, p.Name)
		case !fits:
			a.fault("%s.device_task.params: %s is no %s", at, p.Name, spec.Type)
		case spec.Type == catalog.RoomRef && !a.roomSaid(p.Value):
			a.fault("%s.device_task.params: utterance does not name this room; ask for %s", at, p.Name)
		default:
			out[p.Name] = wire.Value{V: v}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// roomSaid says whether a value is a room of this home that the utterance names.
func (a *accepting) roomSaid(value string) bool {
	room, ok, _ := a.cat.FindRoom(value)
	return ok && namesRoom(a.in.Text, room)
}

// typed reads an argument that was written as text.
func typed(t catalog.Type, value string) (any, bool) {
	switch t {
	case catalog.Boolean:
		b, err := strconv.ParseBool(value)
		return b, err == nil && (value == "true" || value == "false")
	case catalog.Integer:
		n, err := strconv.ParseInt(value, 10, 32)
		return float64(n), err == nil
	case catalog.Number:
		f, err := strconv.ParseFloat(value, 64)
		return f, err == nil && f-f == 0 // neither infinite nor no number
	}
	return value, value != ""
}

func (a *accepting) when(at string, said []condition) *wire.Condition {
	var all []wire.Condition
	for _, c := range said {
		leaf := wire.Condition{Ref: c.Ref, Op: c.Op}
		t, ok := a.typeOf(c.Ref)
		var values []any
		for _, text := range c.Values {
			v, fits := typed(t, text)
			ok = ok && fits
			values = append(values, v)
		}
		switch {
		case !ok:
			a.fault("%s.when: a reference or a value is not known", at)
		case c.Op == "in":
			leaf.Value = wire.Value{V: values}
		case c.Op != "exists" && len(values) != 1:
			a.fault("%s.when: %s takes one value", at, c.Op)
		case c.Op != "exists":
			leaf.Value = wire.Value{V: values[0]}
		}
		all = append(all, leaf)
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return &all[0]
	}
	return &wire.Condition{All: all}
}

// typeOf is the type of what a condition reads: a context key, or a field that an earlier step gives.
func (a *accepting) typeOf(ref string) (catalog.Type, bool) {
	if key, ok := strings.CutPrefix(ref, "ctx."); ok {
		k, known := a.cat.Context[catalog.ContextKey(key)]
		return k.Type, known
	}
	key, name, _ := strings.Cut(ref, ".")
	for _, s := range a.prop.decision.Steps {
		if p, ok := a.cat.Operations[catalog.Method(s.TaskMethod)].Output[name]; ok && key != "" && s.OutputKey == key {
			return p.Type, true
		}
	}
	return "", false
}

// joinReadings makes every step that tests a value wait for the step that reads it and see it: a model that names the value means that.
func (a *accepting) joinReadings() {
	byKey := map[string]string{}
	for _, s := range a.prop.decision.Steps {
		if s.OutputKey != "" {
			byKey[s.OutputKey] = s.ID
		}
	}
	for i := range a.prop.decision.Steps {
		s := &a.prop.decision.Steps[i]
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			if s.ID == byKey[key] || !reads(s.When, key) {
				continue
			}
			if s.InputFrom == nil {
				s.InputFrom = &wire.InputFrom{}
			}
			if !slices.Contains(s.InputFrom.Visible, key) {
				s.InputFrom.Visible = append(s.InputFrom.Visible, key)
			}
			if !slices.ContainsFunc(s.DependsOn, func(d wire.Dependency) bool { return d.Step == byKey[key] }) {
				s.DependsOn = append(s.DependsOn, wire.Dependency{Step: byKey[key]})
			}
		}
	}
}

func reads(c *wire.Condition, key string) bool {
	if c == nil {
		return false
	}
	return strings.HasPrefix(c.Ref, key+".") || slices.ContainsFunc(c.All, func(part wire.Condition) bool { return reads(&part, key) })
}
