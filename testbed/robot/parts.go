package robot

import (
	"fmt"
	"slices"
	"strings"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/home"
)

// part is one of the robot's services on a bus: a program of its own for whoever looks from there, with a connection and a name of its
// own. Together the parts serve all that the home can do.
type part struct {
	id      core.ServiceID // in the catalog
	methods []string
	keys    []string // of the context
	sources []string // whose events it reports
}

// parts are cut by capability, as a robot's firmware is.
var parts = []part{
	{"mover", []string{"setMoveTo", "setMoving", "stopMovement"}, []string{"movement.is_moving", "movement.location", "safety.state"},
		[]string{"movement_manager", "safety_controller"}},
	{"station", []string{"getBatteryStatus", "returnToStation"}, []string{"battery.charging", "battery.level", "station.docked"},
		[]string{"battery_manager", "station"}},
	{"cleaner", []string{"setAirCleanerOperation", "setStatusClean", "startBasicAirClear", "stopCleaning"}, []string{"cleaning.is_running"},
		[]string{"cleaning_manager"}},
	{"sensors", []string{"getAirQuality"}, []string{"air.grade", "air.pm25"}, []string{"air_sensor"}},
	{"vital", []string{"startVitalSign"}, nil, []string{"vital_service"}},
	{"speech", []string{"ampStop", "setLlmTts", "stopTts"}, []string{"voice.state"}, []string{"speech_service", "voice_service"}},
	{"panel", []string{"getConfig", "setConfig", "setDeviceStatus", "setMannerMode", "setNightMode", "setScreen", "setVolume"},
		[]string{"display.brightness", "mode.manner", "mode.night", "sound.muted", "sound.volume"},
		[]string{"display_manager", "mode_manager", "people", "pui", "sound_manager"}},
}

// whole is all parts as one service, for those who want one place for everything. Whoever listens to it must not listen to a part.
var whole = part{id: "home", methods: home.Methods(), keys: home.Keys()}

// Where the robot's services are on a bus: this, and the part with a capital letter.
const (
	BusPrefix     = "org.deviceagent.testbed"
	BusPathPrefix = "/org/deviceagent/testbed"
)

// Where the whole robot is as one service.
const (
	BusName = BusPrefix + ".Home"
	BusPath = BusPathPrefix + "/Home"
)

// Services names the services that the robot can be on a bus.
func Services() (names []string) {
	for _, p := range everywhere() {
		names = append(names, string(p.id))
	}
	return names
}

func everywhere() []part { return append(slices.Clone(parts), whole) }

// served are the services of these names; nil: all.
func served(names []string) (out []part, err error) {
	if names == nil {
		return everywhere(), nil
	}
	for _, name := range names {
		i := slices.IndexFunc(everywhere(), func(p part) bool { return string(p.id) == name })
		if i < 0 {
			return nil, fmt.Errorf("cannot be the service %q: known are %s", name, strings.Join(Services(), " "))
		}
		out = append(out, everywhere()[i])
	}
	return out, nil
}

// speaksFor says whether it tells events of a source.
func (p part) speaksFor(source string) bool {
	return p.id == whole.id || slices.Contains(p.sources, source)
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func (p part) name() string { return BusPrefix + "." + title(string(p.id)) }
func (p part) path() godbus.ObjectPath {
	return godbus.ObjectPath(BusPathPrefix + "/" + title(string(p.id)))
}

// bindingOf is how a catalog binds a method to its part.
func bindingOf(m string) *catalog.Binding {
	i := slices.IndexFunc(parts, func(p part) bool { return slices.Contains(p.methods, m) })
	if i < 0 {
		return nil
	}
	p := parts[i]
	b := catalog.Binding{Kind: "dbus", Name: string(p.id), DBus: &catalog.DBus{Service: p.name(), Path: string(p.path())}}
	for _, k := range p.keys {
		b.DBus.Keys = append(b.DBus.Keys, catalog.ContextKey(k))
	}
	return &b
}
