package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
)

func (a *app) traceCmd() *cobra.Command {
	var tail int
	cmd := &cobra.Command{Use: "trace ID", Short: "How a goal was kept: what was seen, decided, done, proved; by the id of a plan, experience, turn, step, task or question", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		query := url.Values{}
		if cmd.Flags().Changed("tail") {
			query.Set("tail", strconv.Itoa(tail))
		}
		rep, err := a.client.Get(cmd.Context(), "/trace/"+url.PathEscape(args[0]), query)
		if err != nil {
			return err
		}
		return emit(a, rep, a.tracePage)
	}}
	cmd.Flags().IntVar(&tail, "tail", 0, "the last so many entries only")
	return cmd
}

func (a *app) tracePage(doc diag.TraceDocument, as diag.AsOf) error {
	l, p := tongue(a.lang), a.page
	if doc.Experience == "" {
		p.line("%s", l.say("trace.none", doc.Workflow))
		return nil
	}
	p.line("plan        %s   experience %s   goal %s %s   as of %s", doc.Workflow, doc.Experience, doc.Goal, p.paint(doc.Status), p.asOf(as))
	if doc.Earlier > 0 {
		p.line("%s", l.say("trace.earlier", doc.Earlier))
	}
	var rows [][]string
	for _, e := range doc.Entries {
		if e.Missing > 0 {
			rows = append(rows, []string{"-", "-", "-", l.say("trace.missing", e.Missing)})
			continue
		}
		rows = append(rows, []string{strconv.FormatInt(e.Seq, 10), p.clockTime(e.Time), string(e.Stage), l.traced(e.TraceEntry)})
	}
	if err := a.table([]column{{name: "SEQ"}, {name: "DEVICE TIME"}, {name: "PHASE"}, {name: "WHAT"}}, rows); err != nil {
		return err
	}
	p.line("%s", l.say("trace.model", doc.Model.Calls, amount(doc.Model.Input, "not reported"), amount(doc.Model.Output, "not reported"), maybe(doc.Model.LatencyMS, "not reported")))
	return nil
}

// traced writes one entry: its word, what it is about, and the facts that it has.
func (l tongue) traced(e core.TraceEntry) string {
	text := []string{strings.TrimSpace(e.What + " " + string(e.Step))}
	add := func(key string, args ...any) { text = append(text, l.say(key, args...)) }
	if e.Effect != "" {
		add("trace.effect", e.Effect)
	}
	if e.Reason != "" {
		add("trace.reason", e.Reason)
	}
	if e.Seen != "" {
		add("trace.seen", clean(e.Seen))
	}
	if e.Basis != "" {
		add("trace.basis", clean(e.Basis))
	}
	if e.Refused != "" {
		add("trace.refused", e.Refused)
	}
	if spent := spent(e.Before, e.After); spent != "" {
		add("trace.left", spent)
	}
	if d := e.Diff; d != nil {
		text = append(text, diffText(d))
	}
	if u := e.Usage; u != nil && u.Model != "" {
		add("trace.by", clean(u.Model))
	}
	return strings.Join(text, " · ")
}

// spent writes what is left: of what has changed also what it was.
func spent(before, after *core.TraceBudget) string {
	if after == nil {
		return ""
	}
	var out []string
	for _, b := range []struct {
		name string
		of   func(*core.TraceBudget) int64
	}{{"decisions", func(b *core.TraceBudget) int64 { return b.Decisions }}, {"replans", func(b *core.TraceBudget) int64 { return b.Replans }},
		{"retries", func(b *core.TraceBudget) int64 { return b.Retries }}, {"questions", func(b *core.TraceBudget) int64 { return b.Questions }}} {
		now := b.of(after)
		if before == nil || b.of(before) == now {
			out = append(out, fmt.Sprintf("%s %d", b.name, now))
		} else {
			out = append(out, fmt.Sprintf("%s %d -> %d", b.name, b.of(before), now))
		}
	}
	return strings.Join(out, ", ")
}

func diffText(d *core.PlanDiff) string {
	text := fmt.Sprintf("plan r%d -> r%d:", d.From, d.To)
	for _, part := range []struct {
		sign string
		ids  []core.StepID
	}{{"+", d.Added}, {"-", d.Removed}, {"~", d.Changed}, {"x", d.Stopped}} {
		for _, id := range part.ids {
			text += " " + part.sign + string(id)
		}
	}
	if d.More > 0 {
		text += fmt.Sprintf(" … %d", d.More)
	}
	return text
}

func (a *app) experienceCmd() *cobra.Command {
	return &cobra.Command{Use: "experience ID", Short: "How an experience stands: phase, criteria, effects, what is left of its budget", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		rep, err := a.client.Get(cmd.Context(), "/experiences/"+url.PathEscape(args[0]), nil)
		if err != nil {
			return err
		}
		return emit(a, rep, a.experiencePage)
	}}
}

func (a *app) experiencePage(doc diag.ExperienceDocument, as diag.AsOf) error {
	p, e := a.page, doc.Experience
	p.line("experience  %s   goal %s   %s   as of %s", e.Experience, e.GoalID, p.paint(string(e.Status)), p.asOf(as))
	p.line("goal        %s", clean(e.Goal))
	p.line("phase       %s", e.Phase)
	p.line("criteria    %s", orText(strings.Join(e.Criteria, ", "), "none"))
	p.line("constraints %s", orText(strings.Join(e.Constraints, ", "), "none"))
	p.line("listens to  %s", strings.Join(e.Subscriptions, ", "))
	p.line("sessions    device %s   content %s", e.Sessions.Workflow, orText(e.Sessions.Content, "none"))
	p.line("left        decisions %s   replans %s   retries %d   questions %d   tier %s", amount(e.Budget.Decisions, "not reported"), amount(e.Budget.Replans, "not reported"),
		e.Budget.Retries, e.Budget.Questions, e.Tier)
	for _, c := range e.Effects {
		p.line("  effect %s/%s  %s", c.Step, c.Effect, p.paint(string(c.State)))
	}
	p.line("next        deviceagentctl trace %s · show %s", doc.Workflow.Workflow, doc.Workflow.Workflow)
	return nil
}
