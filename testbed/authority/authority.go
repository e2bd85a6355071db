// Package authority is a maker's certificate authority for tests: it signs what devices ask for, makes certificates of brokers and planners,
// and spoils a certificate where a test wants a bad one. It promises certificates that OpenSSL takes, and must not be linked into a program
// that is delivered.
package authority

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Authority signs.
type Authority struct {
	Key  *ecdsa.PrivateKey
	Cert *x509.Certificate
	PEM  []byte
}

// New makes an authority that signs itself.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().AddDate(-2, 0, 0), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &Authority{key, cert, Block("CERTIFICATE", der)}, err
}

// Block writes one block of PEM.
func Block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Sign answers the request of a device, PEM, once its signature has been found good. change may spoil the certificate before it is signed.
func (a *Authority) Sign(request string, change func(*x509.Certificate)) ([]byte, error) {
	b, _ := pem.Decode([]byte(request))
	if b == nil || b.Type != "CERTIFICATE REQUEST" {
		return nil, fmt.Errorf("cannot read the request: %.40q", request)
	}
	req, err := x509.ParseCertificateRequest(b.Bytes)
	if err == nil {
		err = req.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take the request: %w", err)
	}
	form := client(req.Subject.CommonName)
	form.PublicKey = req.PublicKey
	if change != nil {
		change(form)
	}
	return a.certify(form, form.PublicKey)
}

func client(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

func (a *Authority) certify(form *x509.Certificate, key crypto.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	form.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, form, a.Cert, key, a.Key)
	return Block("CERTIFICATE", der), err
}

// Pair makes a certificate, and its key, for somebody on this machine, for both sides of a connection; it is good between two moments.
func (a *Authority) Pair(name string, from, to time.Time) (tls.Certificate, error) {
	form := client(name)
	form.NotBefore, form.NotAfter, form.IPAddresses = from, to, []net.IP{net.IPv4(127, 0, 0, 1)}
	form.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	cert, key, err := a.pair(form)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// Broker makes the certificate and key of a broker on this machine, PEM.
func (a *Authority) Broker() (cert, key []byte, err error) {
	form := client("broker")
	form.ExtKeyUsage, form.IPAddresses, form.DNSNames = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
	return a.pair(form)
}

// Client makes the certificate and key of somebody who connects, PEM.
func (a *Authority) Client(name string) (cert, key []byte, err error) { return a.pair(client(name)) }

func (a *Authority) pair(form *x509.Certificate) (cert, key []byte, err error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	cert, err = a.certify(form, k.Public())
	der, derr := x509.MarshalPKCS8PrivateKey(k)
	return cert, Block("PRIVATE KEY", der), errors.Join(err, derr)
}
