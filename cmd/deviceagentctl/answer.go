package main

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

func (a *app) answerCmd() *cobra.Command {
	return &cobra.Command{Use: "answer QUESTION OPTION", Short: "Answer a question to the user for the person who is asked; the first answer counts", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.answer(cmd.Context(), args[0], args[1]) }}
}

func (a *app) answer(ctx context.Context, question, option string) error {
	body, err := json.Marshal(map[string]string{"option": option})
	if err != nil {
		return err
	}
	rep, err := a.client.Post(ctx, "/questions/"+url.PathEscape(question)+"/answer", nil, body)
	if err != nil {
		return err
	}
	return emit(a, rep, func(ans diag.Answer, _ diag.AsOf) error {
		a.page.line("%s", tongue(a.lang).say("answered", question, option, orText(ans.Workflow, "not reported")))
		return nil
	})
}
