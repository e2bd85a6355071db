package taskmanager

import (
	"context"
	"slices"
	"strings"
	"sync"

	"deviceagent/taskmanager/core"
)

// What a person said, as far as plans tell it, is kept apart from all that is decided by: in rows of its own, which go when their time is over or
// somebody wants them gone. No record, no row of the journal and no message has it, so that what was decided can be explained and
// played again without it.

// itemWords is the row of a workflow, or of a template, that has the words.
const itemWords = "u"

// maxWords bounds the words kept in memory; older ones are in the store.
const maxWords = 1000

// words are what is in memory.
type words struct {
	mu    sync.Mutex
	texts map[core.WorkflowID]string
	order []core.WorkflowID // of texts, oldest first
	fresh map[core.WorkflowID]string
}

// take cuts the words off a message before anything else sees it. They are kept if the message makes or revises a plan.
func (w *words) take(ev core.Event) core.Event {
	cut := func(p *core.Plan) *core.Plan {
		if p == nil || p.Utterance == "" {
			return p
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.fresh == nil {
			w.fresh = map[core.WorkflowID]string{}
		}
		if len(w.fresh) < maxWords {
			w.fresh[p.Workflow] = p.Utterance
		}
		bare := *p
		bare.Utterance = ""
		return &bare
	}
	switch e := ev.(type) {
	case core.PlanSubmitted:
		e.Plan = cut(e.Plan)
		return e
	case core.DecisionReceived:
		e.Plan = cut(e.Plan)
		return e
	}
	return ev
}

// answered forgets the words of a message that has made no plan.
func (w *words) answered(ev core.Event) {
	if e, ok := ev.(core.PlanSubmitted); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.fresh, e.Plan.Workflow)
	}
}

// rows are the words of the plans that a change takes in; those of a template that has gone, go.
func (w *words) rows(c core.Change) (out []Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	keep := func(id core.WorkflowID) {
		if text, ok := w.fresh[id]; ok {
			out = append(out, Record{Workflow: string(id), Item: itemWords, Body: []byte(text)})
		}
	}
	for _, wf := range c.Workflows {
		if _, plan, _, _ := wf.Rows(); plan {
			keep(wf.Plan.Workflow)
		}
	}
	for id, t := range c.Templates() {
		if t == nil {
			out = append(out, Record{Workflow: string(id), Item: itemWords})
		} else {
			keep(id)
		}
	}
	slices.SortFunc(out, func(a, b Record) int { return strings.Compare(a.Workflow, b.Workflow) })
	return out
}

// kept notes what is on the disk now.
func (w *words) kept(rows []Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range rows {
		if r.Item != itemWords {
			continue
		}
		id := core.WorkflowID(r.Workflow)
		delete(w.fresh, id)
		w.set(id, string(r.Body))
	}
}

func (w *words) set(id core.WorkflowID, text string) {
	if w.texts == nil {
		w.texts = map[core.WorkflowID]string{}
	}
	if _, had := w.texts[id]; !had {
		w.order = append(w.order, id)
	}
	w.texts[id] = text
	if text == "" {
		delete(w.texts, id)
		w.order = slices.DeleteFunc(w.order, func(o core.WorkflowID) bool { return o == id })
	}
	for len(w.order) > maxWords {
		delete(w.texts, w.order[0])
		w.order = w.order[1:]
	}
}

// load takes the words out of the records of a start.
func (w *words) load(records []Record) []Record {
	w.kept(records)
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Item == itemWords })
}

// Words is what was said that a workflow comes from; of an occurrence, that of its schedule. "": it is not known, or not kept any more.
func (m *Manager) Words(id core.WorkflowID) string {
	m.words.mu.Lock()
	defer m.words.mu.Unlock()
	if text := m.words.texts[id]; text != "" {
		return text
	}
	template, _, _ := strings.Cut(string(id), "@")
	return m.words.texts[core.WorkflowID(template)]
}

// Stone is the record that stays of a workflow whose records are erased.
func Stone(workflow string) Record {
	return Record{Item: itemTomb + workflow, Body: []byte(core.ReasonAlreadyTerminal)}
}

// ForgetEnded takes work that has ended out of memory, with what was said: the store has none of it any more but the stones of erased. What
// was answered stays answered.
func (m *Manager) ForgetEnded(ctx context.Context, erased []string) error {
	var gone []string
	_, err := m.ask(ctx, request{inspect: func(s *core.State, _ core.Now) {
		for id, wf := range s.Workflows {
			if wf.State.Terminal() && !wf.HoldsAny() {
				gone = append(gone, string(id))
			}
		}
		for _, id := range gone {
			s.Drop(core.WorkflowID(id))
		}
		for _, id := range erased {
			if _, stands := s.Tombs[core.WorkflowID(id)]; !stands {
				s.Tombs[core.WorkflowID(id)] = core.ReasonAlreadyTerminal
			}
		}
	}})
	m.Forget(gone)
	return err
}

// Forget takes words out of memory whose rows have gone.
func (m *Manager) Forget(ids []string) {
	m.words.mu.Lock()
	defer m.words.mu.Unlock()
	for _, id := range ids {
		m.words.set(core.WorkflowID(id), "")
	}
}
