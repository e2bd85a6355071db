package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"deviceagent/agent/durable"
	"deviceagent/agent/identity"
	"deviceagent/taskmanager/core"
)

// Device is who the robot is, and the end of that. Its methods wait for the disk.
type Device interface {
	// Identity shows what is in force and what waits.
	Identity() (identity.State, error)
	// Renew asks for a new key and certificate of the same identity: [identity.Place.Renew].
	Renew(anew bool) (identity.State, error)
	// Certify takes a certificate, PEM: [identity.Place.Certify].
	Certify(cert, issuer []byte) (identity.State, error)
	// FactoryReset makes the wish durable. Then the body is stopped and the agent ends; its next start wipes.
	FactoryReset(by, why string) error
}

// identityOf is what a call gave, as a document.
func (s *server) identityOf(r *http.Request, st identity.State, err error) (reply, *Problem) {
	if err != nil {
		return reply{}, IdentityProblem(err)
	}
	return s.looked(r, func(view) (any, *Problem) { return st, nil })
}

func (s *server) identity(r *http.Request) (reply, *Problem) {
	st, err := s.agent.Identity()
	return s.identityOf(r, st, err)
}

func (s *server) renew(r *http.Request) (reply, *Problem) {
	var b struct {
		Anew bool `json:"anew"`
	}
	if p := s.strict(r, &b, `{"anew":false}`); p != nil {
		return reply{}, p
	}
	st, err := s.agent.Renew(b.Anew)
	s.told(r, "renew identity", err)
	return s.identityOf(r, st, err)
}

func (s *server) certify(r *http.Request) (reply, *Problem) {
	var b struct {
		Certificate string `json:"certificate"`
		Issuer      string `json:"issuer"`
	}
	if p := s.strict(r, &b, `{"certificate":"-----BEGIN CERTIFICATE-----…"}`); p != nil {
		return reply{}, p
	}
	st, err := s.agent.Certify([]byte(b.Certificate), []byte(b.Issuer))
	s.told(r, "certify identity", err)
	return s.identityOf(r, st, err)
}

// Reset is the answer to a factory reset: it will take place, it has not yet.
type Reset struct {
	Accepted bool   `json:"accepted"`
	DeviceID string `json:"device_id"`
}

// factoryReset takes the name of the device along: who means another robot gets nothing wiped.
func (s *server) factoryReset(r *http.Request) (reply, *Problem) {
	var b struct {
		DeviceID string `json:"device_id"`
		Reason   string `json:"reason"`
	}
	const form = `{"device_id":"rb-0001","reason":"…"}`
	if p := s.strict(r, &b, form); p != nil {
		return reply{}, p
	}
	if own := s.agent.Status().DeviceID; b.DeviceID != own {
		return reply{}, NewProblem(CodeBadValue, "device_id has to be that of this robot, "+own, form)
	}
	// The look comes first: when the wish is durable the agent begins to end.
	rep, p := s.looked(r, func(view) (any, *Problem) { return Reset{Accepted: true, DeviceID: b.DeviceID}, nil })
	if p != nil {
		return reply{}, p
	}
	err := s.agent.FactoryReset(guestOf(r.Context()).Peer.String(), b.Reason)
	s.told(r, "factory reset", err)
	if err != nil {
		return reply{}, NewProblem(CodeStorage, err.Error(), "deviceagentctl status")
	}
	return rep, nil
}

// told logs who did it.
func (s *server) told(r *http.Request, what string, err error) {
	who := guestOf(r.Context()).Peer
	s.log.Warn().Str("command", what).Uint32("uid", who.UID).Uint32("gid", who.GID).Int32("pid", who.PID).AnErr("cause", err).Msg("control call")
}

// strict reads a body into a form; form shows it to whoever got it wrong.
func (s *server) strict(r *http.Request, into any, form string) *Problem {
	raw, p := s.body(r)
	if p != nil {
		return p
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return NewProblem(CodeMalformed, err.Error(), form)
	}
	if dec.More() {
		return NewProblem(CodeMalformed, "more follows the object", form)
	}
	return nil
}

// IdentityProblem says what is wrong with an identity, and what to do.
func IdentityProblem(err error) *Problem {
	switch faults, bad := errors.AsType[identity.Faults](err); {
	case bad:
		p := NewProblem(CodeBadIdentity, "", "")
		for _, f := range faults {
			p.Errors = append(p.Errors, core.Fault{Message: f})
		}
		return p
	case errors.Is(err, identity.ErrExists):
		return NewProblem(CodeHasIdentity, "", "deviceagentctl provision --renew: a new key and certificate; --force: another identity in its place")
	case errors.Is(err, identity.ErrPending):
		return NewProblem(CodeAsked, err.Error(), "deviceagentctl provision --show; --force forgets it")
	case errors.Is(err, identity.ErrNone):
		return NewProblem(CodeNoIdentity, "", "deviceagentctl provision --device-id ID --broker URL --ca FILE")
	case errors.Is(err, identity.ErrNoAsk):
		return NewProblem(CodeNotAsked, "", "deviceagentctl provision, or provision --renew, asks for one")
	case errors.Is(err, durable.ErrHeld):
		return NewProblem(CodeInUse, err.Error(), "try again in a moment")
	}
	return NewProblem(CodeFiles, err.Error(), "df -h; ls -la of that folder")
}
