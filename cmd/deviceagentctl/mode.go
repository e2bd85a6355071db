package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
)

func (a *app) modeCmd() *cobra.Command {
	var reason string
	cmd := &cobra.Command{Use: "mode [automatic|manual|service]", Short: "Who has the robot; manual and service cancel open plans and refuse new ones", Args: cobra.MaximumNArgs(1),
		ValidArgs: []string{string(core.ModeAutomatic), string(core.ModeManual), string(core.ModeService)},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.showMode(cmd.Context())
			}
			if reason == "" {
				return usage("--reason is required: people will ask who has the robot, and why")
			}
			return a.setMode(cmd.Context(), args[0], reason)
		}}
	cmd.Flags().StringVar(&reason, "reason", "", "why (required to change it)")
	return cmd
}

func (a *app) showMode(ctx context.Context) error {
	rep, err := a.client.Get(ctx, "/status", nil)
	if err != nil {
		return err
	}
	return emit(a, rep, func(s diag.StatusDocument, _ diag.AsOf) error {
		a.page.line("mode        %s", s.Mode)
		for i, h := range s.Holders {
			a.page.line("%-11s %s", headOnce("holders", i), holderLine(h))
		}
		for _, c := range s.Modes {
			a.page.line("%4d  %s  %s  by %s: %s", c.N, a.page.dayTime(c.At), c.Mode, clean(orText(c.By, "not recorded")), clean(orText(c.Why, "no reason given")))
		}
		return nil
	})
}

func (a *app) setMode(ctx context.Context, mode, reason string) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(struct {
		Mode   string `json:"mode"`
		Reason string `json:"reason"`
	}{mode, reason}); err != nil {
		return err
	}
	rep, err := a.client.Post(ctx, "/mode", nil, body.Bytes())
	if err != nil {
		return err
	}
	return emit(a, rep, func(ans diag.Answer, _ diag.AsOf) error {
		l := tongue(a.lang)
		a.page.line("%s", l.say("mode.is", ans.State))
		if len(ans.Stopping) > 0 {
			a.page.line("%s", l.say("cancel.stopping", strings.Join(ans.Stopping, ", ")))
		}
		return nil
	})
}
