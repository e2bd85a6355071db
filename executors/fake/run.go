package fake

import (
	"time"

	"deviceagent/taskmanager/core"
)

// run is the life of a task, with its reply where the script wants it.
func (e *Executor) run(t *task, done func(core.Event, error)) {
	reply := func() {
		if !t.script.Hang {
			done(core.TaskAnswered{Task: t.id, Accepted: true}, nil)
		}
	}
	if t.script.DoneBeforeReply {
		e.work(t)
		if e.sleep(t.script.AnswerAfter) {
			reply()
		}
		return
	}
	if !e.sleep(t.script.AnswerAfter) {
		return
	}
	reply()
	e.work(t)
}

// work begins, runs and ends the task, and reports.
func (e *Executor) work(t *task) {
	e.mu.Lock()
	e.began = append(e.began, t.id)
	e.mu.Unlock()
	ended := core.TaskEnded{Task: t.id, Outcome: t.script.outcome(), Reason: t.script.Reason, Output: t.script.Output,
		Source: string(e.service)}
	effects := t.script.Effects
	switch t.wait(e.life.Done()) {
	case cut:
		return
	case cancelled:
		ended = core.TaskEnded{Task: t.id, Outcome: core.OutcomeCancelled, Source: string(e.service)}
		effects = t.script.Stopped
	case ran:
		if t.script.Lies {
			effects = nil
		}
	}
	effects = e.conclude(t, ended, effects)
	e.Emit(effects...)
	if t.script.NoResult {
		return
	}
	for range t.script.Repeats + 1 {
		e.Emit(ended)
	}
}

// conclude records the end and returns the effects as events of this task.
func (e *Executor) conclude(t *task, ended core.TaskEnded, effects []core.Event) []core.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	t.ended = &ended
	out := make([]core.Event, len(effects))
	for i, ev := range effects {
		if o, ok := ev.(core.Observed); ok {
			if o.Task == "" {
				o.Task = t.id
			}
			if o.Source == "" {
				o.Source = string(e.service)
			}
			t.event, ev = &o, o
		}
		out[i] = ev
	}
	return out
}

// end is why a task's run is over.
type end string

const (
	ran       end = "ran"
	cancelled end = "cancelled"
	cut       end = "cut"
)

// wait lets the task's time pass; paused time does not count.
func (t *task) wait(life <-chan struct{}) end {
	left, paused := t.script.RunFor, false
	for {
		var over <-chan time.Time
		start := time.Now()
		if left >= 0 && !paused {
			timer := time.NewTimer(left)
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-life:
			return cut
		case <-t.stop:
			return cancelled
		case <-over:
			return ran
		case <-t.toggle:
			if !paused && left >= 0 {
				left = max(0, left-time.Since(start))
			}
			paused = !paused
		}
	}
}

// sleep passes d; false when the executor was closed in it.
func (e *Executor) sleep(d time.Duration) bool {
	if d <= 0 {
		return e.life.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.life.Done():
		return false
	}
}
