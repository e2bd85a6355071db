package taskmanager

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// ErrNoBase says that a journal has no place at which a replay can begin: no first start of a store, and no start with nothing open.
var ErrNoBase = errors.New("no start in the journal at which a replay can begin")

// Difference is where a replay made another record than the recorded run did.
type Difference struct {
	Seq      int64  // of the last event of the commit
	Kind     string // of that event
	Workflow string // "" for a record of the device, or where that is not known
	Item     string
	Field    string // "" where the recorded bytes are not there any more
	Want     string // as recorded
	Got      string
}

func (d Difference) Error() string {
	out := fmt.Sprintf("first difference at sequence %d (%s): workflow %q, item %q", d.Seq, d.Kind, d.Workflow, d.Item)
	if d.Field != "" {
		out += ", field " + d.Field
	}
	return out + fmt.Sprintf(": recorded %s, replayed %s", d.Want, d.Got)
}

// Replayed is what a replay went through.
type Replayed struct {
	Skipped int // rows before the place where it began
	Rows    int
	Batches int
	Commits int
	Records int // that were compared
	Starts  int
	Last    int64 // sequence of the last row
}

// Recording is a journal with what it was recorded over.
type Recording struct {
	Rows    iter.Seq2[JournalRow, error]
	Catalog *catalog.Catalog
	Final   []Record          // that are open on disk now; nil: not known
	Look    func(*core.State) // is shown the state after each batch, and keeps nothing of it; nil: nobody looks
}

// Replay runs a journal through this program's core, from the first start at which that is possible, and compares every record and
// message of every commit. What is open in the end is compared with the final records, which also name the field of a difference where
// they still have the bytes that were written. Errors: a [Difference]; [ErrNoBase]; a row that cannot be read; another catalog than the
// recorded one.
func Replay(rec Recording) (Replayed, error) {
	r := &replay{cat: rec.Catalog, final: rec.Final, look: rec.Look, records: map[recordKey]Record{}}
	for row, err := range rec.Rows {
		if err == nil {
			err = r.row(row)
		}
		if err != nil {
			return r.done, err
		}
	}
	if r.state == nil {
		return r.done, fmt.Errorf("cannot replay %d rows: %w", r.done.Skipped, ErrNoBase)
	}
	if len(r.batch.events) > 0 {
		return r.done, fmt.Errorf("cannot replay: the journal ends within a batch, at sequence %d", r.done.Last)
	}
	return r.done, r.compareFinal()
}

// RowsOf gives rows that are all there, as a Recording wants them.
func RowsOf(rows []JournalRow) iter.Seq2[JournalRow, error] {
	return func(yield func(JournalRow, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

type recordKey struct{ workflow, item string }

// replay is a run without clock, disk and executors.
type replay struct {
	cat     *catalog.Catalog
	final   []Record
	look    func(*core.State)
	state   *core.State // nil until it has begun
	rows    Rows
	records map[recordKey]Record // of the store, open ones
	batch   recorded
	done    Replayed
}

// recorded is the batch that is being read.
type recorded struct {
	now    core.Now
	head   batchHead
	origin *origin
	events []core.Event
}

// row takes one row; with the last of a batch that is reduced.
func (r *replay) row(row JournalRow) error {
	body, ev, err := readBody(row)
	if err != nil {
		if r.state == nil {
			r.done.Skipped++ // of an older version, before a place to begin
			return nil
		}
		return err
	}
	if begun := r.state != nil || len(r.batch.events) > 0; !begun && (body.Origin == nil || body.Origin.Open) {
		r.done.Skipped++
		return nil
	}
	r.done.Rows, r.done.Last = r.done.Rows+1, row.Seq
	if body.Batch != nil {
		r.batch = recorded{head: *body.Batch, now: core.Now{Boot: core.Instant(row.BootMS), BootID: row.BootID, WallMS: row.WallMS, Trusted: row.WallMS != 0,
			Seq: row.Seq - int64(body.Batch.Before), Heard: body.Batch.Heard}}
	}
	if body.Origin != nil {
		r.batch.origin = body.Origin
	}
	r.silent(row.Seq)
	r.batch.events = append(r.batch.events, ev)
	if r.batch.head.Rows--; r.batch.head.Rows > 0 {
		return nil
	}
	if r.batch.head.Rows < 0 {
		return fmt.Errorf("cannot replay: sequence %d belongs to no batch", row.Seq)
	}
	r.silent(r.batch.now.Seq + int64(len(r.batch.events)+r.batch.head.Silent))
	b := r.batch
	r.batch = recorded{}
	err = r.reduce(b, row, body.Sums)
	if err == nil && r.look != nil {
		r.look(r.state)
	}
	return err
}

// silent puts signs of life where the batch had events without a row: they change nothing, and have a sequence.
func (r *replay) silent(upTo int64) {
	for r.batch.now.Seq+int64(len(r.batch.events)) < upTo && r.batch.head.Silent > 0 {
		r.batch.events = append(r.batch.events, core.TaskProgress{})
		r.batch.head.Silent--
	}
}

// reduce runs one batch, and holds what it writes against what was written.
func (r *replay) reduce(b recorded, row JournalRow, want []uint32) error {
	r.done.Batches++
	if b.origin != nil {
		if err := r.start(*b.origin); err != nil {
			return err
		}
	}
	if b.head.Memory != nil {
		r.state.Remember(b.head.Memory.unpack())
	}
	for _, ev := range b.events {
		if aside, ok := ev.(core.SetAside); ok {
			r.state.Drop(aside.Workflow)
		}
	}
	c := core.Reduce(r.state, b.now, b.events)
	if want == nil {
		r.rows.Add(c)
		r.state = r.state.With(c)
		return nil
	}
	r.done.Commits++
	records := r.rows.Of(c, r.state)
	if err := r.compare(row, records, sums(records, c), want); err != nil {
		return err
	}
	r.write(records)
	r.rows.Clear()
	r.state = r.state.With(c)
	return nil
}

// start is a start of the agent: what was in memory is gone, the records are what it begins with.
func (r *replay) start(o origin) error {
	if o.Etag != r.cat.Etag {
		return fmt.Errorf("cannot replay: it was recorded with the catalog %s, this one is %s", o.Etag, r.cat.Etag)
	}
	if r.state == nil {
		for _, b := range o.Base {
			r.records[recordKey{"", b.Item}] = Record{Item: b.Item, Body: b.Body}
		}
	}
	r.done.Starts++
	r.rows.Clear()
	r.state, _ = DecodeRecords(slices.Collect(maps.Values(r.records))).State(r.cat, o.Epoch, 0)
	r.state.Hold = o.Hold
	return nil
}

// write does what a store does with records: those of a workflow that is closed are not among the open ones any more.
func (r *replay) write(records []Record) {
	closed := map[string]bool{}
	for _, rec := range records {
		if r.records[recordKey{rec.Workflow, rec.Item}] = rec; rec.Body == nil {
			delete(r.records, recordKey{rec.Workflow, rec.Item})
		}
		closed[rec.Workflow] = closed[rec.Workflow] || rec.Closed
	}
	maps.DeleteFunc(r.records, func(k recordKey, _ Record) bool { return closed[k.workflow] })
}

// compare holds the sums of a commit against the recorded ones, record by record, then message by message.
func (r *replay) compare(row JournalRow, records []Record, got, want []uint32) error {
	r.done.Records += len(got)
	for i := range max(len(got), len(want)) {
		d := Difference{Seq: row.Seq, Kind: row.Kind}
		switch {
		case i >= len(want):
			d.Want = "nothing more"
		case i >= len(got):
			d.Got = "nothing more"
		case got[i] == want[i]:
			continue
		}
		if i < len(records) {
			r.name(&d, records[i], i, want)
		} else {
			d.Item = "message " + strconv.Itoa(i-len(records)+1)
		}
		d.Want, d.Got = cmp.Or(d.Want, "another one"), cmp.Or(d.Got, "this one")
		return d
	}
	return nil
}

// name says which field of a record differs, where the recorded bytes are still on disk.
func (r *replay) name(d *Difference, got Record, i int, want []uint32) {
	d.Workflow, d.Item = got.Workflow, got.Item
	d.Got = cmp.Or(d.Got, brief(shown(got.Body)))
	for _, f := range r.final {
		if f.Workflow == got.Workflow && f.Item == got.Item && i < len(want) && sumOf(f) == want[i] {
			d.Field, d.Want, d.Got = fieldOf(f.Body, got.Body)
		}
	}
}

// compareFinal holds what is open in the end against what is on disk.
func (r *replay) compareFinal() error {
	if r.final == nil {
		return nil
	}
	disk := map[recordKey]Record{}
	for _, f := range r.final {
		if f.Item != itemWords { // what was said is in no row of the journal
			disk[recordKey{f.Workflow, f.Item}] = f
		}
	}
	keys := slices.Concat(slices.Collect(maps.Keys(disk)), slices.Collect(maps.Keys(r.records)))
	slices.SortFunc(keys, func(a, b recordKey) int {
		return cmp.Or(cmp.Compare(a.workflow, b.workflow), cmp.Compare(a.item, b.item))
	})
	for _, k := range keys {
		want, there := disk[k]
		got, made := r.records[k]
		d := Difference{Seq: r.done.Last, Kind: "the end", Workflow: k.workflow, Item: k.item, Want: "no such record", Got: "no such record"}
		switch {
		case there && made && bytes.Equal(want.Body, got.Body):
			continue
		case there && made:
			d.Field, d.Want, d.Got = fieldOf(want.Body, got.Body)
		case there:
			d.Want = brief(shown(want.Body))
		default:
			d.Got = brief(shown(got.Body))
		}
		return d
	}
	return nil
}

// shown is a record for people.
func shown(body []byte) string {
	var v any
	if decMode.Unmarshal(body, &v) != nil {
		return strconv.Quote(string(body))
	}
	return fmt.Sprint(v)
}

func brief(text string) string {
	if len(text) > 200 {
		return text[:200] + "…"
	}
	return text
}

// fieldOf names the first field in which two records differ, and what each of them says.
func fieldOf(want, got []byte) (field, w, g string) {
	var a, b any
	if decMode.Unmarshal(want, &a) != nil || decMode.Unmarshal(got, &b) != nil {
		return "", strconv.Quote(string(want)), strconv.Quote(string(got))
	}
	path, x, y := firstDifference("", a, b)
	return strings.TrimPrefix(path, "."), brief(fmt.Sprint(x)), brief(fmt.Sprint(y))
}

func firstDifference(path string, a, b any) (string, any, any) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(union(a, b))) {
				if !reflect.DeepEqual(a[k], b[k]) {
					return firstDifference(path+"."+k, a[k], b[k])
				}
			}
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				if !reflect.DeepEqual(a[i], b[i]) {
					return firstDifference(path+"["+strconv.Itoa(i)+"]", a[i], b[i])
				}
			}
		}
	}
	return path, a, b
}

func union(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
