package planner

import (
	"context"
	"fmt"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// What a device sends is kept and receipted as it comes, and applied in the order of its numbers: a line that loses a message brings it
// again a minute later, behind all that followed it. A gap below floor_seq is final. One above it waits, for the message or for a later
// floor. Source: docs/contract.md, order.

// Bounds of that wait. A device that is online sends again each minute: what is missing after gapPatience does not come, or its device
// has taken it back and has had nothing to say since.
const (
	heldMost    = 4096 // messages of one store that wait; beyond, the lowest gap is given up
	heldBatch   = 64   // read at a time
	gapPatience = 5 * resendAfter
	gapLook     = gapPatience / 10 // between two looks for what waits too long: each is a read of the disk
)

// takeInOrder keeps a message and applies what may be applied now.
func (s *Server) takeInOrder(tx *store.Tx, env wire.Envelope, m store.Message, a *aftermath) error {
	line := store.Line{DeviceID: env.DeviceID, Epoch: env.StoreEpoch}
	ordered := env.Seq > 0 && env.FloorSeq > 0 // else there is no order to keep
	if ordered {
		next, err := tx.NextUp(line)
		if err != nil {
			return err
		}
		waiting, err := tx.HeldUp(line, 1)
		if err != nil {
			return err
		}
		m.Held = env.Seq > max(next, env.FloorSeq) || len(waiting) > 0
	}
	fresh, err := tx.AddMessage(m)
	if err != nil || !fresh {
		return err
	}
	if !m.Held {
		if err := s.apply(tx, env, a); err != nil || !ordered {
			return err
		}
		return advance(tx, line, max(env.Seq+1, env.FloorSeq))
	}
	return s.applyHeld(tx, line, env.FloorSeq, a)
}

// advance notes that all below next is done with.
func advance(tx *store.Tx, line store.Line, next int64) error {
	old, err := tx.NextUp(line)
	if err != nil || next <= old {
		return err
	}
	return tx.PutNextUp(line, next)
}

// applyHeld applies what has waited and whose turn it is: what is below floor or follows without a gap, and, where more waits than may,
// the lowest all the same.
func (s *Server) applyHeld(tx *store.Tx, line store.Line, floor int64, a *aftermath) error {
	next, err := tx.NextUp(line)
	if err != nil {
		return err
	}
	next = max(next, floor)
	many, err := tx.CountHeldUp(line)
	if err != nil {
		return err
	}
	for many > 0 {
		rows, err := tx.HeldUp(line, heldBatch)
		if err != nil {
			return err
		}
		for _, m := range rows {
			if m.Seq > next && many <= heldMost {
				return advance(tx, line, next)
			}
			if err := s.applyLate(tx, m, a); err != nil {
				return err
			}
			next = max(next, m.Seq+1)
			many--
		}
	}
	return advance(tx, line, next)
}

func (s *Server) applyLate(tx *store.Tx, m store.Message, a *aftermath) error {
	env, err := s.read(m.Payload)
	if err != nil { // it could be read when it came
		return fmt.Errorf("cannot read kept message %s: %w", m.ID, err)
	}
	if err := tx.Applied(m.DeviceID, m.ID); err != nil {
		return err
	}
	return s.apply(tx, env, a)
}

// takeFloor lets a hello close gaps. A new connection without a floor has nothing to send, and what another store still had to say was
// lost with it. A hello that is only said again may be older than what waits: it closes nothing without a floor.
func (s *Server) takeFloor(tx *store.Tx, env wire.Envelope, epoch string, how standing, a *aftermath) error {
	lines, err := tx.LinesWaiting(env.DeviceID)
	if err != nil {
		return fmt.Errorf("cannot list what waits of device %s: %w", env.DeviceID, err)
	}
	for _, line := range lines {
		floor := env.FloorSeq
		if line.Epoch != epoch && how != newEpoch {
			continue
		}
		if line.Epoch != epoch || floor == 0 && how == connected {
			floor = maxSeq
		}
		if err := s.applyBelow(tx, line, floor, a); err != nil {
			return err
		}
	}
	return nil
}

// maxSeq is above all numbers of a device.
const maxSeq = 1 << 53

// applyBelow applies all that has waited below floor, whatever is missing between, and what follows it without a gap. Unlike the floor
// of a message this one is not kept: what comes late is applied as it comes.
func (s *Server) applyBelow(tx *store.Tx, line store.Line, floor int64, a *aftermath) error {
	for {
		rows, err := tx.HeldUp(line, 1)
		if err != nil || len(rows) == 0 || rows[0].Seq >= floor {
			if err == nil && floor < maxSeq {
				err = s.applyHeld(tx, line, floor, a)
			}
			return err
		}
		if err := s.applyHeld(tx, line, rows[0].Seq, a); err != nil {
			return err
		}
	}
}

// passGaps gives up what has not come for so long that it will not, so that no workflow looks open for ever for a message that its
// device has taken back.
func (s *Server) passGaps(ctx context.Context) error {
	now := s.opt.Now()
	if now.Sub(s.gapsSeen) < s.opt.paced(gapLook) {
		return nil
	}
	s.gapsSeen = now
	before := ms(now.Add(-s.opt.paced(gapPatience)))
	var stuck []store.Line
	err := s.opt.Store.View(ctx, func(tx *store.Tx) (err error) {
		stuck, err = tx.LinesStuck(before)
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot look for waiting messages: %w", err)
	}
	if len(stuck) == 0 {
		return nil
	}
	var a aftermath
	err = s.opt.Store.Update(ctx, func(tx *store.Tx) error {
		a = newAftermath()
		for _, line := range stuck {
			rows, err := tx.HeldUp(line, 1)
			if err != nil {
				return err
			}
			if err := s.applyHeld(tx, line, rows[0].Seq, &a); err != nil {
				return err
			}
			s.opt.Log.Warn().Str(keyDevice, line.DeviceID).Int64("before_seq", rows[0].Seq).Msg("a gap in what the device sends does not close, passed over")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot apply waiting messages: %w", err)
	}
	return s.goOn(ctx, a)
}

// dayAgo is the beginning of the day that ends now.
func (s *Server) dayAgo() int64 { return ms(s.opt.Now().Add(-24 * time.Hour)) }
