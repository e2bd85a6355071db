package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
)

// answers are what the planner says to the questions of the device: what the file lays out, in its order, then its policy; or
// nothing at all.
type answers struct {
	mu     sync.Mutex
	silent bool
	next   []wire.Decision
	plans  []string // of the same index; JSON with @workflow and @plan for the ids, empty: none
}

// decide takes the next answer. It runs in the planner's goroutine.
func (a *answers) decide(q planner.Asked) (wire.Decision, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(a.next) > 0:
		d, plan := a.next[0], a.plans[0]
		a.next, a.plans = a.next[1:], a.plans[1:]
		if plan != "" {
			text := strings.NewReplacer("@workflow", q.WorkflowID, "@plan", q.PlanID).Replace(plan)
			if d.Plan = new(wire.Plan); json.Unmarshal([]byte(text), d.Plan) != nil {
				panic("internal error: the plan was readable before: " + text)
			}
		}
		return d, true
	case a.silent:
		return wire.Decision{}, false
	}
	return planner.DecideByPolicy(q)
}

// setPlanner lets the planner answer nothing, or by its policy again.
func (h *house) setPlanner(arg string) error {
	if arg != "silent" && arg != "policy" {
		return fmt.Errorf("planner %q: want silent or policy", arg)
	}
	h.answers.mu.Lock()
	defer h.answers.mu.Unlock()
	h.answers.silent = arg == "silent"
	return nil
}

// decide lays out the answer to the next question: an action, and the plan that it carries.
func (h *house) decide(arg string) error {
	action, plan, _ := strings.Cut(arg, " ")
	plan = strings.TrimSpace(plan)
	if action == "ask_user" {
		return h.decideToAsk(plan)
	}
	if plan != "" {
		if err := json.Unmarshal([]byte(plan), new(wire.Plan)); err != nil {
			return fmt.Errorf("cannot read the plan of the decision: %w", err)
		}
	}
	h.answers.mu.Lock()
	defer h.answers.mu.Unlock()
	h.answers.next, h.answers.plans = append(h.answers.next, wire.Decision{Action: action}), append(h.answers.plans, plan)
	return nil
}

// toldText is a decision; of a plan that the planner has made itself, how and by what it differs.
func toldText(d *wire.Decision) string {
	if how, ok := strings.CutPrefix(d.Reason, "policy: "); ok {
		return d.Action + " " + how
	}
	return d.Action
}

// questions are the escalations and the decisions as the outside subscriber saw them; one that was sent again is one.
func (h *house) questions(msgs []message) (out []Fact) {
	seen := map[string]bool{}
	for _, m := range msgs {
		if seen[m.env.ID] {
			continue
		}
		seen[m.env.ID] = true
		h.name(m.env.Corr.WorkflowID)
		switch q, d := m.env.Escalation, m.env.Decision; {
		case q != nil:
			out = append(out, Fact{"asks", plain(fmt.Sprintf("%s.%s %s: %s, else %s after %ds, decisions left %d, replans left %d", h.numberOf(m.env.Corr.WorkflowID), m.env.Corr.StepID,
				q.ReasonCode, strings.Join(q.AllowedActions, " "), q.DefaultAction, q.DeadlineMS/1000, q.Budget.DecisionsLeft, q.Budget.ReplansLeft))})
		case d != nil:
			out = append(out, Fact{"told", plain(fmt.Sprintf("%s.%s %s", h.numberOf(m.env.Corr.WorkflowID), m.env.Corr.StepID, toldText(d)))})
		case m.env.Question != nil:
			out = append(out, Fact{"asked", fmt.Sprintf("%s.%s %s", h.numberOf(m.env.Corr.WorkflowID), m.env.Corr.StepID, askedText(m.env.Question))})
		case m.env.Answer != nil:
			out = append(out, Fact{"told", fmt.Sprintf("%s.%s answer %s", h.numberOf(m.env.Corr.WorkflowID), m.env.Corr.StepID, m.env.Answer.Option)})
		}
	}
	return out
}
