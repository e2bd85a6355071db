package store

import "fmt"

// PruneMessages deletes at most limit messages received before a moment (ms) whose workflow is terminal or unknown.
func (t *Tx) PruneMessages(before int64, limit int) (int64, error) {
	n, err := t.exec(`DELETE FROM messages WHERE row IN (SELECT m.row FROM messages m LEFT JOIN workflows w USING (workflow_id)
		WHERE m.received_at < ? AND (w.workflow_id IS NULL OR w.status != '') LIMIT ?)`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("cannot prune messages: %w", err)
	}
	return n, nil
}

// PruneRecords deletes workflows that ended before a moment (ms) with what was sent about them, and turns and controls of before it:
// at most limit of each. A workflow without a result has ended if no device can have it: all that was submitted of it was refused or
// has expired, or it was a schedule that was let go of or whose only time has passed. A template that a device keeps stays. It gives the number of rows.
func (t *Tx) PruneRecords(before int64, limit int) (int64, error) {
	ids, err := many(t, scanText, `SELECT workflow_id FROM workflows w WHERE created_at < ? AND (status != '' AND result_at < ? OR status = ''
		AND NOT EXISTS (SELECT 1 FROM down d WHERE d.workflow_id = w.workflow_id AND d.state IN ('queued', 'sent', 'accepted'))
		OR EXISTS (SELECT 1 FROM schedules s WHERE s.workflow_id = w.workflow_id AND (s.ended_at > 0 AND s.ended_at < ? OR s.over_at > 0 AND s.over_at < ?))) LIMIT ?`,
		before, before, before, before, limit)
	if err != nil {
		return 0, fmt.Errorf("cannot list workflows to prune: %w", err)
	}
	var total int64
	for _, id := range ids {
		for _, query := range []string{`DELETE FROM down WHERE workflow_id = ?`, `DELETE FROM schedules WHERE workflow_id = ?`, `DELETE FROM experiences WHERE workflow_id = ?`, `DELETE FROM workflows WHERE workflow_id = ?`} {
			n, err := t.exec(query, id)
			if err != nil {
				return total, fmt.Errorf("cannot prune workflow %s: %w", id, err)
			}
			total += n
		}
	}
	for _, query := range []string{
		`DELETE FROM turns WHERE turn_id IN (SELECT turn_id FROM turns WHERE created_at < ? LIMIT ?)`,
		`DELETE FROM agent_memory WHERE device_id IN (SELECT m.device_id FROM agent_memory m LEFT JOIN devices d USING (device_id) WHERE coalesce(d.seen_at, 0) < ? LIMIT ?)`,
		`DELETE FROM cloud_steps WHERE (device_id, task_id) IN (SELECT device_id, task_id FROM cloud_steps WHERE due_at < ? LIMIT ?)`,
		`DELETE FROM down WHERE id IN (SELECT id FROM down WHERE workflow_id = '' AND created_at < ? AND state NOT IN ('queued', 'sent') LIMIT ?)`,
	} {
		n, err := t.exec(query, before, limit)
		if err != nil {
			return total, fmt.Errorf("cannot prune turns and controls: %w", err)
		}
		total += n
	}
	return total, nil
}
