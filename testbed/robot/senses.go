package robot

import (
	"fmt"
	"math"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
)

// airSensor is com.acme.AirSensor1: properties, a getter that measures anew, and a signal for each reading.
type airSensor struct{ *acme }

var grades = []string{"good", "normal", "bad", "very_bad"}

func newAirSensor(a *acme) (speaker, error) {
	s := &airSensor{a}
	return s, a.export(s, map[string]any{"Pm25": math.NaN(), "Grade": int32(-1)}, "Reading")
}

// Measure takes a reading, which takes a moment.
func (s *airSensor) Measure() (pm25 float64, grade int32, fail *godbus.Error) {
	end, fail := s.whole("getAirQuality")
	pm25, _ = end.Output["pm25"].(float64)
	return pm25, code(grades, end.Output["grade"]), fail
}

// Event tells a reading.
func (s *airSensor) Event(ev core.Observed) error {
	pm25, _ := ev.Data["pm25"].(float64)
	return s.emit("Reading", pm25, code(grades, ev.Data["grade"]))
}

// Context tells the air; without a reading it is no number, and of no grade.
func (s *airSensor) Context(values []core.ContextValue) error {
	for _, v := range values {
		if v.Key == "air.grade" {
			s.set("Grade", code(grades, v.Value))
			continue
		}
		pm25, ok := v.Value.(float64)
		if !ok {
			pm25 = math.NaN()
		}
		s.set("Pm25", pm25)
	}
	return nil
}

// power is com.acme.Power1. It counts charge in half percents.
type power struct{ *acme }

func newPower(a *acme) (speaker, error) {
	p := &power{a}
	return p, a.export(p, map[string]any{"Charge": byte(0), "Charging": false}, "Report")
}

func halves(level any) byte {
	percent, _ := level.(float64)
	return byte(percent * 2)
}

// Status tells charge and charging.
func (p *power) Status() (charge byte, charging bool, fail *godbus.Error) {
	end, fail := p.whole("getBatteryStatus")
	return halves(end.Output["level"]), end.Output["charging"] == true, fail
}

// Event tells a change.
func (p *power) Event(ev core.Observed) error {
	return p.emit("Report", halves(ev.Data["level"]), ev.Data["charging"] == true)
}

// Context tells the properties.
func (p *power) Context(values []core.ContextValue) error {
	for _, v := range values {
		if v.Key == "battery.level" {
			p.set("Charge", halves(v.Value))
		} else {
			p.set("Charging", v.Value == true)
		}
	}
	return nil
}

// health is com.acme.Health1: each measurement is an object of its own, whose path is its id and which speaks for itself.
type health struct{ *acme }

var phases = []string{"", "vital.started", "vital.completed", "vital.cancelled"}

const sessionIface = VendorPrefix + ".HealthSession1"

func newHealth(a *acme) (speaker, error) {
	h := &health{a}
	return h, a.export(h, nil)
}

func (h *health) session(n uint32) godbus.ObjectPath {
	return godbus.ObjectPath(fmt.Sprintf("%s/session/%d", h.path, n))
}

// Begin begins a measurement.
func (h *health) Begin() (godbus.ObjectPath, *godbus.Error) {
	id, n := newJob()
	a, fail := h.start(id, "startVitalSign", nil)
	if fail == nil && !a.Accepted {
		fail = refusal(a.Reason)
	}
	return h.session(n), fail
}

// Finish breaks a measurement off.
func (h *health) Finish(session godbus.ObjectPath) *godbus.Error {
	var n uint32
	if _, err := fmt.Sscanf(string(session), string(h.path)+"/session/%d", &n); err != nil {
		return acmeError("NoSuchSession", string(session))
	}
	return h.steer(func(f func(core.StopAnswered)) { h.Cancel(core.Stop{Task: jobID(n)}, f) })
}

// Event is told by the measurement's own object.
func (h *health) Event(ev core.Observed) error {
	return h.conn.Emit(h.session(jobOf(ev.Task)), sessionIface+".Phase", code(phases, string(ev.Event)))
}

// Result is told there too.
func (h *health) Result(e core.TaskEnded) error {
	return h.conn.Emit(h.session(jobOf(e.Task)), sessionIface+".Ended", code(ends, string(e.Outcome)), string(e.Reason))
}

// keys is com.acme.Keys1: it only says which key was pressed.
type keys struct{ *acme }

var keyCodes = []string{"", "pui.cancelled", "pui.paused", "pui.resumed", "pui.takeover", "pui.released"}

func newKeys(a *acme) (speaker, error) {
	k := &keys{a}
	return k, a.export(k, nil, "Key")
}

// Event tells a key.
func (k *keys) Event(ev core.Observed) error { return k.emit("Key", code(keyCodes, string(ev.Event))) }

// atlas is com.acme.Maps1: it knows the rooms.
type atlas struct{ *acme }

// room is the struct (ssb): id, name, and whether a way leads there from the station.
type room struct {
	ID, Name  string
	Reachable bool
}

func newMaps(a *acme) (speaker, error) {
	m := &atlas{a}
	return m, a.export(m, nil, "RoomsChanged")
}

// Rooms lists the rooms.
func (m *atlas) Rooms() ([]room, *godbus.Error) {
	plan := m.r.opt.Plan
	var out []room
	for _, r := range plan.Rooms {
		out = append(out, room{r.ID, r.Name, plan.Route(plan.Dock, r.ID) != nil})
	}
	return out, nil
}
