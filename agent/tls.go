package agent

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent/clock"
	"deviceagent/agent/config"
)

// tlsFiles are what the agent shows a broker and whom it believes. Its files are read for each connection, so that a renewed
// certificate needs no restart. What cannot be used, such as a new certificate beside the old key, is not taken: the last good one
// stands, and the log says so once for each cause.
type tlsFiles struct {
	ca, cert, key string // paths; "": the system's certificates, no certificate of one's own
	now           func() time.Time
	log           zerolog.Logger

	mu    sync.Mutex
	roots kept[*x509.CertPool]
	pair  kept[tls.Certificate]
}

// kept is the last good reading of some files.
type kept[T any] struct {
	good  *T
	fault string // of the last reading; "": it was good
}

// take keeps a good reading. After a bad one it gives the good one before it, and the error only where there was none.
func (k *kept[T]) take(v T, err error, log zerolog.Logger) (T, error) {
	if err == nil {
		k.good, k.fault = &v, ""
		return v, nil
	}
	if k.good == nil {
		return v, err
	}
	if k.fault != err.Error() {
		k.fault = err.Error()
		log.Warn().Err(err).Msg("file cannot be used, the last good one stands")
	}
	return *k.good, nil
}

// config is the configuration of the next connection. The errors name the setting and the file.
func (f *tlsFiles) config() (*tls.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &tls.Config{MinVersion: tls.VersionTLS12, Time: f.now}
	if f.ca != "" {
		read, err := readRoots(f.ca)
		if c.RootCAs, err = f.roots.take(read, err, f.log); err != nil {
			return nil, err
		}
	}
	if f.cert != "" {
		read, err := readPair(f.cert, f.key)
		pair, err := f.pair.take(read, err, f.log)
		if err != nil {
			return nil, err
		}
		// Shown to whoever asks: without this a broker that lists other authorities than ours is told that there is no certificate.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return c, nil
}

func readRoots(path string) (*x509.CertPool, error) {
	pem, err := readPEM(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read broker.ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cannot read broker.ca_file %s: no certificate in it", path)
	}
	return pool, nil
}

// readPair reads a certificate with its chain, and its key.
func readPair(certPath, keyPath string) (tls.Certificate, error) {
	cert, err := readPEM(certPath)
	key, err2 := readPEM(keyPath)
	if err := errors.Join(err, err2); err != nil {
		return tls.Certificate{}, fmt.Errorf("cannot read broker.cert_file and broker.key_file: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("cannot use broker.cert_file %s with broker.key_file %s: %w", certPath, keyPath, err)
	}
	return pair, nil
}

// readPEM reads a file of certificates or keys. One that ends within a block is being written, or was when the power went: the blocks
// before it would be taken for the whole.
func readPEM(path string) ([]byte, error) {
	text, err := readSecret(path)
	if err == nil && bytes.Count(text, []byte("-----BEGIN ")) != bytes.Count(text, []byte("-----END ")) {
		err = fmt.Errorf("%s ends in the middle of a block", path)
	}
	return text, err
}

// notBefore is the time by which certificates are judged: that of the machine, but never before the floor. A robot without a
// battery for its clock boots in 1970, where no certificate is valid yet; it may need the link before anybody sets its clock.
func notBefore(floor time.Time, now func() time.Time) func() time.Time {
	return func() time.Time {
		if t := now(); t.After(floor) {
			return t
		}
		return floor
	}
}

// tlsTime is that time on this machine.
func tlsTime() func() time.Time { return notBefore(clock.BuildTime(), time.Now) }

// credentials reads the user name and password of the settings' files.
func credentials(userFile, passwordFile, device string) func() (string, string, error) {
	if passwordFile == "" {
		return nil
	}
	return func() (string, string, error) {
		user, err := secret(userFile)
		pass, err2 := secret(passwordFile)
		if user == "" {
			user = device
		}
		return user, pass, errors.Join(err, err2)
	}
}

func secret(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	b, err := readSecret(path)
	if err != nil {
		return "", fmt.Errorf("cannot read secret: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// readSecret reads a file of the settings, which may be a credential of systemd.
func readSecret(value string) ([]byte, error) {
	path, err := config.SecretPath(value)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
