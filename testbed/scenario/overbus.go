package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/executors/dbus"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

// onTheBus does something to the bus itself: "kill" the daemon, "begin" it again, or let a stranger "forge" the word that the move which
// runs has arrived in a ROOM.
func (h *house) onTheBus(arg string) error {
	if h.ferry == nil {
		return errors.New("there is no bus: play it --over dbus or vendor")
	}
	switch verb, rest, _ := strings.Cut(arg, " "); verb {
	case "kill":
		h.ferry.Kill()
		return nil
	case "begin":
		return h.ferry.Begin()
	case "forge":
		return h.forge(rest)
	}
	return fmt.Errorf("bus %q: want kill, begin, or forge with a room", arg)
}

// forge lets somebody who owns no name say to everybody on the bus, each by his address, what only the robot's service may say.
func (h *house) forge(room string) error {
	log := h.log.all()
	i := slices.IndexFunc(log, func(e home.Entry) bool { return e.Kind == home.KindInvoke && e.Method == "setMoveTo" })
	if i < 0 {
		return errors.New("no move runs that a word could be forged about")
	}
	stranger, err := dbus.Connect(context.Background(), "", h.ferry.Dial)
	if err != nil {
		return err
	}
	defer stranger.Close()
	var names []string
	if err := stranger.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names); err != nil {
		return err
	}
	for _, to := range names {
		if !strings.HasPrefix(to, ":") {
			continue
		}
		for _, m := range h.forged(log[i].TaskID, room) {
			m.Headers[godbus.FieldDestination] = godbus.MakeVariant(to)
			if c := stranger.Send(m, nil); c.Err != nil {
				return c.Err
			}
		}
	}
	return nil
}

// forged are the signals of an arrival, in the words of the robot's service.
func (h *house) forged(task, room string) []*godbus.Message {
	variant := godbus.MakeVariant
	if h.way == Vendor {
		const at, iface = "/com/acme/Navigator", robot.VendorPrefix + ".Navigator1"
		return []*godbus.Message{signal(at, iface, "Located", map[string]godbus.Variant{"room": variant(room)}),
			signal(at, iface, "Motion", int32(2), task, room, ""), signal(at, iface, "GoalEnded", task, int32(0), "")}
	}
	const at = robot.BusPathPrefix + "/Mover"
	none := map[string]godbus.Variant{}
	return []*godbus.Message{
		signal(at, dbus.Interface, "Context", map[string]godbus.Variant{"movement.location": variant(room)}, []string{}),
		signal(at, dbus.Interface, "Event", "movement.arrived", map[string]godbus.Variant{"task_id": variant(task), "resource": variant("base"),
			"source_class": variant("independent"), "data": variant(map[string]godbus.Variant{"room_id": variant(room)})}),
		signal(at, dbus.Interface, "Result", task, "done", "", none)}
}

func signal(path, iface, member string, args ...any) *godbus.Message {
	return &godbus.Message{Type: godbus.TypeSignal, Body: args, Headers: map[godbus.HeaderField]godbus.Variant{
		godbus.FieldPath: godbus.MakeVariant(godbus.ObjectPath(path)), godbus.FieldInterface: godbus.MakeVariant(iface),
		godbus.FieldMember: godbus.MakeVariant(member), godbus.FieldSignature: godbus.MakeVariant(godbus.SignatureOf(args...))}}
}
