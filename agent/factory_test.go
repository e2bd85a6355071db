package agent_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"deviceagent/agent"
	"deviceagent/agent/diag"
	"deviceagent/agent/firmware"
	"deviceagent/agent/identity"
	"deviceagent/agent/reset"
	"deviceagent/testbed/authority"
)

// A program of the robot holds the button: the wish is on the disk when the call returns, and the agent ends without an error, so that what
// watches it starts it anew.
func TestAFactoryResetOverTheBus(t *testing.T) {
	o := options(t)
	o.Config.Firmware.Bus = startBus(t)
	a, err := agent.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(context.Background()) }()
	p := onTheBus(t, o.Config.Firmware.Bus)
	call := p.conn.Object(firmware.Name, firmware.Path).CallWithContext(t.Context(), firmware.Interface+".FactoryReset", 0, "rb-1", "button")
	if call.Err != nil {
		t.Fatal(call.Err)
	}
	if asked, err := reset.Asked(o.Config.StateDir); !asked || err != nil {
		t.Fatalf("the call has returned, and the wish is not on the disk: %v", err)
	}
	if err := <-ended; err != nil { // the test's own deadline bounds it
		t.Fatalf("ended with %v", err)
	}
	if _, err := agent.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "factory reset") {
		t.Fatalf("the store was opened before it was wiped: %v", err)
	}
	r, err := reset.Finish(o.Config.StateDir)
	if err != nil || !strings.HasPrefix(r.Wish.By, "bus uid ") || r.Wish.Why != "button" {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, stop := start(t, o); stop() != nil {
		t.Error("no start after it")
	}
}

// Who may operate renews over the control socket while the agent runs; status says when it is time to.
func TestARenewalOverTheControlSocket(t *testing.T) {
	o := options(t)
	a, err := authority.New("devices")
	if err != nil {
		t.Fatal(err)
	}
	place := identity.In(o.Config.StateDir)
	ends := time.Now().Add(10 * 24 * time.Hour)
	sign := func(s identity.State) []byte {
		t.Helper()
		cert, err := a.Sign(s.Asked.Request, func(c *x509.Certificate) { c.NotAfter = ends })
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	err = os.MkdirAll(o.Config.StateDir, 0o700)
	s, aerr := place.Ask(identity.Wish{DeviceID: "rb-1", Broker: "mqtts://broker.example", CA: a.PEM}, false)
	if err := errors.Join(err, aerr); err != nil {
		t.Fatal(err)
	}
	if _, err := place.Certify(sign(s), nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	_, _ = start(t, o)
	c := &diag.Client{Socket: o.Config.Diag.ReadSocket, Control: o.Config.Diag.ControlSocket}
	warned := func() bool {
		t.Helper()
		rep, err := c.Get(t.Context(), "/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(rep.Data), "provision --renew")
	}
	until(warned) // from the first look of the agent on
	post := func(path string, body any) (s identity.State) {
		t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := c.Post(t.Context(), path, nil, raw)
		if err == nil {
			err = json.Unmarshal(rep.Data, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s = post("/identity/renew", map[string]bool{})
	ends = time.Now().AddDate(1, 0, 0)
	if s = post("/identity/certificate", map[string]string{"certificate": string(sign(s))}); s.Restart || time.Until(s.Ends()) < 300*24*time.Hour {
		t.Errorf("%+v", s)
	}
	if warned() {
		t.Error("the warning stays after the renewal")
	}
}
