// Package storetest holds the conformance suite for implementations of [taskmanager.Store], a store in memory that survives
// reopening, and a store that fails as scripted. It promises that what passes [Run] behaves alike for the Manager. It is for
// tests and simulation only: nothing that ships imports it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"deviceagent/taskmanager"
)

// Run checks one implementation. place makes a new, empty place and returns what opens the store there; a second call, after
// Close, opens the same place again.
func Run(t *testing.T, place func(t *testing.T) (reopen func() taskmanager.Store)) {
	for _, tc := range []struct {
		name  string
		check func(*fixture)
	}{
		{"a new store is fresh and empty", freshIsEmpty},
		{"reopening keeps everything and the epoch", reopenKeeps},
		{"a record is replaced and deleted", recordReplaced},
		{"an empty body is a record", emptyBody},
		{"a closed record closes its workflow", closeWorkflow},
		{"a record written after the close is open", lateRecord},
		{"a deleted record is gone from a closed workflow", deleteClosed},
		{"a device-wide record cannot be closed", closeDeviceWide},
		{"the outbox keeps its order and its highest seq", outboxOrder},
		{"the same batch twice changes nothing", twice},
		{"other content under a journal seq breaks the store", otherJournal},
		{"other content under an outbox seq breaks the store", otherOutbox},
		{"the journal is read in pages", journalPages},
		{"a remembered key is found and updated", remembered},
		{"a refused batch leaves nothing", refusedLeavesNothing},
		{"a step's row and its message are one commit", oneCommit},
		{"a context that has ended commits nothing", endedContext},
		{"bytes are copied in and out", bytesCopied},
		{"a closed store refuses", closedRefuses},
		{"readers see whole commits while the writer writes", wholeCommits},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fixture{t: t, open: place(t), ctx: context.Background()}
			f.s = f.open()
			defer func() {
				if err := f.s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			tc.check(f)
		})
	}
}

type fixture struct {
	t    *testing.T
	open func() taskmanager.Store
	s    taskmanager.Store
	ctx  context.Context
}

func (f *fixture) commit(b taskmanager.Batch) {
	f.t.Helper()
	if err := f.s.Commit(f.ctx, b); err != nil {
		f.t.Fatalf("commit: %v", err)
	}
}

func (f *fixture) load() taskmanager.Image {
	f.t.Helper()
	img, err := f.s.Load(f.ctx)
	if err != nil {
		f.t.Fatalf("load: %v", err)
	}
	return img
}

// again closes and reopens.
func (f *fixture) again() {
	f.t.Helper()
	if err := f.s.Close(); err != nil {
		f.t.Fatalf("close: %v", err)
	}
	f.s = f.open()
}

func (f *fixture) equal(what string, got, want any) {
	f.t.Helper()
	if !reflect.DeepEqual(got, want) {
		f.t.Fatalf("%s is\n  %+v, want\n  %+v", what, got, want)
	}
}

func (f *fixture) finished(workflow string, want []taskmanager.Record) {
	f.t.Helper()
	got, ok, err := f.s.Finished(f.ctx, workflow)
	if err != nil || ok != (want != nil) {
		f.t.Fatalf("finished %q: ok %v, error %v, want ok %v", workflow, ok, err, want != nil)
	}
	f.equal("finished "+workflow, got, want)
}

func record(workflow, item, body string) taskmanager.Record {
	return taskmanager.Record{Workflow: workflow, Item: item, Body: []byte(body)}
}

func closed(r taskmanager.Record) taskmanager.Record { r.Closed = true; return r }

func row(seq int64) taskmanager.JournalRow {
	return taskmanager.JournalRow{Seq: seq, BootMS: 10 * seq, WallMS: 1_700_000_000_000 + seq, BootID: "boot-1",
		Kind: "task_ended", Workflow: "w1", Body: fmt.Appendf(nil, "event %d", seq)}
}

func message(seq int64) taskmanager.OutboxRow {
	return taskmanager.OutboxRow{Seq: seq, ID: fmt.Sprintf("m%d", seq), Type: "event", Class: "terminal", Workflow: "w1",
		Body: fmt.Appendf(nil, "message %d", seq)}
}

func freshIsEmpty(f *fixture) {
	img := f.load()
	if img.Epoch == "" || !img.Fresh || img.SetAside != "" {
		f.t.Fatalf("epoch %q, fresh %v, set aside %q", img.Epoch, img.Fresh, img.SetAside)
	}
	if len(img.Records)+len(img.Outbox)+len(img.Meta) != 0 || img.StartNo != 0 || img.JournalSeq != 0 || img.OutboxSeq != 0 {
		f.t.Fatalf("image of a new store: %+v", img)
	}
	f.finished("w1", nil)
	if err := f.s.Probe(f.ctx); err != nil {
		f.t.Fatalf("probe: %v", err)
	}
}

func reopenKeeps(f *fixture) {
	epoch := f.load().Epoch
	f.commit(taskmanager.Batch{Meta: map[string]string{"start_no": "3", "mark": "x"},
		Journal: []taskmanager.JournalRow{row(1), row(2)}, Outbox: []taskmanager.OutboxRow{message(1)},
		Records: []taskmanager.Record{record("w1", "s:b", "2"), record("w1", "", "0"), record("", "holders", "h"), record("w1", "s:a", "1")}})
	f.again()
	f.equal("image", f.load(), taskmanager.Image{Epoch: epoch, StartNo: 3, JournalSeq: 2, Last: row(2), OutboxSeq: 1,
		Meta: map[string]string{"start_no": "3", "mark": "x"}, Outbox: []taskmanager.OutboxRow{message(1)},
		Records: []taskmanager.Record{record("", "holders", "h"), record("w1", "", "0"), record("w1", "s:a", "1"), record("w1", "s:b", "2")}})
}

func recordReplaced(f *fixture) {
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{record("w1", "", "a"), record("w1", "s:1", "a"), record("w2", "", "a")}})
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{record("w1", "", "b"), {Workflow: "w1", Item: "s:1"}, {Workflow: "none", Item: "x"}}})
	f.equal("records", f.load().Records, []taskmanager.Record{record("w1", "", "b"), record("w2", "", "a")})
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{record("w3", "", "a"), record("w3", "", "b"), {Workflow: "w3"}, {Workflow: "w2"}, record("w2", "", "c")}})
	f.equal("records", f.load().Records, []taskmanager.Record{record("w1", "", "b"), record("w2", "", "c")})
}

func emptyBody(f *fixture) {
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{record("w1", "", "")}, Journal: []taskmanager.JournalRow{{Seq: 1, Kind: "note"}}})
	f.again()
	if got := f.load().Records; len(got) != 1 || got[0].Body == nil || len(got[0].Body) != 0 {
		f.t.Fatalf("records %+v, want one with an empty body that is not nil", got)
	}
}

func closeWorkflow(f *fixture) {
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{record("w1", "", "run"), record("w1", "s:1", "run"), record("w2", "", "run")}})
	f.commit(taskmanager.Batch{Journal: []taskmanager.JournalRow{row(1)}, Records: []taskmanager.Record{closed(record("w1", "", "end"))}})
	f.again()
	f.equal("open records", f.load().Records, []taskmanager.Record{record("w2", "", "run")})
	f.finished("w1", []taskmanager.Record{closed(record("w1", "", "end")), closed(record("w1", "s:1", "run"))})
	f.finished("w2", nil)
	f.finished("w3", nil)
}

func lateRecord(f *fixture) {
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{closed(record("w1", "", "end")), record("w1", "a:1", "live")}})
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{record("w1", "a:1", "stopping")}})
	f.equal("open records", f.load().Records, []taskmanager.Record{record("w1", "a:1", "stopping")})
	f.finished("w1", []taskmanager.Record{closed(record("w1", "", "end")), record("w1", "a:1", "stopping")})
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{closed(record("w1", "a:1", "ended"))}})
	f.again()
	f.equal("open records", f.load().Records, []taskmanager.Record(nil))
	f.finished("w1", []taskmanager.Record{closed(record("w1", "", "end")), closed(record("w1", "a:1", "ended"))})
}

func deleteClosed(f *fixture) {
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{closed(record("w1", "", "end")), closed(record("w1", "s:1", "end"))}})
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "w1", Item: "s:1"}}})
	f.finished("w1", []taskmanager.Record{closed(record("w1", "", "end"))})
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "w1"}}})
	f.finished("w1", nil)
}

func closeDeviceWide(f *fixture) {
	err := f.s.Commit(f.ctx, taskmanager.Batch{Records: []taskmanager.Record{record("w1", "", "x"), closed(record("", "holders", "x"))}})
	if !errors.Is(err, taskmanager.ErrNotCommitted) {
		f.t.Fatalf("error %v, want not committed", err)
	}
	f.equal("records", f.load().Records, []taskmanager.Record(nil))
}

func outboxOrder(f *fixture) {
	f.commit(taskmanager.Batch{Outbox: []taskmanager.OutboxRow{message(2), message(1), message(7)}})
	f.commit(taskmanager.Batch{OutboxDone: []string{"m1", "m7", "unknown"}})
	f.again()
	img := f.load()
	f.equal("outbox", img.Outbox, []taskmanager.OutboxRow{message(2)})
	f.equal("highest seq", img.OutboxSeq, int64(7))
	f.commit(taskmanager.Batch{Outbox: []taskmanager.OutboxRow{message(8)}, OutboxDone: []string{"m2"}})
	f.commit(taskmanager.Batch{OutboxDone: []string{"m8"}})
	f.again()
	img = f.load()
	f.equal("outbox", img.Outbox, []taskmanager.OutboxRow(nil))
	f.equal("highest seq", img.OutboxSeq, int64(8))
}

func twice(f *fixture) {
	b := taskmanager.Batch{Meta: map[string]string{"start_no": "1"}, Records: []taskmanager.Record{record("w1", "", "a")},
		Memory: []taskmanager.Memory{{Key: "plan:p1:0", Hash: "h", Answer: []byte("ok")}}}
	for seq := range int64(40) { // more than one wide statement takes
		b.Journal = append(b.Journal, row(seq+1))
		b.Outbox = append(b.Outbox, message(seq+1))
	}
	f.commit(b)
	before := f.load()
	f.commit(b)
	f.equal("image", f.load(), before)
}

func otherJournal(f *fixture) {
	f.commit(taskmanager.Batch{Journal: []taskmanager.JournalRow{row(1)}})
	other := row(1)
	other.Body = []byte("event X")
	f.breaks(taskmanager.Batch{Journal: []taskmanager.JournalRow{other, row(2)}, Records: []taskmanager.Record{record("w1", "", "x")}})
	f.equal("last row", f.load().Last, row(1))
}

func otherOutbox(f *fixture) {
	f.commit(taskmanager.Batch{Outbox: []taskmanager.OutboxRow{message(1)}})
	other := message(2)
	other.ID = "m1" // one id under two numbers
	f.breaks(taskmanager.Batch{Outbox: []taskmanager.OutboxRow{other}})
	f.equal("outbox", f.load().Outbox, []taskmanager.OutboxRow{message(1)})
}

// breaks commits what must break the store, checks that nothing works afterwards, and reopens.
func (f *fixture) breaks(b taskmanager.Batch) {
	f.t.Helper()
	for _, batch := range []taskmanager.Batch{b, {Records: []taskmanager.Record{record("w9", "", "x")}}} {
		if err := f.s.Commit(f.ctx, batch); !errors.Is(err, taskmanager.ErrStoreBroken) || errors.Is(err, taskmanager.ErrNotCommitted) {
			f.t.Fatalf("commit error %v, want store broken", err)
		}
	}
	if _, err := f.s.Load(f.ctx); !errors.Is(err, taskmanager.ErrStoreBroken) {
		f.t.Fatalf("load error %v, want store broken", err)
	}
	f.again()
	if got := f.load().Records; len(got) != 0 {
		f.t.Fatalf("records %+v, want none", got)
	}
}

func journalPages(f *fixture) {
	var want []taskmanager.JournalRow
	for seq := range int64(20) {
		want = append(want, row(seq+1))
	}
	f.commit(taskmanager.Batch{Journal: want})
	for _, tc := range []struct {
		from  int64
		limit int
		want  []taskmanager.JournalRow
	}{{0, 100, want}, {1, 3, want[:3]}, {18, 100, want[17:]}, {21, 5, nil}, {1, 0, nil}, {1, -1, nil}} {
		got, err := f.s.Journal(f.ctx, tc.from, tc.limit)
		if err != nil {
			f.t.Fatalf("journal from %d: %v", tc.from, err)
		}
		f.equal(fmt.Sprintf("journal from %d, limit %d", tc.from, tc.limit), got, tc.want)
	}
}

func remembered(f *fixture) {
	want := taskmanager.Memory{Key: "plan:p1:0", Hash: "h1", Answer: []byte("refused"), ExpireMS: 99}
	f.commit(taskmanager.Batch{Memory: []taskmanager.Memory{want}})
	f.again()
	got, ok, err := f.s.Remembered(f.ctx, want.Key)
	if err != nil || !ok {
		f.t.Fatalf("remembered: %v, %v", ok, err)
	}
	f.equal("memory", got, want)
	want.Answer, want.ExpireMS = []byte("accepted"), 0
	f.commit(taskmanager.Batch{Memory: []taskmanager.Memory{want}})
	got, _, _ = f.s.Remembered(f.ctx, want.Key)
	f.equal("memory", got, want)
	if _, ok, err := f.s.Remembered(f.ctx, "plan:p1:1"); ok || err != nil {
		f.t.Fatalf("unknown key: %v, %v", ok, err)
	}
}

func refusedLeavesNothing(f *fixture) {
	before := f.load()
	for _, b := range []taskmanager.Batch{
		{Journal: []taskmanager.JournalRow{row(1), row(0)}},
		{Journal: []taskmanager.JournalRow{row(1)}, Outbox: []taskmanager.OutboxRow{{Seq: 1}}},
		{Meta: map[string]string{"start_no": "9"}, Outbox: []taskmanager.OutboxRow{{ID: "m"}}},
	} {
		if err := f.s.Commit(f.ctx, b); !errors.Is(err, taskmanager.ErrNotCommitted) {
			f.t.Fatalf("error %v, want not committed", err)
		}
	}
	f.equal("image", f.load(), before)
	f.commit(taskmanager.Batch{Journal: []taskmanager.JournalRow{row(1)}}) // the store is sound
}

// oneCommit is fault F07: a cut between a step's row and its outbox row cannot exist.
func oneCommit(f *fixture) {
	f.commit(taskmanager.Batch{Outbox: []taskmanager.OutboxRow{message(1)}})
	other := message(1)
	other.Body = nil
	f.breaks(taskmanager.Batch{Journal: []taskmanager.JournalRow{row(1)}, Outbox: []taskmanager.OutboxRow{other},
		Records: []taskmanager.Record{record("w1", "s:1", "completed")}, Memory: []taskmanager.Memory{{Key: "k"}}, Meta: map[string]string{"m": "1"}})
	img := f.load()
	if img.JournalSeq != 0 || len(img.Records) != 0 || len(img.Meta) != 0 {
		f.t.Fatalf("part of a batch is there: %+v", img)
	}
	if _, ok, _ := f.s.Remembered(f.ctx, "k"); ok {
		f.t.Fatal("a key of the batch is there")
	}
}

func endedContext(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if err := f.s.Commit(ctx, taskmanager.Batch{Records: []taskmanager.Record{record("w1", "", "x")}}); !errors.Is(err, taskmanager.ErrNotCommitted) {
		f.t.Fatalf("error %v, want not committed", err)
	}
	f.equal("records", f.load().Records, []taskmanager.Record(nil))
}

func bytesCopied(f *fixture) {
	body := []byte("first")
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "w1", Body: body}}})
	copy(body, "XXXXX")
	img := f.load()
	f.equal("body", string(img.Records[0].Body), "first")
	copy(img.Records[0].Body, "YYYYY")
	f.equal("body", string(f.load().Records[0].Body), "first")
}

func closedRefuses(f *fixture) {
	if err := f.s.Close(); err != nil {
		f.t.Fatalf("close: %v", err)
	}
	if err := f.s.Commit(f.ctx, taskmanager.Batch{}); !errors.Is(err, taskmanager.ErrNotCommitted) || !errors.Is(err, taskmanager.ErrStoreClosed) {
		f.t.Fatalf("commit error %v, want not committed, and that it is closed", err)
	}
	if err := f.s.Probe(f.ctx); err == nil {
		f.t.Fatal("a closed store answers a probe")
	}
	if err := f.s.Close(); err != nil {
		f.t.Fatalf("second close: %v", err)
	}
}

// wholeCommits: each batch sets three records to one value; no read may see two values.
func wholeCommits(f *fixture) {
	f.commit(taskmanager.Batch{Records: []taskmanager.Record{record("w1", "a", "0"), record("w1", "b", "0"), record("", "c", "0")}})
	stop, failed := make(chan struct{}), make(chan error, 3)
	for range cap(failed) {
		go func() { failed <- f.readUntil(stop) }()
	}
	for n := range 50 {
		v := fmt.Sprint(n)
		f.commit(taskmanager.Batch{Records: []taskmanager.Record{record("w1", "a", v), record("w1", "b", v), record("", "c", v)}})
	}
	close(stop)
	for range cap(failed) {
		if err := <-failed; err != nil {
			f.t.Error(err)
		}
	}
}

func (f *fixture) readUntil(stop chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		img, err := f.s.Load(f.ctx)
		if err != nil {
			return err
		}
		for _, r := range img.Records {
			if string(r.Body) != string(img.Records[0].Body) {
				return fmt.Errorf("half a commit: %+v", img.Records)
			}
		}
	}
}
