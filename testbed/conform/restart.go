package conform

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// restarts lets the service be restarted in the middle of a task, and asks afterwards what it knows.
func (r *run) restarts(ctx context.Context) {
	if r.o.Restart == nil {
		r.notRun("give --restart 'COMMAND', which restarts the service", Restart, Memory)
		return
	}
	t := r.newTask("restart", r.turn())
	if !r.begin(ctx, t, Restart, Memory) {
		return
	}
	early := r.early(t, Restart) // what it remembers can be asked all the same
	old, before := r.w.present(), r.w.departures()
	if r.gone() {
		r.notRun(leftReason, Restart, Memory)
		return
	}
	r.leaves = math.MaxInt // until it is back
	defer func() { r.leaves = min(r.leaves, r.w.departures()) }()
	if err := r.o.Restart(ctx); err != nil {
		r.notRun(fmt.Sprintf("the command of --restart failed: %v", err), Restart, Memory)
		r.clear(ctx, t)
		return
	}
	back := r.w.until(ctx, r.o.RestartTime, func() bool { now := r.w.present(); return now != "" && now != old })
	if !back {
		reason := fmt.Sprintf("the command of --restart ended, and %v later nobody has the name", r.o.RestartTime)
		if r.w.present() == old {
			reason = fmt.Sprintf("the command of --restart ended, and %v later the name still has its old owner %s: it restarts something else", r.o.RestartTime, old)
		}
		r.notRun(reason, Restart, Memory)
		r.clear(ctx, t)
		return
	}
	r.leaves = max(before+1, r.w.departures())
	if !early {
		r.truthful(ctx, t)
	}
	r.remembers(ctx)
	r.serves(ctx)
}

// truthful asks for the task that was cut off, and watches whether the answer is true.
func (r *run) truthful(ctx context.Context, t *task) {
	known, details, ok := r.query(ctx, t)
	if !ok {
		r.notRun("Query was not answered after the restart", Restart)
		return
	}
	did := r.calling("Query", []any{t.id}) + ", which was running when the service was restarted"
	seen := known + " " + asJSON(details)
	now := r.w.present()
	switch known {
	case "running": // it says that it goes on: then it must, to its end
		_, _, came := r.result(ctx, t, r.o.Timeout)
		r.saw(came, Restart, t, did, fmt.Sprintf("ended, unknown and sealed, or running and then a Result within %v", r.o.Timeout), seen+", and "+r.soFar(ctx, t))
		if !r.failed(Duplicate) {
			r.again(ctx, t, "after the restart")
		}
		return
	case "ended":
		r.saw(slices.Contains([]any{"failed", "cancelled", "done"}, details["outcome"]), Restart, t, did, "ended with an outcome", seen)
	default:
		r.saw(known == "unknown" && details["sealed"] == true, Restart, t, did, "ended, unknown with sealed true, or running", seen)
	}
	accepted := false
	if !r.failed(Duplicate) { // who takes any id twice is named by that
		got, yes, answered := r.invoke(ctx, t, r.op.method, t.call.args)
		accepted = yes
		if answered {
			r.saw(!yes, Restart, t, r.calling("Invoke", got.args)+" with the id that was just asked for", "accepted false", got.String())
		}
	}
	r.w.until(ctx, 2*r.o.Settle, func() bool { return false })
	for _, h := range r.w.of(t.id) {
		if h.owner == now && (h.member != "Result" || known == "unknown") {
			r.saw(false, Restart, t, fmt.Sprintf("listened for %v after Query said %s", 2*r.o.Settle, known), "no signal of the task: it does not go on", h.member+"("+showAll(h.body)+")")
			break
		}
	}
	if len(r.op.atRest) > 0 && !accepted {
		for _, e := range r.op.atRest {
			r.atRest(ctx, Restart, t, e, r.o.Stop, "after Query said "+known, "true: what the task used rests")
		}
	}
}

// remembers asks for what had ended before the restart.
func (r *run) remembers(ctx context.Context) {
	tried := false
	for _, t := range r.tasks {
		said := r.resultsOf(t)
		switch {
		case t.why == "seal" && r.op.durable && r.check(Seal).Status == Passed:
			tried = true
			r.forgotten(ctx, t, "which was sealed before the restart")
		case len(said) == 0 || !t.ran || said[0].owner == r.w.present() || t.why == "restart" && t.told != "" || t.told == "" && r.failed(Query):
		default:
			tried = true
			outcome := t.told // what Query said before: whether that is the Result is another check
			if outcome == "" {
				outcome, _ = outcomeOf(said[0])
			}
			known, details, ok := r.query(ctx, t)
			if !ok {
				r.notRun("Query was not answered after the restart", Memory)
				return
			}
			same := known == "ended" && details["outcome"] == outcome
			want := "ended with outcome " + outcome
			if !r.op.durable {
				same, want = same || known == "unknown" && details["sealed"] == true, want+", or unknown with sealed true"
			}
			r.saw(same, Memory, t, r.calling("Query", []any{t.id})+", which had ended before the restart", want, known+" "+asJSON(details))
			r.forgotten(ctx, t, "which had ended before the restart and was just asked for")
		}
	}
	if !tried {
		r.notRun("no task had ended before the restart", Memory)
	}
}

// forgotten gives an old id once more.
func (r *run) forgotten(ctx context.Context, t *task, which string) {
	if r.failed(Duplicate) {
		return
	}
	got, accepted, answered := r.invoke(ctx, t, r.op.method, t.call.args)
	if answered && !r.saw(!accepted, Memory, t, r.calling("Invoke", got.args)+", "+which, "accepted false", got.String()) {
		r.w.call(ctx, r.o.Answer, "Cancel", t.id, r.op.method)
		r.w.until(ctx, r.o.Stop, func() bool { return false })
	}
}

// serves gives a new task after the restart: who comes back must work.
func (r *run) serves(ctx context.Context) {
	t := r.newTask("back", r.turn())
	got, accepted, answered := r.invoke(ctx, t, r.op.method, t.call.args)
	if answered && !r.ended(t) && r.readable(got, Restart) {
		r.saw(accepted, Restart, t, r.calling("Invoke", got.args)+", a new task after the restart", "accepted true", got.String())
	}
	r.clear(ctx, t)
}

// soonStep is the pause between two readings of a value that is waited for.
const soonStep = 100 * time.Millisecond
