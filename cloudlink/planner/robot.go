package planner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// robot is what the owner keeps in memory of a device: a copy of committed rows, and when each was last handed to the link.
type robot struct {
	epoch  string // of the last hello; empty: it has never said hello, and nothing is sent
	online bool
	open   []pending // unanswered, in sequence order
}

// pending is one unanswered message to a device.
type pending struct {
	id      string
	plan    bool
	state   store.State
	epoch   string
	expires int64
	sent    time.Time // of this run and this connection; zero: not yet
}

// load reads what was open when the last run ended, by whatever end.
func (s *Server) load(ctx context.Context) error {
	var ids []string
	err := s.opt.Store.View(ctx, func(tx *store.Tx) (err error) {
		ids, err = tx.OpenDevices()
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot load open messages: %w", err)
	}
	for _, id := range ids {
		if err := s.refresh(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// refresh copies a device's rows again after a commit, so that memory never differs from the disk.
func (s *Server) refresh(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	next := &robot{}
	err := s.opt.Store.View(ctx, func(tx *store.Tx) error {
		d, err := tx.Device(id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		next.epoch, next.online = d.Epoch, d.Online
		rows, err := tx.OpenDown(id)
		for _, row := range rows {
			next.open = append(next.open, pending{id: row.ID, plan: row.Type == string(wire.TypePlan), state: row.State,
				epoch: row.Epoch, expires: row.ExpiresAt})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot read back device %s: %w", id, err)
	}
	if old := s.robots[id]; old != nil {
		for i := range next.open {
			next.open[i].sent = old.sentAt(next.open[i].id)
		}
	}
	s.robots[id] = next
	if len(next.open) == 0 {
		delete(s.robots, id) // the rows are the memory; only what waits is held here
	}
	return nil
}

func (r *robot) sentAt(id string) time.Time {
	for _, p := range r.open {
		if p.id == id {
			return p.sent
		}
	}
	return time.Time{}
}

// forgetSends makes all that is open due at once: after a hello, and after our own reconnect.
func (r *robot) forgetSends() {
	for i := range r.open {
		r.open[i].sent = time.Time{}
	}
}

// due lists what to send now, in sequence order. At most unackedPlans plans are unanswered under the present epoch. A plan of
// another epoch is never sent again: the device that knew it has lost its store, and is told to close it instead.
func (r *robot) due(now time.Time, again time.Duration) []string {
	if r.epoch == "" || !r.online {
		return nil
	}
	plans := 0
	for _, p := range r.open {
		if p.plan && p.state == store.Sent && p.epoch == r.epoch {
			plans++
		}
	}
	var ids []string
	for _, p := range r.open {
		switch {
		case p.state == store.Queued && p.plan && plans >= unackedPlans:
		case p.state == store.Queued:
			if p.plan {
				plans++
			}
			ids = append(ids, p.id)
		case p.plan && p.epoch != r.epoch:
		case p.sent.IsZero() || now.Sub(p.sent) >= again:
			ids = append(ids, p.id)
		}
	}
	return ids
}

// pump sends what is due to a device. What is sent for the first time is marked so before it leaves: "queued" must mean that it
// surely never left.
func (s *Server) pump(ctx context.Context, id string) error {
	r := s.robots[id]
	if r == nil || !s.linkOpen.Load() {
		return nil
	}
	now := s.opt.Now()
	ids := r.due(now, s.opt.paced(resendAfter))
	if len(ids) == 0 {
		return nil
	}
	rows, err := s.markSent(ctx, r, ids, now)
	if err != nil {
		return err
	}
	if err := s.refresh(ctx, id); err != nil {
		return err
	}
	for _, row := range rows {
		if !s.sendDown(row, r.epoch) {
			return nil // the link's queue is full or gone; the next tick or connection goes on
		}
		s.robots[id].touch(row.ID, now)
	}
	return nil
}

func (r *robot) touch(id string, now time.Time) {
	for i := range r.open {
		if r.open[i].id == id {
			r.open[i].sent = now
		}
	}
}

func (s *Server) markSent(ctx context.Context, r *robot, ids []string, now time.Time) ([]store.Down, error) {
	var rows []store.Down
	read := func(tx *store.Tx) error {
		rows = rows[:0]
		for _, id := range ids {
			row, err := tx.Down(id)
			if err != nil {
				return fmt.Errorf("cannot read down message %s: %w", id, err)
			}
			rows = append(rows, row)
		}
		return nil
	}
	if err := s.opt.Store.View(ctx, read); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(rows, func(d store.Down) bool { return d.State == store.Queued }) {
		return rows, nil
	}
	err := s.opt.Store.Update(ctx, func(tx *store.Tx) error {
		for i, row := range rows {
			if row.State != store.Queued {
				continue
			}
			row.State, row.Epoch, row.FirstSentAt = store.Sent, r.epoch, ms(now)
			if err := tx.PutDown(row); err != nil {
				return err
			}
			rows[i] = row
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot mark messages as sent: %w", err)
	}
	for _, row := range rows {
		s.hub.publish(event{Kind: "workflow", ID: row.WorkflowID, DeviceID: row.DeviceID, What: row.Type + " " + string(row.State)})
	}
	return rows, nil
}

// sendDown writes a stored message for the epoch of the last hello and hands it to the link.
func (s *Server) sendDown(row store.Down, epoch string) bool {
	data, err := s.bytesOf(row, epoch)
	if err != nil {
		s.opt.Log.Error().Str(keyMessage, row.ID).Err(err).Msg("stored down message cannot be sent")
		return true // sending it again would not help
	}
	return s.link.send(downTopic(row.DeviceID, wire.Type(row.Type)), data)
}

// publish hands one message to the link; false: it could not take it.
func (s *Server) publish(env wire.Envelope) bool {
	data, err := wire.Encode(env, s.opt.Encoding)
	if err != nil {
		s.opt.Log.Error().Str(keyMessage, env.ID).Str(keyType, string(env.Type)).Err(err).Msg("down message cannot be encoded")
		return true // sending it again would not help
	}
	return s.link.send(downTopic(env.DeviceID, env.Type), data)
}

// expire ends the wait for what has passed its time. A plan that was published may have been accepted all the same: its late
// answer still counts.
func (s *Server) expire(ctx context.Context, id string) error {
	r := s.robots[id]
	if r == nil {
		return nil
	}
	now := ms(s.opt.Now())
	over := slices.DeleteFunc(slices.Clone(r.open), func(p pending) bool {
		limit := p.expires
		if p.state == store.Sent {
			limit += expiryGrace.Milliseconds()
		}
		return p.expires == 0 || now < limit
	})
	if len(over) == 0 {
		return nil
	}
	var told []event
	err := s.opt.Store.Update(ctx, func(tx *store.Tx) error {
		for _, p := range over {
			row, err := tx.Down(p.id)
			if err != nil {
				return fmt.Errorf("cannot read down message %s: %w", p.id, err)
			}
			row.State = store.Expired
			if err := tx.PutDown(row); err != nil {
				return err
			}
			told = append(told, event{Kind: "workflow", ID: row.WorkflowID, DeviceID: id, What: row.Type + " expired"})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot expire messages to device %s: %w", id, err)
	}
	for _, e := range told {
		s.hub.publish(e)
	}
	return s.refresh(ctx, id)
}

// linkChanged follows our own connection. After a new one all that is open is sent again.
func (s *Server) linkChanged(ctx context.Context, up bool) error {
	s.linkOpen.Store(up)
	s.hub.publish(event{Kind: "link", What: map[bool]string{true: "up", false: "down"}[up]})
	if !up {
		return nil
	}
	select {
	case <-s.ready:
	default:
		close(s.ready)
	}
	for _, id := range s.robotIDs() {
		s.robots[id].forgetSends()
		if err := s.pump(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) robotIDs() []string { return slices.Sorted(maps.Keys(s.robots)) }
