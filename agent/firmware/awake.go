package firmware

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	godbus "github.com/godbus/dbus/v5"
)

// logind, as it is called on the system bus.
const (
	logindName  = "org.freedesktop.login1"
	logindPath  = godbus.ObjectPath("/org/freedesktop/login1")
	inhibitCall = logindName + ".Manager.Inhibit"
)

// The lock is about sleep alone. Whoever wants the power off gets it: a thermal guard or a person at the switch must not find the agent in
// the way, and a restart is asked for by MayRestart.
const lockWhat = "sleep"

// lockModes are asked for in this order. A device without the rule that lets the agent block may still let it delay.
var lockModes = []string{"block", "delay"}

// awake is one life of the lock: it waits until the body moves, has logind keep the machine awake, and lets go when the body rests. It
// ends by an error when the bus or logind has gone, and the next life takes the lock anew, if the body still moves then.
func (s *Service) awake(ctx context.Context, well func()) error {
	feed, stop := s.o.Agent.Watch()
	defer stop()
	for {
		if err := s.until(ctx, feed, true, nil); err != nil {
			return err
		}
		if err := s.keepAwake(ctx, feed, well); err != nil {
			return err
		}
	}
}

// until waits until the body moves, or rests. It ends early when lost receives.
func (s *Service) until(ctx context.Context, feed Feed, moving bool, lost <-chan error) error {
	for {
		snap, err := s.look(ctx)
		if err == nil && snap.moving == moving {
			return nil
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-lost:
			return err
		case <-feed.Turned:
		}
		for { // the moves themselves are of no interest
			select {
			case <-feed.Moves:
				continue
			default:
			}
			break
		}
		select { // what comes in quick succession is looked at once
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-lost:
			return err
		case <-time.After(calm):
		}
	}
}

// keepAwake holds the lock until the body rests. The connection is there only as long: an idle agent has none to logind.
func (s *Service) keepAwake(ctx context.Context, feed Feed, well func()) error {
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	signals := inbox{make(chan *godbus.Signal, maxSignals), end}
	conn, err := s.connectWithFiles(life, signals)
	if err != nil {
		return err
	}
	defer conn.Close()
	lock, err := takeLock(life, conn)
	if err != nil {
		return err
	}
	defer lock.Close() // this is what lets go
	well()
	lost := make(chan error, 1)
	go func() { lost <- lostLock(life, conn, signals) }()
	return s.until(ctx, feed, false, lost)
}

// connectWithFiles is a connection over which file descriptors travel. Its few small calls fit into any socket: none of them waits.
func (s *Service) connectWithFiles(ctx context.Context, signals godbus.SignalHandler) (*godbus.Conn, error) {
	conn, err := godbus.Dial(addressOf(s.o.Address), godbus.WithContext(ctx), godbus.WithSignalHandler(signals))
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the bus for the lock on sleep: %w", err)
	}
	late := time.AfterFunc(s.o.entry, func() { _ = conn.Close() })
	defer late.Stop()
	err = conn.Auth(nil)
	if err == nil {
		err = conn.Hello()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot enter the bus for the lock on sleep: %w", err), conn.Close())
	}
	return conn, nil
}

// takeLock asks logind for the lock: a file that is the lock as long as it is open. The change of logind's owner is watched first, so that
// no restart falls between.
func takeLock(ctx context.Context, conn *godbus.Conn) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if err := conn.AddMatchSignalContext(ctx, godbus.WithMatchSender(busName), godbus.WithMatchInterface(busName),
		godbus.WithMatchMember("NameOwnerChanged"), godbus.WithMatchArg(0, logindName)); err != nil {
		return nil, fmt.Errorf("cannot watch logind: %w", err)
	}
	var err error
	for _, mode := range lockModes {
		var fd godbus.UnixFD
		if err = conn.Object(logindName, logindPath).CallWithContext(ctx, inhibitCall, godbus.FlagNoAutoStart, lockWhat, "DeviceAgent",
			"the body moves", mode).Store(&fd); err == nil {
			return os.NewFile(uintptr(fd), "lock on sleep"), nil
		}
	}
	return nil, fmt.Errorf("cannot keep the machine awake while the body moves: %w", err)
}

// lostLock returns when the lock may not be one any more: logind has another owner, or the bus is gone.
func lostLock(ctx context.Context, conn *godbus.Conn, signals inbox) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-conn.Context().Done():
			return errors.New("the bus has closed the connection of the lock on sleep")
		case m := <-signals.ch:
			if m.Sender == busName && m.Name == ownerChanged {
				return errors.New("logind has restarted or gone")
			}
		}
	}
}
