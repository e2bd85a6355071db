package matrix

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Provider is one thing of the catalog that brings something about: an operation in one of its variants, or a skill, with what proves it.
type Provider struct {
	Method  catalog.Method
	Skill   catalog.SkillID
	Variant int              // of the operation, from 1; 0: none of them
	Effect  catalog.EffectID // empty: done_evidence
	Op      catalog.Operation
}

// key names a provider: "startBasicAirClear#1 air_cleaning_active".
func (p *Provider) key() string {
	proof := string(p.Effect)
	if proof == "" {
		proof = doneEvidence
	}
	if p.Skill != "" {
		return "skill " + string(p.Skill) + " " + proof
	}
	return fmt.Sprintf("%s#%d %s", p.Method, p.Variant, proof)
}

// Providers are all providers of a catalog, and the operations that prove nothing: their end is their executor's word.
func Providers(cat *catalog.Catalog) (all []Provider, unproved []catalog.Method) {
	for _, m := range slices.Sorted(maps.Keys(cat.Operations)) {
		op, n := cat.Operations[m], len(all)
		for v := range len(op.Variants) + 1 {
			all = append(all, inVariant(op, v)...)
		}
		if len(all) == n {
			unproved = append(unproved, m)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(cat.Skills)) {
		for _, e := range cat.Skills[id].Effects {
			all = append(all, Provider{Skill: id, Effect: e})
		}
	}
	return all, unproved
}

// inVariant are the providers that an operation is in one of its variants: one an effect, or one by done_evidence.
func inVariant(op catalog.Operation, v int) (out []Provider) {
	eff, more, done := op.Effects, op.MoreEffects, op.DoneEvidence
	if v > 0 {
		variant := op.Variants[v-1]
		if variant.Effects != nil {
			eff = variant.Effects
		}
		if variant.NoEffect {
			eff, more = nil, nil
		}
		if variant.DoneEvidence != nil {
			done = variant.DoneEvidence
		}
	}
	for _, e := range slices.Concat(eff, more) {
		out = append(out, Provider{Method: op.Method, Variant: v, Effect: e})
	}
	if len(out) == 0 && done != nil {
		out = append(out, Provider{Method: op.Method, Variant: v})
	}
	return out
}

// provider is what a row is about: its arguments are checked by the catalog and choose the variant.
func (r *Row) provider(cat *catalog.Catalog) (*Provider, error) {
	if r.Skill != "" {
		return &Provider{Skill: r.Skill, Effect: r.Effect}, nil
	}
	params := map[string]any{}
	if r.Params != "" {
		if err := json.Unmarshal([]byte(r.Params), &params); err != nil {
			return nil, fmt.Errorf("cannot read the arguments of %s: %w", r.Name, err)
		}
	}
	res, faults := cat.Resolve(r.Method, params)
	if len(faults) > 0 {
		return nil, fmt.Errorf("the catalog refuses the arguments of %s: %v", r.Name, faults)
	}
	return &Provider{Method: r.Method, Variant: chosen(cat.Operations[r.Method], res.Args), Effect: r.Effect, Op: res.Operation}, nil
}

// chosen is the variant that arguments choose, from 1; 0: none.
func chosen(op catalog.Operation, args map[string]condition.Value) int {
	look := func(ref string, _ int64) (condition.Value, condition.Availability) {
		if v, ok := catalog.Ref("$"+strings.TrimPrefix(ref, "params."), args); ok {
			return v, condition.Fresh
		}
		return nil, condition.Missing
	}
	return 1 + slices.IndexFunc(op.Variants, func(v catalog.Variant) bool { return condition.Eval(v.When, look).Truth == condition.True })
}
