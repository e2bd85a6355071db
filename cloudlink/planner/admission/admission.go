package admission

import (
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// The reasons of a judgement, as reason_code says them. Source: docs/admission.md.
const (
	ReasonNoTarget     = "no_live_target"      // not_admitted: nothing to reply to
	ReasonAbout        = "about_the_product"   // not_admitted: it asks how things are or work
	ReasonNoRequest    = "no_request"          // not_admitted: a question or a remark
	ReasonOrders       = "orders_only"         // not_admitted: each thing is said, and nothing holds them together but their order
	ReasonStillAsked   = "still_asked"         // candidate: something is asked back first
	ReasonNoStep       = "no_validated_step"   // candidate: nothing is planned that could bring it about
	ReasonBadPlan      = "plan_not_valid"      // candidate: the steps do not compile
	ReasonPart         = "plan_covers_part"    // candidate: of what belongs together only one part is planned
	ReasonNoEffect     = "no_effect"           // candidate: no step has an effect of the catalog
	ReasonNothingSure  = "nothing_certain"     // candidate: every effect hangs on a condition
	ReasonTier         = "tier_blocked"        // blocked: the steps need a higher tier than the device has
	ReasonDisabled     = "experience_disabled" // blocked: the device evaluates no goals
	ReasonSensing      = "continuous_sensing"  // blocked: nothing here watches all the time
	ReasonHealth       = "health_judgement"    // blocked: nothing here judges how somebody is
	ReasonGrounded     = "effects_grounded"    // activated
	ReasonKept         = "goal_kept"           // activated: the plan is revised, and its goal stays what it was
	ReasonRevision     = "plain_plan_revised"  // not_admitted: the plan that is revised has no goal
	tierOff            = "off"                 // as a device reports that it evaluates no goals
	defaultTier        = "restricted"          // of a device that has not said its tier: what is shipped. Source: docs/settings.md
	maxSummary         = 200                   // bytes of what was said, kept with the goal
	experienceContract = "experience.v1"
)

// Judge judges turns. It is built once and may be used by several goroutines at once.
type Judge struct {
	cat   *catalog.Catalog
	words *words
	rooms []string
}

// New builds a judge over a catalog.
func New(cat *catalog.Catalog) *Judge {
	j := &Judge{cat: cat, words: readWords(cat)}
	for _, r := range cat.Rooms {
		j.rooms = append(j.rooms, names(r.Name, r.Aliases)...)
	}
	return j
}

// roomsOf are the names of places: those of the device, where it has told some.
func (j *Judge) roomsOf(told []wire.Room) []string {
	if len(told) == 0 {
		return j.rooms
	}
	var out []string
	for _, r := range told {
		out = append(out, names(r.Name, r.Aliases)...)
	}
	return out
}

func names(name string, aliases []string) []string {
	out := []string{squeeze(name)}
	for _, a := range aliases {
		out = append(out, squeeze(a))
	}
	return out
}

// Refine sets the experience request of a decision, and nothing else of it.
func (j *Judge) Refine(in turn.Input, d turn.Decision) turn.Decision {
	d.Experience = j.Judge(in, d)
	return d
}

// Judge says whether a decision is about a goal, and which. It is never nil.
func (j *Judge) Judge(in turn.Input, d turn.Decision) *turn.ExperienceRequest {
	if d.Revises != nil {
		return j.kept(in, d)
	}
	byStep := j.readSteps(d)
	if len(byStep) == 0 && !j.words.hinted(in.Text) {
		return refused(ReasonOrders)
	}
	switch {
	case d.OwnerSelection == turn.STTNull:
		return refused(ReasonNoTarget)
	case d.OwnerSelection == turn.DQR && len(d.Steps) == 0:
		return refused(ReasonAbout)
	}
	s := hear(in.Text, j.roomsOf(in.Rooms))
	acts := j.acts(d)
	if (s.question && s.korean() || !acts) && !j.words.requests(s) {
		return refused(ReasonNoRequest)
	}
	if s.look(j.words); !acts && s.has(ofAbout) {
		return refused(ReasonAbout)
	}
	f, ok := j.words.read(s)
	for _, a := range axisOrder {
		if span, holds := byStep[a]; holds {
			f.set(span, a)
		}
	}
	if !ok && len(byStep) == 0 {
		return refused(ReasonOrders)
	}
	return j.ground(in, d, f)
}

func refused(reason string) *turn.ExperienceRequest {
	return &turn.ExperienceRequest{Admission: turn.NotAdmitted, ReasonCode: reason}
}

// acts says whether something is done, or told, beyond reading a value.
func (j *Judge) acts(d turn.Decision) bool {
	return slices.ContainsFunc(d.Steps, func(s turn.Step) bool {
		return s.Skill != "" || s.TaskMethod != "" && !j.cat.Operations[catalog.Method(s.TaskMethod)].ReadOnly
	})
}

// provider is who does a step: a capability, or a skill.
func (j *Judge) provider(s turn.Step) string {
	if s.Skill != "" {
		return s.Skill
	}
	return j.cat.Operations[catalog.Method(s.TaskMethod)].Capability
}

// readSteps finds the axes in the steps: whatever the language was, and whoever has planned them. Empty: the steps make no goal
// together.
func (j *Judge) readSteps(d turn.Decision) map[string]string {
	if len(d.Steps) < 2 && !slices.ContainsFunc(d.Steps, func(s turn.Step) bool { return s.AnchorEvent != "" }) {
		return nil
	}
	f := found{spans: map[string]string{}}
	var of []string
	moved, joined := false, false
	for _, s := range d.Steps {
		of = union(of, []string{j.provider(s)})
	}
	for _, s := range d.Steps {
		op := j.cat.Operations[catalog.Method(s.TaskMethod)]
		if s.AnchorEvent != "" {
			f.set(s.Span, Temporal, Lasting, Observation, Several) // who does the other work is a provider, too
			joined = true
		}
		if s.When != nil && (moved || len(of) > 2 || slices.ContainsFunc(of, j.tells)) {
			f.set(s.Span, Temporal, Lasting, Observation)
			joined = true
		}
		if op.HumanPaced && len(of) > 1 {
			f.set(s.Span, Lasting, Observation)
			joined = true
		}
		moved = moved || op.MovesBody
	}
	if len(of) > 1 {
		f.set(d.Steps[0].Span, Several)
	}
	if !joined {
		return nil
	}
	return f.spans
}

func (j *Judge) tells(provider string) bool {
	_, skill := j.cat.Skills[catalog.SkillID(provider)]
	return skill
}

// ground puts what was found on the steps that are there.
func (j *Judge) ground(in turn.Input, d turn.Decision, f found) *turn.ExperienceRequest {
	x := &turn.ExperienceRequest{Admission: turn.Candidate}
	for _, a := range axisOrder {
		if span, holds := f.spans[a]; holds {
			x.Axes = append(x.Axes, a)
			x.Evidence = append(x.Evidence, turn.Evidence{Kind: "axis", ID: a, Span: span})
		}
	}
	goal, reason := j.goal(in, d, f)
	x.Goal = &goal
	switch {
	case f.gap != "":
		x.Admission, x.ReasonCode = turn.Blocked, f.gap
	case d.AskFollowUp:
		x.ReasonCode = ReasonStillAsked
	case reason != "":
		x.ReasonCode = reason
	case f.goal == "" && !j.together(d):
		x.ReasonCode = ReasonPart
	case in.Around.Tier == tierOff:
		x.Admission, x.ReasonCode = turn.Blocked, ReasonDisabled
	case !j.allowed(in.Around.Tier, d):
		x.Admission, x.ReasonCode = turn.Blocked, ReasonTier
	default:
		x.Admission, x.ReasonCode = turn.Activated, ReasonGrounded
	}
	return x
}

// together says whether the steps are of more than one provider, or wait for other work: else what was to be kept together is not planned.
func (j *Judge) together(d turn.Decision) bool {
	return slices.ContainsFunc(d.Steps, func(s turn.Step) bool { return s.AnchorEvent != "" || j.provider(s) != j.provider(d.Steps[0]) })
}

// allowed says whether the tier of the device lets all steps of a plan with a goal run. Where it does not, the plan goes without one:
// a goal must not take away what would have been done without it.
func (j *Judge) allowed(tier string, d turn.Decision) bool {
	if tier == "" {
		tier = defaultTier
	}
	if tier == "full" || tier == "shadow" {
		return true
	}
	return !slices.ContainsFunc(d.Steps, func(s turn.Step) bool {
		if s.Skill != "" {
			return false
		}
		resolved, faults := j.cat.Resolve(catalog.Method(s.TaskMethod), s.Params.Map())
		return tier != defaultTier || len(faults) > 0 || resolved.Operation.MinTier == catalog.TierFull
	})
}
