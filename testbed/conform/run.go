package conform

import (
	"context"
	"fmt"
	"slices"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/google/uuid"
)

// Run checks a service and reports. The error is [ErrCannotRun] where there was nothing to report on.
func Run(ctx context.Context, o Options) (*Report, error) {
	op, err := o.learn()
	if err != nil {
		return nil, cannot("%w", err)
	}
	o.fill()
	if err := o.check(); err != nil {
		return nil, cannot("%w", err)
	}
	w, err := dial(ctx, o.Bus, o.Service, godbus.ObjectPath(o.Path))
	if err != nil {
		return nil, cannot("%w", err)
	}
	defer w.conn.Close()
	r := newRun(o, op, w)
	if name := w.call(ctx, o.Answer, "Read", []string{}).dbusName(); isRefusal(name) {
		return nil, cannot("%s has no object of %s at %s (%s): give --path", o.Service, Interface, o.Path, name)
	}
	rep := r.report()
	for _, s := range stages {
		if ctx.Err() != nil {
			return nil, cannot("%w", context.Cause(ctx))
		}
		switch {
		case r.gone():
			r.notRun(leftReason, s.checks...)
		case r.wants(s.checks):
			o.Tell(s.tell)
			s.do(r, ctx)
		}
	}
	r.audit()
	rep.TookMS = time.Since(rep.Began).Milliseconds()
	rep.Checks = r.results()
	rep.count(o.Skip)
	return rep, nil
}

// stages are the parts of a run, in order. One is left out where all its checks are skipped.
var stages = []struct {
	tell   string
	checks []ID
	do     func(*run, context.Context)
}{
	{"looks at the interface", []ID{Introspection, Health, Read}, (*run).look},
	{"gives bad input", []ID{Refuses}, (*run).refuses},
	{"asks for a task that nobody gave", []ID{Seal}, (*run).seals},
	{"runs a task to its end", []ID{Accepts, Duplicate, Ends, Query, Proof, Events}, (*run).whole},
	{"cancels a task", []ID{Cancel, Stopped}, (*run).cancels},
	{"pauses a task and goes on", []ID{Pause, Rests, Resume}, (*run).pauses},
	{"restarts the service in the middle of a task", []ID{Restart, Memory}, (*run).restarts},
}

// run is one run of the kit.
type run struct {
	o      Options
	op     operation
	w      *witness
	id     string // begins each task id of this run, so that no other run has used it
	tasks  []*task
	next   int // of op.calls
	given  int // the task that got them last; -1: none
	found  map[ID]*Check
	silent int // calls without an answer, in a row
	leaves int // how often the service may have left the bus by now: once for each restart
}

// task is one id that the kit has used.
type task struct {
	id    string
	why   string // what it was for
	call  call
	ran   bool   // the service accepted it: signals of it are right
	blame ID     // the check that fails where it says anything although it must not run
	reply reply  // of its first Invoke
	twice bool   // it was accepted once more: that is named, and what follows from it is not
	told  string // outcome by the last Query
}

func newRun(o Options, op operation, w *witness) *run {
	return &run{o: o, op: op, w: w, id: "conform-" + uuid.NewString()[:8], given: -1, found: map[ID]*Check{}}
}

func (r *run) report() *Report {
	rep := &Report{Schema: Schema, Service: r.o.Service, Path: r.o.Path, Owner: r.w.present(), Began: time.Now()}
	rep.Operation = Operation{Method: r.op.method, Catalog: r.op.entry, Limits: map[string]int64{
		"ack": r.o.Ack.Milliseconds(), "answer": r.o.Answer.Milliseconds(), "stop": r.o.Stop.Milliseconds(), "hold": r.o.Hold.Milliseconds(),
		"timeout": r.o.Timeout.Milliseconds(), "evidence": r.o.Evidence.Milliseconds()}}
	for _, c := range r.op.calls {
		rep.Operation.Params = append(rep.Operation.Params, c.args)
	}
	return rep
}

func (r *run) wants(ids []ID) bool {
	return slices.ContainsFunc(ids, func(id ID) bool { return !slices.Contains(r.o.Skip, id) })
}

func (r *run) check(id ID) *Check {
	if r.found[id] == nil {
		r.found[id] = &Check{ID: id, Title: aboutOf(id).title, Status: NotRun}
	}
	return r.found[id]
}

// saw notes one step of a check. One that is not ok fails it for good.
func (r *run) saw(ok bool, id ID, t *task, did, expected, seen string) bool {
	if !ok && id != Answers && r.gone() {
		r.notRun(leftReason, id)
		return false
	}
	c := r.check(id)
	s := Step{Did: did, Expected: expected, Seen: seen, OK: ok}
	if t != nil {
		s.Task = t.id
	}
	c.Steps = append(c.Steps, s)
	switch {
	case !ok:
		c.Status, c.Reason, c.Change = Failed, "", aboutOf(id).mend
	case c.Status == NotRun && c.Reason == "": // what was not tried to its end stays so
		c.Status = Passed
	}
	return ok
}

// gone says whether the service has left the bus although nobody has restarted it. What is not seen then is not held against it: that it
// left is named, once, by the check "answers".
func (r *run) gone() bool { return r.w.departures() > r.leaves }

const leftReason = "the service left the bus (see answers)"

func (r *run) failed(id ID) bool { return r.check(id).Status == Failed }

// notRun says why checks were not tried to their end: one that has not failed is then not passed.
func (r *run) notRun(reason string, ids ...ID) { r.without(NotRun, reason, ids) }

// na says that the operation does not offer what is checked.
func (r *run) na(reason string, ids ...ID) { r.without(NotApplicable, reason, ids) }

func (r *run) without(s Status, reason string, ids []ID) {
	for _, id := range ids {
		if c := r.check(id); c.Status != Failed {
			c.Status, c.Reason = s, reason
		}
	}
}

func (r *run) results() []Check {
	var out []Check
	for _, id := range IDs() {
		c := r.check(id)
		switch {
		case slices.Contains(r.o.Skip, id):
			c.Status, c.Reason, c.Change, c.Steps = NotRun, "skipped by --skip", "", nil
		case c.Status == NotRun && c.Reason == "":
			c.Reason = "the run did not come to it"
		}
		out = append(out, *c)
	}
	return out
}

// maxSilent is after how many calls in a row without an answer no more are made: each costs its whole limit.
const maxSilent = 4

// call makes a call, and holds its answer to the limit. false: there is no answer to go on with, and the check "answers" has failed.
func (r *run) call(ctx context.Context, t *task, limit time.Duration, member string, args ...any) (reply, bool) {
	if r.silent >= maxSilent || r.gone() {
		return reply{method: member, silent: true, limit: limit}, false
	}
	got := r.w.call(ctx, limit, member, args...)
	if ctx.Err() != nil || r.gone() {
		return got, false
	}
	r.saw(!got.silent, Answers, t, r.calling(member, args), fmt.Sprintf("an answer within %v", limit), got.String())
	if got.silent {
		r.silent++
		return got, false
	}
	r.silent = 0
	return got, true
}

func (r *run) calling(member string, args []any) string { return member + "(" + showAll(args) + ")" }

// newTask makes an id that was never used.
func (r *run) newTask(why string, c call) *task {
	t := &task{id: fmt.Sprintf("%s.%d.%s", r.id, len(r.tasks)+1, why), why: why, call: c}
	r.tasks = append(r.tasks, t)
	return t
}

// turn is the set of arguments for the next task: the same until a task with it was done, since only then there is nothing left to do.
func (r *run) turn() call {
	if r.given >= 0 {
		for _, h := range r.resultsOf(r.tasks[r.given]) {
			if outcome, _ := outcomeOf(h); outcome == "done" {
				r.next++
				break
			}
		}
	}
	r.given = len(r.tasks) // the task that is made with it
	return r.op.calls[r.next%len(r.op.calls)]
}

// invoke gives a task to the service.
func (r *run) invoke(ctx context.Context, t *task, method string, args map[string]any) (got reply, accepted, answered bool) {
	got, ok := r.call(ctx, t, r.o.Ack+r.o.Answer, "Invoke", t.id, method, variants(args)) // an answer that is late is another fault than none
	if t.reply.method == "" {
		t.reply = got
	}
	if !ok {
		return got, false, false
	}
	accepted, _, err := got.accepted()
	t.ran = t.ran || accepted && err == nil
	return got, accepted && err == nil, true
}

// begin gives a task that has to run, and waits for its first sign of life or a moment. false: it does not run, and ids are not run.
func (r *run) begin(ctx context.Context, t *task, ids ...ID) bool {
	_, accepted, answered := r.invoke(ctx, t, r.op.method, t.call.args)
	if !answered {
		t.ran = true // it may run: what it says is not held against it
		r.notRun("Invoke was not answered (see answers)", append(ids, Accepts)...)
		return false
	}
	if !r.readable(t.reply, append(ids, Accepts)...) {
		return false
	}
	if !accepted && r.ended(t) {
		r.notRun("the reply contradicts the Result that came before it (see early-result)", append(ids, Accepts)...)
		return false
	}
	if !r.saw(accepted && t.reply.took <= r.o.Ack, Accepts, t, r.calling("Invoke", t.reply.args), fmt.Sprintf("accepted true within %v", r.o.Ack), t.reply.String()) {
		if !accepted {
			r.notRun("the task was not accepted (see accepts)", ids...)
			return false
		}
	}
	r.w.until(ctx, beginTime, func() bool { return len(r.w.of(t.id)) > 0 })
	return true
}

// readable says whether an answer has the form (b accepted, s reason), or is an error. Another form is the matter of the check "types".
func (r *run) readable(got reply, ids ...ID) bool {
	if _, _, err := got.accepted(); err != nil && got.err == nil {
		r.notRun("the answer of "+got.method+" cannot be read (see types)", ids...)
		return false
	}
	return true
}

// beginTime is how long a first sign of life is waited for before a task that was accepted is cancelled, paused or cut off.
const beginTime = time.Second

// result waits for the Result of a task.
func (r *run) result(ctx context.Context, t *task, limit time.Duration) (outcome, reason string, came bool) {
	r.w.until(ctx, limit, func() bool { return r.ended(t) || r.gone() })
	for _, h := range r.resultsOf(t) {
		came = true
		outcome, reason = outcomeOf(h)
		break
	}
	return outcome, reason, came
}

// outcomeOf reads a Result as far as it can be read.
func outcomeOf(h heard) (outcome, reason string) {
	if len(h.body) > 2 {
		outcome, _ = h.body[1].(string)
		reason, _ = h.body[2].(string)
	}
	return outcome, reason
}

func (r *run) ended(t *task) bool {
	return slices.ContainsFunc(r.w.of(t.id), func(h heard) bool { return h.member == "Result" })
}

// clear ends a task that a stage leaves behind, so that the next one finds the service free.
func (r *run) clear(ctx context.Context, t *task) {
	if !t.ran || r.ended(t) || r.silent > 0 || r.w.present() == "" {
		return
	}
	r.w.call(ctx, r.o.Answer, "Cancel", t.id, r.op.method)
	limit := r.o.Timeout
	if r.failed(Ends) {
		limit = r.o.Stop // it says no Result anyway
	}
	r.result(ctx, t, limit)
}

// settle waits while nothing should come.
func (r *run) settle(ctx context.Context) {
	r.w.until(ctx, r.o.Settle, func() bool { return false })
}
