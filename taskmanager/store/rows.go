package store

import (
	"database/sql/driver"

	"deviceagent/taskmanager"
)

// Each row type: its columns as they are read, and its checksum. A key is part of the sum, so that a row under a wrong key is
// found as well.

func recordSum(s *summer, workflow, item string, body []byte) int64 {
	return s.text(workflow).text(item).bytes(body).sum()
}

func journalSum(s *summer, r taskmanager.JournalRow) int64 {
	return s.num(r.Seq).num(r.BootMS).num(r.WallMS).text(r.BootID).text(r.Kind).text(r.Workflow).bytes(r.Body).sum()
}

func outboxSum(s *summer, r taskmanager.OutboxRow) int64 {
	return s.num(r.Seq).text(r.ID).text(r.Type).text(r.Class).text(r.Workflow).bytes(r.Body).sum()
}

func memorySum(s *summer, m taskmanager.Memory) int64 {
	return s.text(m.Key).text(m.Hash).bytes(m.Answer).num(m.ExpireMS).sum()
}

const (
	recordColumns  = `workflow, item, body, crc`
	journalColumns = `seq, boot_ms, wall_ms, boot_id, kind, workflow, body, crc`
	outboxColumns  = `seq, id, type, class, workflow, body, crc`
	memoryColumns  = `key, hash, answer, expire_ms, crc`
)

func readRecord(s *summer, v []driver.Value) (taskmanager.Record, error) {
	r := taskmanager.Record{Workflow: asText(v[0]), Item: asText(v[1]), Body: asBytes(v[2])}
	return r, differs(recordSum(s, r.Workflow, r.Item, r.Body), asInt(v[3]), "record", r.Workflow+" "+r.Item)
}

func readJournal(s *summer, v []driver.Value) (taskmanager.JournalRow, error) {
	r := taskmanager.JournalRow{Seq: asInt(v[0]), BootMS: asInt(v[1]), WallMS: asInt(v[2]), BootID: asText(v[3]),
		Kind: asText(v[4]), Workflow: asText(v[5]), Body: asBytes(v[6])}
	return r, differs(journalSum(s, r), asInt(v[7]), "journal row", r.Seq)
}

func readOutbox(s *summer, v []driver.Value) (taskmanager.OutboxRow, error) {
	r := taskmanager.OutboxRow{Seq: asInt(v[0]), ID: asText(v[1]), Type: asText(v[2]), Class: asText(v[3]),
		Workflow: asText(v[4]), Body: asBytes(v[5])}
	return r, differs(outboxSum(s, r), asInt(v[6]), "outbox row", r.Seq)
}

func readMemory(s *summer, v []driver.Value) (taskmanager.Memory, error) {
	m := taskmanager.Memory{Key: asText(v[0]), Hash: asText(v[1]), Answer: asBytes(v[2]), ExpireMS: asInt(v[3])}
	return m, differs(memorySum(s, m), asInt(v[4]), "memory row", m.Key)
}
