package socket

import (
	"fmt"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
)

// checkName is [executors.IsName] as a bad frame; an empty optional name is good.
func checkName(what, text string, optional bool) error {
	if optional && text == "" || executors.IsName(text) {
		return nil
	}
	return badFrame("%s is not a name of 1 to %d characters of A-Z a-z 0-9 . _ : - @: %s", what, executors.MaxName, clip(text))
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
	if text == "" || !executors.IsName(text) {
		return fallback
	}
	return core.Reason(text)
}
