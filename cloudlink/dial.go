package cloudlink

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// TLSFunc returns the configuration of a new TLS connection; it is asked each time, so that a renewed certificate is used and
// the time by which certificates are judged can have a floor.
type TLSFunc func() (*tls.Config, error)

// dialer opens connections to a broker address. No proxy variable is read.
func dialer(broker string, config TLSFunc) (func(context.Context) (net.Conn, error), error) {
	u, err := url.Parse(broker)
	if err != nil {
		return nil, fmt.Errorf("cannot read broker address %q: %w", broker, err)
	}
	secure, port := false, "1883"
	switch u.Scheme {
	case "tcp", "mqtt":
	case "ssl", "tls", "mqtts":
		secure, port = true, "8883"
	default:
		return nil, fmt.Errorf("cannot use broker address %q: the scheme must be tcp, mqtt, ssl, tls or mqtts", broker)
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("cannot use broker address %q: it has no host", broker)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil || !secure {
			return conn, err
		}
		return secured(ctx, conn, u.Hostname(), config)
	}, nil
}

func secured(ctx context.Context, conn net.Conn, host string, config TLSFunc) (net.Conn, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if config != nil {
		got, err := config()
		if err != nil {
			_ = conn.Close()
			return nil, &fault{ReasonCredentials, err}
		}
		cfg = got.Clone()
	}
	cfg.ServerName = cmp.Or(cfg.ServerName, host)
	if cfg.Time == nil {
		cfg.Time = time.Now
	}
	client := tls.Client(conn, cfg)
	if err := client.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		if early(err, cfg.Time) {
			return nil, &fault{ReasonClock, err}
		}
		return nil, err
	}
	return client, nil
}

// connackReasons name the refusals of MQTT 3.1.1, by return code.
var connackReasons = map[byte]Reason{
	packets.ErrRefusedBadUsernameOrPassword: ReasonNotAuthorised,
	packets.ErrRefusedNotAuthorised:         ReasonNotAuthorised,
}

// dialReason names a failure before CONNACK. A TLS answer that is none comes from something that is no broker, as a captive portal is.
func dialReason(err error) Reason {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.reason
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return ReasonDNS
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return ReasonCertificate
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return ReasonHandshake
	}
	if alerted(err) {
		return ReasonOwn
	}
	return ReasonDial
}

// alerted says that the peer ended TLS by an alert. After what we know of the peer by then it is our certificate that it does not like;
// in TLS 1.3 it says so only after the handshake, in place of the CONNACK.
func alerted(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

// early says that a certificate is not valid yet by the time it is judged by: then the clock is wrong rather than the certificate.
func early(err error, now func() time.Time) bool {
	bad, ok := errors.AsType[x509.CertificateInvalidError](err)
	return ok && bad.Reason == x509.Expired && now().Before(bad.Cert.NotBefore)
}
