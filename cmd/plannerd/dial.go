package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
)

type dialFunc func(context.Context) (net.Conn, error)

// identity names the PEM files of a TLS connection: whom to trust, what to show. "" is the system's, and nothing.
type identity struct{ ca, cert, key string }

// config reads the files.
func (id identity) config(host string) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	var err error
	if conf.RootCAs, err = roots(id.ca); err != nil {
		return nil, err
	}
	if id.cert == "" {
		return conf, nil
	}
	pair, err := tls.LoadX509KeyPair(id.cert, id.key)
	if err != nil {
		return nil, fmt.Errorf("cannot use --broker-cert %s with --broker-key %s: %w", id.cert, id.key, err)
	}
	// Shown to whoever asks: a broker may name other authorities than the one that signed it, as one in between.
	conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return conf, nil
}

// dialer makes the dial of a broker's URL: mqtt:// or tcp:// in clear, mqtts:// or ssl:// with TLS (1.2 at least). No proxy
// variable is looked at. The files are read here, where a fault is an error, and for each connection, where it is a warning.
func dialer(broker string, id identity, warn func(error)) (dialFunc, error) {
	u, err := url.Parse(broker)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("cannot use broker %q: want embedded, mqtt://host:port or mqtts://host:port", broker)
	}
	if u.User != nil {
		return nil, errors.New("cannot use broker: a password does not belong into its URL; use --broker-user and --broker-password-file")
	}
	switch u.Scheme {
	case "mqtt", "tcp":
		return plainDial(withPort(u, "1883")), nil
	case "mqtts", "ssl", "tls":
		good, err := id.config(u.Hostname())
		if err != nil {
			return nil, err
		}
		addr := withPort(u, "8883")
		return func(ctx context.Context) (net.Conn, error) { // one connection at a time
			renewed, err := id.config(u.Hostname())
			if err == nil {
				good = renewed
			} else {
				warn(err) // such as a new certificate beside the old key: the last good pair stands
			}
			return (&tls.Dialer{Config: good}).DialContext(ctx, "tcp", addr)
		}, nil
	}
	return nil, fmt.Errorf("cannot use broker %q: unknown scheme %s", broker, u.Scheme)
}

func plainDial(addr string) dialFunc {
	return func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) }
}

func withPort(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// roots reads the certificates to trust; nil: the system's.
func roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read broker certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("cannot read broker certificates: none in %s", file)
	}
	return pool, nil
}
