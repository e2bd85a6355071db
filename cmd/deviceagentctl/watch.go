package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

func (a *app) watchCmd() *cobra.Command {
	return &cobra.Command{Use: "watch [ID]", Short: "Live; ends with the plan (exit 3 unless it completed)", Args: cobra.MaximumNArgs(1),
		Annotations: map[string]string{streams: "yes"}, RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if a.output == asJSON {
					return usage("watch without an ID never ends, so it has no single document; use -o jsonl")
				}
				return a.watchAll(cmd.Context())
			}
			return a.watchOne(cmd.Context(), args[0])
		}}
}

// watched is what watch -o json prints at the end.
type watched struct {
	End    diag.End           `json:"end"`
	Events []diag.StreamEvent `json:"events"`
}

func (a *app) watchAll(ctx context.Context) error {
	v := &viewer{a: a, all: true}
	err := a.client.Follow(ctx, "", -1, v.event)
	if errors.Is(err, errInterrupted) {
		a.note("%s", tongue(a.lang).say("watch.all"))
	}
	return err
}

func (a *app) watchOne(ctx context.Context, arg string) error {
	id, _ := split(arg)
	rep, w, err := a.workflow(ctx, id)
	if err != nil {
		return err
	}
	v := &viewer{a: a, doc: w, asOf: rep.AsOf, tty: isTTY(a.stdout) && a.output == asText && a.env("TERM") != "dumb"}
	v.begin()
	stop := v.tick(ctx)
	err = a.client.Follow(ctx, w.ID, rep.AsOf.Seq, v.event)
	stop()
	if errors.Is(err, errInterrupted) {
		a.note("%s", tongue(a.lang).say("watch.stopped", w.ID))
	}
	if err != nil {
		return err
	}
	return a.finish(ctx, v)
}

// finish prints the end and gives the exit code.
func (a *app) finish(ctx context.Context, v *viewer) error {
	rep, w, err := a.workflow(ctx, v.doc.ID)
	if err != nil {
		return err
	}
	elapsed := duration(w.ElapsedMS)
	switch a.output {
	case asJSON:
		if v.end.State == "completed" {
			raw, err := json.Marshal(watched{End: v.end, Events: v.events})
			if err != nil {
				return err
			}
			return a.json(document{Schema: schema, OK: true, Data: raw, AsOf: asOf(rep)})
		}
	case asText, asWide:
		v.mu.Lock()
		v.doc, v.asOf = w, rep.AsOf
		v.redraw()
		v.mu.Unlock()
		end := v.end.State
		if v.end.Reason != "" {
			end += " (" + v.end.Reason + ")"
		}
		a.page.line("%s", tongue(a.lang).say("watch.end", w.ID, end, elapsed))
	}
	return ending(v.end, rep.AsOf, a.output)
}

// ending is nil for a plan that completed. Where text has told the end already, only the exit code is left.
func ending(end diag.End, as diag.AsOf, output string) error {
	if end.State == "completed" {
		return nil
	}
	p := diag.NewProblem(diag.CodeNotCompleted, end.Workflow+" is "+end.State, "deviceagentctl why "+end.Workflow)
	if end.Reason != "" {
		p.Detail += " (" + end.Reason + ")"
	}
	if as.DeviceTime != "" {
		p.AsOf = &as
	}
	return p
}

func (a *app) workflow(ctx context.Context, id string) (diag.Reply, diag.WorkflowDocument, error) {
	var w diag.WorkflowDocument
	rep, err := a.client.Get(ctx, workflowPath(id), nil)
	if err == nil {
		err = json.Unmarshal(rep.Data, &w)
	}
	return rep, w, err
}

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
		if _, w, err := v.a.workflow(context.Background(), v.doc.ID); err == nil {
			v.doc = w
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

func (a *app) waitCmd() *cobra.Command {
	var state string
	cmd := &cobra.Command{Use: "wait ID[/STEP]", Short: "Silent, for scripts: returns when the plan or step is in a state (exit 3 if it ended in another)", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.wait(cmd.Context(), args[0], state) }}
	cmd.Flags().StringVar(&state, "for", "completed", "the state to wait for")
	return cmd
}

func (a *app) wait(ctx context.Context, arg, state string) error {
	id, step := split(arg)
	if !knownState(state, step != "") {
		return usage("%q is no state; deviceagentctl help states", state)
	}
	rep, w, err := a.workflow(ctx, id)
	if err != nil {
		return err
	}
	have, ended, ok := stateOf(w, step)
	if !ok {
		return diag.NewProblem(diag.CodeUnknownTarget, w.ID+" has no step "+step, "deviceagentctl show "+w.ID)
	}
	for have != state && !ended {
		err := a.client.Follow(ctx, w.ID, rep.AsOf.Seq, func(ev diag.StreamEvent) error {
			if ev.Move != nil && ev.Move.Effect == "" && string(ev.Move.Step) == step {
				have = ev.Move.To
				if have == state {
					return diag.Done()
				}
			}
			if ev.Gap != nil {
				return diag.Done() // the move that is waited for may have been in it
			}
			return nil
		})
		if err != nil {
			return err
		}
		if have == state {
			break
		}
		if rep, w, err = a.workflow(ctx, w.ID); err != nil {
			return err
		}
		have, ended, _ = stateOf(w, step)
	}
	if have != state {
		return ending(diag.End{Workflow: strings.TrimSuffix(w.ID+"/"+step, "/"), State: have + ", not " + state}, rep.AsOf, a.output)
	}
	raw, err := json.Marshal(map[string]string{"id": w.ID, "step": step, "state": have})
	if err != nil {
		return err
	}
	rep.Data = raw
	return emit(a, rep, func(map[string]string, diag.AsOf) error { return nil })
}

func stateOf(w diag.WorkflowDocument, step string) (state string, ended, ok bool) {
	if step == "" {
		return w.State, w.Ended != nil, true
	}
	for _, s := range w.Steps {
		if s.ID == step {
			return s.State, terminal(s.State), true
		}
	}
	return "", false, false
}
