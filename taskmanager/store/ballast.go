package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ballast is a file that takes room while there is room. Removing it is the one thing that helps on a disk so full that even a
// DELETE fails, because a delete needs space in the log.
type ballast struct {
	path string
	size int64 // <= 0: none
}

// keep makes the file if it is missing or short and the disk has at least four times its size free. It is no error if not.
func (b ballast) keep() error {
	if b.size <= 0 || b.there() {
		return nil
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(b.path), &st); err != nil || int64(st.Bavail)*int64(st.Bsize) < 4*b.size {
		return nil
	}
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// Reserved blocks are enough: nobody reads them. A file system that cannot reserve gives no ballast.
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, b.size); err != nil {
		return errors.Join(f.Close(), b.drop())
	}
	return told(f.Close(), "write", b.path, "", b.size-1, []byte{0})
}

func (b ballast) there() bool {
	info, err := os.Stat(b.path)
	return err == nil && info.Size() >= b.size
}

func (b ballast) drop() error {
	if err := remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// pages is how much the quota grows while the ballast is given up.
func (b ballast) pages() int64 { return max(0, b.size/pageSize) }
