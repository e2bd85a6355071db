package store

import "fmt"

// Schedule says that a workflow is kept by its device and begun at set times. When, and how far its device has taken it, stands in what
// was sent of it ([Tx.DownOf]).
type Schedule struct {
	WorkflowID string
	DeviceID   string
	CreatedAt  int64  // ms
	Note       []byte // JSON: what it is in words of people; nil: nobody said
	OverAt     int64  // ms: when its only time has passed; 0: it comes again
	EndedAt    int64  // ms: when its device said that it keeps it no more; 0: it may
}

const scheduleColumns = `workflow_id, device_id, created_at, note, over_at, ended_at`

func scanSchedule(r scanner) (s Schedule, err error) {
	err = r.Scan(&s.WorkflowID, &s.DeviceID, &s.CreatedAt, &s.Note, &s.OverAt, &s.EndedAt)
	return s, err
}

// AddSchedule keeps that a workflow is a schedule. What is known of it stays, but for a note where there is one now. Of several revisions
// nobody knows here which one counts, so that it is over when the last of them is.
func (t *Tx) AddSchedule(s Schedule) error {
	_, err := t.exec(`INSERT INTO schedules (`+scheduleColumns+`) VALUES (?,?,?,?,?,?)
		ON CONFLICT (workflow_id) DO UPDATE SET note = coalesce(excluded.note, note),
		over_at = CASE WHEN excluded.over_at = 0 OR over_at = 0 THEN 0 ELSE max(excluded.over_at, over_at) END`,
		s.WorkflowID, s.DeviceID, s.CreatedAt, s.Note, s.OverAt, s.EndedAt)
	if err != nil {
		return fmt.Errorf("cannot store schedule %s: %w", s.WorkflowID, err)
	}
	return nil
}

// Schedule reads one schedule.
func (t *Tx) Schedule(workflowID string) (Schedule, error) {
	return one(t, scanSchedule, `SELECT `+scheduleColumns+` FROM schedules WHERE workflow_id = ?`, workflowID)
}

// Schedules lists the latest schedules of a device, or with "" of all, newest first.
func (t *Tx) Schedules(deviceID string, limit int) ([]Schedule, error) {
	out, err := many(t, scanSchedule, `SELECT `+scheduleColumns+` FROM schedules `+ofDevice(deviceID)+` ORDER BY created_at DESC, workflow_id DESC LIMIT ?`, deviceID, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list schedules: %w", err)
	}
	return out, nil
}

// ofDevice is the condition of a list of one device, or with "" of all; a single one would read them all each time.
func ofDevice(deviceID string) string {
	if deviceID == "" {
		return "WHERE ? = ''"
	}
	return "WHERE device_id = ?"
}

// LiveSchedules lists those of a device that may still begin something at a moment (ms), newest first.
func (t *Tx) LiveSchedules(deviceID string, now int64, limit int) ([]Schedule, error) {
	out, err := many(t, scanSchedule, `SELECT `+scheduleColumns+` FROM schedules WHERE device_id = ? AND ended_at = 0 AND (over_at = 0 OR over_at > ?)
		ORDER BY created_at DESC, workflow_id DESC LIMIT ?`, deviceID, now, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list schedules of device %s: %w", deviceID, err)
	}
	return out, nil
}

// EndSchedule notes that a device keeps a schedule no more; nothing where the workflow is none.
func (t *Tx) EndSchedule(workflowID string, at int64) error {
	if _, err := t.exec(`UPDATE schedules SET ended_at = ? WHERE workflow_id = ? AND ended_at = 0`, at, workflowID); err != nil {
		return fmt.Errorf("cannot end schedule %s: %w", workflowID, err)
	}
	return nil
}

// Slots is what a turn has left open for the next one of its device.
type Slots struct {
	DeviceID string
	TurnID   string
	AskedAt  int64  // ms
	Slots    []byte // JSON
}

// PutSlots keeps what was left open, in place of what was; nothing with Slots nil.
func (t *Tx) PutSlots(s Slots) (err error) {
	if s.Slots == nil {
		_, err = t.exec(`DELETE FROM slots WHERE device_id = ?`, s.DeviceID)
	} else {
		_, err = t.exec(`INSERT INTO slots (device_id, turn_id, asked_at, slots) VALUES (?,?,?,?)
			ON CONFLICT (device_id) DO UPDATE SET turn_id = excluded.turn_id, asked_at = excluded.asked_at, slots = excluded.slots`,
			s.DeviceID, s.TurnID, s.AskedAt, s.Slots)
	}
	if err != nil {
		return fmt.Errorf("cannot store slots of device %s: %w", s.DeviceID, err)
	}
	return nil
}

// Slots reads what was left open.
func (t *Tx) Slots(deviceID string) (Slots, error) {
	return one(t, func(r scanner) (s Slots, err error) {
		err = r.Scan(&s.DeviceID, &s.TurnID, &s.AskedAt, &s.Slots)
		return s, err
	}, `SELECT device_id, turn_id, asked_at, slots FROM slots WHERE device_id = ?`, deviceID)
}
