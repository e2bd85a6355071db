package conform

import (
	"context"
	"fmt"
	"time"
)

// pauses holds a task, looks whether it rests, and lets it go on to its end.
func (r *run) pauses(ctx context.Context) {
	all := []ID{Pause, Rests, Resume}
	if r.op.pause == no {
		r.na("the catalog says that the operation cannot pause", all...)
		return
	}
	t := r.newTask("pause", r.turn())
	if !r.begin(ctx, t, all...) || r.early(t, all...) {
		return
	}
	defer r.clear(ctx, t)
	got, ok := r.call(ctx, t, r.o.Answer, "Pause", t.id)
	if !ok {
		r.notRun("Pause was not answered (see answers)", all...)
		return
	}
	if !r.readable(got, all...) {
		return
	}
	accepted, reason, err := got.accepted()
	did := r.calling("Pause", []any{t.id}) + " while it runs"
	switch {
	case r.op.pause == ask && (unsupported(reason) || isRefusal(got.dbusName())):
		r.na("the service says that the operation cannot pause", all...)
		return
	case err != nil || !accepted:
		if r.early(t, all...) {
			return
		}
		r.saw(false, Pause, t, did, "accepted true", got.String())
		r.notRun("the pause was not accepted (see pause)", Rests, Resume)
		return
	}
	held, came := r.held(ctx, t, true, r.o.Hold-time.Since(got.asked))
	if !r.saw(came, Pause, t, did, fmt.Sprintf("Held true within %v", r.o.Hold), r.soFar(ctx, t)) {
		r.notRun("the task did not say that it rests (see pause)", Rests, Resume)
		return
	}
	r.rests(ctx, t, held)
	r.resumes(ctx, t)
}

// held waits for a Held signal that says so.
func (r *run) held(ctx context.Context, t *task, paused bool, limit time.Duration) (heard, bool) {
	return r.w.signal(ctx, max(limit, 0), t.id, "Held", func(h heard) bool { return len(h.body) > 1 && h.body[1] == paused })
}

// rests watches a task between Held true and Resume.
func (r *run) rests(ctx context.Context, t *task, held heard) {
	if known, details, ok := r.query(ctx, t); ok && known != "running" && !r.ended(t) {
		r.saw(false, Query, t, r.calling("Query", []any{t.id})+" while it is paused", "running", known+" "+asJSON(details))
	} else if ok && !r.ended(t) {
		r.saw(known == "running" && details["paused"] == true, Pause, t, r.calling("Query", []any{t.id})+" after Held true", "running with paused true", known+" "+asJSON(details))
	}
	began := time.Now()
	for _, e := range r.op.atRest {
		r.atRest(ctx, Rests, t, e, r.o.Settle, "after Held true", "true, since a held task rests")
	}
	r.w.until(ctx, max(2*r.o.Settle-time.Since(began), 0), func() bool { return false })
	seen, moved := "nothing", false
	for _, h := range r.w.of(t.id) {
		if h.order > held.order {
			seen, moved = h.member+"("+showAll(h.body)+")", true
			break
		}
	}
	r.saw(!moved, Rests, t, fmt.Sprintf("listened for %v after Held true of %s", 2*r.o.Settle, t.id), "no signal of the task until Resume", seen)
}

func (r *run) resumes(ctx context.Context, t *task) {
	if r.early(t, Resume) {
		return
	}
	got, ok := r.call(ctx, t, r.o.Answer, "Resume", t.id)
	if !ok {
		r.notRun("Resume was not answered (see answers)", Resume)
		return
	}
	if !r.readable(got, Resume) {
		return
	}
	did := r.calling("Resume", []any{t.id}) + " while it is paused"
	accepted, _, err := got.accepted()
	if !r.saw(err == nil && accepted, Resume, t, did, "accepted true", got.String()) {
		return
	}
	_, came := r.held(ctx, t, false, r.o.Hold-time.Since(got.asked))
	r.saw(came, Resume, t, did, fmt.Sprintf("Held false within %v", r.o.Hold), r.soFar(ctx, t))
	outcome, reason, came := r.result(ctx, t, r.o.Timeout)
	if !came && r.failed(Ends) {
		return // it says no Result at all: that is named
	}
	r.saw(came && outcome == "done", Resume, t, "waited for the Result of "+t.id+" after Resume", fmt.Sprintf("Result done within %v", r.o.Timeout),
		map[bool]string{true: outcome + " " + reason, false: "no Result"}[came])
}
