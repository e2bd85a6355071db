package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/schedule"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// scheduleView is a schedule as HTTP shows it: when, what, and how far its device has taken it.
type scheduleView struct {
	WorkflowID string         `json:"workflow_id"`
	PlanID     string         `json:"plan_id"`
	DeviceID   string         `json:"device_id"`
	TurnID     string         `json:"turn_id,omitempty"`
	CreatedAt  string         `json:"created_at"`
	Revision   int64          `json:"revision"`
	State      scheduleState  `json:"state"`
	ReasonCode string         `json:"reason_code,omitempty"` // of refused, expired, and of cancelled where the device has lost it
	Pending    *wire.Schedule `json:"pending,omitempty"`     // a change that the device has not answered yet
	Schedule   wire.Schedule  `json:"schedule"`
	Next       string         `json:"next,omitempty"` // when it begins next, by the planner's clock
	Function   string         `json:"schedule_function"`
	What       string         `json:"what"`
	Location   string         `json:"location,omitempty"`
	Utterance  string         `json:"utterance,omitempty"`
	Methods    []string       `json:"methods"` // in the order of the steps; a cloud step is named by its skill
}

// scheduleState says how far a schedule is. Text: shown.
type scheduleState string

// The states. A device keeps it from accepted to cancelled or over; before, it may.
const (
	scheduleQueued     scheduleState = "queued"     // surely not sent yet
	scheduleSent       scheduleState = "sent"       // not answered yet
	scheduleAccepted   scheduleState = "accepted"   // the device has it
	scheduleRefused    scheduleState = "refused"    // by the device
	scheduleExpired    scheduleState = "expired"    // never sent, and withdrawn
	scheduleCancelling scheduleState = "cancelling" // asked for, not answered yet
	scheduleCancelled  scheduleState = "cancelled"  // the device has let go of it
	scheduleOver       scheduleState = "over"       // its last time has passed
)

// live says whether the schedule may still begin anything.
func (v scheduleView) live() bool {
	return v.State == scheduleQueued || v.State == scheduleSent || v.State == scheduleAccepted
}

func (v scheduleView) kept() turn.Kept {
	k := turn.Kept{WorkflowID: v.WorkflowID, State: string(v.State), Utterance: v.Utterance, Function: v.Function, What: v.What, Location: v.Location, Schedule: v.Schedule}
	if v.Pending != nil {
		k.Schedule = *v.Pending // what was said last is what is meant
	}
	return k
}

// scheduleNote is what a schedule is in words, kept beside it.
type scheduleNote struct {
	Function string `json:"schedule_function,omitempty"`
	What     string `json:"what,omitempty"`
}

const schedulesShown = 256 // of a device, the latest; it keeps at most 64

// schedulesOf lists the schedules of a device, or with "" of all, newest first.
func (s *Server) schedulesOf(tx *store.Tx, device string, now time.Time) ([]scheduleView, error) {
	rows, err := tx.Schedules(device, schedulesShown)
	if err != nil {
		return nil, err
	}
	out := []scheduleView{}
	for _, row := range rows {
		v, err := s.viewSchedule(tx, row, now)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// viewSchedule tells how far a schedule is from what was sent about it and how that was answered.
func (s *Server) viewSchedule(tx *store.Tx, row store.Schedule, now time.Time) (scheduleView, error) {
	v := scheduleView{WorkflowID: row.WorkflowID, DeviceID: row.DeviceID, CreatedAt: stampMS(row.CreatedAt), State: scheduleQueued, Methods: []string{}}
	wf, err := tx.Workflow(row.WorkflowID)
	if err != nil {
		return v, fmt.Errorf("cannot find workflow of schedule %s: %w", row.WorkflowID, err)
	}
	v.PlanID, v.TurnID = wf.PlanID, wf.TurnID
	sent, err := tx.DownOf(row.WorkflowID)
	if err != nil {
		return v, err
	}
	if err := v.read(sent, now); err != nil {
		return v, err
	}
	if wf.Status != "" && v.State != scheduleCancelled { // a device with a new store has lost it, and nobody wanted it to come anew
		v.closed(wf)
	}
	var note scheduleNote
	if row.Note != nil {
		if err := json.Unmarshal(row.Note, &note); err != nil {
			return v, fmt.Errorf("cannot read note of schedule %s: %w", row.WorkflowID, err)
		}
	}
	v.Function, v.What = note.Function, note.What
	if v.Function == "" && len(v.Methods) > 0 {
		v.Function = v.Methods[0]
	}
	return v, nil
}

// read goes through the messages in their order. The latest revision that the device has taken counts; before any was, the latest.
func (v *scheduleView) read(sent []store.Down, now time.Time) error {
	taken := false
	for _, row := range sent {
		env, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
		if err != nil {
			return fmt.Errorf("cannot read message %s: %w", row.ID, err)
		}
		switch {
		case env.Plan != nil && env.Plan.Workflow.Schedule != nil:
			open := row.State == store.Queued || row.State == store.Sent
			v.Pending = nil
			if !taken || row.State == store.Accepted {
				v.takePlan(row, *env.Plan)
				taken = taken || row.State == store.Accepted
			} else if open {
				v.Pending = env.Plan.Workflow.Schedule
			}
		case env.Control != nil && env.Control.Verb == "cancel":
			v.takeCancel(row)
		}
	}
	if next, ok := schedule.Next(v.Schedule, now); ok && v.live() {
		v.Next = next.Format(time.RFC3339)
	} else if v.live() {
		v.State = scheduleOver
	}
	return nil
}

func (v *scheduleView) takePlan(row store.Down, p wire.Plan) {
	v.Revision, v.State, v.ReasonCode, v.Schedule = row.Revision, scheduleState(row.State), row.ReasonCode, *p.Workflow.Schedule
	if p.Workflow.Origin != nil {
		v.Utterance = p.Workflow.Origin.Utterance
	}
	v.Methods, v.Location = []string{}, ""
	for _, r := range p.Requests {
		name := r.TaskMethod
		if name == "" {
			name = r.Skill
		}
		v.Methods = append(v.Methods, name)
		if room, ok := r.Params["position"].V.(string); ok && v.Location == "" {
			v.Location = room
		}
	}
}

// closed is a schedule of which its device has sent a result: it keeps it no more.
func (v *scheduleView) closed(wf store.Workflow) {
	var r wire.Result
	if json.Unmarshal(wf.Result, &r) == nil {
		v.ReasonCode = r.ReasonCode
	}
	v.State, v.Pending, v.Next = scheduleCancelled, nil, ""
}

// overAt is when the only time of a schedule has passed (ms); 0: it comes again, or nobody can read when.
func overAt(w wire.Schedule) int64 {
	if w.On == "" {
		return 0
	}
	at, ok := schedule.Next(w, time.Unix(0, 0))
	if !ok {
		return 0
	}
	return ms(at)
}

// endSchedule notes that a device keeps a schedule no more, by its answer to a cancel.
func (s *Server) endSchedule(tx *store.Tx, row store.Down) error {
	if row.Type != string(wire.TypeControl) || !letGo(row) {
		return nil
	}
	env, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
	if err != nil || env.Control.Verb != "cancel" || env.Control.Scope != "workflow" && env.Control.Scope != "schedule" {
		return err
	}
	return tx.EndSchedule(row.WorkflowID, ms(s.opt.Now()))
}

// letGo says whether an answer to a cancel means that the device has nothing of the schedule: one that does not know it has let go as well.
func letGo(row store.Down) bool {
	return row.State == store.Accepted || row.State == store.Refused && (row.ReasonCode == "unknown_target" || row.ReasonCode == "already_terminal")
}

// takeCancel takes a cancel with its answer.
func (v *scheduleView) takeCancel(row store.Down) {
	switch {
	case row.State.Open():
		v.State = scheduleCancelling
	case letGo(row):
		v.State = scheduleCancelled
	}
}

func (s *Server) getSchedules(req *http.Request) (int, any, error) {
	device := req.URL.Query().Get("device_id")
	if device != "" && !validID(device) {
		return 0, nil, &problem{Status: http.StatusBadRequest, Code: "bad_query", Title: "device_id is no id"}
	}
	out := struct {
		Schedules []scheduleView `json:"schedules"`
	}{}
	err := s.opt.Store.View(req.Context(), func(tx *store.Tx) (err error) {
		out.Schedules, err = s.schedulesOf(tx, device, s.opt.Now())
		return err
	})
	return http.StatusOK, out, err
}

// oneSchedule reads the schedule of a path.
func (s *Server) oneSchedule(req *http.Request) (v scheduleView, err error) {
	id, err := pathID(req)
	if err != nil {
		return v, err
	}
	err = s.opt.Store.View(req.Context(), func(tx *store.Tx) error {
		row, err := tx.Schedule(id)
		if err == nil {
			v, err = s.viewSchedule(tx, row, s.opt.Now())
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = notFound("schedule", id)
	}
	return v, err
}

func (s *Server) getSchedule(req *http.Request) (int, any, error) {
	v, err := s.oneSchedule(req)
	return http.StatusOK, v, err
}

// postScheduleCancel asks the device to let go of a schedule; what it has begun goes on.
func (s *Server) postScheduleCancel(req *http.Request) (int, any, error) {
	if _, err := s.oneSchedule(req); err != nil {
		return 0, nil, err
	}
	return s.wish(req, "cancel", s.cancel)
}

// putSchedule moves a schedule to other times: the same plan, one revision on.
func (s *Server) putSchedule(req *http.Request) (int, any, error) {
	v, err := s.oneSchedule(req)
	if err != nil {
		return 0, nil, err
	}
	var when wire.Schedule
	if err := readBody(req, controlBytes, &when); err != nil {
		return 0, nil, err
	}
	if when.TZ == "" {
		when.TZ = v.Schedule.TZ
	}
	plan, err := s.rescheduled(req, v, when)
	if err != nil {
		return 0, nil, err
	}
	env := s.planEnvelope(v.DeviceID, plan)
	err = s.change(req.Context(), v.DeviceID, func(tx *store.Tx) error {
		if old, err := repeatOf(tx, env); err != nil || old != nil {
			return err
		}
		return s.queuePlan(tx, env)
	})
	if err != nil {
		return 0, nil, err
	}
	v, err = s.oneSchedule(req)
	return http.StatusAccepted, v, err
}

func (s *Server) rescheduled(req *http.Request, v scheduleView, when wire.Schedule) (plan wire.Plan, err error) {
	rooms, err := s.roomsOf(req.Context(), v.DeviceID)
	if err != nil {
		return plan, err
	}
	err = s.opt.Store.View(req.Context(), func(tx *store.Tx) error {
		plan, err = s.moved(tx, v.WorkflowID, when)
		return err
	})
	if err != nil {
		return plan, err
	}
	if faults := s.check(plan, rooms); len(faults) > 0 {
		return plan, refusedPlan(faults)
	}
	return plan, nil
}

// moved is the plan of a schedule with other times, one revision on. A *problem: nobody keeps it any more.
func (s *Server) moved(tx *store.Tx, workflow string, when wire.Schedule) (plan wire.Plan, err error) {
	row, err := tx.Schedule(workflow)
	if err != nil {
		return plan, fmt.Errorf("cannot find schedule %s: %w", workflow, err)
	}
	v, err := s.viewSchedule(tx, row, s.opt.Now())
	if err != nil {
		return plan, err
	}
	if !v.live() {
		return plan, &problem{Status: http.StatusConflict, Code: "schedule_ended", Title: "this schedule is not kept any more", Detail: string(v.State)}
	}
	sent, err := tx.DownOf(workflow)
	if err != nil {
		return plan, err
	}
	for _, d := range slices.Backward(sent) {
		env, err := wire.Decode(d.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
		if err != nil {
			return plan, fmt.Errorf("cannot read message %s: %w", d.ID, err)
		}
		if env.Plan != nil && env.Plan.Workflow.Schedule != nil {
			plan = *env.Plan
			break
		}
	}
	plan.Workflow.Revision, plan.Workflow.Schedule = plan.Workflow.Revision+1, &when
	return plan, nil
}
