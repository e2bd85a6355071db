package store

import (
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A tape records all that happens to the files of one directory, in order: what SQLite does, heard at the door between SQLite and the
// operating system, and what this package does beside it. Between the operations stand marks: what was acknowledged by then.

// diskOp is one operation, or a mark.
type diskOp struct {
	what     string // create, write, truncate, sync, rename, remove, sync names, mark
	file     int    // the same number as long as it is the same file, under whatever name
	name, to string // within the directory
	at       int64  // offset, size of a truncate; of a mark the time, ms
	data     []byte
	mark     any
}

type tape struct {
	dir  string
	base image // what lay on the disk, all of it safe, when the recording began
	old  map[string]int

	mu    sync.Mutex
	ops   []diskOp
	names map[string]int
	files int
}

// tapes are the recordings under way, by directory. Files of other directories are left alone.
var tapes struct {
	mu    sync.RWMutex
	byDir map[string]*tape
	open  map[uintptr]taped // open files, by SQLite's handle
}

type taped struct {
	t    *tape
	file int
}

// record begins a tape of a directory in which base lies.
func record(dir string, base image) *tape {
	t := &tape{dir: dir, base: base, names: map[string]int{}}
	for name := range base {
		t.names[name] = t.files
		t.files++
	}
	t.old = maps.Clone(t.names)
	tapes.mu.Lock()
	defer tapes.mu.Unlock()
	tapes.byDir[dir] = t
	return t
}

// end ends the recording. Files that are still open are heard no more.
func (t *tape) end() {
	tapes.mu.Lock()
	defer tapes.mu.Unlock()
	delete(tapes.byDir, t.dir)
}

func tapeOf(path string) *tape {
	tapes.mu.RLock()
	defer tapes.mu.RUnlock()
	return tapes.byDir[filepath.Dir(path)]
}

func (t *tape) add(op diskOp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ops = append(t.ops, op)
}

func (t *tape) mark(m any) { t.add(diskOp{what: "mark", at: time.Now().UnixMilli(), mark: m}) }

// fileOf gives the number of a name, and notes that it was made if it is new.
func (t *tape) fileOf(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.names[name]
	if !ok {
		n = t.files
		t.files++
		t.names[name] = n
		t.ops = append(t.ops, diskOp{what: "create", file: n, name: name})
	}
	return n
}

// hear is told what this package did by itself.
func hear(what, path, to string, at int64, data []byte) {
	t := tapeOf(path)
	if t == nil {
		return
	}
	name := filepath.Base(path)
	switch what {
	case "rename":
		t.mu.Lock()
		n := t.names[name]
		delete(t.names, name)
		t.names[filepath.Base(to)] = n
		t.mu.Unlock()
		t.add(diskOp{what: what, file: n, name: name, to: filepath.Base(to)})
	case "remove":
		t.mu.Lock()
		n := t.names[name]
		delete(t.names, name)
		t.mu.Unlock()
		t.add(diskOp{what: what, file: n, name: name})
	case "sync names":
		t.add(diskOp{what: what})
	default:
		t.add(diskOp{what: what, file: t.fileOf(name), name: name, at: at, data: data})
	}
}

// SQLite's own way to the files: each handle has a table of methods. A handle of a recorded directory gets a copy of its table in which
// writing, truncating, syncing and closing go through the tape.
var (
	osOpen, osDelete, osDirectory uintptr
	tables                        = struct {
		sync.Mutex
		copies    map[uintptr]uintptr // of the operating system's table
		originals map[uintptr]uintptr
	}{copies: map[uintptr]uintptr{}, originals: map[uintptr]uintptr{}}
)

func init() {
	done = hear
	tapes.byDir, tapes.open = map[string]*tape{}, map[uintptr]taped{}
	tls := libc.NewTLS()
	vfs := at[sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(tls, 0))
	osOpen, vfs.FxOpen = vfs.FxOpen, pointer(tapeOpen)
	osDelete, vfs.FxDelete = vfs.FxDelete, pointer(tapeDelete)
	name, err := libc.CString("openDirectory") // SQLite opens a directory for one reason: to sync it
	if err != nil {
		panic(err)
	}
	self := sqlite3.Xsqlite3_vfs_find(tls, 0)
	osDirectory = function[func(*libc.TLS, uintptr, uintptr) uintptr](vfs.FxGetSystemCall)(tls, self, name)
	if rc := function[func(*libc.TLS, uintptr, uintptr, uintptr) int32](vfs.FxSetSystemCall)(tls, self, name, pointer(tapeDirectory)); rc != sqlite3.SQLITE_OK {
		panic("cannot hear when a directory is synced")
	}
}

// at is a C structure that p points to; function is a C function, and pointer makes one of ours.
func at[T any](p uintptr) *T      { return *(**T)(unsafe.Pointer(&p)) }
func function[F any](p uintptr) F { q := &struct{ p uintptr }{p}; return *(*F)(unsafe.Pointer(q)) }
func pointer(f any) uintptr       { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

func tapeOpen(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	rc := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](osOpen)(tls, vfs, name, file, flags, out)
	if rc != sqlite3.SQLITE_OK || name == 0 {
		return rc
	}
	path := libc.GoString(name)
	t := tapeOf(path)
	if t == nil {
		return rc
	}
	if _, err := os.Lstat(path); err != nil {
		return rc // a nameless one
	}
	entry := taped{t, t.fileOf(filepath.Base(path))}
	tapes.mu.Lock()
	tapes.open[file] = entry
	tapes.mu.Unlock()
	methods := at[uintptr](file)
	*methods = tapedTable(tls, *methods)
	return rc
}

func tapedTable(tls *libc.TLS, original uintptr) uintptr {
	tables.Lock()
	defer tables.Unlock()
	if p := tables.copies[original]; p != 0 {
		return p
	}
	p := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	m := at[sqlite3.Tsqlite3_io_methods](p)
	*m = *at[sqlite3.Tsqlite3_io_methods](original)
	m.FxWrite, m.FxTruncate, m.FxSync, m.FxClose = pointer(tapeWrite), pointer(tapeTruncate), pointer(tapeSync), pointer(tapeClose)
	tables.copies[original], tables.originals[p] = p, original
	return p
}

func methodsOf(file uintptr) *sqlite3.Tsqlite3_io_methods {
	tables.Lock()
	defer tables.Unlock()
	return at[sqlite3.Tsqlite3_io_methods](tables.originals[*at[uintptr](file)])
}

func (e taped) add(op diskOp) {
	if e.t != nil {
		op.file = e.file
		e.t.add(op)
	}
}

func tapedFile(file uintptr) taped {
	tapes.mu.RLock()
	defer tapes.mu.RUnlock()
	return tapes.open[file]
}

func tapeWrite(tls *libc.TLS, file, buf uintptr, n int32, offset int64) int32 {
	rc := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](methodsOf(file).FxWrite)(tls, file, buf, n, offset)
	if rc == sqlite3.SQLITE_OK {
		data := make([]byte, n)
		copy(data, unsafe.Slice(at[byte](buf), n))
		tapedFile(file).add(diskOp{what: "write", at: offset, data: data})
	}
	return rc
}

func tapeTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	rc := function[func(*libc.TLS, uintptr, int64) int32](methodsOf(file).FxTruncate)(tls, file, size)
	if rc == sqlite3.SQLITE_OK {
		tapedFile(file).add(diskOp{what: "truncate", at: size})
	}
	return rc
}

func tapeSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	rc := function[func(*libc.TLS, uintptr, int32) int32](methodsOf(file).FxSync)(tls, file, flags)
	if rc == sqlite3.SQLITE_OK {
		tapedFile(file).add(diskOp{what: "sync"})
	}
	return rc
}

func tapeClose(tls *libc.TLS, file uintptr) int32 {
	m := methodsOf(file)
	tapes.mu.Lock()
	delete(tapes.open, file)
	tapes.mu.Unlock()
	return function[func(*libc.TLS, uintptr) int32](m.FxClose)(tls, file)
}

func tapeDelete(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32 {
	rc := function[func(*libc.TLS, uintptr, uintptr, int32) int32](osDelete)(tls, vfs, name, syncDir)
	if path := libc.GoString(name); rc == sqlite3.SQLITE_OK {
		hear("remove", path, "", 0, nil)
		if syncDir != 0 {
			hear("sync names", path, "", 0, nil)
		}
	}
	return rc
}

func tapeDirectory(tls *libc.TLS, name, fd uintptr) int32 {
	rc := function[func(*libc.TLS, uintptr, uintptr) int32](osDirectory)(tls, name, fd)
	if rc == sqlite3.SQLITE_OK {
		hear("sync names", libc.GoString(name), "", 0, nil)
	}
	return rc
}
