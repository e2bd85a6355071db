package agent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"deviceagent/agent/clock"
)

// tlsFiles names the files of a TLS identity, read anew for each connection.
type tlsFiles struct{ ca, cert, key string }

func (f tlsFiles) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, Time: notBefore(clock.BuildTime(), time.Now)}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("cannot read broker.ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cannot read broker.ca_file %s: no certificate in it", f.ca)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("cannot read broker.cert_file and broker.key_file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
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
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read secret: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}
