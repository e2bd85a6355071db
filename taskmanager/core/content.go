package core

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/condition"
)

// contentOf is a hash of what a plan says of a step: what is to be done, after what, when, how often. Steps that it refers to count
// by their ids, never by their places, so that the same step in another plan has the same content; and what the catalog adds to the
// operation does not count, so that a new catalog makes no other step of it. 64 bits: it tells a slip of the planner, not an attack.
func contentOf(p *Plan, i int) string {
	s := &p.Steps[i]
	if s.Content != "" {
		return s.Content
	}
	var c content
	c.text("id", string(s.ID))
	c.text("target", string(s.Target))
	c.text("method", string(s.Method))
	c.text("skill", s.Skill)
	c.value("call", s.Call)
	c.text("immediate", strconv.FormatBool(s.Immediate))
	deps := make([]string, len(s.Deps))
	for k, d := range s.Deps {
		deps[k] = string(p.Steps[d.Step].ID) + " " + string(d.On)
	}
	slices.Sort(deps)
	c.text("deps", strings.Join(deps, ","))
	c.text("wait", string(s.Wait))
	if s.WaitEvent != nil {
		c.text("wait_event", string(s.WaitEvent.Event))
		c.value("match", s.WaitEvent.Match)
	}
	if s.Anchor > 0 {
		c.text("anchor", string(p.Steps[s.Anchor-1].ID))
	}
	c.number("delay", s.DelayMS)
	c.number("not_before", s.NotBeforeMS)
	if s.OnOverdue != "" && s.OnOverdue != OverdueRun {
		c.text("on_overdue", string(s.OnOverdue))
	}
	c.text("anchor_event", string(s.AnchorEvent))
	c.number("anchor_seen", s.AnchorSeenMS)
	c.number("anchor_timeout", s.AnchorTimeoutMS)
	for _, param := range slices.Sorted(maps.Keys(s.InputFrom)) {
		c.text("input "+param, s.InputFrom[param])
	}
	c.text("output", string(s.Output))
	c.condition("when", s.When)
	c.number("timeout", s.TimeoutMS)
	c.number("evidence", s.EvidenceMS)
	c.number("hold", s.HoldMS)
	c.text("on_failure", string(s.OnFailure))
	c.number("retry", s.Retry.Attempts)
	c.number("backoff", s.Retry.BackoffMS)
	if s.Named {
		for _, id := range slices.Sorted(slices.Values(s.Effects)) {
			c.text("effect", string(id))
		}
	}
	for _, k := range slices.SortedFunc(slices.Values(s.Keeps), func(a, b Keep) int { return strings.Compare(string(a.Effect), string(b.Effect)) }) {
		until := "event " + string(k.Event)
		if k.Step > 0 {
			until = "step " + string(p.Steps[k.Step-1].ID)
		}
		c.text("keep "+string(k.Effect), until)
	}
	return c.sum()
}

// content is text in which every part has a name and a length, so that no two contents read alike.
type content struct{ b strings.Builder }

func (c *content) text(name, v string) {
	c.b.WriteString(name)
	c.b.WriteByte('=')
	c.b.WriteString(strconv.Itoa(len(v)))
	c.b.WriteByte(':')
	c.b.WriteString(v)
	c.b.WriteByte(';')
}

func (c *content) number(name string, v int64) { c.text(name, strconv.FormatInt(v, 10)) }

// value writes a value as it means: an empty object is none.
func (c *content) value(name string, v condition.Value) {
	switch v := v.(type) {
	case nil:
		c.text(name, "null")
	case bool:
		c.text(name, strconv.FormatBool(v))
	case string:
		c.text(name, "s"+v)
	case []any:
		c.text(name, "list "+strconv.Itoa(len(v)))
		for _, x := range v {
			c.value("", x)
		}
	case map[string]any:
		if len(v) == 0 {
			c.text(name, "null")
			return
		}
		c.text(name, "object "+strconv.Itoa(len(v)))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			c.value(k, v[k])
		}
	case float64:
		c.text(name, "n"+strconv.FormatFloat(v, 'g', -1, 64))
	}
}

func (c *content) condition(name string, x *condition.Condition) {
	if x == nil {
		return
	}
	c.text(name, x.Ref+" "+string(x.Op)+" "+strconv.FormatInt(x.MaxAgeMS, 10))
	c.value("value", x.Value)
	for i := range x.All {
		c.condition("all", &x.All[i])
	}
	for i := range x.Any {
		c.condition("any", &x.Any[i])
	}
	c.condition("not", x.Not)
	c.text("end", name)
}

// sum is FNV-1a over 64 bits.
func (c *content) sum() string {
	h := uint64(14695981039346656037)
	for _, b := range []byte(c.b.String()) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return strconv.FormatUint(h, 16)
}
