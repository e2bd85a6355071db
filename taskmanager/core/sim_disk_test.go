package core_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// disk holds rows as the Manager writes them: those that a change says differ, the soft ones with the next commit.
type disk struct {
	device []byte
	rows   map[core.WorkflowID]map[string][]byte
	tombs  map[core.WorkflowID]core.Reason
	soft   map[core.WorkflowID]map[string]bool
	latest map[core.WorkflowID]*core.Workflow
}

func newDisk() disk {
	return disk{rows: map[core.WorkflowID]map[string][]byte{}, tombs: map[core.WorkflowID]core.Reason{}, soft: map[core.WorkflowID]map[string]bool{}, latest: map[core.WorkflowID]*core.Workflow{}}
}

func items(wf *core.Workflow, all bool) (out []string) {
	head, plan, steps, attempts := wf.Rows()
	if all || head {
		out = append(out, "")
	}
	if all || plan {
		out = append(out, "p")
	}
	for i := range wf.Steps {
		if all || slices.Contains(steps, i) {
			out = append(out, fmt.Sprintf("s:%d", i))
		}
	}
	for i := range wf.Attempts {
		if all || slices.Contains(attempts, i) {
			out = append(out, fmt.Sprintf("a:%d", i))
		}
	}
	return out
}

func row(wf *core.Workflow, item string) []byte {
	var v any = wf
	var i int
	switch {
	case item == "p":
		v = wf.Plan
	case strings.HasPrefix(item, "s:"):
		_, _ = fmt.Sscanf(item[2:], "%d", &i)
		v = wf.Steps[i]
	case strings.HasPrefix(item, "a:"):
		_, _ = fmt.Sscanf(item[2:], "%d", &i)
		v = wf.Attempts[i]
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return bytes.ReplaceAll(b, []byte(`"value":null,`), nil) // a nil map in an interface, and no value
}

func (d *disk) write(c core.Change) {
	for _, wf := range c.Workflows {
		id := wf.Plan.Workflow
		d.latest[id] = wf
		if d.soft[id] == nil {
			d.soft[id] = map[string]bool{}
		}
		for _, item := range items(wf, false) {
			d.soft[id][item] = true
		}
	}
	if !c.Must {
		return
	}
	for id, set := range d.soft {
		if d.rows[id] == nil {
			d.rows[id] = map[string][]byte{}
		}
		for item := range set {
			d.rows[id][item] = row(d.latest[id], item)
		}
	}
	clear(d.soft)
	d.device, _ = json.Marshal(c.DeviceRow())
	for _, id := range c.Tombs {
		d.tombs[id] = core.ReasonUserCancelled
	}
}

// same compares the rows with the state: a row that changed and was not called dirty would be lost by a power cut.
func (d *disk) same(m *sim) {
	for id, wf := range m.s.Workflows {
		for _, item := range items(wf, true) {
			if got, want := string(d.rows[id][item]), string(row(wf, item)); got != want {
				m.failf("row %q of %s was not written:\ndisk  %s\nstate %s", item, id, got, want)
			}
		}
	}
}

func (d *disk) load(cat *catalog.Catalog) *core.State {
	clear(d.soft)
	clear(d.latest)
	dev := core.Device{Epoch: "epoch-1"}
	if d.device != nil {
		if err := json.Unmarshal(d.device, &dev); err != nil {
			panic(err)
		}
	}
	s := core.NewState(cat, dev)
	maps.Copy(s.Tombs, d.tombs)
	for _, id := range slices.Sorted(maps.Keys(d.rows)) {
		rows := d.rows[id]
		wf := &core.Workflow{Plan: &core.Plan{}}
		read := func(item string, v any) bool {
			b, ok := rows[item]
			if !ok {
				return false
			}
			if err := json.Unmarshal(b, v); err != nil {
				panic(err)
			}
			return true
		}
		read("", wf)
		read("p", wf.Plan)
		wf.Steps = make([]core.Step, len(wf.Plan.Steps))
		for i := range wf.Steps {
			read(fmt.Sprintf("s:%d", i), &wf.Steps[i])
		}
		for i := 0; ; i++ {
			var a core.Attempt
			if !read(fmt.Sprintf("a:%d", i), &a) {
				break
			}
			wf.Attempts = append(wf.Attempts, a)
		}
		d.latest[id] = wf
		s.Adopt(wf)
	}
	return s
}
