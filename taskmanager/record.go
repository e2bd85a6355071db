package taskmanager

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager/core"
)

// Items of a workflow's records. A step is "s:" and its id, an attempt "a:" and its task id.
const (
	itemHead    = ""
	itemPlan    = "p"
	itemStep    = "s:"
	itemAttempt = "a:"
	itemTrace   = "t"      // how its goal was kept; a plan without one has no such row
	itemAside   = "q"      // why the workflow was set aside; its other rows stay as they were
	itemDevice  = "device" // in the device-wide workflow ""
	itemTomb    = "tomb:"
	itemTpl     = "tpl:" // a template, by its workflow id
	itemMouth   = "mouth"
	itemSession = "ses:" // a session of content, by its id
)

var (
	encMode = must(cbor.CoreDetEncOptions().EncMode())
	decMode = must(cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any]()}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return v
}

// encode makes the bytes of a record. Our own types always encode: a failure is our bug.
func encode(v any) []byte { return must(encMode.Marshal(v)) }

// rowsOf encodes the named items of a workflow.
func rowsOf(wf *core.Workflow, items []string) []Record {
	id := string(wf.Plan.Workflow)
	closed := wf.State.Terminal() && !slices.ContainsFunc(wf.Attempts, func(a core.Attempt) bool { return a.State != core.Ended })
	var out []Record
	for _, item := range items {
		r := Record{Workflow: id, Item: item, Closed: closed}
		switch {
		case item == itemHead:
			r.Body = encode(wf)
		case item == itemPlan:
			r.Body = encode(wf.Plan)
		case item == itemTrace:
			r.Body = encode(wf.Trace)
		case strings.HasPrefix(item, itemStep):
			i := wf.Plan.Lookup(core.StepID(item[len(itemStep):]))
			if i < 0 {
				continue // it waited for company, and a revision took the step out
			}
			r.Body = encode(wf.Steps[i])
		case strings.HasPrefix(item, itemAttempt):
			i := slices.IndexFunc(wf.Attempts, func(a core.Attempt) bool { return string(a.Task) == item[len(itemAttempt):] })
			r.Body = encode(wf.Attempts[i])
		}
		out = append(out, r)
	}
	return out
}

// dirtyItems names the rows of a workflow that a change made differ from the stored ones. The head of a terminal workflow goes
// with every change: it is the head that says that the workflow is closed.
func dirtyItems(wf *core.Workflow) []string {
	head, plan, steps, attempts := wf.Rows()
	var items []string
	if head || wf.State.Terminal() && len(steps)+len(attempts) > 0 {
		items = append(items, itemHead)
	}
	if plan {
		items = append(items, itemPlan)
	}
	if wf.TraceDiffers() {
		items = append(items, itemTrace)
	}
	for _, i := range steps {
		items = append(items, itemStep+string(wf.Steps[i].ID))
	}
	for _, i := range attempts {
		items = append(items, itemAttempt+string(wf.Attempts[i].Task))
	}
	return items
}

// Decoded is what the records of a store say.
type Decoded struct {
	Device    core.Device
	Mouth     core.Mouth
	Sessions  []*core.Session
	Workflows []*core.Workflow
	Templates []*core.Template
	Tombs     map[core.WorkflowID]core.Reason
	Words     map[core.WorkflowID]string // what was said, of workflows and templates, as far as it is kept
	SetAside  []string                   // workflows that were set aside earlier, or whose records cannot be read: left where they are, reported
	Causes    map[string]string          // why, by workflow
	New       []core.SetAside            // those that cannot be read and were not reported yet
}

// DecodeRecords rebuilds workflows from their rows. A workflow that cannot be read does not stop the others.
func DecodeRecords(records []Record) Decoded {
	d := Decoded{Tombs: map[core.WorkflowID]core.Reason{}, Causes: map[string]string{}, Words: map[core.WorkflowID]string{}}
	byWorkflow := map[string]map[string][]byte{}
	for _, r := range records {
		if r.Item == itemWords {
			d.Words[core.WorkflowID(r.Workflow)] = string(r.Body)
			continue
		}
		if byWorkflow[r.Workflow] == nil {
			byWorkflow[r.Workflow] = map[string][]byte{}
		}
		byWorkflow[r.Workflow][r.Item] = r.Body
	}
	for id, rows := range byWorkflow {
		if id == "" {
			d.device(rows)
			continue
		}
		if cause, marked := rows[itemAside]; marked {
			d.aside(id, string(cause))
			continue
		}
		wf, err := decodeWorkflow(rows)
		if err != nil {
			d.aside(id, err.Error())
			d.New = append(d.New, unreadable(id, rows, err))
			continue
		}
		d.Workflows = append(d.Workflows, wf)
	}
	slices.SortFunc(d.New, func(a, b core.SetAside) int { return cmp.Compare(a.Workflow, b.Workflow) })
	slices.SortFunc(d.Workflows, func(a, b *core.Workflow) int { return int(a.Rank - b.Rank) })
	slices.Sort(d.SetAside)
	return d
}

func (d *Decoded) aside(id, cause string) {
	d.SetAside = append(d.SetAside, id)
	d.Causes[id] = cause
}

// unreadable tells what can still be told of a workflow that cannot be read: its plan, if that can.
func unreadable(id string, rows map[string][]byte, cause error) core.SetAside {
	ev := core.UnreadableOf(core.WorkflowID(id), cause.Error())
	var plan core.Plan
	if decMode.Unmarshal(rows[itemPlan], &plan) == nil {
		ev.Plan, ev.Turn = plan.ID, plan.TurnID
	}
	return ev
}

func (d *Decoded) device(rows map[string][]byte) {
	for item, body := range rows {
		switch {
		case item == itemDevice:
			if err := decMode.Unmarshal(body, &d.Device); err != nil {
				d.aside(itemDevice, err.Error())
			}
		case item == itemMouth:
			if err := decMode.Unmarshal(body, &d.Mouth); err != nil {
				d.Mouth = core.Mouth{} // what was to be said is lost, and nothing else hangs on it
				d.aside(itemMouth, err.Error())
			}
		case strings.HasPrefix(item, itemSession):
			s := &core.Session{}
			if err := decMode.Unmarshal(body, s); err != nil || itemSession+string(s.ID) != item {
				d.aside(item, fmt.Sprintf("cannot read the session: %v", err))
				continue
			}
			d.Sessions = append(d.Sessions, s)
		case strings.HasPrefix(item, itemTpl):
			t := &core.Template{}
			if err := decMode.Unmarshal(body, t); err != nil || t.Plan == nil || t.Plan.Schedule == nil {
				d.aside(item, fmt.Sprintf("cannot read the schedule: %v", err))
				continue
			}
			d.Templates = append(d.Templates, t)
		case strings.HasPrefix(item, itemTomb):
			d.Tombs[core.WorkflowID(item[len(itemTomb):])] = core.Reason(body)
		}
	}
}

func decodeWorkflow(rows map[string][]byte) (_ *core.Workflow, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot read workflow: %v", p)
		}
	}()
	wf, plan := &core.Workflow{}, &core.Plan{}
	if err := decMode.Unmarshal(rows[itemHead], wf); err != nil {
		return nil, fmt.Errorf("cannot read workflow head: %w", err)
	}
	if err := decMode.Unmarshal(rows[itemPlan], plan); err != nil {
		return nil, fmt.Errorf("cannot read plan: %w", err)
	}
	wf.Plan = plan
	if body := rows[itemTrace]; body != nil {
		if err := decMode.Unmarshal(body, &wf.Trace); err != nil {
			return nil, fmt.Errorf("cannot read trace: %w", err)
		}
	}
	for _, spec := range plan.Steps {
		var st core.Step
		if err := decMode.Unmarshal(rows[itemStep+string(spec.ID)], &st); err != nil {
			return nil, fmt.Errorf("cannot read step %s: %w", spec.ID, err)
		}
		wf.Steps = append(wf.Steps, st)
	}
	for item, body := range rows {
		if !strings.HasPrefix(item, itemAttempt) {
			continue
		}
		var a core.Attempt
		if err := decMode.Unmarshal(body, &a); err != nil || a.Step < 0 || a.Step >= len(wf.Steps) {
			return nil, fmt.Errorf("cannot read attempt %s: %w", item, err)
		}
		wf.Attempts = append(wf.Attempts, a)
	}
	if err := whole(wf); err != nil {
		return nil, err
	}
	slices.SortFunc(wf.Attempts, func(a, b core.Attempt) int {
		if a.Seq != b.Seq {
			return int(a.Seq - b.Seq)
		}
		return cmp.Or(len(a.Task)-len(b.Task), strings.Compare(string(a.Task), string(b.Task))) // as they were made: t-9 before t-10
	})
	core.NewState(nil, core.Device{}).Adopt(wf) // what cannot be adopted cannot be read
	return wf, nil
}

// whole checks what the core relies on: rows that were lost or written by another hand must not stop the agent later.
func whole(wf *core.Workflow) error {
	for i := range wf.Steps {
		st := &wf.Steps[i]
		if !slices.Contains(core.StepStates, st.State) {
			return fmt.Errorf("cannot read step %s: state %q is not known", st.ID, st.State)
		}
		if st.Task != "" && !slices.ContainsFunc(wf.Attempts, func(a core.Attempt) bool { return a.Task == st.Task && a.Step == i }) {
			return fmt.Errorf("cannot read step %s: its attempt %s is missing", st.ID, st.Task)
		}
	}
	return nil
}
