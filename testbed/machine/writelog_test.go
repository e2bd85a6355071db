package machine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// tape makes a write log in memory.
type tape struct{ bytes.Buffer }

const sector = 512

func newTape() *tape {
	t := &tape{}
	head := make([]byte, sector)
	binary.LittleEndian.PutUint64(head, logMagic)
	binary.LittleEndian.PutUint64(head[8:], 1)
	binary.LittleEndian.PutUint32(head[24:], sector)
	t.Write(head)
	return t
}

func (t *tape) op(at int64, flags uint64, data ...byte) *tape {
	head := make([]byte, sector)
	binary.LittleEndian.PutUint64(head, uint64(at))
	binary.LittleEndian.PutUint64(head[8:], uint64(len(data)))
	binary.LittleEndian.PutUint64(head[16:], flags)
	t.Write(head)
	for _, b := range data { // each byte stands for a sector of it
		t.Write(bytes.Repeat([]byte{b}, sector))
	}
	return t
}

func (t *tape) read(tt *testing.T) *WriteLog {
	tt.Helper()
	l, err := ReadLog(bytes.NewReader(t.Bytes()), int64(t.Len()))
	if err != nil {
		tt.Fatal(err)
	}
	return l
}

// disk is a disk of eight sectors; text is one character a sector.
type disk [8 * sector]byte

func (d *disk) WriteAt(p []byte, off int64) (int, error) { return copy(d[off:], p), nil }

func (d *disk) text() string {
	out := make([]byte, 8)
	for i := range out {
		out[i] = d[i*sector]
		if out[i] == 0 {
			out[i] = '.'
		}
	}
	return string(out)
}

func TestALogIsReadWithWhatItsWritesHold(t *testing.T) {
	l := newTape().op(0, 0, 'a', 'b').op(0, flagFlush).op(3, flagFUA, 'c').read(t)
	if n := len(l.Operations); n != 3 {
		t.Fatalf("%d operations, want 3", n)
	}
	var d disk
	if err := l.apply(&d, 0, 3, everything); err != nil {
		t.Fatal(err)
	}
	if d.text() != "ab.c...." {
		t.Errorf("the disk is %s", d.text())
	}
	if end := l.Operations[2].End; end != 7*sector {
		t.Errorf("the last operation ends at %d, want %d", end, 7*sector)
	}
}

func TestWhatAKillCutOffTheLogIsLeftOut(t *testing.T) {
	whole := newTape().op(0, 0, 'a').op(1, 0, 'b')
	for missing := 1; missing < 2*sector; missing += 100 {
		l, err := ReadLog(bytes.NewReader(whole.Bytes()), int64(whole.Len()-missing))
		if err != nil || len(l.Operations) != 1 {
			t.Fatalf("%d bytes missing: %d operations (%v), want 1", missing, len(l.Operations), err)
		}
	}
}

func TestAnotherFileIsNoLog(t *testing.T) {
	if _, err := ReadLog(bytes.NewReader(make([]byte, 4096)), 4096); !errors.Is(err, errNoLog) {
		t.Errorf("error %v", err)
	}
}

// TestOnlyTheLastFlushBeforeTheCutCounts: what was written after it may be lost, and what a later flush makes safe is not safe yet.
func TestOnlyTheLastFlushBeforeTheCutCounts(t *testing.T) {
	l := newTape().op(0, 0, 'a').op(0, flagFlush).op(1, 0, 'b').op(0, flagFlush).op(2, 0, 'c').read(t)
	for n, want := range []int{0, 0, 1, 1, 3, 3} {
		if got := l.durable(n); got != want {
			t.Errorf("of the first %d operations %d are safe, want %d", n, got, want)
		}
	}
}

func TestACutLeavesAnySetOfLaterSectorsAndAllOfForcedOnes(t *testing.T) {
	l := newTape().op(0, 0, 'a', 'b', 'c').op(3, flagFUA, 'd').read(t)
	left := map[string]bool{}
	for seed := range uint64(300) {
		var d disk
		if err := l.apply(&d, 0, 2, chance(rand.New(rand.NewPCG(seed, 0)))); err != nil {
			t.Fatal(err)
		}
		left[d.text()] = true
		if d.text()[3] != 'd' {
			t.Fatalf("seed %d: a forced write was lost: %s", seed, d.text())
		}
	}
	if len(left) != 8 { // each subset of three sectors
		t.Errorf("%d different disks, want 8: %v", len(left), left)
	}
}
