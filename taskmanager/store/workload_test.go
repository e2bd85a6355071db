package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/agent/clock"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// requests are the plans of the workload: of one step and of several, with delays, one like S02, and one whose executor lies, so that the
// robot has to ask.
var requests = []string{
	`[{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"거실"}},
	  {"cloud_step_id":"b","taskMethod":"startBasicAirClear","params":{"duration_min":1},"temporal_relation":"after_planned_step","temporal_anchor_id":"a"},
	  {"cloud_step_id":"c","taskMethod":"setMoveTo","params":{"position":"안방"},"temporal_relation":"after_planned_step","temporal_anchor_id":"b"}]`,
	`[{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"옷방"}}]`,
	`[{"cloud_step_id":"a","taskMethod":"getBatteryStatus"}]`,
	`[{"cloud_step_id":"a","taskMethod":"setMannerMode","params":{"on":false}},
	  {"cloud_step_id":"b","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","temporal_anchor_id":"a","delay_ms":20000}]`,
	`[{"cloud_step_id":"a","taskMethod":"setMannerMode","params":{"on":true}},{"cloud_step_id":"b","taskMethod":"setMoveTo","params":{"position":"서재"}}]`,
	`[{"cloud_step_id":"a","taskMethod":"setScreen","params":{"brightness":40},"on_failure":"escalate"}]`,
}

// workload runs three processes over one store, the last with a schema of its own, and returns the tape of it.
func workload(t *testing.T, seed uint64, weaken bool) *tape {
	dir := t.TempDir()
	tp := record(dir, image{})
	defer tp.end()
	synctest.Test(t, func(t *testing.T) {
		w := &worker{rng: rand.New(rand.NewPCG(seed, 1)), tp: tp, mem: newMemory(), plans: map[string]string{}}
		clk := shiftedClock{Virtual: clock.Package("boot-1")}
		for no, steps := range [][]migration{migrations, migrations, nextSchema} {
			if err := w.process(dir, no+1, clk, steps, weaken); err != nil {
				t.Fatalf("seed %d, process %d: %v", seed, no+1, err)
			}
			w.rest(3 * time.Second)
			clk = shiftedClock{Virtual: clock.Package(fmt.Sprint("boot-", no+2))}
		}
	})
	return tp
}

// worker is the planner, the people and the time of one workload.
type worker struct {
	rng   *rand.Rand
	tp    *tape
	mem   memory
	plans map[string]string // requests by workflow
	wfs   []string
	sent  []message
}

func (w *worker) process(dir string, no int, clk shiftedClock, steps []migration, weaken bool) error {
	l, err := begin(dir, no, clk, steps, w.tp.mark, weaken, rand.New(rand.NewPCG(w.rng.Uint64(), 2)))
	if err != nil {
		return err
	}
	if err := l.run(w.mem, "run-1"); err != nil {
		return err
	}
	if no == 1 {
		if err := w.prelude(l); err != nil {
			return err
		}
	}
	for range 9 {
		if err := w.act(l); err != nil {
			return err
		}
	}
	w.mem = l.robot.memory()
	if p := l.err.Load(); p != nil {
		return *p
	}
	return l.end(w.rng.IntN(2) == 0)
}

// prelude does once what chance might leave out.
func (w *worker) prelude(l *life) error {
	for _, next := range []func() message{
		func() message { return w.plan(len(requests) - 1) }, // a step that fails, about which the robot asks
		func() message { return controlOf("p-1", "cancel", "wf-never-0") },
		func() message { return w.bad() },
		func() message { time.Sleep(20 * time.Second); return w.decision() },
		func() message { return w.plan(0) },
		func() message { return controlOf("p-2", "pause", w.wfs[1]) },
		func() message { return w.revision(w.wfs[1]) },
		func() message { return controlOf("p-3", "resume", w.wfs[1]) },
		func() message { return w.plan(1) },
		func() message { return controlOf("p-4", "cancel", w.wfs[2]) },
	} {
		if err := w.hand(l, next()); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) hand(l *life, msg message) error {
	w.sent = append(w.sent, msg)
	_, err := l.hand(msg)
	synctest.Wait()
	return err
}

func (w *worker) plan(n int) message {
	id := fmt.Sprintf("wf-%d", len(w.wfs)+1)
	w.wfs = append(w.wfs, id)
	w.plans[id] = requests[n]
	return planOf(id, w.plans[id])
}

func (w *worker) bad() message {
	msg := planOf(fmt.Sprint("wf-bad-", len(w.sent)), `[{"cloud_step_id":"a","taskMethod":"setMoveTo","params":{"position":"달"}}]`)
	msg.kind = "bad"
	return msg
}

func (w *worker) revision(id string) message {
	more := fmt.Sprintf(`,{"cloud_step_id":"z%d","taskMethod":"getAirQuality"}]`, len(w.sent))
	return revisionOf(id, len(w.sent)+1, strings.TrimSuffix(w.plans[id], "]")+more)
}

func (w *worker) rest(most time.Duration) { time.Sleep(time.Duration(w.rng.Int64N(int64(most)))) }

func (w *worker) any() string { return w.wfs[w.rng.IntN(len(w.wfs))] }

// act lets some time pass, and somebody do something.
func (w *worker) act(l *life) error {
	w.rest(6 * time.Second)
	name := fmt.Sprint("m-", len(w.sent))
	switch w.rng.IntN(15) {
	case 0, 1, 2, 3:
		return w.hand(l, w.plan(w.rng.IntN(len(requests))))
	case 4: // of one that runs, has ended or was cancelled
		return w.hand(l, controlOf(name, "cancel", w.any()))
	case 5: // of a plan that never came
		return w.hand(l, controlOf(name, "cancel", fmt.Sprint("wf-never-", w.rng.IntN(5))))
	case 6:
		return w.hand(l, w.bad())
	case 7:
		return w.hand(l, w.sent[w.rng.IntN(len(w.sent))])
	case 8:
		return l.prune(PruneOptions{JournalRows: int64(1 + w.rng.IntN(20))})
	case 9, 10:
		return w.hand(l, controlOf(name, []string{"pause", "pause", "resume"}[w.rng.IntN(3)], []string{w.any(), w.any(), everything}[w.rng.IntN(3)]))
	case 11:
		return w.hand(l, w.revision(w.any()))
	case 12:
		return w.hand(l, w.decision())
	}
	w.rest(40 * time.Second)
	return nil
}

// question is the latest of the robot.
func (w *worker) question() (e wire.Escalation, wf string) {
	w.tp.mu.Lock()
	defer w.tp.mu.Unlock()
	for _, op := range slices.Backward(w.tp.ops) {
		if m, ok := op.mark.(sent); ok && m.row.Type == "escalation" {
			env, err := wire.Decode(m.row.Body, wire.Options{Direction: wire.Up})
			if err != nil {
				panic(err)
			}
			return *env.Escalation, m.row.Workflow
		}
	}
	return wire.Escalation{EscalationID: "e-none"}, "wf-1"
}

// decision answers the latest question of the robot.
func (w *worker) decision() message {
	e, wf := w.question()
	return messageOf("decision", fmt.Sprint("d-", e.EscalationID, len(w.sent)), wf, fmt.Sprintf(`{"escalation_id":%q,"action":%q,"plan_revision":%d}`,
		e.EscalationID, []string{"retry_local", "cancel"}[w.rng.IntN(2)], e.PlanRevision))
}

// messageOf makes a message of the planner. The same name is the same message.
func messageOf(kind, name, wf, body string) message {
	return message{kind: kind, wf: core.WorkflowID(wf), payload: fmt.Sprintf(`{"v":%q,"type":%q,"id":%q,"device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":%s}`,
		wire.Version, typeOf[kind], idOf(name), body)}
}

var typeOf = map[string]string{"plan": "plan", "revision": "plan", "cancel": "control", "pause": "control", "resume": "control", "decision": "decision"}

func planOf(wf, requests string) message {
	return messageOf("plan", wf, wf, fmt.Sprintf(`{"workflow":{"cloud_workflow_id":%q,"plan_id":"pl-%s","revision":0},"device_task_requests":%s}`, wf, wf, requests))
}

func revisionOf(wf string, no int, requests string) message {
	return messageOf("revision", fmt.Sprint(wf, "-", no), wf, fmt.Sprintf(`{"workflow":{"cloud_workflow_id":%q,"plan_id":"pl-%s","revision":%d},"device_task_requests":%s}`, wf, wf, no, requests))
}

// everything is the target of what is about all work.
const everything = "all"

func controlOf(name, verb, wf string) message {
	if wf == everything {
		return messageOf(verb, name, wf, fmt.Sprintf(`{"verb":%q,"scope":"all"}`, verb))
	}
	return messageOf(verb, name, wf, fmt.Sprintf(`{"verb":%q,"scope":"workflow","target":%q}`, verb, wf))
}
