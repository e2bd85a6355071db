package linkfault

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	planstore "deviceagent/cloudlink/planner/store"
	"deviceagent/taskmanager"
)

// life is that of one process, which kill -9 ends: from then on nothing that it still does comes to its disk, and nothing is answered of
// what had come there without its knowing. All processes of a campaign are one, so this stands for the signal.
type life struct{ over atomic.Bool }

var errKilled = errors.New("killed")

// deviceStore is the disk of an agent's life.
type deviceStore struct {
	taskmanager.Store
	life *life
}

// Commit may be cut before or behind the disk.
func (s deviceStore) Commit(ctx context.Context, b taskmanager.Batch) error {
	if s.life.over.Load() {
		return fmt.Errorf("%w: %w", errKilled, taskmanager.ErrStoreClosed)
	}
	err := s.Store.Commit(ctx, b)
	if s.life.over.Load() {
		return fmt.Errorf("%w: %w", errKilled, taskmanager.ErrStoreClosed)
	}
	return err
}

// cloudStore is the disk of a planner's life.
type cloudStore struct {
	*planstore.Store
	life *life
}

// Update may be cut before or behind the disk.
func (s cloudStore) Update(ctx context.Context, do func(*planstore.Tx) error) error {
	if s.life.over.Load() {
		return errKilled
	}
	err := s.Store.Update(ctx, do)
	if s.life.over.Load() {
		return errKilled
	}
	return err
}
