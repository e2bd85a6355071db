package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/model"
	"deviceagent/taskmanager/core/catalog"
)

// modelSettings are the flags about a language model. Without a provider there is none, and nothing else of it may be set.
type modelSettings struct {
	conf    model.Config
	keyFile string
	decides bool                   // also questions of devices
	set     func(flag string) bool // nil: nothing was set
}

const noModel = "none"

func (m *modelSettings) flags(f *pflag.FlagSet) {
	f.StringVar(&m.conf.Provider, "model-provider", noModel, "language model that helps to plan: none, gemini, or openai (any server of this protocol: llama.cpp, vLLM, Ollama, hosted)")
	f.StringVar(&m.conf.URL, "model-url", "", "base URL of its server, such as http://127.0.0.1:8080/v1; there is no default")
	f.StringVar(&m.conf.Model, "model-name", "", "name of the model there")
	f.StringVar(&m.keyFile, "model-key-file", "", "file with the key for it, for its owner alone")
	f.StringVar(&m.conf.Use, "model-use", model.Unclear, "unclear (asked only where the rules are not certain) or always")
	f.DurationVar(&m.conf.Deadline, "model-deadline", 8*time.Second, "for all that is asked of it in one turn, up to 18s; after that the rules decide")
	f.IntVar(&m.conf.PromptTokens, "model-prompt-tokens", 12_000, "most tokens of one prompt, as estimated here")
	f.IntVar(&m.conf.OutputTokens, "model-output-tokens", 2_000, "most tokens of one answer; 0: the server is not told")
	f.Float64Var(&m.conf.Temperature, "model-temperature", 0, "temperature; negative: the server is not told")
	f.BoolVar(&m.decides, "model-decisions", true, "ask it also what the table of decisions leaves open, when a device asks")
	f.BoolVar(&m.conf.Selector, "model-selector", false, "ask it before the main question which flow to look at first: at most one call more a turn")
	f.BoolVar(&m.conf.Typer, "model-typer", false, "ask it what a reply would be about, where the rules are not sure: at most one call more a turn")
	f.BoolVar(&m.conf.Judge, "model-judge", false, "ask it whether a reply can begin at once, where the rules are not sure: at most one call more a turn")
	m.set = f.Changed
}

func (m *modelSettings) none() bool { return m.conf.Provider == "" || m.conf.Provider == noModel }

// validate names all faults by their flags. The key is not read yet.
func (m *modelSettings) validate() error {
	if m.none() {
		for _, flag := range []string{"url", "name", "key-file", "use", "deadline", "prompt-tokens", "output-tokens", "temperature", "decisions", "selector", "typer", "judge"} {
			if m.set != nil && m.set("model-"+flag) {
				return fmt.Errorf("--model-%s needs --model-provider gemini or openai", flag)
			}
		}
		return nil
	}
	conf := m.conf
	if m.keyFile != "" {
		conf.Key = "(in a file)"
	}
	return flagged(conf.Validate())
}

// flagged writes the fields of faults as flags.
func flagged(err error) error {
	if err == nil {
		return nil
	}
	return errors.New("--model-" + strings.ReplaceAll(err.Error(), "\n", "\n--model-"))
}

// attach puts the model before the rules, and behind the table of decisions; none: nothing changes.
func (m *modelSettings) attach(opt *planner.Options, byRules model.Rules, cat *catalog.Catalog, words catalogfile.Planner, log zerolog.Logger) error {
	if m.none() {
		return nil
	}
	key, err := secret(m.keyFile)
	if err != nil {
		return err
	}
	conf := m.conf
	conf.Key = model.Secret(key)
	p, err := model.New(model.Options{Config: conf, Rules: byRules, Catalog: cat, Words: words, Log: log.With().Str("component", "model").Logger()})
	if err != nil {
		return err
	}
	opt.Planner = p
	if m.decides {
		opt.Decide = planner.DecideWhereClear
		opt.Consult = func(ctx context.Context, q planner.Asked) (wire.Decision, bool) {
			return p.Decide(ctx, model.Question{Escalation: q.Escalation, StepID: q.StepID, Before: q.Before, Choices: q.Choices()}), true
		}
	}
	return nil
}
