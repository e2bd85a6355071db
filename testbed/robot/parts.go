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
	maker   maker    // of its own shape; nil: it has our interface
}

// parts are cut by capability, as a robot's firmware is.
var parts = []part{
	{id: "mover", methods: []string{"setMoveTo", "setMoving", "stopMovement"}, keys: []string{"movement.is_moving", "movement.location", "safety.state"},
		sources: []string{"movement_manager", "safety_controller"}},
	{id: "station", methods: []string{"getBatteryStatus", "returnToStation"}, keys: []string{"battery.charging", "battery.level", "station.docked"},
		sources: []string{"battery_manager", "station"}},
	{id: "cleaner", methods: []string{"setAirCleanerOperation", "setStatusClean", "startBasicAirClear", "stopCleaning"},
		keys: []string{"cleaning.is_running"}, sources: []string{"cleaning_manager"}},
	{id: "sensors", methods: []string{"getAirQuality"}, keys: []string{"air.grade", "air.pm25"}, sources: []string{"air_sensor"}},
	{id: "vital", methods: []string{"startVitalSign"}, sources: []string{"vital_service"}},
	speech,
	{id: panel, methods: panelMethods, keys: panelKeys, sources: []string{"display_manager", "mode_manager", "people", "pui", "sound_manager"}},
}

// speech and the panel's methods and keys are the same on a robot of another maker.
var (
	speech = part{id: "speech", methods: []string{"ampStop", "setLlmTts", "stopTts"}, keys: []string{"voice.state"},
		sources: []string{"speech_service", "voice_service"}}
	panelMethods = []string{"getConfig", "setConfig", "setDeviceStatus", "setMannerMode", "setNightMode", "setScreen", "setVolume", "showText"}
	panelKeys    = []string{"display.brightness", "mode.manner", "mode.night", "quiet_hours", "sound.muted", "sound.volume"}
)

// panel is the part whose program has the buttons, too.
const panel = "panel"

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

// Services names the services that the robot can be on a bus; vendor: one of another maker.
func Services(vendor bool) (names []string) {
	for _, p := range everywhere(vendor) {
		names = append(names, string(p.id))
	}
	return names
}

func everywhere(vendor bool) []part {
	if vendor {
		return vendorParts
	}
	return append(slices.Clone(parts), whole)
}

// served are the services of these names; nil: all.
func served(vendor bool, names []string) (out []part, err error) {
	all := everywhere(vendor)
	if names == nil {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(p part) bool { return string(p.id) == name })
		if i < 0 {
			return nil, fmt.Errorf("cannot be the service %q: known are %s", name, strings.Join(Services(vendor), " "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// speaksFor says whether it tells events of a source.
func (p part) speaksFor(source string) bool {
	return p.id == whole.id || slices.Contains(p.sources, source)
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func (p part) name() string {
	if p.maker != nil {
		return VendorPrefix + "." + title(string(p.id))
	}
	return BusPrefix + "." + title(string(p.id))
}

func (p part) path() godbus.ObjectPath {
	if p.maker != nil {
		return godbus.ObjectPath(vendorPathPrefix + "/" + title(string(p.id)))
	}
	return godbus.ObjectPath(BusPathPrefix + "/" + title(string(p.id)))
}

// bindingOf is how a catalog binds a method to the part that has it; nil: none with our interface has.
func bindingOf(parts []part, m string) *catalog.Binding {
	i := slices.IndexFunc(parts, func(p part) bool { return p.maker == nil && slices.Contains(p.methods, m) })
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
