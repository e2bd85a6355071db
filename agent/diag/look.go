package diag

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"deviceagent/taskmanager/core"
)

// looked runs f over one look at the state and gives its document.
func (s *server) looked(r *http.Request, f func(view) (any, *Problem)) (rep reply, p *Problem) {
	if err := s.inspect(r.Context(), func(st *core.State, now core.Now) {
		v := view{s: st, now: now, zone: s.zone, words: s.agent.Words}
		rep.data, p = f(v)
		rep.asOf = v.asOf()
	}); err != nil {
		return reply{}, err
	}
	return rep, p
}

func (s *server) status(r *http.Request) (reply, *Problem) {
	facts := s.agent.Status()
	return s.looked(r, func(v view) (any, *Problem) {
		doc := StatusDocument{Facts: facts, Health: "ok", Services: v.services(facts.Executors), Holders: v.holders(), Cleaning: v.cleanUp()}
		doc.Warnings = append([]string{}, facts.Warnings...)
		if doc.Store.SetAside == nil {
			doc.Store.SetAside = []string{}
		}
		for _, wf := range v.s.Workflows {
			count(&doc.Workflows, wf.State)
		}
		doc.Workflows.Tombstones = len(v.s.Tombs)
		doc.Mode, doc.Modes = string(v.s.Mode()), v.modes()
		if doc.Tier = facts.Tier; doc.Tier != tierOff {
			doc.Tier = string(core.Tier(facts.Tier).Lower(v.s.Device.TierCap))
		}
		if v.s.Device.NoGoals {
			doc.Tier = tierOff
		}
		cat := v.s.Catalog()
		doc.Catalog = CatalogStatus{Etag: cat.Etag, RoomsEtag: cmp.Or(facts.RoomsEtag, cat.RoomsEtag), Operations: len(cat.Operations)}
		if facts.StartedMS != 0 && v.now.WallMS != 0 {
			doc.Started = &Moment{At: v.wall(facts.StartedMS), AgeMS: v.now.WallMS - facts.StartedMS}
		}
		for _, svc := range doc.Services {
			if svc.State != "ready" {
				doc.Warnings = append(doc.Warnings, "executor "+svc.Service+" is absent")
			}
		}
		for _, id := range doc.Store.SetAside {
			doc.Warnings = append(doc.Warnings, "the record of "+id+" was set aside: it cannot be read, or made the agent fail")
		}
		if !v.now.Trusted {
			doc.Warnings = append(doc.Warnings, "clock not trusted")
		}
		if doc.Hold {
			doc.Warnings = append(doc.Warnings, "started with --hold: nothing is dispatched")
		}
		if len(doc.Warnings) > 0 {
			doc.Health = "degraded"
		}
		return doc, nil
	})
}

func count(c *WorkflowCounts, state core.WorkflowState) {
	switch state {
	case core.WfActive, core.WfCancelling:
		c.Active++
	case core.WfQueued:
		c.Queued++
	case core.WfHeld:
		c.Held++
	default:
		c.InMemory++
	}
}

func (s *server) version(r *http.Request) (reply, *Problem) {
	f := s.agent.Status()
	return s.looked(r, func(view) (any, *Problem) {
		return VersionDocument{API: APIVersion, Version: f.Version, Commit: f.Commit, Contract: f.Contract, DeviceID: f.DeviceID}, nil
	})
}

func (s *server) workflows(r *http.Request) (reply, *Problem) {
	all := r.URL.Query().Get("all") == "true"
	return s.looked(r, func(v view) (any, *Problem) { return v.list(all), nil })
}

func (s *server) workflow(r *http.Request) (reply, *Problem) {
	return s.one(r, func(v view, wf *core.Workflow) (any, *Problem) { return v.workflow(wf), nil })
}

// one answers from one workflow: of the state, or, by its whole id, one that ended before this start and is in the store.
func (s *server) one(r *http.Request, f func(view, *core.Workflow) (any, *Problem)) (reply, *Problem) {
	id := r.PathValue("id")
	missing := false
	rep, p := s.looked(r, func(v view) (any, *Problem) {
		wf, p := v.find(id)
		if p != nil {
			missing = p.Code == string(CodeUnknownTarget)
			return nil, p
		}
		return f(v, wf)
	})
	if !missing {
		return rep, p
	}
	wf, ok, err := s.agent.Finished(r.Context(), core.WorkflowID(id))
	if err != nil {
		s.log.Warn().Err(err).Str("workflow_id", id).Msg("finished workflow cannot be read")
	}
	if !ok {
		return rep, p
	}
	return s.looked(r, func(v view) (any, *Problem) { return f(v, wf) })
}

func (s *server) why(r *http.Request) (reply, *Problem) {
	return s.one(r, func(v view, wf *core.Workflow) (any, *Problem) {
		doc, ok := v.why(wf, r.PathValue("step"))
		if !ok {
			return nil, NewProblem(CodeUnknownTarget, doc.Workflow+" has no step "+r.PathValue("step"), "deviceagentctl show "+doc.Workflow)
		}
		return doc, nil
	})
}

func (s *server) context(r *http.Request) (reply, *Problem) {
	keys := r.URL.Query()["key"]
	return s.looked(r, func(v view) (any, *Problem) {
		rows := v.context()
		if len(keys) == 0 {
			return rows, nil
		}
		picked := []ContextRow{}
		for _, key := range keys {
			i := slices.IndexFunc(rows, func(row ContextRow) bool { return row.Key == key })
			if i < 0 {
				return nil, NewProblem(CodeUnknownTarget, "the catalog has no context key "+key, "deviceagentctl context")
			}
			picked = append(picked, rows[i])
		}
		return picked, nil
	})
}

func (s *server) executors(r *http.Request) (reply, *Problem) {
	known := s.agent.Status().Executors
	return s.looked(r, func(v view) (any, *Problem) { return v.services(known), nil })
}

func (s *server) config(r *http.Request) (reply, *Problem) {
	settings := append([]Setting{}, s.agent.Status().Settings...)
	return s.looked(r, func(view) (any, *Problem) { return settings, nil })
}

// find resolves an id: exact, a prefix that only one has, @last (accepted last) or @failed (failed last).
func (v view) find(id string) (*core.Workflow, *Problem) {
	if wf := v.s.Workflows[core.WorkflowID(id)]; wf != nil {
		return wf, nil
	}
	if strings.HasPrefix(id, "@") {
		return v.selected(id)
	}
	var found []*core.Workflow
	for _, wf := range v.s.Workflows {
		if id != "" && strings.HasPrefix(string(wf.Plan.Workflow), id) {
			found = append(found, wf)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		detail := ""
		if r, ok := v.s.Tombs[core.WorkflowID(id)]; ok {
			detail = "it was cancelled (" + string(r) + ") and nothing else of it is in memory"
		}
		return nil, NewProblem(CodeUnknownTarget, detail, "deviceagentctl ps --all")
	}
	var names []string
	for _, wf := range found {
		names = append(names, string(wf.Plan.Workflow))
	}
	slices.Sort(names)
	if len(names) > 8 {
		names = append(names[:8], "…")
	}
	return nil, NewProblem(CodeAmbiguous, strings.Join(names, ", "), "write more of it")
}

func (v view) selected(id string) (*core.Workflow, *Problem) {
	var best *core.Workflow
	for _, wf := range v.s.Workflows {
		switch id {
		case "@last":
			if best == nil || wf.Rank > best.Rank {
				best = wf
			}
		case "@failed":
			bad := wf.State == core.WfFailed || wf.State == core.WfPartial || wf.State == core.WfExpired
			if bad && (best == nil || wf.Ended > best.Ended || wf.Ended == best.Ended && wf.Rank > best.Rank) {
				best = wf
			}
		default:
			return nil, NewProblem(CodeUnknownTarget, id+" is no selector", "@last, @failed")
		}
	}
	if best == nil {
		return nil, NewProblem(CodeUnknownTarget, "no workflow fits "+id, "deviceagentctl ps --all")
	}
	return best, nil
}
