package wire

import (
	"fmt"
	"strings"
)

// crossCheck finds what no single member shows: members that exclude or need each other. It runs on what could be decoded.
func crossCheck(w *walker, e *Envelope, dir Direction) {
	if e.FloorSeq != 0 && dir != Up {
		w.faultAt("floor_seq", ReasonBadValue, "belongs to messages up only")
	}
	switch {
	case e.Plan != nil:
		crossPlan(w, e.Plan, "")
	case e.Control != nil:
		crossControl(w, e.Control)
	case e.Content != nil:
		crossContent(w, e.Content, dir)
	case e.Decision != nil:
		crossDecision(w, e.Decision)
	case e.Ack != nil:
		if (e.Ack.RefID == "") == (e.Ack.RefSHA256 == "") {
			w.faultAt("ref_id", ReasonBadValue, "exactly one of ref_id and ref_sha256 must be given")
		}
	}
}

// crossControl: a step is named together with its workflow, since step ids are unique inside a plan only.
func crossControl(w *walker, c *Control) {
	slashed := strings.Contains(c.Target, "/")
	if c.Scope == "schedule" && c.Verb != "cancel" {
		w.faultAt("scope", ReasonBadValue, "a schedule can only be cancelled: what it has begun is a workflow")
	}
	tier := c.Verb == "set_tier"
	switch {
	case (tier || c.Verb == "disable_experience") && c.Scope != "all" && c.Scope != "experience":
		w.faultAt("scope", ReasonBadValue, "is about experiences: all, or one experience")
	case tier && c.Scope == "all" && (c.Target == "" || slashed):
		w.faultAt("target", ReasonBadValue, "must be the tier, as in content_only")
	case tier && c.Scope == "experience" && !slashed:
		w.faultAt("target", ReasonBadValue, "must be the experience and the tier, as in exp_1/content_only")
	case tier:
	case c.Target == "" && c.Scope != "all":
		w.faultAt("target", ReasonMissingField, "is needed for this scope")
	case c.Scope == "step" && !slashed:
		w.faultAt("target", ReasonBadValue, "must be the workflow and the step, as in wf_1/step_2")
	case c.Scope != "step" && slashed:
		w.faultAt("target", ReasonBadValue, "names a step, which belongs to scope step")
	}
}

// crossContent: what goes down says what to do, what comes up says what became of it.
func crossContent(w *walker, c *Content, dir Direction) {
	if dir == Up {
		if (c.RefID == "") == (c.Event == "") {
			w.faultAt("event", ReasonBadValue, "exactly one of ref_id and event must be given")
		}
		return
	}
	for _, up := range []struct {
		name  string
		given bool
	}{{"ref_id", c.RefID != ""}, {"accepted", c.Accepted != nil}, {"reason_code", c.ReasonCode != ""}, {"state", c.State != ""}, {"event", c.Event != ""}, {"position", c.Position != 0}} {
		if up.given {
			w.faultAt(up.name, ReasonBadValue, "belongs to messages up only")
		}
	}
	words := c.Verb == "start" || c.Verb == "say" || c.Verb == "show"
	switch {
	case c.Verb == "":
		w.faultAt("verb", ReasonMissingField, "is missing")
	case c.Verb == "say" && strings.TrimSpace(c.Text) == "":
		w.faultAt("text", ReasonMissingField, "is needed to say something")
	case !words && c.Text != "":
		w.faultAt("text", ReasonBadValue, "belongs to start, say and show")
	case c.Payload != nil && (!words || c.Text == ""):
		w.faultAt("payload", ReasonBadValue, "belongs to words")
	}
}

// crossPlan checks a plan; under is the path to it, ending in a dot where it is not the body itself.
func crossPlan(w *walker, p *Plan, under string) {
	for i := range p.Prefetch {
		if p.Workflow.Schedule == nil {
			w.faultAt(under+"content_prefetch", ReasonBadValue, "belongs to a plan with a schedule")
			break
		}
		if i > 0 && p.Prefetch[i].Position <= p.Prefetch[i-1].Position {
			w.faultAt(fmt.Sprintf("%scontent_prefetch[%d].position", under, i), ReasonBadValue, "must rise from part to part")
		}
	}
	seen := make(map[string]bool, len(p.Requests))
	for i := range p.Requests {
		r := &p.Requests[i]
		c := stepCheck{w, fmt.Sprintf("%sdevice_task_requests[%d].", under, i)}
		if seen[r.CloudStepID] && r.CloudStepID != "" {
			c.fault("cloud_step_id", ReasonDuplicateStepID, "another step has this id")
		}
		seen[r.CloudStepID] = true
		if r.CloudWorkflowID != "" && r.CloudWorkflowID != p.Workflow.CloudWorkflowID {
			c.fault("cloud_workflow_id", ReasonBadValue, "is not the plan's")
		}
		c.work(r)
		c.timing(r)
		c.effects(r)
		c.condition("when", r.When)
	}
}

// stepCheck names faults of one step.
type stepCheck struct {
	w      *walker
	prefix string
}

func (c stepCheck) fault(field, reason, msg string) { c.w.faultAt(c.prefix+field, reason, msg) }

// work checks that a step says what to do, in the words of who does it.
func (c stepCheck) work(r *Request) {
	bodily := r.TaskMethod != "" || r.TokenText != ""
	switch {
	case r.ExecutionTarget == "cloud" && r.Skill == "":
		c.fault("skill", ReasonMissingField, "a cloud step needs a skill")
	case r.ExecutionTarget == "cloud" && bodily, r.Skill != "" && bodily:
		c.fault("skill", ReasonBadValue, "a step has either a skill, or taskMethod or token_text")
	case r.ExecutionTarget != "cloud" && r.Skill == "" && !bodily:
		c.fault("taskMethod", ReasonMissingField, "a step needs taskMethod, token_text or skill")
	}
}

func (c stepCheck) timing(r *Request) {
	if r.WaitEvent != nil && r.WaitPolicy != "event" {
		c.fault("wait_event", ReasonBadValue, "needs wait_policy event")
	}
	switch {
	case r.TemporalRelation == "" && r.TemporalAnchorID != "":
		c.fault("temporal_anchor_id", ReasonBadValue, "needs temporal_relation")
	case r.TemporalRelation == "" && r.DelayMS != 0:
		c.fault("delay_ms", ReasonBadValue, "needs temporal_relation")
	case r.TemporalRelation == "after_planned_step" && r.TemporalAnchorID == "" && r.DelayMS == 0:
		c.fault("temporal_anchor_id", ReasonMissingField, "is needed for after_planned_step without a delay")
	case r.TemporalRelation == "after_existing_event" && r.TemporalAnchorID != "":
		c.fault("temporal_anchor_id", ReasonBadValue, "the anchor is an event of other work: anchor_event")
	case r.TemporalRelation == "at_time" && r.TemporalAnchorID != "":
		c.fault("temporal_anchor_id", ReasonBadValue, "a wall time has no anchor: name it in depends_on")
	case r.TemporalRelation == "at_time" && r.DelayMS != 0:
		c.fault("delay_ms", ReasonBadValue, "a wall time has no delay: not_before is the moment")
	}
	existing := r.TemporalRelation == "after_existing_event"
	switch {
	case existing && r.AnchorEvent == "":
		c.fault("anchor_event", ReasonMissingField, "after_existing_event needs the event")
	case !existing && r.AnchorEvent != "":
		c.fault("anchor_event", ReasonBadValue, "needs temporal_relation after_existing_event")
	case !existing && r.AnchorSeenAt != "":
		c.fault("anchor_seen_at", ReasonBadValue, "needs temporal_relation after_existing_event")
	case !existing && r.AnchorTimeoutMS != 0:
		c.fault("anchor_timeout_ms", ReasonBadValue, "needs temporal_relation after_existing_event")
	}
	switch {
	case r.TemporalRelation == "" && r.NotBefore != "":
		c.fault("not_before", ReasonBadValue, "needs temporal_relation")
	case r.TemporalRelation == "at_time" && r.NotBefore == "":
		c.fault("not_before", ReasonMissingField, "at_time needs the moment")
	}
}

func (c stepCheck) effects(r *Request) {
	for i, e := range r.RequiredEffects {
		if e.Until != "" && e.Kind != "maintain" {
			c.fault(fmt.Sprintf("required_effects[%d].until", i), ReasonBadValue, "needs kind maintain")
		}
	}
}

// condition checks that each node is exactly one of all, any, not, and a leaf.
func (c stepCheck) condition(path string, n *Condition) {
	if n == nil {
		return
	}
	leaf := n.Ref != "" || n.Op != "" || !n.Value.IsZero() || n.MaxAgeMS != 0
	forms := 0
	for _, is := range []bool{len(n.All) > 0, len(n.Any) > 0, n.Not != nil, leaf} {
		if is {
			forms++
		}
	}
	if forms != 1 {
		c.fault(path, ReasonBadValue, "must be exactly one of all, any, not, and a comparison")
	}
	if leaf {
		c.leaf(path, n)
	}
	for i := range n.All {
		c.condition(fmt.Sprintf("%s.all[%d]", path, i), &n.All[i])
	}
	for i := range n.Any {
		c.condition(fmt.Sprintf("%s.any[%d]", path, i), &n.Any[i])
	}
	c.condition(path+".not", n.Not)
}

func (c stepCheck) leaf(path string, n *Condition) {
	if n.Ref == "" {
		c.fault(path+".ref", ReasonMissingField, "is missing")
	}
	_, isList := n.Value.V.([]any)
	switch {
	case n.Op == "":
		c.fault(path+".op", ReasonMissingField, "is missing")
	case n.Op == "exists" && !n.Value.IsZero():
		c.fault(path+".value", ReasonBadValue, "exists compares with nothing")
	case n.Op != "exists" && n.Value.IsZero():
		c.fault(path+".value", ReasonMissingField, "is missing")
	case (n.Op == "in") != isList && n.Op != "exists":
		c.fault(path+".value", ReasonBadValue, "a list belongs to in, a single value to the other operators")
	}
}
