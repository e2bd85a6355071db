package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// decideToAsk lays out a decision to ask the user; arg is its question as JSON.
func (h *house) decideToAsk(arg string) error {
	var q wire.UserAsk
	if err := json.Unmarshal([]byte(arg), &q); err != nil {
		return fmt.Errorf("cannot read the question of the decision: %w", err)
	}
	h.answers.mu.Lock()
	defer h.answers.mu.Unlock()
	h.answers.next, h.answers.plans = append(h.answers.next, wire.Decision{Action: string(core.ActAsk), Question: &q}), append(h.answers.plans, "")
	return nil
}

// askedText is what a message says of a question to the user.
func askedText(q *wire.Question) string {
	switch {
	case q.Withdrawn:
		return "withdrawn"
	case q.Option != "":
		return fmt.Sprintf("answered %s by %s", q.Option, q.By)
	}
	var options []string
	for _, o := range q.Options {
		options = append(options, o.ID)
	}
	return fmt.Sprintf("%q [%s] expires after %ds", q.Text, strings.Join(options, " "), q.ExpiresMS/1000)
}

// questionTo finds the latest question to the user of a workflow, open or not.
func (h *house) questionTo(number string) (wf string, ask core.Ask, err error) {
	id, err := h.named1(number)
	if err != nil {
		return "", ask, err
	}
	err = h.inspect(func(s *core.State) {
		if w := s.Workflows[core.WorkflowID(id)]; w != nil && len(w.Asks) > 0 {
			ask = w.Asks[len(w.Asks)-1]
		}
	})
	if err == nil && ask.ID == "" {
		err = fmt.Errorf("%s has asked its user nothing", number)
	}
	return id, ask, err
}

// answer is somebody's answer to the latest question of a workflow: "planner w1 yes" through the planner's endpoint, "local w1 yes" at the
// robot's own socket.
func (h *house) answer(arg string) error {
	words := strings.Fields(arg)
	if len(words) != 3 {
		return fmt.Errorf("answers %q: want planner or local, a workflow and an option", arg)
	}
	wf, ask, err := h.questionTo(words[1])
	if err != nil {
		return err
	}
	switch words[0] {
	case "planner":
		body, _ := json.Marshal(map[string]string{"question_id": string(ask.ID), "option": words[2]})
		refused, err := h.cloud.call("POST", "/v1/workflows/"+wf+"/answer", body, &struct{}{})
		if err == nil && refused != nil {
			h.note("refused", "%s", refused.Code)
		}
		return err
	case "local":
		return h.answerHere(ask.ID, words[2])
	}
	return fmt.Errorf("answers %q: want planner or local", arg)
}

func (h *house) answerHere(id core.AskID, option string) error {
	payload, err := json.Marshal(map[string]any{"v": wire.Version, "type": wire.TypeAnswer, "id": h.ids.next(), "device_id": deviceID,
		"sent_at": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "body": wire.Answer{QuestionID: string(id), Option: option, By: "tester"}})
	if err != nil {
		return err
	}
	ans, err := h.device.agent.Manager().Receive(context.Background(), payload, taskmanager.FromLocal)
	if err != nil {
		return err
	}
	h.note("answer", "%s %s", option, ackText(ans.Accepted, string(ans.Reason), faultsOf(ans.Faults)))
	return nil
}
