package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const defaultKeepalive = 30 * time.Second

// defaultUtterances is long enough for somebody to ask what a plan of last week was about.
const defaultUtterances = 7 * 24 * time.Hour

// Duration is a length of time, written as text: "45s", "1m30s".
type Duration time.Duration

// UnmarshalText reads what [time.ParseDuration] reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf(`must be a duration as text, for example "45s"`)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes a duration as it is read.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String writes a duration without zero parts: "1m", not "1m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size is a number of bytes, written as text: "256KiB", "64MiB", "512".
type Size int64

// The units of a size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

var sizeUnits = []struct {
	name string
	unit Size
}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"", 1}}

// UnmarshalText reads a whole number with a unit of KiB, MiB, GiB or none.
func (s *Size) UnmarshalText(text []byte) error {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(string(text), u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || n > math.MaxInt64/uint64(u.unit) {
			break
		}
		*s = Size(n) * u.unit
		return nil
	}
	return fmt.Errorf(`must be a size as text, for example "256KiB"`)
}

// MarshalText writes a size as it is read.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String writes a size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && s%u.unit == 0 {
			return strconv.FormatInt(int64(s/u.unit), 10) + u.name
		}
	}
	return "0"
}
