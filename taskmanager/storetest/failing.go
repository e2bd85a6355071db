package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"deviceagent/taskmanager"
)

// Outcome is how one commit of a [Failing] store ends.
type Outcome string

// The outcomes. After Broken and WrittenBroken every call is refused, as the SQLite store does.
const (
	OK            Outcome = "ok"
	NotCommitted  Outcome = "not committed"  // nothing is there, the store is sound
	Written       Outcome = "written"        // the commit reported an error, the read back found it: nil, after all
	WrittenBroken Outcome = "written broken" // it is there, and the caller learns only that the store is broken
	Broken        Outcome = "broken"         // it is not there, and the caller learns only that the store is broken
	Stall         Outcome = "stall"          // it waits, whatever ctx says, until Release; then it is OK
)

// Failing wraps a store and ends its commits as scripted. Make it inside the bubble of a testing/synctest test that uses it.
type Failing struct {
	taskmanager.Store
	mu       sync.Mutex
	script   []Outcome
	always   Outcome // of what comes after the script; "": OK
	commits  int
	broken   error
	released chan struct{}
	stalled  chan struct{}
}

var errScripted = errors.New("scripted fault")

// NewFailing wraps inner. Without a script every commit is OK.
func NewFailing(inner taskmanager.Store) *Failing {
	return &Failing{Store: inner, released: make(chan struct{}), stalled: make(chan struct{}, 1)}
}

// Script appends the outcomes of the next commits, one each.
func (f *Failing) Script(outcomes ...Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = append(f.script, outcomes...)
}

// Always sets how every commit ends from now on, once the script is through: a disk that is full, or that stalls until it heals.
func (f *Failing) Always(o Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always = o
}

// Commits returns how often Commit was called.
func (f *Failing) Commits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commits
}

// Stalled is signalled when a commit has begun to stall.
func (f *Failing) Stalled() <-chan struct{} { return f.stalled }

// Release ends the stall under way and lets a later one begin anew.
func (f *Failing) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.released)
	f.released = make(chan struct{})
}

// next takes the outcome of this commit.
func (f *Failing) next() (Outcome, chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commits++
	if f.broken != nil || len(f.script) == 0 {
		return f.always, f.released, f.broken
	}
	o := f.script[0]
	f.script = f.script[1:]
	return o, f.released, nil
}

// Commit implements [taskmanager.Store].
func (f *Failing) Commit(ctx context.Context, b taskmanager.Batch) error {
	o, released, err := f.next()
	if err != nil {
		return err
	}
	switch o {
	case NotCommitted:
		return fmt.Errorf("cannot commit: %w: %w", taskmanager.ErrNotCommitted, errScripted)
	case Broken:
		return f.fail()
	case WrittenBroken:
		if err := f.Store.Commit(ctx, b); err != nil {
			return err
		}
		return f.fail()
	case Stall:
		select {
		case f.stalled <- struct{}{}:
		default:
		}
		<-released
		ctx = context.WithoutCancel(ctx)
	}
	return f.Store.Commit(ctx, b)
}

func (f *Failing) fail() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = fmt.Errorf("cannot commit: %w: %w", taskmanager.ErrStoreBroken, errScripted)
	return f.broken
}

func (f *Failing) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// Load implements [taskmanager.Store].
func (f *Failing) Load(ctx context.Context) (taskmanager.Image, error) {
	if err := f.check(); err != nil {
		return taskmanager.Image{}, err
	}
	return f.Store.Load(ctx)
}

// Remembered implements [taskmanager.Store].
func (f *Failing) Remembered(ctx context.Context, key string) (taskmanager.Memory, bool, error) {
	if err := f.check(); err != nil {
		return taskmanager.Memory{}, false, err
	}
	return f.Store.Remembered(ctx, key)
}

// Finished implements [taskmanager.Store].
func (f *Failing) Finished(ctx context.Context, workflow string) ([]taskmanager.Record, bool, error) {
	if err := f.check(); err != nil {
		return nil, false, err
	}
	return f.Store.Finished(ctx, workflow)
}

// Journal implements [taskmanager.Store].
func (f *Failing) Journal(ctx context.Context, from int64, limit int) ([]taskmanager.JournalRow, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.Store.Journal(ctx, from, limit)
}

// Probe implements [taskmanager.Store].
func (f *Failing) Probe(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.Store.Probe(ctx)
}
