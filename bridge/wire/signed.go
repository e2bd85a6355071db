package wire

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/veraison/go-cose"
)

// ReasonSignature refuses a message that is not signed although it has to be, that was changed after it was signed, or that a key has
// signed which is not known here.
const ReasonSignature = "bad_signature"

// Keys are the public keys whose messages are believed, by [KeyID]. While one replaces another both are in it.
type Keys map[string]ed25519.PublicKey

// KeyID names a key by what it is: the first 8 bytes of the SHA-256 of the 32 bytes of the public key.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return string(sum[:8])
}

// NewKeys makes a set.
func NewKeys(keys ...ed25519.PublicKey) Keys {
	set := Keys{}
	for _, k := range keys {
		set[KeyID(k)] = k
	}
	return set
}

// signedTag begins a COSE_Sign1 message (RFC 9052, section 4.2): tag 18, and an array of four.
var signedTag = []byte{0xd2, 0x84}

// signatureBytes is what a signature adds to a message at most. It does not count against the limit of the message.
const signatureBytes = 128

// Sign puts a CBOR envelope, as [Encode] makes it, into a COSE_Sign1 by Ed25519. The same envelope and key give the same bytes.
func Sign(envelope []byte, key ed25519.PrivateKey) ([]byte, error) {
	if !bytes.HasPrefix(envelope, selfDescribed) {
		return nil, errors.New("cannot sign message: it is not in CBOR")
	}
	signer, err := cose.NewSigner(cose.AlgorithmEdDSA, key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign message: %w", err)
	}
	m := cose.NewSign1Message()
	m.Headers.Protected.SetAlgorithm(cose.AlgorithmEdDSA)
	m.Headers.Protected[cose.HeaderLabelKeyID] = []byte(KeyID(key.Public().(ed25519.PublicKey)))
	m.Payload = envelope
	if err := m.Sign(nil, nil, signer); err != nil {
		return nil, fmt.Errorf("cannot sign message: %w", err)
	}
	return m.MarshalCBOR()
}

// opened takes the signature off a message, once it is known to be good. One without a signature passes as it is, unless all have to have one.
func (o Options) opened(data []byte) ([]byte, *syntaxFault) {
	if !bytes.HasPrefix(data, signedTag) {
		if o.Signed {
			return nil, unsigned("the message is not signed, and this device takes signed ones only")
		}
		return data, nil
	}
	var m cose.Sign1Message
	if err := m.UnmarshalCBOR(data); err != nil {
		return nil, unsigned("the signature cannot be read: %v", err)
	}
	if same, err := m.MarshalCBOR(); err != nil || !bytes.Equal(same, data) {
		return nil, unsigned("the signature is not written in the one deterministic form")
	}
	// What is not under the signature could be anybody's: there must be nothing.
	kid, _ := m.Headers.Protected[cose.HeaderLabelKeyID].([]byte)
	if alg, err := m.Headers.Protected.Algorithm(); err != nil || alg != cose.AlgorithmEdDSA || len(m.Headers.Protected) != 2 || len(m.Headers.Unprotected) != 0 {
		return nil, unsigned("the signature must be EdDSA with its algorithm and key id under it, and nothing else")
	}
	key, known := o.Keys[string(kid)]
	if !known {
		return nil, unsigned("the key %s is not known on this device", hex.EncodeToString(kid[:min(len(kid), 8)]))
	}
	verifier, err := cose.NewVerifier(cose.AlgorithmEdDSA, key)
	if err != nil {
		return nil, unsigned("the key %s cannot be used: %v", hex.EncodeToString(kid), err)
	}
	if m.Verify(nil, verifier) != nil {
		return nil, unsigned("the message was changed after the key %s had signed it", hex.EncodeToString(kid))
	}
	if !bytes.HasPrefix(m.Payload, selfDescribed) {
		return nil, unsigned("what is signed is no message in CBOR")
	}
	return m.Payload, nil
}

func unsigned(format string, args ...any) *syntaxFault {
	return &syntaxFault{ReasonSignature, 0, fmt.Sprintf(format, args...)}
}
