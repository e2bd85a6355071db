package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/schedule"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// refusedTold is how long who asks for the schedules is told that one was not taken.
const refusedTold = 24 * time.Hour

// leftFor is how long what a turn has left open can be answered: longer, and "6시" would be said of something else.
const leftFor = 5 * time.Minute

// addKept tells what the device keeps for later, what is kept of its people, and what was left open.
func (s *Server) addKept(tx *store.Tx, ask turnRequest, a *turn.Around) error {
	rows, err := tx.LiveSchedules(ask.DeviceID, ms(s.opt.Now()), schedulesShown)
	if err != nil {
		return err
	}
	for _, row := range rows {
		v, err := s.viewSchedule(tx, row, s.opt.Now())
		if err != nil {
			return err
		}
		switch {
		case v.live():
			a.Schedules = append(a.Schedules, v.kept())
		case v.State == scheduleRefused && s.opt.Now().Sub(time.UnixMilli(row.CreatedAt)) < refusedTold:
			a.Refused = append(a.Refused, v.kept())
		}
	}
	kept, err := memosOf(tx, ask.DeviceID)
	if err != nil {
		return err
	}
	for _, v := range kept {
		a.Memos = append(a.Memos, v.Memo)
	}
	return s.addLeft(tx, ask.DeviceID, a)
}

// zoneOf reads a zone by its name; without one it is the given one.
func zoneOf(name string, unset *time.Location) (*time.Location, error) {
	if name == "" {
		return unset, nil
	}
	if name == "Local" {
		return nil, errors.New("a zone is named, as in Asia/Seoul") // of this machine: nobody said that it stands in the home
	}
	return time.LoadLocation(name)
}

// carrySchedule does what a turn wants of schedules that are kept, in its transaction, and what is left open for the next turn.
func (s *Server) carrySchedule(tx *store.Tx, row store.Turn, a *turnAnswer) error {
	wish := a.Decision.Schedule
	var workflows []string
	if wish != nil {
		switch wish.Verb {
		case "cancel":
			for _, id := range wish.Targets {
				if err := s.cancel(tx, row.DeviceID, cancelRequest{RequestedBy: "user", Reason: "user_cancelled"}, &cancelAnswer{WorkflowID: id}); err != nil {
					return err
				}
			}
		case "change":
			for _, id := range wish.Targets {
				plan, err := s.moved(tx, id, *wish.Schedule)
				if err != nil {
					return err
				}
				if err := s.queuePlan(tx, s.planEnvelope(row.DeviceID, plan)); err != nil {
					return err
				}
			}
			workflows = wish.Targets
		case "create":
			note, err := json.Marshal(scheduleNote{Function: wish.Function, What: wish.What})
			if err != nil {
				return fmt.Errorf("cannot keep note: %w", err)
			}
			if err := tx.AddSchedule(store.Schedule{WorkflowID: a.WorkflowID, DeviceID: row.DeviceID, CreatedAt: row.CreatedAt, Note: note, OverAt: overAt(*wish.Schedule)}); err != nil {
				return err
			}
			workflows = []string{a.WorkflowID}
		}
	}
	l := leftOpen{Slots: a.Decision.Slots, Asked: a.Decision.Asks}
	if l.Slots == nil { // "취소해 줘" right after it means this one
		l.Spoken = workflows
	}
	return putLeft(tx, row.DeviceID, row.ID, row.CreatedAt, l)
}

// stock gives a plan for set times the story that its device tells when nobody sends one: without a link, or with a planner that is away.
func (s *Server) stock(plan *wire.Plan, in turn.Input) {
	told, ok := s.opt.Agents.(interface{ Prefetch(agents.Task) []wire.Part })
	if !ok || len(plan.Prefetch) > 0 {
		return
	}
	for _, r := range plan.Requests {
		if kind, _ := r.Params["kind"].V.(string); r.Skill == schedule.Skill && kind == "story" {
			plan.Prefetch = told.Prefetch(agents.Task{Skill: r.Skill, Inputs: r.Params.Map(), Locale: in.Locale, Now: in.Now})
			return
		}
	}
}
