package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"deviceagent/agent/config"
	"deviceagent/taskmanager"
)

// A part that returns early is a failure of the agent, with or without an error; a part that was stopped is not.
func TestPartThatEndsEarlyIsAFailure(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		run  func(context.Context) error
		stop bool
		want error
	}{
		"with an error":    {run: func(context.Context) error { return broken }, want: broken},
		"without an error": {run: func(context.Context) error { return nil }, want: errEndedEarly},
		"stopped":          {run: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, stop: true},
	} {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			r := start(t.Context(), part{"link", tt.run}, failed)
			if tt.stop {
				r.cancel()
			}
			<-r.done
			select {
			case err := <-failed:
				if tt.want == nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), "link") {
					t.Fatalf("failed with %v, want %v and the part's name", err, tt.want)
				}
			default:
				if tt.want != nil {
					t.Fatal("nobody noticed the end")
				}
			}
		})
	}
}

// When the task manager ends, the agent's error is the task manager's, whoever notices first.
func TestTheTaskManagerSaysItselfWhyItEnded(t *testing.T) {
	failed := make(chan error, 2)
	echo := start(t.Context(), part{"executors", follows(func(context.Context) error { return taskmanager.ErrStopped })}, failed)
	broken := errors.New("store broken")
	cause := start(t.Context(), part{"taskmanager", follows(func(context.Context) error { return broken })}, failed)
	<-cause.done
	if !echo.stop() {
		t.Fatal("the echo does not end when it is stopped")
	}
	if err := <-failed; !errors.Is(err, broken) || len(failed) != 0 {
		t.Fatalf("the agent ends with %v and %d more", err, len(failed))
	}
}

// The folder of a socket need not be there.
func TestListenMakesTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "a.sock")
	ln, err := listen(t.Context(), nil, path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Fatalf("the socket is %v (%v)", info, err)
	}
}

// Only a socket that nobody listens on makes way.
func TestListenTakesNothingElseAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ln, err := listen(t.Context(), nil, path); err == nil || !strings.Contains(err.Error(), "set another path") {
		t.Fatalf("%v, %v: want a refusal that says what to do", ln, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "precious" {
		t.Fatalf("the file is now %q, %v", got, err)
	}
}

// A process whose queue of connections is full still owns its socket.
func TestListenLeavesABusySocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	fill(t, path)
	if ln, err := listen(t.Context(), nil, path); err == nil {
		t.Fatalf("%v took the socket of a process that is busy", ln.Addr())
	}
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("the socket is gone: %v", err)
	}
}

func TestModeOfASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sock")
	ln, err := listen(t.Context(), nil, path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o660 {
		t.Fatalf("mode %v, %v; want 0660", info.Mode(), err)
	}
}

// F48: certificates are judged by a time that has a floor, with and without files of our own.
func TestF48_CertificatesAreNotJudgedIn1970(t *testing.T) {
	floor := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ now, want time.Time }{
		{time.Unix(0, 0), floor}, {floor.Add(time.Hour), floor.Add(time.Hour)},
	} {
		if got := notBefore(floor, func() time.Time { return tt.now })(); !got.Equal(tt.want) {
			t.Errorf("at %v certificates are judged as of %v, want %v", tt.now, got, tt.want)
		}
	}
	cert := certificate(t, floor.Add(-time.Hour))
	opts := x509.VerifyOptions{Roots: x509.NewCertPool(), CurrentTime: notBefore(floor, func() time.Time { return time.Unix(0, 0) })()}
	opts.Roots.AddCert(cert)
	if _, err := cert.Verify(opts); err != nil {
		t.Errorf("a good certificate on a robot whose clock is at 1970: %v", err)
	}
	c, err := tlsOf(config.Broker{}, zerolog.Nop())()
	if err != nil || c.Time == nil {
		t.Fatalf("without files the system's roots are used, by the same time: %v, %v", c, err)
	}
}

// The link's secrets may be credentials of systemd, read when they are needed.
func TestSecretsMayBeCredentials(t *testing.T) {
	read := credentials("", "credential:pw", "rb-1")
	if _, _, err := read(); err == nil {
		t.Fatal("a password that nobody gave")
	}
	dir := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	if err := os.WriteFile(filepath.Join(dir, "pw"), []byte("s3cret\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	if user, pass, err := read(); user != "rb-1" || pass != "s3cret" || err != nil {
		t.Fatalf("%q, %q, %v", user, pass, err)
	}
}

func certificate(t *testing.T, from time.Time) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// fill listens with a queue of one connection and fills it.
func fill(t *testing.T, path string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return // full
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the queue does not get full")
}
