package firmware

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core"
)

// snapshot is one look at the state, with nothing of the state in it.
type snapshot struct {
	mode      string
	holders   []holder
	goals     []goal // open workflows by rank
	questions map[string]question
	moving    bool
	inHand    []reason // what a restart would cut off
	leftMS    int64    // until time moves the last of them, as far as it is known
	etag      string
	rooms     string
}

// goal is a workflow as it is signalled.
type goal struct{ id, state, reason string }

// holder is one who holds work back.
type holder struct{ id, by, why string }

// question is an open question.
type question struct {
	id, workflow, text string
	revision           int64
	options            []option
	leftMS             int64
}

// option is one answer that a question takes; it travels as (ss).
type option struct{ ID, Text string }

// reason is why something is not so; it travels as (ss).
type reason struct{ Code, Text string }

func snapshotOf(s *core.State, now core.Now) snapshot {
	cat := s.Catalog()
	snap := snapshot{mode: string(s.Mode()), questions: map[string]question{}, etag: cat.Etag, rooms: cat.RoomsEtag}
	for _, h := range s.Holders() {
		snap.holders = append(snap.holders, holder{h.ID(), clean(h.By), clean(h.Why)})
	}
	for _, id := range s.Open() {
		snap.goals = append(snap.goals, goalOf(s.Workflows[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(s.Workflows)) { // also of ended ones: a task may outlive its step
		wf := s.Workflows[id]
		snap.moving = snap.moving || wf.Moving()
		for i := range wf.Attempts {
			snap.cut(wf, &wf.Attempts[i], now)
		}
		for i := range wf.Steps {
			snap.unproven(wf, i, now)
		}
		for _, e := range wf.Escalations {
			if e.State == core.EscOpen {
				snap.questions[string(e.ID)] = questionOf(wf, e, now)
			}
		}
		for _, a := range wf.Asks {
			if a.State == core.AskOpen {
				snap.questions[string(a.ID)] = askOf(wf, a, now)
			}
		}
	}
	return snap
}

// clean makes what people wrote fit for a bus, which closes the connection over a text that is none. It would be written anew after each
// return, and the agent never stay.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func goalOf(wf *core.Workflow) goal {
	return goal{string(wf.Plan.Workflow), string(wf.State), string(cmp.Or(wf.Cancel, wf.Reason))}
}

// cut notes what a restart would do to a task, where it would do anything: a step of the cloud goes on without the robot.
func (snap *snapshot) cut(wf *core.Workflow, a *core.Attempt, now core.Now) {
	if a.State == core.Ended || a.Cloud {
		return
	}
	spec, st := &wf.Plan.Steps[a.Step], &wf.Steps[a.Step]
	code, what := "running", "runs"
	switch {
	case a.State == core.Lost || a.State == core.Calling:
		code, what = "outcome_unknown", "may run, which nobody knows"
	case a.State == core.Stopping:
		code, what = "stopping", "is being stopped"
	case a.Pausing == core.PauseConfirmed:
		code, what = "paused", "is paused and would not go on"
	case st.State == core.Verifying && st.Task == a.Task:
		return // see unproven
	case spec.TimeoutMS == 0:
		code, what = "human_paced", "waits for a person"
	case spec.MovesBody:
		code, what = "moving", "moves the body"
	}
	snap.against(wf, a.Step, code, what, now)
}

// unproven notes a step that is done by its executor's word: what would prove it may be said only once.
func (snap *snapshot) unproven(wf *core.Workflow, i int, now core.Now) {
	if wf.Steps[i].State == core.Verifying && wf.Plan.Steps[i].Method != "" {
		snap.against(wf, i, "verifying", "waits for its evidence", now)
	}
}

func (snap *snapshot) against(wf *core.Workflow, i int, code, what string, now core.Now) {
	spec, st := &wf.Plan.Steps[i], &wf.Steps[i]
	snap.inHand = append(snap.inHand, reason{code, fmt.Sprintf("%s of %s/%s %s", spec.Method, wf.Plan.Workflow, st.ID, what)})
	if st.Due != 0 && !st.State.Terminal() {
		snap.leftMS = max(snap.leftMS, int64(st.Due-now.Boot))
	}
}

// actionTexts say to a person what an action does.
var actionTexts = map[core.Action]string{
	core.ActRetry:  "try the step once more",
	core.ActReturn: "end the plan and go back to the station",
	core.ActCancel: "give the step up",
}

// questionOf tells an open question. Options that need a new plan are the cloud's: nobody on the robot writes one.
func questionOf(wf *core.Workflow, e core.Escalation, now core.Now) question {
	q := question{id: string(e.ID), workflow: string(wf.Plan.Workflow), revision: e.Revision, leftMS: max(0, int64(e.Due-now.Boot)),
		text: fmt.Sprintf("step %s of %s does not go on: %s. What now?", e.Step, wf.Plan.Workflow, core.InfoOf(e.Reason).Text)}
	for _, a := range e.Allowed {
		if text := actionTexts[a]; text != "" {
			q.options = append(q.options, option{string(a), text})
		}
	}
	return q
}

// askOf tells an open question to the user, in the words in which the robot asks it.
func askOf(wf *core.Workflow, a core.Ask, now core.Now) question {
	q := question{id: string(a.ID), workflow: string(wf.Plan.Workflow), text: clean(a.Text), leftMS: max(0, int64(a.Due-now.Boot))}
	for _, o := range a.Options {
		q.options = append(q.options, option{o.ID, clean(o.Text)})
	}
	return q
}

func (snap *snapshot) holderIDs() []string {
	ids := []string{}
	for _, h := range snap.holders {
		ids = append(ids, h.id)
	}
	return ids
}
