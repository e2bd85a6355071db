// Package systemd is the agent's side of systemd: what it was handed (its doors, the socket on which it is heard, the watchdog's time),
// what it says there, and how a line of its log carries a priority. All of it is read once, and taken out of the environment, so that
// no child can speak for the agent or hold its doors open. It decides nothing, and without systemd all of it is empty. Source:
// sd_notify(3), sd_listen_fds(3), sd-daemon(3).
package systemd

import (
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
)

// Service is what systemd gave this process.
type Service struct {
	Watchdog time.Duration // within this time it wants a sign of life; 0: it wants none
	Journal  bool          // standard error is the journal's

	path  string     // of the socket on which it listens to us; "": nobody does
	given []*os.File // sockets, not looked at yet

	mu     sync.Mutex
	conn   *net.UnixConn // kept: a process without a free file descriptor can still say that it lives
	missed int
}

// Take reads the environment. Call it once, before anything is started.
func Take() *Service {
	s := &Service{path: os.Getenv("NOTIFY_SOCKET"), Watchdog: watchdogTime(), Journal: isJournal(os.Stderr, os.Getenv("JOURNAL_STREAM")), given: activation.Files(true)}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM"} {
		os.Unsetenv(name)
	}
	return s
}

func watchdogTime() time.Duration {
	us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || us <= 0 {
		return 0
	}
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(us) * time.Microsecond
}

// tellTime bounds one word to systemd: who is frozen itself must not freeze us.
const tellTime = time.Second

// Tell says one state, such as READY=1; several are separated by line feeds. It is tried twice. Nobody listens: no error.
func (s *Service) Tell(state string) error {
	if s.path == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.tell(state)
	if err != nil { // the other end may be a new one, after systemd executed itself anew
		err = s.tell(state)
	}
	if err != nil {
		s.missed++
	}
	return err
}

func (s *Service) tell(state string) error {
	if s.conn == nil {
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.path, Net: "unixgram"})
		if err != nil {
			return err
		}
		s.conn = conn
	}
	err := s.conn.SetWriteDeadline(time.Now().Add(tellTime))
	if err == nil {
		_, err = s.conn.Write([]byte(state))
	}
	if err != nil {
		s.conn.Close()
		s.conn = nil
	}
	return err
}

// Missed counts what could not be said.
func (s *Service) Missed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missed
}

// maxStatus bounds the line that `systemctl status` shows. Bytes.
const maxStatus = 400

// Status is text as a state: one line, of a length that a person reads.
func Status(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxStatus {
		text = strings.ToValidUTF8(text[:maxStatus], "") + " …"
	}
	return "STATUS=" + text
}
