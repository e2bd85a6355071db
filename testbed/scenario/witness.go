package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/testbed/home"
)

// Observation is everything that was seen in one run.
type Observation struct {
	Facts   []Fact
	Methods map[string]bool // operations that the robot was asked for
	Effects map[string]bool // effects that were observed
	Virtual time.Duration
	Packets []Packet
	Events  map[string]int // that the robot told, by name
	Traces  []wire.Result  // results whose goal was traced, in the order in which they came
	Said    []Said         // turns of a person with the planner, in their order
	Present time.Duration  // from the first words of a person to the last

	log []home.Entry // the robot's own
}

// Packet is one message as the outside subscriber got it.
type Packet struct {
	Up       bool
	Type     wire.Type
	Topic    string
	Bytes    int    // of the payload
	Workflow string // that it is about; receipts: of the first message that they name; "": none, as a hello
	ID       string
}

// packets are the messages with their sizes. A receipt is about what the messages are about that it names.
func packets(msgs []message) (out []Packet) {
	about := map[string]string{}
	for _, m := range msgs {
		p := Packet{Up: m.up, Type: wire.Type(m.typ), Topic: m.topic, Bytes: m.bytes, Workflow: m.env.Corr.WorkflowID, ID: m.env.ID}
		switch e := m.env; {
		case e.Plan != nil:
			p.Workflow = e.Plan.Workflow.CloudWorkflowID
		case e.Receipt != nil && len(e.Receipt.Refs) > 0:
			p.Workflow = about[e.Receipt.Refs[0]]
		}
		about[p.ID] = p.Workflow
		out = append(out, p)
	}
	return out
}

// count is how many facts there are of a kind.
func (o *Observation) count(kind string) (n int) {
	for _, f := range o.Facts {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

// message is one publish as the outside subscriber read it.
type message struct {
	up    bool
	typ   string
	topic string
	bytes int
	env   wire.Envelope
}

func (h *house) messages() (out []message, wrong []Fact) {
	for _, m := range h.witness.Messages() {
		parts := strings.Split(m.Topic, "/") // deviceagent/v1/{device}/{up,down}/{type}
		if len(parts) != 5 {
			wrong = append(wrong, Fact{"wrong", "publish on " + m.Topic})
			continue
		}
		got := message{up: parts[3] == "up", typ: parts[4], topic: m.Topic, bytes: len(m.Payload)}
		opt := wire.Options{AllowJSON: true, Limits: wire.Limits{Steps: 1024}, Direction: wire.Direction(parts[3]), Keys: h.keys}
		var err error
		if got.env, err = wire.Decode(m.Payload, opt); err != nil && got.up {
			wrong = append(wrong, Fact{"wrong", fmt.Sprintf("publish on %s: %v", m.Topic, err)})
		}
		out = append(out, got)
	}
	return out, wrong
}

// observe asks the witnesses.
func (h *house) observe(s *Scenario) (*Observation, error) {
	log := h.log.all()
	msgs, wrong := h.messages()
	o := &Observation{Facts: h.facts, Methods: map[string]bool{}, Effects: map[string]bool{}, Events: map[string]int{}, Virtual: time.Since(h.start), log: log, Packets: packets(msgs), Said: h.said, Present: present(s, h.done)}
	add := func(facts []Fact) { o.Facts = append(o.Facts, facts...) }
	var side []Line
	if h.ferry != nil {
		side = s.Expect
	}
	add(h.outside.lookedUp(h.start))
	add(robotFacts(log, h.start.Sub(h.born), h.done, side))
	add(h.acks(msgs))
	add(h.questions(msgs))
	add(h.contents(msgs))
	results, cost := h.results(msgs)
	for _, m := range msgs {
		if r := m.env.Result; r != nil && r.Experience != nil && len(r.Experience.Trace) > 0 {
			o.Traces = append(o.Traces, *r)
		}
	}
	work, err := h.work(results)
	if err != nil {
		return nil, err
	}
	add(work)
	clouds, err := h.clouds()
	if err != nil {
		return nil, err
	}
	add(clouds)
	add(counted(msgs))
	add([]Fact{cost})
	add(wrong)
	add(h.wrong(s, log, msgs, results))
	h.nameSessions(o.Facts, msgs)
	for _, e := range log {
		switch e.Kind {
		case home.KindInvoke:
			o.Methods[e.Method] = true
		case home.KindEvent:
			o.Events[e.Event]++
		}
	}
	for _, r := range results {
		for _, st := range r.Steps {
			for _, e := range st.Effects {
				o.Effects[e.EffectID] = o.Effects[e.EffectID] || e.State == string(core.EffectObserved)
			}
		}
	}
	return o, nil
}

// counted is how many messages of each type went each way.
func counted(msgs []message) (out []Fact) {
	n := map[Fact]int{}
	for _, m := range msgs {
		way := "down"
		if m.up {
			way = "up"
		}
		n[Fact{way, m.typ}]++
	}
	keys := slices.SortedFunc(maps.Keys(n), func(a, b Fact) int { return strings.Compare(b.Kind+a.Text, a.Kind+b.Text) })
	for _, f := range keys {
		out = append(out, Fact{f.Kind, fmt.Sprintf("%s %d", f.Text, n[f])})
	}
	return out
}

// acks are the device's answers; one that was sent again is one.
func (h *house) acks(msgs []message) (out []Fact) {
	types, seen := map[string]string{}, map[string]bool{}
	for _, m := range msgs {
		switch a := m.env.Ack; {
		case !m.up:
			types[m.env.ID] = m.typ
		case a != nil && !seen[m.env.ID]:
			seen[m.env.ID] = true
			what := types[a.RefID]
			if a.RefID == "" {
				what = "unreadable"
			}
			out = append(out, Fact{"ack", plain(what + " " + ackText(a.Accepted, a.ReasonCode, a.Errors) + h.holdText(a.Steps, a.HoldersLeft))})
		}
	}
	return out
}

// results are the terminal reports by workflow, and what they say that the work cost.
func (h *house) results(msgs []message) (map[core.WorkflowID]*wire.Result, Fact) {
	out := map[core.WorkflowID]*wire.Result{}
	var c wire.Counters
	for _, m := range msgs {
		if r := m.env.Result; r != nil && out[core.WorkflowID(m.env.Corr.WorkflowID)] == nil {
			out[core.WorkflowID(m.env.Corr.WorkflowID)] = r
			c.Decisions += r.Counters.Decisions
			c.Replans += r.Counters.Replans
			c.ModelCalls += r.Counters.ModelCalls
			h.name(m.env.Corr.WorkflowID)
		}
	}
	return out, Fact{"cost", fmt.Sprintf("model calls %d, decisions %d, replans %d", c.ModelCalls, c.Decisions, c.Replans)}
}

// work is how each workflow ended by its result, or where it stands.
func (h *house) work(results map[core.WorkflowID]*wire.Result) (out []Fact, err error) {
	open := map[core.WorkflowID]*wire.Result{}
	err = h.inspect(func(s *core.State) {
		for _, id := range s.Open() {
			open[id] = standing(s.Workflows[id])
			h.name(string(id))
		}
	})
	for _, id := range slices.Sorted(maps.Keys(results)) {
		if strings.Contains(string(id), "@") { // an occurrence that has begun and ended by itself
			h.name(string(id))
		}
	}
	for i, id := range h.named {
		r, name := results[id], fmt.Sprintf("w%d", i+1)
		if r == nil {
			r = open[id]
		}
		if r != nil {
			out = append(out, workFacts(name, r)...)
		}
	}
	return out, err
}

// standing is the report of work that has not ended.
func standing(wf *core.Workflow) *wire.Result {
	r := &wire.Result{Status: "open: " + string(wf.State), ReasonCode: string(wf.Reason)}
	for _, st := range wf.Steps {
		r.Steps = append(r.Steps, wire.StepReport{CloudStepID: string(st.ID), State: string(st.State), ReasonCode: string(st.Reason), Attempts: st.Attempts})
	}
	return r
}

func workFacts(name string, r *wire.Result) []Fact {
	out := []Fact{{"workflow", strings.TrimSpace(name + " " + r.Status + " " + r.ReasonCode)}}
	if g := r.Experience; g != nil {
		var effects []string
		for _, e := range g.Effects {
			effects = append(effects, fmt.Sprintf("%s.%s %s", e.StepID, e.EffectID, e.State))
		}
		out = append(out, Fact{"goal", plain(fmt.Sprintf("%s %s %s %s", name, g.GoalID, g.Status, g.ReasonCode)) + ": " + strings.Join(effects, ", ")})
	}
	for _, st := range r.Steps {
		text := plain(fmt.Sprintf("%s.%s %s %s", name, st.CloudStepID, st.State, st.ReasonCode))
		if st.Attempts != 1 {
			text += fmt.Sprintf(", %d attempts", st.Attempts)
		}
		out = append(out, Fact{"step", text})
		for _, e := range st.Effects {
			out = append(out, Fact{"effect", plain(fmt.Sprintf("%s.%s %s %s%s", name, st.CloudStepID, e.EffectID, e.State, proofs(st, e.EffectID)))})
		}
		if p := proofs(st, ""); p != "" {
			out = append(out, Fact{"effect", fmt.Sprintf("%s.%s done%s", name, st.CloudStepID, p)})
		}
	}
	return out
}

// proofs is the evidence of an effect: what, its source class, and how it belongs to the task.
func proofs(st wire.StepReport, effect string) string {
	var out []string
	for _, e := range st.Evidence {
		if e.EffectID != effect {
			continue
		}
		what := e.Key + "=" + show(e.Value.V)
		if e.Event != "" {
			what = e.Event
			if data, ok := e.Value.V.(map[string]any); ok && len(data) > 0 {
				what += "(" + pairs(data) + ")"
			}
		}
		if e.Recovered {
			what += " recovered"
		}
		out = append(out, strings.Join([]string{what, e.Class, e.Correlation}, " "))
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, " + ")
}

// clouds is what the planner's endpoint says of each workflow that went through it.
func (h *house) clouds() (out []Fact, err error) {
	for i, id := range h.named {
		var v struct {
			Submission, Status string
			Reason             string `json:"reason_code"`
			ModelCalls         int64  `json:"model_calls"`
			Uplink             struct{ Messages int64 }
		}
		refused, err := h.cloud.call("GET", "/v1/workflows/"+string(id), nil, &v)
		if err != nil {
			return out, err
		}
		if refused == nil {
			out = append(out, Fact{"cloud", fmt.Sprintf("%s, uplink %d, model calls %d",
				plain(fmt.Sprintf("w%d %s %s %s", i+1, v.Submission, v.Reason, v.Status)), v.Uplink.Messages, v.ModelCalls)})
		}
	}
	return out, nil
}

// contentOf are the events of a content session that the device itself makes, and the robot's own of which it makes them.
var contentOf = map[string]string{"content.started": "speech.started", "content.completed": "speech.finished", "content.cancelled": "speech.interrupted"}

// wrong is what no scenario may show, whatever its file says.
func (h *house) wrong(s *Scenario, log []home.Entry, msgs []message, results map[core.WorkflowID]*wire.Result) (out []Fact) {
	bad := func(format string, args ...any) { out = append(out, Fact{"wrong", fmt.Sprintf(format, args...)}) }
	for _, fault := range home.CheckLog(log) {
		bad("robot's log: %s", fault)
	}
	said := map[string]bool{}
	for _, e := range log {
		if e.Kind == home.KindEvent {
			said[e.Event] = true
		}
	}
	for made, of := range contentOf {
		said[made] = said[of]
	}
	for id, r := range results {
		for _, st := range r.Steps {
			for _, e := range st.Evidence {
				if e.Event != "" && !said[e.Event] {
					bad("%s.%s is proved by %s, which the robot never said", id, st.CloudStepID, e.Event)
				}
			}
		}
	}
	first := map[core.WorkflowID]string{}
	tiers := []string{s.Tier}
	if s.Off {
		tiers = []string{"off"}
	}
	for _, m := range msgs {
		if c := m.env.Control; c != nil && c.Verb == "set_tier" && c.Scope == "all" {
			tiers = append(tiers, c.Target)
		} else if c != nil && c.Verb == "disable_experience" && c.Scope == "all" {
			tiers = append(tiers, "off")
		}
		if st := m.env.Status; st != nil && st.Online && !slices.Contains(tiers, st.Tier) {
			bad("the device reports tier %s, the file says %s", st.Tier, s.Tier)
		}
		if m.env.Result == nil {
			continue
		}
		id, text := core.WorkflowID(m.env.Corr.WorkflowID), jsonText(m.env.Result)
		if before, known := first[id]; known && before != text {
			bad("%s has two different results", id)
		}
		first[id] = text
	}
	return append(out, h.disagreements(results)...)
}

// disagreements are workflows whose state in the device differs from what it reported.
func (h *house) disagreements(results map[core.WorkflowID]*wire.Result) (out []Fact) {
	_ = h.inspect(func(s *core.State) { // an agent that does not answer has failed the scenario already
		for id, wf := range s.Workflows {
			if results[id] == nil && wf.State.Terminal() {
				out = append(out, Fact{"wrong", fmt.Sprintf("%s is %s and nobody was told", id, wf.State)})
			}
		}
		for id, r := range results {
			wf := s.Workflows[id]
			if wf == nil { // closed before the last start of the agent
				continue
			}
			now := standing(wf)
			same := string(wf.State) == r.Status && slices.EqualFunc(now.Steps, r.Steps, func(a, b wire.StepReport) bool {
				return a.CloudStepID == b.CloudStepID && a.State == b.State && a.ReasonCode == b.ReasonCode
			})
			if !same {
				out = append(out, Fact{"wrong", fmt.Sprintf("%s was reported as %s and is %s", id, r.Status, wf.State)})
			}
		}
	})
	return out
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("internal error: " + err.Error()) // wire types are plain data
	}
	return string(data)
}

// RobotLog is what the robot itself has logged, in the order in which it did.
func (o *Observation) RobotLog() []home.Entry { return o.log }
