// Package wire is the vocabulary that cloud and device speak: the envelope, its bodies, and their two encodings.
//
// Its one job is bytes → checked message and message → bytes. Decode promises that what it accepts has exactly the fields, types,
// sizes and spellings of the contract, whichever encoding carried it, and that what it refuses comes back with every fault named
// by path. It keeps no state, reads no clock, and knows neither the catalog nor the life cycle of a workflow: whether a method
// exists or a revision is late is decided elsewhere.
//
// How both encodings come to accept the same: JSON is turned into deterministic CBOR first, and CBOR has to be deterministic on
// arrival; from there one walk over the bytes checks the shape against the Go types, and one strict decoder fills them.
//
// Contract: docs/contract.md. The JSON Schemas in schema/ say the same for others; tests hold types, checks and schemas together.
package wire
