// Package identity keeps who the device is towards its broker, in a folder of state_dir: a key that is made on the device and never leaves
// it, the certificate for it, whom it believes, and the settings that say so.
//
// It promises that the identity in force is whole at every moment: a new one is made beside it, in a generation of its own, and comes into
// force by one rename, once its certificate has been found to fit. A call that a power cut ended is simply made again. It must not open a
// connection or know what the agent does with the files; they are read by the settings layer ([config.Provisioned]).
package identity

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"deviceagent/agent/config"
	"deviceagent/agent/durable"
)

// What lies in the folder. A generation is a folder with a number; that which is in force is the one that current points to, the one after
// it waits for its certificate, all others are left over.
const (
	folder       = "identity"
	current      = "current"
	settingsFile = "agent.toml"
	pairFile     = "device.pem" // certificate, its chain, key: one file, so that there is no half pair
	caFile       = "ca.pem"
	trustedFile  = "trusted.pem"
	keyFile      = "key.pem"     // until the certificate is there
	requestFile  = "request.pem" // the same
)

// Errors that a caller can do something about.
var (
	ErrExists  = errors.New("the device has an identity")
	ErrPending = errors.New("another identity waits for its certificate")
	ErrNone    = errors.New("the device has no identity")
	ErrNoAsk   = errors.New("no certificate was asked for")
)

// Faults are all that is wrong with what was handed in, one sentence each.
type Faults []string

// Error lists them.
func (f Faults) Error() string { return strings.Join(f, "; ") }

// Wish is what an identity is to be.
type Wish struct {
	DeviceID      string
	Broker        string // URL with TLS
	CA            []byte // PEM: who signs the broker's certificate; empty: the system's authorities
	Trusted       []byte // PEM: whose signatures are believed; empty: nobody's
	RequireSigned bool
}

// State is what may be shown of an identity. There is no secret in it.
type State struct {
	Dir           string       `json:"dir"`
	DeviceID      string       `json:"device_id,omitempty"`
	Broker        string       `json:"broker,omitempty"`
	RequireSigned bool         `json:"require_signed"`
	Certificate   *Certificate `json:"certificate,omitempty"` // in force
	Asked         *Asked       `json:"asked,omitempty"`       // waits for its certificate
	Restart       bool         `json:"restart,omitempty"`     // what was just done needs a restart of the agent
}

// Certificate is what stands in the device's certificate.
type Certificate struct {
	Subject   string `json:"subject"` // its common name
	Issuer    string `json:"issuer"`
	Serial    string `json:"serial"`
	NotBefore string `json:"not_before"` // RFC 3339
	NotAfter  string `json:"not_after"`
	SHA256    string `json:"sha256"` // of the certificate
}

// Asked is an identity that waits for its certificate.
type Asked struct {
	DeviceID string `json:"device_id"`
	Broker   string `json:"broker"`
	Request  string `json:"request"` // PEM
}

// Place is the folder of one device.
type Place struct{ dir string }

// In gives the place in a state_dir.
func In(stateDir string) Place { return Place{filepath.Join(stateDir, folder)} }

func (p Place) at(gen int, name string) string {
	return filepath.Join(p.dir, strconv.Itoa(gen), name)
}

// generation is the number of the identity in force; 0: none is.
func (p Place) generation() (int, error) {
	to, err := os.Readlink(filepath.Join(p.dir, current))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n, nerr := strconv.Atoi(to)
	if err = errors.Join(err, nerr); err != nil {
		return 0, fmt.Errorf("cannot read %s: %w", p.dir, err)
	}
	return n, nil
}

// enter holds the folder, and removes what an earlier call left over. The generation in force is gen, gen+1 may wait.
func (p Place) enter() (gen int, leave func(), err error) {
	if err := os.Mkdir(p.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return 0, nil, fmt.Errorf("cannot make the folder of the identity: %w", err)
	}
	if err := durable.Sync(filepath.Dir(p.dir)); err != nil {
		return 0, nil, err
	}
	leave, err = durable.Hold(p.dir)
	if err != nil {
		return 0, nil, err
	}
	gen, err = p.generation()
	if err == nil {
		err = p.tidy(gen)
	}
	if err != nil {
		leave()
	}
	return gen, leave, err
}

func (p Place) tidy(gen int) error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if e.Name() == current || err == nil && gen > 0 && n == gen || err == nil && n == gen+1 {
			continue
		}
		if err := durable.Remove(filepath.Join(p.dir, e.Name())); err != nil {
			return err
		}
	}
	if gen == 0 {
		return nil
	}
	return errors.Join(durable.Remove(p.at(gen, keyFile)), durable.Remove(p.at(gen, requestFile)))
}

// Look tells what is there. It waits for nobody and changes nothing.
func (p Place) Look() (State, error) {
	s := State{Dir: p.dir}
	gen, err := p.generation()
	if err != nil {
		return s, err
	}
	if gen > 0 {
		set, err := p.settings(gen)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // somebody has removed it by hand: then there is none
			return s, err
		}
		s.DeviceID, s.Broker, s.RequireSigned = set.DeviceID, set.Broker.URL, set.RequireSigned
		if text, err := os.ReadFile(p.at(gen, pairFile)); err == nil {
			s.Certificate = described(text)
		}
	}
	set, err := p.settings(gen + 1)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	request, rerr := os.ReadFile(p.at(gen+1, requestFile))
	if err := errors.Join(err, rerr); err != nil {
		return s, err
	}
	s.Asked = &Asked{DeviceID: set.DeviceID, Broker: set.Broker.URL, Request: string(request)}
	return s, nil
}

// settings are those that a generation brings.
type settings struct {
	DeviceID      string `toml:"device_id"`
	Trusted       string `toml:"trusted_keys_file,omitempty"`
	RequireSigned bool   `toml:"require_signed,omitempty"`
	Broker        struct {
		URL  string `toml:"url,omitempty"`
		CA   string `toml:"ca_file,omitempty"`
		Cert string `toml:"cert_file,omitempty"`
		Key  string `toml:"key_file,omitempty"`
	} `toml:"broker,omitempty"`
}

func (p Place) settings(gen int) (s settings, err error) {
	text, err := os.ReadFile(p.at(gen, settingsFile))
	if err != nil {
		return s, err
	}
	if err := toml.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("cannot read %s: %w", p.at(gen, settingsFile), err)
	}
	return s, nil
}

// settingsOf writes the settings of a wish. Its files are named by way of the generation in force.
func (p Place) settingsOf(w Wish) (settings, []byte, error) {
	at := func(name string, there bool) string {
		if !there {
			return ""
		}
		return filepath.Join(p.dir, current, name)
	}
	s := settings{DeviceID: w.DeviceID, Trusted: at(trustedFile, len(w.Trusted) > 0), RequireSigned: w.RequireSigned}
	s.Broker.URL, s.Broker.CA = w.Broker, at(caFile, len(w.CA) > 0)
	s.Broker.Cert, s.Broker.Key = at(pairFile, w.Broker != ""), at(pairFile, w.Broker != "")
	text, err := toml.Marshal(s)
	return s, append([]byte("# Written by deviceagentctl provision, which replaces it. What stands in /etc/deviceagent counts more.\n"), text...), err
}

// Ask begins an identity: it makes the key and the request for its certificate. The same wish again gives the same request. anew takes the
// place of an identity that is in force, once the certificate is there, and of another that waits. Errors: [Faults], [ErrExists], [ErrPending].
func (p Place) Ask(w Wish, anew bool) (State, error) {
	if err := w.check(); err != nil {
		return State{}, err
	}
	gen, leave, err := p.enter()
	if err != nil {
		return State{}, err
	}
	defer leave()
	if _, err := os.Stat(p.at(gen, pairFile)); err == nil && gen > 0 && !anew {
		return State{}, ErrExists
	}
	return p.ask(gen, w, anew)
}

// Renew begins a new key and certificate for the identity in force, which goes on until they are there. Errors: [ErrNone], [ErrPending].
func (p Place) Renew(anew bool) (State, error) {
	gen, leave, err := p.enter()
	if err != nil {
		return State{}, err
	}
	defer leave()
	if gen == 0 {
		return State{}, ErrNone
	}
	if _, err := os.Stat(p.at(gen, pairFile)); err != nil {
		return State{}, ErrNone
	}
	w, err := p.wish(gen)
	if err != nil {
		return State{}, err
	}
	return p.ask(gen, w, anew)
}

// wish reads what a generation was asked to be.
func (p Place) wish(gen int) (w Wish, err error) {
	s, err := p.settings(gen)
	if err != nil {
		return w, err
	}
	w = Wish{DeviceID: s.DeviceID, Broker: s.Broker.URL, RequireSigned: s.RequireSigned}
	if s.Broker.CA != "" {
		w.CA, err = os.ReadFile(p.at(gen, caFile))
	}
	if s.Trusted != "" && err == nil {
		w.Trusted, err = os.ReadFile(p.at(gen, trustedFile))
	}
	return w, err
}

func (p Place) ask(gen int, w Wish, anew bool) (State, error) {
	waits, err := p.wish(gen + 1)
	switch {
	case err == nil && waits.same(w):
		return p.Look()
	case errors.Is(err, fs.ErrNotExist) || anew:
	case err != nil:
		return State{}, err
	default:
		return State{}, fmt.Errorf("%w: that of %s at %s", ErrPending, waits.DeviceID, waits.Broker)
	}
	if err := durable.Remove(p.at(gen+1, "")); err != nil {
		return State{}, err
	}
	key, request, err := newKey(w.DeviceID)
	if err != nil {
		return State{}, err
	}
	_, text, err := p.settingsOf(w)
	if err != nil {
		return State{}, err
	}
	files := map[string][]byte{settingsFile: text, keyFile: key, requestFile: request}
	if len(w.CA) > 0 {
		files[caFile] = w.CA
	}
	if len(w.Trusted) > 0 {
		files[trustedFile] = w.Trusted
	}
	if err := durable.Folder(p.at(gen+1, ""), files); err != nil {
		return State{}, err
	}
	return p.Look()
}

func (w Wish) same(v Wish) bool {
	return w.DeviceID == v.DeviceID && w.Broker == v.Broker && w.RequireSigned == v.RequireSigned && bytes.Equal(w.CA, v.CA) && bytes.Equal(w.Trusted, v.Trusted)
}

// Certify puts the certificate of the identity that waits in place, with its chain: from then on it is the one in force. issuer are the
// authorities that sign devices, where they are not those of the broker. now is the time by which it is judged. The same certificate
// once more changes nothing. Errors: [Faults], [ErrNoAsk].
func (p Place) Certify(cert, issuer []byte, now time.Time) (State, error) {
	gen, leave, err := p.enter()
	if err != nil {
		return State{}, err
	}
	defer leave()
	key, err := os.ReadFile(p.at(gen+1, keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return p.again(gen, cert)
	}
	if err != nil {
		return State{}, err
	}
	w, err := p.wish(gen + 1)
	if err != nil {
		return State{}, err
	}
	chain, err := fits(cert, key, issuer, w, now)
	if err != nil {
		return State{}, err
	}
	old := Wish{}
	if gen > 0 {
		if old, err = p.wish(gen); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return State{}, err
		}
	}
	if err := durable.Write(p.at(gen+1, pairFile), append(chain, key...)); err != nil {
		return State{}, err
	}
	if err := durable.Link(strconv.Itoa(gen+1), filepath.Join(p.dir, current)); err != nil {
		return State{}, err
	}
	if err := p.tidy(gen + 1); err != nil {
		return State{}, err
	}
	s, err := p.Look()
	s.Restart = !old.same(w) // else the files are read anew for the next connection
	return s, err
}

// Trust replaces the keys whose signatures are believed, in the identity in force and in one that waits; signed says whether from now on nothing
// else is believed, and is left as it is where it is false. Errors: [Faults], [ErrNone].
func (p Place) Trust(keys []byte, signed bool) (State, error) {
	if _, err := TrustedKeys(keys); err != nil {
		return State{}, Faults{"the file of trusted keys: " + err.Error()}
	}
	gen, leave, err := p.enter()
	if err != nil {
		return State{}, err
	}
	defer leave()
	if _, err := os.Stat(p.at(gen, pairFile)); gen == 0 || err != nil {
		return State{}, ErrNone
	}
	restart := false
	for _, g := range []int{gen, gen + 1} {
		w, err := p.wish(g)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return State{}, err
		}
		changed, err := p.trust(g, w, keys, signed)
		if err != nil {
			return State{}, err
		}
		restart = restart || changed && g == gen
	}
	s, err := p.Look()
	s.Restart = restart
	return s, err
}

// trust puts keys into a generation. The file comes first: settings never name one that is not there.
func (p Place) trust(gen int, w Wish, keys []byte, signed bool) (restart bool, err error) {
	if err := durable.Write(p.at(gen, trustedFile), keys); err != nil {
		return false, err
	}
	if len(w.Trusted) > 0 && (w.RequireSigned || !signed) {
		return false, nil // the file is looked at for each message
	}
	w.Trusted, w.RequireSigned = keys, w.RequireSigned || signed
	_, text, err := p.settingsOf(w)
	if err != nil {
		return false, err
	}
	return true, durable.Write(p.at(gen, settingsFile), text)
}

// again is a certificate for which nothing waits: the one in force, or one too many.
func (p Place) again(gen int, cert []byte) (State, error) {
	s, err := p.Look()
	if given := described(cert); err == nil && (given == nil || s.Certificate == nil || given.SHA256 != s.Certificate.SHA256) {
		return State{}, ErrNoAsk
	}
	return s, err
}

// Forget removes keys, certificates, authorities and the broker. What stays is the device's name: without it the agent would not start.
func (p Place) Forget() error {
	if _, err := os.Lstat(p.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	gen, leave, err := p.enter()
	if err != nil {
		return err
	}
	defer leave()
	s, err := p.settings(gen)
	if err != nil || s.DeviceID == "" {
		return durable.Remove(p.dir)
	}
	if err := durable.Remove(p.at(gen+1, "")); err != nil {
		return err
	}
	_, text, err := p.settingsOf(Wish{DeviceID: s.DeviceID})
	if err != nil {
		return err
	}
	if err := durable.Folder(p.at(gen+1, ""), map[string][]byte{settingsFile: text}); err != nil {
		return err
	}
	if err := durable.Link(strconv.Itoa(gen+1), filepath.Join(p.dir, current)); err != nil {
		return err
	}
	return p.tidy(gen + 1)
}

// Ends says when the certificate in force ends; zero: there is none.
func (s State) Ends() time.Time {
	if s.Certificate == nil {
		return time.Time{}
	}
	t, _ := time.Parse(time.RFC3339, s.Certificate.NotAfter)
	return t
}

// described tells the first certificate of a PEM text; nil: there is none.
func described(text []byte) *Certificate {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return nil
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if b.Type != "CERTIFICATE" || err != nil {
			continue
		}
		sum := sha256.Sum256(c.Raw)
		return &Certificate{Subject: c.Subject.CommonName, Issuer: c.Issuer.CommonName, Serial: c.SerialNumber.Text(16), NotBefore: c.NotBefore.UTC().Format(time.RFC3339),
			NotAfter: c.NotAfter.UTC().Format(time.RFC3339), SHA256: hex.EncodeToString(sum[:])}
	}
}

// settingsFaults judges the settings by the agent's own rules.
func (w Wish) settingsFaults() (out Faults) {
	c := config.Default()
	c.DeviceID, c.Broker.URL, c.Broker.CertFile, c.Broker.KeyFile, c.RequireSigned = w.DeviceID, w.Broker, "/c", "/c", w.RequireSigned
	if len(w.Trusted) > 0 {
		c.TrustedKeysFile = "/t"
	}
	faults, _ := errors.AsType[config.Faults](c.Validate())
	for _, f := range faults {
		out = append(out, f.Key+" "+f.Message)
	}
	return out
}
