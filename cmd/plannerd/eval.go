package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/eval"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/turn"
)

// subject is what eval measures: the planner and the compiler as they serve.
type subject struct{ opt planner.Options }

func (s subject) Plan(ctx context.Context, in turn.Input) (turn.Decision, error) {
	return s.opt.Planner.Plan(ctx, in)
}

// Pair is the planner as it serves, and the same one without admission.
func (s subject) Pair() eval.Pair {
	plain := s
	if p, ok := s.opt.Planner.(*pipeline.Planner); ok {
		plain.opt.Planner = p.Without(pipeline.Experience)
	}
	return eval.Pair{With: s, Without: plain}
}

// Compile compiles a decision and checks the plan as the device will.
func (s subject) Compile(in turn.Input, d turn.Decision) error {
	plan, err := s.opt.Compile(in, d, planner.IDs{WorkflowID: in.TurnID + ".wf", PlanID: in.TurnID + ".plan"})
	if err != nil {
		return err
	}
	if faults := s.opt.Check(*plan, nil); len(faults) > 0 {
		return fmt.Errorf("the plan has faults: %v", faults)
	}
	return nil
}

// toolChooser is a planner that also chooses from a registry of tools.
type toolChooser interface {
	ChooseTool([]turn.Tool, []turn.Message) turn.Choice
}

// subjectOf keeps what the planner can do beside planning.
func subjectOf(opt planner.Options) eval.Planner {
	if chooser, ok := opt.Planner.(toolChooser); ok {
		return struct {
			subject
			toolChooser
		}{subject{opt}, chooser}
	}
	return subject{opt}
}

// evalCommand measures the planner on a file of labelled utterances. Nothing is sent anywhere.
func evalCommand(stdout io.Writer) *cobra.Command {
	var output, catalog string
	var wrong, interference bool
	var rounds int
	var without []string
	var model modelSettings
	cmd := &cobra.Command{
		Use:   "eval FILE",
		Short: "Measure the planner on labelled utterances, one JSON object a line",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(cmd, args); err != nil {
				return errors.Join(err, errUsage)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return errors.Join(fmt.Errorf("--output %q: want text or json", output), errUsage)
			}
			if err := errors.Join(model.validate(), knownParts(without)); err != nil {
				return errors.Join(err, errUsage)
			}
			opt, err := parts(settings{catalog: catalog, model: model, experiences: true}, zerolog.Nop())
			if err != nil {
				return err
			}
			f, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("cannot open rows: %w", err)
			}
			defer func() { _ = f.Close() }()
			rows, kind, err := eval.Read(f)
			if err != nil {
				return fmt.Errorf("cannot use %s: %w", args[0], err)
			}
			if interference {
				report, err := eval.MeasureInterference(cmd.Context(), subject{opt}.Pair(), rows, rounds)
				return errors.Join(err, tell(stdout, report, output, wrong))
			}
			whole := subjectOf(opt)
			if len(without) > 0 {
				if opt.Planner, err = lessOf(opt.Planner, without); err != nil {
					return err
				}
			}
			report, err := eval.Measure(cmd.Context(), subjectOf(opt), rows, kind)
			if err != nil {
				return err
			}
			if len(without) > 0 && kind == eval.Families {
				report, err = beside(cmd.Context(), whole, subjectOf(opt), rows, without, report)
				if err != nil {
					return err
				}
			}
			return tell(stdout, report, output, wrong)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().BoolVar(&wrong, "wrong", false, "print each row that was decided otherwise than labelled")
	cmd.Flags().BoolVar(&interference, "interference", false, "plan each row with and without experiences, and print what that changes and costs")
	cmd.Flags().IntVar(&rounds, "rounds", 0, "with --interference: how often each turn is timed on either side; 0: 31, and once where a model is asked")
	cmd.Flags().StringSliceVar(&without, "without", nil, "leave parts out, by comma, to see what they are worth: "+strings.Join(pipeline.Parts, ", "))
	cmd.Flags().StringVar(&catalog, "catalog", "", "folder of catalog files (default: the built-in catalog)")
	model.flags(cmd.Flags())
	return cmd
}

func tell(stdout io.Writer, report eval.Report, output string, wrong bool) error {
	if output == "json" {
		return json.NewEncoder(stdout).Encode(report)
	}
	report.Print(stdout, wrong)
	return nil
}

// knownParts says whether all parts are ones that can be left out.
func knownParts(parts []string) error {
	for _, part := range parts {
		if !slices.Contains(pipeline.Parts, part) {
			return fmt.Errorf("--without %q: want some of %s", part, strings.Join(pipeline.Parts, ", "))
		}
	}
	return nil
}

// lessOf is the planner without some parts.
func lessOf(p planner.Planner, parts []string) (planner.Planner, error) {
	whole, ok := p.(*pipeline.Planner)
	if !ok {
		return nil, fmt.Errorf("internal error: %T has no parts", p)
	}
	return whole.Without(parts...), nil
}

// ablation is a report with what leaving out parts has changed.
type ablation struct {
	eval.FamilyReport
	Difference eval.Difference `json:"difference"`
}

// Print writes both for people.
func (a ablation) Print(w io.Writer, wrong bool) {
	a.Difference.Print(w)
	a.FamilyReport.Print(w, wrong)
}

func beside(ctx context.Context, whole, less eval.Planner, rows []eval.Row, without []string, report eval.Report) (eval.Report, error) {
	families, ok := report.(eval.FamilyReport)
	if !ok {
		return report, nil
	}
	d, err := eval.Compare(ctx, whole, less, rows, without)
	return ablation{families, d}, err
}
