package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

func (a *app) eraseCmd() *cobra.Command {
	var yes, person bool
	var reason string
	cmd := &cobra.Command{Use: "erase", Short: "Remove what is kept of people: what they said, and what was measured", Args: cobra.NoArgs,
		Long: "Remove what is kept of people in work that has ended: what they said, what was measured, what was done when. Answers stay\n" +
			"answered and cancelled stays cancelled. Work and schedules that are open keep what they need: cancel them first.",
		Example: "  deviceagentctl erase --person-data --reason 'the owner asked for it'",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.erase(cmd.Context(), person, yes, reason) }}
	f := cmd.Flags()
	f.BoolVar(&person, "person-data", false, "what to erase (needed: there is nothing else yet)")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask (needed where nobody can be asked)")
	f.StringVar(&reason, "reason", "", "why; it goes into the log")
	return cmd
}

func (a *app) erase(ctx context.Context, person, yes bool, reason string) error {
	if !person {
		return usage("say what to erase: --person-data")
	}
	rep, err := a.client.Get(ctx, "/status", nil)
	if err != nil {
		return err
	}
	var s diag.StatusDocument
	if err := json.Unmarshal(rep.Data, &s); err != nil {
		return err
	}
	if !yes && !a.consented("erase.ask", s.DeviceID) {
		return diag.NewProblem(diag.CodeNotConfirmed, "", "--yes")
	}
	body, err := json.Marshal(map[string]string{"device_id": s.DeviceID, "what": "person_data", "reason": reason})
	if err != nil {
		return err
	}
	if rep, err = a.client.Post(ctx, "/erase", nil, body); err != nil {
		return err
	}
	l := tongue(a.lang)
	return emit(a, rep, func(e diag.Erasure, _ diag.AsOf) error {
		a.page.line("%s", l.say("erase.done", e.Workflows, e.JournalRows))
		if open := append(append([]string{}, e.Open...), e.Schedules...); len(open) > 0 {
			a.note("%s", l.say("erase.left", clean(strings.Join(open, ", "))))
		}
		return nil
	})
}
