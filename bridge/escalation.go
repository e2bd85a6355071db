package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// escalationOf makes the body of a question.
func escalationOf(q *core.Question) *wire.Escalation {
	out := &wire.Escalation{EscalationID: string(q.ID), ReasonCode: code(q.Reason), Recoverable: q.Recoverable, PlanRevision: q.Revision,
		DefaultAction: string(q.Default), DeadlineMS: q.DeadlineMS, ContextEtag: contextEtag(q.Context),
		Budget: wire.Budget{DecisionsLeft: q.Left.Decisions, ReplansLeft: q.Left.Replans, QuestionsLeft: q.Left.Questions}}
	for _, a := range q.Allowed {
		out.AllowedActions = append(out.AllowedActions, string(a))
	}
	for _, o := range q.Owed {
		r := wire.RemainingEffect{EffectID: string(o.Effect), CloudStepID: string(o.Step), State: string(o.State)}
		for _, m := range o.Providers {
			r.Providers = append(r.Providers, string(m))
		}
		out.RemainingEffects = append(out.RemainingEffects, r)
	}
	for _, s := range q.Context {
		c := wire.ContextSeen{Key: string(s.Key), Availability: string(s.Availability), AgeMS: s.AgeMS, Source: s.Source}
		if s.Value != nil {
			c.Value = wire.ValueOf(s.Value)
		}
		out.Context = append(out.Context, c)
	}
	for _, h := range q.Events {
		l := wire.LastEvent{Event: code(core.Reason(h.Event)), TaskID: string(h.Task), ReasonCode: code(h.Reason), AgeMS: h.AgeMS}
		if h.Value != nil {
			l.Value = wire.ValueOf(h.Value)
		}
		out.LastEvents = append(out.LastEvents, l)
	}
	return out
}

// contextEtag names what the device knew when it asked: values and what they are worth, not their ages.
func contextEtag(seen []core.Seen) string {
	rows := make([][3]any, len(seen))
	for i, s := range seen {
		rows[i] = [3]any{s.Key, s.Availability, s.Value}
	}
	text, err := json.Marshal(rows) // object members come sorted: the same values give the same text
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// thinEvents and thinContext are what a question gives up where no message can hold it: what was seen, never that it was.
func thinEvents(e *wire.Envelope) {
	if e.Escalation != nil {
		for i := range e.Escalation.LastEvents {
			e.Escalation.LastEvents[i].Value = wire.Value{}
		}
	}
}

func thinContext(e *wire.Envelope) {
	if e.Escalation != nil {
		for i := range e.Escalation.Context {
			e.Escalation.Context[i].Value = wire.Value{}
		}
	}
}

// decision turns the answer to a question into an event. A plan in it is checked like any other; its faults go along, so that the
// question stays open and the refusal names them.
func (c *Codec) decision(h core.Head, b *wire.Decision) core.Event {
	ev := core.DecisionReceived{Escalation: core.EscalationID(b.EscalationID), Action: core.Action(wire.ActionOf(b.Action)), PlanRevision: b.PlanRevision, Reason: b.Reason}
	if b.Usage != nil {
		ev.Usage = &core.Usage{Model: b.Usage.Model, InputTokens: b.Usage.InputTokens, OutputTokens: b.Usage.OutputTokens, LatencyMS: b.Usage.LatencyMS}
	}
	if q := b.Question; q != nil {
		ev.Question = &core.UserAsk{Text: q.Text, TimeoutMS: q.TimeoutMS}
		for _, o := range q.Options {
			ev.Question.Options = append(ev.Question.Options, core.AskOption{ID: o.ID, Text: o.Text, Action: core.Action(o.Action)})
		}
	}
	if b.Plan != nil {
		ev.Plan, ev.Faults, ev.GoalFaults = c.check(b.Plan, h.Local)
		for _, list := range [][]core.Fault{ev.Faults, ev.GoalFaults} {
			for i := range list {
				if list[i].Path != "" {
					list[i].Path = "plan." + list[i].Path
				}
			}
		}
		h.ExpireMS = expiry(h, b.Plan)
	}
	ev.Head = h
	return ev
}
