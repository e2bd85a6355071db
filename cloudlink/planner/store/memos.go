package store

import (
	"errors"
	"fmt"
)

// Memo is one thing that is kept of the people of a home.
type Memo struct {
	ID        string
	DeviceID  string
	TurnID    string // in which it was said
	CreatedAt int64  // ms
	Body      []byte // JSON
}

func scanMemo(r scanner) (m Memo, err error) {
	err = r.Scan(&m.ID, &m.DeviceID, &m.TurnID, &m.CreatedAt, &m.Body)
	return m, err
}

const memoColumns = `id, device_id, turn_id, created_at, body`

// AddMemo keeps a memo.
func (t *Tx) AddMemo(m Memo) error {
	if _, err := t.exec(`INSERT INTO memos (`+memoColumns+`) VALUES (?,?,?,?,?)`, m.ID, m.DeviceID, m.TurnID, m.CreatedAt, m.Body); err != nil {
		return fmt.Errorf("cannot store memo %s: %w", m.ID, err)
	}
	return nil
}

// Memos lists what is kept of a home, or with "" of all, oldest first.
func (t *Tx) Memos(deviceID string, limit int) ([]Memo, error) {
	out, err := many(t, scanMemo, `SELECT `+memoColumns+` FROM memos `+ofDevice(deviceID)+` ORDER BY created_at, id LIMIT ?`, deviceID, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot list memos: %w", err)
	}
	return out, nil
}

// Memo reads one memo.
func (t *Tx) Memo(id string) (Memo, error) {
	return one(t, scanMemo, `SELECT `+memoColumns+` FROM memos WHERE id = ?`, id)
}

// EraseMemo forgets a memo and says whether it was there.
func (t *Tx) EraseMemo(id string) (bool, error) {
	n, err := t.exec(`DELETE FROM memos WHERE id = ?`, id)
	if err != nil {
		return false, fmt.Errorf("cannot erase memo %s: %w", id, err)
	}
	return n == 1, nil
}

// PutOffer notes when something was offered last.
func (t *Tx) PutOffer(deviceID, key string, at int64) error {
	_, err := t.exec(`INSERT INTO offers (device_id, key, made_at) VALUES (?,?,?) ON CONFLICT (device_id, key) DO UPDATE SET made_at = excluded.made_at`, deviceID, key, at)
	if err != nil {
		return fmt.Errorf("cannot store offer to device %s: %w", deviceID, err)
	}
	return nil
}

// OfferedAt is when something was offered last (ms); 0: never.
func (t *Tx) OfferedAt(deviceID, key string) (int64, error) {
	at, err := one(t, scanInt, `SELECT made_at FROM offers WHERE device_id = ? AND key = ?`, deviceID, key)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return at, err
}
