package core

import (
	"maps"
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// Memory is the part of a state that no record holds: what was read, who is there, when to look again. Decisions rest on it, so a
// journal that is to be replayed carries what of it has changed where no row of the journal says so. The rest of the private fields of
// a state is derived from its records, or from their history; a test holds every field against these two lists.
type Memory struct {
	Known    map[catalog.ContextKey]Known
	Services map[ServiceID]Service // Instance "" in a difference: it is gone
	Used     map[catalog.ResourceID]Sample
	Foreign  map[catalog.ResourceID]Sample
	Gave     map[catalog.EventName]Sample
	Looks    map[WorkflowID][]Instant // when to look again: of each step, then two of each attempt; left out where all are 0
	TaskNo   int64                    // ids that have left and whose batch was not committed are not used again
	Trusted  bool                     // the wall clock was to be trusted in the last batch
}

// Memory gives what s holds of it. The values are shared, not copied: neither side changes them in place.
func (s *State) Memory() Memory {
	m := Memory{Known: maps.Clone(s.Known), Services: maps.Clone(s.Services), Used: maps.Clone(s.used), Foreign: maps.Clone(s.foreign), Gave: maps.Clone(s.gave),
		Looks: map[WorkflowID][]Instant{}, TaskNo: s.Device.TaskNo, Trusted: s.Device.WallMS != 0}
	for id, wf := range s.Workflows {
		if looks := wf.looks(); slices.ContainsFunc(looks, func(t Instant) bool { return t != 0 }) {
			m.Looks[id] = looks
		}
	}
	return m
}

func (wf *Workflow) looks() []Instant {
	out := make([]Instant, 0, len(wf.Steps)+2*len(wf.Attempts))
	for i := range wf.Steps {
		out = append(out, wf.Steps[i].recheck)
	}
	for i := range wf.Attempts {
		out = append(out, wf.Attempts[i].next, wf.Attempts[i].pauseNext)
	}
	return out
}

// Since gives what is different in m from an earlier one, and whether anything is.
func (m Memory) Since(before Memory) (diff Memory, any bool) {
	diff = Memory{TaskNo: m.TaskNo, Trusted: m.Trusted}
	diff.Known = changed(m.Known, before.Known, sameKnown)
	diff.Services = changed(m.Services, before.Services, func(a, b Service) bool {
		return a.Instance == b.Instance && a.Since == b.Since && slices.Equal(a.Methods, b.Methods)
	})
	diff.Used = changed(m.Used, before.Used, func(a, b Sample) bool { return a == b })
	diff.Foreign = changed(m.Foreign, before.Foreign, func(a, b Sample) bool { return a == b })
	diff.Gave = changed(m.Gave, before.Gave, func(a, b Sample) bool { return a == b })
	diff.Looks = changed(m.Looks, before.Looks, slices.Equal[[]Instant])
	n := len(diff.Known) + len(diff.Services) + len(diff.Used) + len(diff.Foreign) + len(diff.Gave) + len(diff.Looks)
	return diff, n > 0 || m.TaskNo != before.TaskNo || m.Trusted != before.Trusted
}

// changed lists the entries that are new or other than before, and with their zero value those that are gone.
func changed[K comparable, V any](now, before map[K]V, same func(a, b V) bool) map[K]V {
	out := map[K]V{}
	for k, v := range now {
		if old, was := before[k]; !was || !same(old, v) {
			out[k] = v
		}
	}
	for k := range before {
		if _, there := now[k]; !there {
			var none V
			out[k] = none
		}
	}
	return out
}

// sameKnown: each reading makes a new run of samples, which ends with another sequence.
func sameKnown(a, b Known) bool {
	return a.Source == b.Source && a.Available == b.Available && a.Class == b.Class && slices.Equal(a.Samples, b.Samples) && a.Rival == b.Rival
}

// Remember brings the memory of a state to what a difference says.
func (s *State) Remember(diff Memory) {
	maps.Copy(s.Known, diff.Known)
	maps.DeleteFunc(s.Known, func(_ catalog.ContextKey, k Known) bool { return k.Source == "" })
	maps.Copy(s.Services, diff.Services)
	maps.DeleteFunc(s.Services, func(_ ServiceID, x Service) bool { return x.Instance == "" })
	maps.Copy(s.used, diff.Used)
	maps.Copy(s.foreign, diff.Foreign)
	if s.gave == nil {
		s.gave = map[catalog.EventName]Sample{}
	}
	maps.Copy(s.gave, diff.Gave)
	for id, looks := range diff.Looks {
		if wf := s.Workflows[id]; wf != nil {
			s.put(wf.looking(looks))
		}
	}
	s.Device.TaskNo = diff.TaskNo
	if (s.Device.WallMS != 0) != diff.Trusted {
		s.Device.WallMS = 0
		if diff.Trusted {
			s.Device.WallMS = 1 // only whether it is known matters: the next batch writes its own
		}
	}
}

// looking gives a copy that looks again at these moments.
func (wf *Workflow) looking(at []Instant) *Workflow {
	c := wf.clone()
	next := func() (t Instant) {
		if len(at) > 0 {
			t, at = at[0], at[1:]
		}
		return t
	}
	for i := range c.Steps {
		c.Steps[i].recheck = next()
	}
	for i := range c.Attempts {
		c.Attempts[i].next, c.Attempts[i].pauseNext = next(), next()
	}
	return c
}
