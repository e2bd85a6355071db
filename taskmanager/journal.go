package taskmanager

import (
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// The journal is complete: the inputs of the core in their batches, with the moments at which they were decided, and what a decision
// read that no row says. The same program makes the same records of it, byte for byte; the sums tell where it does not. Events that
// change nothing durable have no row, so an idle device and one that only looks write nothing; what they left in memory goes with the
// next row.

// journalBody is what a row holds beside its moment.
type journalBody struct {
	Event  cbor.RawMessage `json:"e"`
	Batch  *batchHead      `json:"b,omitempty"` // on the first row of a batch
	Sums   []uint32        `json:"s,omitempty"` // on the last row of a commit: of each record and message, in order
	Origin *origin         `json:"o,omitempty"` // of a start
}

// batchHead says what one reduction was given.
type batchHead struct {
	Rows   int            `json:"r"`           // that the batch has
	Silent int            `json:"n,omitempty"` // events without a row, signs of life
	Before int            `json:"p,omitempty"` // events without a row before this one
	Heard  []core.Instant `json:"h,omitempty"` // when the events were heard, where a disk had to be waited for
	Memory *memoryDiff    `json:"m,omitempty"` // what memory differed in
}

// origin is what a process is made of, beside its store.
type origin struct {
	Epoch string `json:"epoch"`
	Etag  string `json:"etag"` // of the catalog
	Hold  bool   `json:"hold,omitempty"`
	// Base is what the store held, where no workflow was open: a replay may begin here.
	Base []baseRow `json:"base,omitempty"`
	Open bool      `json:"open,omitempty"` // Base leaves something out: a replay cannot begin here
}

// baseRow is one record of the device.
type baseRow struct {
	_    struct{} `cbor:",toarray"`
	Item string
	Body []byte
}

// memoryDiff is core.Memory in few bytes: everything as arrays, samples as the steps between them.
type memoryDiff struct {
	Known    map[catalog.ContextKey]knownRow    `json:"k,omitempty"`
	Services map[core.ServiceID]serviceRow      `json:"s,omitempty"`
	Used     map[catalog.ResourceID][2]int64    `json:"u,omitempty"`
	Foreign  map[catalog.ResourceID][2]int64    `json:"f,omitempty"`
	Gave     map[catalog.EventName][2]int64     `json:"g,omitempty"`
	Looks    map[core.WorkflowID][]core.Instant `json:"l,omitempty"`
	TaskNo   int64                              `json:"t,omitempty"`
	Trusted  bool                               `json:"w,omitempty"`
}

type knownRow struct {
	_         struct{} `cbor:",toarray"`
	Value     any
	Available bool
	Class     catalog.Class
	Source    string
	Samples   []int64
	Rival     *rivalRow
}

type rivalRow struct {
	_      struct{} `cbor:",toarray"`
	Source string
	Value  any
	At     core.Instant
}

type serviceRow struct {
	_        struct{} `cbor:",toarray"`
	Instance string
	Methods  []catalog.Method
	Since    core.Instant
}

func packMemory(m core.Memory) *memoryDiff {
	d := &memoryDiff{Known: map[catalog.ContextKey]knownRow{}, Services: map[core.ServiceID]serviceRow{}, Used: packSamples(m.Used),
		Foreign: packSamples(m.Foreign), Gave: packSamples(m.Gave), Looks: m.Looks, TaskNo: m.TaskNo, Trusted: m.Trusted}
	for key, k := range m.Known {
		row := knownRow{Value: k.Value, Available: k.Available, Class: k.Class, Source: k.Source}
		var last core.Sample
		for _, s := range k.Samples {
			row.Samples = append(row.Samples, int64(s.At-last.At), s.Seq-last.Seq)
			last = s
		}
		if r := k.Rival; r != nil {
			row.Rival = &rivalRow{Source: r.Source, Value: r.Value, At: r.At}
		}
		d.Known[key] = row
	}
	for id, s := range m.Services {
		d.Services[id] = serviceRow{Instance: s.Instance, Methods: s.Methods, Since: s.Since}
	}
	return d
}

func packSamples[K comparable](m map[K]core.Sample) map[K][2]int64 {
	out := map[K][2]int64{}
	for id, s := range m {
		out[id] = [2]int64{int64(s.At), s.Seq}
	}
	return out
}

func (d *memoryDiff) unpack() core.Memory {
	m := core.Memory{Known: map[catalog.ContextKey]core.Known{}, Services: map[core.ServiceID]core.Service{}, Used: unpackSamples(d.Used),
		Foreign: unpackSamples(d.Foreign), Gave: unpackSamples(d.Gave), Looks: d.Looks, TaskNo: d.TaskNo, Trusted: d.Trusted}
	for key, row := range d.Known {
		k := core.Known{Value: row.Value, Available: row.Available, Class: row.Class, Source: row.Source}
		var last core.Sample
		for i := 0; i+1 < len(row.Samples); i += 2 {
			last = core.Sample{At: last.At + core.Instant(row.Samples[i]), Seq: last.Seq + row.Samples[i+1]}
			k.Samples = append(k.Samples, last)
		}
		if r := row.Rival; r != nil {
			k.Rival = &core.Rival{Source: r.Source, Value: r.Value, At: r.At}
		}
		m.Known[key] = k
	}
	for id, s := range d.Services {
		m.Services[id] = core.Service{Instance: s.Instance, Methods: s.Methods, Since: s.Since}
	}
	return m
}

func unpackSamples[K comparable](rows map[K][2]int64) map[K]core.Sample {
	out := map[K]core.Sample{}
	for id, s := range rows {
		out[id] = core.Sample{At: core.Instant(s[0]), Seq: s[1]}
	}
	return out
}

// Recorder makes the journal of one process. It is the Manager's; whoever plays the Manager in virtual time uses it too.
type Recorder struct {
	origin origin
	memory core.Memory // after the last batch that has a row
	fresh  bool        // a row was made that is not adopted yet
	soft   []JournalRow
}

// NewRecorder begins the journal of a process on a store with these records.
func NewRecorder(epoch, etag string, hold bool, stored []Record) *Recorder {
	r := &Recorder{origin: origin{Epoch: epoch, Etag: etag, Hold: hold}}
	size := 0
	for _, rec := range stored {
		if size += len(rec.Item) + len(rec.Body); rec.Workflow != "" || size > maxBase {
			r.origin.Base, r.origin.Open = nil, true
			break
		}
		r.origin.Base = append(r.origin.Base, baseRow{Item: rec.Item, Body: rec.Body})
	}
	return r
}

// maxBase bounds what a start repeats of its store, so that a journal whose beginning was pruned can be replayed from there.
const maxBase = 8 << 10

// Soft takes in a batch that is not committed now. It has a row if a record or the device's row differs; what it leaves in memory goes
// with the next row. cur is the state before the change.
func (r *Recorder) Soft(cur *core.State, now core.Now, events []core.Event, c core.Change, differs bool) {
	if differs || !sameDevice(cur.Device, c.DeviceRow()) {
		r.soft, r.fresh = append(r.soft, r.rows(cur, now, events)...), true
	}
}

// Waiting counts the rows that wait for a commit.
func (r *Recorder) Waiting() int { return len(r.soft) }

// Commit gives the rows of a commit: those that waited, and those of this batch. It keeps what waited until [Recorder.Adopted]: the
// disk may refuse.
func (r *Recorder) Commit(cur *core.State, now core.Now, events []core.Event, c core.Change, records []Record) []JournalRow {
	rows := slices.Concat(r.soft, r.rows(cur, now, events))
	seal(&rows[len(rows)-1], sums(records, c))
	return rows
}

// Adopted tells that a batch has become the state; committed, that its rows are on disk.
func (r *Recorder) Adopted(s *core.State, committed bool) {
	if committed {
		r.soft = nil
	}
	if committed || r.fresh {
		r.memory, r.fresh = s.Memory(), false
	}
}

// rows makes the rows of one batch: one for each event but signs of life, which stay in memory. A batch of nothing else has one.
func (r *Recorder) rows(cur *core.State, now core.Now, events []core.Event) (rows []JournalRow) {
	loud := 0
	for _, ev := range events {
		if _, alive := ev.(core.TaskProgress); !alive {
			loud++
		}
	}
	for i, ev := range events {
		if _, alive := ev.(core.TaskProgress); alive && (loud > 0 || i > 0) {
			continue
		}
		body := journalBody{Event: encode(ev)}
		if len(rows) == 0 {
			n := max(loud, 1)
			body.Batch = &batchHead{Rows: n, Silent: len(events) - n, Before: i, Heard: now.Heard}
			if diff, any := cur.Memory().Since(r.memory); any {
				body.Batch.Memory = packMemory(diff)
			}
		}
		if _, start := ev.(core.Started); start {
			body.Origin = &r.origin
		}
		row := JournalRow{Seq: now.Seq + int64(i), BootMS: int64(now.Boot), BootID: now.BootID, Kind: string(core.KindOf(ev)), Body: encode(body), Workflow: string(core.AboutOf(ev))}
		if now.Trusted {
			row.WallMS = now.WallMS
		}
		rows = append(rows, row)
	}
	return rows
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sums are of what one commit writes, in order: its records, then its messages as the core made them.
func sums(records []Record, c core.Change) []uint32 {
	var out []uint32
	for _, r := range records {
		out = append(out, sumOf(r))
	}
	for _, msg := range c.Outbox {
		out = append(out, crc32.Checksum(encode(msg), castagnoli))
	}
	return out
}

func sumOf(r Record) uint32 {
	h := crc32.Update(0, castagnoli, []byte(r.Workflow+"\x00"+r.Item+"\x00"))
	return crc32.Update(h, castagnoli, r.Body)
}

// seal puts the sums of a commit into its last row.
func seal(last *JournalRow, sums []uint32) {
	var body journalBody
	if err := decMode.Unmarshal(last.Body, &body); err != nil {
		panic("internal error: " + err.Error())
	}
	body.Sums = sums
	last.Body = encode(body)
}

// kinds makes each kind of event of its bytes. A kind that is not here cannot be replayed; a test finds it.
var kinds = map[core.EventKind]func([]byte) (core.Event, error){
	core.KindTaskAnswered:    decodeAs[core.TaskAnswered],
	core.KindTaskProgress:    decodeAs[core.TaskProgress],
	core.KindTaskEnded:       decodeAs[core.TaskEnded],
	core.KindTaskStatus:      decodeAs[core.TaskStatus],
	core.KindStopAnswered:    decodeAs[core.StopAnswered],
	core.KindObserved:        decodeAs[core.Observed],
	core.KindContextRead:     decodeAs[core.ContextRead],
	core.KindExecutorUp:      decodeAs[core.ExecutorUp],
	core.KindExecutorDown:    decodeAs[core.ExecutorDown],
	core.KindStarted:         decodeAs[core.Started],
	core.KindTick:            decodeAs[core.Tick],
	core.KindOccurred:        decodeAs[core.Occurred],
	core.KindScheduleOver:    decodeAs[core.ScheduleOver],
	core.KindPlanSubmitted:   decodeAs[core.PlanSubmitted],
	core.KindDecision:        decodeAs[core.DecisionReceived],
	core.KindAnswer:          decodeAs[core.AnswerReceived],
	core.KindControlReceived: decodeAs[core.ControlReceived],
	core.KindStepResult:      decodeAs[core.StepResult],
	core.KindReceived:        decodeAs[core.Receipted],
	core.KindRefused:         decodeAs[core.Refused],
	core.KindAudited:         decodeAs[core.Audited],
	core.KindSetAside:        decodeAs[core.SetAside],
	core.KindHelloAnswered:   decodeAs[core.HelloAnswered],

	core.KindContentReceived:  decodeAs[core.ContentReceived],
	core.KindRestartAnnounced: decodeAs[core.RestartAnnounced],
}

func decodeAs[T core.Event](b []byte) (core.Event, error) {
	var ev T
	err := decMode.Unmarshal(b, &ev)
	return ev, err
}

// readBody decodes the body of a row.
func readBody(r JournalRow) (body journalBody, ev core.Event, err error) {
	if err := decMode.Unmarshal(r.Body, &body); err != nil || body.Event == nil {
		return body, nil, fmt.Errorf("cannot read journal row %d: no event in it (%v): it was written by an older version", r.Seq, err)
	}
	make, known := kinds[core.EventKind(r.Kind)]
	if !known {
		return body, nil, fmt.Errorf("cannot read journal row %d: event %q is not known", r.Seq, r.Kind)
	}
	if ev, err = make(body.Event); err != nil {
		return body, nil, fmt.Errorf("cannot read journal row %d: %w", r.Seq, err)
	}
	return body, ev, nil
}

// sameDevice says whether nothing durable of the device's row differs, its clock aside.
func sameDevice(a, b core.Device) bool {
	for _, d := range []*core.Device{&a, &b} {
		d.BootID, d.Boot, d.WallMS = "", 0, 0
	}
	return reflect.DeepEqual(a, b)
}
