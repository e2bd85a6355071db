package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/testbed/authority"
)

// The planner's certificate for the broker is renewed without a restart, and never half: what does not fit together is not shown.
func TestTheBrokersCertificatesAreReadForEachConnection(t *testing.T) {
	a, err := authority.New("test")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	id := identity{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	put := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	issue := func() (cert, key []byte) {
		t.Helper()
		cert, key, err := a.Client("planner")
		if err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	put(id.ca, a.PEM)
	serverCert, serverKey, err := a.Broker()
	if err != nil {
		t.Fatal(err)
	}
	server, err := tls.X509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.Cert)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan []byte, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if tc := c.(*tls.Conn); tc.Handshake() == nil {
				shown <- authority.Block("CERTIFICATE", tc.ConnectionState().PeerCertificates[0].Raw)
			}
			_ = c.Close()
		}
	}()
	defer func() { _ = l.Close(); <-done }()
	if _, err := dialer("mqtts://"+l.Addr().String(), id, nil); err == nil || !strings.Contains(err.Error(), id.cert) {
		t.Fatalf("without its files it began: %v", err)
	}
	cert, key := issue()
	put(id.cert, cert)
	put(id.key, key)
	var warned []error
	dial, err := dialer("mqtts://"+l.Addr().String(), id, func(err error) { warned = append(warned, err) })
	if err != nil {
		t.Fatal(err)
	}
	dialled := func() string {
		t.Helper()
		c, err := dial(context.Background())
		if err != nil {
			t.Fatal(err, errors.Join(warned...))
		}
		defer func() { _ = c.Close() }()
		return string(<-shown)
	}
	if dialled() != string(cert) {
		t.Fatal("another certificate was shown")
	}
	next, nextKey := issue()
	put(id.cert, next)
	if dialled() != string(cert) || len(warned) != 1 || !strings.Contains(warned[0].Error(), id.cert) {
		t.Fatalf("a certificate beside the key of another: warned %v", warned)
	}
	put(id.key, nextKey)
	put(id.ca, []byte("-----BEGIN CERTIFICATE-----\n"))
	if dialled() != string(cert) || len(warned) != 2 {
		t.Fatalf("an authority that is half written: warned %v", warned)
	}
	put(id.ca, a.PEM)
	if dialled() != string(next) {
		t.Fatal("the renewed certificate is not shown")
	}
}
