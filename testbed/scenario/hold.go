package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
)

// named1 is the id of a workflow by its number in the scenario.
func (h *house) named1(number string) (string, error) {
	var n int
	if _, err := fmt.Sscanf(number, "w%d", &n); err != nil || n < 1 || n > len(h.named) {
		return "", fmt.Errorf("%q is none of the %d workflows that are known", number, len(h.named))
	}
	return string(h.named[n-1]), nil
}

// hold asks the endpoint to pause or resume a workflow for somebody: "w1 by app".
func (h *house) hold(verb, arg string) error {
	number, by, ok := strings.Cut(arg, " by ")
	if !ok {
		return fmt.Errorf("cannot %s %q: say for whom, as in w1 by app", verb, arg)
	}
	return h.wish(verb, strings.TrimSpace(number), strings.TrimSpace(by))
}

// local asks the agent itself, as the field tool does: "pause w1", "resume all", "kill w1".
func (h *house) local(arg string) error {
	verb, target, _ := strings.Cut(arg, " ")
	c := wire.Control{Verb: verb, Scope: "all", RequestedBy: "tester"}
	switch {
	case verb == "set_tier":
		c.Target = target
	case target != "all":
		id, err := h.named1(target)
		if err != nil {
			return err
		}
		c.Scope, c.Target = "workflow", id
	}
	payload, err := json.Marshal(map[string]any{"v": wire.Version, "type": wire.TypeControl, "id": h.ids.next(), "device_id": deviceID,
		"sent_at": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "body": c})
	if err != nil {
		return err
	}
	ans, err := h.device.agent.Manager().Receive(context.Background(), payload, taskmanager.FromLocal)
	if err != nil {
		return err
	}
	h.note("answer", "%s %s%s", verb, ackText(ans.Accepted, string(ans.Reason), faultsOf(ans.Faults)), h.holdText(ans.Steps, ans.Holders))
	return nil
}

// control publishes a control that no endpoint of the planner has: "set_tier all shadow", "pause experience exp_1".
func (h *house) control(arg string) error {
	words := strings.Fields(arg)
	if len(words) != 2 && len(words) != 3 {
		return fmt.Errorf("control %q: want VERB SCOPE [TARGET]", arg)
	}
	e := wire.Envelope{V: wire.Version, Type: wire.TypeControl, ID: h.ids.next(), DeviceID: deviceID, SentAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		Control: &wire.Control{Verb: words[0], Scope: words[1], RequestedBy: "tester"}}
	if len(words) == 3 {
		e.Control.Target = words[2]
	}
	data, err := wire.Encode(e, wire.CBOR)
	if err != nil {
		return err
	}
	return h.broker.Publish("deviceagent/v1/"+deviceID+"/down/control", data, false)
}

// holdText is what the answer of a pause or resume tells besides: what becomes of each step, and who holds it then.
func (h *house) holdText(steps, holders []string) string {
	text := strings.Join(append(append([]string{}, steps...), holders...), "; ")
	for _, id := range h.named {
		text = strings.ReplaceAll(text, string(id), h.numberOf(string(id)))
	}
	if text != "" {
		text = "; " + text
	}
	return text
}
