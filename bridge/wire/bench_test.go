package wire

import "testing"

// BenchmarkDecode reads the three-step plan of the contract.
func BenchmarkDecode(b *testing.B) {
	text := golden(b, "accept")["plan_contract"]
	for name, data := range map[string][]byte{"json": text, "cbor": asCBOR(b, text)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Decode(data, Options{AllowJSON: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	e, err := Decode(golden(b, "accept")["result"], Options{AllowJSON: true, Direction: Up})
	if err != nil {
		b.Fatal(err)
	}
	for _, enc := range []Encoding{CBOR, JSON} {
		b.Run(string(enc), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Encode(e, enc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
