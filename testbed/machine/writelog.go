package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// The format is that of Linux' dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst), which QEMU's blklogwrites writes
// too: a superblock of one sector, then for each operation one sector of header and, where it has any, its data. Little endian.
const (
	logMagic   = 0x6a736677736872
	flagFlush  = 1 // all before it is on the medium
	flagFUA    = 2 // its own data is on the medium when it is done
	flagNoData = 4 // a discard: no data follows
	headerSize = 32
)

// Operation is one write or flush, in the order in which the disk took them.
type Operation struct {
	Sector  int64 // first, in sectors of the log
	Sectors int64 // 0: a flush alone
	Flush   bool
	FUA     bool
	Discard bool
	data    int64 // where its data is in the log
	End     int64 // length of the log in bytes when it had been written down
}

// WriteLog is a disk's whole story.
type WriteLog struct {
	SectorSize int64
	Operations []Operation
	file       io.ReaderAt
}

var errNoLog = errors.New("it is no write log")

// ReadLog reads the story from a file of this size. A last operation that was cut off is left out; the count in the superblock is not
// believed, since a killed emulator has not written the last one.
func ReadLog(f io.ReaderAt, size int64) (*WriteLog, error) {
	head := make([]byte, headerSize)
	if _, err := f.ReadAt(head, 0); err != nil || binary.LittleEndian.Uint64(head) != logMagic {
		return nil, errors.Join(errNoLog, err)
	}
	l := &WriteLog{SectorSize: int64(binary.LittleEndian.Uint32(head[24:])), file: f}
	if l.SectorSize < 512 || l.SectorSize > 1<<16 {
		return nil, fmt.Errorf("%w: sectors of %d bytes", errNoLog, l.SectorSize)
	}
	for at := l.SectorSize; at+l.SectorSize <= size; {
		if _, err := f.ReadAt(head, at); err != nil {
			return nil, fmt.Errorf("cannot read the write log at %d: %w", at, err)
		}
		op := l.operation(head, at+l.SectorSize)
		if op.Sectors < 0 || op.End < at || op.End > size {
			break
		}
		l.Operations = append(l.Operations, op)
		at = op.End
	}
	return l, nil
}

func (l *WriteLog) operation(head []byte, data int64) Operation {
	flags := binary.LittleEndian.Uint64(head[16:])
	op := Operation{Sector: int64(binary.LittleEndian.Uint64(head)), Sectors: int64(binary.LittleEndian.Uint64(head[8:])),
		Flush: flags&flagFlush != 0, FUA: flags&flagFUA != 0, Discard: flags&flagNoData != 0, data: data, End: data}
	if !op.Discard {
		op.End += op.Sectors * l.SectorSize
	}
	return op
}

// durable is how many of the first n operations the last flush among them had made safe.
func (l *WriteLog) durable(n int) int {
	for i := n - 1; i >= 0; i-- {
		if l.Operations[i].Flush {
			return i
		}
	}
	return 0
}

// apply writes the operations from..to-1 onto a disk; keep says for each sector whether it got there.
func (l *WriteLog) apply(disk io.WriterAt, from, to int, keep func(Operation) bool) error {
	var buf []byte
	for _, op := range l.Operations[from:to] {
		if op.Sectors == 0 || op.Discard {
			continue
		}
		if need := op.Sectors * l.SectorSize; int64(cap(buf)) < need {
			buf = make([]byte, need)
		}
		buf = buf[:op.Sectors*l.SectorSize]
		if _, err := l.file.ReadAt(buf, op.data); err != nil {
			return fmt.Errorf("cannot read the write log: %w", err)
		}
		for s := int64(0); s < op.Sectors; s++ {
			if !keep(op) {
				continue
			}
			if _, err := disk.WriteAt(buf[s*l.SectorSize:(s+1)*l.SectorSize], (op.Sector+s)*l.SectorSize); err != nil {
				return fmt.Errorf("cannot write the disk of a cut: %w", err)
			}
		}
	}
	return nil
}

func everything(Operation) bool { return true }

// chance keeps each sector with a probability that is drawn once, and what went to the medium at once always.
func chance(r *rand.Rand) func(Operation) bool {
	p := r.Float64()
	return func(op Operation) bool { return op.FUA || r.Float64() < p }
}

// openLog reads the write log at a path. The file stays open for its data.
func openLog(path string) (*WriteLog, *os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the write log: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		var l *WriteLog
		if l, err = ReadLog(f, info.Size()); err == nil {
			return l, f, nil
		}
	}
	return nil, nil, errors.Join(fmt.Errorf("cannot read the write log %s: %w", path, err), f.Close())
}
