package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"deviceagent/agent/identity"
	"deviceagent/agent/local"
	"deviceagent/agent/reset"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// errReset ends the agent for a factory reset: the wish is on the disk, and the next start carries it out.
var errReset = errors.New("a factory reset was asked for")

// Bounds of the end before a reset. Source: a stop is confirmed within the 4 s that the catalog gives it; what is not is stopped once more by
// the new store. The pause lets the answer reach who asked.
const (
	resetStop  = 6 * time.Second
	resetPause = 300 * time.Millisecond
)

// FactoryReset makes the wish durable; then the body is stopped, and the agent ends. It returns before that. Once is enough.
func (a *Agent) FactoryReset(by, why string) error {
	if err := reset.Ask(a.o.Config.StateDir, by, why, time.Now()); err != nil {
		return err
	}
	a.o.Log.Warn().Str("by", by).Str("reason", why).Msg("factory reset: the agent ends, and wipes when it starts")
	select {
	case a.resetAsked <- struct{}{}:
	default: // it is on its way
	}
	return nil
}

// certificateEvery is how often the end of the certificate is looked at: the field tool may have put another in place.
const certificateEvery = time.Minute

// device watches over what the device itself is: it looks when its certificate ends, and waits for the wish to be reset. Then it stops what
// moves, and ends the agent.
func (a *Agent) device(ctx context.Context) error {
	look := time.NewTicker(certificateEvery)
	defer look.Stop()
	for asked := false; !asked; {
		a.lookAtCertificate()
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		case <-a.resetAsked:
			asked = true
		}
	}
	bound, cancel := context.WithTimeout(ctx, resetStop)
	defer cancel()
	if err := a.cancelAll(bound); err != nil { // the disk may be full, which is why somebody resets: the new store stops the body
		a.o.Log.Warn().Err(err).Msg("factory reset: open work not cancelled before the end")
	}
	for bound.Err() == nil && a.moves(bound) {
		wait(bound, resetPause)
	}
	wait(ctx, resetPause)
	return errReset
}

func (a *Agent) cancelAll(ctx context.Context) error {
	body, err := json.Marshal(wire.Control{Verb: "cancel", Scope: "all", Reason: "factory reset", RequestedBy: "device"})
	if err != nil {
		return err
	}
	_, message, err := local.Wrap(wire.TypeControl, a.o.Config.DeviceID, time.Now(), body)
	if err != nil {
		return err
	}
	_, err = a.manager.Receive(ctx, message, taskmanager.FromLocal)
	return err
}

// moves says whether anything of the body may still move, as far as is known.
func (a *Agent) moves(ctx context.Context) (moves bool) {
	err := a.manager.Inspect(ctx, func(s *core.State, _ core.Now) {
		for _, wf := range s.Workflows {
			moves = moves || wf.Moving()
		}
	})
	return moves && err == nil
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Identity shows who the device is.
func (e eyes) Identity() (identity.State, error) { return e.a.place().Look() }

// Renew asks for a new certificate.
func (e eyes) Renew(anew bool) (identity.State, error) { return e.a.place().Renew(anew) }

// Certify takes it.
func (e eyes) Certify(cert, issuer []byte) (identity.State, error) {
	s, err := e.a.place().Certify(cert, issuer, tlsTime()())
	e.a.lookAtCertificate()
	return s, err
}

// FactoryReset gives the robot away.
func (e eyes) FactoryReset(by, why string) error { return e.a.FactoryReset(by, why) }

// FactoryReset gives the robot away.
func (i insider) FactoryReset(by, why string) error { return i.a.FactoryReset(by, why) }

func (a *Agent) place() identity.Place { return identity.In(a.o.Config.StateDir) }

// warnBefore is how long before its end a certificate is spoken of. Source: a month is what an authority without a person behind it needs.
const warnBefore = 30 * 24 * time.Hour

// lookAtCertificate keeps the end of the certificate, since who asks for the status waits for no disk. Of an identity that was not provisioned
// here somebody else knows the end.
func (a *Agent) lookAtCertificate() {
	var ends time.Time
	if s, err := a.place().Look(); err == nil {
		ends = s.Ends()
	}
	a.certEnds.Store(&ends)
}

// endsSoon is the warning about a certificate that ends; "": there is none, or time enough.
func (a *Agent) endsSoon() string {
	ends := a.certEnds.Load()
	if ends == nil || ends.IsZero() {
		return ""
	}
	left, at := ends.Sub(tlsTime()()), ends.UTC().Format(time.RFC3339)
	switch {
	case left > warnBefore:
		return ""
	case left < 0:
		return "the device's certificate ended at " + at + ": deviceagentctl provision --renew"
	}
	return "the device's certificate ends at " + at + ": deviceagentctl provision --renew"
}
