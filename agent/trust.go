package agent

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
)

// maxTrusted is how many keys are believed at a time: one, and the one that replaces it.
const maxTrusted = 2

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
	var keys []ed25519.PublicKey
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			break
		}
		parsed, err := x509.ParsePKIXPublicKey(b.Bytes)
		key, ok := parsed.(ed25519.PublicKey)
		if err != nil || !ok {
			return nil, fmt.Errorf("cannot use trusted_keys_file %s: block %d (%s) is no Ed25519 public key", path, len(keys)+1, b.Type)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > maxTrusted {
		return nil, fmt.Errorf("cannot use trusted_keys_file %s: it has %d keys, and has to have 1 or %d", path, len(keys), maxTrusted)
	}
	return wire.NewKeys(keys...), nil
}

func inode(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
