package store

import "fmt"

// Experience says which workflow carries a goal.
type Experience struct {
	ID         string
	WorkflowID string
	CreatedAt  int64 // ms
}

func scanExperience(r scanner) (x Experience, err error) {
	err = r.Scan(&x.ID, &x.WorkflowID, &x.CreatedAt)
	return x, err
}

// AddExperience notes the goal of a workflow; a revision that carries it again adds nothing.
func (t *Tx) AddExperience(x Experience) error {
	_, err := t.exec(`INSERT INTO experiences (experience_id, workflow_id, created_at) VALUES (?,?,?) ON CONFLICT DO NOTHING`, x.ID, x.WorkflowID, x.CreatedAt)
	if err != nil {
		return fmt.Errorf("cannot store experience %s: %w", x.ID, err)
	}
	return nil
}

// Experience finds the workflow of a goal; where several carry one id, the latest.
func (t *Tx) Experience(id string) (Experience, error) {
	return one(t, scanExperience, `SELECT experience_id, workflow_id, created_at FROM experiences WHERE experience_id = ? ORDER BY created_at DESC, workflow_id DESC LIMIT 1`, id)
}

// ExperienceOf is the goal of a workflow.
func (t *Tx) ExperienceOf(workflowID string) (string, error) {
	return one(t, scanText, `SELECT experience_id FROM experiences WHERE workflow_id = ? LIMIT 1`, workflowID)
}
