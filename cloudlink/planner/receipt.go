package planner

import (
	"cmp"
	"maps"
	"slices"

	"deviceagent/bridge/wire"
)

// storeOf is to whom a receipt goes: the store of a device whose messages it names.
type storeOf struct{ device, epoch string }

// flushReceipts sends the receipts that have gathered. One that is lost costs a repeat: the device sends its row again.
func (s *Server) flushReceipts() {
	order := func(a, b storeOf) int { return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.epoch, b.epoch)) }
	for _, to := range slices.SortedFunc(maps.Keys(s.receipts), order) {
		for refs := range slices.Chunk(s.receipts[to], receiptRefs) {
			s.sendReceipt(to, wire.Receipt{Refs: refs})
		}
	}
	clear(s.receipts)
}

// sendReceipt names the store that it is for, as all that goes down does: one that is played again to another store means nothing there.
func (s *Server) sendReceipt(to storeOf, r wire.Receipt) {
	now := stamp(s.opt.Now())
	r.PlannerTime = now
	s.publish(wire.Envelope{V: wire.Version, Type: wire.TypeReceipt, ID: s.opt.NewID(), DeviceID: to.device, StoreEpoch: to.epoch, SentAt: now, Receipt: &r})
}
