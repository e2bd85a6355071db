package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

// parts makes what the endpoint is given: the catalog, the rules planner over it, the model before that if there is one, and the secrets.
func parts(s settings, log zerolog.Logger) (planner.Options, error) {
	var files fs.FS = defaults.Files
	if s.catalog != "" {
		files = os.DirFS(s.catalog)
	}
	cat, words, err := catalogfile.Load(files)
	if err != nil {
		return planner.Options{}, fmt.Errorf("cannot use catalog: %w", err)
	}
	token, err := secret(s.tokenFile)
	if err != nil {
		return planner.Options{}, err
	}
	password, err := secret(s.brokerPass)
	if err != nil {
		return planner.Options{}, err
	}
	key, err := signing(s.signingKey)
	if err != nil {
		return planner.Options{}, err
	}
	if err := errors.Join(private(s.brokerKey), private(s.http.Key)); err != nil {
		return planner.Options{}, err
	}
	home, err := time.LoadLocation(cmp.Or(s.homeTZ, planner.DefaultHome))
	if err != nil {
		return planner.Options{}, fmt.Errorf("cannot use zone of the home: %w", err)
	}
	byRules := rules.New(cat, words)
	opt := planner.Options{
		Home: home, Signing: key, TLS: s.http,
		Planner: byRules, Compile: compiler(cat), Check: checker(cat),
		Username: s.brokerUser, Password: planner.Secret(password), Token: planner.Secret(token),
	}
	if err := s.model.attach(&opt, byRules, cat, words, log); err != nil {
		return planner.Options{}, err
	}
	src, err := s.agents.sources()
	if err != nil {
		return planner.Options{}, err
	}
	own, err := agents.New(src)
	if err != nil {
		return planner.Options{}, fmt.Errorf("cannot use sources of information: %w", err)
	}
	opt.Agents = own
	p := pipeline.New(opt.Planner, cat, words)
	if !s.experiences {
		p = p.Without(pipeline.Experience)
	}
	opt.Planner = p
	return opt, nil
}

// checker checks plans as the device will, with the rooms that it reported.
func checker(cat *catalog.Catalog) func(wire.Plan, []wire.Room) []wire.Fault {
	return func(plan wire.Plan, rooms []wire.Room) []wire.Fault {
		_, faults := bridge.CheckPlan(compile.Home(cat, rooms), &plan)
		var out []wire.Fault
		for _, f := range faults {
			out = append(out, wire.Fault{Path: f.Path, ReasonCode: string(f.Reason), Message: f.Message})
		}
		return out
	}
}
