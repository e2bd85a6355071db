package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
	"deviceagent/agent/durable"
	"deviceagent/agent/identity"
	"deviceagent/agent/reset"
)

func (a *app) factoryResetCmd() *cobra.Command {
	var yes bool
	var reason, dir string
	cmd := &cobra.Command{Use: "factory-reset", Short: "Remove all work, utterances, preferences and keys; the device keeps its id", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.factoryReset(cmd.Context(), dir, reason, yes) }}
	f := cmd.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "do not ask (needed where nobody can be asked)")
	f.StringVar(&reason, "reason", "", "why; it goes into the log")
	f.StringVar(&dir, "state-dir", a.env("DEVICEAGENT_STATE_DIR"), stateDirUsage)
	return cmd
}

// wiped is what the command tells.
type wiped struct {
	DeviceID string   `json:"device_id"`
	Done     bool     `json:"done"`              // false: the agent does it when it starts
	Removed  []string `json:"removed,omitempty"` // names in state_dir
	Left     []string `json:"left,omitempty"`    // what the agent does not know
}

// factoryReset works on the files where no agent uses them and they are ours to change, else it asks the agent.
func (a *app) factoryReset(ctx context.Context, dir, reason string, yes bool) error {
	at := a.stateDir(ctx, dir)
	name := a.nameOf(ctx, at)
	if !yes && !a.consented("reset.ask", orText(name, at)) {
		return diag.NewProblem(diag.CodeNotConfirmed, "", "--yes")
	}
	w := wiped{DeviceID: name, Done: true}
	err := asOwner(at, false, func() error {
		release, err := durable.Hold(at)
		if err != nil {
			return err
		}
		defer release()
		if err := reset.Ask(at, "deviceagentctl", reason, time.Now()); err != nil {
			return err
		}
		r, err := reset.Finish(at)
		if r != nil {
			w.Removed, w.Left = r.Removed, r.Left
		}
		return err
	})
	switch {
	case errors.Is(err, errNotOwner), errors.Is(err, durable.ErrHeld), errors.Is(err, fs.ErrNotExist) && dir == "":
		return a.resetOver(ctx, reason)
	case err != nil:
		return diag.NewProblem(diag.CodeFiles, err.Error(), "the next start of the agent, or the same call, goes on with it")
	}
	return a.tellWiped(w)
}

// nameOf is the device that is meant, to be asked about; "": not known.
func (a *app) nameOf(ctx context.Context, dir string) (name string) {
	if rep, err := a.client.Get(ctx, "/status", nil); err == nil {
		var s diag.StatusDocument
		_ = json.Unmarshal(rep.Data, &s)
		return s.DeviceID
	}
	_ = asOwner(dir, false, func() error {
		if c, _, ok := inForce(dir); ok {
			name = c.DeviceID
		}
		if st, err := identity.In(dir).Look(); err == nil {
			name = orText(name, st.DeviceID)
		}
		return nil
	})
	return name
}

// consented asks a person, where one is there to be asked.
func (a *app) consented(question, what string) bool {
	if a.output == asJSON || !isTTY(a.stdin) {
		return false
	}
	_, _ = fmt.Fprint(a.stderr, tongue(a.lang).say(question, clean(what)))
	line, _ := bufio.NewReader(a.stdin).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(line), "y")
}

func (a *app) resetOver(ctx context.Context, reason string) error {
	rep, err := a.client.Get(ctx, "/status", nil)
	if err != nil {
		return err
	}
	var s diag.StatusDocument
	if err := json.Unmarshal(rep.Data, &s); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"device_id": s.DeviceID, "reason": reason})
	if err != nil {
		return err
	}
	if _, err = a.client.Post(ctx, "/factory-reset", nil, body); err != nil {
		return err
	}
	return a.tellWiped(wiped{DeviceID: s.DeviceID})
}

func (a *app) tellWiped(w wiped) error {
	raw, err := json.Marshal(w)
	if err != nil {
		return err
	}
	l := tongue(a.lang)
	return emit(a, diag.Reply{Data: raw}, func(w wiped, _ diag.AsOf) error {
		name := clean(orText(w.DeviceID, "unnamed"))
		if !w.Done {
			a.page.line("%s", l.say("reset.accepted", name))
			a.note("deviceagentctl status --wait")
			return nil
		}
		a.page.line("%s", l.say("reset.done", name, len(w.Removed)))
		if len(w.Left) > 0 {
			a.note("%s", l.say("reset.left", clean(strings.Join(w.Left, ", "))))
		}
		return nil
	})
}
