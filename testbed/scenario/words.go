package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// say is a person speaking to the planner.
func (h *house) say(arg string) error {
	locale, text := "ko-KR", arg
	if word, rest, ok := strings.Cut(arg, " "); ok && (word == "en-US" || word == "ko-KR") {
		locale, text = word, rest
	}
	body, err := json.Marshal(map[string]any{"device_id": deviceID, "recognized_text": strings.Trim(text, `"`), "locale": locale})
	if err != nil {
		return err
	}
	var a struct {
		Decision   turn.Decision  `json:"decision"`
		Dispatched bool           `json:"dispatched"`
		Requests   []wire.Request `json:"device_task_requests"`
		Reply      string         `json:"tts_response"`
		WorkflowID string         `json:"workflow_id"`
		ModelCalls int64          `json:"model_calls"`
	}
	refused, err := h.cloud.call("POST", "/v1/turns", body, &a)
	if err != nil {
		return err
	}
	if refused != nil {
		h.note("refused", "turn %s", refused)
		return nil
	}
	what := "sends nothing"
	if a.Dispatched {
		what = fmt.Sprintf("sends %d steps", len(a.Requests))
	}
	h.said = append(h.said, turnOf(time.Since(h.start), a.Decision, a.Dispatched))
	h.note("turn", "%s %s, model calls %d", a.Decision.OwnerSelection, what, a.ModelCalls)
	if t := a.Decision.Trace; t != nil && t.Second != nil && (t.Second.Changed || a.Decision.OwnerSelection != turn.DEF) {
		h.note("grey", "%s before %s, second pass between %s and %s by %s", a.Decision.OwnerSelection, a.Decision.RunnerUpFamily, t.SecondNeed.Pair[0], t.SecondNeed.Pair[1], t.Second.By)
	}
	if a.Decision.STTNullSubtype != "" {
		h.note("null", "%s, %s", a.Decision.STTNullSubtype, a.Decision.STTNullRecovery)
	}
	h.note("reply", "%q", a.Reply)
	h.name(a.WorkflowID)
	return nil
}

// name gives a workflow its number: w1, w2, … in the order of their first mention.
func (h *house) name(id string) {
	if id != "" && !slices.Contains(h.named, core.WorkflowID(id)) {
		h.named = append(h.named, core.WorkflowID(id))
	}
}

// numberOf is the name of a workflow in a scenario.
func (h *house) numberOf(id string) string {
	return fmt.Sprintf("w%d", slices.Index(h.named, core.WorkflowID(id))+1)
}

// plan hands a raw plan to the planner's endpoint; checked: the endpoint judges it, else only the device does.
func (h *house) plan(body string, checked bool) error {
	var a struct {
		WorkflowID string `json:"workflow_id"`
	}
	refused, err := h.cloud.call("POST", fmt.Sprintf("/v1/devices/%s/plans?check=%v", deviceID, checked), []byte(body), &a)
	if err == nil && refused != nil {
		h.note("refused", "plan %s", refused)
	}
	h.name(a.WorkflowID)
	return err
}

func (p *problem) String() string { return p.Code + faultText(p.Faults) }

// faultText is every fault with its place.
func faultText(faults []wire.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "; %s", plain(f.Path+" "+f.ReasonCode))
	}
	return b.String()
}

// cancel asks the endpoint to cancel a workflow by its number.
func (h *house) cancel(arg string) error { return h.wish("cancel", arg, "user") }

// wish asks the endpoint something of a workflow, for somebody.
func (h *house) wish(verb, number, by string) error {
	id, err := h.named1(number)
	if err != nil {
		return fmt.Errorf("cannot %s: %w", verb, err)
	}
	var a struct {
		State string `json:"state"`
	}
	body, err := json.Marshal(map[string]string{"requested_by": by})
	if err != nil {
		return err
	}
	refused, err := h.cloud.call("POST", "/v1/workflows/"+id+"/"+verb, body, &a)
	if err == nil && refused != nil {
		h.note("refused", "%s %s", verb, refused)
	}
	return err
}

// frame puts an envelope around a plan's body.
func (h *house) frame(body string) ([]byte, error) {
	if !json.Valid([]byte(body)) {
		return nil, errors.New("the body is not JSON: use raw")
	}
	return json.Marshal(map[string]any{"v": wire.Version, "type": wire.TypePlan, "id": h.ids.next(), "device_id": deviceID,
		"sent_at": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "seq": h.ids.n.Load(), "body": json.RawMessage(body)})
}

// submit hands a plan in on the robot itself: the way of the local socket.
func (h *house) submit(arg string) error {
	payload, raw := strings.CutPrefix(arg, "raw ")
	data := []byte(payload)
	if !raw {
		var err error
		if data, err = h.frame(arg); err != nil {
			return err
		}
	}
	ans, err := h.device.agent.Manager().Receive(context.Background(), data, taskmanager.FromLocal)
	if err != nil {
		return err
	}
	h.note("answer", "%s", ackText(ans.Accepted, string(ans.Reason), faultsOf(ans.Faults)))
	return nil
}

func faultsOf(in []core.Fault) (out []wire.Fault) {
	for _, f := range in {
		out = append(out, wire.Fault{Path: f.Path, ReasonCode: string(f.Reason), Message: f.Message})
	}
	return out
}

func ackText(accepted bool, reason string, faults []wire.Fault) string {
	word := "refused"
	if accepted {
		word = "accepted"
	}
	return strings.TrimSpace(word+" "+reason) + faultText(faults)
}

// publish sends bytes to the device's plan topic from outside, as a faulty planner would.
func (h *house) publish(arg string) error {
	return h.broker.Publish("deviceagent/v1/"+deviceID+"/down/plan", []byte(strings.TrimPrefix(arg, "raw ")), false)
}

// setLink tears the device's line to the broker, or mends it.
func (h *house) setLink(arg string) error {
	switch arg {
	case "down":
		h.device.net.tear()
	case "up":
		h.device.net.mend()
	default:
		return fmt.Errorf("link %q: want up or down", arg)
	}
	return nil
}

// setBroker makes the broker keep what goes down to the device of one type ("keeps plan"), or hand it over ("delivers").
func (h *house) setBroker(arg string) error {
	typ, keeps := strings.CutPrefix(arg, "keeps ")
	switch {
	case keeps:
		h.broker.Keep(func(_, topic string) bool { return topic == "deviceagent/v1/"+deviceID+"/down/"+typ })
		return nil
	case arg == "delivers":
		return h.broker.Deliver()
	}
	return fmt.Errorf("broker %q: want keeps TYPE or delivers", arg)
}
