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

func (a *app) readPlan(name string) ([]byte, error) {
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
	plan, err := a.readPlan(name)
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

func (a *app) cancelCmd() *cobra.Command {
	var reason string
	var all, yes, exact bool
	cmd := &cobra.Command{Use: "cancel ID[/STEP]", Short: "Stop a plan, one of its steps, or everything (--all)", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case reason == "":
				return usage("--reason is required: it is kept with the plan")
			case all != (len(args) == 0):
				return usage("cancel takes an ID, or --all")
			case all:
				return a.cancel(cmd.Context(), "/cancel", "", reason)
			}
			id, step := split(args[0])
			if !exact {
				_, w, err := a.workflow(cmd.Context(), id)
				if err != nil {
					return err
				}
				id = w.ID
				if w.Moving && !yes && !a.agreed(id) {
					return diag.NewProblem(diag.CodeNotConfirmed, "", "--yes")
				}
			}
			return a.cancel(cmd.Context(), workflowPath(id)+"/cancel", step, reason)
		}}
	f := cmd.Flags()
	f.StringVar(&reason, "reason", "", "why (required)")
	f.BoolVar(&all, "all", false, "everything, and every plan that was sent before now")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask, also while the robot moves")
	f.BoolVar(&exact, "exact", false, "take the ID as it is, also of a plan that has not arrived: it will be refused")
	return cmd
}

// agreed asks a person at a terminal. A script is not asked: what stops the robot should not wait for anybody.
func (a *app) agreed(id string) bool {
	if a.output == asJSON || !isTTY(a.stdin) {
		return true
	}
	_, _ = fmt.Fprint(a.stderr, tongue(a.lang).say("cancel.ask", id))
	line, _ := bufio.NewReader(a.stdin).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(line), "y")
}

func (a *app) cancel(ctx context.Context, path, step, reason string) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(struct {
		Reason string `json:"reason"`
		Step   string `json:"step,omitempty"`
	}{reason, step}); err != nil {
		return err
	}
	rep, err := a.client.Post(ctx, path, nil, body.Bytes())
	if err != nil {
		return err
	}
	return emit(a, rep, func(ans diag.Answer, _ diag.AsOf) error {
		l := tongue(a.lang)
		if ans.Workflow == "" {
			a.page.line("%s", l.say("cancel.all"))
		} else {
			a.page.line("%s", l.say("cancel.accepted", strings.TrimSuffix(ans.Workflow+"/"+step, "/"), ans.State))
		}
		if len(ans.Stopping) > 0 {
			a.page.line("%s", l.say("cancel.stopping", strings.Join(ans.Stopping, ", ")))
		}
		return nil
	})
}
