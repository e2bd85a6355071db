package core

import "maps"

// Disagreement counts how often a service said "done" and the home did not. It is a record of who is to be looked at, and decides
// nothing: what a service says is a claim however often it was right.
type Disagreement struct {
	Contradicted int64 `json:"contradicted,omitempty"` // the opposite was observed
	Unproven     int64 `json:"unproven,omitempty"`     // nothing proved it in its time
}

// disagree notes a "done" that was not borne out.
func (w *work) disagree(wf *Workflow, i int, reason Reason) {
	a := wf.attempt(wf.Steps[i].Task)
	if a == nil || a.Cloud || a.Outcome != OutcomeDone {
		return
	}
	d := w.dev.Ledger[a.Service]
	switch reason {
	case ReasonContradicts:
		d.Contradicted++
	case ReasonEvidenceTimeout:
		d.Unproven++
	default:
		return
	}
	ledger := maps.Clone(w.dev.Ledger) // the present state shares the map
	if ledger == nil {
		ledger = map[ServiceID]Disagreement{}
	}
	ledger[a.Service] = d
	w.dev.Ledger, w.ch.Must = ledger, true
}
