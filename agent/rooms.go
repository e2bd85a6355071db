package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"deviceagent/agent/durable"
	"deviceagent/bridge/catalogfile"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// roomsFile is beside the store. It is not bound to a catalog: the rooms are the home's.
const roomsFile = "rooms.json"

// rooms are those of the robot's map service, else those of the catalog.
type rooms struct {
	path    string
	catalog *catalog.Catalog
	changed chan<- struct{} // for the link
	log     zerolog.Logger

	taking sync.Mutex
	cat    atomic.Pointer[catalog.Catalog]
}

type keptRooms struct {
	Etag  string         `json:"rooms_etag"`
	Rooms []catalog.Room `json:"rooms"`
}

// newRooms takes up the list that was kept. A robot whose catalog names no map service any more has the rooms of its catalog, and a file
// that is not what was written is not taken for one.
func newRooms(stateDir string, c *catalog.Catalog, changed chan<- struct{}, log zerolog.Logger) *rooms {
	r := &rooms{path: filepath.Join(stateDir, roomsFile), catalog: c, changed: changed, log: log}
	r.cat.Store(c)
	if c == nil || c.MapService() == "" {
		return r
	}
	kept, err := readRooms(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		log.Warn().Err(err).Msg("the rooms that were kept cannot be used: those of the catalog hold")
	default:
		r.cat.Store(c.WithRooms(kept.Rooms, kept.Etag))
	}
	return r
}

func readRooms(path string) (kept keptRooms, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return kept, err
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		return kept, fmt.Errorf("cannot read %s: %w", path, err)
	}
	if err := catalogfile.CheckRooms(kept.Rooms); err != nil {
		return kept, fmt.Errorf("cannot use %s: %w", path, err)
	}
	if kept.Etag != catalogfile.RoomsEtag(kept.Rooms) {
		return kept, fmt.Errorf("cannot use %s: it is not as it was written", path)
	}
	return kept, nil
}

// now gives the catalog with the rooms of now.
func (r *rooms) now() *catalog.Catalog { return r.cat.Load() }

// take takes a list of the map service. A bad one is refused as a whole: the last good one stays.
func (r *rooms) take(service core.ServiceID, list []catalog.Room) {
	r.taking.Lock()
	defer r.taking.Unlock()
	if err := catalogfile.CheckRooms(list); err != nil {
		r.log.Warn().Str("service", string(service)).Err(err).Msg("the rooms of the map service are refused: the last good ones stay")
		return
	}
	etag := catalogfile.RoomsEtag(list)
	if kept, err := readRooms(r.path); err != nil || kept.Etag != etag {
		if err := r.keep(keptRooms{etag, list}); err != nil {
			r.log.Warn().Err(err).Msg("the rooms cannot be kept for the next start")
		}
	}
	if etag == r.now().RoomsEtag {
		return
	}
	r.cat.Store(r.catalog.WithRooms(list, etag))
	r.log.Info().Str("service", string(service)).Int("rooms", len(list)).Str("rooms_etag", etag).Msg("rooms of the map service")
	select {
	case r.changed <- struct{}{}:
	default: // it will say what is so then
	}
}

// keep writes the list; a cut leaves the new one or the old one.
func (r *rooms) keep(list keptRooms) error {
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return durable.Write(r.path, data)
}
