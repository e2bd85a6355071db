package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// ExperienceState is how an experience stands, for people and planners: the names and the order of experience.v1, then what this device
// knows beside them. It is made from a workflow and kept nowhere. Source: docs/experience.md, the running state.
type ExperienceState struct {
	ContractVersion string     `json:"contract_version"`
	Experience      string     `json:"experience_id"`
	Goal            string     `json:"goal"` // its summary; where the plan gave none, its id
	Status          GoalStatus `json:"status"`
	Phase           string     `json:"current_phase"` // what is under way or waited for; the status where nothing is
	Criteria        []string   `json:"success_criteria"`
	Constraints     []string   `json:"constraints"`
	Subscriptions   []string   `json:"observation_subscriptions"` // events that close one of its effects, or are seen for it in any case
	Sessions        Sessions   `json:"active_sessions"`
	Budget          StateLeft  `json:"replan_budget"`

	GoalID  string    `json:"goal_id,omitempty"`
	Effects []Closing `json:"effects,omitempty"`
	Tier    Tier      `json:"tier,omitempty"`
}

// Sessions are the lifecycles of an experience: that of the device's work, and apart from it that of a content session.
type Sessions struct {
	Workflow WorkflowID `json:"device_workflow_id"`
	Content  string     `json:"content_session_id,omitempty"`
}

// StateLeft is what is left of the budget.
type StateLeft struct {
	Retries   int64  `json:"automatic_retries"`
	Questions int64  `json:"user_questions"`
	Decisions *int64 `json:"decisions,omitempty"`
	Replans   *int64 `json:"replans,omitempty"`
}

// Closing is how far an effect of the goal is.
type Closing struct {
	Effect string      `json:"effect_id"`
	Step   StepID      `json:"step_id"`
	State  EffectState `json:"state"`
}

// WorkflowContext is the plan behind an experience, as short as it can be told.
type WorkflowContext struct {
	Workflow WorkflowID    `json:"workflow_id"`
	Revision int64         `json:"revision"`
	State    WorkflowState `json:"state"`
	Steps    []StepContext `json:"steps"`
}

// StepContext is one step of it.
type StepContext struct {
	ID     StepID    `json:"step_id"`
	Method string    `json:"method"`
	After  []StepID  `json:"after,omitempty"`
	State  StepState `json:"state"`
	Reason Reason    `json:"reason_code,omitempty"`
	Tries  int64     `json:"attempts,omitempty"`
}

// ExperienceVersion is the contract that an experience is of.
const ExperienceVersion = "experience.v1"

// maxSubscribed bounds the events that a state lists.
const maxSubscribed = 12

// Running makes the state of the experience of a workflow; ok false: it has none.
func (s *State) Running(wf *Workflow) (out ExperienceState, ok bool) {
	g := wf.Plan.Goal
	if g == nil {
		return out, false
	}
	left := wf.left()
	out = ExperienceState{ContractVersion: ExperienceVersion, Experience: g.Experience, Goal: g.Summary, Status: wf.GoalStatus(), Phase: wf.phase(), Criteria: wf.criteria(),
		Constraints: append([]string{}, g.Constraints...), Subscriptions: s.subscriptions(wf), Sessions: Sessions{Workflow: wf.Plan.Workflow},
		Budget: StateLeft{Retries: left.Retries, Questions: left.Questions, Decisions: &left.Decisions, Replans: &left.Replans}, GoalID: g.ID, Tier: g.Tier}
	if out.Goal == "" {
		out.Goal = g.ID
	}
	for _, c := range wf.Closures() {
		out.Effects = append(out.Effects, Closing{c.Effect, c.Step, c.State})
	}
	for _, ses := range s.SessionsByAge() {
		if ses.Workflow == wf.Plan.Workflow && !ses.State.Terminal() {
			out.Sessions.Content = string(ses.ID) // the latest that is open
		}
	}
	return out, true
}

// Context tells the plan in short.
func (wf *Workflow) Context() WorkflowContext {
	out := WorkflowContext{Workflow: wf.Plan.Workflow, Revision: wf.Plan.Revision, State: wf.State, Steps: []StepContext{}}
	for i := range wf.Steps {
		st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
		c := StepContext{ID: st.ID, Method: string(spec.Method), State: st.State, Reason: st.Reason, Tries: st.Attempts}
		if c.Method == "" {
			c.Method = spec.Skill
		}
		for _, d := range spec.Deps {
			c.After = append(c.After, wf.Steps[d.Step].ID)
		}
		out.Steps = append(out.Steps, c)
	}
	return out
}

// phases are the words for what a step is at, in the order in which they are told: what needs somebody first.
var phases = []struct {
	state StepState
	word  string
}{
	{OutcomeUnknown, "asking_about_"}, {Cancelling, "stopping_"}, {Blocked, "blocked_at_"}, {Paused, "paused_at_"}, {RetryWait, "retrying_"},
	{Verifying, "verifying_"}, {Running, "waiting_for_"}, {Dispatching, "waiting_for_"}, {Waiting, "waiting_to_begin_"}, {Queued, "waiting_to_begin_"},
}

// phase says what is under way: "waiting_for_" and the effect that is to come, or the step where it has none.
func (wf *Workflow) phase() string {
	if status := wf.GoalStatus(); status.Terminal() {
		return string(status)
	}
	for _, p := range phases {
		for i := range wf.Steps {
			if st := &wf.Steps[i]; st.State == p.state {
				return p.word + owedBy(st)
			}
		}
	}
	return string(wf.GoalStatus())
}

func owedBy(st *Step) string {
	for _, e := range st.Effects {
		if e.ID != "" && e.State != EffectObserved {
			return string(e.ID)
		}
	}
	return string(st.ID)
}

// criteria are what completes the goal: the required effects of the device as one, and each of the others by its name.
func (wf *Workflow) criteria() []string {
	out := []string{}
	for _, e := range wf.Plan.Goal.Effects {
		name := "device_goal_completed"
		if i := wf.Plan.Lookup(e.Step); i >= 0 && wf.Plan.Steps[i].Target == OnCloud {
			name = e.Effect
		}
		if e.Required && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// subscriptions are the events that prove or oppose an effect of the goal, in the order of the goal, and what is seen for any goal.
func (s *State) subscriptions(wf *Workflow) []string {
	out := []string{}
	add := func(name string) {
		if len(out) < maxSubscribed && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, e := range wf.Plan.Goal.Effects {
		effect := s.cat.Effects[catalog.EffectID(e.Effect)]
		for _, l := range slices.Concat(effect.Terminal.Leaves(), effect.Contradicted) {
			if l.Event != "" {
				add(string(l.Event))
			}
		}
	}
	add("task.failed")
	return out
}
