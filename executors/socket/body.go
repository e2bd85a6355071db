package socket

import (
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager/core/condition"
)

type values = map[string]condition.Value

// The bodies. Their field names are the contract: docs/executor-socket.md.
type registerBody struct {
	Protocol int      `cbor:"protocol"`
	Service  string   `cbor:"service"`
	Instance string   `cbor:"instance"`
	Methods  []string `cbor:"methods"`
	Keys     []string `cbor:"keys,omitempty"`
}

type registeredBody struct {
	OK     bool     `cbor:"ok"`
	Reason string   `cbor:"reason,omitempty"`
	Faults []string `cbor:"faults,omitempty"` // every fault of the registration, not only the first
}

type dispatchBody struct {
	Task   string `cbor:"task_id"`
	Method string `cbor:"method"`
	Params values `cbor:"params,omitempty"`
}

type taskBody struct { // query, pause, resume; paused, resumed
	Task string `cbor:"task_id"`
}

type cancelBody struct {
	Task   string `cbor:"task_id"`
	Method string `cbor:"method,omitempty"`
}

type readBody struct {
	Keys []string `cbor:"keys"`
}

type closeBody struct {
	Reason string `cbor:"reason"`
	Detail string `cbor:"detail,omitempty"`
}

type answerBody struct {
	Accepted bool   `cbor:"accepted"`
	Reason   string `cbor:"reason,omitempty"`
}

type statusBody struct {
	Known  string     `cbor:"known"`
	Sealed bool       `cbor:"sealed,omitempty"`
	Paused bool       `cbor:"paused,omitempty"`
	Ended  *endedBody `cbor:"ended,omitempty"`
	Event  *eventBody `cbor:"event,omitempty"`
}

type endedBody struct {
	Outcome string `cbor:"outcome"`
	Reason  string `cbor:"reason,omitempty"`
	Output  values `cbor:"output,omitempty"`
}

type resultBody struct {
	Task    string `cbor:"task_id"`
	Outcome string `cbor:"outcome"`
	Reason  string `cbor:"reason,omitempty"`
	Output  values `cbor:"output,omitempty"`
}

type progressBody struct {
	Task    string  `cbor:"task_id"`
	Percent float64 `cbor:"percent,omitempty"`
	Note    string  `cbor:"note,omitempty"`
}

type eventBody struct {
	Event      string `cbor:"event"`
	Task       string `cbor:"task_id,omitempty"`
	Resource   string `cbor:"resource,omitempty"`
	Source     string `cbor:"source,omitempty"`
	Class      string `cbor:"source_class,omitempty"`
	OccurredAt string `cbor:"occurred_at,omitempty"`
	Seq        int64  `cbor:"seq,omitempty"`
	Reason     string `cbor:"reason,omitempty"`
	Data       values `cbor:"data,omitempty"`
}

type valueBody struct {
	Key       string          `cbor:"key"`
	Value     condition.Value `cbor:"value,omitempty"`
	Class     string          `cbor:"source_class,omitempty"`
	Available bool            `cbor:"available"`
}

type valuesBody struct { // values, context
	Values []valueBody `cbor:"values"`
}

// encMode writes map keys in deterministic order and floats in full width: a program on a small controller need not know half
// floats. What goes through it has passed [wireValue], so that whole numbers are integers.
var encMode = func() cbor.UserBufferEncMode {
	m, err := cbor.EncOptions{
		Sort:          cbor.SortCoreDeterministic,
		NaNConvert:    cbor.NaNConvertReject,
		InfConvert:    cbor.InfConvertReject,
		IndefLength:   cbor.IndefLengthForbidden,
		NilContainers: cbor.NilContainerAsEmpty,
		TagsMd:        cbor.TagsForbidden,
	}.UserBufferEncMode()
	if err != nil {
		panic("internal error: cannot make the CBOR encoder: " + err.Error())
	}
	return m
}()

// decMode is strict: whatever it does not know, it refuses.
var decMode = func() cbor.DecMode {
	m, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:   16,
		MaxArrayElements:  1024,
		MaxMapPairs:       256,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		DefaultMapType:    reflect.TypeFor[map[string]any](),
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		NaN:               cbor.NaNDecodeForbidden,
		Inf:               cbor.InfDecodeForbidden,
	}.DecMode()
	if err != nil {
		panic("internal error: cannot make the CBOR decoder: " + err.Error())
	}
	return m
}()

// decodeBody decodes a frame's body into one of the structs above.
func decodeBody(f frame, into any) error {
	if err := decMode.Unmarshal(f.Body, into); err != nil {
		return badFrame("%s: %v", f.Kind, err)
	}
	return nil
}
