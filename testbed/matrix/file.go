package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// ID is the scenario of a cell.
func (r *Row) ID(c Column) string { return r.Name + "-" + string(c) }

// head writes the part of a scenario's file that is not expectation: who the robot is, and what is done.
func (r *Row) head(p *Provider, c Column) string {
	cell := r.Cells[c]
	var b strings.Builder
	fmt.Fprintf(&b, "# Written from the table of testbed/matrix: go test ./testbed/matrix -update. What is expected was seen, and is judged there.\n")
	fmt.Fprintf(&b, "scenario %s\ntitle    %s\ntier     %s\n", r.ID(c), r.title(c), p.tier())
	if cell.Robot != "" {
		fmt.Fprintf(&b, "robot    %s\n", cell.Robot)
	}
	for _, f := range cell.Faults {
		fmt.Fprintf(&b, "fault    %s\n", f)
	}
	for _, g := range cell.Given {
		fmt.Fprintf(&b, "given    %s\n", g)
	}
	b.WriteString("\nwhen\n")
	for _, line := range cell.Before {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	fmt.Fprintf(&b, "  %s %s\n", p.door(), r.plan(cell))
	for _, line := range append(slices.Clone(cell.After), r.looks(p, c)...) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return b.String()
}

// looks show that an effect expires when the catalog says so: a second before, its evidence is still waited for, a second after, the work is
// over.
func (r *Row) looks(p *Provider, c Column) []string {
	if c != Expired || r.Skill != "" {
		return nil
	}
	before := r.Cells[c].LastsMS + p.Op.EvidenceMS - 1000
	return []string{fmt.Sprintf("after %s +%dms look", r.Method, before), "+2s look"}
}

func (r *Row) title(c Column) string {
	return strings.TrimSpace(fmt.Sprintf("%s%s %s", r.Method, r.Skill, r.Params)) + ": " + r.proof() + " " + string(c)
}

// proof is what the row is about: its effect, or the proof of an operation that has none.
func (r *Row) proof() string {
	if r.Effect == "" {
		return doneEvidence
	}
	return string(r.Effect)
}

const doneEvidence = "done_evidence"

// keptMS is how long a plan may be open that waits for an event which does not come.
const keptMS = 600_000

// tellMS is how long a plan gives a content step.
const tellMS = 120_000

// plan is the plan of a cell: one step, and the goal that is its effect. An operation without an effect serves no goal.
func (r *Row) plan(cell Cell) string {
	deadline, effect, goal := "", "", ""
	if r.Effect != "" {
		effect = fmt.Sprintf(`,"required_effects":[%q]`, r.Effect)
		goal = fmt.Sprintf(",\n"+`    "experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"goal","effects":[{"effect_id":%q,"step_id":"s","required":true}]}`, r.Effect)
	}
	if cell.Keep {
		deadline = fmt.Sprintf(`,"deadline_ms":%d`, keptMS)
		effect = fmt.Sprintf(`,"required_effects":[{"effect_id":%q,"kind":"maintain","until":"voice.session_ended"}]`, r.Effect)
	}
	params := ""
	if r.Params != "" {
		params = `,"params":` + r.Params
	}
	does := fmt.Sprintf(`"taskMethod":%q%s`, r.Method, params)
	if r.Skill != "" {
		does = fmt.Sprintf(`"execution_target":"cloud","skill":%q,"timeout_ms":%d`, r.Skill, tellMS)
	}
	return fmt.Sprintf(`{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0%s},`+"\n"+
		`    "device_task_requests":[{"cloud_step_id":"s",%s,"on_failure":"abort"%s}]%s}`, deadline, does, effect, goal)
}

// tier is the lowest in which a goal may have the operation.
func (p *Provider) tier() string {
	if p.Op.MinTier == "full" || p.Op.MovesBody {
		return "full"
	}
	return "restricted"
}

// door is how the plan comes in: what is for the lab is handed in on the robot itself.
func (p *Provider) door() string {
	if p.Op.Visibility == "lab" {
		return "submit"
	}
	return "plan"
}
