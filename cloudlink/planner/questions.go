package planner

import (
	"errors"
	"fmt"
	"net/http"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// questionView is a question to the user as HTTP shows it: what the device said of it last, and what was sent as its answer.
type questionView struct {
	QuestionID   string                `json:"question_id"`
	WorkflowID   string                `json:"workflow_id"`
	CloudStepID  string                `json:"cloud_step_id"`
	ExperienceID string                `json:"experience_id"`
	Kind         string                `json:"kind"`
	Consent      string                `json:"consent,omitempty"`
	Text         string                `json:"text"`
	Options      []wire.QuestionOption `json:"options"`
	AskedAt      string                `json:"asked_at"`
	ExpiresAt    string                `json:"expires_at,omitempty"`
	State        string                `json:"state"` // open, answered, withdrawn, expired; answered too as soon as the device has taken the answer
	Option       string                `json:"option,omitempty"`
	By           string                `json:"by,omitempty"`
	Answer       *downView             `json:"answer,omitempty"` // that was sent from here

	until int64 // Unix ms
}

// questionsOf reads the questions to the user about a workflow, oldest first.
func (s *Server) questionsOf(tx *store.Tx, device, workflow string) (out []questionView, err error) {
	rows, err := tx.MessagesOf(device, workflow, messagesCounted)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for _, m := range rows {
		if m.Type != string(wire.TypeQuestion) {
			continue
		}
		env, err := wire.Decode(m.Payload, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Up})
		if err != nil || env.Question == nil {
			continue // quarantined when it came
		}
		q := env.Question
		i, known := at[q.QuestionID]
		if !known {
			i = len(out)
			at[q.QuestionID] = i
			out = append(out, questionView{QuestionID: q.QuestionID, WorkflowID: workflow, CloudStepID: env.Corr.StepID, ExperienceID: q.ExperienceID, Options: []wire.QuestionOption{}, State: "open"})
		}
		out[i].take(q, env.SentAt, m.ReceivedAt)
	}
	return out, s.addAnswers(tx, workflow, out)
}

// take notes what a message says of a question. That it has closed stands, however the messages come.
func (v *questionView) take(q *wire.Question, sentAt string, received int64) {
	switch {
	case q.Withdrawn:
		v.State = "withdrawn"
	case q.Option != "":
		v.State, v.Option, v.By = "answered", q.Option, q.By
	default:
		v.Kind, v.Consent, v.Text, v.Options, v.AskedAt, v.ExpiresAt = q.Kind, q.Consent, q.Text, nonNil(q.Options), sentAt, q.ExpiresAt
		v.until = received + q.ExpiresMS
	}
}

func (s *Server) addAnswers(tx *store.Tx, workflow string, all []questionView) error {
	rows, err := tx.DownOf(workflow)
	if err != nil {
		return err
	}
	for i := range all {
		v := &all[i]
		for _, row := range rows {
			if row.Type != string(wire.TypeAnswer) {
				continue
			}
			env, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
			if err != nil {
				return fmt.Errorf("cannot read stored answer %s: %w", row.ID, err)
			}
			if env.Answer.QuestionID != v.QuestionID {
				continue
			}
			sent := viewDown(row)
			v.Answer = &sent
			if row.State == store.Accepted {
				v.State, v.Option, v.By = "answered", env.Answer.Option, env.Answer.By
			}
		}
		if v.State == "open" && v.until < ms(s.opt.Now()) {
			v.State = "expired"
		}
	}
	return nil
}

// answerRequest chooses one of the options of a question.
type answerRequest struct {
	QuestionID string `json:"question_id"`
	Option     string `json:"option"`
	TurnID     string `json:"turn_id"`
	By         string `json:"by"` // default: user
}

type answerAnswer struct {
	WorkflowID string `json:"workflow_id"`
	QuestionID string `json:"question_id"`
	MessageID  string `json:"message_id"`
	State      string `json:"state"` // requested: the device takes the first answer, whoever gave it
}

// postAnswer hands on what a person has answered. Whether it was the first the device alone knows.
func (s *Server) postAnswer(req *http.Request) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	ask := answerRequest{By: "user"}
	if err := readBody(req, controlBytes, &ask); err != nil {
		return 0, nil, err
	}
	device, err := s.deviceOf(req, id)
	if err != nil {
		return 0, nil, err
	}
	out := answerAnswer{WorkflowID: id, QuestionID: ask.QuestionID, State: "requested"}
	env := s.envelope(device, wire.TypeAnswer)
	env.Answer = &wire.Answer{QuestionID: ask.QuestionID, Option: ask.Option, TurnID: ask.TurnID, By: ask.By}
	err = s.change(req.Context(), device, func(tx *store.Tx) error { return s.answerQuestion(tx, env, &out) })
	if err != nil {
		return 0, nil, err
	}
	s.hub.publish(event{Kind: "workflow", ID: id, DeviceID: device, What: "answer requested"})
	return http.StatusAccepted, out, nil
}

// answerQuestion keeps the answer to an open question of a device.
func (s *Server) answerQuestion(tx *store.Tx, env wire.Envelope, out *answerAnswer) error {
	all, err := s.questionsOf(tx, env.DeviceID, out.WorkflowID)
	if err != nil {
		return err
	}
	for _, q := range all {
		switch {
		case q.QuestionID != env.Answer.QuestionID:
			continue
		case q.State != "open":
			return &problem{Status: http.StatusConflict, Code: "question_closed", Title: "this question is not open any more", Detail: q.State}
		case q.Answer != nil && q.Answer.AnsweredAt == "":
			return &problem{Status: http.StatusConflict, Code: "question_answered", Title: "an answer is on its way to the device"}
		}
		env.Corr = wire.Corr{WorkflowID: out.WorkflowID, StepID: q.CloudStepID, ExperienceID: q.ExperienceID, TurnID: env.Answer.TurnID}
		out.MessageID = env.ID
		return s.queue(tx, env, q.until)
	}
	return notFound("question", env.Answer.QuestionID)
}

// applyQuestion tells those who watch.
func (s *Server) applyQuestion(tx *store.Tx, env wire.Envelope, a *aftermath) error {
	what := "question"
	switch q := env.Question; {
	case q.Withdrawn:
		what = "question withdrawn"
	case q.Option != "":
		what = "question answered"
	}
	a.events = append(a.events, event{Kind: "workflow", ID: env.Corr.WorkflowID, DeviceID: env.DeviceID, What: what})
	return s.tellGoal(tx, env.Corr.WorkflowID, env.DeviceID, what, a)
}

// addQuestions lists what the users of a device are asked now.
func (v *deviceView) addQuestions(s *Server, tx *store.Tx) error {
	for _, w := range v.Workflows {
		if w.Status != "" {
			continue
		}
		all, err := s.questionsOf(tx, v.DeviceID, w.WorkflowID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		for _, q := range all {
			if q.State == "open" {
				v.Questions = append(v.Questions, q)
			}
		}
	}
	return nil
}
