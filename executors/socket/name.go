package socket

import (
	"fmt"

	"deviceagent/taskmanager/core"
)

// maxName bounds ids and names, in bytes.
const maxName = 128

// isName reports whether text is an id or a name of the contract: 1 to 128 characters of A-Z a-z 0-9 . _ : - @.
func isName(text string) bool {
	if len(text) == 0 || len(text) > maxName {
		return false
	}
	for i := range len(text) {
		if !nameChar(text[i]) {
			return false
		}
	}
	return true
}

func nameChar(c byte) bool {
	switch c {
	case '.', '_', ':', '-', '@':
		return true
	}
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// checkName is [isName] as a bad frame; an empty optional name is good.
func checkName(what, text string, optional bool) error {
	if optional && text == "" || isName(text) {
		return nil
	}
	return badFrame("%s is not a name of 1 to %d characters of A-Z a-z 0-9 . _ : - @: %s", what, maxName, clip(text))
}

// clip quotes hostile text for a message.
func clip(text string) string {
	if len(text) > 64 {
		return fmt.Sprintf("%q…", text[:64])
	}
	return fmt.Sprintf("%q", text)
}

// reasonOf takes a program's reason over if it is a code. Free text would end up in messages and tables as if it were one: then
// the fallback stands for it. It is no reason to cut a program off in the very moment in which something failed.
func reasonOf(text string, fallback core.Reason) core.Reason {
	if text == "" || !isName(text) {
		return fallback
	}
	return core.Reason(text)
}
