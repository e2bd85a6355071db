package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"deviceagent/agent/clock"
	"deviceagent/agent/diag"
	"deviceagent/agent/identity"
)

// provisioning is one call of provision.
type provisioning struct {
	device, broker, ca, trusted string
	signed                      bool
	renew, force, show          bool
	cert, issuer, out, dir      string
}

func (a *app) provisionCmd() *cobra.Command {
	var p provisioning
	cmd := &cobra.Command{Use: "provision", Short: "Give the device its identity: a key made here, a request for its certificate, the certificate", Args: cobra.NoArgs,
		Long: "Give the device its identity.\n\n  deviceagentctl provision --device-id ID --broker URL --ca FILE >request.pem   makes the key, which never leaves the device\n" +
			"  deviceagentctl provision --certificate FILE                                  puts the certificate for it in place\n" +
			"  deviceagentctl provision --renew >request.pem                                a new key and certificate; the old ones go on meanwhile\n\n" +
			"Whatever ends a call, the same call goes on. The first needs root or the agent's own user; with the control socket the other two do, too.",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.provision(cmd.Context(), p) }}
	f := cmd.Flags()
	f.StringVar(&p.device, "device-id", "", "the robot's id, which the certificate will name (default: the one in force)")
	f.StringVar(&p.broker, "broker", "", "the broker, mqtts://host[:port] (default: the one in force)")
	f.StringVar(&p.ca, "ca", "", "file with the authorities of the broker, PEM (default: the system's)")
	f.StringVar(&p.trusted, "trusted-keys", "", "file with one or two Ed25519 public keys, PEM, whose signatures are believed; alone it replaces those of the identity in force")
	f.BoolVar(&p.signed, "require-signed", false, "refuse what the cloud sends without a good signature; needs --trusted-keys")
	f.BoolVar(&p.renew, "renew", false, "ask for a new key and certificate of the identity in force")
	f.StringVar(&p.cert, "certificate", "", "file with the certificate and its chain, PEM; - reads it from standard input")
	f.StringVar(&p.issuer, "issuer", "", "file with the authorities that sign devices, PEM (default: --ca)")
	f.StringVar(&p.out, "out", "", "write the request there and not to standard output")
	f.BoolVar(&p.force, "force", false, "begin another identity in place of the one in force or the one that waits")
	f.BoolVar(&p.show, "show", false, "what is in force, and what waits; changes nothing")
	f.StringVar(&p.dir, "state-dir", a.env("DEVICEAGENT_STATE_DIR"), stateDirUsage)
	return cmd
}

// together says which flags do not go together.
func (p provisioning) together() error {
	begins := p.device+p.broker+p.ca+p.trusted != "" || p.signed
	switch {
	case p.cert != "" && (begins || p.renew || p.force || p.out != ""):
		return usage("--certificate answers a request; it goes with --issuer and --state-dir only")
	case p.show && (begins || p.renew || p.force || p.cert != "" || p.out != ""):
		return usage("--show changes nothing; it goes with --state-dir only")
	case p.renew && begins:
		return usage("--renew keeps name, broker and authorities; another identity is begun with --force")
	case p.issuer != "" && p.cert == "":
		return usage("--issuer goes with --certificate")
	}
	return nil
}

// provisioned is what a call tells.
type provisioned struct {
	identity.State
	Out        string   `json:"out,omitempty"`        // where the request was written
	Overridden []string `json:"overridden,omitempty"` // settings that another file sets otherwise, with its place
}

func (a *app) provision(ctx context.Context, p provisioning) error {
	if err := p.together(); err != nil {
		return err
	}
	dir := a.stateDir(ctx, p.dir)
	in, err := a.inputs(p)
	if err != nil {
		return err
	}
	if p.show {
		return a.showIdentity(ctx, dir)
	}
	var st identity.State
	what := p.act()
	err = asOwner(dir, what == asks || what == trusts, func() (err error) {
		st, err = p.here(dir, in, what)
		if what == trusts && errors.Is(err, identity.ErrNone) { // the keys of an identity that is begun
			what = asks
			st, err = p.here(dir, in, what)
		}
		return err
	})
	switch {
	case errors.Is(err, errNotOwner) || errors.Is(err, os.ErrNotExist) && p.dir == "":
		if st, err = a.provisionOver(ctx, p, in); err != nil {
			return err
		}
	case err != nil:
		return diag.IdentityProblem(err)
	}
	return a.tellProvisioned(p, dir, what, st)
}

// act is what a call does.
type act string

const (
	asks      act = "asks"      // begins an identity
	renews    act = "renews"    // asks for a new certificate
	certifies act = "certifies" // puts it in place
	trusts    act = "trusts"    // replaces the keys that may sign
)

func (p provisioning) act() act {
	switch {
	case p.cert != "":
		return certifies
	case p.renew:
		return renews
	case p.trusted != "" && p.device+p.broker+p.ca == "" && !p.force:
		return trusts
	}
	return asks
}

// inputs are the files that were named, read as who calls.
type inputs struct{ ca, trusted, cert, issuer []byte }

// maxPEM bounds a file of certificates. Bytes.
const maxPEM = 64 << 10

func (a *app) inputs(p provisioning) (in inputs, err error) {
	for _, f := range []struct {
		name string
		to   *[]byte
	}{{p.ca, &in.ca}, {p.trusted, &in.trusted}, {p.cert, &in.cert}, {p.issuer, &in.issuer}} {
		if f.name == "" {
			continue
		}
		from := a.stdin
		if f.name != "-" {
			file, err := os.Open(f.name)
			if err != nil {
				return in, diag.NewProblem(diag.CodeInvalidFile, err.Error(), "")
			}
			defer func() { _ = file.Close() }()
			from = file
		}
		if *f.to, err = io.ReadAll(io.LimitReader(from, maxPEM+1)); err != nil {
			return in, diag.NewProblem(diag.CodeInvalidFile, err.Error(), "")
		}
	}
	return in, nil
}

// here works on the files themselves.
func (p provisioning) here(dir string, in inputs, what act) (identity.State, error) {
	place := identity.In(dir)
	switch what {
	case certifies:
		return place.Certify(in.cert, in.issuer, certificateTime())
	case renews:
		return place.Renew(p.force)
	case trusts:
		return place.Trust(in.trusted, p.signed)
	}
	w := identity.Wish{DeviceID: p.device, Broker: p.broker, CA: in.ca, Trusted: in.trusted, RequireSigned: p.signed}
	if c, _, ok := inForce(dir); ok {
		if _, err := os.Stat(filepath.Join(dir, "agent.db")); err == nil && p.device != "" && c.DeviceID != "" && p.device != c.DeviceID {
			return identity.State{}, identity.Faults{fmt.Sprintf("device_id: the work in the store is that of %s, and the agent would not start with it as %s: stop the agent, then deviceagentctl factory-reset", c.DeviceID, p.device)}
		}
		w.DeviceID, w.Broker = orText(w.DeviceID, c.DeviceID), orText(w.Broker, c.Broker.URL)
	}
	return place.Ask(w, p.force)
}

// certificateTime is the time by which certificates are judged here, as by the agent: a robot whose clock is at 1970 knows that this program
// was built later.
func certificateTime() time.Time {
	now := time.Now()
	if built := clock.BuildTime(); now.Before(built) {
		return built
	}
	return now
}

// provisionOver asks the agent, for who may operate it and is neither root nor its user. It renews, and begins nothing: whom the robot obeys
// is no matter of those who operate it.
func (a *app) provisionOver(ctx context.Context, p provisioning, in inputs) (st identity.State, err error) {
	path, body := "/identity/renew", any(map[string]bool{"anew": p.force})
	switch {
	case p.cert != "":
		path, body = "/identity/certificate", map[string]string{"certificate": string(in.cert), "issuer": string(in.issuer)}
	case !p.renew:
		return st, diag.NewProblem(diag.CodeNotOwner, "beginning an identity", "sudo deviceagentctl provision …")
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return st, err
	}
	rep, err := a.client.Post(ctx, path, nil, raw)
	if err == nil {
		err = json.Unmarshal(rep.Data, &st)
	}
	return st, err
}

func (a *app) tellProvisioned(p provisioning, dir string, what act, st identity.State) error {
	doc := provisioned{State: st}
	asked := st.Asked != nil && (what == asks || what == renews)
	if asked && p.out != "" {
		doc.Out = p.out
		if err := os.WriteFile(p.out, []byte(st.Asked.Request), 0o644); err != nil {
			return diag.NewProblem(diag.CodeInvalidFile, err.Error(), "the request is kept: the same call with another --out writes it")
		}
	}
	if !asked {
		_ = asOwner(dir, false, func() error { doc.Overridden = overridden(dir, st); return nil }) // over the socket the files cannot be read
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	l := tongue(a.lang)
	err = emit(a, diag.Reply{Data: raw}, func(d provisioned, _ diag.AsOf) error {
		switch {
		case !asked && d.Certificate != nil:
			a.page.line("%s", l.say("provisioned", clean(d.DeviceID), clean(d.Broker), clean(d.Certificate.Issuer), d.Certificate.NotAfter))
		case d.Out != "":
			a.page.line("%s", d.Out)
		case asked:
			_, _ = fmt.Fprint(a.page.out, d.Asked.Request)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, text := range doc.Overridden {
		a.note("%s", l.say("provision.overridden", clean(text)))
	}
	switch {
	case asked:
		a.note("%s", l.say("provision.next", clean(st.Asked.DeviceID)))
	case st.Restart:
		a.note("%s", l.say("provision.restart"))
	case what == trusts:
		a.note("%s", l.say("provision.trusted"))
	default:
		a.note("%s", l.say("provision.renewed"))
	}
	return nil
}

// overridden lists what was provisioned and is set otherwise by a file that counts more.
func overridden(dir string, st identity.State) (out []string) {
	c, from, ok := inForce(dir)
	if !ok {
		return nil
	}
	for _, k := range []struct{ key, have, want string }{{"device_id", c.DeviceID, st.DeviceID}, {"broker.url", c.Broker.URL, st.Broker}} {
		if k.have != k.want {
			out = append(out, fmt.Sprintf("%s = %q, %s", k.key, k.have, from[k.key].Place))
		}
	}
	return out
}

func (a *app) showIdentity(ctx context.Context, dir string) error {
	var st identity.State
	err := asOwner(dir, false, func() error {
		var err error
		st, err = identity.In(dir).Look()
		return err
	})
	rep := diag.Reply{}
	switch {
	case errors.Is(err, errNotOwner):
		if rep, err = a.client.Get(ctx, "/identity", nil); err != nil {
			return err
		}
	case errors.Is(err, os.ErrNotExist):
		return diag.IdentityProblem(identity.ErrNone)
	case err != nil:
		return diag.IdentityProblem(err)
	default:
		if rep.Data, err = json.Marshal(st); err != nil {
			return err
		}
	}
	return emit(a, rep, func(s identity.State, _ diag.AsOf) error {
		a.page.line("device      %s", clean(orText(s.DeviceID, "not provisioned")))
		a.page.line("broker      %s", clean(orText(s.Broker, "not provisioned")))
		if c := s.Certificate; c != nil {
			a.page.line("certificate %s by %s, serial %s, from %s to %s", clean(c.Subject), clean(c.Issuer), c.Serial, c.NotBefore, c.NotAfter)
		} else {
			a.page.line("certificate none")
		}
		if s.Asked != nil {
			a.page.line("awaited     a certificate for %s at %s", clean(s.Asked.DeviceID), clean(s.Asked.Broker))
		}
		return nil
	})
}
