package agent

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent/identity"
	"deviceagent/bridge/wire"
)

// trust are the keys whose signatures the agent believes. Their file is looked at for each message and read when it has changed, so that a key is
// replaced without a restart. A file that cannot be used changes nothing: the last good keys stand, and the log says so.
type trust struct {
	path string // "": no key
	log  zerolog.Logger

	mu   sync.Mutex
	seen stamp
	keys kept[wire.Keys]
	said string // the fault that was logged while there was no good key
}

// stamp tells one state of a file from another.
type stamp struct {
	at   time.Time
	size int64
	file uint64
}

// now gives the keys. It may be called from any goroutine.
func (t *trust) now() wire.Keys {
	if t.path == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path)
	if err == nil && t.keys.good != nil {
		if s := stampOf(info); s == t.seen {
			return *t.keys.good
		}
	}
	if err == nil {
		t.seen = stampOf(info)
	}
	read, err := readTrusted(t.path)
	keys, err := t.keys.take(read, err, t.log)
	if err != nil && t.said != err.Error() { // changes are logged, not each message that comes meanwhile
		t.said = err.Error()
		t.log.Error().Err(err).Msg("no key is trusted")
	}
	return keys
}

func stampOf(info os.FileInfo) stamp { return stamp{info.ModTime(), info.Size(), inode(info)} }

// readTrusted reads a PEM file of one or two Ed25519 public keys.
func readTrusted(path string) (wire.Keys, error) {
	text, err := readPEM(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read trusted_keys_file: %w", err)
	}
	keys, err := identity.TrustedKeys(text)
	if err != nil {
		return nil, fmt.Errorf("cannot use trusted_keys_file %s: %w", path, err)
	}
	return wire.NewKeys(keys...), nil
}

func inode(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
