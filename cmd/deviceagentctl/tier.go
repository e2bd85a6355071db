package main

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

func (a *app) tierCmd() *cobra.Command {
	var reason string
	cmd := &cobra.Command{Use: "tier [shadow|content_only|restricted|full|off]", Short: "What plans with an experience may do at most, up to the setting; off: no experience is evaluated", Args: cobra.MaximumNArgs(1),
		ValidArgs: []string{"shadow", "content_only", "restricted", "full", "off"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.showTier(cmd.Context())
			}
			if reason == "" {
				return usage("--reason is required: people will ask who has set it, and why")
			}
			return a.setTier(cmd.Context(), args[0], reason)
		}}
	cmd.Flags().StringVar(&reason, "reason", "", "why (required to change it)")
	return cmd
}

func (a *app) showTier(ctx context.Context) error {
	rep, err := a.client.Get(ctx, "/status", nil)
	if err != nil {
		return err
	}
	return emit(a, rep, func(s diag.StatusDocument, _ diag.AsOf) error {
		a.page.line("%s", tongue(a.lang).say("tier.is", s.Tier))
		return nil
	})
}

func (a *app) setTier(ctx context.Context, tier, reason string) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(map[string]string{"tier": tier, "reason": reason}); err != nil {
		return err
	}
	rep, err := a.client.Post(ctx, "/tier", nil, body.Bytes())
	if err != nil {
		return err
	}
	return emit(a, rep, func(diag.Answer, diag.AsOf) error {
		a.page.line("%s", tongue(a.lang).say("tier.is", tier))
		return nil
	})
}
