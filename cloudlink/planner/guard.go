package planner

import (
	"errors"
	"net"
	"time"
)

// packetLimit is the largest MQTT packet that is read. The client library allocates what a header claims: five bytes can cost 256 MiB.
const packetLimit = 4 << 20

var (
	errPacketSize = errors.New("the broker sent a packet that is too large")
	errSuback     = errors.New("the broker sent a SUBACK of the wrong length") // the client library would panic
)

// guardedConn stands between the broker and the client library: it bounds what the library believes, and each write in time.
type guardedConn struct {
	net.Conn
	frame frame
}

func guard(c net.Conn) net.Conn { return &guardedConn{Conn: c} }

func (g *guardedConn) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if bad := g.frame.feed(p[:n]); bad != nil {
		_ = g.Close()
		return 0, bad
	}
	return n, err
}

func (g *guardedConn) Write(p []byte) (int, error) {
	if err := g.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return g.Conn.Write(p)
}

// frame follows the packet borders of an MQTT stream.
type frame struct {
	kind   byte
	length int
	shift  int
	state  int // 0: at a packet's first byte, 1: in its length, 2: in its body
}

const subackLength = 3 // packet id and one code: one filter is subscribed to at a time

func (f *frame) feed(p []byte) error {
	for len(p) > 0 {
		switch f.state {
		case 0:
			f.kind, f.length, f.shift, f.state = p[0]>>4, 0, 0, 1
			p = p[1:]
		case 1:
			b := p[0]
			p = p[1:]
			f.length |= int(b&0x7f) << f.shift
			f.shift += 7
			if f.length > packetLimit || f.shift > 28 {
				return errPacketSize
			}
			if b&0x80 != 0 {
				continue
			}
			if f.kind == 9 && f.length != subackLength {
				return errSuback
			}
			f.state = 2
			if f.length == 0 {
				f.state = 0
			}
		case 2:
			n := min(f.length, len(p))
			p, f.length = p[n:], f.length-n
			if f.length == 0 {
				f.state = 0
			}
		}
	}
	return nil
}
