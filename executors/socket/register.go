package socket

import (
	"errors"
	"fmt"
	"net"
	"time"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// The reasons in a registered frame with ok false.
const (
	refusedProtocol  = "protocol_unsupported"
	refusedPermit    = "not_permitted"
	refusedContents  = "registration_invalid"
	maxFaults        = 64
	reasonBadFrame   = "bad_frame"
	reasonReplaced   = "replaced"
	reasonLost       = "connection_lost"
	reasonNoRegister = "register_expected"
)

// handshake reads the register frame and judges it. On refusal the program has been told why.
func (s *Server) handshake(conn net.Conn, in *frameReader) (Registration, error) {
	if err := conn.SetDeadline(time.Now().Add(RegisterTime)); err != nil {
		return Registration{}, err
	}
	peer, err := peerOf(conn)
	if err != nil {
		return Registration{}, err
	}
	body, err := readRegister(in)
	if err != nil {
		if errors.Is(err, errBadFrame) {
			say(conn, KindClose, closeBody{Reason: reasonBadFrame, Detail: err.Error()})
		}
		return Registration{}, err
	}
	reg := Registration{Service: core.ServiceID(body.Service), Instance: body.Instance, Methods: named[catalog.Method](body.Methods),
		Keys: named[catalog.ContextKey](body.Keys)}
	if reason, faults := s.judge(peer, body, reg); reason != "" {
		say(conn, KindRegistered, registeredBody{Reason: reason, Faults: faults})
		return reg, &RefusedError{Reason: reason, Faults: faults}
	}
	return reg, conn.SetDeadline(time.Time{})
}

func readRegister(in *frameReader) (registerBody, error) {
	var body registerBody
	f, err := in.next()
	if err != nil {
		return body, err
	}
	if f.Kind != KindRegister {
		return body, badFrame("%s: %s before register", reasonNoRegister, f.Kind)
	}
	return body, decodeBody(f, &body)
}

// judge returns the reason of a refusal with every fault, or "".
func (s *Server) judge(peer Peer, body registerBody, reg Registration) (string, []string) {
	if body.Protocol != Protocol {
		return refusedProtocol, []string{fmt.Sprintf("protocol %d, this agent speaks %d", body.Protocol, Protocol)}
	}
	if why := s.opt.Permit(peer, reg.Service); why != "" { // first: who may not is not told what the catalog says
		return refusedPermit, []string{why}
	}
	faults := s.faults(reg)
	if len(faults) > maxFaults {
		faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", len(faults)-maxFaults))
	}
	if len(faults) > 0 {
		return refusedContents, faults
	}
	return "", nil
}

func (s *Server) faults(reg Registration) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if !executors.IsName(string(reg.Service)) {
		fault("service %s is not a name", clip(string(reg.Service)))
	}
	if !executors.IsName(reg.Instance) {
		fault("instance %s is not a name", clip(reg.Instance))
	}
	if len(reg.Methods)+len(reg.Keys) == 0 {
		fault("neither a method nor a context key is registered")
	}
	for _, m := range eachOnce("method", reg.Methods, fault) {
		if !s.opt.Allowed(reg.Service, m) {
			fault("method %s: the catalog does not bind it to service %s", m, reg.Service)
		}
	}
	for _, k := range eachOnce("key", reg.Keys, fault) {
		if !s.opt.MaySpeak(reg.Service, k) {
			fault("key %s: the catalog does not leave it to service %s", k, reg.Service)
		}
	}
	return faults
}

// eachOnce returns the good names of a list and reports the others.
func eachOnce[T ~string](what string, names []T, fault func(string, ...any)) []T {
	seen := make(map[T]bool, len(names))
	good := names[:0:0]
	for _, n := range names {
		switch {
		case !executors.IsName(string(n)):
			fault("%s %s is not a name", what, clip(string(n)))
		case seen[n]:
			fault("%s %s is there twice", what, n)
		default:
			good = append(good, n)
		}
		seen[n] = true
	}
	return good
}

// say writes one frame at once, before the connection has a writer. The deadline is the handshake's; who does not read it has
// lost it.
func say(conn net.Conn, kind Kind, body any) {
	out := newOutbox()
	if _, err := out.send(kind, 0, body, false); err != nil {
		return
	}
	bytes, _ := out.take()
	_, _ = conn.Write(bytes)
}
