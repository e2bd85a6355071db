package netfault

// Fault is one way to go wrong.
type Fault string

// The faults of the line.
const (
	Cut      Fault = "cut"       // every connection is reset, now
	CutShort Fault = "cut_short" // the line is reset in the middle of the next packet
	HalfOpen Fault = "half_open" // every connection goes on and passes nothing more, now; those made later work
	Refuse   Fault = "refuse"    // the next connection is reset at once
	Mute     Fault = "mute"      // the next connection is taken and nothing is answered
	Delay    Fault = "delay"     // each packet takes Options.Delay longer
	Throttle Fault = "throttle"  // each packet takes its size by Options.Rate longer
	GarbleUp Fault = "garble_up" // a bit of the next packet is flipped on its way
	GarbleDn Fault = "garble_down"
	Split    Fault = "split" // each packet comes byte by byte
)

// The faults of a broker.
const (
	DropUp      Fault = "ack_and_drop_up"   // the next message up is acknowledged and goes nowhere
	DropDown    Fault = "ack_and_drop_down" // the next message down is acknowledged and goes nowhere
	NoPuback    Fault = "no_puback"         // the next acknowledgement of a message up does not come
	DoubleUp    Fault = "double_up"
	DoubleDown  Fault = "double_down"
	Reorder     Fault = "reorder"      // the next message down comes after the one behind it
	Replay      Fault = "replay"       // an old message down comes once more
	ReplayKept  Fault = "replay_kept"  // an old message down comes once more, as one that the broker had kept
	Kick        Fault = "kick"         // the connection ends right after its CONNACK
	LoseSession Fault = "lose_session" // the next connection finds no session
	BadSuback   Fault = "bad_suback"   // the next subscription is refused
	Oversize    Fault = "oversize"     // a packet of 200 MB is announced
)

// Faults lists all of them.
var Faults = []Fault{Cut, CutShort, HalfOpen, Refuse, Mute, Delay, Throttle, GarbleUp, GarbleDn, Split,
	DropUp, DropDown, NoPuback, DoubleUp, DoubleDown, Reorder, Replay, ReplayKept, Kick, LoseSession, BadSuback, Oversize}

// Raw says whether the fault works without reading MQTT.
func (f Fault) Raw() bool {
	switch f {
	case Cut, CutShort, HalfOpen, Refuse, Mute, Delay, Throttle, GarbleUp, GarbleDn, Split:
		return true
	}
	return false
}

// Always is a number of times without an end.
const Always = -1
