package sentences

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

// The short form of a plan, one step behind the other: "1 setMoveTo(position=거실); 2 startBasicAirClear() after 1 until
// air_cleaning_completed; …". "+30s" waits first, "if …" is a condition, "starts" says that its start releases what follows,
// "anchor …" that it waits for other work, "as …" names its output. Then what is refused, by its noun.

// answered is wanted of a single question for the cloud: it is answered in the turn, by the family that owns it.
const answered = "answered by "

// nothing is wanted of a question: no step that changes anything.
const nothing = "nothing is done"

// step is one step of the plan that is wanted.
type step struct {
	do       string
	after    []int
	delayS   int64
	when     string
	until    string
	starts   bool
	anchor   string
	output   string
	moves    bool
	mayStart bool // its start may release what follows
	ends     string
	reads    string // the output it may give
}

func (s step) String() string {
	text := s.do
	if len(s.after) > 0 {
		text += " after " + strings.Trim(strings.ReplaceAll(fmt.Sprint(s.after), " ", "+"), "[]")
	}
	if s.delayS > 0 {
		text += fmt.Sprintf(" +%ds", s.delayS)
	}
	if s.anchor != "" {
		text += " anchor " + s.anchor
	}
	if s.when != "" {
		text += " if " + s.when
	}
	if s.until != "" {
		text += " until " + s.until
	}
	if s.starts {
		text += " starts"
	}
	if s.output != "" {
		text += " as " + s.output
	}
	return text
}

func (p plan) String() string {
	var out []string
	for i, s := range p.steps {
		out = append(out, fmt.Sprintf("%d %s", i+1, s))
	}
	for _, r := range p.refused {
		out = append(out, "refuses "+r)
	}
	if len(out) == 0 {
		return nothing
	}
	return strings.Join(out, "; ")
}

type plan struct {
	steps   []step
	refused []string
}

// building is a plan while its parts are read in order.
type building struct {
	cat    *catalog.Catalog
	plan   plan
	deps   []int // what the next step waits for
	base   []int // what the parts that run beside each other wait for
	group  bool
	cond   *condition
	condIs string
	whole  bool // the condition began the sentence
}

// wanted computes the plan of the parts by what docs/planner.md says of the words.
func wanted(cat *catalog.Catalog, parts []part) string {
	if p := parts[0]; len(parts) == 1 && p.op.Route == "FRG" && !p.afterWork && p.delayMS == 0 && p.cond == nil {
		return answered + p.op.Route
	}
	b := &building{cat: cat}
	for i, p := range parts {
		b.add(p, i)
	}
	b.release()
	return b.plan.String()
}

func (b *building) add(p part, i int) {
	switch {
	case p.refused != "":
		b.plan.refused = append(b.plan.refused, p.refused)
		b.endCondition(p)
		return
	case p.negated:
		b.endCondition(p)
		return
	}
	before := slices.Clone(b.deps)
	if b.group {
		before = slices.Clone(b.base)
	}
	if p.cond != nil {
		b.cond, b.condIs, b.whole = p.cond, p.condIs, len(b.plan.steps) == 0
		before = b.read(before)
	}
	first := step{delayS: p.delayMS / 1000}
	if p.afterWork {
		first.anchor = "cleaning.completed"
	}
	if p.room != "" && p.op.Room == "" {
		go_ := first
		go_.do, go_.moves = fmt.Sprintf("setMoveTo(position=%s)", p.room), true
		before = []int{b.put(go_, before)}
		first = step{}
	}
	first.do, first.moves = doing(p), b.cat.Operations[catalog.Method(p.op.Method)].MovesBody
	first.reads = p.op.Output
	if p.op.Ends {
		first.ends, first.mayStart = "air_cleaning_completed", p.starts && !p.timed && p.link != linkEnds
	}
	id := b.put(first, before)
	if b.group {
		b.deps = append(b.deps, id)
	} else {
		b.deps = []int{id}
	}
	if p.link == linkWith && !b.group {
		b.base = before
	}
	b.group = p.link == linkWith
	b.endCondition(p)
}

// endCondition: a condition holds for its clause and what is chained to it; one that began the sentence holds to its end.
func (b *building) endCondition(p part) {
	if p.link != linkChain && (!b.whole || p.link == linkStop) {
		b.cond = nil
	}
}

// read adds what the condition has to know, where the sentence has not read it before.
func (b *building) read(before []int) []int {
	reads := b.cond.Reads
	if reads == "" || slices.ContainsFunc(b.plan.steps, func(s step) bool { return s.reads == reads }) {
		return before
	}
	s := step{do: "getAirQuality()", reads: reads}
	if reads == "weather" {
		s.do = "fresh_information_brief(topic=weather)"
	}
	cond := b.cond
	b.cond = nil
	id := b.put(s, before)
	b.cond = cond
	return []int{id}
}

func (b *building) put(s step, after []int) int {
	s.after = slices.Clone(after)
	if b.cond != nil {
		s.when = b.condIs
		for i, other := range slices.Backward(b.plan.steps) {
			if b.cond.Reads != "" && other.reads == b.cond.Reads {
				b.plan.steps[i].output = other.reads
				if !slices.Contains(s.after, i+1) {
					s.after = append(s.after, i+1)
				}
				break
			}
		}
	}
	slices.Sort(s.after)
	b.plan.steps = append(b.plan.steps, s)
	return len(b.plan.steps)
}

// release: what goes on until an end is waited for to its end, unless only its start was asked for and nothing takes the robot away.
func (b *building) release() {
	for i := range b.plan.steps {
		s := &b.plan.steps[i]
		followed, leaves := false, false
		for _, later := range b.plan.steps {
			if slices.Contains(later.after, i+1) {
				followed = true
				leaves = leaves || later.moves && later.delayS == 0
			}
		}
		switch {
		case s.ends == "" || !followed:
		case s.mayStart && !leaves:
			s.starts = true
		default:
			s.until = s.ends
		}
	}
}

// doing writes what a part does.
func doing(p part) string {
	name := p.op.Method
	if p.skill {
		name = p.op.Skill
	}
	var args []string
	for _, key := range slices.Sorted(maps.Keys(p.params)) {
		args = append(args, key+"="+value(p.params[key]))
	}
	return name + "(" + strings.Join(args, " ") + ")"
}
