package store

import "fmt"

// Message is one up message as it came. Fault is empty for one that could be read.
type Message struct {
	DeviceID   string
	ID         string
	Type       string
	WorkflowID string
	RefID      string // the down message that it answers
	Epoch      string
	Seq        int64
	Held       bool  // kept, and not applied yet: something before it is still to come
	ReceivedAt int64 // ms
	Repeats    int64 // how often the same id came again
	Fault      string
	Size       int64 // bytes on the wire; Payload may be a cut copy where Fault is set
	Payload    []byte
}

const messageColumns = `device_id, id, type, workflow_id, ref_id, epoch, seq, received_at, repeats, fault, size, payload, held`

func scanMessage(r scanner) (m Message, err error) {
	err = r.Scan(&m.DeviceID, &m.ID, &m.Type, &m.WorkflowID, &m.RefID, &m.Epoch, &m.Seq, &m.ReceivedAt, &m.Repeats, &m.Fault,
		&m.Size, &m.Payload, &m.Held)
	return m, err
}

// AddMessage keeps m and says whether it is new. A repeat of (device, id) only counts up: the first content stands.
func (t *Tx) AddMessage(m Message) (fresh bool, err error) {
	if m.Payload == nil {
		m.Payload = []byte{}
	}
	n, err := t.exec(`INSERT INTO messages (`+messageColumns+`) VALUES (?,?,?,?,?,?,?,?,0,?,?,?,?) ON CONFLICT (device_id, id) DO NOTHING`,
		m.DeviceID, m.ID, m.Type, m.WorkflowID, m.RefID, m.Epoch, m.Seq, m.ReceivedAt, m.Fault, m.Size, m.Payload, m.Held)
	if err != nil {
		return false, fmt.Errorf("cannot store message %s: %w", m.ID, err)
	}
	if n == 1 {
		return true, nil
	}
	if _, err := t.exec(`UPDATE messages SET repeats = repeats + 1 WHERE device_id = ? AND id = ?`, m.DeviceID, m.ID); err != nil {
		return false, fmt.Errorf("cannot count repeat of message %s: %w", m.ID, err)
	}
	return false, nil
}

// MessagesOf lists what a device said about a workflow, oldest first, at most limit.
func (t *Tx) MessagesOf(deviceID, workflowID string, limit int) ([]Message, error) {
	out, err := many(t, scanMessage, `SELECT `+messageColumns+` FROM messages WHERE workflow_id = ? AND workflow_id != '' AND device_id = ?
		ORDER BY row LIMIT ?`, workflowID, deviceID, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list messages of workflow %s: %w", workflowID, err)
	}
	return out, nil
}

// Unreadable lists the latest messages of a device that could not be read, newest first.
func (t *Tx) Unreadable(deviceID string, limit int) ([]Message, error) {
	out, err := many(t, scanMessage, `SELECT `+messageColumns+` FROM messages WHERE device_id = ? AND fault != '' ORDER BY row DESC LIMIT ?`,
		deviceID, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list unreadable messages of device %s: %w", deviceID, err)
	}
	return out, nil
}

// CountUnreadable counts the unreadable messages of a device that were kept since a moment (ms).
func (t *Tx) CountUnreadable(deviceID string, since int64) (int64, error) {
	return one(t, scanInt, `SELECT count(*) FROM messages WHERE device_id = ? AND fault != '' AND received_at >= ?`, deviceID, since)
}

// CountUnkept counts up one unreadable message that is not kept.
func (t *Tx) CountUnkept(deviceID string) error {
	_, err := t.exec(`INSERT INTO devices (device_id, unreadable) VALUES (?, 1) ON CONFLICT (device_id) DO UPDATE SET unreadable = unreadable + 1`,
		deviceID)
	if err != nil {
		return fmt.Errorf("cannot count unreadable message of device %s: %w", deviceID, err)
	}
	return nil
}

// Unkept is how many unreadable messages of a device were counted only.
func (t *Tx) Unkept(deviceID string) (int64, error) {
	return one(t, scanInt, `SELECT coalesce(max(unreadable), 0) FROM devices WHERE device_id = ?`, deviceID)
}

func scanInt(r scanner) (n int64, err error) {
	err = r.Scan(&n)
	return n, err
}
