package model

import (
	"reflect"
	"slices"

	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Verdicts of a turn for which a model was asked.
const (
	ByModel   = "model"      // its decision was taken
	Agreed    = "agreed"     // it decided as the rules had
	KeptDraft = "kept_draft" // the rules' decision is anchored, and no contrary evidence held
	AskedBack = "asked_back" // its action is not carried by the words, and became a question
	Fallback  = "fallback"   // it was of no use: the rules' decision stands
)

// certain says whether the rules need no model.
func certain(draft turn.Decision) bool { return draft.FamilyConfidence == "high" || anchored(draft) }

// stops says whether a decision stops something. Nobody waits for a model then.
func (p *Planner) stops(d turn.Decision) bool {
	return d.Control != nil || slices.ContainsFunc(d.Steps, func(s turn.Step) bool {
		return len(p.reg.cat.Operations[catalog.Method(s.TaskMethod)].Stops) > 0
	})
}

// anchored says whether a decision rests on the registry itself: an operation whose every word was accounted for, a schedule, a
// category that is refused.
func anchored(draft turn.Decision) bool {
	if len(draft.Steps) > 0 && draft.FamilyConfidence == "high" {
		return true // whoever owns it: also what the robot and the cloud do together
	}
	switch draft.OwnerSelection {
	case turn.ODL, turn.SCH:
		return draft.FamilyConfidence == "high"
	case turn.UNS:
		return draft.FamilyConfidence == "high" || draft.UnsupportedCategory != ""
	}
	return false
}

// same says whether two decisions do the same.
func same(a, b turn.Decision) bool {
	if a.OwnerSelection != b.OwnerSelection || a.AskFollowUp != b.AskFollowUp || len(a.Steps) != len(b.Steps) {
		return false
	}
	for i := range a.Steps {
		x, y := a.Steps[i], b.Steps[i]
		if x.TaskMethod != y.TaskMethod || x.Skill != y.Skill || x.AnchorEvent != y.AnchorEvent || !reflect.DeepEqual(x.Params.Map(), y.Params.Map()) || x.DelayMS != y.DelayMS || !reflect.DeepEqual(x.When, y.When) {
			return false
		}
	}
	return true
}

// judge chooses between the rules' decision and a model's.
func (a *accepting) judge() (turn.Decision, string) {
	d := a.prop.decision
	talk := d.OwnerSelection == turn.DEF && !d.AskFollowUp
	switch {
	case a.prop.asked && a.draft.AskFollowUp:
		return a.draft, AskedBack // the rules' question knows what it asks about
	case same(a.draft, d) && !(talk && d.TTSResponse != a.draft.TTSResponse):
		agreed := a.draft
		if len(agreed.Steps) == 0 && !agreed.AskFollowUp { // how close another family is the model knows better
			agreed.RunnerUpFamily, agreed.NeedsSecondPass = d.RunnerUpFamily, d.NeedsSecondPass
		}
		return agreed, Agreed
	case anchored(a.draft) && !a.contrary(d):
		return a.draft, KeptDraft
	case a.prop.asked:
		return d, AskedBack
	}
	return d, ByModel
}

// contrary says whether the model has named evidence that speaks for its decision, is registered, stands in the words, and is
// nothing that the rules had seen as well.
func (a *accepting) contrary(d turn.Decision) bool {
	return slices.ContainsFunc(a.out.ContraryEvidence, func(e evidence) bool { return a.proven(e) && a.missed(e, d) })
}

// proven says whether a piece of evidence is registered and stands in the words.
func (a *accepting) proven(e evidence) bool {
	return cited(a.in.Text, e.Span) && hasWord(e.Span, a.reg.wordsOf(e))
}

// missed says whether the rules' decision does without it, and the model's rests on it.
func (a *accepting) missed(e evidence, d turn.Decision) bool {
	uses := func(d turn.Decision) bool {
		return slices.ContainsFunc(d.Steps, func(s turn.Step) bool { return s.TaskMethod == e.ID })
	}
	switch e.Kind {
	case byOperation:
		return !uses(a.draft) && uses(d)
	case byUnsupported:
		return a.draft.OwnerSelection != turn.UNS && d.OwnerSelection == turn.UNS
	case bySchedule:
		return a.draft.OwnerSelection != turn.SCH && d.OwnerSelection == turn.SCH
	case byProduct:
		return d.OwnerSelection == turn.DQR && a.reg.isQuestion(a.in.Text)
	}
	return false
}

// wordsOf are the registered words of what a piece of evidence names; none where nobody registered it.
func (r *known) wordsOf(e evidence) []string {
	switch e.Kind {
	case byOperation:
		if r.public(e.ID) {
			return both(r.cat.Operations[catalog.Method(e.ID)].Aliases)
		}
	case byUnsupported:
		return both(r.words.Unsupported[e.ID].Aliases)
	case bySchedule:
		return append(both(r.words.Hints["schedule_management"]), both(r.words.Hints["schedule_time"])...)
	case byProduct:
		return both(r.words.QnATopics[e.ID])
	}
	return nil
}
