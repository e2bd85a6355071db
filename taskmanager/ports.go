package taskmanager

import "deviceagent/taskmanager/core"

// Clock gives the Manager its moments. Boot counts suspend and never jumps; Wall may be wrong, and says so.
type Clock interface {
	Boot() int64 // ms
	BootID() string
	Wall() (ms int64, trusted bool) // Unix ms
	NewNotice() Notice              // of jumps of the wall clock
	NewTimer() Timer
}

// Timer wakes the owner at a moment of the boot clock.
type Timer = interface {
	C() <-chan struct{}
	Reset(bootMS int64)
	Stop()
}

// Notice tells that the wall clock was set, or the machine slept. C may also receive when neither was so.
type Notice = interface {
	C() <-chan struct{}
	Stop()
}

// Executors carries outputs out. Carry never blocks; what an executor answers comes back as events.
type Executors interface{ Carry(core.Output) }

// Source says where a message came from.
type Source string

// The doors. Local messages come from a person or program on the robot: JSON is allowed, and the answer is the caller's return.
const (
	FromCloud Source = "cloud"
	FromLocal Source = "local"
)

// Codec turns messages into events and back. It is pure; package bridge implements it.
type Codec interface {
	// Decode always gives an event: what cannot be let in is a core.Refused with every fault.
	Decode(payload []byte, from Source) core.Event
	// Encode makes the final bytes of an up message, with a new message id.
	Encode(m core.Message, about Envelope) (id string, body []byte, err error)
}

// Envelope is what the Manager adds to a message.
type Envelope struct {
	Epoch    string
	FloorSeq int64 // the lowest sequence that is not receipted
	WallMS   int64 // 0: not known
}
