package linkfault

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/store"
	"deviceagent/testbed/home"
)

// judge compares what is left on the disks and in the robots' logs. Everything was closed before.
func (c *campaign) judge(rep *Report) error {
	byRobot := map[string][]*submitted{}
	for _, p := range c.book.plans {
		byRobot[p.robot] = append(byRobot[p.robot], p)
	}
	for _, cl := range c.cells {
		cloud, err := readCloud(cl.cloudPath())
		if err != nil {
			return err
		}
		for _, r := range cl.robots {
			dev, err := readDevice(r.dbPath(), r.id, byRobot[r.id])
			if err != nil {
				return err
			}
			body, err := readBody(r.logPath())
			if err != nil {
				return err
			}
			compare(rep, r.id, byRobot[r.id], cloud, dev, body)
		}
		cloud.answersOf(rep)
	}
	rep.Never = append(rep.Never, c.faults...)
	return nil
}

// cloudDisk is what the planner's store says.
type cloudDisk struct {
	status  map[string]string         // of each workflow that has a result
	refused map[string]string         // of each plan that was not taken: its state
	results map[string]int            // messages with a result, of each workflow: the same once more where its plan came once more
	other   map[string]string         // results of one workflow that say something else
	seqs    map[string]map[int64]bool // of the messages up, by robot
	last    map[string]int64          // the highest of them so far
	early   int                       // messages that came before an older one
	downs   []down
	acks    map[string][]ack // by the message that they answer, in the order in which they came
}

// down is one message to a robot.
type down struct {
	id, robot, kind, workflow string
	open, sent                bool
	seq                       int64 // the planner's counter
}

// ack is one answer of a robot.
type ack struct {
	seq      int64 // of the robot's outbox
	accepted bool
	reason   string
}

func readCloud(path string) (*cloudDisk, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	d := &cloudDisk{status: map[string]string{}, refused: map[string]string{}, results: map[string]int{}, other: map[string]string{}, seqs: map[string]map[int64]bool{}, last: map[string]int64{}, acks: map[string][]ack{}}
	err = errors.Join(
		each(db, `SELECT workflow_id, status FROM workflows`, func(s func(...any) error) error {
			var id, status string
			err := s(&id, &status)
			d.status[id] = status
			return err
		}),
		each(db, `SELECT workflow_id, reason_code FROM down WHERE type = 'plan' AND revision = 0 AND state IN ('refused', 'expired')`, func(s func(...any) error) error {
			var id, state string
			err := s(&id, &state)
			d.refused[id] = state
			return err
		}),
		each(db, `SELECT workflow_id, payload FROM messages WHERE type = 'result' AND fault = ''`, func(s func(...any) error) error {
			var id string
			var payload []byte
			if err := s(&id, &payload); err != nil {
				return err
			}
			e, err := wire.Decode(payload, wire.Options{Direction: wire.Up})
			if err != nil || e.Result == nil {
				return fmt.Errorf("a result of %s cannot be read: %w", id, err)
			}
			d.results[id]++
			if e.Result.Status != d.status[id] {
				d.other[id] = e.Result.Status
			}
			return nil
		}),
		each(db, `SELECT device_id, seq FROM messages WHERE seq > 0 ORDER BY row`, func(s func(...any) error) error {
			var id string
			var seq int64
			err := s(&id, &seq)
			if d.seqs[id] == nil {
				d.seqs[id] = map[int64]bool{}
			}
			d.seqs[id][seq] = true
			if seq < d.last[id] {
				d.early++
			}
			d.last[id] = max(seq, d.last[id])
			return err
		}),
		each(db, `SELECT id, device_id, type, workflow_id, state IN ('queued', 'sent'), first_sent_at > 0, seq FROM down ORDER BY seq`, func(s func(...any) error) error {
			var m down
			err := s(&m.id, &m.robot, &m.kind, &m.workflow, &m.open, &m.sent, &m.seq)
			d.downs = append(d.downs, m)
			return err
		}),
		each(db, `SELECT ref_id, seq, payload FROM messages WHERE type = 'ack' AND fault = '' ORDER BY row`, func(s func(...any) error) error {
			var ref string
			var a ack
			var payload []byte
			if err := s(&ref, &a.seq, &payload); err != nil {
				return err
			}
			e, err := wire.Decode(payload, wire.Options{Direction: wire.Up})
			if err != nil || e.Ack == nil {
				return fmt.Errorf("an ack of %s cannot be read: %w", ref, err)
			}
			a.accepted, a.reason = e.Ack.Accepted, e.Ack.ReasonCode
			d.acks[ref] = append(d.acks[ref], a)
			return nil
		}),
	)
	return d, err
}

// control is one that a robot took, and when by its own counting.
type control struct {
	down
	at int64
}

// answersOf holds each message down against its answers: there is one, it is the same each time, and no control was taken after a newer
// one of the same plan.
func (d *cloudDisk) answersOf(rep *Report) {
	rep.Early += d.early
	newest := map[string]down{} // control of each plan that was taken last, by the robot's order
	var taken []control
	for _, m := range d.downs {
		acks := d.acks[m.id]
		switch {
		case m.open:
			rep.lost("%s of %s waits for its answer", m.kind, m.workflow)
		case m.kind == string(wire.TypePlan) && d.status[m.workflow] != "": // its result came first, which answers for every revision
		case m.sent && len(acks) == 0:
			rep.lost("%s of %s has no answer", m.kind, m.workflow)
		}
		for _, a := range acks {
			if a.accepted != acks[0].accepted || a.accepted && a.reason != acks[0].reason { // why something is refused changes with what there is
				rep.doubled("%s of %s was answered %v %s, and then %v %s", m.kind, m.workflow, acks[0].accepted, acks[0].reason, a.accepted, a.reason)
				break
			}
		}
		if m.kind == string(wire.TypeControl) && len(acks) > 0 && acks[0].accepted {
			first := slices.MinFunc(acks, func(a, b ack) int { return cmp.Compare(a.seq, b.seq) })
			taken = append(taken, control{m, first.seq})
		}
	}
	slices.SortFunc(taken, func(a, b control) int { return cmp.Compare(a.at, b.at) })
	for _, m := range taken {
		if before, ok := newest[m.workflow]; ok && m.seq < before.seq {
			rep.disorder("a control of %s was taken after a newer one", m.workflow)
		}
		newest[m.workflow] = m.down
	}
}

func each(db *sql.DB, query string, row func(scan func(...any) error) error) error {
	rows, err := db.Query(query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return rows.Err()
}

// deviceDisk is what the agent's store says.
type deviceDisk struct {
	states  map[string]string // of each workflow that has ended or is open
	waiting []int64           // messages up that are still there: one with a receipt goes with a later commit
	lastSeq int64             // of the messages up
}

func readDevice(path, id string, plans []*submitted) (*deviceDisk, error) {
	ctx := context.Background()
	st, err := store.Open(ctx, path, store.Options{Device: id})
	if err != nil {
		return nil, fmt.Errorf("cannot open the store of %s: %w", id, err)
	}
	defer st.Close()
	img, err := st.Load(ctx)
	if err != nil {
		return nil, err
	}
	d := &deviceDisk{states: map[string]string{}, lastSeq: img.OutboxSeq}
	for _, row := range img.Outbox {
		d.waiting = append(d.waiting, row.Seq)
	}
	note := func(records []taskmanager.Record) {
		for _, wf := range taskmanager.DecodeRecords(records).Workflows {
			d.states[string(wf.Plan.Workflow)] = string(wf.State)
		}
	}
	note(img.Records)
	for _, p := range plans {
		records, ok, err := st.Finished(ctx, p.id)
		if err != nil {
			return nil, err
		}
		if ok {
			note(records)
		}
	}
	return d, nil
}

// bodyLog is what the robot itself wrote down.
type bodyLog struct {
	asked  map[string]int // how often it was asked to say a text, under different tasks
	spoken map[string]int // how often it said it
	at     map[string]int // the line of the first time
}

func readBody(path string) (*bodyLog, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := &bodyLog{asked: map[string]int{}, spoken: map[string]int{}, at: map[string]int{}}
	in := bufio.NewScanner(f)
	for line := 0; in.Scan(); line++ {
		var e home.Entry
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line+1, err)
		}
		switch {
		case e.Kind == home.KindInvoke && e.Method == string(speak):
			text, _ := e.Params["text"].(string)
			b.asked[text]++
		case e.Kind == home.KindSpoken:
			if b.spoken[e.Text]++; b.spoken[e.Text] == 1 {
				b.at[e.Text] = line
			}
		}
	}
	return b, in.Err()
}

// compare holds the three against each other, plan by plan.
func compare(rep *Report, robot string, plans []*submitted, cloud *cloudDisk, dev *deviceDisk, body *bodyLog) {
	for _, p := range plans {
		there, here := cloud.status[p.id], dev.states[p.id]
		switch {
		case there == "" && cloud.refused[p.id] != "" && here == "":
			rep.Refused[cloud.refused[p.id]]++
			continue
		case there == "" || here == "":
			rep.lost("%s: the planner says %q, the device %q", p.id, there, here)
		case there != here:
			rep.lost("%s ended %s on the device and %s at the planner", p.id, here, there)
		}
		if other := cloud.other[p.id]; other != "" {
			rep.lost("%s has two results, %s and %s", p.id, there, other)
		}
		if cloud.results[p.id] == 0 && there != "" {
			rep.lost("%s has no message with its result", p.id)
		}
		rep.States[here]++
		last := -1
		for n, text := range p.steps {
			if body.asked[text] > 1 || body.spoken[text] > 1 {
				rep.doubled("%q was asked for %d times and said %d times", text, body.asked[text], body.spoken[text])
			}
			if body.spoken[text] == 0 {
				if here == "completed" && n < p.sure {
					rep.lost("%q was never said, and its plan is completed", text)
				}
				continue
			}
			rep.Steps++
			if body.at[text] < last {
				rep.disorder("%q was said before the step that it waits for", text)
			}
			last = body.at[text]
		}
	}
	missing := 0
	for seq := int64(1); seq <= dev.lastSeq; seq++ {
		if !cloud.seqs[robot][seq] {
			missing++
		}
	}
	if missing > 0 {
		rep.lost("%s: %d of %d messages up are not at the planner; %d wait to be sent", robot, missing, dev.lastSeq, len(dev.waiting))
	}
	rep.Up += dev.lastSeq
}
