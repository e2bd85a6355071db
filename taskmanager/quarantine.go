package taskmanager

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"

	"deviceagent/taskmanager/core"
)

// The core panics only for a bug of ours. Memory may be wrong then, the disk is not: the process stops the body, notes what is to
// blame, and ends, so that the next start begins from what is durable. A record or message that does it in three starts in a row is
// kept out from then on: the record set aside with its rows marked, the message refused. Nothing is written on a start that goes well.

// ErrPanicked says that the core met a bug of ours. The process has to end; the next start counts.
var ErrPanicked = errors.New("core panicked")

// maxCrashes is how many starts in a row the same thing may end. Source: docs/taskmanager.md, quarantine (three).
const maxCrashes = 3

// maxKeptOut bounds the messages that are kept out; the oldest go first. A message that comes again after that is tried again.
const maxKeptOut = 64

// Keys of the store's single values.
const (
	metaCrashes = "crashes"
	metaKeptOut = "kept_out"
	metaStartNo = "start_no"
)

// crashes is what the store remembers of starts that ended in a panic.
type crashes struct {
	StartNo  int64          `json:"start_no"` // the last of them
	Suspects map[string]int `json:"suspects"` // in how many of the starts in a row: "w:" and a workflow, "e:" and the content of an event
}

// suspect names what is to blame: a workflow's record, or the content of an event.
type suspect string

func ofWorkflow(id core.WorkflowID) suspect { return suspect("w:" + id) }

// ofEvent knows an event by its content, so that a message in a new envelope is the same.
func ofEvent(ev core.Event) suspect {
	if h, ok := core.HeadOf(ev); ok && h.Hash != "" {
		return suspect("e:" + h.Hash)
	}
	sum := sha256.Sum256(append([]byte(core.KindOf(ev)), encode(ev)...))
	return suspect("e:" + hex.EncodeToString(sum[:16]))
}

// quarantine is what the Manager knows of it.
type quarantine struct {
	crashes crashes
	keptOut []string
	news    []core.SetAside // to be reported with this start
	causes  map[string]string
}

// load reads what earlier starts have noted, and takes out of the state what failed too often.
func (q *quarantine) load(meta map[string]string, startNo int64, d Decoded, cur *core.State) error {
	for key, to := range map[string]any{metaCrashes: &q.crashes, metaKeptOut: &q.keptOut} {
		if text := meta[key]; text != "" {
			if err := json.Unmarshal([]byte(text), to); err != nil {
				return fmt.Errorf("cannot read the note %s: %w", key, err)
			}
		}
	}
	q.news, q.causes = d.New, d.Causes
	if q.crashes.StartNo != startNo-1 {
		q.crashes.Suspects = nil // the start before this one went well
	}
	for _, wf := range d.Workflows {
		id := wf.Plan.Workflow
		if n := q.crashes.Suspects[string(ofWorkflow(id))]; n >= maxCrashes {
			ev := core.AsideOf(wf, fmt.Sprintf("the agent failed of it in %d starts in a row", n))
			q.news, q.causes[string(id)] = append(q.news, ev), ev.Cause
			cur.Drop(id)
		}
	}
	return nil
}

// screen keeps out what there is no room for, and what failed too often: a message is refused, and anything else passes as if time had
// passed.
func (m *Manager) screen(events []core.Event) []core.Event {
	for i, ev := range events {
		if refusal, roomless := m.roomless(ev); roomless {
			m.crowded.Warn().Str("workflow_id", string(core.AboutOf(ev))).Msg("plan refused, outbox is full of reports")
			events[i] = refusal
		}
	}
	if len(m.quarantine.keptOut) == 0 {
		return events
	}
	for i, ev := range events {
		if !slices.Contains(m.quarantine.keptOut, string(ofEvent(ev))) {
			continue
		}
		m.o.Log.Warn().Str("kind", string(core.KindOf(ev))).Msg("event kept out, it made the agent fail before")
		events[i] = core.Tick{}
		if h, ok := core.HeadOf(ev); ok {
			events[i] = core.Refused{Head: h, Answer: core.Answer{Reason: core.ReasonQuarantined, Workflow: core.AboutOf(ev)}}
		}
	}
	return events
}

// failure is a panic that was caught.
type failure struct {
	text  string
	stack []byte
}

// guarded runs f, and gives back what it panicked of, nil if it did not.
func guarded(f func()) (panicked *failure) {
	defer func() {
		if p := recover(); p != nil {
			panicked = &failure{fmt.Sprint(p), debug.Stack()}
		}
	}()
	f()
	return nil
}

// fails says whether a batch makes this part of the state panic.
func fails(s *core.State, now core.Now, events []core.Event) bool {
	return guarded(func() { s.With(core.Reduce(s, now, events)).NextWake() }) != nil
}

// blame finds the one thing without which the batch would not have panicked: it takes away workflows and events on copies. The first
// event with which it panics, and the first workflow in order of submission. A message is to blame rather than the record that it
// meets, but for a wish to stop: that is never refused.
func blame(cur *core.State, now core.Now, events []core.Event) suspect {
	everything := func(core.WorkflowID) bool { return true }
	n := 0
	for n < len(events) && !fails(cur.Part(everything), now, events[:n]) {
		n++
	}
	events = events[:n]
	order := byRank(cur)
	k := 0
	for k < len(order) && !fails(cur.Part(func(id core.WorkflowID) bool { return slices.Contains(order[:k], id) }), now, events) {
		k++
	}
	switch {
	case n == 0 && k == 0:
		return ""
	case k == 0:
		return ofEvent(events[n-1])
	case n > 0 && !core.StopsSomething(events[n-1]):
		if _, message := core.HeadOf(events[n-1]); message {
			return ofEvent(events[n-1])
		}
	}
	return ofWorkflow(order[k-1])
}

func byRank(s *core.State) []core.WorkflowID {
	var ids []core.WorkflowID
	for id := range s.Workflows {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b core.WorkflowID) int {
		return cmp.Or(cmp.Compare(s.Workflows[a].Rank, s.Workflows[b].Rank), cmp.Compare(a, b))
	})
	return ids
}

// crashed ends the process after a panic of the core: the body is stopped, what is to blame is noted, the senders learn that nothing
// was taken.
func (m *Manager) crashed(ctx context.Context, batch []request, events []core.Event, what *failure) error {
	m.o.Log.Error().Str("panic", what.text).Bytes("stack", what.stack).Int("events", len(events)).Msg("core panicked, the agent stops the body and ends")
	if guarded(m.stopBody) != nil {
		m.o.Log.Error().Msg("the stops of the body cannot be told from the state")
	}
	var who suspect
	if guarded(func() { who = blame(m.cur, m.now(), events) }) != nil || who == "" {
		who = "unknown"
	}
	q := &m.quarantine
	if q.crashes.Suspects == nil {
		q.crashes.Suspects = map[string]int{}
	}
	q.crashes.StartNo = m.startNo
	q.crashes.Suspects[string(who)]++
	n := q.crashes.Suspects[string(who)]
	meta := map[string]string{metaStartNo: strconv.FormatInt(m.startNo, 10), metaCrashes: string(mustJSON(q.crashes))}
	if n >= maxCrashes && who[0] == 'e' {
		q.keptOut = append(q.keptOut, string(who))
		q.keptOut = q.keptOut[max(0, len(q.keptOut)-maxKeptOut):]
		meta[metaKeptOut] = string(mustJSON(q.keptOut))
	}
	err := fmt.Errorf("%w (start %d, by %s, %d in a row): %s", ErrPanicked, m.startNo, who, n, what.text)
	if cerr := m.commit(ctx, Batch{Meta: meta}); cerr != nil {
		err = errors.Join(err, fmt.Errorf("cannot note it: %w", cerr))
	}
	for _, req := range batch {
		select {
		case req.done <- reply{err: err}: // nil where nobody waits
		default: // answered before
		}
	}
	return err
}

// urgent asks the core for the stops that must not wait. Should it panic of a wish, the decision about it will, and is accounted for.
func (m *Manager) urgent(ev core.Event) (outs []core.Output) {
	if p := guarded(func() { outs = core.UrgentStops(m.cur, m.now(), ev) }); p != nil {
		m.o.Log.Error().Str("panic", p.text).Bytes("stack", p.stack).Msg("urgent stops panicked")
	}
	return outs
}

// SetAside names the workflows whose records were set aside, at this start or an earlier one: they cannot be read, or made the agent
// fail.
func (m *Manager) SetAside() []string { return m.setAside }

// KeptOut counts the messages and events that are refused because they made the agent fail.
func (m *Manager) KeptOut() int { return len(m.quarantine.keptOut) }
