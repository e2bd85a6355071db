package identity_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deviceagent/agent/config"
	"deviceagent/agent/durable"
	"deviceagent/agent/identity"
	"deviceagent/testbed/authority"
)

// maker is an authority in a test.
type maker struct {
	t *testing.T
	*authority.Authority
}

func newAuthority(t *testing.T, name string) *maker {
	t.Helper()
	a, err := authority.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return &maker{t, a}
}

func (m *maker) sign(request string, change func(*x509.Certificate)) []byte {
	m.t.Helper()
	cert, err := m.Sign(request, change)
	if err != nil {
		m.t.Fatal(err)
	}
	return cert
}

func wish(a *maker) identity.Wish {
	return identity.Wish{DeviceID: "rb-1", Broker: "mqtts://broker.example", CA: a.PEM}
}

// inForce reads what the agent would read: settings, and the pair that they name. ok false: there are none.
func inForce(t *testing.T, state string) (cfg config.Config, pair tls.Certificate, ok bool) {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Flags: map[string]string{"state_dir": state}})
	if err != nil {
		if _, serr := os.Stat(config.Provisioned(state)); !errors.Is(serr, fs.ErrNotExist) {
			t.Fatalf("half an identity: %v", err)
		}
		return cfg, pair, false
	}
	pair, err = tls.LoadX509KeyPair(cfg.Broker.CertFile, cfg.Broker.KeyFile)
	if err != nil {
		t.Fatalf("half an identity: %v", err)
	}
	if _, err := os.ReadFile(cfg.Broker.CAFile); err != nil {
		t.Fatalf("half an identity: %v", err)
	}
	return cfg, pair, true
}

func provisioned(t *testing.T, a *maker) (state string, p identity.Place) {
	t.Helper()
	state = t.TempDir()
	p = identity.In(state)
	s, err := p.Ask(wish(a), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Certify(a.sign(s.Asked.Request, nil), nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	return state, p
}

func TestADeviceGetsItsIdentity(t *testing.T) {
	a := newAuthority(t, "ca")
	state := t.TempDir()
	p := identity.In(state)
	s, err := p.Ask(wish(a), false)
	if err != nil || s.Asked == nil || s.Certificate != nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if again, err := p.Ask(wish(a), false); err != nil || again.Asked.Request != s.Asked.Request {
		t.Fatalf("asked again it says something else: %v", err)
	}
	if _, _, ok := inForce(t, state); ok {
		t.Fatal("something is in force before the certificate is there")
	}
	cert := a.sign(s.Asked.Request, nil)
	s, err = p.Certify(cert, nil, time.Now())
	if err != nil || !s.Restart || s.DeviceID != "rb-1" || s.Certificate == nil || s.Certificate.Issuer != "ca" || s.Asked != nil || time.Until(s.Ends()) < 360*24*time.Hour {
		t.Fatalf("%+v, %v", s, err)
	}
	cfg, pair, ok := inForce(t, state)
	if !ok || cfg.DeviceID != "rb-1" || cfg.Broker.URL != "mqtts://broker.example" || pair.Leaf.Subject.CommonName != "rb-1" {
		t.Fatalf("%+v", cfg)
	}
	if s, err := p.Certify(cert, nil, time.Now()); err != nil || s.Restart {
		t.Errorf("the same certificate once more: %+v, %v", s, err)
	}
	if _, err := p.Ask(wish(a), false); !errors.Is(err, identity.ErrExists) {
		t.Errorf("an identity was written over: %v", err)
	}
	err = filepath.Walk(filepath.Join(state, "identity"), func(path string, info fs.FileInfo, err error) error {
		if err == nil && info.Mode()&0o077 != 0 && info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if base := filepath.Base(path); base == "key.pem" || base == "request.pem" {
			t.Errorf("%s is left over", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every fault of a certificate is named, nothing is changed by it, and the right one is taken afterwards.
func TestEveryFaultOfACertificateIsNamed(t *testing.T) {
	a, other := newAuthority(t, "ca"), newAuthority(t, "stranger")
	p := identity.In(t.TempDir())
	s, err := p.Ask(wish(a), false)
	if err != nil {
		t.Fatal(err)
	}
	strange, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := a.sign(s.Asked.Request, nil)
	for name, tc := range map[string]struct {
		cert []byte
		want []string
	}{
		"another key":  {a.sign(s.Asked.Request, func(c *x509.Certificate) { c.PublicKey = strange.Public() }), []string{"not for the key"}},
		"another name": {a.sign(s.Asked.Request, func(c *x509.Certificate) { c.Subject.CommonName = "rb-2" }), []string{`"rb-2"`}},
		"ended": {a.sign(s.Asked.Request, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-30*time.Minute), time.Now().Add(-20*time.Minute)
		}), []string{"has ended"}},
		"not yet valid":       {a.sign(s.Asked.Request, func(c *x509.Certificate) { c.NotBefore = time.Now().AddDate(0, 0, 1) }), []string{"is the clock right"}},
		"another authority":   {other.sign(s.Asked.Request, nil), []string{`"stranger"`}},
		"for servers":         {a.sign(s.Asked.Request, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), []string{"clientAuth"}},
		"an authority":        {a.sign(s.Asked.Request, func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }), []string{"sign for others"}},
		"nothing":             {nil, []string{"no certificate"}},
		"the request itself":  {[]byte(s.Asked.Request), []string{"CERTIFICATE REQUEST"}},
		"a key beside it":     {append(authority.Block("PRIVATE KEY", []byte("x")), good...), []string{"PRIVATE KEY"}},
		"far too long":        {make([]byte, 1<<20), []string{"at most"}},
		"several at one time": {other.sign(s.Asked.Request, func(c *x509.Certificate) { c.Subject.CommonName, c.PublicKey = "x", strange.Public() }), []string{"not for the key", `"x"`, `"stranger"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Certify(tc.cert, nil, time.Now())
			faults, ok := errors.AsType[identity.Faults](err)
			if !ok || len(faults) != len(tc.want) {
				t.Fatalf("%v, want %d faults", err, len(tc.want))
			}
			for i, want := range tc.want {
				if !strings.Contains(faults[i], want) {
					t.Errorf("%q does not say %q", faults[i], want)
				}
			}
		})
	}
	if _, err := p.Certify(good, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
}

// Devices may be signed by another authority than the broker is, and by way of one in between.
func TestAChainToAnAuthorityOfDevices(t *testing.T) {
	broker, root := newAuthority(t, "broker-ca"), newAuthority(t, "device-ca")
	middle := newAuthority(t, "line-7")
	der, err := x509.CreateCertificate(rand.Reader, middle.Cert, root.Cert, middle.Key.Public(), root.Key)
	if err != nil {
		t.Fatal(err)
	}
	p := identity.In(t.TempDir())
	s, err := p.Ask(wish(broker), false)
	if err != nil {
		t.Fatal(err)
	}
	leaf := middle.sign(s.Asked.Request, nil)
	for _, tc := range []struct {
		what         string
		cert, issuer []byte
		good         bool
	}{
		{"by the broker's authority", leaf, nil, false},
		{"without the one in between", leaf, root.PEM, false},
		{"the whole chain", append(leaf, authority.Block("CERTIFICATE", der)...), root.PEM, true},
	} {
		if _, err := p.Certify(tc.cert, tc.issuer, time.Now()); (err == nil) != tc.good {
			t.Errorf("%s: %v", tc.what, err)
		}
	}
}

func TestEveryFaultOfAWishIsNamed(t *testing.T) {
	a := newAuthority(t, "ca")
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*identity.Wish)
		want   string
	}{
		"no name":              {func(w *identity.Wish) { w.DeviceID = "" }, "device_id must be set"},
		"a bad name":           {func(w *identity.Wish) { w.DeviceID = "rb/1" }, "device_id must be"},
		"the planner's":        {func(w *identity.Wish) { w.DeviceID = "planner" }, "the planner's name"},
		"a long name":          {func(w *identity.Wish) { w.DeviceID = strings.Repeat("x", 65) }, "at most 64"},
		"no broker":            {func(w *identity.Wish) { w.Broker = "" }, "broker.url must be set"},
		"a broker without TLS": {func(w *identity.Wish) { w.Broker = "mqtt://b" }, "mqtts://"},
		"a bad authority":      {func(w *identity.Wish) { w.CA = []byte("x") }, "no certificate"},
		"bad keys":             {func(w *identity.Wish) { w.Trusted = a.PEM }, "no Ed25519"},
		"signed, by nobody":    {func(w *identity.Wish) { w.RequireSigned = true }, "trusted_keys_file"},
		"":                     {func(w *identity.Wish) { w.RequireSigned, w.Trusted = true, authority.Block("PUBLIC KEY", der) }, ""},
	} {
		state := t.TempDir()
		w := wish(a)
		tc.change(&w)
		_, err := identity.In(state).Ask(w, false)
		if tc.want == "" {
			if err != nil {
				t.Errorf("a good wish: %v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(state); len(left) > 0 {
			t.Errorf("%s: something was written", name)
		}
	}
}

func TestARenewalLeavesTheOldOneInForce(t *testing.T) {
	a := newAuthority(t, "ca")
	if _, err := identity.In(t.TempDir()).Renew(false); !errors.Is(err, identity.ErrNone) {
		t.Fatalf("nothing to renew: %v", err)
	}
	state, p := provisioned(t, a)
	_, before, _ := inForce(t, state)
	s, err := p.Renew(false)
	if err != nil || s.Asked == nil || s.Certificate == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, pair, ok := inForce(t, state); !ok || string(pair.Certificate[0]) != string(before.Certificate[0]) {
		t.Fatal("the old one is gone before the new one is there")
	}
	if _, err := p.Ask(identity.Wish{DeviceID: "rb-1", Broker: "mqtts://other", CA: a.PEM}, false); !errors.Is(err, identity.ErrExists) {
		t.Errorf("the identity: %v", err)
	}
	request := s.Asked.Request
	if s, err = p.Renew(false); err != nil || s.Asked.Request != request {
		t.Errorf("asked again it says something else: %v", err)
	}
	s, err = p.Certify(a.sign(request, nil), nil, time.Now())
	if err != nil || s.Restart {
		t.Fatalf("a renewal needs no restart: %+v, %v", s, err)
	}
	_, after, _ := inForce(t, state)
	if old, fresh := before.PrivateKey.(*ecdsa.PrivateKey), after.PrivateKey.(*ecdsa.PrivateKey); old.Equal(fresh) {
		t.Error("the key is the old one")
	}
}

// Another broker is another identity; it needs to be meant, and the old one goes on until its certificate is there.
func TestAnotherBrokerHasToBeMeant(t *testing.T) {
	a, b := newAuthority(t, "ca"), newAuthority(t, "cb")
	state, p := provisioned(t, a)
	s, err := p.Ask(identity.Wish{DeviceID: "rb-1", Broker: "mqtts://other", CA: b.PEM}, true)
	if err != nil {
		t.Fatal(err)
	}
	if cfg, _, ok := inForce(t, state); !ok || cfg.Broker.URL != "mqtts://broker.example" {
		t.Fatal("the old one is not in force any more")
	}
	if _, err := p.Renew(false); !errors.Is(err, identity.ErrPending) {
		t.Errorf("a renewal beside it: %v", err)
	}
	if s, err = p.Certify(b.sign(s.Asked.Request, nil), nil, time.Now()); err != nil || !s.Restart {
		t.Fatalf("%+v, %v", s, err)
	}
	cfg, _, _ := inForce(t, state)
	if ca, _ := os.ReadFile(cfg.Broker.CAFile); cfg.Broker.URL != "mqtts://other" || string(ca) != string(b.PEM) {
		t.Errorf("%+v", cfg.Broker)
	}
}

var errCut = errors.New("power cut")

// cutAt cuts the power before the nth change on the disk.
func cutAt(n int) {
	durable.Step = func(string, string) error {
		if n--; n < 0 {
			return errCut
		}
		return nil
	}
}

// F13: whatever step the power is cut before, the agent finds the old identity, none, or the new one; never a half. And the way is gone on
// with by the same calls.
func TestF13_TheIdentityIsOldOrNewAfterACutAnywhere(t *testing.T) {
	t.Cleanup(func() { durable.Step = nil })
	a := newAuthority(t, "ca")
	for _, renewal := range []bool{false, true} {
		for at := 0; ; at++ {
			state := t.TempDir()
			p := identity.In(state)
			before := ""
			if renewal {
				state, p = provisioned(t, a)
				_, pair, _ := inForce(t, state)
				before = string(pair.Certificate[0])
			}
			begin := func() (identity.State, error) {
				if renewal {
					return p.Renew(false)
				}
				return p.Ask(wish(a), false)
			}
			certified := func() error {
				s, err := begin()
				if err != nil {
					return err
				}
				_, err = p.Certify(a.sign(s.Asked.Request, nil), nil, time.Now())
				return err
			}
			cutAt(at)
			err := certified()
			durable.Step = nil
			if err != nil && !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			_, pair, ok := inForce(t, state) // fails at a half
			if renewal && !ok {
				t.Fatalf("cut %d: the robot has no identity left", at)
			}
			if fresh := ok && string(pair.Certificate[0]) != before; !fresh {
				if err == nil {
					t.Fatalf("cut %d: done, and the old one is in force", at)
				}
				if err := certified(); err != nil {
					t.Fatalf("cut %d: gone on with: %v", at, err)
				}
			}
			if _, pair, ok := inForce(t, state); !ok || string(pair.Certificate[0]) == before {
				t.Fatalf("cut %d: the new one is not in force in the end", at)
			}
			if err == nil {
				if at < 10 {
					t.Fatalf("only %d steps: nothing was cut", at)
				}
				break
			}
		}
	}
}

// After a factory reset the device has its name and nothing else; a cut leaves the name in any case.
func TestOnlyTheNameStays(t *testing.T) {
	t.Cleanup(func() { durable.Step = nil })
	a := newAuthority(t, "ca")
	for at := 0; ; at++ {
		state, p := provisioned(t, a)
		if _, err := p.Renew(false); err != nil { // one that waits goes, too
			t.Fatal(err)
		}
		cutAt(at)
		err := p.Forget()
		durable.Step = nil
		cfg, _, lerr := config.Load(config.Sources{Flags: map[string]string{"state_dir": state}})
		if lerr != nil || cfg.DeviceID != "rb-1" {
			t.Fatalf("cut %d: the agent would not start: %v", at, lerr)
		}
		if err != nil {
			if err := p.Forget(); err != nil {
				t.Fatalf("cut %d: gone on with: %v", at, err)
			}
		}
		walked := 0
		_ = filepath.Walk(state, func(path string, info fs.FileInfo, err error) error {
			if text, rerr := os.ReadFile(path); rerr == nil {
				walked++
				if strings.Contains(string(text), "-----BEGIN") || strings.Contains(string(text), "broker.example") {
					t.Fatalf("cut %d: %s is left", at, path)
				}
			}
			return err
		})
		if walked == 0 {
			t.Fatal("nothing was looked at")
		}
		if err == nil {
			break
		}
	}
	// And it can be provisioned anew.
	state, p := provisioned(t, a)
	if err := p.Forget(); err != nil {
		t.Fatal(err)
	}
	s, err := p.Ask(wish(a), false)
	if err == nil {
		_, err = p.Certify(a.sign(s.Asked.Request, nil), nil, time.Now())
	}
	if _, _, ok := inForce(t, state); err != nil || !ok {
		t.Fatal(err)
	}
}

func TestTwoAtATimeDoNotMix(t *testing.T) {
	a := newAuthority(t, "ca")
	state, p := provisioned(t, a)
	release, err := durable.Hold(filepath.Join(state, "identity"))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := p.Renew(false); !errors.Is(err, durable.ErrHeld) {
		t.Fatal(fmt.Sprint(err))
	}
}

// Keys that sign are replaced without a new certificate, and where the robot has a file of them already, without a restart.
func TestTheKeysThatSignAreReplaced(t *testing.T) {
	a := newAuthority(t, "ca")
	keys := func() []byte {
		t.Helper()
		public, _, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		return authority.Block("PUBLIC KEY", der)
	}
	if _, err := identity.In(t.TempDir()).Trust(keys(), false); !errors.Is(err, identity.ErrNone) {
		t.Fatalf("nobody to trust for: %v", err)
	}
	state, p := provisioned(t, a)
	asked, err := p.Renew(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what            string
		keys            []byte
		signed, restart bool
		bad             bool
	}{{"no keys", a.PEM, false, false, true}, {"the first keys", keys(), false, true, false}, {"others", keys(), false, false, false}, {"nothing else is believed", keys(), true, true, false},
		{"others again", keys(), false, false, false}} {
		s, err := p.Trust(step.keys, step.signed)
		if (err != nil) != step.bad || s.Restart != step.restart {
			t.Fatalf("%s: %+v, %v", step.what, s, err)
		}
		cfg, _, ok := inForce(t, state)
		if step.bad {
			continue
		}
		if got, _ := os.ReadFile(cfg.TrustedKeysFile); !ok || string(got) != string(step.keys) {
			t.Fatalf("%s: %q is believed", step.what, got)
		}
	}
	// The renewal that waited has them, too.
	if s, err := p.Renew(false); err != nil || s.Asked.Request != asked.Asked.Request {
		t.Fatalf("the renewal that waits is another now: %v", err)
	}
	if s, err := p.Certify(a.sign(asked.Asked.Request, nil), nil, time.Now()); err != nil || s.Restart || !s.RequireSigned {
		t.Fatalf("%+v, %v", s, err)
	}
	if cfg, _, _ := inForce(t, state); !cfg.RequireSigned || cfg.TrustedKeysFile == "" {
		t.Errorf("%+v", cfg)
	}
}

// Whoever removes an identity by hand can begin another.
func TestAnIdentityThatWasRemovedByHandIsNone(t *testing.T) {
	a := newAuthority(t, "ca")
	state, p := provisioned(t, a)
	if err := os.RemoveAll(filepath.Join(state, "identity", "1")); err != nil {
		t.Fatal(err)
	}
	if s, err := p.Look(); err != nil || s.DeviceID != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	s, err := p.Ask(wish(a), false)
	if err == nil {
		_, err = p.Certify(a.sign(s.Asked.Request, nil), nil, time.Now())
	}
	if _, _, ok := inForce(t, state); err != nil || !ok {
		t.Fatal(err)
	}
}
