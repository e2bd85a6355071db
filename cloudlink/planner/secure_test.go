package planner

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/testbed/authority"
)

// signer is an authority of a test. Its certificates are good around the day of the rig's clock.
type signer struct {
	*authority.Authority
	t    *testing.T
	days [2]int // validity of what it signs, in days from the rig's now
}

func (r *rig) signer() *signer {
	r.t.Helper()
	a, err := authority.New("authority")
	if err != nil {
		r.t.Fatal(err)
	}
	return &signer{a, r.t, [2]int{-1, 30}}
}

// issue makes a certificate for a name.
func (s *signer) issue(name string, now time.Time) tls.Certificate {
	s.t.Helper()
	pair, err := s.Pair(name, now.AddDate(0, 0, s.days[0]), now.AddDate(0, 0, s.days[1]))
	if err != nil {
		s.t.Fatal(err)
	}
	return pair
}

// write puts a certificate, and its key where it has one, into files.
func (s *signer) write(c tls.Certificate, certPath, keyPath string) {
	s.t.Helper()
	put := func(path, kind string, der []byte) {
		if err := os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			s.t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			s.t.Fatal(err)
		}
	}
	put(certPath, "CERTIFICATE", c.Certificate[0])
	if keyPath == "" {
		return
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		s.t.Fatal(err)
	}
	put(keyPath, "PRIVATE KEY", der)
}

// mutual starts a rig whose HTTP asks for certificates of the authority.
func mutual(t *testing.T, edit func(*rig)) (*rig, *signer) {
	t.Helper()
	r := newRig(t)
	s := r.signer()
	dir := t.TempDir()
	r.tls = TLSFiles{Cert: filepath.Join(dir, "http.crt"), Key: filepath.Join(dir, "http.key"), ClientCA: filepath.Join(dir, "ca.crt")}
	s.write(s.issue("planner", r.clock.now()), r.tls.Cert, r.tls.Key)
	s.write(tls.Certificate{Certificate: [][]byte{s.Cert.Raw}}, r.tls.ClientCA, "")
	r.via = r.client(s, s.issue("console", r.clock.now()))
	if edit != nil {
		edit(r)
	}
	r.start()
	return r, s
}

// client is an HTTP client that trusts an authority and shows certificates.
func (r *rig) client(trusts *signer, shows ...tls.Certificate) *http.Transport {
	pool := x509.NewCertPool()
	pool.AddCert(trusts.Cert)
	t := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Time: r.clock.now, MinVersion: tls.VersionTLS12,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(shows) == 0 {
				return &tls.Certificate{}, nil
			}
			return &shows[0], nil // whatever authorities the server names
		}}, ForceAttemptHTTP2: true}
	r.t.Cleanup(t.CloseIdleConnections)
	return t
}

// asks sends one request with a client of its own; 0: it did not get through.
func (r *rig) asks(client *http.Transport, edit func(*http.Request)) (int, error) {
	r.t.Helper()
	req := r.request("GET", "/v1/devices", "")
	if edit != nil {
		edit(req)
	}
	req.Close = true
	resp, err := client.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_ = resp.Body.Close()
	if resp.ProtoMajor != 1 {
		r.t.Errorf("the answer is HTTP/%d", resp.ProtoMajor)
	}
	return resp.StatusCode, nil
}

func TestHTTPAsksForACertificateOfItsAuthority(t *testing.T) {
	r, s := mutual(t, nil)
	other, now := r.signer(), r.clock.now()
	dated := func(from, to int) tls.Certificate {
		old := *s
		old.days = [2]int{from, to}
		return old.issue("console", now)
	}
	old := r.client(s, s.issue("console", now))
	old.TLSClientConfig.MinVersion, old.TLSClientConfig.MaxVersion = tls.VersionTLS11, tls.VersionTLS11
	for _, tc := range []struct {
		name   string
		client *http.Transport
		in     bool
	}{
		{"a certificate of the authority", r.client(s, s.issue("console", now)), true},
		{"none", r.client(s), false},
		{"one of another authority", r.client(s, other.issue("console", now)), false},
		{"one that has expired", r.client(s, dated(-30, -1)), false},
		{"one that is not valid yet", r.client(s, dated(1, 30)), false},
		{"TLS 1.1", old, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, err := r.asks(tc.client, func(q *http.Request) { q.Host = "planner.example" }) // a name of the network is no foreign host then
			if in := status == http.StatusOK; in != tc.in || in != (err == nil) {
				t.Fatalf("answered %d, %v", status, err)
			}
		})
	}
	plain, err := (&http.Transport{}).RoundTrip(mustGet(t, strings.Replace(r.url, "https", "http", 1)+"/healthz"))
	if err == nil {
		_ = plain.Body.Close()
		if plain.StatusCode == http.StatusOK {
			t.Error("HTTP in clear is answered")
		}
	}
}

func mustGet(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	return req
}

// A robot's certificate may be of the same authority. It is no key to the planner.
func TestHTTPLetsInTheNamedClientsOnly(t *testing.T) {
	r, s := mutual(t, func(r *rig) { r.tls.Clients = []string{"console", "app"} })
	for name, want := range map[string]int{"app": http.StatusOK, "rb-0001": 0, "": 0} {
		if status, err := r.asks(r.client(s, s.issue(name, r.clock.now())), nil); status != want {
			t.Errorf("%q answered %d, %v", name, status, err)
		}
	}
}

func TestHTTPWithCertificateAndTokenNeedsBoth(t *testing.T) {
	r, s := mutual(t, func(r *rig) { r.token = "s3cret" })
	known := r.client(s, s.issue("console", r.clock.now()))
	for _, tc := range []struct {
		name, auth string
		client     *http.Transport
		status     int
	}{
		{"both", "Bearer s3cret", known, http.StatusOK},
		{"no token", "", known, http.StatusUnauthorized},
		{"a token that only begins right", "Bearer s3cre", known, http.StatusUnauthorized},
		{"a token that goes on", "Bearer s3cret2", known, http.StatusUnauthorized},
		{"no certificate", "Bearer s3cret", r.client(s), 0},
	} {
		status, err := r.asks(tc.client, func(q *http.Request) { q.Header.Set("Authorization", tc.auth) })
		if status != tc.status {
			t.Errorf("%s: answered %d, %v; want %d", tc.name, status, err, tc.status)
		}
	}
}

// The token of the options is only ever hashed or asked whether it is there: a comparison that ends at the first difference tells by its
// time how much of a guess was right. The two hashes are compared in constant time.
func TestTheTokenIsComparedInConstantTime(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "http.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	hashed, compared, other := 0, 0, 0
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if textOf(n.Fun) == "sha256.Sum256" && strings.Contains(textOf(n.Args[0]), "opt.Token") {
				hashed++
				return false
			}
			if textOf(n.Fun) == "subtle.ConstantTimeCompare" {
				compared++
			}
		case *ast.BinaryExpr:
			if textOf(n.X) == "s.opt.Token" && textOf(n.Y) == `""` {
				return false
			}
		case *ast.SelectorExpr:
			if n.Sel.Name == "Token" && textOf(n.X) == "s.opt" {
				other++
			}
		}
		return true
	})
	if hashed != 1 || compared != 1 || other != 0 {
		t.Errorf("the token is hashed %d times, compared in constant time %d times, used otherwise %d times", hashed, compared, other)
	}
}

// textOf writes the few forms of expression that the test above asks for.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.BasicLit:
		return e.Value
	case *ast.SelectorExpr:
		return textOf(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		var args []string
		for _, a := range e.Args {
			args = append(args, textOf(a))
		}
		return textOf(e.Fun) + "(" + strings.Join(args, ",") + ")"
	case *ast.ArrayType:
		return "[]" + textOf(e.Elt)
	}
	return fmt.Sprintf("%T", e)
}

// Renewed files count from the next connection on. What is half written, or does not fit, changes nothing.
func TestHTTPCertificatesAreRenewedWithoutARestart(t *testing.T) {
	var log lockedBuffer
	r, s := mutual(t, func(r *rig) { r.log = zerolog.New(&log) })
	now := r.clock.now()
	client := r.client(s, s.issue("console", now))
	client.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	serial := func() string {
		t.Helper()
		req := r.request("GET", "/v1/devices", "")
		req.Close = true
		resp, err := client.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.TLS.DidResume {
			t.Error("the session of before was taken up: its certificates were not judged")
		}
		return resp.TLS.PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	s.write(s.issue("planner", now), r.tls.Cert, r.tls.Key)
	second := serial()
	if second == first {
		t.Error("the old certificate is shown")
	}
	s.write(s.issue("planner", now), r.tls.Cert, "")
	if serial() != second {
		t.Error("a certificate beside the key of another was taken, or the last good one was not")
	}
	if !strings.Contains(log.String(), "the last good one stands") || !strings.Contains(log.String(), r.tls.Cert) {
		t.Errorf("the log says %q", log.String())
	}
	s.write(s.issue("planner", now), r.tls.Cert, r.tls.Key)

	other := r.signer() // the authority of clients is replaced: who came in before does not any more
	other.write(tls.Certificate{Certificate: [][]byte{other.Cert.Raw}}, r.tls.ClientCA, "")
	if status, err := r.asks(client, nil); status != 0 {
		t.Errorf("a client of the authority of before is answered %d, %v", status, err)
	}
	r.via = r.client(s, other.issue("console", now))
	r.must(http.StatusOK, "GET", "/v1/devices", "")
}

// Who is turned away by TLS stands in the log, but cannot fill it.
func TestClientsThatTLSRefusesAreCounted(t *testing.T) {
	var log lockedBuffer
	r, s := mutual(t, func(r *rig) { r.log = zerolog.New(&log) })
	refused := r.client(s)
	for range 5 {
		_, _ = r.asks(refused, nil)
	}
	eventually(t, "a line in the log", func() bool { return strings.Contains(log.String(), "HTTP clients refused by TLS") })
	r.clock.advance(refusalEvery)
	_, _ = r.asks(refused, nil)
	eventually(t, "a second line, after a minute", func() bool { return strings.Count(log.String(), "HTTP clients refused by TLS") == 2 })
	if !strings.Contains(log.String(), "didn't provide a certificate") {
		t.Errorf("the reason is not in %q", log.String())
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// The files are read when it is made: a planner that cannot show a certificate does not begin.
func TestUnusableTLSFilesEndTheStart(t *testing.T) {
	r := newRig(t)
	s := r.signer()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	s.write(s.issue("planner", r.clock.now()), path("a.crt"), path("a.key"))
	s.write(s.issue("planner", r.clock.now()), path("b.crt"), path("b.key"))
	text, err := os.ReadFile(path("a.crt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"cut.crt": text[:len(text)/2], "empty.crt": nil} {
		if err := os.WriteFile(path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name  string
		files TLSFiles
		want  string
	}{
		{"no key", TLSFiles{Cert: path("a.crt")}, "needs a certificate and its key"},
		{"an authority alone", TLSFiles{ClientCA: path("a.crt")}, "needs a certificate and its key"},
		{"names without an authority", TLSFiles{Cert: path("a.crt"), Key: path("a.key"), Clients: []string{"x"}}, "need the authority"},
		{"the key of another", TLSFiles{Cert: path("a.crt"), Key: path("b.key")}, path("b.key")},
		{"no file", TLSFiles{Cert: path("none"), Key: path("a.key")}, path("none")},
		{"half a certificate", TLSFiles{Cert: path("cut.crt"), Key: path("a.key")}, "cut.crt ends in the middle of a block"},
		{"an empty authority", TLSFiles{Cert: path("a.crt"), Key: path("a.key"), ClientCA: path("empty.crt")}, "no certificate in it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opt := Options{Planner: canned{}, Compile: compileCanned, Store: &cutStore{}, HTTP: openListener{}, TLS: tc.files, Token: "t"}
			opt.Dial = func(context.Context) (net.Conn, error) { return nil, net.ErrClosed }
			if _, err := New(opt); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New: %v, want %q", err, tc.want)
			}
		})
	}
}
