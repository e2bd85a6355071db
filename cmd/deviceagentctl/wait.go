package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

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
