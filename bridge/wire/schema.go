package wire

import "embed"

//go:embed schema/*.json
var schemas embed.FS

// Schema is the JSON Schema (2020-12) of a body, nil for a type that this agent does not have. It is for readers outside: Decode
// does not use it, a test holds the two together. What no schema can say (step ids are unique) is in docs/contract.md.
func Schema(t Type) []byte {
	if _, ok := bodies[t]; !ok {
		return nil
	}
	return schemaFile(string(t))
}

// EnvelopeSchema is the JSON Schema of the envelope. It refers to the bodies by their $id.
func EnvelopeSchema() []byte { return schemaFile("envelope") }

func schemaFile(name string) []byte {
	data, err := schemas.ReadFile("schema/" + name + ".json")
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return data
}
