package robot

import (
	"context"
	"fmt"

	godbus "github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"

	"deviceagent/executors/dbus"
	"deviceagent/testbed/home"
)

// The robot's buttons and controls on a bus: for people and tests, not for the agent.
const (
	ButtonsName  = BusPrefix + ".Buttons"
	ButtonsPath  = BusPathPrefix + "/Buttons"
	ButtonsIface = ButtonsName + "1"
	ControlName  = BusPrefix + ".Control"
	ControlPath  = BusPathPrefix + "/Control"
	ControlIface = ControlName + "1"
)

// argument is one argument of a method or signal, as introspection tells it.
func argument(name, way string) introspect.Arg {
	return introspect.Arg{Name: name, Type: "s", Direction: way}
}

// describe exports an object with what it says of itself.
func describe(conn *godbus.Conn, v any, path godbus.ObjectPath, of introspect.Interface) error {
	if err := conn.Export(v, path, of.Name); err != nil {
		return err
	}
	node := &introspect.Node{Name: string(path), Interfaces: []introspect.Interface{introspect.IntrospectData, of}}
	return conn.Export(introspect.NewIntrospectable(node), path, "org.freedesktop.DBus.Introspectable")
}

func take(conn *godbus.Conn, name string) error {
	reply, err := conn.RequestName(name, godbus.NameFlagDoNotQueue)
	if err == nil && reply != godbus.RequestNameReplyPrimaryOwner {
		err = fmt.Errorf("cannot take the name %s: another program has it", name)
	}
	return err
}

// buttons is org.deviceagent.testbed.Buttons1.
type buttons struct{ r *Robot }

// Press presses a button of [home.Buttons].
func (b buttons) Press(button string) *godbus.Error { return failed(b.r.Command("press " + button)) }

func exportButtons(conn *godbus.Conn, r *Robot) error {
	if err := describe(conn, buttons{r}, ButtonsPath, introspect.Interface{Name: ButtonsIface,
		Methods: []introspect.Method{{Name: "Press", Args: []introspect.Arg{argument("button", "in")}}},
		Signals: []introspect.Signal{{Name: "Pressed", Args: []introspect.Arg{argument("button", "")}}}}); err != nil {
		return err
	}
	return take(conn, ButtonsName)
}

// pressed says on the bus that a person pressed a button. It is called under the robot's lock.
func (r *Robot) pressed(e home.Entry) {
	if b, ok := r.session.(*onBus); ok && b.panel != nil && e.Kind == home.KindButton {
		_ = b.panel.Emit(ButtonsPath, ButtonsIface+".Pressed", e.Text) // a connection that is gone is made anew
	}
}

// control is org.deviceagent.testbed.Control1.
type control struct{ r *Robot }

// Command carries out one line, as on standard input.
func (c control) Command(line string) *godbus.Error { return failed(c.r.Command(line)) }

func failed(err error) *godbus.Error {
	if err == nil {
		return nil
	}
	return godbus.NewError("org.freedesktop.DBus.Error.InvalidArgs", []any{err.Error()})
}

// control keeps the controls on the bus until ctx ends or the connection is lost.
func (b *onBus) control(ctx context.Context) error {
	conn, err := dbus.Connect(ctx, b.r.opt.Bus, b.r.opt.BusDial, godbus.WithContext(ctx))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := describe(conn, control{b.r}, ControlPath, introspect.Interface{Name: ControlIface,
		Methods: []introspect.Method{{Name: "Command", Args: []introspect.Arg{argument("line", "in")}}}}); err != nil {
		return err
	}
	if err := take(conn, ControlName); err != nil {
		return err
	}
	<-conn.Context().Done()
	return nil
}
