package diagtest

import (
	"slices"

	"deviceagent/agent/identity"
)

// Identity is that of the test's robot.
func (a *Agent) Identity() (identity.State, error) {
	return identity.State{Dir: "/var/lib/deviceagent/identity", DeviceID: "rb-7f21", Broker: "mqtts://broker.example",
		Certificate: &identity.Certificate{Subject: "rb-7f21", Issuer: "devices", Serial: "1f", NotBefore: "2026-11-01T00:00:00Z", NotAfter: "2027-11-01T00:00:00Z", SHA256: "00"}}, nil
}

// Renew gives a request.
func (a *Agent) Renew(bool) (identity.State, error) {
	s, err := a.Identity()
	s.Asked = &identity.Asked{DeviceID: s.DeviceID, Broker: s.Broker, Request: "-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"}
	return s, err
}

// Certify takes one text as a certificate.
func (a *Agent) Certify(cert, _ []byte) (identity.State, error) {
	if string(cert) != "it answers" {
		return identity.State{}, identity.Faults{"it does not answer", "its name is another"}
	}
	return a.Identity()
}

// FactoryReset notes who asked.
func (a *Agent) FactoryReset(by, why string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resets = append(a.resets, by+": "+why)
	return nil
}

// Resets are the factory resets that were asked for: who, why.
func (a *Agent) Resets() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.resets)
}
