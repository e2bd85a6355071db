package agent

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
)

// publicPEM is the public half of a key whose seed is one byte 32 times, as openssl pkey -pubout writes it.
func publicPEM(t *testing.T, seed byte) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(publicKey(seed))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func publicKey(seed byte) ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
}

// A key is replaced without a restart: the old one, both, the new one. What cannot be used on the way changes nothing.
func TestKeysAreReplacedWhileTheAgentRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.pem")
	var log bytes.Buffer
	tr := &trust{path: path, log: zerolog.New(&log)}
	if len(tr.now()) != 0 || !strings.Contains(log.String(), "no key is trusted") {
		t.Fatalf("without a file nobody is believed, and the log says so: %s", &log)
	}
	if tr.now(); strings.Count(log.String(), "no key is trusted") != 1 {
		t.Fatalf("each message that comes meanwhile is a line of the log: %s", &log)
	}
	old, next, third := publicPEM(t, 1), publicPEM(t, 2), publicPEM(t, 3)
	otherPEM, _ := pems(t, "no Ed25519 key")
	for _, step := range []struct {
		what string
		text []byte
		want []byte // seeds
	}{
		{"the old key", old, []byte{1}},
		{"half of a second", append(bytes.Clone(old), next[:len(next)/2]...), []byte{1}},
		{"both", append(bytes.Clone(old), next...), []byte{1, 2}},
		{"an empty file", nil, []byte{1, 2}},
		{"a certificate", otherPEM, []byte{1, 2}},
		{"three", append(append(bytes.Clone(old), next...), third...), []byte{1, 2}},
		{"the new key", next, []byte{2}},
	} {
		// By a rename, as it should be done: the file has another inode even where size and time are the same.
		if err := os.WriteFile(path+".new", step.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		got := tr.now()
		for _, seed := range step.want {
			if _, ok := got[wire.KeyID(publicKey(seed))]; !ok || len(got) != len(step.want) {
				t.Fatalf("%s: %d keys are believed, want those of %v", step.what, len(got), step.want)
			}
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if len(tr.now()) != 1 {
		t.Fatal("the file is gone for a moment, and with it the key")
	}
}
