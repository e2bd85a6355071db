package agent

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// pems makes a certificate that signs itself, for a name, and its key.
func pems(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, form, form, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	priv, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: priv})
}

// asker is a TLS server that tells by which name each client introduced itself.
func asker(t *testing.T, certPEM, keyPEM []byte) (addr string, names <-chan string) {
	t.Helper()
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	heard := make(chan string, 8)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if conn := c.(*tls.Conn); conn.Handshake() == nil {
				heard <- conn.ConnectionState().PeerCertificates[0].Subject.CommonName
			}
			c.Close()
		}
	}()
	return ln.Addr().String(), heard
}

// F13: the certificate is renewed while the agent runs, and each reading on the way finds the old or the new one, never a half. What the
// robot shows is seen by the server.
func TestF13_OldOrNewNeverHalf(t *testing.T) {
	dir := t.TempDir()
	caPEM, caKey := pems(t, "broker")
	addr, names := asker(t, caPEM, caKey)
	put := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	newIdentity := func() *tlsFiles {
		return &tlsFiles{ca: filepath.Join(dir, "ca"), cert: filepath.Join(dir, "cert"), key: filepath.Join(dir, "key"), now: time.Now, log: zerolog.New(&log)}
	}
	id := newIdentity()
	shown := func() string {
		t.Helper()
		c, err := id.config()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := tls.Dial("tcp", addr, c)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return <-names
	}
	oldCert, oldKey := pems(t, "old")
	newCert, newKey := pems(t, "new")
	put("ca", caPEM)
	put("cert", oldCert)
	put("key", oldKey)
	for _, step := range []struct {
		what, file string
		text       []byte
		want       string
	}{
		{"nothing yet", "cert", oldCert, "old"},
		{"half of the new certificate", "cert", newCert[:len(newCert)/2], "old"},
		{"an empty file", "cert", nil, "old"},
		{"the new certificate beside the old key", "cert", newCert, "old"},
		{"half of the new key", "key", newKey[:len(newKey)/2], "old"},
		{"the new key", "key", newKey, "new"},
		{"half of the authorities", "ca", append(bytes.Clone(caPEM), newCert[:len(newCert)/2]...), "new"},
		{"no authorities", "ca", nil, "new"},
	} {
		put(step.file, step.text)
		for range 2 {
			if got := shown(); got != step.want {
				t.Fatalf("%s: the robot shows %q, want %q", step.what, got, step.want)
			}
		}
	}
	if n := strings.Count(log.String(), "the last good one stands"); n != 6 {
		t.Errorf("%d warnings, want one for each of the 6 bad states:\n%s", n, log.String())
	}
	if strings.Contains(log.String(), "PRIVATE KEY") || strings.Contains(log.String(), string(newKey)) {
		t.Error("a key is in the log")
	}

	// A start in the middle has no good one to stand on: it says what is wrong, and takes the pair as soon as it is whole.
	id = newIdentity()
	put("ca", caPEM)
	put("key", oldKey)
	if _, err := id.config(); err == nil || !strings.Contains(err.Error(), "broker.cert_file") || !strings.Contains(err.Error(), dir) {
		t.Fatalf("a pair that does not fit: %v", err)
	}
	put("key", newKey)
	if got := shown(); got != "new" {
		t.Fatalf("the robot shows %q, want new", got)
	}
	// One file with both is switched by one rename: there is no half of it.
	put("both", append(bytes.Clone(oldCert), oldKey...))
	id.cert, id.key = filepath.Join(dir, "both"), filepath.Join(dir, "both")
	if got := shown(); got != "old" {
		t.Fatalf("the robot shows %q, want old", got)
	}
}
