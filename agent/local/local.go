// Package local hands in what is said at the robot itself: on its sockets, on its bus. It wraps a body into the message that the
// agent's one door takes, and waits a bounded time for the durable answer.
//
// It promises that a local wish goes the same way as one from the cloud, with an id of its own, and that a caller who goes away does
// not take the wish back: it was handed in. It must not decide, keep or check anything: who may ask is the matter of each entrance.
package local

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// Receiver takes one message as JSON and returns when its answer is durable. [taskmanager.Manager] is one.
type Receiver interface {
	Receive(ctx context.Context, payload []byte, from taskmanager.Source) (core.Answer, error)
}

// AnswerTimeout bounds the wait for the durable answer to a wish. Source: docs/cli.md, bounds.
const AnswerTimeout = 30 * time.Second

// envelope puts a body from a person or program into the message that the agent's door takes.
type envelope struct {
	V        string          `json:"v"`
	Type     wire.Type       `json:"type"`
	ID       string          `json:"id"`
	DeviceID string          `json:"device_id"`
	SentAt   string          `json:"sent_at"`
	Body     json.RawMessage `json:"body"`
}

// Wrap makes a message of a body, sent at a moment of the wall clock. body has to be one JSON value, so that it cannot reach out of its
// member.
func Wrap(t wire.Type, deviceID string, at time.Time, body []byte) (id string, message []byte, err error) {
	v7, err := uuid.NewV7()
	if err != nil {
		return "", nil, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err = enc.Encode(envelope{V: wire.Version, Type: t, ID: v7.String(), DeviceID: deviceID,
		SentAt: at.UTC().Format("2006-01-02T15:04:05.000Z"), Body: body})
	return v7.String(), buf.Bytes(), err
}

// HandIn gives a message to the agent and waits for its answer, for AnswerTimeout. A caller who goes away does not take the message
// with it: it was handed in, and the journal should tell how it ended. Errors are those of [taskmanager.Manager.Receive]; after
// context.DeadlineExceeded it is not known whether the message was taken.
func HandIn(ctx context.Context, to Receiver, message []byte) (core.Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AnswerTimeout)
	defer cancel()
	return to.Receive(ctx, message, taskmanager.FromLocal)
}
