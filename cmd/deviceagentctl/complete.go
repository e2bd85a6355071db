package main

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

// completionWait bounds a question to the agent while somebody holds the tab key: a shell must not hang on a robot that does not answer.
const completionWait = 2 * time.Second

// completions says what each command completes its first argument with. The others take none, or files.
func (a *app) completions(root *cobra.Command) {
	open, all := a.ids(false), a.ids(true)
	for name, f := range map[string]cobra.CompletionFunc{
		"show": all, "why": all, "trace": all, "experience": all, "watch": open, "wait": open,
		"pause": open, "resume": open, "cancel": open, "kill": open,
		"context": a.contextKeys,
		"status":  cobra.NoFileCompletions, "ps": cobra.NoFileCompletions, "schedules": cobra.NoFileCompletions,
		"executors": cobra.NoFileCompletions, "version": cobra.NoFileCompletions, "provision": cobra.NoFileCompletions, "factory-reset": cobra.NoFileCompletions,
		"erase": cobra.NoFileCompletions, "bundle": cobra.NoFileCompletions,
	} {
		for _, cmd := range root.Commands() {
			if cmd.Name() == name {
				cmd.ValidArgsFunction = f
			}
		}
	}
	for flag, values := range map[string][]string{"output": {asText, asWide, asJSON, asJSONL}, "lang": {"en", "ko"}, "color": {"auto", "always", "never"}} {
		if err := root.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic("internal error: " + err.Error()) // a flag that is not there: ours
		}
	}
}

// ids completes ID, and ID/STEP once the slash is there, with what the agent has now. Who cannot be asked suggests nothing.
func (a *app) ids(ended bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if id, step := split(typed); id+step != typed {
			return a.steps(cmd, id), cobra.ShellCompDirectiveNoFileComp
		}
		query := url.Values{}
		if ended {
			query.Set("all", "true")
		}
		var out []cobra.Completion
		var rows []diag.Workflow
		a.ask(cmd, "/workflows", query, &rows)
		for _, w := range rows {
			out = append(out, cobra.CompletionWithDesc(w.ID, clean(w.State+": "+w.Goal)))
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) steps(cmd *cobra.Command, id string) (out []cobra.Completion) {
	var w diag.WorkflowDocument
	a.ask(cmd, workflowPath(id), nil, &w)
	for _, s := range w.Steps {
		out = append(out, cobra.CompletionWithDesc(id+"/"+s.ID, clean(s.State+": "+s.Method)))
	}
	return out
}

func (a *app) contextKeys(cmd *cobra.Command, _ []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	var rows []diag.ContextRow
	a.ask(cmd, "/context", nil, &rows)
	for _, row := range rows {
		out = append(out, cobra.Completion(row.Key))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// ask reads a document into doc, or leaves it as it is.
func (a *app) ask(cmd *cobra.Command, path string, query url.Values, doc any) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionWait)
	defer cancel()
	if rep, err := a.client.Get(ctx, path, query); err == nil {
		_ = json.Unmarshal(rep.Data, doc)
	}
}
