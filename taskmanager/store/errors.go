package store

import (
	"errors"

	sqlite3 "modernc.org/sqlite/lib"
)

var (
	// ErrNewerSchema says that a later version of the program wrote the file. It was not touched: start that version again.
	ErrNewerSchema = errors.New("store was written by a newer version")
	// ErrForeign says that the file is a database of some other program. It was not touched.
	ErrForeign = errors.New("file is not a task store")
	// ErrOtherDevice says that the store belongs to another device. It was not touched: give the device its name back, or move the
	// file away to begin anew.
	ErrOtherDevice = errors.New("store belongs to another device")
	// errCloned says that the store was copied from another machine: what is open in it belongs there.
	errCloned = errors.New("store was copied from another machine")
	// errDamaged marks what start moves aside.
	errDamaged = errors.New("store is damaged")
	// errDiffers says that a row with this key is there with other content: memory and disk have parted.
	errDiffers = errors.New("row is there with other content")
	// errLogFull says that the log reached its cap and cannot be copied back, since another process reads.
	errLogFull = errors.New("log is full: another process holds a read transaction")
)

// outcome says what an error of SQLite means for the store.
type outcome int

const (
	breaks  outcome = iota // the handle can no longer be trusted; the default for what we do not know
	refuses                // this statement did not take effect, the store is sound
	damages                // breaks, and the file itself is wrong: the next start moves it aside
)

// outcomes by primary result code. What is missing breaks: I/O errors and failed syncs above all, a file that became read-only,
// and our own mistakes.
var outcomes = map[int]outcome{
	sqlite3.SQLITE_FULL:       refuses,
	sqlite3.SQLITE_CONSTRAINT: refuses,
	sqlite3.SQLITE_BUSY:       refuses,
	sqlite3.SQLITE_LOCKED:     refuses,
	sqlite3.SQLITE_TOOBIG:     refuses,
	sqlite3.SQLITE_NOMEM:      refuses,
	sqlite3.SQLITE_MISMATCH:   refuses,
	sqlite3.SQLITE_CORRUPT:    damages,
	sqlite3.SQLITE_NOTADB:     damages,
}

// codeOf returns the primary result code, 0 if err does not come from SQLite.
func codeOf(err error) int {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code() & 0xff
	}
	return 0
}

// judge classifies an error.
func judge(err error) outcome {
	if errors.Is(err, errDamaged) || errors.Is(err, errCloned) {
		return damages
	}
	if errors.Is(err, errLogFull) || errors.Is(err, errInvalid) {
		return refuses
	}
	return outcomes[codeOf(err)]
}

func isFull(err error) bool { return codeOf(err) == sqlite3.SQLITE_FULL }
