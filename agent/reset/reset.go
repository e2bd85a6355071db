// Package reset gives a robot away: it removes from state_dir what people asked for and said, what was remembered of their home, and the keys
// of the device.
//
// It promises that a reset, once [Ask] has returned, takes place whatever happens, as a whole, before the store is opened again: a cut before
// that leaves everything, a cut after it is finished by the next start. It removes what the agent itself has written, by name, and nothing
// that a link leads to; what else lies there is told and left, since state_dir may be set to a folder that holds other things. It must not
// open the store, or be used while an agent uses it: who calls [Finish] holds the folder ([durable.Hold]).
package reset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"deviceagent/agent/durable"
	"deviceagent/agent/identity"
)

// marker is the wish, on the disk. It goes last.
const marker = "factory-reset"

// ours are the names in state_dir that the agent gives, by their beginnings. The store's own are with its log, its ballast, its damaged and
// its unfinished copies; catalog.new is of older versions.
var ours = []string{"agent.db", "rooms.json", "catalog.good-", "catalog.new", "refused"}

// ballast is what the store gives up on a full disk. Source: docs/store.md.
const ballast = "agent.db.ballast"

// identityFolder is kept for the name of the device. [identity.Place.Forget] empties it.
const identityFolder = "identity"

// Wish is who asked, for the log of the start that carries it out.
type Wish struct {
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
	At  string `json:"at"` // RFC 3339, by the machine's clock
}

// Report is what a reset has done.
type Report struct {
	Wish    Wish     `json:"wish"`
	Removed []string `json:"removed"` // names in state_dir
	Left    []string `json:"left"`    // what the agent does not know, and has left
}

// Ask makes the wish durable. Once is enough: a second one changes nothing.
func Ask(stateDir, by, why string, now time.Time) error {
	if asked, err := Asked(stateDir); asked || err != nil {
		return err
	}
	path := filepath.Join(stateDir, marker)
	text, err := json.Marshal(Wish{By: by, Why: why, At: now.UTC().Format(time.RFC3339)})
	if err == nil {
		err = durable.Write(path, text)
	}
	if errors.Is(err, syscall.ENOSPC) { // a full disk is a reason to reset; the ballast of the store is there for this
		if err = os.Remove(filepath.Join(stateDir, ballast)); err == nil {
			err = durable.Write(path, text)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot ask for a factory reset: %w", err)
	}
	return nil
}

// Asked says whether a reset is to take place.
func Asked(stateDir string) (bool, error) {
	_, err := os.Lstat(filepath.Join(stateDir, marker))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look for a factory reset: %w", err)
	}
	return true, nil
}

// Finish carries out the reset that was asked for. nil: none was. After an error everything is tried again at the next start; until then the
// store must not be opened.
func Finish(stateDir string) (*Report, error) {
	if asked, err := Asked(stateDir); !asked || err != nil {
		return nil, err
	}
	r := &Report{Removed: []string{}, Left: []string{}}
	if text, err := os.ReadFile(filepath.Join(stateDir, marker)); err == nil {
		_ = json.Unmarshal(text, &r.Wish) // who asked is for the log only
	}
	// Keys first: should the power go for good, they are what must not be found. What cannot be removed keeps nothing else from being.
	if err := errors.Join(identity.In(stateDir).Forget(), r.wipe(stateDir)); err != nil {
		return nil, fmt.Errorf("cannot finish the factory reset: %w", err)
	}
	if err := durable.Remove(filepath.Join(stateDir, marker)); err != nil {
		return nil, fmt.Errorf("cannot finish the factory reset: %w", err)
	}
	return r, nil
}

func (r *Report) wipe(stateDir string) error {
	entries, err := os.ReadDir(stateDir)
	for _, e := range entries {
		switch name := e.Name(); {
		case name == marker || name == identityFolder:
		case known(name):
			err = errors.Join(err, durable.Remove(filepath.Join(stateDir, name)))
			r.Removed = append(r.Removed, name)
		default:
			r.Left = append(r.Left, name)
		}
	}
	return err
}

func known(name string) bool {
	return name == marker+".new" || slices.ContainsFunc(ours, func(begin string) bool { return strings.HasPrefix(name, begin) })
}
