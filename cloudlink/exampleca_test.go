package cloudlink

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/agent/identity"
)

// example is the shipped script with a folder of its own.
type example struct {
	t   *testing.T
	dir string
}

func newExample(t *testing.T) *example {
	t.Helper()
	e := &example{t, filepath.Join(t.TempDir(), "authority")}
	e.do("init", e.dir)
	return e
}

// try runs the script as a user does.
func (e *example) try(args ...string) (string, error) {
	e.t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		e.t.Fatal("openssl is not installed: the example authority is made of it (on Debian: apt-get install openssl)")
	}
	out, err := exec.Command("sh", append([]string{"../packaging/security/example-ca.sh"}, args...)...).CombinedOutput()
	return string(out), err
}

func (e *example) do(args ...string) string {
	e.t.Helper()
	out, err := e.try(args...)
	if err != nil {
		e.t.Fatalf("example-ca.sh %q: %v\n%s", args, err, out)
	}
	return out
}

func (e *example) path(name string) string { return filepath.Join(e.dir, name) }

func (e *example) leaf(name string) *x509.Certificate {
	e.t.Helper()
	b, _ := pem.Decode([]byte(read(e.t, e.path(name))))
	c, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		e.t.Fatal(err)
	}
	return c
}

func (e *example) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(e.leaf("ca.crt"))
	return p
}

// client is what who has these files connects with.
func (e *example) client(cert, key string) *tls.Config {
	e.t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		e.t.Fatal(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: e.pool(), Certificates: []tls.Certificate{pair}}
}

// device provisions one: the request that its own code makes, signed by the script, taken by its own code.
func (e *example) device(id string) *tls.Config {
	e.t.Helper()
	state := e.t.TempDir()
	place := identity.In(state)
	st, err := place.Ask(identity.Wish{DeviceID: id, Broker: "mqtts://127.0.0.1", CA: []byte(read(e.t, e.path("ca.crt")))}, false)
	if err != nil {
		e.t.Fatal(err)
	}
	request := filepath.Join(state, "request.pem")
	if err := os.WriteFile(request, []byte(st.Asked.Request), 0o600); err != nil {
		e.t.Fatal(err)
	}
	e.do("sign", e.dir, id, request)
	if _, err := place.Certify([]byte(read(e.t, e.path("devices/"+id+".crt"))), nil, time.Now()); err != nil {
		e.t.Fatal(err)
	}
	pair := filepath.Join(st.Dir, "current", "device.pem")
	return e.client(pair, pair)
}

// broker puts into a folder what the shipped configuration names.
func (e *example) broker(dir string) {
	e.t.Helper()
	for from, to := range map[string]string{"ca.crt": "deviceagent-ca.crt", "broker.crt": "broker.crt", "broker.key": "broker.key", "ca.crl": "deviceagent.crl"} {
		if err := os.WriteFile(filepath.Join(dir, to), []byte(read(e.t, e.path(from))), 0o600); err != nil {
			e.t.Fatal(err)
		}
	}
}

// connects says whether the broker lets somebody in.
func (m *mosquitto) connects(t *testing.T, id string, conf *tls.Config) bool {
	t.Helper()
	c := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("ssl://" + m.addr).SetClientID(id).SetTLSConfig(conf).SetAutoReconnect(false).SetConnectRetry(false).
		SetProtocolVersion(4).SetConnectTimeout(20 * time.Second))
	token := c.Connect()
	if !token.WaitTimeout(time.Minute) {
		t.Fatal("the broker does not answer")
	}
	defer c.Disconnect(0)
	return token.Error() == nil && c.IsConnectionOpen()
}

// TestTheExampleAuthorityBringsRobotAndPlannerTogether: with the certificates of the shipped script and the shipped configuration of the broker
// robot and planner come together; a stranger, a broker that plays a client, and a revoked robot do not get in; renewals need no restart.
func TestTheExampleAuthorityBringsRobotAndPlannerTogether(t *testing.T) {
	e, other := newExample(t), newExample(t)
	e.do("server", e.dir, "broker", "127.0.0.1", "localhost")
	e.do("client", e.dir, "planner")
	dir := t.TempDir()
	e.broker(dir)
	m := shippedIn(t, dir)
	m.tls = e.client(e.path("planner.crt"), e.path("planner.key"))
	robot := e.device(deviceID)
	l, d := secureLab(t, m.addr, robot)
	p := m.planner(t)
	m.waitFor(t, "rows receipted", func() bool { return d.open() == 0 })
	waitToken(t, p.Publish(prefix+"down/plan", 1, false, "m00"))
	m.waitFor(t, "a message", func() bool { return len(d.taken()) == 1 })
	if s := l.link.State(); s.Phase != Online {
		t.Fatalf("state is %+v", s)
	}
	l.stop() // the robot makes room for others of its name

	other.do("client", other.dir, "planner")
	stranger := other.client(other.path("planner.crt"), other.path("planner.key"))
	stranger.RootCAs = e.pool()
	for name, conf := range map[string]*tls.Config{"no certificate": {RootCAs: e.pool()}, "another authority": stranger,
		"the broker's own, as a client": e.client(e.path("broker.crt"), e.path("broker.key"))} {
		if m.connects(t, "stranger", conf) {
			t.Errorf("%s: let in", name)
		}
	}
	// What makes a robot's certificate worthless for an evil twin of the broker.
	if _, err := e.leaf("devices/" + deviceID + ".crt").Verify(x509.VerifyOptions{Roots: e.pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
		t.Error("a robot's certificate is good for a server")
	}

	again := e.device(deviceID) // a renewal: a new key and certificate beside the old one, which is revoked
	before := e.leaf("broker.crt").SerialNumber
	e.do("server", e.dir, "broker", "127.0.0.1")
	e.do("revoke", e.dir, serialFile(t, e, robot))
	e.broker(dir)
	m.Reload()
	m.waitFor(t, "the broker's new certificate", func() bool {
		conn, err := tls.Dial("tcp", m.addr, &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, RootCAs: e.pool(), Certificates: again.Certificates})
		if err != nil {
			return false
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Cmp(before) != 0
	})
	m.waitFor(t, "the revoked certificate refused", func() bool { return !m.connects(t, deviceID, robot) })
	if !m.connects(t, deviceID, again) {
		t.Error("the renewed certificate is refused too")
	}
	if list := e.do("list", e.dir); strings.Count(list, deviceID) != 2 || strings.Count(list, "revoked") != 1 || !strings.Contains(list, "planner") {
		t.Errorf("the list is\n%s", list)
	}
}

// serialFile is the authority's copy of somebody's certificate.
func serialFile(t *testing.T, e *example, conf *tls.Config) string {
	t.Helper()
	c, err := x509.ParseCertificate(conf.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return e.path(fmt.Sprintf("issued/%X.pem", c.SerialNumber.Bytes()))
}

// Days are asked for by the environment: of a test of expiry, or of a line that renews often.
func TestTheExampleAuthoritySignsForAsLongAsItIsTold(t *testing.T) {
	t.Setenv("AUTHORITY_DAYS", "9")
	t.Setenv("SERVER_DAYS", "3")
	t.Setenv("CLIENT_DAYS", "2")
	t.Setenv("CRL_DAYS", "1")
	e := newExample(t)
	e.do("server", e.dir, "broker", "localhost", "::1", "10.0.0.1")
	e.do("client", e.dir, "planner")
	for name, days := range map[string]int{"ca.crt": 9, "broker.crt": 3, "planner.crt": 2} {
		if c := e.leaf(name); c.NotAfter.Sub(c.NotBefore) != time.Duration(days)*24*time.Hour {
			t.Errorf("%s is good from %v to %v, want %d days", name, c.NotBefore, c.NotAfter, days)
		}
	}
	if c := e.leaf("broker.crt"); !slices.Equal(c.DNSNames, []string{"localhost"}) || len(c.IPAddresses) != 2 {
		t.Errorf("the broker's certificate is good for %v %v", c.DNSNames, c.IPAddresses)
	}
	b, _ := pem.Decode([]byte(read(t, e.path("ca.crl"))))
	if list, err := x509.ParseRevocationList(b.Bytes); err != nil || list.NextUpdate.Sub(list.ThisUpdate) != 24*time.Hour {
		t.Errorf("the list of revoked ones: %v, %v", list, err)
	}
}

// What the example authority does not sign: who may name himself is somebody else at the broker.
func TestTheExampleAuthorityRefuses(t *testing.T) {
	e := newExample(t)
	state := t.TempDir()
	st, err := identity.In(state).Ask(identity.Wish{DeviceID: "rb-1", Broker: "mqtts://127.0.0.1"}, false)
	if err != nil {
		t.Fatal(err)
	}
	request, spoiled := filepath.Join(state, "r.pem"), filepath.Join(state, "s.pem")
	b, _ := pem.Decode([]byte(st.Asked.Request))
	b.Bytes[len(b.Bytes)-1] ^= 1 // of the signature
	for path, text := range map[string][]byte{request: []byte(st.Asked.Request), spoiled: pem.EncodeToMemory(b)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name, want string
		args       []string
	}{
		{"the request of one robot for the name of another", `asks for the name "rb-1", not for rb-2`, []string{"sign", e.dir, "rb-2", request}},
		{"a robot that calls itself planner", "cannot have it", []string{"sign", e.dir, "planner", request}},
		{"a name that is a pattern of topics", "cannot be a name", []string{"sign", e.dir, "+", request}},
		{"a name that leaves the folder", "cannot be a name", []string{"sign", e.dir, "../ca", request}},
		{"a request that its key has not signed", "not by its key", []string{"sign", e.dir, "rb-1", spoiled}},
		{"a second authority over the first", "holds an authority already", []string{"init", e.dir}},
		{"no authority", "holds no authority", []string{"client", state, "planner"}},
		{"a server without a host", "", []string{"server", e.dir, "broker"}},
		{"a host that is none", "is no host name", []string{"server", e.dir, "broker", "a,IP:10.0.0.1"}},
		{"no command", "example-ca.sh init DIR", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := e.try(tc.args...)
			if err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("%v, %q", err, out)
			}
		})
	}
	if list := e.do("list", e.dir); list != "" {
		t.Errorf("signed all the same: %s", list)
	}
	for name, mode := range map[string]os.FileMode{"ca.key": 0o600, "ca.crt": 0o644, ".": os.ModeDir | 0o700} {
		if info, err := os.Stat(e.path(name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}
}
