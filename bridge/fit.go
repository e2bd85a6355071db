package bridge

import (
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// maxResult bounds a result, and a question. Source: docs/contract.md, envelope (64 KiB).
const maxResult = 64 << 10

// cuts are what a message gives up, in this order: the middle of its trace, the values of its evidence, the evidence, the values that a question saw, the trace, the effects, the steps
// that went well, and then half of the remaining steps, the last first, until it fits.
var cuts = []func(*wire.Envelope){
	thinTrace,
	func(e *wire.Envelope) {
		for _, list := range evidenceIn(e) {
			for i := range *list {
				(*list)[i].Value = wire.Value{}
			}
		}
	},
	func(e *wire.Envelope) {
		for _, list := range evidenceIn(e) {
			*list = nil
		}
	},
	thinEvents,
	thinContext,
	noTrace,
	steps(func(all []wire.StepReport) []wire.StepReport {
		for i := range all {
			all[i].Effects = nil
		}
		return all
	}),
	steps(func(all []wire.StepReport) []wire.StepReport {
		return slices.DeleteFunc(all, func(s wire.StepReport) bool {
			return s.State == string(core.Completed) || s.State == string(core.Satisfied) || s.ReasonCode == string(core.ReasonConditionFalse)
		})
	}),
}

var halve = steps(func(all []wire.StepReport) []wire.StepReport { return all[:len(all)/2] })

func steps(cut func([]wire.StepReport) []wire.StepReport) func(*wire.Envelope) {
	return func(e *wire.Envelope) {
		if e.Result != nil {
			e.Result.Steps = cut(e.Result.Steps)
		}
	}
}

func evidenceIn(e *wire.Envelope) (lists []*[]wire.Evidence) {
	if e.StepDue != nil {
		lists = append(lists, &e.StepDue.Evidence)
	}
	if e.Result != nil {
		for i := range e.Result.Steps {
			lists = append(lists, &e.Result.Steps[i].Evidence)
		}
	}
	return lists
}

// fit encodes, and cuts what is too large or what no message can hold.
func (c *Codec) fit(e *wire.Envelope) ([]byte, error) {
	for n := 0; ; n++ {
		body, err := wire.Encode(*e, c.o.Encoding)
		fits := err == nil && (e.Result == nil && e.Escalation == nil || len(body) <= maxResult)
		switch {
		case fits || e.Ack != nil:
			return body, err
		case n < len(cuts):
			cuts[n](e)
		case e.Result != nil && len(e.Result.Steps) > 0:
			halve(e)
		default:
			return body, err
		}
		if e.Result != nil {
			e.Result.Truncated = true
		}
	}
}
