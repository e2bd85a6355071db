package store

import "fmt"

// Turn is one utterance and the answer that was given.
type Turn struct {
	ID         string
	DeviceID   string
	CreatedAt  int64  // ms
	IdemKey    string // the client's key; empty: none
	RequestSHA string // of the request, to tell a repeat from another request under the same key
	WorkflowID string // empty: nothing was dispatched
	ModelCalls int64
	HTTPStatus int64
	Answer     []byte // JSON
}

const turnColumns = `turn_id, device_id, created_at, idem_key, request_sha, workflow_id, model_calls, http_status, answer`

func scanTurn(r scanner) (u Turn, err error) {
	var key *string
	err = r.Scan(&u.ID, &u.DeviceID, &u.CreatedAt, &key, &u.RequestSHA, &u.WorkflowID, &u.ModelCalls, &u.HTTPStatus, &u.Answer)
	if key != nil {
		u.IdemKey = *key
	}
	return u, err
}

// AddTurn keeps a turn. Its key, if it has one, must be new.
func (t *Tx) AddTurn(u Turn) error {
	var key *string
	if u.IdemKey != "" {
		key = &u.IdemKey
	}
	_, err := t.exec(`INSERT INTO turns (`+turnColumns+`) VALUES (?,?,?,?,?,?,?,?,?)`,
		u.ID, u.DeviceID, u.CreatedAt, key, u.RequestSHA, u.WorkflowID, u.ModelCalls, u.HTTPStatus, u.Answer)
	if err != nil {
		return fmt.Errorf("cannot store turn %s: %w", u.ID, err)
	}
	return nil
}

// Turn reads one turn.
func (t *Tx) Turn(id string) (Turn, error) {
	return one(t, scanTurn, `SELECT `+turnColumns+` FROM turns WHERE turn_id = ?`, id)
}

// TurnByKey reads the turn of a client's key.
func (t *Tx) TurnByKey(key string) (Turn, error) {
	return one(t, scanTurn, `SELECT `+turnColumns+` FROM turns WHERE idem_key = ?`, key)
}

// TurnsOf lists the latest turns of a device since a moment (ms), newest first.
func (t *Tx) TurnsOf(deviceID string, since int64, limit int) ([]Turn, error) {
	out, err := many(t, scanTurn, `SELECT `+turnColumns+` FROM turns WHERE device_id = ? AND created_at >= ? ORDER BY created_at DESC, turn_id DESC LIMIT ?`,
		deviceID, since, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list turns of device %s: %w", deviceID, err)
	}
	return out, nil
}
