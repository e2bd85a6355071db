package rules

import (
	"fmt"
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

// evidence cites the words that a plan rests on beside its operations and rooms, in their order: how long is waited, under which condition,
// after which other work, which skill is asked for, and how each clause ends.
func (out *parsed) evidence() []turn.Evidence {
	type cited struct {
		at int
		e  turn.Evidence
	}
	var all []cited
	add := func(at int, kind, id, span string) {
		all = append(all, cited{at, turn.Evidence{Kind: kind, ID: id, Span: span}})
	}
	for _, it := range out.items {
		span := out.text.span(it.start, it.end)
		switch it.kind {
		case kindDelay:
			add(it.start, "time", fmt.Sprintf("delay_ms=%d", it.ms), span)
		case kindSpan:
			add(it.start, "time", fmt.Sprintf("duration_ms=%d", it.ms), span)
		case kindWhen:
			add(it.start, "time", it.key, span)
		}
	}
	conditions := map[string]bool{}
	for _, in := range out.intents {
		at := 0
		if in.clause < len(out.clauses) {
			at = out.clauses[in.clause].start
		}
		if in.frame.Skill != "" {
			add(at, "skill", in.frame.Skill, in.span)
		}
		if in.anchor != "" {
			add(at, "event", in.anchor, in.anchorSaid)
		}
		if in.when != nil && !conditions[in.ifSaid] {
			conditions[in.ifSaid] = true
			span := in.ifSaid
			if !strings.Contains(string(out.text.original), span) {
				span = in.span // nobody said it: "공기 관리해" means it
			}
			add(at, "condition", in.when.Ref+" "+in.when.Op, span)
		}
	}
	for _, c := range out.clauses {
		if pred, ok := c.predicate(); ok {
			how := string(c.mood)
			if c.link != "" {
				how = c.link
			}
			add(pred.start, "ending", how, out.text.span(pred.start, pred.end))
		}
	}
	slices.SortStableFunc(all, func(a, b cited) int { return a.at - b.at })
	var list []turn.Evidence
	for _, c := range all {
		list = append(list, c.e)
	}
	return list
}
