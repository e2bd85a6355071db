package catalogfile

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager/core/catalog"
)

// deterministic is RFC 8949 core deterministic encoding: keys sorted, numbers in their shortest form. So neither the order of
// entries nor 20 against 20.0 changes an etag.
var deterministic = func() cbor.EncMode {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return mode
}()

// etag is the hex SHA-256 over the enabled entries as written. Rooms have an etag of their own, since a map service replaces them;
// planner.json holds no capability: of it counts what the device itself says, since that is kept with its questions.
func (s *set) etag() string {
	entries := map[string]map[string]any{}
	for _, f := range files {
		if f.name == "rooms.json" {
			continue
		}
		for _, section := range f.sections {
			if f.name == plannerFile && section != "reasons" && section != "questions" {
				continue
			}
			if (section == "services" || section == "voice") && len(s.sections[section]) == 0 {
				continue // a robot without these keeps the etag that it had before there were any
			}
			entries[section] = map[string]any{}
			for name, n := range s.sections[section] {
				entries[section][name] = n.plain()
			}
		}
	}
	return digest(entries)
}

// RoomsEtag is the etag of a list of rooms, independent of the list's order.
func RoomsEtag(rooms []catalog.Room) string {
	byID := map[string]catalog.Room{}
	for _, r := range rooms {
		byID[string(r.ID)] = r
	}
	return digest(byID)
}

func digest(v any) string {
	data, err := deterministic.Marshal(v)
	if err != nil {
		panic("internal error: " + err.Error()) // only strings, numbers, booleans, lists and maps reach this
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
