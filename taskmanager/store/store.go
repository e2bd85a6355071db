// Package store keeps the task manager's durable state in one SQLite file: journal, records, outbox, id memory. It is the only
// room that knows a disk.
//
// It promises: what Commit confirmed is there after a power cut; a batch is there as a whole or not at all; the outcome of a
// commit is one of three (done, surely not done, store broken) and is read back where SQLite leaves it open; a damaged file is
// moved aside and reported, never repaired in silence and never taken for an empty one. Bytes are final: it looks into no body.
//
// It must not: decide what a row means, retry a failed sync, go on with a handle that saw an I/O error, or delete anything to
// get on. It imports package taskmanager for the types of its door only. Files, settings and faults: docs/store.md.
package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"deviceagent/taskmanager"

	"modernc.org/sqlite"
)

// These switches are process-wide, and the second must come before the first database file is opened anywhere in the process,
// therefore at import: fdatasync halves the gap of a commit at equal durability, and open-file-description locks survive an
// unrelated Close of the same file. A kernel without the latter falls back to POSIX locks; [Info] says so.
func init() {
	_, _ = sqlite.Fdatasync(true)
	_, _ = sqlite.OFDLocking(true)
	sqlite.StrictPragmas(true)
}

// Options of [Open]. The zero value is what a robot runs with.
type Options struct {
	// MaxPages is the quota of the database file in pages of 4 KiB; 0: 65,536 (256 MiB). Beyond it a commit is refused as
	// not committed, except that deletes and terminal rows may use BallastBytes more.
	MaxPages int64
	// BallastBytes is the size of the file that is kept beside the database and removed on a full disk; 0: 8 MiB, < 0: none.
	BallastBytes int64
	// Device and Machine say whose store it is, where they are given: a name that the operator chose, and a mark of the hardware. A new
	// store takes them in. A store of another device is refused ([ErrOtherDevice]): its name was changed, or the file was copied. One
	// of another machine is a clone, whose plans belong to the machine that it was copied from: it is moved aside like a damaged one.
	Device, Machine string
	// IdleAfter is the pause after the last commit before the log is copied back and grown; 0: 100 ms.
	IdleAfter time.Duration
	// WALPages is the length of the log, in pages, at which it is copied back at once; 0: 1,000. The log file is grown to it.
	WALPages int
	// WALCapPages is the length that the log never exceeds by more than one batch; 0: 4,000 (16 MiB).
	WALCapPages int
}

func (o Options) withDefaults() Options {
	if o.MaxPages == 0 {
		o.MaxPages = 65_536
	}
	if o.BallastBytes == 0 {
		o.BallastBytes = 8 << 20
	}
	if o.IdleAfter == 0 {
		o.IdleAfter = 100 * time.Millisecond
	}
	if o.WALPages == 0 {
		o.WALPages = 1_000
	}
	if o.WALCapPages == 0 {
		o.WALCapPages = 4_000
	}
	return o
}

// Store implements [taskmanager.Store]. Its methods may be called from many goroutines; commits run one after another.
type Store struct {
	path     string
	opt      Options
	fresh    bool
	setAside string
	asideWhy string
	epoch    string

	gate    chan struct{} // capacity 1: who holds it owns the writer and every field of this block
	w       *writer
	ballast ballast
	frames  int   // pages in the log that are not yet known to be copied back
	grown   bool  // the log file has its full size
	count   int64 // commit counter, as on disk
	journal int64 // seq of the last journal row on disk
	outbox  int64 // highest outbox seq ever on disk

	forgotten atomic.Int64 // newest expiry of a pruned key of the id memory; 0: none was

	readers chan *reader // the idle ones of two
	opened  int
	timer   *time.Timer // the keeper's; armed by a commit, so that an idle store costs nothing
	closing chan struct{}
	once    sync.Once
	wg      sync.WaitGroup

	cause atomic.Pointer[error] // why the store is broken
	info  counters
}

var _ taskmanager.Store = (*Store)(nil)

var errClosed = fmt.Errorf("store is closed: %w", taskmanager.ErrStoreClosed)

// Open opens the store at path, makes it if it is not there, and brings its schema up to date. A damaged file is moved aside to
// path.damaged-N with its log, and a new store with a new epoch takes its place; [taskmanager.Image] tells so (Fresh, SetAside).
// Errors: [ErrNewerSchema], [ErrForeign] (the file is left as it is), a setting that SQLite did not take, an I/O error.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve store path %q: %w", path, err)
	}
	return open(ctx, abs, opt.withDefaults(), migrations)
}

func open(ctx context.Context, path string, opt Options, steps []migration) (*Store, error) {
	s := &Store{path: path, opt: opt, gate: make(chan struct{}, 1), readers: make(chan *reader, readerCount),
		closing: make(chan struct{}), ballast: ballast{path: path + ballastSuffix, size: opt.BallastBytes}}
	if err := s.start(ctx, steps); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open store %s: %w", path, err), s.disconnect(false))
	}
	s.timer = time.NewTimer(time.Hour)
	s.timer.Stop()
	s.wg.Go(s.keep)
	return s, nil
}

// Close ends the store: it waits for the commit and the reads under way, copies the log back and closes every handle.
// Correctness does not need it: a process that dies without Close loses nothing. A second call does nothing.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closing)
		s.gate <- struct{}{}
		s.timer.Stop()
		s.wg.Wait()
		err = s.disconnect(s.Broken() == nil)
		<-s.gate
	})
	if err != nil {
		return fmt.Errorf("cannot close store %s: %w", s.path, err)
	}
	return nil
}

// disconnect closes the connections. The last one that may write copies the log back as it closes, which must not happen with a
// store that is not sound: then the writer goes first, and the readers have no right to write.
func (s *Store) disconnect(sound bool) error {
	var errs []error
	if !sound && s.w != nil {
		errs = append(errs, s.w.close())
	}
	for ; s.opened > 0; s.opened-- {
		errs = append(errs, (<-s.readers).close())
	}
	if sound && s.w != nil {
		errs = append(errs, s.w.close())
	}
	s.w = nil
	return errors.Join(errs...)
}

// acquire waits for the writer. ctx bounds this wait only.
func (s *Store) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closing:
		return errClosed
	}
	select {
	case <-s.closing:
		<-s.gate
		return errClosed
	default:
		return nil
	}
}

func (s *Store) release() { <-s.gate }

// Broken returns why the store can no longer be trusted, nil while it can.
func (s *Store) Broken() error {
	if p := s.cause.Load(); p != nil {
		return *p
	}
	return nil
}

// fail marks the store broken, for ever, and returns the error for the caller. The first cause stays.
func (s *Store) fail(cause error) error {
	err := fmt.Errorf("%w: %w", taskmanager.ErrStoreBroken, cause)
	s.cause.CompareAndSwap(nil, &err)
	return *s.cause.Load()
}
