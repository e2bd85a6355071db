package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"deviceagent/bridge/wire"
)

// planner talks to the planner as any client does. Source: docs/planner-api.md.
type planner struct {
	url    string // http://host:port
	client *http.Client
}

func newPlanner(addr string) *planner {
	return &planner{url: "http://" + addr, client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}}}
}

// turnAnswer is what the demo reads of the answer to an utterance.
type turnAnswer struct {
	Dispatched bool           `json:"dispatched"`
	WorkflowID string         `json:"workflow_id"`
	Requests   []wire.Request `json:"device_task_requests"`
	TTS        string         `json:"tts_response"`
	ModelCalls int64          `json:"model_calls"`
}

// workflow is what the demo reads of a workflow. Status is empty until the agent closed it.
type workflow struct {
	Submission  string       `json:"submission"`
	ReasonCode  string       `json:"reason_code"`
	Status      string       `json:"status"`
	Result      *wire.Result `json:"result"`
	ModelCalls  int64        `json:"model_calls"`
	Submissions []struct {
		Ack *wire.Ack `json:"ack"`
	} `json:"submissions"`
}

type device struct {
	Link string `json:"link"`
}

// say sends one utterance. With dispatch false it is only planned.
func (p *planner) say(ctx context.Context, text string, dispatch bool) (a turnAnswer, err error) {
	body, err := json.Marshal(map[string]any{"device_id": deviceID, "recognized_text": text, "dispatch": dispatch})
	if err != nil {
		return a, fmt.Errorf("cannot say %q: %w", text, err)
	}
	if err := p.call(ctx, http.MethodPost, "/v1/turns", body, &a); err != nil {
		return a, fmt.Errorf("cannot say %q: %w", text, err)
	}
	return a, nil
}

func (p *planner) workflow(ctx context.Context, id string) (w workflow, err error) {
	if err := p.call(ctx, http.MethodGet, "/v1/workflows/"+id, nil, &w); err != nil {
		return w, fmt.Errorf("cannot look at the workflow: %w", err)
	}
	return w, nil
}

// online says whether the planner has the robot's hello.
func (p *planner) online(ctx context.Context) bool {
	var d device
	return p.call(ctx, http.MethodGet, "/v1/devices/"+deviceID, nil, &d) == nil && d.Link == "online"
}

func (p *planner) call(ctx context.Context, method, path string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("cannot read the planner's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the planner answers %s: %s", resp.Status, problem(data))
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("cannot read the planner's answer: %w", err)
	}
	return nil
}

// problem tells a problem document in one line.
func problem(data []byte) string {
	var p struct {
		Title, Detail, Hint string
		Faults              []wire.Fault
	}
	if json.Unmarshal(data, &p) != nil || p.Title == "" {
		return strings.TrimSpace(string(data))
	}
	text := []string{p.Title}
	for _, more := range []string{p.Detail, p.Hint} {
		if more != "" {
			text = append(text, more)
		}
	}
	for _, f := range p.Faults {
		text = append(text, f.Path+": "+f.Message)
	}
	return strings.Join(text, "; ")
}
