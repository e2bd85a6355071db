package store

import "fmt"

// CloudStep is one cloud step that a device has asked for, by its task: what has become of it here. It outlives its workflow where it
// opened a session that goes on.
type CloudStep struct {
	DeviceID   string
	TaskID     string
	WorkflowID string
	StepID     string
	Skill      string
	SessionID  string // empty: it tells nothing
	Locale     string
	Inputs     []byte // JSON
	State      string // due, telling, answered, failed, dropped
	ReasonCode string
	DueAt      int64  // ms
	EndsAt     int64  // ms; the device waits no longer; 0: nobody knows
	WakeAt     int64  // ms; a session goes on by itself then; 0: it does not
	EndedAt    int64  // ms; 0: it goes on
	Talk       []byte // JSON, of a session
}

const cloudStepColumns = `device_id, task_id, workflow_id, step_id, skill, session_id, locale, inputs, state, reason_code, due_at, ends_at, wake_at, ended_at, talk`

func scanCloudStep(r scanner) (c CloudStep, err error) {
	err = r.Scan(&c.DeviceID, &c.TaskID, &c.WorkflowID, &c.StepID, &c.Skill, &c.SessionID, &c.Locale, &c.Inputs, &c.State, &c.ReasonCode,
		&c.DueAt, &c.EndsAt, &c.WakeAt, &c.EndedAt, &c.Talk)
	return c, err
}

// AddCloudStep keeps a step that is due and says whether it is new: a repeat of (device, task) changes nothing.
func (t *Tx) AddCloudStep(c CloudStep) (fresh bool, err error) {
	n, err := t.exec(`INSERT INTO cloud_steps (`+cloudStepColumns+`) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (device_id, task_id) DO NOTHING`,
		c.DeviceID, c.TaskID, c.WorkflowID, c.StepID, c.Skill, c.SessionID, c.Locale, c.Inputs, c.State, c.ReasonCode, c.DueAt, c.EndsAt, c.WakeAt, c.EndedAt, c.Talk)
	if err != nil {
		return false, fmt.Errorf("cannot store cloud step %s: %w", c.TaskID, err)
	}
	return n == 1, nil
}

// PutCloudStep writes what may change of a step.
func (t *Tx) PutCloudStep(c CloudStep) error {
	n, err := t.exec(`UPDATE cloud_steps SET state=?, reason_code=?, wake_at=?, ended_at=?, talk=? WHERE device_id=? AND task_id=?`,
		c.State, c.ReasonCode, c.WakeAt, c.EndedAt, c.Talk, c.DeviceID, c.TaskID)
	if err == nil && n != 1 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("cannot change cloud step %s: %w", c.TaskID, err)
	}
	return nil
}

// CloudStep reads one step by its task.
func (t *Tx) CloudStep(deviceID, taskID string) (CloudStep, error) {
	return one(t, scanCloudStep, `SELECT `+cloudStepColumns+` FROM cloud_steps WHERE device_id = ? AND task_id = ?`, deviceID, taskID)
}

// CloudStepsDue lists steps of all devices that are to be carried out, the oldest first, at most limit.
func (t *Tx) CloudStepsDue(limit int) ([]CloudStep, error) {
	return t.cloudSteps("due", `SELECT `+cloudStepColumns+` FROM cloud_steps WHERE state = 'due' ORDER BY due_at, task_id LIMIT ?`, limit)
}

// CloudStepsAwake lists sessions that go on by themselves at or before a moment (ms), at most limit.
func (t *Tx) CloudStepsAwake(now int64, limit int) ([]CloudStep, error) {
	return t.cloudSteps("awake", `SELECT `+cloudStepColumns+` FROM cloud_steps WHERE wake_at > 0 AND wake_at <= ? AND state = 'telling' ORDER BY wake_at LIMIT ?`, now, limit)
}

// CloudStepsOf lists the steps of a workflow, the oldest first.
func (t *Tx) CloudStepsOf(deviceID, workflowID string) ([]CloudStep, error) {
	return t.cloudSteps("of workflow "+workflowID, `SELECT `+cloudStepColumns+` FROM cloud_steps WHERE device_id = ? AND workflow_id = ? ORDER BY due_at, task_id`, deviceID, workflowID)
}

// SessionsOf lists the sessions of a device that are open, the latest first, at most limit.
func (t *Tx) SessionsOf(deviceID string, limit int) ([]CloudStep, error) {
	return t.cloudSteps("of device "+deviceID, `SELECT `+cloudStepColumns+` FROM cloud_steps WHERE device_id = ? AND state = 'telling' ORDER BY due_at DESC, task_id LIMIT ?`, deviceID, limit)
}

func (t *Tx) cloudSteps(what, query string, args ...any) ([]CloudStep, error) {
	out, err := many(t, scanCloudStep, query, args...)
	if err != nil {
		return nil, fmt.Errorf("cannot list cloud steps %s: %w", what, err)
	}
	return out, nil
}

// AgentMemory is what the agents remember of a device, as JSON; nil: nothing.
func (t *Tx) AgentMemory(deviceID string) ([]byte, error) {
	out, err := many(t, func(r scanner) (b []byte, err error) { return b, r.Scan(&b) }, `SELECT value FROM agent_memory WHERE device_id = ?`, deviceID)
	if err != nil || len(out) == 0 {
		if err != nil {
			err = fmt.Errorf("cannot read agent memory of device %s: %w", deviceID, err)
		}
		return nil, err
	}
	return out[0], nil
}

// PutAgentMemory writes what the agents remember of a device.
func (t *Tx) PutAgentMemory(deviceID string, value []byte) error {
	_, err := t.exec(`INSERT INTO agent_memory (device_id, value) VALUES (?, ?) ON CONFLICT (device_id) DO UPDATE SET value = excluded.value`, deviceID, value)
	if err != nil {
		return fmt.Errorf("cannot keep agent memory of device %s: %w", deviceID, err)
	}
	return nil
}

// EraseAgentMemory forgets what the agents remember of a device.
func (t *Tx) EraseAgentMemory(deviceID string) error {
	if _, err := t.exec(`DELETE FROM agent_memory WHERE device_id = ?`, deviceID); err != nil {
		return fmt.Errorf("cannot erase agent memory of device %s: %w", deviceID, err)
	}
	return nil
}

// CloudStepsOpen says whether any step is due or tells something.
func (t *Tx) CloudStepsOpen() (open bool, err error) {
	err = t.tx.QueryRowContext(t.ctx, `SELECT EXISTS (SELECT 1 FROM cloud_steps WHERE state = 'due') OR EXISTS (SELECT 1 FROM cloud_steps WHERE state = 'telling')`).Scan(&open)
	if err != nil {
		return false, fmt.Errorf("cannot see whether cloud steps are open: %w", err)
	}
	return open, nil
}
