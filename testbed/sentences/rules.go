package sentences

import (
	"context"

	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/packaging/catalog"
)

// JudgeRules judges the planner that is shipped, without a model, over the shipped catalog. Errors: those of Judge.
func JudgeRules(ctx context.Context, seed uint64, count int) (Report, error) {
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		return Report{}, err
	}
	return Judge(ctx, pipeline.New(rules.New(cat, words), cat, words), cat, seed, count)
}

// ComposeDefault composes sentences of the shipped catalog. Errors: those of Compose.
func ComposeDefault(seed uint64, count int) ([]Case, error) {
	cat, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		return nil, err
	}
	return Compose(cat, seed, count)
}
