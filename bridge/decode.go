package bridge

import (
	"errors"
	"strconv"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/condition"
)

// Decode reads one message. local: it was handed in on the robot. It always gives an event; what cannot be let in is a
// core.Refused with every fault.
func (c *Codec) Decode(payload []byte, local bool) core.Event {
	e, h, bad := c.open(payload, local)
	if bad != nil {
		return *bad
	}
	switch e.Type {
	case wire.TypePlan:
		return c.plan(h, e.Plan)
	case wire.TypeControl:
		b := e.Control
		if b.Verb == "set_mode" && !local {
			return refusal(h, core.ReasonUnsupported, []core.Fault{{Path: "verb", Reason: core.ReasonUnsupported, Message: "a mode is set by somebody at the robot"}})
		}
		if fault, bad := c.tierOf(b); bad {
			return refusal(h, fault.Reason, []core.Fault{fault})
		}
		return core.ControlReceived{Head: h, Verb: b.Verb, Scope: b.Scope, Target: b.Target, By: b.RequestedBy, Why: b.Reason, Holder: core.HolderKind(b.Holder)}
	case wire.TypeAnswer:
		b := e.Answer
		return core.AnswerReceived{Head: h, Question: core.AskID(b.QuestionID), Option: b.Option, Turn: b.TurnID, By: b.By}
	case wire.TypeContent:
		return contentOf(h, e.Content)
	case wire.TypeDecision:
		return c.decision(h, e.Decision)
	case wire.TypeStepResult:
		b := e.StepResult
		return core.StepResult{Head: h, Step: core.StepID(b.CloudStepID), Task: core.TaskID(b.TaskID), Done: b.Status == "completed",
			Output: b.Output.Map(), Reason: core.Reason(b.ReasonCode)}
	}
	return refusal(h, core.ReasonUnsupported, []core.Fault{{Path: "type", Reason: core.ReasonUnsupported, Message: "this agent takes no " + string(e.Type) + " here"}})
}

// tierOf checks the tier that a control sets: there has to be such a one, and the setting of this device bounds it.
func (c *Codec) tierOf(b *wire.Control) (fault core.Fault, bad bool) {
	if b.Verb != "set_tier" {
		return core.Fault{}, false
	}
	tier, most := core.Tier(b.Target[strings.LastIndex(b.Target, "/")+1:]), c.o.Experiences.Tier
	switch {
	case !core.KnownTier(tier):
		return core.Fault{Path: "target", Reason: wire.ReasonBadValue, Message: string(tier) + " is no tier: shadow, content_only, restricted, full"}, true
	case most != "" && tier.Above(most):
		return core.Fault{Path: "target", Reason: core.ReasonTierBlocked, Message: "this device allows at most " + string(most)}, true
	}
	return core.Fault{}, false
}

// open reads the envelope of one message: what is right or wrong with any of them. bad: its refusal.
func (c *Codec) open(payload []byte, local bool) (e wire.Envelope, h core.Head, bad *core.Refused) {
	e, err := wire.Decode(payload, wire.Options{AllowJSON: c.o.AllowJSON || local, Limits: c.o.Limits, Direction: wire.Down,
		Keys: c.o.Keys(), Signed: c.o.Signed && !local})
	if err != nil {
		return e, core.Head{}, c.unreadable(err, local)
	}
	h = core.Head{Msg: core.MessageID(e.ID), Local: local, Epoch: e.StoreEpoch, Seq: e.Seq, SentMS: millis(e.SentAt), IDMS: madeAt(e.ID)}
	if h.Hash, err = wire.ContentHash(e); err != nil {
		return e, h, refusalOf(h, wire.ReasonMalformed, []core.Fault{{Reason: wire.ReasonMalformed, Message: err.Error()}})
	}
	if e.DeviceID != c.o.DeviceID {
		return e, h, refusalOf(h, core.ReasonWrongDevice, []core.Fault{{Path: "device_id", Reason: core.ReasonWrongDevice, Message: "this device is " + c.o.DeviceID}})
	}
	if c.o.Signed && !local && e.StoreEpoch == "" && !halts(e) {
		return e, h, refusalOf(h, core.ReasonWrongEpoch, []core.Fault{{Path: "store_epoch", Reason: core.ReasonWrongEpoch,
			Message: "where signatures are required a message has to name the store that it is for: without that it could be played again to another one"}})
	}
	return e, h, nil
}

// Monitor reads a monitor lease. bad: it is refused, and that is the whole answer. It is a way of its own since neither a lease nor its
// answer is ever stored.
func (c *Codec) Monitor(payload []byte) (e wire.Envelope, bad *wire.Ack) {
	e, h, refused := c.open(payload, false)
	if refused == nil && e.Monitor == nil {
		refused = refusalOf(h, core.ReasonUnsupported, []core.Fault{{Path: "type", Reason: core.ReasonUnsupported, Message: "only a monitor lease is taken here"}})
	}
	if refused != nil {
		return e, ackOf(&refused.Answer)
	}
	return e, nil
}

func refusalOf(h core.Head, reason core.Reason, faults []core.Fault) *core.Refused {
	r := refusal(h, reason, faults)
	return &r
}

// halts says whether a message only stops or holds. Such a one is taken for any store.
func halts(e wire.Envelope) bool {
	if e.Content != nil {
		return e.Content.Verb == "pause" || e.Content.Verb == "stop"
	}
	return e.Control != nil && (e.Control.Verb == "cancel" || e.Control.Verb == "kill" || e.Control.Verb == "pause")
}

// madeAt is the moment that a UUIDv7 carries, Unix ms: its first 48 bits. The schema has checked the form.
func madeAt(id string) int64 {
	hex := strings.ReplaceAll(id, "-", "")
	if len(hex) < 12 {
		return 0
	}
	ms, err := strconv.ParseInt(hex[:12], 16, 64)
	if err != nil {
		return 0
	}
	return ms
}

// unreadable answers what could not be decoded: by its id where that could be read, else by the hash of its bytes.
func (c *Codec) unreadable(err error, local bool) *core.Refused {
	var de *wire.DecodeError
	if !errors.As(err, &de) {
		return refusalOf(core.Head{Local: local}, wire.ReasonMalformed, []core.Fault{{Reason: wire.ReasonMalformed, Message: err.Error()}})
	}
	ev := refusalOf(core.Head{Msg: core.MessageID(de.ID), Local: local}, core.Reason(de.Faults[0].ReasonCode), faultsOf(de.Faults))
	if de.ID == "" {
		ev.Answer.RefSHA256 = de.SHA256
	}
	return ev
}

func faultsOf(in []wire.Fault) []core.Fault {
	out := make([]core.Fault, len(in))
	for i, f := range in {
		out[i] = core.Fault{Path: f.Path, Reason: core.Reason(f.ReasonCode), Message: f.Message}
	}
	return out
}

func conditionOf(w *wire.Condition) *condition.Condition {
	if w == nil {
		return nil
	}
	c := condition.Condition{Ref: w.Ref, Op: condition.Op(w.Op), Value: w.Value.V, MaxAgeMS: w.MaxAgeMS, Not: conditionOf(w.Not)}
	for i := range w.All {
		c.All = append(c.All, *conditionOf(&w.All[i]))
	}
	for i := range w.Any {
		c.Any = append(c.Any, *conditionOf(&w.Any[i]))
	}
	return &c
}
