package firmware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	godbus "github.com/godbus/dbus/v5"
)

// What a bus calls itself, and what it may be asked.
const (
	busName      = "org.freedesktop.DBus"
	properties   = busName + ".Properties"
	ownerChanged = busName + ".NameOwnerChanged"
	busError     = busName + ".Error."
)

// Bounds of the traffic. A bus that does not read for writeTime is lost: it has 200 kB of ours in its socket then.
const (
	askTime   = 10 * time.Second // a question to the bus itself
	entryTime = 10 * time.Second // until the bus has let us in
	writeTime = 5 * time.Second
)

// bounded is a connection on which no write waits for ever. A write that fails may have left half a message behind, so it ends the connection;
// and a library that waits for a write cannot be told to close.
type bounded struct{ net.Conn }

func (w bounded) Write(b []byte) (int, error) {
	_ = w.SetWriteDeadline(time.Now().Add(writeTime))
	n, err := w.Conn.Write(b)
	if err != nil {
		_ = w.Conn.Close()
	}
	return n, err
}

// addressOf is where the system bus is, unless another one is named. Source: the D-Bus specification, well-known buses.
func addressOf(address string) string {
	return cmp.Or(address, os.Getenv("DBUS_SYSTEM_BUS_ADDRESS"), "unix:path=/run/dbus/system_bus_socket")
}

// dial opens the first of the addresses that answers. Only unix sockets are dialled: who calls is known by the kernel there, and nowhere else.
func dial(ctx context.Context, addresses string, within time.Duration) (net.Conn, error) {
	err := errors.New("no address of the form unix:path=… or unix:abstract=…")
	for address := range strings.SplitSeq(addresses, ";") {
		path, ok := socketPath(address)
		if !ok {
			continue
		}
		var conn net.Conn
		if conn, err = (&net.Dialer{Timeout: within}).DialContext(ctx, "unix", path); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// socketPath is the socket of an address; an abstract one begins with "@".
func socketPath(address string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(address), "unix:")
	if !ok {
		return "", false
	}
	for kv := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(kv, "=")
		value, err := godbus.UnescapeBusAddressValue(value)
		switch {
		case err != nil || value == "":
		case key == "path":
			return value, true
		case key == "abstract":
			return "@" + value, true
		}
	}
	return "", false
}

// connect opens a private connection that lives as long as ctx. What is bounded is the handshake: a bus may be there and stand still.
func (s *Service) connect(ctx context.Context, signals godbus.SignalHandler) (*godbus.Conn, error) {
	raw, err := dial(ctx, addressOf(s.o.Address), s.o.entry)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the bus: %w", err)
	}
	conn, err := godbus.NewConn(bounded{raw}, godbus.WithContext(ctx), godbus.WithSignalHandler(signals))
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	_ = raw.SetReadDeadline(time.Now().Add(s.o.entry))
	err = conn.Auth(nil)
	if err == nil {
		err = conn.Hello()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot enter the bus: %w", err), conn.Close())
	}
	_ = raw.SetReadDeadline(time.Time{})
	return conn, nil
}

// maxSignals bounds the signals that wait to be read: a few a second are usual, of names that go.
const maxSignals = 256

// inbox takes signals in the order of the bus and never blocks it. The library's own handler would start a goroutine for each and lose
// their order. More than fit are a flood, after which nothing is known of who is there: the session ends and asks anew.
type inbox struct {
	ch  chan *godbus.Signal
	end context.CancelCauseFunc
}

var errFlood = errors.New("signals came faster than they are read")

// DeliverSignal implements [godbus.SignalHandler].
func (i inbox) DeliverSignal(_, _ string, sig *godbus.Signal) {
	select {
	case i.ch <- sig:
	default:
		i.end(errFlood)
	}
}

// session is one life of the connection.
type session struct {
	*Service
	conn  *godbus.Conn
	in    inbox
	since time.Time // when the name was taken
}

// serve is one life on the bus: enter it, take the name, tell what is so, and answer until something ends it.
func (s *Service) serve(ctx context.Context, well func()) error {
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	feed, stop := s.o.Agent.Watch() // before the first look, so that nothing falls between them
	defer stop()
	ses := &session{Service: s, in: inbox{make(chan *godbus.Signal, maxSignals), end}}
	var err error
	if ses.conn, err = s.connect(life, ses.in); err != nil {
		return err
	}
	defer ses.conn.Close()
	defer s.leases.clear() // their owners are known on this bus only
	if err := ses.enter(life); err != nil {
		return err
	}
	well()
	s.o.Log.Info().Str("name", Name).Msg("on the bus")
	return ses.run(life, feed)
}

// enter answers on the object before the name is there, so that nobody finds the one without the other.
func (s *session) enter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if err := s.export(); err != nil {
		return err
	}
	if err := s.conn.AddMatchSignalContext(ctx, godbus.WithMatchSender(busName), godbus.WithMatchInterface(busName),
		godbus.WithMatchMember("NameOwnerChanged"), godbus.WithMatchArg(2, "")); err != nil {
		return fmt.Errorf("cannot watch the names on the bus: %w", err)
	}
	var got uint32
	if err := s.call(ctx, "RequestName", Name, uint32(godbus.NameFlagDoNotQueue)).Store(&got); err != nil {
		return fmt.Errorf("cannot take the name %s: %w", Name, err)
	}
	if godbus.RequestNameReply(got) != godbus.RequestNameReplyPrimaryOwner {
		var owner string
		_ = s.call(ctx, "GetNameOwner", Name).Store(&owner) // it may be gone by now; then the next try will do
		return fmt.Errorf("%w: %s", errNameTaken, owner)
	}
	s.since = time.Now()
	return nil
}

// call asks the bus itself.
func (s *session) call(ctx context.Context, method string, args ...any) *godbus.Call {
	return s.conn.BusObject().CallWithContext(ctx, busName+"."+method, 0, args...)
}

// heard takes a signal of the bus: a name that went, perhaps that of a lease's owner. Our own name goes with the connection only, since
// we let nobody replace us.
func (s *session) heard(m *godbus.Signal) {
	var name, was, owner string
	if m.Sender == busName && m.Name == ownerChanged && godbus.Store(m.Body, &name, &was, &owner) == nil && owner == "" {
		for _, l := range s.leases.gone(name) {
			s.o.Log.Warn().Str("lease", l.id).Str("owner", l.owner).Str("reason", l.reason).Msg("lease ended with its owner")
		}
	}
}
