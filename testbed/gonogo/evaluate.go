package gonogo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/eval"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/scenario"
)

// Providers are the capabilities that people can ask for, and the skills.
func Providers(cat *catalog.Catalog) (out []string) {
	for _, op := range cat.Operations {
		if op.Visibility == "" || op.Visibility == "public" {
			out = append(out, op.Capability)
		}
	}
	for id := range cat.Skills {
		out = append(out, string(id))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Involves says whether a scenario expects something of the provider: a call of one of its operations, or an effect of its skill.
func (e *Evidence) Involves(s *scenario.Scenario) bool {
	cat, provider := e.Catalog, e.Provider
	if provider == All {
		return true
	}
	return slices.ContainsFunc(s.Expect, func(l scenario.Line) bool {
		switch words := strings.Fields(l.Text); {
		case l.Kind == "dispatch" && len(words) > 0:
			return cat.Operations[catalog.Method(words[0])].Capability == provider
		case l.Kind == "effect" && len(words) > 1:
			return slices.Contains(cat.Skills[catalog.SkillID(provider)].Effects, catalog.EffectID(words[1]))
		}
		return false
	})
}

// planning is the rules planner as it serves, with and without experiences.
type planning struct {
	cat     *catalog.Catalog
	planner *pipeline.Planner
}

func (p planning) Plan(ctx context.Context, in turn.Input) (turn.Decision, error) {
	return p.planner.Plan(ctx, in)
}

func (p planning) Compile(in turn.Input, d turn.Decision) error {
	_, err := compile.Plan(p.cat, in, d, compile.IDs{WorkflowID: "wf", PlanID: "pl"})
	return err
}

// Evaluate measures the planner: admission on rows with that label, what it changes on rows with a family (empty: those same rows), and
// the plans of both sides of all of them.
// Errors: a file that is none of such rows, and those of the planner.
func (e *Evidence) Evaluate(ctx context.Context, admission io.Reader, families []io.Reader) error {
	rows, err := rowsOf(admission, eval.Admissions)
	if err != nil {
		return err
	}
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		return err
	}
	with := pipeline.New(rules.New(cat, words), cat, words)
	pair := eval.Pair{With: planning{cat, with}, Without: planning{cat, with.Without(pipeline.Experience)}}
	if e.Admission, err = eval.MeasureAdmission(ctx, pair, rows); err != nil {
		return err
	}
	for _, row := range rows {
		if row.Family == string(turn.DEF) && !*row.Admitted {
			e.Talk = append(e.Talk, row.ID)
		}
	}
	e.Families = []eval.Interference{e.Admission.Interference}
	if len(families) > 0 {
		e.Families = nil
	}
	for _, from := range families {
		more, err := rowsOf(from, eval.Families)
		if err != nil {
			return err
		}
		measured, err := eval.MeasureInterference(ctx, pair, more, 1)
		if err != nil {
			return err
		}
		e.Families = append(e.Families, measured)
		rows = append(rows, more...)
	}
	for _, row := range rows {
		in := turn.Input{TurnID: row.ID, Text: row.Text, Around: turn.Around{Tier: "full"}}
		if err := comparePlans(ctx, pair, in, cat, &e.Plans); err != nil {
			return err
		}
	}
	return nil
}

func rowsOf(from io.Reader, want eval.Kind) ([]eval.Row, error) {
	rows, kind, err := eval.Read(from)
	if err == nil && kind != want {
		err = fmt.Errorf("they are about %s", kind)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use these rows for %s: %w", want, err)
	}
	return rows, nil
}

// comparePlans holds the plan of a sentence with experiences against that without, and its goal against its steps.
func comparePlans(ctx context.Context, pair eval.Pair, in turn.Input, cat *catalog.Catalog, out *Rollback) error {
	var plans [2]*wire.Plan
	for i, p := range []eval.Planner{pair.With, pair.Without} {
		d, err := p.Plan(ctx, in)
		if err != nil {
			return err
		}
		if d.Experience != nil && d.Experience.DispatchAllowed {
			out.Dispatch = append(out.Dispatch, in.TurnID)
		}
		if len(d.Steps) == 0 {
			continue
		}
		plan, err := compile.Plan(cat, in, d, compile.IDs{WorkflowID: "wf", PlanID: "pl"})
		if err != nil {
			continue // it is not sent
		}
		plans[i] = &plan
	}
	if plans[0] == nil && plans[1] == nil {
		return nil
	}
	out.Compared++
	if plans[0] == nil || plans[1] == nil || plans[1].Experience != nil {
		out.Different = append(out.Different, in.TurnID)
		return nil
	}
	if goal := plans[0].Experience; goal != nil {
		for _, effect := range goal.Effects {
			out.Effects++
			if !slices.ContainsFunc(plans[0].Requests, func(r wire.Request) bool { return r.CloudStepID == effect.StepID }) {
				out.Loose = append(out.Loose, in.TurnID+" "+effect.EffectID)
			}
		}
	}
	bare := *plans[0]
	bare.Experience = nil
	a, aerr := json.Marshal(bare)
	b, berr := json.Marshal(plans[1])
	if !bytes.Equal(a, b) {
		out.Different = append(out.Different, in.TurnID)
	}
	return errors.Join(aerr, berr)
}
