package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule is what a member must look like beyond its Go type. It stands beside the field, in the struct tag `rule`:
//
//	id          an id that others made: 1 to 128 characters of A-Z a-z 0-9 . _ : -
//	ref         the same, and @ as well, which only ids made by the device have
//	target      a ref, or two with / between them: workflow and step
//	uuid7       a UUID of version 7 in lower case
//	sha256      64 hex digits
//	time        RFC 3339 with a zone
//	text        any text (the limit for strings holds)
//	some        any text but the empty one
//	const=x     exactly x; another one is another contract
//	enum=a|b    one of these; ;later=c|d are of the contract but not of this agent
//	int=lo:hi   the range; without a rule: 0 to 2^53-1
//	min=n       elements of an array; max=steps the limit for steps
//
// On an array of text the rule is for each element.
type rule struct {
	kind     string
	want     []string // const, enum
	later    []string
	lo, hi   int64 // int
	min      int64
	maxSteps bool
}

func parseRule(tag string) (rule, error) {
	r := rule{hi: maxSafeInt}
	if tag == "" {
		return r, nil
	}
	for part := range strings.SplitSeq(tag, ";") {
		name, arg, _ := strings.Cut(part, "=")
		if err := r.add(name, arg); err != nil {
			return rule{}, err
		}
	}
	return r, nil
}

func (r *rule) add(name, arg string) (err error) {
	switch name {
	case "id", "ref", "target", "uuid7", "sha256", "time", "text", "some":
		r.kind = name
	case "const", "enum":
		r.kind, r.want = name, strings.Split(arg, "|")
	case "later":
		r.later = strings.Split(arg, "|")
	case "int":
		lo, hi, _ := strings.Cut(arg, ":")
		if r.lo, err = strconv.ParseInt(lo, 10, 64); err == nil {
			r.hi, err = strconv.ParseInt(hi, 10, 64)
		}
		r.kind = name
	case "min":
		r.min, err = strconv.ParseInt(arg, 10, 64)
	case "max":
		r.maxSteps = true
	default:
		err = fmt.Errorf("cannot read rule %q", name)
	}
	return err
}

// text checks one text. An empty reason means that it is right.
func (r *rule) text(text string, lim Limits) (reason, msg string) {
	switch r.kind {
	case "id", "ref":
		return checkID(text, r.kind == "ref", lim)
	case "target":
		return checkTarget(text, lim)
	case "some":
		if text == "" {
			return ReasonBadValue, "must not be empty"
		}
	case "const":
		if text != r.want[0] {
			return ReasonUnsupported, "must be " + r.want[0]
		}
	case "enum":
		return r.enum(text)
	case "uuid7":
		if !isUUID7(text) {
			return ReasonBadValue, "must be a UUID of version 7 in lower case"
		}
	case "sha256":
		if len(text) != 64 || !isHex(text) {
			return ReasonBadValue, "must be 64 hex digits in lower case"
		}
	case "time":
		if !isTime(text) {
			return ReasonBadValue, "must be a time with a zone, as in 2026-11-30T09:00:00.000Z"
		}
	}
	return "", ""
}

func (r *rule) enum(text string) (reason, msg string) {
	switch {
	case slices.Contains(r.want, text):
		return "", ""
	case slices.Contains(r.later, text):
		return ReasonUnsupported, text + " is not supported by this agent"
	}
	return ReasonBadValue, "must be one of " + strings.Join(r.want, ", ")
}

func checkTarget(text string, lim Limits) (reason, msg string) {
	workflow, step, both := strings.Cut(text, "/")
	if reason, msg = checkID(workflow, true, lim); reason == "" && both {
		reason, msg = checkID(step, true, lim)
	}
	return reason, msg
}

func checkID(text string, device bool, lim Limits) (reason, msg string) {
	if int64(len(text)) > lim.IDChars {
		return ReasonTooLarge, fmt.Sprintf("an id of %d characters, at most %d are allowed", len(text), lim.IDChars)
	}
	if text == "" {
		return ReasonBadValue, "must not be empty"
	}
	for i := range len(text) {
		if c := text[i]; !isIDByte(c) && (c != '@' || !device) {
			return ReasonBadValue, fmt.Sprintf("an id has only A-Z a-z 0-9 . _ : -, but byte %d is %q", i, c)
		}
	}
	return "", ""
}

func isIDByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '.' || c == '_' || c == ':' || c == '-'
}

func isHex(text string) bool {
	return strings.Trim(text, "0123456789abcdef") == ""
}

// isUUID7 checks the form of RFC 9562. Lower case only: ids are compared as text.
func isUUID7(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		switch i {
		case 8, 13, 18, 23:
			if text[i] != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdef", rune(text[i])) {
				return false
			}
		}
	}
	return text[14] == '7' && strings.IndexByte("89ab", text[19]) >= 0
}

// isTime accepts RFC 3339 in upper case. time.Parse alone would also take a comma before the fraction.
func isTime(text string) bool {
	if len(text) > 40 || strings.ContainsRune(text, ',') {
		return false
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}
