package bridge

import (
	"fmt"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// stamp writes a moment of the wall clock, Unix ms.
func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// About is what the sender adds to a message.
type About struct {
	Epoch    string
	FloorSeq int64
	WallMS   int64 // 0: not known, the epoch of the clock is sent
}

// Encode makes the final bytes of an up message, with a new id. A result is at most 64 KiB, cut in the stated order where it has to
// be; evidence that no message can hold is cut too, so that a report is never held back by what it reports.
func (c *Codec) Encode(m core.Message, about About) (string, []byte, error) {
	e := wire.Envelope{
		V: wire.Version, Type: wire.Type(m.Type), ID: c.o.NewID(), DeviceID: c.o.DeviceID, StoreEpoch: about.Epoch,
		SentAt: stamp(about.WallMS), Seq: m.Seq, FloorSeq: about.FloorSeq,
		Corr: wire.Corr{TurnID: m.Turn, WorkflowID: string(m.Workflow), PlanID: string(m.Plan), StepID: string(m.Step), TaskID: string(m.Task)},
	}
	switch m.Type {
	case core.MsgAck:
		e.Ack = ackOf(m.Ack)
	case core.MsgResult:
		e.Result = resultOf(m.Result)
		if m.Result.Goal != nil {
			e.Corr.ExperienceID = m.Result.Goal.Experience
		}
	case core.MsgContent:
		e.Content = contentReport(m.Content)
	case core.MsgEscalation:
		e.Escalation, e.Corr.EscalationID = escalationOf(m.Escalation), string(m.Escalation.ID)
	case core.MsgQuestion:
		e.Question, e.Corr.ExperienceID = questionOf(m.Question, about.WallMS), m.Question.Experience
	case core.MsgStepDue:
		d := m.StepDue
		e.StepDue = &wire.StepDue{CloudStepID: string(d.Step), TaskID: string(d.Task), Skill: d.Skill, SessionID: sessionOf(d), Inputs: wire.ObjectOf(d.Inputs), Evidence: evidenceOf(d.Proof)}
	default:
		return "", nil, fmt.Errorf("cannot encode message: no body for type %q", m.Type)
	}
	body, err := c.fit(&e)
	return e.ID, body, err
}

func ackOf(a *core.Answer) *wire.Ack {
	out := &wire.Ack{RefID: string(a.Ref), RefSHA256: a.RefSHA256, Accepted: a.Accepted, ReasonCode: code(a.Reason), State: a.State,
		Stopping: a.Stopping, HoldersLeft: a.Holders, Steps: a.Steps, CatalogEtag: a.CatalogEtag}
	for _, f := range a.Faults {
		out.Errors = append(out.Errors, wire.Fault{Path: f.Path, ReasonCode: code(f.Reason), Message: f.Message})
	}
	return out
}

// code is a reason on the wire. An executor may say anything; what is no id would make the whole message unreadable.
func code(r core.Reason) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("._:-@", c):
			return c
		}
		return '_'
	}, string(r[:min(len(r), 128)]))
}

func resultOf(r *core.Result) *wire.Result {
	out := &wire.Result{Status: string(r.Status), ReasonCode: code(r.Reason), ElapsedMS: r.ElapsedMS, Counters: wire.Counters{UplinkMessages: r.Uplink, Decisions: r.Decisions, Replans: r.Replans}}
	if g := r.Goal; g != nil {
		out.Experience = &wire.GoalReport{ExperienceID: g.Experience, GoalID: g.ID, Status: string(g.Status), ReasonCode: code(g.Reason), Trace: Trace(g.Trace)}
		for _, e := range g.Effects {
			out.Experience.Effects = append(out.Experience.Effects, wire.GoalEffectReport{EffectID: e.Effect, StepID: string(e.Step), Required: e.Required, State: string(e.State)})
		}
	}
	for _, s := range r.Steps {
		rep := wire.StepReport{CloudStepID: string(s.ID), State: string(s.State), Attempts: s.Attempts, ReasonCode: code(s.Reason),
			Evidence: evidenceOf(s.Effects), StartedMS: s.StartMS, EndedMS: s.EndMS}
		for _, e := range s.Effects {
			rep.Effects = append(rep.Effects, wire.EffectReport{EffectID: effectName(e), State: string(e.State)})
		}
		out.Steps = append(out.Steps, rep)
	}
	return out
}

// effectName is the id on the wire; the proof of an operation without an effect has a name of its own.
func effectName(e core.Effect) string {
	if e.ID == "" {
		return "done_evidence"
	}
	return string(e.ID)
}

func evidenceOf(effects []core.Effect) []wire.Evidence {
	var out []wire.Evidence
	for _, e := range effects {
		for _, p := range e.Evidence {
			if p.Against {
				continue // a result lists proof; what spoke against it is told by the effect's state and the step's reason
			}
			ev := wire.Evidence{EffectID: effectName(e), Event: string(p.Event), Key: string(p.Key), Source: p.Source, Class: string(p.Class),
				Seq: p.Seq, AgeMS: p.AgeMS, Correlation: p.By, Recovered: p.Recovered}
			if p.Value != nil {
				ev.Value = wire.ValueOf(p.Value)
			}
			out = append(out, ev)
		}
	}
	return out
}
