package store

import "fmt"

// State is the state of something that was submitted to a device. Text: stored and shown.
type State string

// The states. Queued was surely never published; Sent may have been (it is written before the first publish).
const (
	Queued   State = "queued"
	Sent     State = "sent"
	Accepted State = "accepted"
	Refused  State = "refused"
	Expired  State = "expired"
)

// Open says whether an answer of the device is still awaited.
func (s State) Open() bool { return s == Queued || s == Sent }

// Down is one message to a device. Envelope is its JSON form without epoch; Ack is the JSON of the answer's body.
type Down struct {
	ID          string
	DeviceID    string
	Seq         int64
	Type        string
	WorkflowID  string
	Revision    int64
	State       State
	Epoch       string // of the first publish
	CreatedAt   int64  // ms
	ExpiresAt   int64  // ms; 0: never
	FirstSentAt int64  // ms; 0: never
	AnsweredAt  int64  // ms; 0: never
	ReasonCode  string
	Envelope    []byte
	Ack         []byte
}

const downColumns = `id, device_id, seq, type, workflow_id, revision, state, epoch, created_at, expires_at, first_sent_at, answered_at,
	reason_code, envelope, ack`

func scanDown(r scanner) (d Down, err error) {
	err = r.Scan(&d.ID, &d.DeviceID, &d.Seq, &d.Type, &d.WorkflowID, &d.Revision, &d.State, &d.Epoch, &d.CreatedAt, &d.ExpiresAt,
		&d.FirstSentAt, &d.AnsweredAt, &d.ReasonCode, &d.Envelope, &d.Ack)
	return d, err
}

// AddDown keeps a new message to a device. Its sequence number comes from NextSeq in the same transaction.
func (t *Tx) AddDown(d Down) error {
	_, err := t.exec(`INSERT INTO down (`+downColumns+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		d.ID, d.DeviceID, d.Seq, d.Type, d.WorkflowID, d.Revision, d.State, d.Epoch, d.CreatedAt, d.ExpiresAt, d.FirstSentAt, d.AnsweredAt,
		d.ReasonCode, d.Envelope, d.Ack)
	if err != nil {
		return fmt.Errorf("cannot store down message %s: %w", d.ID, err)
	}
	return nil
}

// PutDown writes what may change of a message to a device.
func (t *Tx) PutDown(d Down) error {
	n, err := t.exec(`UPDATE down SET state=?, epoch=?, first_sent_at=?, answered_at=?, reason_code=?, ack=? WHERE id=?`,
		d.State, d.Epoch, d.FirstSentAt, d.AnsweredAt, d.ReasonCode, d.Ack, d.ID)
	if err == nil && n != 1 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("cannot change down message %s: %w", d.ID, err)
	}
	return nil
}

// Down reads one message to a device.
func (t *Tx) Down(id string) (Down, error) {
	return one(t, scanDown, `SELECT `+downColumns+` FROM down WHERE id = ?`, id)
}

// OpenDown lists the unanswered messages to a device in sequence order.
func (t *Tx) OpenDown(deviceID string) ([]Down, error) {
	out, err := many(t, scanDown, `SELECT `+downColumns+` FROM down WHERE device_id = ? AND state IN ('queued', 'sent') ORDER BY seq`, deviceID)
	if err != nil {
		return nil, fmt.Errorf("cannot list unanswered messages of device %s: %w", deviceID, err)
	}
	return out, nil
}

// OpenDevices lists the devices that have unanswered messages.
func (t *Tx) OpenDevices() ([]string, error) {
	return many(t, scanText, `SELECT DISTINCT device_id FROM down WHERE state IN ('queued', 'sent') ORDER BY device_id`)
}

// CountOpenDown counts the unanswered messages to a device.
func (t *Tx) CountOpenDown(deviceID string) (int64, error) {
	return one(t, scanInt, `SELECT count(*) FROM down WHERE device_id = ? AND state IN ('queued', 'sent')`, deviceID)
}

// DownOf lists all messages to devices about a workflow in sequence order.
func (t *Tx) DownOf(workflowID string) ([]Down, error) {
	out, err := many(t, scanDown, `SELECT `+downColumns+` FROM down WHERE workflow_id = ? ORDER BY seq`, workflowID)
	if err != nil {
		return nil, fmt.Errorf("cannot list messages to the device about workflow %s: %w", workflowID, err)
	}
	return out, nil
}

// ControlsOf lists the latest controls to a device that are about no single workflow, newest first.
func (t *Tx) ControlsOf(deviceID string, limit int) ([]Down, error) {
	out, err := many(t, scanDown, `SELECT `+downColumns+` FROM down WHERE device_id = ? AND workflow_id = '' AND type = 'control' ORDER BY seq DESC LIMIT ?`,
		deviceID, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list controls to device %s: %w", deviceID, err)
	}
	return out, nil
}

func scanText(r scanner) (s string, err error) {
	err = r.Scan(&s)
	return s, err
}
