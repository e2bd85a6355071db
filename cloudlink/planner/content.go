package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// contentRequest is one word to a content session of a device, in the fields of the contract.
type contentRequest struct {
	SessionID string               `json:"session_id"` // as step_due named it
	Verb      string               `json:"verb"`
	Text      string               `json:"text"`
	SpeechAct string               `json:"speech_act"`
	Payload   *wire.ContentPayload `json:"payload"`
}

type contentAnswer struct {
	MessageID string `json:"message_id"`
	State     string `json:"state"` // requested: the device will answer
}

// postContent sends a word to a content session. It is answered by the device, in the order in which it was asked; what is not sent in
// its time is dropped: words that come much later are worse than none.
func (s *Server) postContent(req *http.Request) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	var ask contentRequest
	if err := readBody(req, turnBytes, &ask); err != nil {
		return 0, nil, err
	}
	env := s.envelope(id, wire.TypeContent)
	env.Corr = wire.Corr{TaskID: ask.SessionID}
	env.Content = &wire.Content{SessionID: ask.SessionID, Verb: ask.Verb, Text: ask.Text, SpeechAct: ask.SpeechAct, Payload: ask.Payload}
	err = s.change(req.Context(), id, func(tx *store.Tx) error {
		if _, err := tx.Device(id); errors.Is(err, store.ErrNotFound) {
			return notFound("device", id)
		}
		return s.queue(tx, env, ms(s.opt.Now().Add(defaultTTL)))
	})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, contentAnswer{MessageID: env.ID, State: "requested"}, nil
}

// applyContent takes what a session says: the answer to a word, which ends its wait, or an event.
func (s *Server) applyContent(tx *store.Tx, env wire.Envelope, a *aftermath) error {
	c := env.Content
	a.events = append(a.events, event{Kind: "content", ID: c.SessionID, DeviceID: env.DeviceID, What: contentWhat(c)})
	if err := s.steerTalk(tx, env); err != nil {
		return err
	}
	a.touch(env.DeviceID, false)
	if c.RefID == "" {
		return nil
	}
	row, err := tx.Down(c.RefID)
	if errors.Is(err, store.ErrNotFound) || err == nil && (row.DeviceID != env.DeviceID || row.AnsweredAt != 0) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot find answered message %s: %w", c.RefID, err)
	}
	body, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("cannot keep answer %s: %w", env.ID, err)
	}
	taken := c.Accepted != nil && *c.Accepted
	row.Ack, row.ReasonCode, row.AnsweredAt = body, c.ReasonCode, ms(s.opt.Now())
	row.State = map[bool]store.State{true: store.Accepted, false: store.Refused}[taken]
	a.touch(env.DeviceID, false)
	return tx.PutDown(row)
}

// contentWhat is what the stream says of a session: its event, or what became of a word.
func contentWhat(c *wire.Content) string {
	switch {
	case c.Event != "":
		return c.Event
	case c.Accepted != nil && *c.Accepted:
		return c.Verb + " accepted"
	}
	return c.Verb + " refused " + c.ReasonCode
}
