package matrix

import (
	"fmt"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/scenario"
)

// ending is how a cell of a column has to end.
type ending struct {
	goal     string // state of the goal
	closure  string // of its effect
	workflow string
	step     []string // its states: any of them
	effect   string   // what the step says of its own effect
	reason   string   // of the workflow, and of the goal
}

var endings = map[Column]ending{
	Observed:     {"completed", "observed", "completed", []string{"completed"}, "observed", ""},
	Contradicted: {"failed", "contradicted", "failed", []string{"failed", "completed"}, "contradicted", "evidence_contradicts"}, // completed: it was kept, and lost later
	Expired:      {"failed", "expired", "failed", []string{"timed_out", "failed"}, "expired", "evidence_timeout"},
	Cancelled:    {"cancelled", "waived", "cancelled", []string{"cancelled"}, "expired", "user_cancelled"},
}

// judge says in what the expectations of a cell's file do not show the ending of its column.
func (r *Row) judge(cat *catalog.Catalog, p *Provider, c Column, lines []scenario.Line) (faults []string) {
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	cell, want := r.Cells[c], endings[c]
	reason := want.reason
	if cell.Reason != "" {
		reason = cell.Reason
	}
	for _, w := range unseen(cell.Witness, lines) {
		bad("the robot's own log does not show, in its place: %s", w)
	}
	one := func(kind, want string) {
		if got := texts(lines, kind); len(got) != 1 || got[0] != want {
			bad("%s is %q, want %q", kind, got, want)
		}
	}
	one("workflow", strings.TrimSpace("w1 "+want.workflow+" "+reason))
	if r.Effect != "" {
		one("goal", strings.TrimSpace("w1 goal "+want.goal+" "+reason)+": s."+string(r.Effect)+" "+want.closure)
	}
	if asked := texts(lines, "dispatch"); r.Skill == "" && (len(asked) != 1 || !strings.HasPrefix(asked[0]+" ", string(r.Method)+" ")) {
		bad("the robot was asked for %q", asked)
	}
	state := strings.Fields(strings.Join(texts(lines, "step"), " "))
	if len(state) < 2 || state[0] != "w1.s" || !slices.Contains(want.step, state[1]) || cell.Keep != (state[1] == "completed" && c == Contradicted) {
		bad("the step is %q, want %v", state, want.step)
	}
	effect := texts(lines, "effect")
	if len(effect) != 1 || !strings.HasPrefix(effect[0]+":", "w1.s "+r.proof()+" "+want.effect+":") {
		bad("effect is %q, want %s %s", effect, r.proof(), want.effect)
		return faults
	}
	var looked []string
	if c == Expired && r.Effect != "" && r.Skill == "" {
		looked = []string{"w1 goal active"}
	}
	if c == Expired && r.Skill == "" {
		looked = append(looked, "w1.s verifying")
	}
	if got := texts(lines, "looked"); !slices.Equal(got, looked) {
		bad("a second before and after its time it was %q, want %q", got, looked)
	}
	if c == Observed {
		faults = append(faults, p.misproved(cat, effect[0])...)
	}
	if c == Cancelled {
		faults = append(faults, p.afterStop(lines)...)
	}
	if wrong := texts(lines, "wrong"); len(wrong) > 0 {
		bad("%v", wrong)
	}
	return faults
}

// texts are the expectations of one kind, without how long after the line before they came.
func texts(lines []scenario.Line, kind string) (out []string) {
	for _, l := range lines {
		if l.Kind == kind {
			out = append(out, l.Text)
		}
	}
	return out
}

// unseen are the witness lines that do not come in their order. A line of the file may say more than the witness.
func unseen(witness []string, lines []scenario.Line) []string {
	for _, l := range lines {
		if len(witness) > 0 && strings.HasPrefix(l.String()+" ", witness[0]+" ") {
			witness = witness[1:]
		}
	}
	return witness
}

// misproved says where the evidence of an effect is not what the catalog accepts: "w1.s effect observed: movement.arrived(…) independent task_id + …".
func (p *Provider) misproved(cat *catalog.Catalog, text string) (faults []string) {
	expr, confidence := p.proof(cat)
	leaves := expr.Leaves()
	_, list, _ := strings.Cut(text, ": ")
	for _, e := range strings.Split(list, " + ") {
		words := strings.Fields(e)
		if len(words) < 3 {
			return append(faults, fmt.Sprintf("no evidence in %q", text))
		}
		what := words[0][:strings.IndexAny(words[0]+"(", "(=")]
		class, by := words[len(words)-2], words[len(words)-1]
		event := slices.ContainsFunc(leaves, func(l catalog.Leaf) bool { return string(l.Event) == what })
		reading := slices.ContainsFunc(leaves, func(l catalog.Leaf) bool { return string(l.Context) == what }) // no reading names a task
		if !event && !reading || !slices.Contains(confidence.Accept, catalog.Class(class)) || event && by == "window" && !confidence.WindowCorrelation {
			faults = append(faults, fmt.Sprintf("the catalog does not accept the evidence %q", e))
		}
	}
	return faults
}

// afterStop says what is wrong with the order in which the robot was asked: what can be stopped is stopped, and nothing is asked for after
// that.
func (p *Provider) afterStop(lines []scenario.Line) (faults []string) {
	stopped := false
	for _, l := range lines {
		switch {
		case l.Kind == "stops":
			stopped = true
		case l.Kind == "dispatch" && stopped:
			faults = append(faults, "asked for after the cancel: "+l.Text)
		}
	}
	if p.Op.Cancel && !stopped {
		faults = append(faults, "it was not asked to stop")
	}
	return faults
}

// proof is what proves the provider's effect.
func (p *Provider) proof(cat *catalog.Catalog) (catalog.Expr, catalog.Confidence) {
	if p.Effect != "" {
		e := cat.Effects[p.Effect]
		return e.Terminal, e.Confidence
	}
	return *p.Op.DoneEvidence, p.Op.DoneConfidence
}

// opposable says whether anything can contradict the effect: an event, or a reading while it has to be kept.
func (p *Provider) opposable(cat *catalog.Catalog) bool {
	e := cat.Effects[p.Effect]
	return len(e.Contradicted) > 0 || e.Holds != nil
}
