package agent_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent/diag"
	"deviceagent/testbed/broker"
)

// F31: somebody who is not the planner publishes at the broker, again and again. That is told, in the warnings and in the log, which it
// does not fill.
func TestF31_ForgedMessagesAreToldAndDoNotFillTheLog(t *testing.T) {
	der, err := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize)).Public())
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(t.TempDir(), "trusted.pem")
	if err := os.WriteFile(keys, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	b, log := broker.New(), &lines{}
	defer b.Close()
	up := b.Subscribe("deviceagent/v1/rb-1/up/+")
	o := options(t)
	o.Config.RequireSigned, o.Config.TrustedKeysFile, o.Dial, o.Log = true, keys, b.Dial, zerolog.New(log)
	start(t, o)
	warnings := func() []string {
		reply, err := (&diag.Client{Socket: o.Config.Diag.ReadSocket}).Get(t.Context(), "/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		var st struct {
			Warnings []string `json:"warnings"`
		}
		if err := json.Unmarshal(reply.Data, &st); err != nil {
			t.Fatal(err)
		}
		return st.Warnings
	}
	if !up.Wait(1, time.Minute) {
		t.Fatal("no hello")
	}
	if got := warnings(); slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "does not send") }) {
		t.Fatalf("before anything came: %q", got)
	}
	const forged = 40
	for range forged {
		for _, kind := range []string{"control", "receipt"} {
			if err := b.Publish("deviceagent/v1/rb-1/down/"+kind, []byte(`{"v":"a2a-task-orchestration-v1","type":"`+kind+`"}`), false); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := "since the start 80 messages came that this robot's planner does not send (bad_signature 40, dropped 40)"
	until(func() bool { return slices.Contains(warnings(), want) })
	if got := warnings(); !slices.Contains(got, want) {
		t.Fatalf("the warnings are %q", got)
	}
	for line, most := range map[string]int{"message from the cloud refused": 10, "unreadable receipt dropped": 10} {
		if n := log.count(line); n == 0 || n > most {
			t.Errorf("%q stands in the log %d times, want 1 to %d", line, n, most)
		}
	}
}
