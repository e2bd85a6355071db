package conform

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core/catalog"
)

// refuses gives calls that must not run, and listens for what must not come.
func (r *run) refuses(ctx context.Context) {
	var given []*task
	for i, w := range r.op.wrong {
		t := r.newTask(fmt.Sprintf("refuse-%d", i+1), call{args: w.args})
		t.blame = Refuses
		got, accepted, answered := r.invoke(ctx, t, w.method, w.args)
		if !answered {
			r.notRun("Invoke with "+w.what+" was not answered (see answers)", Refuses)
			continue
		}
		r.saw(!accepted && (t.reply.err == nil || isRefusal(t.reply.dbusName())), Refuses, t, w.what+": "+r.calling("Invoke", got.args),
			"accepted false with a reason (or error InvalidArgs)", t.reply.String())
		given = append(given, t)
	}
	r.settle(ctx)
	for _, t := range given {
		if t.ran {
			r.clear(ctx, t)
			continue
		}
		if known, _, ok := r.query(ctx, t); ok {
			r.saw(known != "running", Refuses, t, r.calling("Query", []any{t.id})+" after the refusal", "not running", known)
		}
	}
	r.quiet(Refuses, given...)
}

// isRefusal names the errors that the agent takes for a refusal; after any other the outcome is unknown to it.
func isRefusal(name string) bool {
	return slices.Contains([]string{"UnknownMethod", "UnknownInterface", "UnknownObject", "InvalidArgs", "InvalidSignature"}, strings.TrimPrefix(name, busName+".Error."))
}

// quiet holds against a check what was said of tasks that were refused.
func (r *run) quiet(id ID, tasks ...*task) {
	for _, t := range tasks {
		if t.ran {
			continue
		}
		for _, h := range r.w.of(t.id) {
			r.saw(false, id, t, "listened after the refusal of "+t.id, "no signal of this task: it does not run", h.member+"("+showAll(h.body)+")")
		}
	}
}

// query asks for a task and reads known and details; ok false: not answered, or not readable (which the check "types" says).
func (r *run) query(ctx context.Context, t *task) (known string, details map[string]any, ok bool) {
	got, ok := r.call(ctx, t, r.o.Answer, "Query", t.id)
	if !ok || got.err != nil {
		if ok {
			r.saw(false, Query, t, r.calling("Query", []any{t.id}), "running, ended or unknown", got.String())
		}
		return "", nil, false
	}
	var raw map[string]godbus.Variant
	if godbus.Store(got.body, &known, &raw) != nil || !slices.Contains(knownWords, known) {
		return "", nil, false // the check "types" says so
	}
	details, err := plainMap(raw)
	t.told, _ = details["outcome"].(string)
	return known, details, err == nil
}

func (r *run) seals(ctx context.Context) {
	t := r.newTask("seal", r.op.calls[0])
	t.blame = Seal
	did := r.calling("Query", []any{t.id}) + ", an id that nobody has used"
	known, details, ok := r.query(ctx, t)
	if !ok {
		r.notRun("Query was not answered", Seal)
		return
	}
	if !r.saw(known == "unknown" && details["sealed"] == true, Seal, t, did, "unknown with sealed true", known+" "+asJSON(details)) {
		return
	}
	got, accepted, answered := r.invoke(ctx, t, r.op.method, t.call.args)
	if !answered {
		r.notRun("Invoke was not answered (see answers)", Seal)
		return
	}
	r.saw(!accepted, Seal, t, r.calling("Invoke", got.args)+", after the Query", "accepted false", got.String())
	r.settle(ctx)
	r.quiet(Seal, t)
	r.clear(ctx, t)
}

// whole runs one task from Invoke to Result and asks for everything that must hold on the way.
func (r *run) whole(ctx context.Context) {
	r.chooseUnproved(ctx)
	t := r.newTask("whole", r.turn())
	already := r.holds(ctx, t, t.call.proof)
	if !r.begin(ctx, t, Duplicate, Ends, Query, Proof, Events) {
		return
	}
	if !r.ended(t) {
		r.runs(ctx, t)
	}
	outcome, reason, came := r.result(ctx, t, r.o.Timeout)
	r.saw(came, Ends, t, "waited for the Result of "+t.id, fmt.Sprintf("Result within %v", r.o.Timeout), r.soFar(ctx, t))
	if !came {
		r.notRun("there was no Result (see result)", Query, Proof, Events)
		r.clear(ctx, t)
		return
	}
	r.proves(ctx, t, outcome, reason, already)
	r.settle(ctx)
	r.agrees(ctx, t)
	r.again(ctx, t, "after its end")
}

// runs checks a task that is under way.
func (r *run) runs(ctx context.Context, t *task) {
	known, details, ok := r.query(ctx, t)
	if ok && !r.ended(t) {
		r.saw(known == "running", Query, t, r.calling("Query", []any{t.id})+" while it runs", "running", known+" "+asJSON(details))
	}
	r.again(ctx, t, "while it runs")
}

// again gives a known id once more: it must be refused, and nothing may come of it.
func (r *run) again(ctx context.Context, t *task, when string) {
	got, accepted, answered := r.invoke(ctx, t, r.op.method, t.call.args)
	if answered {
		r.saw(!accepted, Duplicate, t, r.calling("Invoke", got.args)+" once more "+when, "accepted false", got.String())
	} else {
		r.notRun("the second Invoke was not answered (see answers)", Duplicate)
	}
	t.twice = t.twice || accepted
	if accepted && r.ended(t) {
		results := len(r.resultsOf(t))
		r.w.until(ctx, r.o.Stop+r.o.Settle, func() bool { return len(r.resultsOf(t)) > results })
	}
}

// resultsOf are the Results that were said of one task.
func (r *run) resultsOf(t *task) []heard {
	return slices.DeleteFunc(r.w.of(t.id), func(h heard) bool { return h.member != "Result" })
}

// soFar says what is known of a task now, for people.
func (r *run) soFar(ctx context.Context, t *task) string {
	said := r.w.of(t.id)
	if i := slices.IndexFunc(said, func(h heard) bool { return h.member == "Result" }); i >= 0 {
		outcome, reason := outcomeOf(said[i])
		return strings.TrimSpace(fmt.Sprintf("%s %s after %v", outcome, reason, said[i].at.Sub(t.reply.asked).Round(time.Millisecond)))
	}
	known, details, ok := r.query(ctx, t)
	if !ok {
		known = "no answer"
	}
	return fmt.Sprintf("no Result, %d other signals of the task; Query says %s %s", len(said), known, asJSON(details))
}

// agrees holds Query against the Result that was heard.
func (r *run) agrees(ctx context.Context, t *task) {
	said := r.resultsOf(t)
	if len(said) == 0 {
		return
	}
	outcome, _ := outcomeOf(said[0])
	known, details, ok := r.query(ctx, t)
	if !ok {
		r.notRun("Query was not answered", Query)
		return
	}
	r.saw(known == "ended" && details["outcome"] == outcome, Query, t, r.calling("Query", []any{t.id})+" after Result "+outcome,
		"ended with outcome "+outcome, known+" "+asJSON(details))
}

func (r *run) cancels(ctx context.Context) {
	if r.op.cancel == no {
		r.na("the catalog says that the operation takes no cancel", Cancel, Stopped)
		return
	}
	t := r.newTask("cancel", r.turn())
	if !r.begin(ctx, t, Cancel, Stopped) || r.early(t, Cancel, Stopped) {
		return
	}
	defer r.clear(ctx, t)
	got, ok := r.call(ctx, t, r.o.Answer, "Cancel", t.id, r.op.method)
	did := r.calling("Cancel", []any{t.id, r.op.method}) + " while it runs"
	if !ok {
		r.notRun("Cancel was not answered (see answers)", Cancel, Stopped)
		return
	}
	if !r.readable(got, Cancel, Stopped) {
		return
	}
	accepted, reason, err := got.accepted()
	switch {
	case r.op.cancel == ask && (unsupported(reason) || isRefusal(got.dbusName())):
		r.na("the service says that the operation takes no cancel", Cancel, Stopped)
		return
	case err != nil || !accepted:
		if r.early(t, Cancel, Stopped) {
			return
		}
		r.saw(false, Cancel, t, did, "accepted true", got.String())
		r.notRun("the cancel was not accepted (see cancel)", Stopped)
		return
	}
	outcome, why, came := r.result(ctx, t, max(r.o.Stop-time.Since(got.asked), 0))
	if outcome == "done" && r.w.of(t.id) != nil {
		// It may have come to its end by itself just before: the claim is true then, and says nothing about cancelling.
		if h := r.resultsOf(t)[0]; h.order < got.order {
			r.notRun("the task ended before the cancel reached it; give --params that take longer", Cancel, Stopped)
			return
		}
	}
	seen := strings.TrimSpace(outcome + " " + why)
	if !came {
		seen = r.soFar(ctx, t)
	}
	if !r.saw(came && outcome == "cancelled", Cancel, t, did, fmt.Sprintf("Result cancelled within %v", r.o.Stop), seen) {
		r.notRun("there was no Result cancelled (see cancel)", Stopped)
		return
	}
	r.stopped(ctx, t)
	r.agrees(ctx, t)
	r.call(ctx, t, r.o.Answer, "Cancel", t.id, r.op.method) // a cancel that comes again does no harm: the audit sees whether it did
}

func unsupported(reason string) bool { return strings.Contains(reason, "support") }

// early says whether a task has ended before it could be tried on.
func (r *run) early(t *task, ids ...ID) bool {
	if !r.ended(t) {
		return false
	}
	r.notRun("the task had ended before it could be tried; give --params that take longer", ids...)
	return true
}

// stopped looks whether what was cancelled rests: nothing more is said of it (the audit), and what moves is seen at rest.
func (r *run) stopped(ctx context.Context, t *task) {
	end := time.Now()
	for _, e := range r.op.atRest {
		r.atRest(ctx, Stopped, t, e, r.o.Settle, "after Result cancelled", "true, since cancelled means that it rests")
	}
	r.w.until(ctx, max(r.o.Settle-time.Since(end), 0), func() bool { return false })
	after := r.after(t)
	seen := "nothing"
	if len(after) > 0 {
		seen = fmt.Sprintf("%d signals, the first %s(%s)", len(after), after[0].member, showAll(after[0].body))
	}
	r.saw(len(after) == 0, Stopped, t, fmt.Sprintf("listened for %v after Result cancelled of %s", r.o.Settle, t.id), "no Feedback, Held or Event of the task", seen)
}

// atRest wants an expression over the context to become true within limit.
func (r *run) atRest(ctx context.Context, id ID, t *task, e catalog.Expr, limit time.Duration, when, expected string) {
	ok, seen, answered := r.soon(ctx, t, e, limit)
	if !answered {
		r.notRun("Read was not answered (see answers)", id)
		return
	}
	r.saw(ok, id, t, "read "+sayExpr(e, t.call.args)+" "+when, expected, seen)
}

// after are the signals of a task that came after its first Result, further Results left out.
func (r *run) after(t *task) (out []heard) {
	ended := false
	for _, h := range r.w.of(t.id) {
		if ended && h.member != "Result" {
			out = append(out, h)
		}
		ended = ended || h.member == "Result"
	}
	return out
}
