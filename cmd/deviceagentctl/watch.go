package main

import (
	"context"
	"encoding/json"
	"errors"

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
