package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"
)

// encMode writes core deterministic CBOR (RFC 8949, section 4.2.1).
var encMode = func() cbor.EncMode {
	opt := cbor.CoreDetEncOptions()
	opt.NaNConvert = cbor.NaNConvertReject
	opt.InfConvert = cbor.InfConvertReject
	opt.OmitEmpty = cbor.OmitEmptyGoValue
	opt.NilContainers = cbor.NilContainerAsEmpty
	opt.TagsMd = cbor.TagsForbidden
	mode, err := opt.EncMode()
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return mode
}()

// appendHead writes a head in its shortest form.
func appendHead(buf []byte, major byte, arg uint64) []byte {
	switch m := major << 5; {
	case arg < 24:
		return append(buf, m|byte(arg))
	case arg < 1<<8:
		return append(buf, m|24, byte(arg))
	case arg < 1<<16:
		return binary.BigEndian.AppendUint16(append(buf, m|25), uint16(arg))
	case arg < 1<<32:
		return binary.BigEndian.AppendUint32(append(buf, m|26), uint32(arg))
	default:
		return binary.BigEndian.AppendUint64(append(buf, m|27), arg)
	}
}

func appendInt(buf []byte, v int64) []byte {
	if v < 0 {
		return appendHead(buf, majorNint, uint64(-1-v))
	}
	return appendHead(buf, majorUint, uint64(v))
}

func appendText(buf []byte, text string) []byte {
	return append(appendHead(buf, majorText, uint64(len(text))), text...)
}

// isInteger says whether a number is written as an integer: it is whole, and in the range that JSON holds exactly.
func isInteger(v float64) bool { return v == math.Trunc(v) && math.Abs(v) <= maxSafeInt }

// appendNumber writes a finite number in the one form that it has: an integer where it is one, else the shortest float.
func appendNumber(buf []byte, v float64) []byte {
	if isInteger(v) {
		return appendInt(buf, int64(v))
	}
	raw, err := encMode.Marshal(v)
	if err != nil {
		panic("internal error: number is not finite: " + err.Error())
	}
	return append(buf, raw...)
}

// appendValue writes a free value. It refuses what JSON cannot hold.
func appendValue(buf []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(buf, majorSimple<<5|simpleNull), nil
	case bool:
		if v {
			return append(buf, majorSimple<<5|simpleTrue), nil
		}
		return append(buf, majorSimple<<5|simpleFalse), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("cannot encode value: %v is not a finite number", v)
		}
		return appendNumber(buf, v), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("cannot encode value: a string is not valid UTF-8")
		}
		return appendText(buf, v), nil
	case []any:
		return appendArray(buf, v)
	case map[string]any:
		return appendObject(buf, v)
	}
	plain, err := normal(v)
	if err != nil {
		return nil, err
	}
	return appendValue(buf, plain)
}

func appendArray(buf []byte, list []any) ([]byte, error) {
	buf = appendHead(buf, majorArray, uint64(len(list)))
	for _, v := range list {
		var err error
		if buf, err = appendValue(buf, v); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

func appendObject(buf []byte, object map[string]any) ([]byte, error) {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	buf = appendHead(buf, majorMap, uint64(len(keys)))
	for _, k := range keys {
		if !utf8.ValidString(k) {
			return nil, fmt.Errorf("cannot encode value: a name is not valid UTF-8")
		}
		var err error
		if buf, err = appendValue(appendText(buf, k), object[k]); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// compareKeys orders names as their encoded bytes: the head holds the length, so the shorter one comes first.
func compareKeys(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare([]byte(a), []byte(b))
}

// readValue reads a free value from bytes that are deterministic CBOR.
func readValue(data []byte, pos int) (any, int, error) {
	h, f := readHead(data, pos)
	if f != nil {
		return nil, 0, f
	}
	switch h.major {
	case majorUint, majorNint:
		return float64(h.int()), h.next, nil
	case majorText:
		if h.arg > uint64(len(data)-h.next) {
			return nil, 0, malformed(pos, "the message ends inside a string")
		}
		end := h.next + int(h.arg)
		return string(data[h.next:end]), end, nil
	case majorArray:
		return readArray(data, h)
	case majorMap:
		return readObject(data, h)
	}
	switch {
	case h.isFloat():
		return h.float(), h.next, nil
	case h.isNull():
		return nil, h.next, nil
	}
	return h.info == simpleTrue, h.next, nil
}

func readArray(data []byte, h head) (any, int, error) {
	list := make([]any, 0, min(h.arg, maxArray))
	at := h.next
	for range h.arg {
		v, next, err := readValue(data, at)
		if err != nil {
			return nil, 0, err
		}
		list, at = append(list, v), next
	}
	return list, at, nil
}

func readObject(data []byte, h head) (any, int, error) {
	object := make(map[string]any, min(h.arg, maxPairs))
	at := h.next
	for range h.arg {
		k, next, err := readValue(data, at)
		if err != nil {
			return nil, 0, err
		}
		name, ok := k.(string)
		if !ok {
			return nil, 0, malformed(at, "a member's name is not text")
		}
		if object[name], at, err = readValue(data, next); err != nil {
			return nil, 0, err
		}
	}
	return object, at, nil
}
