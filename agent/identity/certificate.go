package identity

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// maxName is the longest common name that certificates have. Source: X.520, ub-common-name; OpenSSL refuses a longer one.
const maxName = 64

// plannerName is the common name that no robot may have. Source: packaging/mosquitto/deviceagent.acl.
const plannerName = "planner"

// maxText bounds what is handed in. Bytes. A chain of four certificates has 8 KiB.
const maxText = 64 << 10

// check judges a wish. Errors: [Faults].
func (w Wish) check() error {
	out := w.settingsFaults()
	if w.Broker == "" {
		out = append(out, "broker.url must be set: without a cloud there is nobody to show a certificate to")
	}
	if len(w.DeviceID) > maxName {
		out = append(out, fmt.Sprintf("device_id has %d letters, the common name of a certificate at most %d", len(w.DeviceID), maxName))
	}
	if w.DeviceID == plannerName {
		out = append(out, "device_id "+plannerName+" is the planner's name at the broker, which may write to every robot")
	}
	if len(w.CA) > 0 {
		if _, err := certificates(w.CA, "the authority's file"); err != nil {
			out = append(out, err.Error())
		}
	}
	if len(w.Trusted) > 0 {
		if _, err := TrustedKeys(w.Trusted); err != nil {
			out = append(out, "the file of trusted keys: "+err.Error())
		}
	}
	if out == nil {
		return nil
	}
	return out
}

// newKey makes a key and the request for its certificate, both as PEM. The curve is P-256: each broker and authority takes it, while many that
// devices get certificates from refuse Ed25519.
func newKey(name string) (key, request []byte, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot write the key: %w", err)
	}
	form := &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}, SignatureAlgorithm: x509.ECDSAWithSHA256}
	asked, err := x509.CreateCertificateRequest(rand.Reader, form, k)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot write the request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: asked}), nil
}

// certificates reads a PEM text of certificates and nothing else. what names it in the error.
func certificates(text []byte, what string) (out []*x509.Certificate, err error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are read", what, len(text), maxText)
	}
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			break
		}
		if b.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("%s has a block %s; only certificates belong there", what, b.Type)
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", what, err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New(what + " has no certificate in it (PEM)")
	}
	return out, nil
}

// fits judges a certificate with its chain and gives both as PEM. Errors: [Faults], all of them.
func fits(text, key, issuer []byte, w Wish, now time.Time) (chain []byte, err error) {
	certs, err := certificates(text, "the certificate's file")
	if err != nil {
		return nil, Faults{err.Error()}
	}
	var out Faults
	leaf := certs[0]
	if !belongs(leaf, key) {
		out = append(out, "the certificate is not for the key of this device: it answers another request")
	}
	if leaf.Subject.CommonName != w.DeviceID {
		out = append(out, fmt.Sprintf("its common name is %q, and has to be the device_id %q", leaf.Subject.CommonName, w.DeviceID))
	}
	switch {
	case now.Before(leaf.NotBefore):
		out = append(out, fmt.Sprintf("it is not valid before %s, and here it is %s: is the clock right?", moment(leaf.NotBefore), moment(now)))
	case now.After(leaf.NotAfter):
		out = append(out, fmt.Sprintf("it has ended at %s, and here it is %s", moment(leaf.NotAfter), moment(now)))
	}
	if leaf.IsCA {
		out = append(out, "it is an authority's: with it this device could sign for others")
	}
	if fault := signed(certs, issuer, w.CA, now); fault != "" {
		out = append(out, fault)
	}
	if out != nil {
		return nil, out
	}
	for _, c := range certs {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return chain, nil
}

func belongs(c *x509.Certificate, key []byte) bool {
	b, _ := pem.Decode(key)
	if b == nil {
		return false
	}
	k, err := x509.ParsePKCS8PrivateKey(b.Bytes)
	own, ok := k.(*ecdsa.PrivateKey)
	return err == nil && ok && own.PublicKey.Equal(c.PublicKey)
}

// signed says what is wrong with the way from a certificate to the authorities; "": nothing. Its own time has been judged before, and one fault
// is not told twice.
func signed(certs []*x509.Certificate, issuer, ca []byte, now time.Time) string {
	if len(issuer) == 0 {
		issuer = ca
	}
	if len(issuer) == 0 {
		return "" // the system's authorities sign brokers, and not devices: nobody says here who does
	}
	opts := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: within(certs[0], now), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	roots, err := certificates(issuer, "the authority's file")
	if err != nil {
		return err.Error()
	}
	for _, c := range roots {
		opts.Roots.AddCert(c)
	}
	for _, c := range certs[1:] {
		opts.Intermediates.AddCert(c)
	}
	_, err = certs[0].Verify(opts)
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.IncompatibleUsage {
		return "it is not for clients: its extended key usage lacks clientAuth"
	}
	if err != nil {
		return fmt.Sprintf("its issuer %q is none of the authorities, and its chain does not lead to them: %v", certs[0].Issuer.CommonName, err)
	}
	return ""
}

// within is the moment nearest to now at which a certificate is valid.
func within(c *x509.Certificate, now time.Time) time.Time {
	switch {
	case now.Before(c.NotBefore):
		return c.NotBefore
	case now.After(c.NotAfter):
		return c.NotAfter
	}
	return now
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// MaxTrusted is how many keys are believed at a time: one, and the one that replaces it.
const MaxTrusted = 2

// TrustedKeys reads a PEM text of one or two Ed25519 public keys.
func TrustedKeys(text []byte) (keys []ed25519.PublicKey, err error) {
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			break
		}
		parsed, err := x509.ParsePKIXPublicKey(b.Bytes)
		key, ok := parsed.(ed25519.PublicKey)
		if err != nil || !ok {
			return nil, fmt.Errorf("block %d (%s) is no Ed25519 public key", len(keys)+1, b.Type)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > MaxTrusted {
		return nil, fmt.Errorf("it has %d keys, and has to have 1 or %d", len(keys), MaxTrusted)
	}
	return keys, nil
}
