package taskmanager

import "context"

// Store keeps what must survive a power cut. It is declared here by its user; package taskmanager/store implements it over
// SQLite, package taskmanager/storetest in memory and with faults. Bytes are final: the store never looks into a body.
type Store interface {
	// Load reads everything that a start needs: open records, the whole outbox, single values and the last journal row.
	Load(ctx context.Context) (Image, error)
	// Commit writes one batch in one transaction. nil: durable. [ErrNotCommitted]: surely nothing of it is there, and with
	// [ErrStoreClosed] nothing ever will be. Any other
	// error wraps [ErrStoreBroken]: stop what moves, exit, verify at the next start. It is never cancelled half way: ctx bounds
	// only the wait before it begins.
	Commit(ctx context.Context, b Batch) error
	// Remembered looks up the id memory: the answer given to a natural key, or ok=false with the newest ExpireMS that was ever
	// pruned (0: none was), so that what may have been forgotten is not taken for new.
	Remembered(ctx context.Context, key string) (Memory, bool, error)
	// Finished reads the records of a terminal workflow that Load left out. ok=false: never heard of, or pruned.
	Finished(ctx context.Context, workflow string) ([]Record, bool, error)
	// Journal reads rows from seq on, oldest first, at most limit.
	Journal(ctx context.Context, from int64, limit int) ([]JournalRow, error)
	// Probe reads one row: the disk answers. It never writes.
	Probe(ctx context.Context) error
	Close() error
}

// Image is what Load found.
type Image struct {
	Epoch      string // store_epoch, random, made with a new store
	StartNo    int64  // starts so far; the Manager commits StartNo+1 before it acts
	Fresh      bool   // the store was made new by this open
	SetAside   string // path of a predecessor that was moved away, "" if none
	AsideWhy   string // why it was: damaged, a clone
	Records    []Record
	Outbox     []OutboxRow
	OutboxSeq  int64             // highest that was ever committed in this epoch, also if its row is gone; 0 if none
	Meta       map[string]string // what Batch.Meta wrote
	JournalSeq int64             // of the last row, 0 if none
	Last       JournalRow
}

// Record is one durable row of state. Workflow "" holds device-wide records. Body nil in a Batch deletes it.
type Record struct {
	Workflow string
	Item     string // "" the workflow itself, "s:step_1" a step, "a:…" an attempt
	Body     []byte
	Closed   bool // part of a terminal workflow: Load leaves it out, Finished reads it
}

// JournalRow is one input of the core, or a note, as committed.
type JournalRow struct {
	Seq      int64
	BootMS   int64 // boot clock at intake
	WallMS   int64 // wall clock at intake, Unix ms; 0: not known
	BootID   string
	Kind     string
	Workflow string // correlation, "" if none
	Body     []byte
}

// OutboxRow is one message for the cloud, as final bytes. It stays until the planner's receipt names its ID.
type OutboxRow struct {
	Seq      int64 // durable, never reset within an epoch
	ID       string
	Type     string // wire type: the last part of the topic
	Class    string // terminal, answer, telemetry: what may be dropped first when the outbox is full
	Workflow string
	Body     []byte
}

// Memory is one remembered natural key with the hash of its content and the answer that was given.
type Memory struct {
	Key      string // "plan:pl_1:0", "control:0197…"
	Hash     string
	Answer   []byte
	ExpireMS int64 // wall clock, Unix ms; 0: never
}

// Batch is one commit.
type Batch struct {
	Meta       map[string]string // "start_no" and other single values
	Journal    []JournalRow
	Records    []Record
	Outbox     []OutboxRow
	OutboxDone []string // message ids whose rows go
	Memory     []Memory
}
