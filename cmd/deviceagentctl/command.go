package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

func (a *app) submitCmd() *cobra.Command {
	var dry, wait bool
	cmd := &cobra.Command{Use: "submit FILE|-", Short: "Hand in a plan on this robot; says that it is accepted, not that it is done", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dry && wait {
				return usage("--dry-run starts nothing, so there is nothing to --wait for")
			}
			return a.submit(cmd.Context(), args[0], dry, wait)
		}}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "check it against contract and catalog, start nothing")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for its end; exit 3 unless it completed")
	return cmd
}

// maxFile is the contract's limit of a message.
const maxFile = 256 << 10

// readJSON reads one JSON value from a file, or from standard input ("-").
func (a *app) readJSON(name string) ([]byte, error) {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, diag.NewProblem(diag.CodeInvalidFile, err.Error(), "")
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, diag.NewProblem(diag.CodeInvalidFile, err.Error(), "")
	case len(data) > maxFile:
		return nil, diag.NewProblem(diag.CodeInvalidFile, fmt.Sprintf("%s is larger than %d KiB", name, maxFile>>10), "")
	}
	if at, err := syntax(data); err != nil {
		return nil, diag.NewProblem(diag.CodeInvalidFile, fmt.Sprintf("%s:%d: %v", name, lineOf(data, at), err), "")
	}
	return data, nil
}

func (a *app) submit(ctx context.Context, name string, dry, wait bool) error {
	plan, err := a.readJSON(name)
	if err != nil {
		return err
	}
	query := url.Values{}
	if dry {
		query.Set("dry_run", "true")
	}
	rep, err := a.client.Post(ctx, "/plans", query, plan)
	if err != nil {
		return located(err, name, plan)
	}
	if wait {
		return a.submitAndWait(ctx, rep)
	}
	return emit(a, rep, func(ans diag.Answer, _ diag.AsOf) error {
		l := tongue(a.lang)
		if dry {
			a.page.line("%s", l.say("valid", name, stepsIn(plan)))
			return nil
		}
		a.page.line("%s", l.say("accepted", ans.Workflow, orText(ans.State, "state not reported")))
		a.note("deviceagentctl watch %s · cancel %s --reason …", ans.Workflow, ans.Workflow)
		return nil
	})
}

func stepsIn(plan []byte) int {
	var p struct {
		Steps []json.RawMessage `json:"device_task_requests"`
	}
	_ = json.Unmarshal(plan, &p)
	return len(p.Steps)
}

func (a *app) submitAndWait(ctx context.Context, rep diag.Reply) error {
	var ans diag.Answer
	if err := json.Unmarshal(rep.Data, &ans); err != nil {
		return err
	}
	a.note("%s", tongue(a.lang).say("accepted", ans.Workflow, orText(ans.State, "state not reported")))
	v := &viewer{a: a, doc: diag.WorkflowDocument{Workflow: diag.Workflow{ID: ans.Workflow}}}
	err := a.client.Follow(ctx, ans.Workflow, -1, func(ev diag.StreamEvent) error {
		if ev.End != nil {
			v.end = *ev.End
		}
		return nil
	})
	if err != nil {
		if err == error(errInterrupted) {
			a.note("%s", tongue(a.lang).say("watch.stopped", ans.Workflow))
		}
		return err
	}
	return a.finish(ctx, v)
}

// wishCmd makes a command that asks something of a plan, of one of its steps, or of everything.
func (a *app) wishCmd(verb, short string) *cobra.Command {
	var w wish
	var all, yes, exact bool
	cmd := &cobra.Command{Use: verb + " ID[/STEP]", Short: short, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case w.Reason == "":
				return usage("--reason is required: it is kept with the plan")
			case all != (len(args) == 0):
				return usage("%s takes an ID, or --all", verb)
			case all:
				return a.wish(cmd.Context(), verb, "/"+verb, w)
			}
			id, step := split(args[0])
			w.Step = step
			if !exact {
				_, wf, err := a.workflow(cmd.Context(), id)
				if err != nil {
					return err
				}
				id = wf.ID
				if ends(verb) && wf.Moving && !yes && !a.agreed(id) {
					return diag.NewProblem(diag.CodeNotConfirmed, "", "--yes")
				}
			}
			return a.wish(cmd.Context(), verb, workflowPath(id)+"/"+verb, w)
		}}
	f := cmd.Flags()
	f.StringVar(&w.Reason, "reason", "", "why (required)")
	f.BoolVar(&exact, "exact", false, "take the ID as it is, also of a plan that has not arrived: a cancel then refuses it")
	switch verb {
	case "resume":
		f.BoolVar(&all, "all", false, "release holds of everything; those of single plans stay")
		f.StringVar(&w.Holder, "holder", "", "whose hold to release: pui, voice, app, operator, safety, battery, policy, cloud (default: an operator's own, and what waits to be asked)")
	case "pause":
		f.BoolVar(&all, "all", false, "hold everything, also what comes later")
	default:
		f.BoolVar(&all, "all", false, "everything, and every plan that was sent before now")
		f.BoolVarP(&yes, "yes", "y", false, "do not ask, also while the robot moves")
	}
	return cmd
}

// ends says whether a wish takes a plan's work away for good: then a person is asked while the robot moves.
func ends(verb string) bool { return verb == "cancel" || verb == "kill" }

// agreed asks a person at a terminal. A script is not asked: what stops the robot should not wait for anybody.
func (a *app) agreed(id string) bool {
	if a.output == asJSON || !isTTY(a.stdin) {
		return true
	}
	_, _ = fmt.Fprint(a.stderr, tongue(a.lang).say("cancel.ask", id))
	line, _ := bufio.NewReader(a.stdin).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(line), "y")
}

// wish is what is posted with a cancel, kill, pause or resume.
type wish struct {
	Reason string `json:"reason"`
	Step   string `json:"step,omitempty"`
	Holder string `json:"holder,omitempty"`
}

func (a *app) wish(ctx context.Context, verb, path string, w wish) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(w); err != nil {
		return err
	}
	rep, err := a.client.Post(ctx, path, nil, body.Bytes())
	if err != nil {
		return err
	}
	return emit(a, rep, func(ans diag.Answer, _ diag.AsOf) error {
		l := tongue(a.lang)
		if ans.Workflow == "" {
			a.page.line("%s", l.say(verb+".all"))
		} else {
			a.page.line("%s", l.say(verb+".accepted", strings.TrimSuffix(ans.Workflow+"/"+w.Step, "/"), ans.State))
		}
		if len(ans.Stopping) > 0 {
			a.page.line("%s", l.say("cancel.stopping", strings.Join(ans.Stopping, ", ")))
		}
		for _, s := range ans.Steps {
			a.page.line("  %s", clean(s))
		}
		if len(ans.Holders) > 0 {
			a.page.line("%s", l.say("held.by", clean(strings.Join(ans.Holders, ", "))))
		} else if verb == "resume" {
			a.page.line("%s", l.say("held.none"))
		}
		return nil
	})
}
