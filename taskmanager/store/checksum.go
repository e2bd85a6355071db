package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summer makes the checksum of a row. SQLite's own check sees a damaged structure; a flipped bit inside a body it does not see,
// and that bit may be the room that a robot drives to.
type summer struct{ buf []byte }

func (s *summer) text(v string) *summer {
	s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(len(v)))
	s.buf = append(s.buf, v...)
	return s
}

func (s *summer) bytes(v []byte) *summer {
	s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(len(v)))
	s.buf = append(s.buf, v...)
	return s
}

func (s *summer) num(v int64) *summer {
	s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(v))
	return s
}

// sum ends a row.
func (s *summer) sum() int64 {
	c := crc32.Checksum(s.buf, castagnoli)
	s.buf = s.buf[:0]
	return int64(c)
}

// differs compares the checksum of a row that was read; what and key name it in the error.
func differs(got, want int64, what string, key any) error {
	if got != want {
		return fmt.Errorf("%w: checksum of %s %v is %08x, want %08x", errDamaged, what, key, got, want)
	}
	return nil
}
