package store

import "fmt"

// Workflow is one workflow that was submitted here. Status is empty until the device closed it; only the device does.
type Workflow struct {
	ID        string
	DeviceID  string
	PlanID    string
	TurnID    string
	CreatedAt int64  // ms
	Status    string // of the result
	Result    []byte // JSON of the result's body
	ResultAt  int64  // ms
}

const workflowColumns = `workflow_id, device_id, plan_id, turn_id, created_at, status, result, result_at`

func scanWorkflow(r scanner) (w Workflow, err error) {
	err = r.Scan(&w.ID, &w.DeviceID, &w.PlanID, &w.TurnID, &w.CreatedAt, &w.Status, &w.Result, &w.ResultAt)
	return w, err
}

// AddWorkflow keeps a new workflow.
func (t *Tx) AddWorkflow(w Workflow) error {
	_, err := t.exec(`INSERT INTO workflows (`+workflowColumns+`) VALUES (?,?,?,?,?,?,?,?)`,
		w.ID, w.DeviceID, w.PlanID, w.TurnID, w.CreatedAt, w.Status, w.Result, w.ResultAt)
	if err != nil {
		return fmt.Errorf("cannot store workflow %s: %w", w.ID, err)
	}
	return nil
}

// Workflow reads one workflow.
func (t *Tx) Workflow(id string) (Workflow, error) {
	return one(t, scanWorkflow, `SELECT `+workflowColumns+` FROM workflows WHERE workflow_id = ?`, id)
}

// CloseWorkflow writes the result of a workflow that has none and says whether it did: the first result stands.
func (t *Tx) CloseWorkflow(id, status string, result []byte, at int64) (bool, error) {
	n, err := t.exec(`UPDATE workflows SET status=?, result=?, result_at=? WHERE workflow_id=? AND status=''`, status, result, at, id)
	if err != nil {
		return false, fmt.Errorf("cannot close workflow %s: %w", id, err)
	}
	return n == 1, nil
}

// WorkflowsOf lists the latest workflows of a device, newest first.
func (t *Tx) WorkflowsOf(deviceID string, limit int) ([]Workflow, error) {
	out, err := many(t, scanWorkflow, `SELECT `+workflowColumns+` FROM workflows WHERE device_id = ? ORDER BY created_at DESC, workflow_id DESC LIMIT ?`,
		deviceID, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list workflows of device %s: %w", deviceID, err)
	}
	return out, nil
}

// HeldUnder lists the workflows of a device which have no result and whose plan was accepted under this epoch.
func (t *Tx) HeldUnder(deviceID, epoch string, limit int) ([]string, error) {
	out, err := many(t, scanText, `SELECT w.workflow_id FROM workflows w WHERE w.device_id = ? AND w.status = '' AND EXISTS (
		SELECT 1 FROM down d WHERE d.workflow_id = w.workflow_id AND d.type = 'plan' AND d.state = 'accepted' AND d.epoch = ?)
		ORDER BY w.created_at, w.workflow_id LIMIT ?`, deviceID, epoch, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list workflows of device %s: %w", deviceID, err)
	}
	return out, nil
}

// HeldUnderOther lists the workflows of a device which have no result and whose plan was published or accepted under another
// epoch than the given one: a device with a new store knows nothing of them, unless it has accepted a later revision since.
func (t *Tx) HeldUnderOther(deviceID, epoch string, limit int) ([]string, error) {
	out, err := many(t, scanText, `SELECT w.workflow_id FROM workflows w WHERE w.device_id = ? AND w.status = '' AND EXISTS (
		SELECT 1 FROM down d WHERE d.workflow_id = w.workflow_id AND d.type = 'plan' AND d.state IN ('sent', 'accepted', 'expired')
		AND d.epoch NOT IN ('', ?)) AND NOT EXISTS (
		SELECT 1 FROM down d WHERE d.workflow_id = w.workflow_id AND d.type = 'plan' AND d.state = 'accepted' AND d.epoch = ?) ORDER BY w.created_at, w.workflow_id LIMIT ?`, deviceID, epoch, epoch, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list workflows lost by device %s: %w", deviceID, err)
	}
	return out, nil
}

// OpenWorkflowsOf lists the latest workflows of a device that have no result and of which a plan waits for the device or was accepted by
// it, newest first. What was refused or has expired is not under way, nor is a schedule.
func (t *Tx) OpenWorkflowsOf(deviceID string, limit int) ([]Workflow, error) {
	out, err := many(t, scanWorkflow, `SELECT `+workflowColumns+` FROM workflows w WHERE device_id = ? AND status = '' AND EXISTS (
		SELECT 1 FROM down d WHERE d.workflow_id = w.workflow_id AND d.type = 'plan' AND d.state IN ('queued', 'sent', 'accepted'))
		AND NOT EXISTS (SELECT 1 FROM schedules s WHERE s.workflow_id = w.workflow_id)
		ORDER BY created_at DESC, workflow_id DESC LIMIT ?`, deviceID, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list open workflows of device %s: %w", deviceID, err)
	}
	return out, nil
}

// EndedWorkflowsOf lists the workflows of a device that it has closed since a moment (ms), the latest first.
func (t *Tx) EndedWorkflowsOf(deviceID string, since int64, limit int) ([]Workflow, error) {
	out, err := many(t, scanWorkflow, `SELECT `+workflowColumns+` FROM workflows WHERE device_id = ? AND status != '' AND result_at >= ?
		ORDER BY result_at DESC, workflow_id DESC LIMIT ?`, deviceID, since, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list ended workflows of device %s: %w", deviceID, err)
	}
	return out, nil
}
