package planner

import (
	"maps"
	"slices"

	"deviceagent/bridge/wire"
)

// flushReceipts sends the receipts that have gathered. One that is lost costs a repeat: the device sends its row again.
func (s *Server) flushReceipts() {
	for _, device := range slices.Sorted(maps.Keys(s.receipts)) {
		for refs := range slices.Chunk(s.receipts[device], receiptRefs) {
			s.sendReceipt(device, wire.Receipt{Refs: refs})
		}
	}
	clear(s.receipts)
}

func (s *Server) sendReceipt(device string, r wire.Receipt) {
	now := stamp(s.opt.Now())
	r.PlannerTime = now
	s.publish(wire.Envelope{V: wire.Version, Type: wire.TypeReceipt, ID: s.opt.NewID(), DeviceID: device, SentAt: now, Receipt: &r})
}
