package scenario

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/bus"
	"deviceagent/testbed/robot"
)

// Way is how the agent reaches the functions of the robot.
type Way string

const (
	Socket Way = "socket" // one program on the executor socket, in memory
	DBus   Way = "dbus"   // several services with our own interface, on a real dbus-daemon of the scenario's own
	Vendor Way = "vendor" // services of another maker there, with interfaces of their own, mapped by the catalog
)

// Ways names all of them.
var Ways = []Way{Socket, DBus, Vendor}

// ParseWay reads a name of [Ways].
func ParseWay(text string) (Way, error) {
	for _, w := range Ways {
		if string(w) == text {
			return w, nil
		}
	}
	return "", fmt.Errorf("cannot reach the robot over %q: known are %v", text, Ways)
}

// catalogOver is the catalog with its operations bound to where they are on this way.
func catalogOver(w Way) (cat *catalog.Catalog, words catalogfile.Planner, err error) {
	if w == Socket {
		return catalogfile.Load(defaults.Files)
	}
	dir, err := os.MkdirTemp("", "catalog-")
	if err != nil {
		return nil, words, err
	}
	defer os.RemoveAll(dir)
	write := robot.WriteCatalog
	if w == Vendor {
		write = robot.WriteVendorCatalog
	}
	if err := write(dir); err != nil {
		return nil, words, err
	}
	return catalogfile.Load(os.DirFS(dir))
}

// inBubble plays in virtual time. On a bus that bus is a new one, and what went wrong with it is an error.
func (r *Runner) inBubble(t *testing.T, play func(*bus.Ferry) error) (err error) {
	if r.way == Socket {
		synctest.Test(t, func(*testing.T) { err = play(nil) })
		return err
	}
	d, err := bus.Start() // outside: nobody in a bubble may wait for a process
	if err != nil {
		return err
	}
	f := bus.NewFerry(d)
	synctest.Test(t, func(*testing.T) {
		defer f.Close()
		err = play(f)
	})
	return errors.Join(err, f.Err(), d.Stop())
}
