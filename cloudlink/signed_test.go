package cloudlink

import (
	"bytes"
	"crypto/ed25519"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/broker"
)

// F31: where signatures are required, a receipt that nobody signed neither brings the link online nor takes a row away. A forger who
// may publish could otherwise have the robot's reports thrown away.
func TestF31_AReceiptThatNobodySignedIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
		l := &lab{t: t, broker: broker.New(), device: newDevice("a"), done: make(chan error, 1), news: make(chan struct{}, 1)}
		defer l.broker.Close()
		l.witness = l.broker.Subscribe(prefix + "up/+")
		opt := l.options()
		opt.Signed, opt.Keys = true, func() wire.Keys { return wire.NewKeys(key.Public().(ed25519.PublicKey)) }
		l.link = New(opt)
		l.run()
		defer l.end()

		h := l.hellos()[0]
		e := wire.Envelope{V: wire.Version, Type: wire.TypeReceipt, ID: uuid7(2, 1), DeviceID: deviceID,
			SentAt: time.Now().UTC().Format(time.RFC3339), StoreEpoch: epoch, Receipt: &wire.Receipt{Nonce: h.Nonce, Refs: []string{"a"}}}
		plain, err := wire.Encode(e, wire.CBOR)
		if err != nil {
			t.Fatal(err)
		}
		l.down("receipt", plain)
		synctest.Wait()
		l.want(Connecting, ReasonHello)
		if l.device.open() != 1 {
			t.Fatal("the row is gone")
		}
		signed, err := wire.Sign(plain, key)
		if err != nil {
			t.Fatal(err)
		}
		l.down("receipt", signed)
		synctest.Wait()
		l.want(Online, "")
		if l.device.open() != 0 {
			t.Fatal("the row is still there")
		}
	})
}
