package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/scenario"
)

// Page writes docs/evidence-matrix.md. scene gives what the scenario of a cell expects, by its id; error where there is none.
func Page(cat *catalog.Catalog, scene func(id string) ([]scenario.Line, error)) (string, error) {
	var over, rest strings.Builder
	capability := ""
	for i := range Rows {
		r := &Rows[i]
		p, err := r.provider(cat)
		if err != nil {
			return "", err
		}
		if c := p.capability(cat); c != capability {
			capability = c
			fmt.Fprintf(&rest, "\n## %s\n", capability)
		}
		fmt.Fprintf(&over, "| `%s` | %s |", p.name(r), code(r.proof()))
		fmt.Fprintf(&rest, "\n### `%s`: %s\n\n| ends as | how the catalog decides it | what the scenario shows | scenario |\n| --- | --- | --- | --- |\n", p.name(r), code(r.proof()))
		for _, c := range Columns {
			cell := r.Cells[c]
			shown, link, short := "", "", "cannot be"
			if cell.Never != "" {
				shown = "cannot be: " + cell.Never
			} else {
				lines, err := scene(r.ID(c))
				if err != nil {
					return "", err
				}
				short = fmt.Sprintf("[%s](../testbed/scenarios/matrix/%s.scn)", r.ID(c), r.ID(c))
				shown, link = r.shown(cell, c, lines), short
			}
			fmt.Fprintf(&over, " %s |", short)
			fmt.Fprintf(&rest, "| %s | %s | %s | %s |\n", c, p.rule(cat, c), shown, link)
		}
		over.WriteString("\n")
	}
	_, unproved := Providers(cat)
	return fmt.Sprintf(intro, over.String(), rest.String(), unprovedText(cat, unproved)), nil
}

// intro is the page around its tables: the overview, the sections, the operations that prove nothing.
const intro = `# How each effect ends, and by what

Written by ` + "`go test ./testbed/matrix -update`" + ` from the catalog that the package installs, and from the scenarios in ` + "`testbed/scenarios/matrix`" + `. A test compares this
page with both, and plays every scenario.

An effect ends in one of four ways. **Observed**: what the catalog calls its evidence was seen. **Contradicted**: its opposite was seen. **Expired**: the task is over, and no
evidence came in time. **Cancelled**: a person gave it up; then the goal calls it ` + "`waived`" + `. An executor's own "done" is none of them. Each cell has one scenario: a plan of one step, with a goal
whose effect is that of the step. All that happens is listed there, and the witness is the robot's own log. An operation without an effect has ` + "`done_evidence`" + `; no goal can name
that, so those cells have none. That an effect expires when it is said to is looked at a second before and a second after. Where a goal has a budget and nobody decides, it is ` + "`safely_ended`" + `
instead of ` + "`failed`" + `: [goal-ends](../testbed/scenarios/goal-ends.scn).

Whatever the cell: evidence counts only from a source class that the effect accepts, and after the task was sent off; it has to be the task's own (its id), or, of a source that names no task, fall into the
window in which nothing but the task used its resource.

| provider | proof | observed | contradicted | expired | cancelled |
| --- | --- | --- | --- | --- | --- |
%s%s
## Operations that prove nothing

They have neither an effect nor ` + "`done_evidence`" + `: their end is their executor's word, so they have no row. No plan may name them.

%s`

func code(s string) string { return "`" + s + "`" }

// name is the provider as a plan calls it.
func (p *Provider) name(r *Row) string {
	if p.Skill != "" {
		return string(p.Skill)
	}
	return strings.TrimSpace(string(p.Method) + " " + r.Params)
}

func (p *Provider) capability(cat *catalog.Catalog) string {
	if p.Skill != "" {
		return "skills"
	}
	return cat.Operations[p.Method].Capability
}

// rule is what the catalog says of one ending.
func (p *Provider) rule(cat *catalog.Catalog, c Column) string {
	if p.Skill != "" && tells[c] != "" {
		return tells[c]
	}
	switch c {
	case Observed:
		expr, confidence := p.proof(cat)
		return proved(cat, expr, confidence)
	case Contradicted:
		return p.opposed(cat)
	case Expired:
		return p.expires()
	}
	return p.stops(cat)
}

// tells is what content does in place of the task of an operation.
var tells = map[Column]string{
	Expired:   "its words were not heard to their end, or what was heard proves nothing, by the `timeout_ms` of the step (`step_timeout`)",
	Cancelled: "the session ends: what is being said is told to stop at once, and nothing of it is ever said again. Confirmed by the robot's voice",
}

func proved(cat *catalog.Catalog, x catalog.Expr, confidence catalog.Confidence) string {
	var classes []string
	for _, c := range confidence.Accept {
		classes = append(classes, code(string(c)))
	}
	text := fmt.Sprintf("%s; accepted from %s", exprText(cat, x), strings.Join(classes, ", "))
	if slices.ContainsFunc(x.Leaves(), func(l catalog.Leaf) bool { return l.Event != "" }) && confidence.WindowCorrelation {
		text += "; an event that names no task counts by its window"
	}
	return text
}

func exprText(cat *catalog.Catalog, x catalog.Expr) string {
	var parts []string
	word := " **and** "
	for _, sub := range x.All {
		parts = append(parts, exprText(cat, sub))
	}
	for _, sub := range x.Any {
		parts, word = append(parts, exprText(cat, sub)), " **or** "
	}
	if x.Leaf != nil {
		return leafText(cat, *x.Leaf)
	}
	return strings.Join(parts, word)
}

var opWords = map[string]string{"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}

func leafText(cat *catalog.Catalog, l catalog.Leaf) string {
	if l.Event != "" {
		text := code(string(l.Event))
		for _, name := range slices.Sorted(maps.Keys(l.Match)) {
			text += fmt.Sprintf(" %s = %v", name, l.Match[name])
		}
		for _, name := range slices.Sorted(maps.Keys(l.MatchNot)) {
			text += fmt.Sprintf(" %s ≠ %v", name, l.MatchNot[name])
		}
		if l.Correlate != "" {
			text += " of this task"
		}
		return text
	}
	age := l.MaxAgeMS
	if age == 0 {
		age = cat.Context[l.Context].MaxAgeMS
	}
	text := code(string(l.Context)) + " is known"
	if word, compares := opWords[string(l.Op)]; compares {
		text = fmt.Sprintf("%s %s %v", code(string(l.Context)), word, l.Value)
	}
	text += ", at most " + span(age) + " old"
	if l.StableForMS > 0 {
		text += ", unchanged for " + span(l.StableForMS)
	}
	return text
}

// span is a duration in milliseconds, for people.
func span(ms int64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	text = strings.TrimSuffix(text, "0s")
	if strings.HasSuffix(text, "m") || strings.HasSuffix(text, "h") {
		return strings.TrimSuffix(text, "0m")
	}
	return (time.Duration(ms) * time.Millisecond).String()
}

func (p *Provider) opposed(cat *catalog.Catalog) string {
	e := cat.Effects[p.Effect]
	var parts []string
	for _, l := range e.Contradicted {
		parts = append(parts, leafText(cat, l))
	}
	if e.Holds != nil {
		parts = append(parts, "where a plan keeps it, once this no longer holds: "+exprText(cat, *e.Holds))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; or ")
}

func (p *Provider) expires() string {
	text := fmt.Sprintf("no evidence %s after \"done\" (`evidence_timeout`)", span(p.Op.EvidenceMS))
	switch d := p.Op.Timeout; {
	case d.Per != "":
		text += fmt.Sprintf("; or not done %s after it began, and %s more for each `%s` (`step_timeout`)", span(d.PlusMS), span(d.PerMS), d.Per)
	case d.PlusMS > 0:
		text += fmt.Sprintf("; or not done %s after it began (`step_timeout`)", span(d.PlusMS))
	default:
		text += "; the task itself has no time limit, a person sets its pace"
	}
	return text
}

// stops is what a cancel does, and what confirms that it has stopped.
func (p *Provider) stops(cat *catalog.Catalog) string {
	switch {
	case len(p.Op.Stops) > 0:
		return "what was to stop is stopped all the same: a stop is not called back. Confirmed by the end of its task"
	case !p.Op.Cancel:
		return "it takes no cancel: it is let end, and nothing follows. Confirmed by the end of its task"
	}
	text := fmt.Sprintf("the task is told to stop at once, at most three times, %s apart. Confirmed by the end of its task", span(p.Op.StopMS))
	var rests []string
	for _, id := range p.Op.Resources {
		if x := cat.Resources[id].AtRest; x != nil {
			rests = append(rests, fmt.Sprintf("`%s` at rest: %s", id, exprText(cat, *x)))
		}
	}
	if len(rests) > 0 {
		text += ", or " + strings.Join(rests, " **and** ")
	}
	return text
}

// shown is what happens in the scenario of a cell: what the robot is made to do, how it ends, by what.
func (r *Row) shown(cell Cell, c Column, lines []scenario.Line) string {
	var parts []string
	for _, f := range cell.Faults {
		parts = append(parts, code(f))
	}
	if cell.Keep {
		parts = append(parts, "the plan keeps it")
	}
	how := strings.Join(parts, ", ")
	if how != "" {
		how += "; "
	}
	state := strings.TrimPrefix(strings.Join(texts(lines, "step"), " "), "w1.s ")
	text := fmt.Sprintf("%sstep `%s`", how, state)
	if goal := texts(lines, "goal"); len(goal) == 1 {
		status, closures, _ := strings.Cut(strings.TrimPrefix(goal[0], "w1 goal "), ": ")
		text += fmt.Sprintf(", effect `%s`, goal `%s`", closures[strings.LastIndex(closures, " ")+1:], status)
	}
	if _, evidence, ok := strings.Cut(strings.Join(texts(lines, "effect"), " "), ": "); ok && c == Observed {
		text += ": " + strings.ReplaceAll(evidence, "|", "\\|")
	}
	return text
}

func unprovedText(cat *catalog.Catalog, methods []catalog.Method) string {
	byCapability := map[string][]string{}
	for _, m := range methods {
		c := cat.Operations[m].Capability
		byCapability[c] = append(byCapability[c], code(string(m)))
	}
	var b strings.Builder
	for _, c := range slices.Sorted(maps.Keys(byCapability)) {
		fmt.Fprintf(&b, "- %s: %s\n", c, strings.Join(byCapability[c], " "))
	}
	return b.String()
}
