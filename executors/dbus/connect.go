package dbus

import (
	"context"
	"errors"
	"fmt"
	"net"

	godbus "github.com/godbus/dbus/v5"
)

// Dial opens a line to a bus. A test hands one in that reaches a real bus in another way than by its address.
type Dial func(context.Context) (net.Conn, error)

// Connect connects privately: by dial, or where that is nil to the address ("": the system bus). ctx bounds the dialling alone; the life
// of the connection is among the options. Errors: the bus is not there, or does not let us in.
func Connect(ctx context.Context, address string, dial Dial, opts ...godbus.ConnOption) (c *godbus.Conn, err error) {
	switch {
	case dial != nil:
		c, err = over(ctx, dial, opts)
	case address == "":
		c, err = godbus.ConnectSystemBus(opts...)
	default:
		c, err = godbus.Connect(address, opts...)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the bus: %w", err)
	}
	return c, nil
}

func over(ctx context.Context, dial Dial, opts []godbus.ConnOption) (*godbus.Conn, error) {
	line, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	c, err := godbus.NewConn(line, opts...)
	if err != nil {
		return nil, errors.Join(err, line.Close())
	}
	if err = c.Auth(nil); err == nil {
		err = c.Hello()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
