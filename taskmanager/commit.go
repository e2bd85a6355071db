package taskmanager

import (
	"context"
	"encoding/json"
	"strconv"

	"deviceagent/taskmanager/core"
)

// softMS is how long a change that nobody needs on disk may wait for company. Source: docs/taskmanager.md, shape (60 s).
const softMS = 60_000

// maxSoftRows bounds the journal rows that wait with it.
const maxSoftRows = 256

// softRows are changes that ride with the next commit.
type softRows struct {
	rows  Rows
	done  []string
	since core.Instant
}

func (s *softRows) init() { *s = softRows{} }

// add takes in a change, and says whether it made any row differ.
func (s *softRows) add(c core.Change, now core.Now) (differs bool) {
	differs = s.rows.Add(c)
	for _, id := range c.Receipted {
		s.done = append(s.done, string(id))
	}
	if s.since == 0 && (differs || len(s.done) > 0) {
		s.since = now.Boot
	}
	return differs
}

func (s *softRows) due() int64 {
	if s.since == 0 {
		return 0
	}
	return int64(s.since) + softMS
}

func (s *softRows) overdue(now core.Now) bool { return s.since != 0 && int64(now.Boot) >= s.due() }

// batch makes the final bytes of one commit.
func (m *Manager) batch(c core.Change, now core.Now, events []core.Event) Batch {
	dev := c.DeviceRow()
	b := Batch{Meta: map[string]string{"start_no": strconv.FormatInt(m.startNo, 10)}, OutboxDone: m.soft.done}
	for _, id := range c.Receipted {
		b.OutboxDone = append(b.OutboxDone, string(id))
	}
	b.Records = m.soft.rows.Of(c, m.cur)
	b.Journal = m.recorder.Commit(m.cur, now, events, c, b.Records)
	b.Records = append(b.Records, m.words.rows(c)...) // beside what is recorded: it may go at any time
	b.OutboxDone = append(b.OutboxDone, m.outbox.withdrawn(c.Withdrawn)...)
	floor := m.outbox.floor(dev.OutSeq, b.OutboxDone)
	if len(c.Outbox) > 0 {
		floor = min(floor, c.Outbox[0].Seq) // none of this batch is receipted either
	}
	for _, msg := range c.Outbox {
		id, body, err := m.o.Codec.Encode(msg, Envelope{Epoch: m.epoch, FloorSeq: floor, WallMS: now.WallMS})
		if err != nil {
			// Our bug. A robot that dies of it at each start would be worse than a report that is missing and logged.
			m.o.Log.Error().Err(err).Str("type", string(msg.Type)).Str("workflow_id", string(msg.Workflow)).Msg("message cannot be encoded, not sent")
			continue
		}
		b.Outbox = append(b.Outbox, OutboxRow{Seq: msg.Seq, ID: id, Type: string(msg.Type), Class: classOf(msg.Type), Workflow: string(msg.Workflow), Body: body})
	}
	for _, r := range c.Remember {
		b.Memory = append(b.Memory, Memory{Key: r.Key, Hash: r.Hash, Answer: mustJSON(r.Answer), ExpireMS: expiry(now)})
	}
	return b
}

// makeRoom drops answers where the outbox would have more than it may, and says how many. They go with the commit that needs the room.
func (m *Manager) makeRoom(b *Batch) int64 {
	ids := m.outbox.excess(b.Outbox, b.OutboxDone)
	if len(ids) == 0 {
		return 0
	}
	all := m.OutboxFacts().Dropped + int64(len(ids))
	b.OutboxDone = append(b.OutboxDone, ids...)
	b.Meta[metaDropped] = strconv.FormatInt(all, 10)
	m.crowded.Warn().Int("rows", len(ids)).Int64("dropped", all).Msg("outbox is full, oldest answers dropped")
	return int64(len(ids))
}

func classOf(t core.MessageType) string {
	if t == core.MsgResult {
		return "terminal"
	}
	return "answer"
}

// memoryMS is how long an answer is remembered. Source: docs/contract.md, envelope.
const memoryMS = 90 * 24 * 3600 * 1000

func expiry(now core.Now) int64 {
	if !now.Trusted {
		return 0
	}
	return now.WallMS + memoryMS
}

func mustJSON(v any) []byte { return must(json.Marshal(v)) }

// write is one batch for the writer goroutine.
type write struct {
	batch Batch
	done  chan error
}

// writer commits. It is a goroutine of its own so that the owner still hears a stop while the disk stalls.
func (m *Manager) writer(ctx context.Context) {
	for {
		select {
		case w := <-m.writes:
			w.done <- m.o.Store.Commit(ctx, w.batch)
		case <-ctx.Done():
			return
		}
	}
}

// commit hands a batch to the writer and waits for the disk. Meanwhile the owner takes in what comes, and sends the stops that a
// cancel asks for at once; everything else waits for its turn.
func (m *Manager) commit(ctx context.Context, b Batch) error {
	w := write{batch: b, done: make(chan error, 1)}
	m.writes <- w
	for {
		inbox := m.inbox
		if len(m.held) >= inboxSize {
			inbox = nil
		}
		select {
		case err := <-w.done:
			return err
		case req := <-m.stops:
			req = m.stamped(req)
			if !*req.taken {
				for _, task := range m.stopNow(req.event) {
					m.hurried[task] = req
				}
			}
		case req := <-inbox:
			if req.event != nil && !m.hurriedOn(req) {
				m.stopNow(req.event)
			}
			m.held = m.take(m.held, m.stamped(req))
		}
	}
}

// carryAll carries out what waited for the commit. A dispatch that a stop covers which was heard meanwhile stays here: its task is
// answered as never sent.
func (m *Manager) carryAll(outs []core.Output) {
	stopped := map[core.TaskID]bool{}
	for _, req := range m.held {
		if req.event == nil {
			continue
		}
		for _, out := range m.urgent(req.event) {
			switch s := out.(type) {
			case core.Stop:
				stopped[s.Task] = true
			case core.Pause:
				stopped[s.Task] = true
			}
		}
	}
	for _, out := range outs {
		if d, ok := out.(core.Dispatch); ok && stopped[d.Task] {
			m.held = append(m.held, request{event: core.TaskAnswered{Task: d.Task, NotSent: true, Reason: core.ReasonExecutorBusy}})
			continue
		}
		m.carry(out)
	}
}
