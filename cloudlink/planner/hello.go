package planner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// conn is a connection number: the start counter of the agent and the connection within that start. It orders statuses of one
// store epoch; wall time orders nothing.
type conn struct{ start, no int64 }

// parseConn reads "<start>.<connection>". The zero value, which is below all, stands for what cannot be read.
func parseConn(text string) conn {
	start, no, ok := strings.Cut(text, ".")
	a, errA := strconv.ParseInt(start, 10, 64)
	b, errB := strconv.ParseInt(no, 10, 64)
	if !ok || errA != nil || errB != nil || a < 0 || b < 0 {
		return conn{}
	}
	return conn{a, b}
}

func (c conn) less(o conn) bool { return c.start < o.start || c.start == o.start && c.no < o.no }

// standing is what a status means beside what is known.
type standing string

const (
	stale     standing = "stale"      // older than what is known: changes nothing
	gone      standing = "gone"       // the device is offline
	same      standing = "same"       // the connection that is known, said again
	connected standing = "connected"  // a new connection
	newEpoch  standing = "new_epoch"  // a new connection of a device with another store
	offlineIn standing = "offline_in" // offline in an epoch that never said hello here: presence only
)

// judge orders a status against what is known. seen: its epoch had said hello here before.
func judge(d store.Device, st wire.Status, epoch string, seen bool) standing {
	c, known := parseConn(st.ConnNo), conn{d.ConnStart, d.ConnNo}
	switch {
	case epoch != d.Epoch && seen:
		return stale // a store that was given up does not come back
	case epoch != d.Epoch && !st.Online:
		return offlineIn
	case epoch != d.Epoch:
		return newEpoch
	case c.less(known):
		return stale
	case !st.Online:
		return gone
	case known.less(c):
		return connected
	case !d.Online:
		return stale // its will has been seen: a connection does not come back
	}
	return same
}

// takeStatus applies presence and answers a hello with its nonce, our time, and the workflows that a new store has lost.
func (s *Server) takeStatus(tx *store.Tx, env wire.Envelope, a *aftermath) error {
	st := *env.Status
	epoch := cmp.Or(st.StoreEpoch, env.StoreEpoch)
	d, err := tx.Device(env.DeviceID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("cannot read device %s: %w", env.DeviceID, err)
	}
	d.ID = env.DeviceID
	seen, err := tx.SeenEpoch(d.ID, epoch)
	if err != nil {
		return fmt.Errorf("cannot read epochs of device %s: %w", d.ID, err)
	}
	how := judge(d, st, epoch, seen)
	if how == stale {
		s.answerStale(env, a)
		return nil
	}
	if err := s.keepStatus(tx, &d, st, epoch, how); err != nil {
		return err
	}
	a.touch(d.ID, how == connected || how == newEpoch)
	if how != same {
		a.events = append(a.events, event{Kind: "device", ID: d.ID, DeviceID: d.ID, What: map[bool]string{true: "online", false: "link_lost"}[d.Online]})
	}
	if st.Online {
		if err := s.takeFloor(tx, env, epoch, how, a); err != nil {
			return err
		}
	}
	if !st.Online || st.Nonce == "" {
		return nil
	}
	lost, err := s.lostBy(tx, d.ID, epoch)
	if err != nil {
		return err
	}
	ended, err := s.endedOn(tx, st, d.ID, epoch)
	if err != nil {
		return err
	}
	lost = append(lost, ended...)
	lost = lost[:min(len(lost), closeAtHello)]
	a.to = append(a.to, storeOf{d.ID, epoch})
	a.receipts = append(a.receipts, wire.Receipt{Refs: []string{env.ID}, Nonce: st.Nonce, Close: lost})
	return nil
}

// answerStale answers an old hello with its nonce and nothing else: one that was late harms nobody, and a device whose start counter
// went back (a restored or cloned disk) can at least hand over what it has. It is not believed to be present, and closes nothing.
func (s *Server) answerStale(env wire.Envelope, a *aftermath) {
	st := env.Status
	s.opt.Log.Info().Str(keyDevice, env.DeviceID).Str("conn_no", st.ConnNo).Bool("online", st.Online).Msg("stale status ignored")
	if st.Online && st.Nonce != "" {
		a.to = append(a.to, storeOf{env.DeviceID, cmp.Or(st.StoreEpoch, env.StoreEpoch)})
		a.receipts = append(a.receipts, wire.Receipt{Refs: []string{env.ID}, Nonce: st.Nonce})
	}
}

func (s *Server) keepStatus(tx *store.Tx, d *store.Device, st wire.Status, epoch string, how standing) error {
	now := ms(s.opt.Now())
	d.Online, d.SeenAt = st.Online, now
	if how == connected || how == newEpoch || how == same {
		c := parseConn(st.ConnNo)
		d.Epoch, d.ConnStart, d.ConnNo, d.HelloAt = epoch, c.start, c.no, now
		body, err := json.Marshal(st)
		if err != nil {
			return fmt.Errorf("cannot keep status of device %s: %w", d.ID, err)
		}
		d.Status = body
		if err := tx.AddEpoch(d.ID, epoch, now); err != nil {
			return err
		}
	}
	if how == gone { // a will of a connection whose hello never came has a higher number
		c := parseConn(st.ConnNo)
		d.ConnStart, d.ConnNo = c.start, c.no
	}
	return tx.PutDevice(*d)
}

// lostBy lists the workflows that a device with a new store has to close, at most as many as one receipt names. A schedule is not among
// them: its plan goes down anew, as one that never left, and the device begins with its next occurrence. One that somebody has cancelled
// does not come back.
func (s *Server) lostBy(tx *store.Tx, device, epoch string) (lost []string, err error) {
	held, err := tx.HeldUnderOther(device, epoch, maxHeld)
	if err != nil {
		return nil, err
	}
	for _, id := range held {
		rows, err := tx.DownOf(id)
		if err != nil {
			return nil, err
		}
		row, ok := scheduleAmong(rows)
		switch {
		case !ok && len(lost) < closeAtHello:
			lost = append(lost, id)
		case ok && row.State != store.Queued:
			row.State, row.Epoch, row.FirstSentAt, row.AnsweredAt, row.ReasonCode, row.Ack = store.Queued, "", 0, 0, "", nil
			if err := tx.PutDown(row); err != nil {
				return nil, err
			}
		}
	}
	return lost, nil
}

// endedOn lists the workflows that a device has accepted and does not list as open: it has ended them, and where its result was receipted
// and lost here with a restored backup, it would never come again unless it is asked for. A device sends none that is on its way already.
func (s *Server) endedOn(tx *store.Tx, st wire.Status, device, epoch string) (ended []string, err error) {
	if epoch == "" || st.OpenCount > int64(len(st.OpenWorkflows)) {
		return nil, nil // not all that is open is listed
	}
	held, err := tx.HeldUnder(device, epoch, maxHeld)
	if err != nil {
		return nil, err
	}
	for _, id := range held {
		if slices.ContainsFunc(st.OpenWorkflows, func(o wire.OpenWorkflow) bool { return o.WorkflowID == id }) {
			continue
		}
		rows, err := tx.DownOf(id)
		if err != nil {
			return nil, err
		}
		if !ofSchedule(rows) {
			ended = append(ended, id)
		}
	}
	return ended, nil
}

// ofSchedule says whether a workflow is a schedule, which never ends by a result.
func ofSchedule(rows []store.Down) bool {
	return slices.ContainsFunc(rows, func(row store.Down) bool {
		env, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
		return err == nil && env.Plan != nil && env.Plan.Workflow.Schedule != nil
	})
}

// scheduleAmong finds the latest plan among the messages about a workflow, where that is a schedule which a device may still hold.
func scheduleAmong(rows []store.Down) (last store.Down, ok bool) {
	for _, row := range rows {
		switch {
		case row.Type == string(wire.TypePlan) && row.State != store.Refused && (last.ID == "" || row.Revision > last.Revision):
			last = row
		case row.Type == string(wire.TypeControl) && cancels(row):
			return store.Down{}, false
		}
	}
	if last.ID == "" || last.State == store.Expired {
		return store.Down{}, false
	}
	env, err := wire.Decode(last.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
	return last, err == nil && env.Plan != nil && env.Plan.Workflow.Schedule != nil
}

// cancels says whether a message about a workflow is the wish to end it.
func cancels(row store.Down) bool {
	env, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
	return err == nil && env.Control != nil && (env.Control.Verb == "cancel" || env.Control.Verb == "kill")
}
