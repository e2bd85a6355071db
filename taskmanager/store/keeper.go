package store

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

// keep is the store's one goroutine: it copies the log back when commits pause, or at once when the log is long. It sleeps
// until a commit arms its timer.
func (s *Store) keep() {
	for {
		select {
		case <-s.timer.C:
			s.maintain()
		case <-s.closing:
			return
		}
	}
}

// afterCommit counts what the transaction put into the log and arms the keeper. The caller holds the gate.
func (s *Store) afterCommit() {
	n := s.w.framesWritten()
	s.frames += n
	s.info.commits.Add(1)
	s.info.frames.Add(int64(n))
	s.info.log.Store(int64(s.frames))
	if s.frames >= s.opt.WALPages {
		s.timer.Reset(0)
	} else {
		s.timer.Reset(s.opt.IdleAfter)
	}
}

func (s *Store) maintain() {
	if s.acquire(uncancelled) != nil {
		return
	}
	if s.Broken() == nil {
		s.copyBack(s.w.passive)
		s.restoreReserve()
	}
	done := s.grown || s.Broken() != nil
	s.release()
	for !done {
		if s.acquire(uncancelled) != nil {
			return
		}
		s.grown = s.growLog()
		done = s.grown
		s.release() // between two pieces a commit may pass
	}
}

// copyBack runs a checkpoint. What a full disk or a reader leaves in the log stays there for the next time; an I/O error breaks
// the store. The caller holds the gate.
func (s *Store) copyBack(mode *stmt) {
	var busy, length, copied int64
	err := mode.each(uncancelled, func(v []driver.Value) error {
		busy, length, copied = asInt(v[0]), asInt(v[1]), asInt(v[2])
		return nil
	})
	switch {
	case err != nil && judge(err) == refuses:
		return
	case err != nil:
		s.fail(fmt.Errorf("cannot copy log back: %w", err))
		return
	}
	s.info.checkpoints.Add(1)
	if busy == 0 && length == copied {
		length = 0 // the next commit begins at the front of the file
	}
	s.frames = int(length)
	s.info.log.Store(length)
}

// makeRoom enforces the cap of the log before a transaction: the writer itself waits, up to the busy timeout, until nobody reads
// an old state.
func (s *Store) makeRoom() error {
	if s.frames < s.opt.WALCapPages {
		return nil
	}
	s.copyBack(s.w.restart)
	if err := s.Broken(); err != nil {
		return err
	}
	if s.frames >= s.opt.WALCapPages {
		return errLogFull
	}
	return nil
}

// logLength reads the length of the log without copying anything.
func (w *writer) logLength() (int, error) {
	s, err := w.prepare("PRAGMA wal_checkpoint(NOOP)")
	if err != nil {
		return 0, err
	}
	n := 0
	err = s.each(uncancelled, func(v []driver.Value) error { n = int(asInt(v[1])); return nil })
	return max(n, 0), err
}

// growPiece is what one piece of growth writes and syncs while it holds the writer back.
const growPiece = 256 << 10

// growLog adds one piece of zeros to the log file and tells whether it has its full size. A commit into a file that need not
// grow syncs data only, which is half the time. A zero frame ends a recovery like the end of the file does. The log is no
// database file: closing this handle drops no lock of SQLite's. A failure costs speed only.
func (s *Store) growLog() (done bool) {
	full := int64(32 + s.opt.WALPages*(24+pageSize))
	f, err := os.OpenFile(s.path+"-wal", os.O_WRONLY, 0)
	if err != nil {
		return true
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() >= full {
		return true
	}
	piece := min(full-info.Size(), growPiece)
	zeros := make([]byte, piece)
	if _, err := f.WriteAt(zeros, info.Size()); told(err, "write", f.Name(), "", info.Size(), zeros) != nil {
		return true
	}
	return told(f.Sync(), "sync", f.Name(), "", 0, nil) != nil || info.Size()+piece >= full
}

// useReserve gives up the ballast and widens the quota by as much, once. It tells whether a retry makes sense.
func (s *Store) useReserve() bool {
	if s.info.reserve.Load() || s.ballast.size <= 0 {
		return false
	}
	err := errors.Join(s.ballast.drop(), s.w.setQuota(s.opt.MaxPages+s.ballast.pages()))
	s.info.reserve.Store(err == nil)
	return err == nil
}

// restoreReserve takes the reserve back when the rows would fit without it and the disk has room. The caller holds the gate.
func (s *Store) restoreReserve() {
	if !s.info.reserve.Load() {
		return
	}
	used, err := s.w.usedPages()
	if err != nil || used >= s.opt.MaxPages-s.opt.MaxPages/16 {
		return
	}
	if s.w.setQuota(s.opt.MaxPages) == nil && s.ballast.keep() == nil {
		s.info.reserve.Store(!s.ballast.there())
	}
}

// setQuota sets the largest size of the file; SQLite takes its present size if that is more.
func (w *writer) setQuota(pages int64) error {
	return w.exec(fmt.Sprintf("PRAGMA max_page_count=%d", pages))
}

func (w *writer) usedPages() (int64, error) {
	all, err := w.number("PRAGMA page_count")
	if err != nil {
		return 0, err
	}
	free, err := w.number("PRAGMA freelist_count")
	return all - free, err
}

// counters are read by any goroutine.
type counters struct {
	commits, frames, checkpoints, adopted, refused, log atomic.Int64
	reserve                                             atomic.Bool
}

// Info is what diagnostics show of a store.
type Info struct {
	Epoch       string
	Commits     int64 // transactions since the start; each that wrote pages synced once
	Pages       int64 // pages of 4 KiB written to the log by them
	Checkpoints int64
	Adopted     int64 // commits that SQLite reported as failed and that were found on disk
	Refused     int64 // commits that surely did not take place
	LogPages    int64 // length of the log now; above 4,000 (16 MiB) somebody reads for too long
	Reserve     bool  // the disk is full and the ballast is in use
	OFDLocks    bool  // false: an unrelated close of the file in this process drops SQLite's locks
	IdleAfter   time.Duration
	Broken      error
}

// Info may be called at any time, also while a commit stalls.
func (s *Store) Info() Info {
	c := &s.info
	return Info{Epoch: s.epoch, Commits: c.commits.Load(), Pages: c.frames.Load(), Checkpoints: c.checkpoints.Load(),
		Adopted: c.adopted.Load(), Refused: c.refused.Load(), LogPages: c.log.Load(), Reserve: c.reserve.Load(),
		OFDLocks: sqlite.OFDLockingEnabled(), IdleAfter: s.opt.IdleAfter, Broken: s.Broken()}
}
