package executors

import (
	"context"
	"errors"

	"deviceagent/taskmanager/core"
)

// reasonOf says why a call has no answer.
func reasonOf(err error) core.Reason {
	if errors.Is(err, context.DeadlineExceeded) {
		return reasonTimeout
	}
	return reasonUnavailable
}
