package store

import (
	"errors"
	"fmt"
)

// Line is the order of what one store of a device sends: its messages are applied by their number, not as they come.
type Line struct {
	DeviceID string
	Epoch    string
}

// NextUp is the lowest number of a line that has not been applied; 0: none ever was.
func (t *Tx) NextUp(l Line) (int64, error) {
	n, err := one(t, scanInt, `SELECT next_seq FROM up_order WHERE device_id = ? AND epoch = ?`, l.DeviceID, l.Epoch)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read order of device %s: %w", l.DeviceID, err)
	}
	return n, nil
}

// PutNextUp keeps it.
func (t *Tx) PutNextUp(l Line, next int64) error {
	_, err := t.exec(`INSERT INTO up_order (device_id, epoch, next_seq) VALUES (?,?,?) ON CONFLICT (device_id, epoch) DO UPDATE SET next_seq = excluded.next_seq`,
		l.DeviceID, l.Epoch, next)
	if err != nil {
		return fmt.Errorf("cannot store order of device %s: %w", l.DeviceID, err)
	}
	return nil
}

// HeldUp lists messages of a line that wait for earlier ones, lowest first, at most limit.
func (t *Tx) HeldUp(l Line, limit int) ([]Message, error) {
	out, err := many(t, scanMessage, `SELECT `+messageColumns+` FROM messages WHERE held = 1 AND device_id = ? AND epoch = ? ORDER BY seq, row LIMIT ?`,
		l.DeviceID, l.Epoch, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list waiting messages of device %s: %w", l.DeviceID, err)
	}
	return out, nil
}

// CountHeldUp counts them.
func (t *Tx) CountHeldUp(l Line) (int64, error) {
	return one(t, scanInt, `SELECT count(*) FROM messages WHERE held = 1 AND device_id = ? AND epoch = ?`, l.DeviceID, l.Epoch)
}

// Applied notes that a message waits no longer.
func (t *Tx) Applied(deviceID, id string) error {
	if _, err := t.exec(`UPDATE messages SET held = 0 WHERE device_id = ? AND id = ?`, deviceID, id); err != nil {
		return fmt.Errorf("cannot mark message %s as applied: %w", id, err)
	}
	return nil
}

func scanLine(r scanner) (l Line, err error) {
	err = r.Scan(&l.DeviceID, &l.Epoch)
	return l, err
}

// LinesWaiting lists the lines of a device on which something waits.
func (t *Tx) LinesWaiting(deviceID string) ([]Line, error) {
	return many(t, scanLine, `SELECT DISTINCT device_id, epoch FROM messages WHERE held = 1 AND device_id = ?`, deviceID)
}

// LinesStuck lists the lines on which something has waited since a moment (ms) at which the device had already said its present hello.
func (t *Tx) LinesStuck(before int64) ([]Line, error) {
	return many(t, scanLine, `SELECT DISTINCT m.device_id, m.epoch FROM messages m JOIN devices d USING (device_id)
		WHERE m.held = 1 AND m.received_at < ? AND d.online = 1 AND d.hello_at < ?`, before, before)
}
