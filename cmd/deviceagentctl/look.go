package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

// split reads ID or ID/STEP.
func split(arg string) (id, step string) {
	id, step, _ = strings.Cut(arg, "/")
	return id, step
}

func workflowPath(id string) string { return "/workflows/" + url.PathEscape(id) }

func (a *app) statusCmd() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{Use: "status", Short: "One screen: health, link, plans, executors, bounds", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		rep, err := a.look(cmd.Context(), "/status", func(_ diag.Reply, err error) bool { return !wait || !notYet(err) })
		if err != nil {
			return err
		}
		return emit(a, rep, a.statusPage)
	}}
	cmd.Flags().BoolVar(&wait, "wait", false, "until the agent is there; with --timeout not for ever")
	return cmd
}

// lookEvery is the time between two looks for what is about to start.
const lookEvery = 200 * time.Millisecond

// look reads a document until it is good.
func (a *app) look(ctx context.Context, path string, good func(diag.Reply, error) bool) (diag.Reply, error) {
	for {
		rep, err := a.client.Get(ctx, path, nil)
		if good(rep, err) {
			return rep, err
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return rep, context.Cause(ctx)
		}
	}
}

// notYet says that an agent which starts now may answer soon.
func notYet(err error) bool {
	p, ok := errors.AsType[*diag.Problem](err)
	return ok && contains([]diag.Code{diag.CodeMissing, diag.CodeRefused, diag.CodeStarting, diag.CodeBusy, diag.CodeSilent}, diag.Code(p.Code))
}

func (a *app) statusPage(s diag.StatusDocument, as diag.AsOf) error {
	p := a.page
	p.line("deviceagentd %s  device %s  socket %s  as of %s", clean(versionOf(s.Version, s.Commit)), clean(s.DeviceID), a.client.Socket, p.asOf(as))
	p.line("health      %s   %s", p.paint(strings.ToUpper(s.Health)), plural(len(s.Warnings), "warning"))
	for _, w := range s.Warnings {
		p.line("            %s", clean(w))
	}
	started := "not recorded"
	if s.Started != nil {
		started = p.dayTime(s.Started.At) + ", " + duration(s.Started.AgeMS) + " ago"
	}
	p.line("started     %s, cause: %s, start no. %d", started, orText(s.StartCause, "not recorded"), s.StartNo)
	clock := "not trusted"
	if as.ClockTrusted {
		clock = "trusted"
	}
	p.line("clock       %s (source %s, offset %s)", clock, orText(s.Clock.Source, "not reported"), maybe(s.Clock.OffsetMS, "not reported"))
	link := p.paint(strings.ToUpper(orText(s.Link.State, "not reported")))
	if s.Link.Reason != "" {
		link += " (" + clean(s.Link.Reason) + ")"
	}
	p.line("cloud       %s  %s  for %s   last down %s   last up %s", link, clean(orText(s.Link.Broker, "no broker")), maybe(s.Link.SinceMS, "not recorded"),
		ago(s.Link.LastDownMS), ago(s.Link.LastUpMS))
	p.line("outbox      unsent %s, awaiting receipt %s (oldest %s), bound %s", amount(s.Outbox.Unsent, "not reported"), amount(s.Outbox.Awaiting, "not reported"),
		maybe(s.Outbox.OldestMS, "none or not reported"), amount(s.Outbox.Bound, "not reported"))
	p.line("plans       %d active  %d queued  %d held   %d ended in memory", s.Workflows.Active, s.Workflows.Queued, s.Workflows.Held, s.Workflows.InMemory)
	p.line("mode        %s", orText(s.Mode, "not reported"))
	for i, h := range s.Holders {
		p.line("%-11s %s", headOnce("holders", i), holderLine(h))
	}
	for i, c := range s.Cleaning {
		p.line("%-11s %s/%s %s: told to stop %s, not confirmed; %s still taken", headOnce("clean-up", i), clean(c.Workflow), clean(c.Step), clean(c.Method),
			plural(c.StopCalls, "time"), strings.Join(c.Resources, ", "))
	}
	ready, absent := 0, []string{}
	for _, e := range s.Services {
		if e.State == "ready" {
			ready++
		} else {
			absent = append(absent, clean(e.Service)+" "+p.paint("absent"))
		}
	}
	p.line("executors   %d of %d ready   %s", ready, len(s.Services), strings.Join(absent, ", "))
	for _, e := range s.Services {
		if e.Contradicted+e.Unproven > 0 {
			p.line("%-11s %s said done: opposite observed %s, nothing proved it %s", "", clean(e.Service), plural(int(e.Contradicted), "time"), plural(int(e.Unproven), "time"))
		}
	}
	p.line("store       %s of %s   epoch %s", size(s.Store.UsedBytes, "not reported"), size(s.Store.BoundBytes, "not reported"), orText(s.Store.Epoch, "not reported"))
	p.line("catalog     %d operations   etag %s", s.Catalog.Operations, short(s.Catalog.Etag, p.wide))
	return nil
}

// questionLine tells what the cloud was asked, and what became of that.
func questionLine(q diag.Question, w diag.WorkflowDocument) string {
	head := fmt.Sprintf("about %s (%s): ", clean(q.Step), clean(q.Reason))
	if q.State != "open" {
		return head + strings.TrimSpace(q.State+" "+q.Action)
	}
	return fmt.Sprintf("%s%s; then the default   decisions left %d, replans %d", head, maybe(q.LeftMS, "due"), w.DecisionsLeft, w.ReplansLeft)
}

// askLine tells what the user was asked, and what became of that.
func askLine(q diag.Ask) string {
	head := fmt.Sprintf("%s about %s: %q ", q.ID, clean(q.Step), clean(q.Text))
	if q.State != "open" {
		return head + strings.TrimSpace(strings.TrimSpace(q.State+" "+clean(q.Option))+" "+clean(q.By))
	}
	var options []string
	for _, o := range q.Options {
		options = append(options, clean(o.ID))
	}
	return fmt.Sprintf("%s%s   answer %s", head, maybe(q.LeftMS, "due"), strings.Join(options, " | "))
}

// headOnce gives a heading for the first of several lines.
func headOnce(head string, i int) string {
	if i > 0 {
		return ""
	}
	return head
}

// holderLine says who holds what, since when, why and what ends it.
func holderLine(h diag.Holder) string {
	text := clean(h.ID) + " for " + duration(h.Since.AgeMS)
	if h.By != "" {
		text += ", by " + clean(h.By)
	}
	if h.Why != "" {
		text += ": " + clean(h.Why)
	}
	text += "   resume " + clean(h.Resume)
	if h.LeftMS != nil {
		text += " in " + duration(*h.LeftMS)
	}
	return text
}

// short cuts an etag for people; wide and JSON have all of it.
func short(etag string, wide bool) string {
	if wide || len(etag) <= 12 {
		return orText(etag, "not reported")
	}
	return etag[:12] + "…"
}

func versionOf(v, commit string) string {
	if commit == "" {
		return v
	}
	return v + " (" + commit + ")"
}

func ago(ms *int64) string {
	if ms == nil {
		return "not recorded"
	}
	return duration(*ms) + " ago"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (a *app) psCmd() *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "ps", Aliases: []string{"changes"}, Short: "Plans, running first", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		query := url.Values{}
		if all {
			query.Set("all", "true")
		}
		rep, err := a.client.Get(cmd.Context(), "/workflows", query)
		if err != nil {
			return err
		}
		return emit(a, rep, func(rows []diag.Workflow, _ diag.AsOf) error { return a.psPage(rows, all) })
	}}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "ended ones too, the latest first")
	return cmd
}

func (a *app) psPage(rows []diag.Workflow, all bool) error {
	cols := []column{{name: "KIND"}, {name: "ID"}, {name: "REV", wide: true}, {name: "PLAN", wide: true}, {name: "SOURCE", wide: true}, {name: "STATE"}, {name: "REASON", wide: true},
		{name: "STEP"}, {name: "FOR"}, {name: "WAITING FOR"}, {name: "GOAL"}}
	var cells [][]string
	for _, w := range rows {
		step := fmt.Sprintf("%d/%d", w.StepsDone, w.StepsTotal)
		if w.Step != "" {
			step += " " + w.Step + " " + w.StepState
		}
		cells = append(cells, []string{w.Kind, w.ID, fmt.Sprint(w.Revision), w.PlanID, w.Source, w.State, orText(w.Reason, "-"), step, duration(w.ElapsedMS),
			awaited(w.Waiting), clean(w.Goal)})
	}
	l := tongue(a.lang)
	if err := a.table(cols, cells); err != nil {
		return err
	}
	switch {
	case all:
		a.note("%s", l.say("shown", len(rows)))
	case len(rows) == 0:
		a.note("%s", l.say("none.open"))
	default:
		a.note("%s", l.say("hidden", len(rows)))
	}
	return nil
}

func (a *app) showCmd() *cobra.Command {
	return &cobra.Command{Use: "show ID", Short: "One plan: goal, steps, effects, evidence", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		id, _ := split(args[0])
		rep, err := a.client.Get(cmd.Context(), workflowPath(id), nil)
		if err != nil {
			return err
		}
		return emit(a, rep, a.showPage)
	}}
}

func (a *app) showPage(w diag.WorkflowDocument, as diag.AsOf) error {
	p := a.page
	state := p.paint(w.State)
	if w.Reason != "" {
		state += " (" + w.Reason + ": " + tongue(a.lang).reason(w.Reason) + ")"
	}
	p.line("plan        %s  revision %d  %s      plan_id %s   source %s   as of %s", w.ID, w.Revision, state, w.PlanID, w.Source, p.asOf(as))
	p.line("goal        %s", clean(w.Goal))
	ended := "not yet"
	if w.Ended != nil {
		ended = p.clockTime(w.Ended.At)
	}
	p.line("accepted    %s   ended: %s   elapsed %s", p.clockTime(w.Accepted.At), ended, duration(w.ElapsedMS))
	p.line("limits      priority %s   deadline %s   messages up %d   turn %s", w.Priority, maybe(w.DeadlineLeftMS, "none"), w.Uplink, clean(orText(w.TurnID, "not recorded")))
	for i, q := range w.Questions {
		p.line("%-11s %s", headOnce("asked", i), questionLine(q, w))
	}
	for _, q := range w.Asks {
		p.line("%-11s %s", "user asked", askLine(q))
	}
	p.line("steps")
	for _, s := range w.Steps {
		a.stepLines(s)
	}
	next := "show"
	if w.Ended == nil {
		next = "cancel " + w.ID + " --reason … · watch " + w.ID + " · why"
	} else {
		next = "why"
	}
	p.line("next        deviceagentctl %s %s", next, w.ID)
	return nil
}

func (a *app) stepLines(s diag.Step) {
	p := a.page
	state := p.paint(s.State)
	if s.Reason != "" {
		state += " (" + s.Reason + ")"
	}
	facts := []string{"for " + duration(s.Since.AgeMS)}
	if s.ElapsedMS != nil {
		facts = []string{"took " + duration(*s.ElapsedMS)}
		if !terminal(s.State) {
			facts = []string{"since dispatch " + duration(*s.ElapsedMS)}
		}
	}
	if s.LeftMS != nil {
		facts = append(facts, duration(*s.LeftMS)+" left")
	}
	if s.Task != "" {
		facts = append(facts, fmt.Sprintf("task %s %s, attempt %d", s.Task, s.TaskState, s.Attempts))
	}
	if s.Claim != "" {
		facts = append(facts, "executor said "+s.Claim+" (claim, not proof)")
	}
	if s.Stop != "" {
		facts = append(facts, "stop "+s.Stop)
	}
	if len(s.After) > 0 {
		facts = append(facts, "after "+strings.Join(s.After, ", "))
	}
	p.line("  %s  %s %s", s.ID, clean(s.Method), params(s.Params))
	p.line("      %s   %s", state, strings.Join(facts, "   "))
	if len(s.Output) > 0 {
		p.line("      output %s", params(s.Output))
	}
	for _, e := range s.Effects {
		p.line("      effect %s  %s", e.ID, p.paint(e.State))
		for _, ev := range e.Evidence {
			p.line("        %s", a.evidenceLine(ev))
		}
		switch {
		case len(e.Evidence) > 0:
		case terminal(s.State):
			p.line("        evidence: none")
		default:
			p.line("        evidence: none yet")
		}
	}
}

func (a *app) evidenceLine(ev diag.Evidence) string {
	what := ev.Event
	if ev.Key != "" {
		what = ev.Key
	}
	if ev.Value != nil {
		what += " = " + value(ev.Value)
	}
	if ev.Against {
		what = "against: " + what
	}
	text := fmt.Sprintf("%s   source %s (%s)   seq %d   %s   %s old then   by %s", what, clean(ev.Source), ev.Class, ev.Seq, a.page.clockTime(ev.At.At), duration(ev.AgeMS), ev.By)
	if ev.Recovered {
		text += "   recovered"
	}
	return text
}

func (a *app) contextCmd() *cobra.Command {
	return &cobra.Command{Use: "context [KEY…]", Short: "What is known of robot and home: value, source, age, freshness", RunE: func(cmd *cobra.Command, args []string) error {
		rep, err := a.client.Get(cmd.Context(), "/context", url.Values{"key": args})
		if err != nil {
			return err
		}
		return emit(a, rep, func(rows []diag.ContextRow, _ diag.AsOf) error {
			cols := []column{{name: "KEY"}, {name: "VALUE"}, {name: "SOURCE"}, {name: "CLASS", wide: true}, {name: "AGE"}, {name: "FRESH"}, {name: "BOUND"}}
			var cells [][]string
			for _, r := range rows {
				cells = append(cells, []string{r.Key, value(r.Value), clean(orText(r.Source, "not reported")), orText(r.Class, "not reported"), maybe(r.AgeMS, "never read"), freshness(r), duration(r.BoundMS)})
			}
			return a.table(cols, cells)
		})
	}}
}

// freshness names who says something else, where two sources disagree.
func freshness(r diag.ContextRow) string {
	if r.OtherSource == "" {
		return r.Fresh
	}
	return r.Fresh + " (" + clean(r.OtherSource) + ": " + value(r.OtherValue) + ")"
}

func (a *app) executorsCmd() *cobra.Command {
	var wait []string
	cmd := &cobra.Command{Use: "executors", Short: "The services that carry operations out", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		rep, err := a.look(cmd.Context(), "/executors", func(rep diag.Reply, err error) bool {
			return len(wait) == 0 || !notYet(err) && (err != nil || ready(rep, wait))
		})
		if err == nil {
			err = unknownService(rep, wait)
		}
		if err != nil {
			return err
		}
		return emit(a, rep, func(rows []diag.ServiceStatus, _ diag.AsOf) error {
			cols := []column{{name: "SERVICE"}, {name: "STATE"}, {name: "SINCE"}, {name: "INSTANCE", wide: true}, {name: "OPEN"}, {name: "WAITING"}, {name: "LAST ERROR"}, {name: "METHODS"}, {name: "MISSING"}}
			var cells [][]string
			for _, r := range rows {
				since := "not recorded"
				if r.Since != nil {
					since = a.page.dayTime(r.Since.At)
				}
				methods := fmt.Sprint(len(r.Methods))
				if a.page.wide {
					methods = orText(strings.Join(r.Methods, ","), "-")
				}
				missing := strings.Join(r.Missing, ", ")
				if len(r.Missing) > 3 && !a.page.wide {
					missing = plural(len(r.Missing), "method")
				}
				cells = append(cells, []string{clean(r.Service), r.State, since, orText(r.Instance, "-"), fmt.Sprint(r.Open), fmt.Sprint(r.Waiting), clean(orText(r.LastError, "none")), methods,
					orText(missing, "-")})
			}
			return a.table(cols, cells)
		})
	}}
	cmd.Flags().StringSliceVar(&wait, "wait", nil, "until the agent is there, and these services are ready; with --timeout not for ever")
	return cmd
}

// ready says whether services are. One that the catalog does not name never will be: then there is nothing to wait for.
func ready(rep diag.Reply, names []string) bool {
	rows := servicesOf(rep)
	return !slices.ContainsFunc(names, func(name string) bool { return rows[name] == "absent" })
}

func unknownService(rep diag.Reply, names []string) error {
	rows := servicesOf(rep)
	for _, name := range names {
		if rows[name] == "" {
			return diag.NewProblem(diag.CodeUnknownTarget, "the catalog names no service "+name, "deviceagentctl executors")
		}
	}
	return nil
}

// servicesOf gives the state of each service. Of a document that cannot be read it gives none, and whoever shows it says so.
func servicesOf(rep diag.Reply) map[string]string {
	var rows []diag.ServiceStatus
	_ = json.Unmarshal(rep.Data, &rows)
	out := map[string]string{}
	for _, r := range rows {
		out[r.Service] = r.State
	}
	return out
}

func (a *app) configCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Settings of the agent", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return usage("config show") }}
	cmd.AddCommand(&cobra.Command{Use: "show", Short: "What is in force, and where each value came from", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		rep, err := a.client.Get(cmd.Context(), "/config", nil)
		if err != nil {
			return err
		}
		return emit(a, rep, func(rows []diag.Setting, _ diag.AsOf) error {
			var cells [][]string
			for _, r := range rows {
				cells = append(cells, []string{r.Key, clean(orText(r.Value, `""`)), clean(orText(r.Origin, "not recorded"))})
			}
			return a.table([]column{{name: "KEY"}, {name: "VALUE"}, {name: "ORIGIN"}}, cells)
		})
	}})
	return cmd
}

// versions is what version prints: the tool's own, and the agent's if it can be asked.
type versions struct {
	Tool    string                `json:"deviceagentctl"`
	Agent   *diag.VersionDocument `json:"agent"`
	Problem *diag.Problem         `json:"problem"`
}
