package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

// versionCmd works without an agent, too: that is when it is asked for.
func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Version of this tool and of the agent", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		v := versions{Tool: version}
		rep, err := a.client.Get(cmd.Context(), "/version", nil)
		if err == nil {
			v.Agent = &diag.VersionDocument{}
			err = json.Unmarshal(rep.Data, v.Agent)
		}
		if err != nil {
			v.Agent = nil
			v.Problem, _ = errors.AsType[*diag.Problem](err)
		}
		if rep.Data, err = json.Marshal(v); err != nil {
			return err
		}
		return emit(a, rep, func(v versions, _ diag.AsOf) error {
			a.page.line("deviceagentctl  %s", v.Tool)
			if v.Agent == nil {
				a.page.line("deviceagentd    not known: %s", tongue(a.lang).title(v.Problem))
				return nil
			}
			a.page.line("deviceagentd    %s   API %s   contract %s   device %s", clean(versionOf(v.Agent.Version, v.Agent.Commit)), v.Agent.API, clean(v.Agent.Contract), clean(v.Agent.DeviceID))
			return nil
		})
	}}
}
