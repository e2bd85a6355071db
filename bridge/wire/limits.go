package wire

// Bounds that are not settings. Source: docs/contract.md, section 2.
const (
	maxArray    = 1024      // elements of one array
	maxPairs    = 256       // members of one object
	maxSteps    = 1024      // the most that the setting for steps may ask for
	maxItems    = 64 * 1024 // values in one message: an honest one has far fewer, and each costs memory when decoded
	maxFaults   = 64        // faults reported for one message: the ack that carries them has a size too
	maxSafeInt  = 1<<53 - 1 // the largest integer that every reader of JSON holds exactly
	maxPathName = 64        // bytes of an unknown member's name that are repeated in a path
)

// DefaultLimits are the limits of the contract: message 256 KiB, 128 steps, nesting 16, strings 8 KiB, ids 128 characters.
func DefaultLimits() Limits {
	return Limits{MessageBytes: 256 << 10, Steps: 128, Nesting: 16, StringBytes: 8 << 10, IDChars: 128}
}

// effective fills what is not set with the defaults. Nothing may be raised above the contract but Steps, up to 1,024.
func (l Limits) effective() Limits {
	d := DefaultLimits()
	return Limits{
		MessageBytes: bounded(l.MessageBytes, d.MessageBytes, d.MessageBytes),
		Steps:        bounded(l.Steps, d.Steps, maxSteps),
		Nesting:      bounded(l.Nesting, d.Nesting, d.Nesting),
		StringBytes:  bounded(l.StringBytes, d.StringBytes, d.StringBytes),
		IDChars:      bounded(l.IDChars, d.IDChars, d.IDChars),
	}
}

func bounded(v, unset, most int64) int64 {
	if v <= 0 {
		return unset
	}
	return min(v, most)
}
