package bus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	godbus "github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// line is one real connection to the daemon. Its reads and writes block the thread, which in a bubble keeps time from passing.
type line struct {
	fd     int
	got    []byte // read, and not yet taken
	serial uint32 // of our own questions
}

// answerTime bounds the wait for the daemon, in real seconds: far more than the slowest machine needs.
const answerTime = 120

func dial(socket string) (*line, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	limit := unix.Timeval{Sec: answerTime}
	for _, set := range []func() error{
		func() error { return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit) },
		func() error { return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit) },
		func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: socket}) },
	} {
		if err := set(); err != nil {
			return nil, errors.Join(err, unix.Close(fd))
		}
	}
	return &line{fd: fd, serial: firstSerial}, nil
}

func (l *line) close() { _ = unix.Close(l.fd) }

func (l *line) write(p []byte) error {
	for len(p) > 0 {
		n, err := unix.SendmsgN(l.fd, p, nil, nil, unix.MSG_NOSIGNAL)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		default:
			p = p[n:]
		}
	}
	return nil
}

// need reads until ready says how many bytes belong together, and takes them.
func (l *line) need(ready func([]byte) int) ([]byte, error) {
	for {
		if n := ready(l.got); n > 0 && n <= len(l.got) {
			out := bytes.Clone(l.got[:n])
			l.got = l.got[n:]
			return out, nil
		}
		buf := make([]byte, 64<<10)
		n, err := unix.Read(l.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return nil, fmt.Errorf("the bus has been silent for %d s", answerTime)
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.EOF
		default:
			l.got = append(l.got, buf[:n]...)
		}
	}
}

// textLine says how long the line of the handshake is that p begins with; 0: it has not ended.
func textLine(p []byte) int {
	const end = "\r\n"
	if i := bytes.Index(p, []byte(end)); i >= 0 {
		return i + len(end)
	}
	return 0
}

// frame says how long the message is that p begins with; 0: not known yet. Source: D-Bus specification, message format.
func frame(p []byte) int {
	const fixed = 16
	if len(p) < fixed {
		return 0
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if p[0] == 'B' {
		order = binary.BigEndian
	}
	body, fields := int(order.Uint32(p[4:])), int(order.Uint32(p[12:]))
	return fixed + (fields+7)/8*8 + body
}

// firstSerial keeps our own questions apart from those of the connection's owner, who counts from 1.
const firstSerial = 0xf000_0000

// ask sends a question to the daemon itself, hands every message to other that is not the answer, and returns the answer.
func (l *line) ask(member string, other func(raw []byte, m *godbus.Message), args ...any) (*godbus.Message, error) {
	m := &godbus.Message{Type: godbus.TypeMethodCall, Body: args, Headers: map[godbus.HeaderField]godbus.Variant{
		godbus.FieldDestination: godbus.MakeVariant("org.freedesktop.DBus"), godbus.FieldPath: godbus.MakeVariant(godbus.ObjectPath("/org/freedesktop/DBus")),
		godbus.FieldInterface: godbus.MakeVariant("org.freedesktop.DBus"), godbus.FieldMember: godbus.MakeVariant(member)}}
	if len(args) > 0 {
		m.Headers[godbus.FieldSignature] = godbus.MakeVariant(godbus.SignatureOf(args...))
	}
	var raw bytes.Buffer
	if err := m.EncodeTo(&raw, binary.LittleEndian); err != nil {
		return nil, err
	}
	l.serial++
	binary.LittleEndian.PutUint32(raw.Bytes()[8:], l.serial) // the library gives numbers to messages of its own connections only
	if err := l.write(raw.Bytes()); err != nil {
		return nil, err
	}
	for {
		got, err := l.need(frame)
		if err != nil {
			return nil, err
		}
		m, err := godbus.DecodeMessage(bytes.NewReader(got))
		if err != nil {
			return nil, err
		}
		if to, ok := m.Headers[godbus.FieldReplySerial]; ok && to.Value() == l.serial {
			return m, nil
		}
		if other != nil {
			other(got, m)
		}
	}
}

// enter is the handshake and the hello of a connection of our own.
func (l *line) enter() error {
	if err := l.write(fmt.Appendf(nil, "\x00AUTH EXTERNAL %x\r\n", fmt.Sprint(unix.Geteuid()))); err != nil {
		return err
	}
	if _, err := l.need(textLine); err != nil {
		return err
	}
	if err := l.write([]byte("BEGIN\r\n")); err != nil {
		return err
	}
	_, err := l.ask("Hello", nil)
	return err
}
