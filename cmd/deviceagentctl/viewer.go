package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"deviceagent/agent/diag"
)

// viewer shows a stream. On a terminal the steps are redrawn in place under a growing list of events; elsewhere each change is a line.
type viewer struct {
	a      *app
	all    bool
	tty    bool
	mu     sync.Mutex
	doc    diag.WorkflowDocument
	asOf   diag.AsOf
	events []diag.StreamEvent
	end    diag.End
	drawn  int // lines of the block on the screen
	lost   bool
	start  int64
}

// keepEvents bounds what watch -o json holds until the end.
const keepEvents = 10_000

func (v *viewer) event(ev diag.StreamEvent) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ev.End != nil {
		v.end = *ev.End
	}
	switch v.a.output {
	case asJSONL:
		return v.a.json(ev)
	case asJSON:
		if len(v.events) < keepEvents {
			v.events = append(v.events, ev)
		}
		return nil
	}
	if text := v.text(ev); text != "" {
		v.erase()
		v.a.page.line("%s", text)
	}
	if v.tty {
		if rep, w, err := v.a.workflow(context.Background(), v.doc.ID); err == nil {
			v.doc, v.asOf = w, rep.AsOf
		}
		v.redraw()
	}
	return nil
}

func (v *viewer) text(ev diag.StreamEvent) string {
	l := tongue(v.a.lang)
	switch {
	case ev.Kind == diag.EventLost:
		v.lost = true
		return l.say("watch.lost")
	case ev.Live != nil:
		restarted := v.start != 0 && v.start != ev.Live.StartNo
		was := v.lost
		v.start, v.lost = ev.Live.StartNo, false
		if was && restarted {
			return l.say("watch.restart", orText(ev.Live.Cause, "not recorded"), ev.Live.Seq)
		}
		if was {
			return l.say("watch.back", ev.Live.Seq)
		}
	case ev.Gap != nil:
		return l.say("watch.gap", ev.Gap.From, ev.Gap.To, ev.Gap.Reason)
	case ev.Move != nil:
		return v.move(ev.Move)
	}
	return ""
}

func (v *viewer) move(m *diag.MoveEvent) string {
	p := v.a.page
	what := "plan " + string(m.Workflow)
	switch {
	case m.Effect != "":
		what = "effect " + m.Effect
	case m.Step != "":
		what = string(m.Step)
	}
	if v.all && (m.Step != "" || m.Effect != "") {
		what = string(m.Workflow) + " " + what
	}
	from := orText(m.From, "new")
	text := fmt.Sprintf("%s  %s %s -> %s", p.clockTime(m.At), what, from, p.paint(m.To))
	if m.Reason != "" {
		text += " (" + string(m.Reason) + ")"
	}
	if p.wide {
		text += fmt.Sprintf("   seq %d   task %s", m.Seq, orText(string(m.Task), "-"))
	}
	return text
}

// begin tells where the plan is, before anything moves.
func (v *viewer) begin() {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.a.output == asJSON || v.a.output == asJSONL:
	case v.tty:
		v.redraw()
	default:
		for _, line := range v.block() {
			v.a.page.line("%s", line)
		}
	}
}

// block is the plan on a few lines.
func (v *viewer) block() []string {
	p := v.a.page
	lines := []string{fmt.Sprintf("%s %s  %s   %s", v.doc.ID, p.paint(v.doc.State), duration(v.doc.ElapsedMS), p.asOf(v.asOf))}
	if v.doc.Ended == nil {
		lines[0] += "   Ctrl-C stops watching only"
	}
	for _, s := range v.doc.Steps {
		mark, rest := "·", ""
		switch {
		case contains(wentWell, s.State):
			mark = "✓"
		case s.State == "failed" || s.State == "timed_out" || s.State == "cancelled":
			mark, rest = "✗", s.Reason
		case s.State == v.doc.StepState && s.ID == v.doc.Step:
			mark, rest = "▸", "waits: "+awaited(v.doc.Waiting)
		case len(s.After) > 0:
			rest = "after " + strings.Join(s.After, ", ")
		}
		elapsed := ""
		if s.ElapsedMS != nil {
			elapsed = duration(*s.ElapsedMS)
		}
		lines = append(lines, fmt.Sprintf("  %s %s %s %s %s %s", mark, pad(s.ID, 10), pad(clean(s.Method), 22), pad(p.paint(s.State), 16), pad(elapsed, 8), rest))
	}
	return lines
}

// erase takes the block off the screen; redraw puts it there again. No alternate screen, no queries: a serial line will do.
func (v *viewer) erase() {
	if v.drawn > 0 {
		_, _ = fmt.Fprintf(v.a.stdout, "\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}

func (v *viewer) redraw() {
	if !v.tty {
		return
	}
	v.erase()
	lines := v.block()
	for _, line := range lines {
		v.a.page.line("%s", cut(line, v.a.page.width-1))
	}
	v.drawn = len(lines)
}

// cut shortens a line that would wrap and so spoil the redraw.
func cut(line string, to int) string {
	if columnsOf(line) <= to {
		return line
	}
	runes := []rune(line)
	for columnsOf(string(runes)) >= to {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…\x1b[0m"
}

// tick keeps the times on a terminal moving.
func (v *viewer) tick(ctx context.Context) (stop func()) {
	if !v.tty {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		beat := time.NewTicker(time.Second)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
			rep, w, err := v.a.workflow(ctx, v.doc.ID)
			v.mu.Lock()
			if err == nil {
				v.doc, v.asOf = w, rep.AsOf
				v.redraw()
			}
			v.mu.Unlock()
		}
	})
	return func() { cancel(); wg.Wait() }
}
