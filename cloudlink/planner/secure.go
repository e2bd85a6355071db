package planner

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	stdlog "log"

	"github.com/rs/zerolog"
)

// TLSFiles make HTTP speak TLS: PEM files, read again for each connection, so that a renewed one needs no restart. The zero value is
// HTTP in clear.
type TLSFiles struct {
	Cert, Key string   // of the endpoint; one needs the other
	ClientCA  string   // who signs clients; given: a client has to show a certificate of it
	Clients   []string // names of the clients that may come in (common name, or a DNS or URI name); none: each that ClientCA signed
}

// on says whether HTTP speaks TLS.
func (f *TLSFiles) on() bool {
	return f.Cert != "" || f.Key != "" || f.ClientCA != "" || len(f.Clients) > 0
}

// mutual says whether who has no certificate is turned away before HTTP.
func (f *TLSFiles) mutual() bool { return f.ClientCA != "" }

func (f *TLSFiles) validate() error {
	switch {
	case !f.on():
		return nil
	case f.Cert == "" || f.Key == "":
		return errors.New("TLS for HTTP needs a certificate and its key")
	case len(f.Clients) > 0 && !f.mutual():
		return errors.New("names of HTTP clients need the authority that signs their certificates")
	}
	return nil
}

// secured is what HTTP shows and whom it believes. What cannot be used, such as a new certificate beside the old key, is not taken:
// the last good reading stands, and the log says so once for each cause.
type secured struct {
	files TLSFiles
	now   func() time.Time
	log   zerolog.Logger

	mu    sync.Mutex
	good  *tls.Config
	fault string // of the last reading; "": it was good
}

// config is asked at each handshake.
func (s *secured) config(*tls.ClientHelloInfo) (*tls.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.read()
	switch {
	case err == nil:
		s.good, s.fault = c, ""
	case s.good == nil:
		return nil, err
	case s.fault != err.Error():
		s.fault = err.Error()
		s.log.Warn().Err(err).Msg("file cannot be used, the last good one stands")
	}
	return s.good, nil
}

func (s *secured) read() (*tls.Config, error) {
	pair, err := readPair(s.files.Cert, s.files.Key)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, Time: s.now,
		// A session that is taken up again would be judged by the authority and the names of the day when it began.
		SessionTicketsDisabled: true}
	if !s.files.mutual() {
		return c, nil
	}
	if c.ClientCAs, err = readAuthority(s.files.ClientCA); err != nil {
		return nil, err
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.VerifyConnection = s.known
	return c, nil
}

// known lets in a client by its name, where names are given. The authority may sign robots as well, and they have no business here.
func (s *secured) known(c tls.ConnectionState) error {
	if len(s.files.Clients) == 0 {
		return nil
	}
	leaf := c.PeerCertificates[0]
	names := append([]string{leaf.Subject.CommonName}, leaf.DNSNames...)
	for _, u := range leaf.URIs {
		names = append(names, u.String())
	}
	if slices.ContainsFunc(names, func(n string) bool { return n != "" && slices.Contains(s.files.Clients, n) }) {
		return nil
	}
	return fmt.Errorf("the client %q is not one that may come in", leaf.Subject.CommonName)
}

// readPair reads a certificate with its chain, and its key.
func readPair(certPath, keyPath string) (tls.Certificate, error) {
	cert, err := readPEM(certPath)
	key, err2 := readPEM(keyPath)
	if err := errors.Join(err, err2); err != nil {
		return tls.Certificate{}, fmt.Errorf("cannot read the certificate of HTTP: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("cannot use certificate %s with key %s for HTTP: %w", certPath, keyPath, err)
	}
	return pair, nil
}

func readAuthority(path string) (*x509.CertPool, error) {
	pem, err := readPEM(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authority of HTTP clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cannot use %s as the authority of HTTP clients: no certificate in it", path)
	}
	return pool, nil
}

// readPEM reads a file of certificates or keys. One that ends within a block is being written: its blocks so far are not the whole.
func readPEM(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err == nil && bytes.Count(text, []byte("-----BEGIN ")) != bytes.Count(text, []byte("-----END ")) {
		err = fmt.Errorf("%s ends in the middle of a block", path)
	}
	return text, err
}

// secure puts TLS around the listener of HTTP, where there are files for it. net/http bounds the handshake by readHeaderTimeout.
func (s *Server) secure(l net.Listener) net.Listener {
	if s.secured == nil {
		return l
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: s.secured.config})
}

const refusalEvery = time.Minute // between two lines about clients that did not get through the handshake

// refusals logs clients that TLS turned away: one line for a cause at most each minute, with the number since the last. Anybody can
// cause them as often as he likes.
type refusals struct {
	log   zerolog.Logger
	now   func() time.Time
	mu    sync.Mutex
	last  time.Time
	count int
}

// logger is for net/http, whose other lines are about clients that went away.
func (r *refusals) logger() *stdlog.Logger { return stdlog.New(r, "", 0) }

// Write takes one line of net/http.
func (r *refusals) Write(line []byte) (int, error) {
	text, refused := strings.CutPrefix(strings.TrimSpace(string(line)), "http: TLS handshake error from ")
	if !refused || strings.HasSuffix(text, io.EOF.Error()) {
		return len(line), nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if now := r.now(); r.last.IsZero() || now.Sub(r.last) >= refusalEvery {
		r.log.Warn().Str(keyClient, text).Int(keyCount, r.count).Msg("HTTP clients refused by TLS")
		r.last, r.count = now, 0
	}
	return len(line), nil
}
