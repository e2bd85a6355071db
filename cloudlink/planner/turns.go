package planner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/running"
	"deviceagent/cloudlink/planner/schedule"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// turnRequest is what a voice front end asks.
type turnRequest struct {
	DeviceID       string `json:"device_id"`
	RecognizedText string `json:"recognized_text"`
	Locale         string `json:"locale"`   // default ko-KR
	Timezone       string `json:"timezone"` // of the home, as in Asia/Seoul; default: the endpoint's
	Dispatch       *bool  `json:"dispatch"` // default true; false only plans

	VoiceContext    turn.Voice       `json:"voice_context,omitzero"`
	HistoryContext  *[]turn.Said     `json:"history_context,omitempty"`  // oldest first; left out: the last turns of the device
	WorkflowContext *workflowContext `json:"workflow_context,omitempty"` // left out: all that is under way on the device
	DeviceContext   *turn.Device     `json:"device_context,omitempty"`   // left out: nothing is known of its state
}

// turnAnswer is the whole of a turn. WorkflowID, PlanID and Submission are there only if something was dispatched.
type turnAnswer struct {
	TurnID         string         `json:"turn_id"`
	DeviceID       string         `json:"device_id"`
	RecognizedText string         `json:"recognized_text"`
	Locale         string         `json:"locale"`
	CreatedAt      string         `json:"created_at"`
	Dispatched     bool           `json:"dispatched"`
	Decision       turn.Decision  `json:"decision"`
	Steps          []turn.Step    `json:"steps"`
	WorkflowID     string         `json:"workflow_id,omitempty"`
	PlanID         string         `json:"plan_id,omitempty"`
	Requests       []wire.Request `json:"device_task_requests"`
	TTSResponse    string         `json:"tts_response"`
	Correlation    correlation    `json:"correlation"`
	ModelCalls     int64          `json:"model_calls"`
	SessionID      string         `json:"session_id,omitempty"`  // the words are for this content session, which answers them
	CloudSteps     []agents.Did   `json:"cloud_steps,omitempty"` // that were carried out for the answer

	answers string // the turn that has left open what this one answers; empty: none
}

type correlation struct {
	TurnID     string `json:"turn_id"`
	WorkflowID string `json:"workflow_id,omitempty"`
	PlanID     string `json:"plan_id,omitempty"`
	MessageID  string `json:"message_id,omitempty"` // of the plan
	ControlID  string `json:"control_id,omitempty"` // of the control, as in "다 그만"
	AnswerID   string `json:"answer_id,omitempty"`  // of the answer to a question of the device
}

const (
	maxUtterance = 8 << 10 // bytes: the contract's limit of a string
	maxIdemKey   = 128
)

var locales = []string{"ko-KR", "en-US"}

func (r *turnRequest) validate() error {
	var faults []wire.Fault
	bad := func(path, msg string) {
		faults = append(faults, wire.Fault{Path: path, ReasonCode: wire.ReasonBadValue, Message: msg})
	}
	if !validID(r.DeviceID) {
		bad("device_id", "must be 1 to 128 characters of A-Z a-z 0-9 . _ : -")
	}
	if strings.TrimSpace(r.RecognizedText) == "" || len(r.RecognizedText) > maxUtterance || !utf8.ValidString(r.RecognizedText) {
		bad("recognized_text", fmt.Sprintf("must be text of 1 to %d bytes", maxUtterance))
	}
	if r.Locale == "" {
		r.Locale = locales[0]
	}
	if !slices.Contains(locales, r.Locale) {
		bad("locale", "must be one of "+strings.Join(locales, ", "))
	}
	if _, err := zoneOf(r.Timezone, nil); err != nil {
		bad("timezone", "must be a zone such as Asia/Seoul")
	}
	if faults = append(faults, r.contextFaults()...); len(faults) > 0 {
		return &problem{Status: http.StatusUnprocessableEntity, Code: "bad_turn", Title: "the turn has faults", Faults: faults}
	}
	return nil
}

func (s *Server) postTurn(req *http.Request) (int, any, error) {
	var ask turnRequest
	if err := readBody(req, turnBytes, &ask); err != nil {
		return 0, nil, err
	}
	if err := ask.validate(); err != nil {
		return 0, nil, err
	}
	row := store.Turn{ID: s.opt.NewID(), DeviceID: ask.DeviceID, CreatedAt: ms(s.opt.Now()), HTTPStatus: http.StatusOK,
		IdemKey: req.Header.Get("Idempotency-Key"), RequestSHA: ask.sum()}
	if len(row.IdemKey) > maxIdemKey {
		return 0, nil, &problem{Status: http.StatusBadRequest, Code: "bad_key", Title: "the idempotency key is too long"}
	}
	old, err := s.earlier(req.Context(), row)
	if old != nil || err != nil {
		return http.StatusOK, old, err
	}
	answer, plan, err := s.plan(req.Context(), row, ask)
	if err != nil {
		return 0, nil, err
	}
	send := s.messages(&answer, plan, ask) // it also writes into the answer
	return s.keepTurn(req.Context(), row, answer, send, ask.dispatches())
}

// dispatches says whether what is decided is also done.
func (r turnRequest) dispatches() bool { return r.Dispatch == nil || *r.Dispatch }

func (r turnRequest) sum() string {
	data, err := json.Marshal(r)
	if err != nil {
		panic("internal error: " + err.Error()) // it was decoded from JSON
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// earlier finds the answer that was given to the same request before; a repeated command must not move the robot twice.
func (s *Server) earlier(ctx context.Context, row store.Turn) (old json.RawMessage, err error) {
	if row.IdemKey == "" {
		return nil, nil
	}
	err = s.opt.Store.View(ctx, func(tx *store.Tx) error {
		old, err = earlierIn(tx, row)
		return err
	})
	return old, err
}

func earlierIn(tx *store.Tx, row store.Turn) (json.RawMessage, error) {
	if row.IdemKey == "" {
		return nil, nil
	}
	known, err := tx.TurnByKey(row.IdemKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot find turn by key: %w", err)
	case known.RequestSHA != row.RequestSHA:
		return nil, &problem{Status: http.StatusConflict, Code: "key_reused", Title: "this idempotency key was used for another request"}
	}
	return known.Answer, nil
}

// plan decides and compiles. The plan is nil where nothing is to be sent: no step, or something is still to be asked.
func (s *Server) plan(ctx context.Context, row store.Turn, ask turnRequest) (turnAnswer, *wire.Plan, error) {
	in := turn.Input{TurnID: row.ID, DeviceID: ask.DeviceID, Text: ask.RecognizedText, Locale: ask.Locale}
	zone, err := zoneOf(ask.Timezone, s.opt.Home)
	if err != nil {
		return turnAnswer{}, nil, fmt.Errorf("cannot use zone of turn %s: %w", row.ID, err)
	}
	in.Now = time.UnixMilli(row.CreatedAt).In(zone)
	if in.Around, err = s.around(ctx, ask); err != nil {
		return turnAnswer{}, nil, err
	}
	if in.Rooms, err = s.roomsOf(ctx, ask.DeviceID); err != nil {
		return turnAnswer{}, nil, err
	}
	if s.look(ctx, in) {
		if in.Around, err = s.around(ctx, ask); err != nil {
			return turnAnswer{}, nil, err
		}
	}
	planning, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	d, err := s.opt.Planner.Plan(planning, in)
	if err != nil {
		return turnAnswer{}, nil, planningFailed(row.ID, "cannot_plan", err)
	}
	s.speak(row.ID, &d)
	a := turnAnswer{TurnID: row.ID, DeviceID: ask.DeviceID, RecognizedText: ask.RecognizedText, Locale: ask.Locale,
		CreatedAt: stampMS(row.CreatedAt), Decision: d, Steps: nonNil(d.Steps), Requests: []wire.Request{}, TTSResponse: d.TTSResponse,
		Correlation: correlation{TurnID: row.ID}, ModelCalls: d.ModelCalls, answers: leftFrom(in, d)}
	if heard, err := s.heardBySession(ctx, in, &a); err != nil || heard {
		return a, nil, err
	}
	if !sendable(d) {
		s.answerHere(planning, in, &a)
		return a, nil, nil
	}
	if d.Revises != nil && len(d.Revises.Plan.Requests) > 0 {
		return s.revision(in, a)
	}
	plan, err := s.opt.Compile(in, d, IDs{WorkflowID: s.opt.NewID(), PlanID: s.opt.NewID()})
	if err != nil || plan == nil {
		return a, nil, planningFailed(row.ID, "cannot_compile", err)
	}
	if d.Schedule != nil {
		schedule.Template(plan, d.Schedule)
		s.stock(plan, in)
	}
	if faults := s.check(*plan, in.Rooms); len(faults) > 0 {
		p := refusedPlan(faults)
		p.TurnID, p.Hint = row.ID, "the planner's own plan does not fit the catalog"
		return a, nil, p
	}
	a.Requests = nonNil(plan.Requests)
	return a, plan, nil
}

// messages makes what goes to the device, in order: first a control, then the plan. The plan is said a moment later, since a
// cancel of everything refuses what was not sent after it.
func (s *Server) messages(a *turnAnswer, plan *wire.Plan, ask turnRequest) (out []wire.Envelope) {
	if !ask.dispatches() {
		return nil
	}
	if c := a.Decision.Control; c != nil {
		env := s.envelope(ask.DeviceID, wire.TypeControl)
		env.Control, env.Corr = c, wire.Corr{TurnID: a.TurnID, WorkflowID: a.Decision.ControlOf}
		a.Correlation.ControlID = env.ID
		out = append(out, env)
	}
	if w := a.Decision.Answers; w != nil {
		env := s.envelope(ask.DeviceID, wire.TypeAnswer)
		env.Answer = &wire.Answer{QuestionID: w.QuestionID, Option: w.Option, TurnID: a.TurnID, By: "voice"}
		env.Corr = wire.Corr{WorkflowID: w.WorkflowID, TurnID: a.TurnID}
		a.Correlation.AnswerID = env.ID
		out = append(out, env)
	}
	if plan != nil {
		env := s.planEnvelope(ask.DeviceID, *plan)
		env.SentAt = stamp(s.opt.Now().Add(time.Millisecond))
		a.WorkflowID, a.PlanID = env.Corr.WorkflowID, env.Corr.PlanID
		a.Correlation.WorkflowID, a.Correlation.PlanID, a.Correlation.MessageID = a.WorkflowID, a.PlanID, env.ID
		out = append(out, env)
	}
	a.Dispatched = len(out) > 0 || a.Decision.Schedule != nil && len(a.Decision.Schedule.Targets) > 0
	return out
}

func planningFailed(turnID, code string, err error) error {
	p := &problem{Status: http.StatusUnprocessableEntity, Code: code, Title: "no plan could be made of this turn", TurnID: turnID}
	if errors.Is(err, context.DeadlineExceeded) {
		p.Status = http.StatusGatewayTimeout
	}
	if err != nil {
		p.Detail = err.Error()
	}
	return p
}

// sendable says whether a decision moves a device: something of it can be done by the device alone, and nothing about it is still to be asked.
func sendable(d turn.Decision) bool {
	onDevice := slices.ContainsFunc(d.Steps, needsDevice)
	if d.Schedule != nil { // the device keeps all of it, and a change or a cancel has no steps
		onDevice = d.Schedule.Verb == "create" && len(d.Steps) > 0
	}
	return onDevice && !d.AskFollowUp && len(d.MissingSlots) == 0
}

// answerHere lets the agents answer what needs nothing of the robot. Where they have no answer the planner's words stand.
func (s *Server) answerHere(ctx context.Context, in turn.Input, a *turnAnswer) {
	if s.opt.Agents == nil || slices.ContainsFunc(a.Decision.Steps, needsDevice) {
		return
	}
	if said, did, ok := s.opt.Agents.Answer(ctx, in, a.Decision); ok {
		a.TTSResponse, a.Decision.TTSResponse, a.CloudSteps = said, said, did
		if len(did) > 0 && !slices.ContainsFunc(did, func(d agents.Did) bool { return d.State == "completed" }) {
			a.Decision.SpeechAct = running.Failed
		}
	}
}

// needsDevice says whether a step cannot be carried out in the answer to a turn: it moves or reads the robot, waits for a time or for other
// work, or tells something that goes on when the turn is over.
func needsDevice(st turn.Step) bool {
	kind := st.Params["kind"].V
	resting := st.Skill == agents.SkillRest && (kind == nil || kind == "choices")
	return st.ExecutionTarget != "cloud" || st.Skill == agents.SkillContent || resting || st.TemporalRelation != "" || st.DelayMS != 0
}

func (s *Server) roomsOf(ctx context.Context, device string) (rooms []wire.Room, err error) {
	err = s.opt.Store.View(ctx, func(tx *store.Tx) error {
		d, err := tx.Device(device)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err == nil {
			rooms = statusOf(d).Rooms
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read rooms of device %s: %w", device, err)
	}
	return rooms, nil
}

// keepTurn keeps the turn and what it sends in one transaction. What a repeat that ran beside it has kept stands.
func (s *Server) keepTurn(ctx context.Context, row store.Turn, a turnAnswer, send []wire.Envelope, dispatch bool) (int, any, error) {
	body, err := json.Marshal(a)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot keep answer: %w", err)
	}
	row.Answer, row.WorkflowID, row.ModelCalls = body, a.WorkflowID, a.ModelCalls
	out, repeat := json.RawMessage(body), false
	err = s.change(ctx, row.DeviceID, func(tx *store.Tx) error {
		old, err := earlierIn(tx, row)
		if err != nil || old != nil {
			out, repeat = old, true
			return err
		}
		if dispatch {
			if err := stillLeft(tx, row.DeviceID, a.answers); err != nil {
				return err
			}
		}
		for _, env := range send {
			if err := s.put(tx, env); err != nil {
				return err
			}
		}
		if dispatch && a.SessionID != "" {
			if err := s.answerSession(tx, row.DeviceID, a); err != nil {
				return err
			}
		}
		if dispatch {
			if err := errors.Join(s.carrySchedule(tx, row, &a), s.carryMemo(tx, row, a.Decision.Memo)); err != nil {
				return err
			}
		}
		return tx.AddTurn(row)
	})
	if err != nil {
		return 0, nil, err
	}
	if !repeat { // else nobody ever finds a turn of this id
		s.hub.publish(event{Kind: "turn", ID: row.ID, DeviceID: row.DeviceID, What: string(a.Decision.OwnerSelection)})
	}
	return http.StatusOK, out, nil
}

func (s *Server) getTurn(req *http.Request) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	var row store.Turn
	err = s.opt.Store.View(req.Context(), func(tx *store.Tx) (err error) {
		row, err = tx.Turn(id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil, notFound("turn", id)
	}
	return http.StatusOK, json.RawMessage(row.Answer), err
}

// nonNil makes an empty list of none: readers see [], not null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
