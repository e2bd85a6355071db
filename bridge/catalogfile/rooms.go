package catalogfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

// Bounds of a list of rooms that comes at run time: it has to fit into a status. Names and ids: as in rooms.schema.json.
const (
	maxRooms     = 256
	maxRoomName  = 200      // letters
	maxRoomsText = 32 << 10 // bytes of all ids, names and aliases
)

var roomID = regexp.MustCompile("^[a-z][a-z0-9_]*$")

// CheckRooms finds what is wrong with a list that comes from a map service, by the rules for rooms.json. Errors: all faults, joined.
func CheckRooms(rooms []catalog.Room) error {
	if n := len(rooms); n < 1 || n > maxRooms {
		return fmt.Errorf("%d rooms; a home has 1 to %d", n, maxRooms)
	}
	var errs []error
	size := 0
	for i, r := range rooms {
		if !roomID.MatchString(string(r.ID)) {
			errs = append(errs, fmt.Errorf("row %d: %.64q is no id; those look like living_room", i, r.ID))
		}
		size += len(r.ID)
		for _, name := range append([]string{r.Name}, r.Aliases...) {
			if n := len([]rune(name)); n < 1 || n > maxRoomName {
				errs = append(errs, fmt.Errorf("row %d: a name of %d letters; it has 1 to %d", i, n, maxRoomName))
			}
			size += len(name)
		}
	}
	if size > maxRoomsText {
		errs = append(errs, fmt.Errorf("ids, names and aliases take %d bytes; at most %d fit into a status", size, maxRoomsText))
	}
	for _, f := range catalog.CheckRooms(rooms) {
		errs = append(errs, fmt.Errorf("%s: %s", strings.TrimSuffix(f.Entry+"."+f.Path, "."), f.Message))
	}
	return errors.Join(errs...)
}
