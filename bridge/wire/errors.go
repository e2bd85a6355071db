package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Reason codes of faults that this package finds. They are sent in the errors of an ack, so a spelling is for ever.
const (
	ReasonMalformed       = "malformed"         // not well-formed, not deterministic, or not readable as a message at all
	ReasonUnknownField    = "unknown_field"     // a member that the contract does not have
	ReasonWrongType       = "wrong_type"        // for example text where a number belongs
	ReasonMissingField    = "missing_field"     // a member that has to be there
	ReasonBadValue        = "bad_value"         // right type, wrong spelling or out of range
	ReasonTooLarge        = "too_large"         // over one of the limits
	ReasonUnsupported     = "unsupported"       // in the contract, not in this agent; or another contract
	ReasonDuplicateStepID = "duplicate_step_id" // two steps of a plan with one cloud_step_id
)

// DecodeError says all that is wrong with a message. It has at least one fault.
//
// The ids are filled in as far as they could be read and are spelled right, so that the refusal can be acked by ID; where ID is
// empty, by SHA256.
type DecodeError struct {
	Faults   []Fault
	SHA256   string // of the bytes received, hex
	ID       string
	DeviceID string
	Type     Type
}

// Error names the first fault and counts the others.
func (e *DecodeError) Error() string {
	if len(e.Faults) == 0 {
		return "cannot decode message"
	}
	f := e.Faults[0]
	where := ""
	if f.Path != "" {
		where = " at " + f.Path
	}
	more := ""
	if n := len(e.Faults) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("cannot decode message: %s%s: %s%s", f.ReasonCode, where, f.Message, more)
}

func refusal(data []byte, faults ...Fault) *DecodeError {
	sum := sha256.Sum256(data)
	return &DecodeError{Faults: faults, SHA256: hex.EncodeToString(sum[:])}
}

// syntaxFault is a fault of the bytes: it has a position instead of a path, and nothing after it is read.
type syntaxFault struct {
	reason string
	pos    int
	msg    string
}

func (f *syntaxFault) Error() string { return fmt.Sprintf("%s at byte %d", f.msg, f.pos) }

func (f *syntaxFault) fault() Fault {
	return Fault{ReasonCode: f.reason, Message: f.Error()}
}

func malformed(pos int, format string, args ...any) *syntaxFault {
	return &syntaxFault{ReasonMalformed, pos, fmt.Sprintf(format, args...)}
}

func tooLarge(pos int, format string, args ...any) *syntaxFault {
	return &syntaxFault{ReasonTooLarge, pos, fmt.Sprintf(format, args...)}
}
