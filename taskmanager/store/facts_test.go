package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// facts are what the world outside knows at a moment of a tape: what was acknowledged, what left, what the robot did.
type facts struct {
	content   string // of the store after the last transaction that was acknowledged
	epoch     string
	open      bool     // a transaction is under way
	asked     []string // payloads in order
	messages  map[string]message
	answers   map[string]core.Answer
	sent      map[int64]string           // message id by sequence
	results   map[core.WorkflowID]string // how each ended, as it was told
	owners    map[core.TaskID]core.WorkflowID
	tasks     map[core.TaskID]bool // dispatched
	cancelled map[core.WorkflowID]bool
	held      map[core.WorkflowID]bool // paused by the planner
	methods   map[core.TaskID]catalog.Method
	mem       memory
	robotRun  robotRun
	start     clockAt
	startMS   int64 // when the process began
	nowMS     int64
	dispatch  []core.TaskID // in order
	faults    []string
}

func newFacts() *facts {
	return &facts{messages: map[string]message{}, answers: map[string]core.Answer{}, sent: map[int64]string{}, results: map[core.WorkflowID]string{},
		owners: map[core.TaskID]core.WorkflowID{}, tasks: map[core.TaskID]bool{}, cancelled: map[core.WorkflowID]bool{},
		held: map[core.WorkflowID]bool{}, methods: map[core.TaskID]catalog.Method{}, mem: newMemory()}
}

// see takes in one mark.
func (f *facts) see(m any) {
	switch m := m.(type) {
	case began:
		f.open = true
	case confirmed:
		f.open, f.content, f.epoch = false, m.content, m.epoch
	case asked:
		if _, again := f.messages[m.payload]; !again {
			f.asked = append(f.asked, m.payload)
			f.messages[m.payload] = m.message
		}
	case answered:
		f.answer(m)
	case sent:
		if id, ok := f.sent[m.row.Seq]; ok && id != m.row.ID {
			f.faults = append(f.faults, fmt.Sprintf("sequence %d is of two messages, %s and %s", m.row.Seq, id, m.row.ID))
		}
		f.sent[m.row.Seq] = m.row.ID
		if wf := core.WorkflowID(m.row.Workflow); m.row.Type == "result" {
			f.result(wf, m.row.Body)
		}
	case owned:
		f.owners[m.task] = m.wf
	case called:
		if d, ok := m.out.(core.Dispatch); ok {
			if f.tasks[d.Task] {
				f.faults = append(f.faults, fmt.Sprintf("task id %s was used twice", d.Task))
			}
			f.tasks[d.Task], f.methods[d.Task] = true, d.Method
			f.dispatch = append(f.dispatch, d.Task)
		}
	case memory:
		f.mem = m
	case robotRun:
		f.robotRun = m
	case clockAt:
		f.start, f.startMS = m, f.nowMS
	}
}

// answer: the same message is told the same, and what was accepted stays so.
func (f *facts) answer(m answered) {
	before, again := f.answers[m.payload]
	if again && before.Accepted != m.answer.Accepted && (before.Accepted || core.InfoOf(before.Reason).Class != core.Transient) || again && before.Accepted && before.Reason != m.answer.Reason {
		f.faults = append(f.faults, fmt.Sprintf("%s of %s was answered %v %q, and then %v %q", m.kind, m.wf, before.Accepted, before.Reason, m.answer.Accepted, m.answer.Reason))
	}
	if again {
		return
	}
	f.answers[m.payload] = m.answer
	switch {
	case m.kind == "cancel" && (m.answer.Accepted || m.answer.Reason == core.ReasonUnknownTarget):
		f.cancelled[m.wf] = true
	case m.kind == "pause" && m.answer.Accepted:
		f.held[m.wf] = true
	case m.kind == "resume" && m.answer.Accepted:
		delete(f.held, m.wf)
	}
}

// result: a workflow ends once. Its result may be told again.
func (f *facts) result(wf core.WorkflowID, body []byte) {
	env, err := wire.Decode(body, wire.Options{Direction: wire.Up})
	if err != nil || env.Result == nil {
		f.faults = append(f.faults, fmt.Sprintf("the result of %s cannot be read: %v", wf, err))
		return
	}
	end := string(env.Result.Status)
	for _, s := range env.Result.Steps {
		end += " " + string(s.State)
	}
	if before := f.results[wf]; before != "" && before != end {
		f.faults = append(f.faults, fmt.Sprintf("%s has ended twice: %s, and then %s", wf, before, end))
	}
	f.results[wf] = end
}

// boot is the boot clock at the moment of the cut.
func (f *facts) boot() int64 { return f.start.boot + f.nowMS - f.startMS }

func (f *facts) clone() *facts {
	c := *f
	c.asked, c.dispatch, c.faults = slices.Clone(f.asked), slices.Clone(f.dispatch), slices.Clone(f.faults)
	c.messages, c.answers, c.sent = maps.Clone(f.messages), maps.Clone(f.answers), maps.Clone(f.sent)
	c.held, c.methods = maps.Clone(f.held), maps.Clone(f.methods)
	c.results, c.owners, c.tasks, c.cancelled = maps.Clone(f.results), maps.Clone(f.owners), maps.Clone(f.tasks), maps.Clone(f.cancelled)
	return &c
}

// workOpen: an accepted plan has no result yet.
func (f *facts) workOpen() bool {
	for payload, ans := range f.answers {
		if msg := f.messages[payload]; msg.kind == "plan" && ans.Accepted && f.results[msg.wf] == "" {
			return true
		}
	}
	return false
}

// told: some message of a kind was answered so.
func (f *facts) told(kind string, accepted bool, reason core.Reason) bool {
	for payload, ans := range f.answers {
		if f.messages[payload].kind == kind && ans.Accepted == accepted && (reason == "" || ans.Reason == reason) {
			return true
		}
	}
	return false
}

// allowed are the contents that the store may have after a cut now: what was acknowledged, or that and the transaction under way.
func (f *facts) allowed(next string) (out []string) {
	if f.content != "" {
		out = append(out, f.content)
	}
	if f.open {
		out = append(out, next)
	}
	return out
}

// judge compares what is known at the end with what was known at the cut.
func (f *facts) judge(cut *facts) error {
	faults := slices.Clone(f.faults)
	for _, payload := range f.asked {
		msg := f.messages[payload]
		ans, ok := f.answers[payload]
		switch {
		case !ok:
			faults = append(faults, fmt.Sprintf("%s of %s was never answered", msg.kind, msg.wf))
		case msg.kind == "plan" && ans.Accepted && f.results[msg.wf] == "":
			faults = append(faults, fmt.Sprintf("the accepted plan of %s has no result", msg.wf))
		}
	}
	for _, task := range f.dispatch[len(cut.dispatch):] {
		switch wf, ok := f.owners[task]; {
		case ok && cut.cancelled[wf]:
			faults = append(faults, fmt.Sprintf("task %s of %s was dispatched after its cancel", task, wf))
		case ok && cut.results[wf] != "":
			faults = append(faults, fmt.Sprintf("task %s of %s was dispatched after its end", task, wf))
		}
	}
	faults = append(faults, f.mem.faults...)
	times := map[string]int{} // no plan of the workload wants the same twice
	for id, d := range f.mem.tasks {
		if wf, ok := f.owners[id]; ok && moving[d.method] && d.ended != nil && d.ended.Outcome == core.OutcomeDone {
			deed := fmt.Sprintf("%s %v of %s", d.method, d.params["position"], wf)
			if times[deed]++; times[deed] == 2 {
				faults = append(faults, deed+" was carried out twice")
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.New(faults[0] + fmt.Sprintf(" (and %d more)", len(faults)-1))
}
