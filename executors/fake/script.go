package fake

import (
	"time"

	"deviceagent/taskmanager/core"
)

// Script says how tasks of one method behave. The zero Script accepts at once, ends done at once and shows no effect.
type Script struct {
	Refuse          core.Reason   // answer this refusal; nothing runs
	Hang            bool          // never answer, though the task runs: the outcome is unknown
	Dead            bool          // never answer, and nothing runs: not even a Query tells
	AnswerAfter     time.Duration // the reply comes that late; the task begins with the reply
	DoneBeforeReply bool          // the result is reported before the reply

	RunFor   time.Duration // until the task ends by itself; negative: only a Cancel ends it
	Outcome  core.Outcome  // of the result; "" is done
	Reason   core.Reason   // of the result
	Output   core.Values   // of the result
	Repeats  int           // the result is reported that many times more
	NoResult bool          // the end is never reported; a Query tells it

	Lies    bool         // claims the outcome without any effect
	Effects []core.Event // before the result: Observed (an empty Task becomes the task's), ContextRead

	Forgets      bool         // a Query does not know the task, and seals it
	RefuseCancel core.Reason  // answer of a Cancel
	HangCancel   bool         // a Cancel is never answered and does nothing
	Stopped      []core.Event // shown when a Cancel has ended the task, before the result cancelled
	RefusePause  core.Reason  // answer of a Pause
}

// outcome of a task that ended by itself.
func (s Script) outcome() core.Outcome {
	if s.Outcome == "" {
		return core.OutcomeDone
	}
	return s.Outcome
}
