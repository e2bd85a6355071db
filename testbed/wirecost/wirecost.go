package wirecost

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deviceagent/agent"
	"deviceagent/bridge/wire"
	"deviceagent/testbed/scenario"
)

// Form is one way to write messages.
type Form struct {
	Name string
	scenario.Form
}

// Forms are the rows for each length, in the order of the table.
var Forms = []Form{
	{"CBOR", scenario.Form{}},
	{"JSON", scenario.Form{JSON: true}},
	{"CBOR, signed", scenario.Form{Signed: true}},
}

// Lengths are the plans that are measured, in steps.
var Lengths = []int{1, 3, 20}

// UpPerPlan is how many messages a plan that runs normally costs upwards, at any length: its ack and its result.
// Source: docs/contract.md, transport.
const UpPerPlan = 2

// Way is one direction of one plan.
type Way struct {
	Messages int
	Payload  int // bytes of the payloads
	Packets  int // bytes of the PUBLISH packets: payload, topic, packet id, header
}

func (w *Way) add(p scenario.Packet) {
	w.Messages++
	w.Payload += p.Bytes
	w.Packets += publishBytes(p)
}

// Row is one plan in one form.
type Row struct {
	Steps    int
	Form     string
	Up, Down Way
	Plan     int // bytes of the payload of down/plan
	Receipts int // messages down that are receipts; the rest is the plan
	Result   int // bytes of the payload of up/result
	Hello    Way // up/status and its receipt, once a connection: not in Up and Down
	Dispatch int // operations that reached the robot: the plan was really carried out
	Progress int // events by which the robot told its progress, all of which stay on the device
}

// Measure runs each plan in each form.
func Measure(t *testing.T) ([]Row, error) {
	r, err := scenario.NewRunner()
	if err != nil {
		return nil, err
	}
	defer func(v string) { agent.Version = v }(agent.Version)
	agent.Version = "0.0.0" // it stands in the hello, and has another length in each build
	var rows []Row
	for _, n := range Lengths {
		for _, f := range Forms {
			row, err := measure(t, r, n, f)
			if err != nil {
				return nil, fmt.Errorf("%d steps, %s: %w", n, f.Name, err)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

const workflow = "wf-0000000000000001"

func measure(t *testing.T, r *scenario.Runner, steps int, f Form) (Row, error) {
	s, err := scenario.Parse("wirecost", script(steps))
	if err != nil {
		return Row{}, err
	}
	r.Form = f.Form
	res := r.Run(t, s)
	if res.Err != nil {
		return Row{}, res.Err
	}
	row := Row{Steps: steps, Form: f.Name, Progress: res.Seen.Events["cleaning.progress"]}
	for _, p := range res.Seen.Packets {
		row.count(p)
	}
	for _, fact := range res.Seen.Facts {
		if fact.Kind == "dispatch" {
			row.Dispatch++
		}
		if fact.Kind == "wrong" || fact.Kind == "asks" || fact.Kind == "workflow" && fact.Text != "w1 completed" {
			return row, fmt.Errorf("the plan did not run normally: %s %s", fact.Kind, fact.Text)
		}
	}
	return row, row.check()
}

func (r *Row) count(p scenario.Packet) {
	if p.Workflow != workflow {
		r.Hello.add(p)
		return
	}
	switch way := &r.Down; {
	case p.Up:
		r.Up.add(p)
	default:
		way.add(p)
	}
	switch p.Type {
	case wire.TypePlan:
		r.Plan = p.Bytes
	case wire.TypeResult:
		r.Result = p.Bytes
	case wire.TypeReceipt:
		r.Receipts++
	}
}

// check holds a row to what is promised.
func (r *Row) check() error {
	switch {
	case r.Dispatch != r.Steps:
		return fmt.Errorf("%d operations reached the robot, want %d", r.Dispatch, r.Steps)
	case r.Steps > 1 && r.Progress == 0:
		return errors.New("the robot told no progress")
	case r.Up.Messages != UpPerPlan:
		return fmt.Errorf("%d messages up, promised are %d at any length", r.Up.Messages, UpPerPlan)
	case r.Down.Messages != 1+r.Receipts || r.Plan == 0 || r.Result == 0:
		return fmt.Errorf("%d messages down are not the plan and %d receipts", r.Down.Messages, r.Receipts)
	}
	return nil
}

// publishBytes is the size of a PUBLISH packet at QoS 1 (MQTT 3.1.1, 3.3): type and flags, remaining length, topic with its length,
// packet id, payload.
func publishBytes(p scenario.Packet) int {
	rest, lengthBytes := 2+len(p.Topic)+2+p.Bytes, 1
	for n := rest; n >= 128; n /= 128 {
		lengthBytes++
	}
	return 1 + lengthBytes + rest
}

// script is a scenario of one plan: the robot goes to rooms in turn, and cleans the air in between.
func script(steps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "scenario wirecost\ntitle wirecost\ntier restricted\n\nwhen\n  plan %s\n\nthen\n  workflow w1 completed\n", planOf(steps))
	return b.String()
}

var tour = []string{
	`"taskMethod":"setMoveTo","params":{"position":"거실"}`,
	`"taskMethod":"startBasicAirClear","params":{"duration_min":5}`,
	`"taskMethod":"setMoveTo","params":{"position":"안방"}`,
	`"taskMethod":"startBasicAirClear","params":{"duration_min":5}`,
	`"taskMethod":"setMoveTo","params":{"position":"주방"}`,
}

func planOf(steps int) string {
	var list []string
	for i := range steps {
		after := ""
		if i > 0 {
			after = fmt.Sprintf(`,"depends_on":["step_%d"]`, i)
		}
		list = append(list, fmt.Sprintf(`{"cloud_step_id":"step_%d",%s%s}`, i+1, tour[i%len(tour)], after))
	}
	return fmt.Sprintf(`{"workflow":{"cloud_workflow_id":%q,"plan_id":"pl-0000000000000001","revision":0,`+
		`"origin":{"turn_id":"tn-0000000000000001","utterance":"집 안을 돌면서 청정해줘","locale":"ko-KR"}},"device_task_requests":[%s]}`,
		workflow, strings.Join(list, ","))
}

// Table is the measurement for people, in Markdown.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| steps | form | up: messages | up: payload | up: packets | down: messages | down: payload | down: packets | of it `plan` | of it `result` |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %d | %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", r.Steps, r.Form, r.Up.Messages, r.Up.Payload, r.Up.Packets,
			r.Down.Messages, r.Down.Payload, r.Down.Packets, r.Plan, r.Result)
	}
	b.WriteString("\nOnce a connection, not in the rows above:\n\n| form | messages | payload | packets |\n| --- | --- | --- | --- |\n")
	for _, f := range Forms {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Form == f.Name })
		if i < 0 {
			continue
		}
		h := rows[i].Hello
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", f.Name, h.Messages, h.Payload, h.Packets)
	}
	return b.String()
}
