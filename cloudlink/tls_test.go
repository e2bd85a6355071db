package cloudlink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	maker "deviceagent/testbed/authority"
)

// authority signs the certificates of a test.
type authority struct {
	*maker.Authority
	t *testing.T
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a, err := maker.New("test authority")
	if err != nil {
		t.Fatal(err)
	}
	return &authority{a, t}
}

// span is how long a certificate is good, in days from now.
type span struct{ from, to int }

var good = span{-1, 30}

// issue makes a certificate for a name, with its key.
func (a *authority) issue(name string, s span) tls.Certificate {
	a.t.Helper()
	pair, err := a.Pair(name, time.Now().AddDate(0, 0, s.from), time.Now().AddDate(0, 0, s.to))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Cert)
	return p
}

// client is what somebody with this certificate connects with.
func (a *authority) client(pair tls.Certificate) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.pool(), Certificates: []tls.Certificate{pair}}
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shipped is a mosquitto with the configuration and the access list that we ship. Only the paths, the address and, as tests run as root, the
// user are changed.
func (a *authority) shipped(server tls.Certificate) *mosquitto {
	t := a.t
	t.Helper()
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(server.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(dir, "deviceagent-ca.crt"), "CERTIFICATE", a.Cert.Raw)
	writePEM(t, filepath.Join(dir, "broker.crt"), "CERTIFICATE", server.Certificate[0])
	writePEM(t, filepath.Join(dir, "broker.key"), "PRIVATE KEY", key)
	return shippedIn(t, dir)
}

// shippedIn is one whose certificates lie in a folder. A list of revoked ones is looked at where there is one.
func shippedIn(t *testing.T, dir string) *mosquitto {
	t.Helper()
	conf := read(t, "../packaging/mosquitto/deviceagent.conf")
	if err := os.WriteFile(filepath.Join(dir, "deviceagent.acl"), []byte(read(t, "../packaging/mosquitto/deviceagent.acl")), 0o644); err != nil {
		t.Fatal(err)
	}
	crl := "#crlfile"
	if _, err := os.Stat(filepath.Join(dir, "deviceagent.crl")); err == nil {
		crl = "crlfile"
	}
	return startMosquittoWith(t, func(port string) string {
		return strings.NewReplacer("#crlfile /etc/mosquitto/certs", crl+" "+dir, "/etc/mosquitto/certs", dir, "/etc/mosquitto", dir, "listener 8883", "listener "+port+" 127.0.0.1").Replace(conf) +
			"user root\npersistence_location " + dir + "/\n"
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// secureLab runs a link to an address by TLS.
func secureLab(t *testing.T, addr string, conf *tls.Config) (*lab, *device) {
	t.Helper()
	d := newDevice("a", "b")
	l := &lab{t: t, device: d, done: make(chan error, 1)}
	l.link = New(Options{DeviceID: deviceID, Broker: "mqtts://" + addr, TLS: func() (*tls.Config, error) { return conf, nil }, Outbox: d, Receiver: d,
		StoreEpoch: epoch, StartNo: 3, Rand: func() float64 { return 0.2 }, NewID: newIDs()})
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { l.done <- l.link.Run(ctx) }()
	t.Cleanup(l.end)
	return l, d
}

// G4: with the shipped configuration a robot and its planner know each other by certificate, and nobody else gets on.
func TestCertificatesOfBothSides(t *testing.T) {
	a := newAuthority(t)
	m := a.shipped(a.issue("broker", good))
	m.tls = a.client(a.issue("planner", good))
	l, d := secureLab(t, m.addr, a.client(a.issue(deviceID, good)))
	p := m.planner(t)
	m.waitFor(t, "rows receipted", func() bool { return d.open() == 0 })
	waitToken(t, p.Publish(prefix+"down/plan", 1, false, "m00"))
	m.waitFor(t, "a message", func() bool { return len(d.taken()) == 1 })
	if s := l.link.State(); s.Phase != Online {
		t.Fatalf("state is %+v", s)
	}
}

// What a stranger is told, and what the robot says of it: each failure has its name.
func TestF47_EachCertificateThatIsRefusedHasAName(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	for _, tc := range []struct {
		name   string
		server tls.Certificate
		client *tls.Config
		want   Reason
	}{
		{"the broker's has expired", a.issue("broker", span{-30, -1}), a.client(a.issue(deviceID, good)), ReasonCertificate},
		{"the broker's is of another authority", other.issue("broker", good), a.client(a.issue(deviceID, good)), ReasonCertificate},
		{"the broker's is not valid yet: the clock is behind (G4)", a.issue("broker", span{1, 30}), a.client(a.issue(deviceID, good)), ReasonClock},
		{"the robot's has expired", a.issue("broker", good), a.client(a.issue(deviceID, span{-30, -1})), ReasonOwn},
		{"the robot's is of another authority", a.issue("broker", good),
			&tls.Config{RootCAs: a.pool(), Certificates: []tls.Certificate{other.issue(deviceID, good)}}, ReasonOwn},
		{"the robot has none", a.issue("broker", good), &tls.Config{RootCAs: a.pool()}, ReasonOwn},
		{"the same in TLS 1.2", a.issue("broker", good), &tls.Config{RootCAs: a.pool(), MaxVersion: tls.VersionTLS12}, ReasonOwn},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a.t, other.t = t, t
			m := a.shipped(tc.server)
			l, _ := secureLab(t, m.addr, tc.client)
			m.waitFor(t, "a reason", func() bool { s := l.link.State(); return s.Phase == Offline && s.Reason != ReasonStarting })
			if s := l.link.State(); s.Reason != tc.want {
				t.Fatalf("the reason is %s (%s), want %s", s.Reason, s.Detail, tc.want)
			}
		})
	}
}

// F43: something answers that is no broker. The robot says so, and does not hammer at it.
func TestF43_ACaptivePortalIsNoBroker(t *testing.T) {
	t.Parallel() // one waits 30 s for a CONNACK
	a := newAuthority(t)
	var visits atomic.Int64
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>please sign in</html>") })
	for _, tc := range []struct {
		name, scheme string
		secure       bool
		want         []Reason
	}{
		{"a web server where MQTT is expected", "mqtt://", false, []Reason{ReasonHandshake}},
		{"one without TLS where MQTT over TLS is expected", "mqtts://", false, []Reason{ReasonHandshake}},
		{"one with a certificate of its own", "mqtts://", true, []Reason{ReasonCertificate}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			visits.Store(0)
			web := httptest.NewUnstartedServer(page)
			web.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					visits.Add(1)
				}
			}
			if tc.secure {
				web.StartTLS()
			} else {
				web.Start()
			}
			defer web.Close()
			d := newDevice("a")
			l := &lab{t: t, device: d, done: make(chan error, 1)}
			l.link = New(Options{DeviceID: deviceID, Broker: tc.scheme + web.Listener.Addr().String(), TLS: func() (*tls.Config, error) { return a.client(tls.Certificate{}), nil },
				Outbox: d, Receiver: d, StoreEpoch: epoch, StartNo: 3, Rand: func() float64 { return 0.99 }, NewID: newIDs()})
			ctx, stop := context.WithCancel(context.Background())
			l.stop = stop
			go func() { l.done <- l.link.Run(ctx) }()
			defer l.end()
			(&mosquitto{}).waitFor(t, "a reason", func() bool { s := l.link.State(); return s.Phase == Offline && s.Reason != ReasonStarting })
			if s := l.link.State(); s.Reason != tc.want[0] {
				t.Fatalf("the reason is %s (%s), want %s", s.Reason, s.Detail, tc.want[0])
			}
			if s := l.link.State(); time.Until(s.NextTry) > time.Minute || visits.Load() > 2 {
				t.Fatalf("%d visits, the next in %v", visits.Load(), time.Until(s.NextTry))
			}
			if d.open() != 1 {
				t.Fatal("a row is gone")
			}
		})
	}
}

// F30, F45: the shipped access list lets a robot speak and hear as itself alone. What an outside client hears is what counts: the broker
// says yes to a publish that it drops.
func TestF45_TheShippedAccessListParts(t *testing.T) {
	a := newAuthority(t)
	m := a.shipped(a.issue("broker", good))
	heard := make(chan string, 64)
	listen := func(c mqtt.Client, filter string) {
		waitToken(t, c.Subscribe(filter, 1, func(_ mqtt.Client, msg mqtt.Message) { heard <- string(msg.Payload()) }))
	}
	planner := m.client(t, "planner", a.client(a.issue("planner", good)))
	one := m.client(t, "one", a.client(a.issue("one", good)))
	two := m.client(t, "two", a.client(a.issue("two", good)))
	defer func() { planner.Disconnect(0); one.Disconnect(0); two.Disconnect(0) }()
	listen(planner, "#")
	listen(one, "deviceagent/v1/+/down/+")
	listen(one, "deviceagent/v1/two/#")
	listen(one, "#")
	for _, p := range []struct {
		c     mqtt.Client
		topic string
		text  string
	}{
		{two, "deviceagent/v1/one/up/result", "two speaks as one"},
		{two, "deviceagent/v1/two/down/plan", "two speaks as the planner"},
		{two, "deviceagent/v1/one/down/plan", "two speaks as the planner to one"},
		{planner, "deviceagent/v1/two/down/plan", "to two"},
		{planner, "deviceagent/v1/two/up/result", "the planner speaks as two"},
		{two, "elsewhere", "elsewhere"},
		{two, "deviceagent/v1/two/up/result", "of two"},
		{planner, "deviceagent/v1/one/down/plan", "to one"},
	} {
		waitToken(t, p.c.Publish(p.topic, 1, false, p.text))
	}
	got := map[string]int{}
	for got["of two"] == 0 || got["to one"] == 0 {
		select {
		case text := <-heard:
			got[text]++
		case <-time.After(time.Minute):
			t.Fatalf("only %v was heard", got)
		}
	}
	// Order holds for each publisher, so what was refused would have come before. One hears its plan by each of its filters.
	delete(got, "of two")
	delete(got, "to one")
	if len(got) > 0 {
		t.Fatalf("heard although nobody may: %v", got)
	}
}

// resetConn is a connection that the peer closed after it had said why: nothing can be written, and its last words can be read.
type resetConn struct {
	net.Conn
	words error
}

func (c resetConn) Write([]byte) (int, error)        { return 0, syscall.ECONNRESET }
func (c resetConn) Read([]byte) (int, error)         { return 0, c.words }
func (c resetConn) SetReadDeadline(time.Time) error  { return nil }
func (c resetConn) SetWriteDeadline(time.Time) error { return nil }
func (c resetConn) Close() error                     { return nil }

// The broker may have closed before our first packet is written. What it had said is the reason, and not that the writing failed.
func TestTheLastWordsOfABrokerAreTheReason(t *testing.T) {
	alert := &net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}
	for _, tc := range []struct {
		name  string
		words error
		want  error
	}{
		{"it said why", alert, alert},
		{"it said nothing", io.EOF, syscall.ECONNRESET},
	} {
		g := newGuard(resetConn{words: tc.words}, writeTimeout)
		if _, err := g.Write([]byte("CONNECT")); !errors.Is(err, tc.want) || !errors.Is(g.why(), tc.want) {
			t.Errorf("%s: the reason is %v, want %v", tc.name, err, tc.want)
		}
	}
}
