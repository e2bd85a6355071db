package core

import (
	"maps"
	"slices"
)

// Part is one part of what came with a schedule to be told when the planner cannot be reached: a chapter of a story.
type Part struct {
	Name string `json:"name"`
	At   int64  `json:"at"` // its place, from 1; the parts of a plan come in this order
	Text string `json:"text"`
}

// Bounds of what comes with schedules. Source: docs/contract.md, content.
const (
	maxPrefetch    = 128 << 10 // bytes of text of one plan
	maxAllPrefetch = 4 << 20   // of all schedules of the device
)

func (p *Plan) prefetchBytes() (n int) {
	for _, part := range p.Prefetch {
		n += len(part.Text)
	}
	return n
}

// prefetchFits says whether the device has room for what comes with a schedule.
func (w *work) prefetchFits(p *Plan) bool {
	all := p.prefetchBytes()
	if all > maxPrefetch {
		return false
	}
	ids := slices.Collect(maps.Keys(w.cur.Templates))
	for id := range w.ch.templates {
		if w.cur.Templates[id] == nil {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if t := w.template(id); t != nil && id != p.Workflow {
			all += t.Plan.prefetchBytes()
		}
	}
	return all <= maxAllPrefetch
}

// noteHeard keeps how far the parts of a schedule were heard; 0 forgets it. It is a small thing in the device's row, so that a night of
// stories does not write all stories again and again.
func (w *work) noteHeard(id WorkflowID, at int64) {
	if w.dev.Heard[id] == at {
		return
	}
	next := maps.Clone(w.dev.Heard)
	if next == nil {
		next = map[WorkflowID]int64{}
	}
	if next[id] = at; at == 0 {
		delete(next, id)
	}
	w.dev.Heard, w.ch.Must = next, true
}

// partAfter is the part of a session's schedule that follows a place; false: none is left.
func (w *work) partAfter(s *Session, at int64) (part Part, last, ok bool) {
	parts := w.partsOf(s)
	i := slices.IndexFunc(parts, func(p Part) bool { return p.At > at })
	if i < 0 {
		return Part{}, false, false
	}
	return parts[i], i == len(parts)-1, true
}

// partReminder is the name of parts that are told at each occurrence anew: who is woken each morning is not told a story that has an end.
const partReminder = "reminder"

func toldAnew(parts []Part) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p Part) bool { return p.Name != partReminder })
}

// partsOf are those of the schedule, or, where that was for one date, of its only occurrence.
func (w *work) partsOf(s *Session) []Part {
	wf := w.peek(s.Workflow)
	switch {
	case wf == nil || wf.Plan.Template == "":
		return nil
	case len(wf.Plan.Prefetch) > 0:
		return wf.Plan.Prefetch
	}
	if t := w.template(wf.Plan.Template); t != nil {
		return t.Plan.Prefetch
	}
	return nil
}

func (w *work) templateOf(s *Session) *Template {
	wf := w.peek(s.Workflow)
	if wf == nil || wf.Plan.Template == "" {
		return nil
	}
	return w.template(wf.Plan.Template)
}

// tellOwn: the planner has sent nothing. What came with the schedule is told, from where the last occurrence ended; where nothing is left,
// the step is blocked and the user is told so, once.
func (w *work) tellOwn(s *Session) {
	wf, i, live := w.live(s)
	if !live || wf.Steps[i].State != Running || s.Given > 0 || s.MaySpeak {
		return
	}
	from := w.dev.Heard[wf.Plan.Template]
	if toldAnew(w.partsOf(s)) {
		from = 0
	}
	if _, _, any := w.partAfter(s, from); any {
		s.Own, s.MaySpeak = true, true
		w.takePart(s, from)
		w.steerSession(s)
		return
	}
	w.block(wf, i, ReasonContentOffline, "")
	wf.Steps[i].recheck = 0 // it waits for the planner, who is not asked again
	w.notice(string(s.ID), ReasonContentOffline, wf.Plan.Locale)
}

// takePart queues the part that follows a place.
func (w *work) takePart(s *Session, at int64) {
	if part, last, ok := w.partAfter(s, at); ok {
		s.take(Words{Way: Aloud, Text: part.Text, Last: last, Part: part.At})
	}
}

// nextPart goes on with what came with the schedule.
func (w *work) nextPart(s *Session, after Words) {
	if s.Own && after.Part > 0 {
		w.takePart(s, after.Part)
	}
}

// partHeard: a part was heard to its end, by the robot's own word. The next occurrence goes on after it.
func (w *work) partHeard(s *Session, said Words) {
	if t := w.templateOf(s); s.Own && t != nil && !toldAnew(t.Plan.Prefetch) && said.Part > w.dev.Heard[t.Plan.Workflow] {
		w.noteHeard(t.Plan.Workflow, said.Part)
	}
}
