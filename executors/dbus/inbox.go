package dbus

import (
	"context"

	godbus "github.com/godbus/dbus/v5"
)

// maxSignals bounds the signals that wait. More of them is a flood, and what is dropped of it could be the end of a task: the session
// ends, and all that its services had in hand is asked for.
const maxSignals = 4096

// inbox takes signals in the order of the connection and never blocks it. The library's own handler would start a goroutine for each
// and lose their order.
type inbox struct {
	ch  chan *godbus.Signal
	end context.CancelCauseFunc
}

func newInbox(end context.CancelCauseFunc) *inbox {
	return &inbox{ch: make(chan *godbus.Signal, maxSignals), end: end}
}

// DeliverSignal implements [godbus.SignalHandler].
func (i *inbox) DeliverSignal(_, _ string, sig *godbus.Signal) {
	select {
	case i.ch <- sig:
	default:
		i.end(errGap)
	}
}
