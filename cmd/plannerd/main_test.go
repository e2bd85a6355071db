package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCallsThatCannotWork(t *testing.T) {
	dir := t.TempDir()
	loose, empty, secret := filepath.Join(dir, "loose"), filepath.Join(dir, "empty"), filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(loose, []byte("t"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	free := []string{"--listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "--db", filepath.Join(dir, "p.db")}
	for _, tc := range []struct {
		name string
		args []string
		code int
		text string
	}{
		{"unknown flag", []string{"--lisen", "x"}, 2, "unknown flag"},
		{"argument", []string{"serve"}, 2, "serve"},
		{"all faults of the flags", []string{"--log-level", "loud", "--broker", "ftp://x", "--db", ""}, 2, "--db is empty"},
		{"password in the URL", []string{"--broker", "mqtt://u:p@h:1883"}, 2, "--broker-password-file"},
		{"open broker", append(free, "--broker-listen", "0.0.0.0:0"), 1, "serves this machine only"},
		{"open HTTP", append(free, "--listen", "0.0.0.0:0"), 1, "needs a token"},
		{"open HTTP by TLS that asks nobody", append(free, "--listen", "0.0.0.0:0", "--http-cert", loose, "--http-key", secret), 1, "certificates of clients"},
		{"TLS key that others can read", append(free, "--http-cert", loose, "--http-key", loose), 1, "chmod 600"},
		{"certificate without key", append(free, "--http-cert", loose), 2, "--http-cert and --http-key belong together"},
		{"authority without certificate", append(free, "--http-client-ca", loose), 2, "--http-client-ca needs"},
		{"clients without authority", append(free, "--http-clients", "console"), 2, "--http-clients needs"},
		{"feed without an address", append(free, "--feed", "뉴스"), 2, "--feed \"뉴스\": want name=url"},
		{"feed that is a file", append(free, "--feed", "뉴스=file:///etc/passwd"), 2, "no http or https address"},
		{"two feeds of one name", append(free, "--feed", "a=http://h/1", "--feed", "a=http://h/2"), 2, "name of its own"},
		{"place that is none", append(free, "--weather-url", "http://h/", "--weather-place", "서울"), 2, "want name=latitude,longitude"},
		{"place without a weather service", append(free, "--weather-place", "서울=37.5,127"), 2, "wants a weather address"},
		{"no folder of documents", append(free, "--documents", filepath.Join(dir, "no")), 2, "want a folder"},
		{"no catalog", append(free, "--catalog", dir), 1, "cannot use catalog"},
		{"no folder for the database", append(free, "--db", filepath.Join(dir, "no", "p.db")), 1, "planner database"},
		{"token that others can read", append(free, "--token-file", loose), 1, "chmod 600"},
		{"empty token", append(free, "--token-file", empty), 1, "is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, log bytes.Buffer
			if code := run(t.Context(), tc.args, &out, &log); code != tc.code || !strings.Contains(log.String(), tc.text) {
				t.Errorf("exit %d with %q, want %d with %q", code, log.String(), tc.code, tc.text)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var out, log bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, &out, &log); code != 0 || !strings.Contains(out.String(), "--broker-listen") {
		t.Errorf("exit %d, %q", code, out.String())
	}
}

// TestFromWordsToPlan runs the program as the README does: embedded broker, built-in catalog, rules planner.
func TestFromWordsToPlan(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	line, lines := io.Pipe()
	ended := make(chan int, 1)
	args := []string{"--listen", "127.0.0.1:0", "--broker-listen", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "p.db"), "--log-level", "error"}
	go func() {
		ended <- run(ctx, args, lines, io.Discard)
		_ = lines.Close()
	}()
	buf := make([]byte, 256)
	n, err := line.Read(buf)
	if err != nil {
		t.Fatalf("no ready line: %v", err)
	}
	fields := strings.Fields(string(buf[:n]))
	if len(fields) != 3 || fields[0] != "ready" || !strings.HasPrefix(fields[2], "mqtt=127.0.0.1:") {
		t.Fatalf("ready line is %q", buf[:n])
	}
	url := "http://" + strings.TrimPrefix(fields[1], "http=")
	for _, tc := range []struct {
		text    string
		methods []string
	}{
		{"거실로 가서 청정하고 안방으로 가", []string{"setMoveTo", "startBasicAirClear", "setMoveTo"}},
		{"안녕", nil},
	} {
		body, _ := json.Marshal(map[string]any{"device_id": "rb-0001", "recognized_text": tc.text})
		req, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/turns", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var a struct {
			Dispatched bool `json:"dispatched"`
			Requests   []struct {
				TaskMethod string `json:"taskMethod"`
			} `json:"device_task_requests"`
			TTS string `json:"tts_response"`
		}
		err = json.NewDecoder(resp.Body).Decode(&a)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s answered %d: %v", tc.text, resp.StatusCode, err)
		}
		var got []string
		for _, r := range a.Requests {
			got = append(got, r.TaskMethod)
		}
		if strings.Join(got, " ") != strings.Join(tc.methods, " ") || a.Dispatched != (len(tc.methods) > 0) || a.TTS == "" {
			t.Errorf("%s became %v (%v), said %q", tc.text, got, a.Dispatched, a.TTS)
		}
	}
	stop()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit %d after a stop that was asked for", code)
		}
	case <-time.After(time.Minute):
		t.Fatal("does not stop")
	}
}
