package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"deviceagent/bridge/wire"
)

// tell sends a word of the planner to the content session that a step has opened, from outside of it: "w1.s say {"text":"…"}". @now in its
// body is the present moment.
func (h *house) tell(arg string) error {
	target, rest, _ := strings.Cut(arg, " ")
	verb, body, _ := strings.Cut(strings.TrimSpace(rest), " ")
	number, step, _ := strings.Cut(target, ".")
	c := wire.Content{Verb: verb}
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if body = strings.ReplaceAll(body, "@now", now); body != "" {
		if err := json.Unmarshal([]byte(body), &c); err != nil {
			return fmt.Errorf("cannot read what is told: %w", err)
		}
	}
	if c.SessionID = target; target != noSession {
		id, err := h.named1(number)
		if err != nil {
			return err
		}
		if c.SessionID = h.sessionOf(id, step); c.SessionID == "" {
			return fmt.Errorf("%s has opened no content session", target)
		}
	}
	env := wire.Envelope{V: wire.Version, Type: wire.TypeContent, ID: h.ids.next(), DeviceID: deviceID, SentAt: now, Content: &c}
	if verb == "cancel" { // a user's wish: that session alone
		env.Type, env.Content, env.Control = wire.TypeControl, nil, &wire.Control{Verb: "cancel", Scope: "session", Target: c.SessionID}
	}
	data, err := wire.Encode(env, h.form.encoding())
	if err != nil {
		return fmt.Errorf("cannot tell it: %w", err)
	}
	return h.broker.Publish("deviceagent/v1/"+deviceID+"/down/"+string(env.Type), data, false)
}

// noSession is one that no device has.
const noSession = "nobody"

// contents are the answers of the device to what its sessions were told, and what became of them, as the outside subscriber saw them.
func (h *house) contents(msgs []message) (out []Fact) {
	seen, names := map[string]bool{}, map[string]string{}
	for _, m := range msgs {
		if d := m.env.StepDue; d != nil && d.SessionID != "" {
			names[d.SessionID] = h.numberOf(m.env.Corr.WorkflowID) + "." + d.CloudStepID
		}
		c := m.env.Content
		if c == nil || !m.up || seen[m.env.ID] {
			continue
		}
		seen[m.env.ID] = true
		text := c.Event + " " + c.Text
		if c.Event == "" {
			text = c.Verb + " refused " + c.ReasonCode
			if c.Accepted != nil && *c.Accepted {
				text = c.Verb + " accepted"
			}
		}
		out = append(out, Fact{"content", plain(strings.TrimSpace(cmp.Or(names[c.SessionID], c.SessionID) + " " + text))})
	}
	return out
}

// sessionOf is the content session that a step was last due with.
func (h *house) sessionOf(workflow, step string) (id string) {
	msgs, _ := h.messages()
	for _, m := range msgs {
		if d := m.env.StepDue; d != nil && m.env.Corr.WorkflowID == workflow && d.CloudStepID == step {
			id = d.SessionID
		}
	}
	return id
}

// nameSessions calls each content session by the step that has opened it: its id holds what is drawn anew in each run.
func (h *house) nameSessions(facts []Fact, msgs []message) {
	for _, m := range msgs {
		if d := m.env.StepDue; d != nil && d.SessionID != "" {
			for i := range facts {
				facts[i].Text = strings.ReplaceAll(facts[i].Text, "session_id="+d.SessionID, "session_id="+h.numberOf(m.env.Corr.WorkflowID)+"."+d.CloudStepID)
			}
		}
	}
}
