package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/turn"
)

// said is what one turn on the command line comes to. Nothing of it is sent.
type said struct {
	Text     string         `json:"recognized_text"`
	Locale   string         `json:"locale"`
	Now      time.Time      `json:"now"`
	Decision turn.Decision  `json:"decision"`
	Requests []wire.Request `json:"device_task_requests"`
	Refused  string         `json:"compile_error,omitempty"` // why no plan could be made of the steps
}

// turnSettings are the flags of the command.
type turnSettings struct {
	output, locale, catalog, now, around, homeTZ string
	without                                      []string
	model                                        modelSettings
}

// turnCommand plans one sentence and says why.
func turnCommand(stdout io.Writer) *cobra.Command {
	var s turnSettings
	cmd := &cobra.Command{
		Use:   `turn "SENTENCE"`,
		Short: "Plan one sentence, Korean or English, and say why; nothing is sent",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || strings.TrimSpace(args[0]) == "" {
				return errors.Join(fmt.Errorf("%d sentences: want one, in quotes", len(args)), errUsage)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args[0], stdout) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&s.output, "output", "o", "text", "text or json")
	f.StringVar(&s.locale, "locale", "ko-KR", "language of what the words leave open: ko-KR or en-US")
	f.StringVar(&s.now, "now", "", "when it was said, as 2026-12-24T18:30 in the zone of the home or with a zone of its own (default: now)")
	f.StringVar(&s.homeTZ, "home-tz", planner.DefaultHome, "zone of the home")
	f.StringVar(&s.around, "around", "", "file with what stands around the words, as one JSON object: voice_context, history_context, workflows, sessions, schedules, slots")
	f.StringVar(&s.catalog, "catalog", "", "folder of catalog files (default: the built-in catalog)")
	f.StringSliceVar(&s.without, "without", nil, "leave parts of the planner out, as in eval")
	s.model.flags(f)
	return cmd
}

func (s *turnSettings) run(ctx context.Context, text string, stdout io.Writer) error {
	in, err := s.input(text)
	if err != nil {
		return errors.Join(err, errUsage)
	}
	opt, err := parts(settings{catalog: s.catalog, homeTZ: s.homeTZ, model: s.model, experiences: true}, zerolog.Nop())
	if err != nil {
		return err
	}
	if len(s.without) > 0 {
		if opt.Planner, err = lessOf(opt.Planner, s.without); err != nil {
			return err
		}
	}
	out := said{Text: text, Locale: s.locale, Now: in.Now, Requests: []wire.Request{}}
	if out.Decision, err = opt.Planner.Plan(ctx, in); err != nil {
		return fmt.Errorf("cannot plan: %w", err)
	}
	if d := out.Decision; len(d.Steps) > 0 && !d.AskFollowUp {
		plan, err := opt.Compile(in, d, planner.IDs{WorkflowID: "wf", PlanID: "plan"})
		if err != nil {
			out.Refused = err.Error()
		} else {
			out.Requests = append(out.Requests, plan.Requests...)
		}
	}
	if s.output == "json" {
		return json.NewEncoder(stdout).Encode(out)
	}
	out.print(stdout)
	return nil
}

// input reads what the flags say around the sentence.
func (s *turnSettings) input(text string) (in turn.Input, err error) {
	in = turn.Input{TurnID: "turn", DeviceID: "none", Text: text, Locale: s.locale}
	if s.output != "text" && s.output != "json" {
		return in, fmt.Errorf("--output %q: want text or json", s.output)
	}
	if s.locale != "ko-KR" && s.locale != "en-US" {
		return in, fmt.Errorf("--locale %q: want ko-KR or en-US", s.locale)
	}
	zone, err := time.LoadLocation(s.homeTZ)
	if err != nil || s.homeTZ == "" || s.homeTZ == "Local" {
		return in, fmt.Errorf("--home-tz %q: want a zone such as Asia/Seoul", s.homeTZ)
	}
	if in.Now, err = momentOf(s.now, zone); err != nil {
		return in, err
	}
	if err := errors.Join(knownParts(s.without), s.model.validate()); err != nil || s.around == "" {
		return in, err
	}
	f, err := os.Open(s.around)
	if err != nil {
		return in, fmt.Errorf("--around: cannot open it: %w", err)
	}
	defer func() { _ = f.Close() }()
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in.Around); err != nil {
		return in, fmt.Errorf("--around %s: %w", s.around, err)
	}
	return in, nil
}

// momentOf reads a moment in the zone of the home; "" is now.
func momentOf(text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Now().In(zone), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--now %q: want a moment such as 2026-12-24T18:30", text)
}
