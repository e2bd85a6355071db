package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// answered finds the message to this device that an ack is about. ErrNotFound: there is none, or it went to another device.
func (s *Server) answered(tx *store.Tx, env wire.Envelope) (store.Down, error) {
	if env.Ack.RefID == "" {
		return s.answeredBytes(tx, env)
	}
	row, err := tx.Down(env.Ack.RefID)
	if err == nil && row.DeviceID != env.DeviceID {
		err = store.ErrNotFound
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("cannot find acked message %s: %w", env.Ack.RefID, err)
	}
	return row, err
}

// answeredBytes finds it by the hash of what was sent: the device could not even read its id. Without this such a message would be
// sent again for ever, and hold one of the places of unanswered plans.
func (s *Server) answeredBytes(tx *store.Tx, env wire.Envelope) (store.Down, error) {
	rows, err := tx.OpenDown(env.DeviceID)
	if err != nil {
		return store.Down{}, err
	}
	d, err := tx.Device(env.DeviceID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Down{}, fmt.Errorf("cannot read device %s: %w", env.DeviceID, err)
	}
	for _, row := range rows {
		for _, epoch := range []string{row.Epoch, d.Epoch} { // of the first publish, and of a later one
			data, err := s.bytesOf(row, epoch)
			if err != nil {
				break // reported when it was to be sent
			}
			if sum := sha256.Sum256(data); row.State == store.Sent && hex.EncodeToString(sum[:]) == env.Ack.RefSHA256 {
				return row, nil
			}
		}
	}
	return store.Down{}, store.ErrNotFound
}

// bytesOf makes what is sent of a stored message under an epoch. The encoding is deterministic: the same bytes each time.
func (s *Server) bytesOf(row store.Down, epoch string) ([]byte, error) {
	env, err := wire.Decode(row.Envelope, wire.Options{AllowJSON: true, Limits: deviceLimits, Direction: wire.Down})
	if err != nil {
		return nil, fmt.Errorf("cannot read stored message %s: %w", row.ID, err)
	}
	env.StoreEpoch = epoch
	return wire.Encode(env, s.opt.Encoding)
}
