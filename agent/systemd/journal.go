package systemd

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// isJournal says whether a file is the stream to the journal that systemd opened: a service's standard error may as well be sent to a file.
func isJournal(f *os.File, stream string) bool {
	var st unix.Stat_t
	if stream == "" || unix.Fstat(int(f.Fd()), &st) != nil {
		return false
	}
	return stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// Lines writes each line with the priority of its level in front, as the journal reads it: <3> and so on.
type Lines struct{ W io.Writer }

// Write is a line without a level.
func (l Lines) Write(p []byte) (int, error) { return l.WriteLevel(zerolog.InfoLevel, p) }

// WriteLevel is what zerolog calls.
func (l Lines) WriteLevel(level zerolog.Level, p []byte) (int, error) {
	if _, err := l.W.Write(append([]byte(Priority(level)), p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

var priorities = map[zerolog.Level]int{zerolog.TraceLevel: 7, zerolog.DebugLevel: 7, zerolog.InfoLevel: 6, zerolog.WarnLevel: 4, zerolog.ErrorLevel: 3,
	zerolog.FatalLevel: 2, zerolog.PanicLevel: 2}

// Priority is a level as the journal reads it at the beginning of a line. A level that it does not know is information.
func Priority(level zerolog.Level) string {
	n, known := priorities[level]
	if !known {
		n = priorities[zerolog.InfoLevel]
	}
	return "<" + strconv.Itoa(n) + ">"
}
