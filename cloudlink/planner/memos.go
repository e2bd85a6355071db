package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"deviceagent/cloudlink/planner/people"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// Bounds of what is kept of people.
const (
	memosMost  = 256
	offerBytes = 4 << 10
)

// memosOf lists what is kept of a home, or with "" of all.
func memosOf(tx *store.Tx, device string) (out []memoView, err error) {
	rows, err := tx.Memos(device, memosMost)
	for _, row := range rows {
		v := memoView{DeviceID: row.DeviceID, TurnID: row.TurnID}
		if err := json.Unmarshal(row.Body, &v.Memo); err != nil {
			return nil, fmt.Errorf("cannot read memo %s: %w", row.ID, err)
		}
		v.ID, v.AtMS = row.ID, row.CreatedAt
		out = append(out, v)
	}
	return out, err
}

// memoView is a memo as HTTP shows it.
type memoView struct {
	turn.Memo
	DeviceID string `json:"device_id"`
	TurnID   string `json:"turn_id,omitempty"`
}

// carryMemo keeps or erases what a turn wants of memos, in its transaction. What is the same as before is kept once.
func (s *Server) carryMemo(tx *store.Tx, row store.Turn, wish *turn.MemoWish) error {
	if wish == nil {
		return nil
	}
	for _, id := range wish.IDs {
		m, err := tx.Memo(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && m.DeviceID != row.DeviceID {
			continue // it is gone already, or never was this home's
		}
		if _, eraseErr := tx.EraseMemo(id); err != nil || eraseErr != nil {
			return errors.Join(err, eraseErr)
		}
	}
	known, err := memosOf(tx, row.DeviceID)
	if err != nil {
		return err
	}
	if wish.Verb == "erase" && len(known) == 0 { // nothing is to be remembered: how quizzes were answered neither
		return tx.EraseAgentMemory(row.DeviceID)
	}
	if wish.Memo == nil {
		return nil
	}
	left := len(known)
	same := func(v memoView) bool {
		return v.Kind == wish.Memo.Kind && v.Key == wish.Memo.Key && (v.Text == wish.Memo.Text || v.Kind != turn.MemoPreference)
	}
	for _, v := range known {
		if !same(v) {
			continue
		}
		if _, err := tx.EraseMemo(v.ID); err != nil { // said anew: the last word counts
			return err
		}
		left--
	}
	if left >= memosMost {
		return &problem{Status: http.StatusTooManyRequests, Code: "memory_full", Title: "too much is kept of this home already", Hint: "erase something"}
	}
	body, err := json.Marshal(wish.Memo)
	if err != nil {
		return fmt.Errorf("cannot keep memo: %w", err)
	}
	return tx.AddMemo(store.Memo{ID: s.opt.NewID(), DeviceID: row.DeviceID, TurnID: row.ID, CreatedAt: row.CreatedAt, Body: body})
}

func (s *Server) getPreferences(req *http.Request) (int, any, error) {
	device := req.URL.Query().Get("device_id")
	if device != "" && !validID(device) {
		return 0, nil, &problem{Status: http.StatusBadRequest, Code: "bad_query", Title: "device_id is no id"}
	}
	out := struct {
		Preferences []memoView `json:"preferences"`
	}{}
	err := s.opt.Store.View(req.Context(), func(tx *store.Tx) (err error) {
		out.Preferences, err = memosOf(tx, device)
		return err
	})
	out.Preferences = nonNil(out.Preferences)
	return http.StatusOK, out, err
}

func (s *Server) deletePreference(req *http.Request) (int, any, error) {
	id, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	err = s.change(req.Context(), "", func(tx *store.Tx) error {
		if was, err := tx.EraseMemo(id); err != nil || !was {
			return errors.Join(err, map[bool]error{false: notFound("preference", id)}[was])
		}
		return nil
	})
	return http.StatusOK, struct {
		Erased string `json:"erased"`
	}{id}, err
}

// offerRequest is what somebody who watches the home would have offered to its people.
type offerRequest struct {
	Request  string `json:"request"` // the order that a yes stands for, as a person would say it
	Locale   string `json:"locale"`
	Timezone string `json:"timezone"`
}

// offerAnswer says whether it was offered.
type offerAnswer struct {
	DeviceID    string `json:"device_id"`
	Made        bool   `json:"made"`
	ReasonCode  string `json:"reason_code,omitempty"` // where not
	Operation   string `json:"operation,omitempty"`
	TTSResponse string `json:"tts_response,omitempty"` // to be said; the next turn may answer it
}

// postOffer offers something, if the people of the home have said that it may be offered now.
func (s *Server) postOffer(req *http.Request) (int, any, error) {
	device, err := pathID(req)
	if err != nil {
		return 0, nil, err
	}
	var ask offerRequest
	if err := readBody(req, offerBytes, &ask); err != nil {
		return 0, nil, err
	}
	said := turnRequest{DeviceID: device, RecognizedText: ask.Request, Locale: ask.Locale, Timezone: ask.Timezone}
	if err := said.validate(); err != nil {
		return 0, nil, err
	}
	zone, err := zoneOf(ask.Timezone, s.opt.Home)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot use zone of offer: %w", err)
	}
	in := turn.Input{TurnID: s.opt.NewID(), DeviceID: device, Text: ask.Request, Locale: said.Locale, Now: s.opt.Now().In(zone)}
	if in.Rooms, err = s.roomsOf(req.Context(), device); err != nil {
		return 0, nil, err
	}
	planning, cancel := context.WithTimeout(req.Context(), planTimeout)
	defer cancel()
	d, err := s.opt.Planner.Plan(planning, in)
	if err != nil {
		return 0, nil, planningFailed("", "cannot_plan", err)
	}
	out := offerAnswer{DeviceID: device, ReasonCode: people.NotAnOffer}
	key, what := people.OrderOf(d)
	if key == "" || len(d.Steps) > 1 { // a yes must stand for no more than what was approved, and named in the question
		return http.StatusOK, out, nil
	}
	out.Operation = key
	err = s.change(req.Context(), device, func(tx *store.Tx) error { return s.offer(tx, in, key, what, &out) })
	return http.StatusOK, out, err
}

// offer makes an offer where it may be made: the question is open then, as if a turn had asked it.
func (s *Server) offer(tx *store.Tx, in turn.Input, key, what string, out *offerAnswer) error {
	known, err := memosOf(tx, in.DeviceID)
	if err != nil {
		return err
	}
	at, err := tx.OfferedAt(in.DeviceID, key)
	if err != nil {
		return err
	}
	last := time.Time{}
	if at > 0 {
		last = time.UnixMilli(at)
	}
	var memos []turn.Memo
	for _, v := range known {
		memos = append(memos, v.Memo)
	}
	if out.ReasonCode, out.Made = people.MayOffer(memos, key, last, in.Now); !out.Made {
		return nil
	}
	out.TTSResponse = people.Offer(what, strings.HasPrefix(in.Locale, "en"))
	if err := tx.PutOffer(in.DeviceID, key, ms(in.Now)); err != nil {
		return err
	}
	asked := &turn.Asked{Kind: "offer", Key: key, Text: what, Request: in.Text, AskedAtMS: ms(in.Now)}
	return putLeft(tx, in.DeviceID, in.TurnID, ms(in.Now), leftOpen{Asked: asked})
}

// leftOpen is what a turn leaves for the next one of its device.
type leftOpen struct {
	Slots  *turn.Slots `json:"slots,omitempty"`
	Spoken []string    `json:"spoken_of,omitempty"`
	Asked  *turn.Asked `json:"asked,omitempty"`
}

func putLeft(tx *store.Tx, device, turnID string, at int64, l leftOpen) error {
	open := store.Slots{DeviceID: device, TurnID: turnID, AskedAt: at}
	if l.Slots != nil || len(l.Spoken) > 0 || l.Asked != nil {
		data, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("cannot keep what is left open: %w", err)
		}
		open.Slots = data
	}
	return tx.PutSlots(open)
}

// addLeft tells a turn what the one before has left open, for as long as that counts.
func (s *Server) addLeft(tx *store.Tx, device string, a *turn.Around) error {
	open, err := tx.Slots(device)
	if errors.Is(err, store.ErrNotFound) || err == nil && s.opt.Now().Sub(time.UnixMilli(open.AskedAt)) > leftFor {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read what is left open: %w", err)
	}
	var l leftOpen
	if err := json.Unmarshal(open.Slots, &l); err != nil {
		return fmt.Errorf("cannot read what turn %s left open: %w", open.TurnID, err)
	}
	if l.Slots != nil && l.Slots.TurnID == "" {
		l.Slots.TurnID, l.Slots.AskedAtMS = open.TurnID, open.AskedAt
	}
	a.Slots, a.Spoken, a.Asked, a.LeftBy = l.Slots, slices.Clone(l.Spoken), l.Asked, open.TurnID
	return nil
}

// answering are the shortcuts that read words by what the turn before has left open.
var answering = []string{"active_schedule", "yes_or_no"}

// leftFrom is the turn whose question a decision answers; empty: it answers none.
func leftFrom(in turn.Input, d turn.Decision) string {
	if d.Trace == nil || !slices.Contains(answering, d.Trace.Shortcut) {
		return ""
	}
	return in.Around.LeftBy
}

// stillLeft refuses a turn that answers what another one has answered while this one was thought about: a yes that is said into two microphones
// is one yes.
func stillLeft(tx *store.Tx, device, by string) error {
	if by == "" {
		return nil
	}
	open, err := tx.Slots(device)
	if err == nil && open.TurnID == by {
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("cannot read what is left open: %w", err)
	}
	return &problem{Status: http.StatusConflict, Code: "answered_meanwhile", Title: "another turn has answered that question", Hint: "nothing was done by this one"}
}
